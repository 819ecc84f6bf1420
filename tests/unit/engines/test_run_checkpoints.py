"""The checkpoints of a run: when one is made, what it says, and what becomes of one that cannot be kept."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from disks.faulty_disk import FaultyDisk, fail, never
from docket.engines.supervise import checkpoints
from docket.engines.supervise.checkpoints import EVERY_EVENTS, EVERY_NS, RunCheckpoints
from docket.errors import UnavailableError
from docket.formats.ledger.checkpoint_events import CheckpointMade
from docket.formats.ledger.event import Event
from docket.formats.ledger.session_events import Note
from docket.formats.merkle import MerkleTree
from docket.formats.proof.checkpoint import KeptCheckpoint, read_checkpoints
from docket.formats.reason import Reason
from docket.host.clock import SystemClock
from docket.host.disk import SYSTEM_DISK
from docket.rules.proof.ed25519 import Signer
from docket.rules.proof.signed_note import checkpoint_fault
from docket.stores.checkpoint_file import CheckpointFile, checkpoints_path
from docket.stores.ledger import LedgerOptions, LedgerWriter, read_ledger
from golden_ledgers.build import end, start
from golden_ledgers.headed import ORIGIN, SIGNED_ORIGIN, root_of
from golden_ledgers.proven import SECRET_KEY

NOTE = Note(code="policy-remark", message="something")


class SetClock(SystemClock):
    """A monotonic clock that is set; the wall's jumps about, and matters to nothing here."""

    def __init__(self) -> None:
        self.ns = 0

    def monotonic_ns(self) -> int:
        return self.ns


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    monkeypatch.setattr(checkpoints, "LOOK_SECONDS", 600.0)  # a test takes the looks
    return SetClock()


@pytest.fixture
def ledger(tmp_path: Path, clock: SetClock) -> Iterator[LedgerWriter]:
    writer = LedgerWriter.create(tmp_path / "0123456789ab.jsonl", clock=clock)
    writer.append(start())
    writer.flush()
    with writer:
        yield writer


def kept(ledger: LedgerWriter) -> list[KeptCheckpoint]:
    return read_checkpoints(checkpoints_path(ledger.path).read_bytes())


def told(ledger: LedgerWriter) -> list[Event]:
    ledger.flush()
    return [item for item in read_ledger(ledger.path) if isinstance(item, Event) and item.type == CheckpointMade.TYPE]


def add(ledger: LedgerWriter, count: int = 1) -> None:
    for _ in range(count):
        ledger.append(NOTE)
    ledger.flush()


def test_one_at_the_start_and_one_at_the_end_say_what_the_ledger_was(ledger: LedgerWriter, clock: SetClock) -> None:
    made = RunCheckpoints(ledger, ORIGIN, None, clock)
    made.begin()
    add(ledger, 4)
    made.stop()
    ledger.append_final([end("0.00")])
    head, missed = made.finish()

    assert (head.origin, head.size, head.root, missed) == (ORIGIN, 7, root_of(ledger.hashes), None)
    assert [(one.head.size, one.head.root, one.note) for one in kept(ledger)] == [
        (1, root_of(ledger.hashes[:1]), None),
        (7, root_of(ledger.hashes), None),
    ]
    (event,) = told(ledger)
    assert (event.seq, event.data) == (1, {"number": 1, "size": 1, "root": root_of(ledger.hashes[:1])})


def test_each_is_signed_by_the_runs_key(ledger: LedgerWriter, clock: SetClock) -> None:
    signer = Signer.of_seed(SECRET_KEY)
    made = RunCheckpoints(ledger, SIGNED_ORIGIN, signer, clock)
    made.begin()
    made.finish()
    assert [checkpoint_fault(one, signer.public_key) for one in kept(ledger)] == [None, None]


def test_another_is_due_by_time_or_by_events_and_never_of_nothing(ledger: LedgerWriter, clock: SetClock) -> None:
    made = RunCheckpoints(ledger, ORIGIN, None, clock)
    made.begin()
    clock.ns += 10 * EVERY_NS
    ledger.flush()
    made.look()  # of the first one's own event
    add(ledger)
    clock.ns -= 9 * EVERY_NS + 1
    made.look()
    assert len(kept(ledger)) == 1
    clock.ns += 1
    made.look()
    assert [one.head.size for one in kept(ledger)] == [1, 3]
    ledger.flush()
    add(ledger, EVERY_EVENTS - 1)
    made.look()
    assert len(kept(ledger)) == 2
    add(ledger)
    made.look()
    assert [one.head.size for one in kept(ledger)] == [1, 3, 4 + EVERY_EVENTS]
    made.finish()
    assert [event.data["number"] for event in told(ledger)] == [1, 2, 3]


def test_looks_are_taken_beside_the_run(ledger: LedgerWriter, clock: SetClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "LOOK_SECONDS", 0.005)
    made = RunCheckpoints(ledger, ORIGIN, None, clock)
    made.begin()
    add(ledger, EVERY_EVENTS)
    for _ in range(2000):
        if len(told(ledger)) == 2:
            break
    made.stop()
    made.stop()
    assert len(told(ledger)) == 2


def faulty(ledger: LedgerWriter) -> tuple[FaultyDisk, Callable[[], CheckpointFile]]:
    disk = FaultyDisk(SYSTEM_DISK)
    return disk, lambda: CheckpointFile(ledger.path, disk=disk)


