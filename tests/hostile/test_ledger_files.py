"""Ledger files from other hands: reading, continuing and putting aside refuse them or say what they are."""

from __future__ import annotations

import os
import shutil
import threading

import pytest

from docket.errors import DocketError, InvalidDocumentError, UnavailableError
from docket.formats.ledger.event import GENESIS, MAX_LINE_BYTES, Event, draft, seal
from docket.formats.ledger.lines import TornTail
from docket.formats.ledger.session_events import Note
from docket.formats.reason import Reason
from docket.host.clock import SystemClock
from docket.stores.ledger import LedgerWriter, quarantine_torn_tail, read_ledger

NOW = "2026-01-31T12:00:00.000Z"


def lines(count: int) -> list[bytes]:
    prev, out = GENESIS, []
    for seq in range(count):
        event = seal(draft("note", {"code": "n", "message": f"é{seq}"}), seq=seq, ts=NOW, prev=prev)
        out.append(event.line + b"\n")
        prev = event.hash
    return out


LINES = lines(6)
WHOLE = b"".join(LINES)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "s.jsonl"


def first_fault(path) -> tuple[int, str]:
    """How many events were given before the reader refused, and why."""
    given = []
    with pytest.raises(InvalidDocumentError) as caught:
        given.extend(read_one_by_one(path, given))
    assert caught.value.detail.startswith(f"event {len(given)}: ")
    return len(given), caught.value.reason


def read_one_by_one(path, given):
    for item in read_ledger(path):
        assert isinstance(item, Event)
        given.append(item)
    return ()


@pytest.mark.parametrize("seq", range(6))
def test_a_flipped_bit_is_found_at_its_event_wherever_it_is(path, seq):
    start = sum(map(len, LINES[:seq]))
    for place in range(len(LINES[seq]) - 1):
        doctored = bytearray(WHOLE)
        doctored[start + place] ^= 1 << (place % 8)
        path.write_bytes(doctored)
        assert first_fault(path)[0] == seq
    with pytest.raises(InvalidDocumentError) as caught:
        LedgerWriter.resume(path, clock=SystemClock())
    assert caught.value.reason == Reason.LEDGER_DAMAGED
    assert path.read_bytes() == doctored


@pytest.mark.parametrize("cut", range(1, len(LINES[-1])))
def test_a_tail_torn_at_any_byte_is_named_and_put_aside(path, cut):
    path.write_bytes(WHOLE[:-cut])
    *_, tail = read_ledger(path)
    assert tail == TornTail(len(WHOLE) - len(LINES[-1]), LINES[-1][:-cut])
    with pytest.raises(InvalidDocumentError) as caught:
        LedgerWriter.resume(path, clock=SystemClock())
    assert caught.value.reason == Reason.TORN_TAIL
    assert "docket recover" in caught.value.hint
    assert quarantine_torn_tail(path, NOW).read_bytes() == LINES[-1][:-cut]
    with LedgerWriter.resume(path, clock=SystemClock()) as writer:
        assert writer.append(Note(code="n", message="x")).durable.result().seq == 5


def test_bytes_that_a_crash_left_empty_are_a_torn_tail(path):
    path.write_bytes(WHOLE + b"\0" * 5_000)
    assert quarantine_torn_tail(path, NOW).read_bytes() == b"\0" * 5_000
    assert path.read_bytes() == WHOLE


