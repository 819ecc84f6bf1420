"""Reading a ledger and putting a torn tail aside."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from disks.memory_disk import MemoryDisk, MemoryLocks
from docket.errors import InvalidDocumentError, UnavailableError
from docket.formats.ledger.event import GENESIS, Event, draft, seal
from docket.formats.ledger.lines import TornTail
from docket.formats.reason import Reason
from docket.host.locks import FileLock
from docket.stores import ledger_reader
from docket.stores.ledger_reader import compare, quarantine_torn_tail, read_ledger

NOW = "2026-01-31T12:34:56.789Z"


def chain(count: int, text: str = "x") -> bytes:
    prev, lines = GENESIS, []
    for seq in range(count):
        event = seal(draft("note", {"code": "n", "message": f"{text}{seq}"}), seq=seq, ts=NOW, prev=prev)
        lines.append(event.line + b"\n")
        prev = event.hash
    return b"".join(lines)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "s.jsonl"


def refusal(work, *arguments, **options):
    with pytest.raises((UnavailableError, InvalidDocumentError)) as caught:
        work(*arguments, **options)
    return caught.value.reason


def test_events_then_the_torn_tail(path):
    whole = chain(3)
    path.write_bytes(whole + b'{"data"')
    *events, tail = read_ledger(path)
    assert [event.seq for event in events] == [0, 1, 2]
    assert tail == TornTail(len(whole), b'{"data"')


def test_reading_may_stop_early_and_leaves_nothing_open(path):
    path.write_bytes(chain(3))
    stream = read_ledger(path)
    assert next(stream).seq == 0
    before = set(os.listdir("/proc/self/fd"))
    stream.close()
    assert set(os.listdir("/proc/self/fd")) < before


def test_memory_stays_flat(path):
    prev = GENESIS
    with path.open("wb") as out:
        for seq in range(3_000):
            event = seal(draft("note", {"code": "n", "message": "x" * 10_000}), seq=seq, ts=NOW, prev=prev)
            out.write(event.line + b"\n")
            prev = event.hash
    tracemalloc.start()
    try:
        count = sum(isinstance(item, Event) for item in read_ledger(path))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 3_000
    assert peak < 8_000_000 < path.stat().st_size // 3


@pytest.mark.parametrize("cut", range(1, len(chain(3)) - len(chain(2))))
def test_a_tail_torn_at_any_byte_is_put_aside(path, cut):
    whole = chain(2)
    tail = chain(3)[len(whole) : len(whole) + cut]
    path.write_bytes(whole + tail)
    aside = quarantine_torn_tail(path, NOW)
    assert aside == path.with_name("s.jsonl.torn-20260131T123456789Z")
    assert (aside.read_bytes(), path.read_bytes()) == (tail, whole)
    assert aside.stat().st_mode & 0o777 == 0o600
    assert [item.name for item in sorted(path.parent.iterdir())] == ["s.jsonl", aside.name]
    assert [item.seq for item in read_ledger(path)] == [0, 1]


@pytest.mark.parametrize("content", [b"", chain(1), chain(3)])
def test_a_whole_ledger_is_left_alone(path, content):
    path.write_bytes(content)
    assert quarantine_torn_tail(path, NOW) is None
    assert path.read_bytes() == content
    assert [item.name for item in path.parent.iterdir()] == ["s.jsonl"]


def test_a_ledger_that_is_nothing_but_a_torn_line(path):
    path.write_bytes(b'{"data":{')
    assert quarantine_torn_tail(path, NOW).read_bytes() == b'{"data":{'
    assert path.read_bytes() == b""


def test_a_tail_longer_than_the_search_step(path, monkeypatch):
    monkeypatch.setattr(ledger_reader, "_SEARCH_BYTES", 5)
    whole = chain(2)
    for tail in (b"x", b"x" * 4, b"x" * 5, b"x" * 23):
        path.write_bytes(whole + tail)
        assert quarantine_torn_tail(path, NOW).read_bytes() == tail
        assert path.read_bytes() == whole


def test_nothing_that_was_put_aside_is_overwritten(path):
    asides = []
    for tail in (b"one", b"two", b"three"):
        path.write_bytes(chain(1) + tail)
        asides.append(quarantine_torn_tail(path, NOW))
    assert [aside.name[-8:] for aside in asides] == ["6789Z", "789Z-2", "789Z-3"] or len(set(asides)) == 3
    assert [aside.read_bytes() for aside in asides] == [b"one", b"two", b"three"]


def test_a_ledger_that_is_held_is_not_cut(path):
    path.write_bytes(chain(1) + b"torn")
    with FileLock.acquire(path.with_name("s.jsonl.lock")):
        assert refusal(quarantine_torn_tail, path, NOW) == Reason.LOCKED
    assert path.read_bytes() == chain(1) + b"torn"
    assert quarantine_torn_tail(path, NOW) is not None


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: None, Reason.NOT_FOUND),
        (lambda path: path.mkdir(), Reason.NOT_A_FILE),
        (os.mkfifo, Reason.NOT_A_FILE),
        (lambda path: (path.with_name("x").write_bytes(b"torn"), path.symlink_to("x")), Reason.IS_A_SYMLINK),
    ],
    ids=["missing", "folder", "fifo", "link"],
)
def test_only_a_regular_file_is_a_ledger(path, make, reason):
    make(path)
    assert refusal(lambda: list(read_ledger(path))) == reason
    assert refusal(quarantine_torn_tail, path, NOW) == reason
    if reason == Reason.IS_A_SYMLINK:
        assert path.with_name("x").read_bytes() == b"torn"


def test_a_folder_that_is_missing(tmp_path):
    assert refusal(lambda: list(read_ledger(tmp_path / "none" / "s.jsonl"))) == Reason.NOT_FOUND


def test_another_disk_may_be_asked():
    disk = MemoryDisk()
    where = Path("/runs/s.jsonl")
    with disk.folder(where.parent, create=True) as folder, folder.create("s.jsonl") as file:
        file.append(chain(2) + b"torn")
    assert quarantine_torn_tail(where, NOW, disk=disk, acquire_lock=MemoryLocks().acquire) is not None
    assert len(list(read_ledger(where, disk=disk))) == 2


def test_a_ledger_that_cannot_be_compared_differs_from_its_start():
    with MemoryDisk().folder(Path("/runs"), create=True) as folder:
        found = compare(folder, "s.jsonl", [], "")
    assert (found.first_difference, found.reason) == (0, Reason.NOT_FOUND)