def notes(ledger: LedgerWriter) -> list[str]:
    ledger.flush()
    events = [item for item in read_ledger(ledger.path) if isinstance(item, Event) and item.type == Note.TYPE]
    return [str(event.data["code"]) for event in events if event.data["code"] != NOTE.code]


def test_a_full_disk_is_told_once_and_the_run_goes_on(ledger: LedgerWriter, clock: SetClock) -> None:
    made = RunCheckpoints(ledger, ORIGIN, None, clock)
    disk, open_file = faulty(ledger)
    made.begin(open_file)
    disk.rule = fail(Reason.NO_SPACE, "append", ".checkpoints", times=3)
    for _ in range(3):
        add(ledger)
        clock.ns += EVERY_NS
        made.look()
    assert (len(kept(ledger)), notes(ledger)) == (1, ["checkpoint-missed"])
    add(ledger)
    clock.ns += EVERY_NS
    made.look()
    head, missed = made.finish()
    assert missed is None
    assert [one.head.size for one in kept(ledger)] == [1, told(ledger)[1].seq, head.size]
    assert [event.data["number"] for event in told(ledger)] == [1, 2]


def test_a_file_without_its_last_checkpoint_is_put_aside(ledger: LedgerWriter, clock: SetClock) -> None:
    made = RunCheckpoints(ledger, ORIGIN, None, clock)
    disk, open_file = faulty(ledger)
    made.begin(open_file)
    made.stop()
    ledger.append_final([end("0.00")])
    disk.rule = fail(Reason.NO_SPACE, "append", ".checkpoints")
    head, missed = made.finish()
    assert head.root == root_of(ledger.hashes)
    assert missed is not None
    assert missed.startswith("the last checkpoint could not be kept")
    assert not checkpoints_path(ledger.path).exists()
    assert len(list(ledger.path.parent.glob("*.checkpoints.displaced-*"))) == 1


def test_no_file_at_all_is_told(ledger: LedgerWriter, clock: SetClock) -> None:
    made = RunCheckpoints(ledger, ORIGIN, None, clock)
    disk, open_file = faulty(ledger)
    disk.rule = fail(Reason.NO_SPACE, "create")
    made.begin(open_file)
    add(ledger)
    made.look()
    assert notes(ledger) == ["checkpoint-missed"]
    assert made.finish() == (made.finish()[0], None)
    disk.rule = never


def test_what_the_ledger_could_not_tell_of_is_taken_back(tmp_path: Path, clock: SetClock) -> None:
    disk = FaultyDisk(SYSTEM_DISK)
    ledger = LedgerWriter.create(tmp_path / "a.jsonl", clock=clock, options=LedgerOptions(disk=disk))
    with ledger:
        ledger.append(start())
        ledger.flush()
        made = RunCheckpoints(ledger, ORIGIN, None, clock)
        made.begin(lambda: CheckpointFile(ledger.path))
        add(ledger)
        disk.rule = fail(Reason.NO_SPACE, "append", ".jsonl")
        clock.ns += EVERY_NS
        made.look()
        with pytest.raises(UnavailableError):
            ledger.flush()
        assert len(kept(ledger)) == 2
        clock.ns += EVERY_NS
        made.look()  # a ledger that failed gets no more of them
        made.stop()
        disk.rule = never
        ledger.append_final([end("0.00")])
        head, missed = made.finish()
        assert missed is None
        assert [one.head.size for one in kept(ledger)] == [1, head.size]


def test_a_fault_of_a_look_is_told_and_ends_nothing(
    ledger: LedgerWriter, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = RunCheckpoints(ledger, ORIGIN, None, clock)
    looked = threading.Event()

    def broken() -> None:
        looked.set()
        raise ValueError("a fault")

    monkeypatch.setattr(checkpoints, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr(made, "look", broken)
    made.begin()
    assert looked.wait(20)
    made.stop()
    assert notes(ledger) == ["checkpoint-missed"]


def test_a_key_that_fails_costs_the_run_nothing(
    ledger: LedgerWriter, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = RunCheckpoints(ledger, SIGNED_ORIGIN, Signer.of_seed(SECRET_KEY), clock)

    def broken(*_: object) -> bytes:
        raise RuntimeError("the library is out of order")

    monkeypatch.setattr(Signer, "sign", broken)
    made.begin()
    assert notes(ledger) == ["checkpoint-missed"]
    ledger.append_final([end("0.00")])
    head, missed = made.finish()
    assert head.root == root_of(ledger.hashes)
    assert missed is not None
    assert "the library is out of order" in missed


@pytest.mark.parametrize("looks", [10, pytest.param(50, marks=pytest.mark.slow)])
def test_what_many_events_leave_is_small(ledger: LedgerWriter, clock: SetClock, looks: int) -> None:
    made = RunCheckpoints(ledger, ORIGIN, None, clock)
    made.begin()
    for _ in range(looks):
        add(ledger, 2000)
        made.look()
    head, _ = made.finish()
    assert head.size > 2000 * looks
    assert (len(kept(ledger)), len(told(ledger))) == (looks + 2, looks + 1)
    assert head.root == MerkleTree(ledger.hashes).root
    assert len(made._frontier._roots) == head.size.bit_count()