@pytest.mark.parametrize(
    ("data", "count", "reason"),
    [
        pytest.param(WHOLE + b"\0\0\n", 6, Reason.NOT_JSON, id="empty bytes with an LF"),
        pytest.param(b"\n" + WHOLE, 0, Reason.NOT_JSON, id="a blank line first"),
        pytest.param(WHOLE + WHOLE, 6, Reason.BROKEN_CHAIN, id="twice"),
        pytest.param(b"\xef\xbb\xbf" + WHOLE, 0, Reason.BYTE_ORDER_MARK, id="a byte order mark"),
        pytest.param("{}\n".encode("utf-16-le") + b"\n", 0, Reason.NOT_JSON, id="UTF-16"),
        pytest.param(WHOLE.replace(b"\n", b"\r\n"), 0, Reason.NOT_CANONICAL, id="CR LF"),
        pytest.param(b"[" * 200_000 + b"\n", 0, Reason.TOO_DEEP, id="deep"),
        pytest.param(b"x" * (MAX_LINE_BYTES + 1), 0, Reason.TOO_LARGE, id="an endless line"),
        pytest.param(b"".join(LINES[:3] + LINES[4:]), 3, Reason.BROKEN_CHAIN, id="one missing"),
    ],
)
def test_what_is_no_ledger_is_refused_at_its_first_fault(path, data, count, reason):
    path.write_bytes(data)
    assert first_fault(path) == (count, reason)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: (path.with_name("t").write_bytes(WHOLE), path.symlink_to("t")), Reason.IS_A_SYMLINK),
        (lambda path: path.symlink_to(path.name), Reason.IS_A_SYMLINK),
        (lambda path: path.symlink_to("/dev/zero"), Reason.IS_A_SYMLINK),
        (os.mkfifo, Reason.NOT_A_FILE),
        (lambda path: path.mkdir(), Reason.NOT_A_FILE),
    ],
    ids=["link", "link to itself", "link to a device", "fifo", "folder"],
)
def test_what_is_no_regular_file_is_not_opened(path, make, reason):
    make(path)
    for work in (
        lambda: list(read_ledger(path)),
        lambda: LedgerWriter.resume(path, clock=SystemClock()),
        lambda: quarantine_torn_tail(path, NOW),
    ):
        with pytest.raises(UnavailableError) as caught:
            work()
        assert caught.value.reason == reason
    with pytest.raises(UnavailableError) as caught:
        LedgerWriter.create(path, clock=SystemClock())
    assert caught.value.reason == Reason.ALREADY_EXISTS


def test_a_lock_that_is_a_link_is_not_followed(path):
    path.with_name("s.jsonl.lock").symlink_to("target")
    with pytest.raises(UnavailableError) as caught:
        LedgerWriter.create(path, clock=SystemClock())
    assert caught.value.reason == Reason.IS_A_SYMLINK
    assert not path.with_name("target").exists()
    assert not path.exists()


def test_appends_go_to_the_file_that_was_opened_whatever_its_folder_becomes(tmp_path):
    path = tmp_path / "runs" / "s.jsonl"
    (tmp_path / "elsewhere").mkdir()
    with LedgerWriter.create(path, clock=SystemClock()) as writer:
        writer.append(Note(code="n", message="1")).durable.result()
        path.parent.rename(tmp_path / "moved")
        path.parent.symlink_to(tmp_path / "elsewhere")
        writer.append(Note(code="n", message="2")).durable.result()
        assert writer.recheck().reason == Reason.VANISHED
        with pytest.raises(UnavailableError) as caught:
            writer.reinstate()
        assert caught.value.reason == Reason.IS_A_SYMLINK
    assert len(list(read_ledger(tmp_path / "moved" / "s.jsonl"))) == 2
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_an_agent_that_keeps_removing_the_folder_loses_no_event(tmp_path):
    path = tmp_path / "runs" / "s.jsonl"
    stop = threading.Event()

    def remove():
        while not stop.is_set():
            shutil.rmtree(path.parent, ignore_errors=True)

    with LedgerWriter.create(path, clock=SystemClock()) as writer:
        thread = threading.Thread(target=remove)
        thread.start()
        try:
            for number in range(50):
                assert writer.append(Note(code="n", message=str(number))).durable.result().seq == number
        finally:
            stop.set()
            thread.join()
        shutil.rmtree(path.parent, ignore_errors=True)
        writer.append_final([Note(code="n", message="end")])
        writer.reinstate()
        assert len(writer.hashes) == 51
    assert [event.data["message"] for event in read_ledger(path)] == [*map(str, range(50)), "end"]


def test_two_writers_race_for_one_name(tmp_path):
    """However many begin at once, one chain comes out."""
    path = tmp_path / "runs" / "s.jsonl"
    won, refused = [], []
    barrier = threading.Barrier(16)

    def begin():
        barrier.wait()
        try:
            won.append(LedgerWriter.create(path, clock=SystemClock()))
        except DocketError as error:
            refused.append(error.reason)

    threads = [threading.Thread(target=begin) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert set(refused) <= {Reason.LOCKED, Reason.ALREADY_EXISTS}
    won[0].append(Note(code="n", message="x"))
    won[0].close()
    assert len(list(read_ledger(path))) == 1
