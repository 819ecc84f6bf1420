"""The one writer of a ledger."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
import threading
from pathlib import Path

import pytest

from disks.faulty_disk import FaultyDisk, fail
from disks.memory_disk import MemoryDisk, MemoryLocks
from docket.errors import InvalidDocumentError, UnavailableError
from docket.formats.amount import ZERO
from docket.formats.ledger.event import GENESIS, Event
from docket.formats.ledger.lines import TornTail
from docket.formats.ledger.session_events import EvidenceGap, ExitSource, Note, SessionEnd
from docket.formats.merkle import MerkleTree
from docket.formats.reason import Reason
from docket.stores.appended import DURABLE, FAILED, QUEUED, WRITTEN
from docket.stores.ledger import LedgerOptions, LedgerWriter, read_ledger

CHECKER = Path(__file__).parents[3] / "spec" / "vectors" / "check.mjs"
END = SessionEnd(exit_code=0, exit_source=ExitSource.AGENT, duration_seconds="1.000", interrupted=False, cost_usd=ZERO)


class ListedClock:
    """A wall clock that gives the listed instants, then repeats the last."""

    def __init__(self, *instants: str) -> None:
        self.instants = list(instants)

    def now(self) -> str:
        return self.instants.pop(0) if len(self.instants) > 1 else self.instants[0]

    def monotonic_ns(self) -> int:
        return 0


NOON = ListedClock("2026-01-31T12:00:00.000Z")


def note(text: str = "x") -> Note:
    return Note(code="test", message=text)


def messages(path, **options) -> list[str]:
    return [str(item.data["message"]) for item in read_ledger(path, **options)]


def refusal(work, *arguments, **options):
    with pytest.raises((UnavailableError, InvalidDocumentError)) as caught:
        work(*arguments, **options)
    return caught.value.reason


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs" / "s.jsonl"


@pytest.fixture
def memory():
    """A disk in memory with options that use it."""
    disk = MemoryDisk()
    return disk, LedgerOptions(disk=disk, acquire_lock=MemoryLocks().acquire)


def options_with(rule, **others):
    disk = FaultyDisk(MemoryDisk(), rule)
    return disk, LedgerOptions(disk=disk, acquire_lock=MemoryLocks().acquire, **others)


MEMORY_PATH = Path("/state/runs/s.jsonl")


def test_an_event_is_written_and_durable(path):
    with LedgerWriter.create(path, clock=NOON) as writer:
        item = writer.append(note("first"))
        event = item.durable.result()
        assert item.written.result() is event
        assert (event.seq, event.ts, event.prev, event.type) == (0, "2026-01-31T12:00:00.000Z", GENESIS, "note")
        assert event.data == {"code": "test", "message": "first"}
        assert path.read_bytes() == event.line + b"\n"
        assert (writer.head, writer.hashes, writer.size_bytes) == (event.hash, (event.hash,), len(event.line) + 1)
        assert writer.file_sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert list(read_ledger(path)) == [event]


def test_an_empty_ledger(path):
    with LedgerWriter.create(path, clock=NOON) as writer:
        writer.flush()
        assert (writer.head, writer.hashes, writer.size_bytes) == (GENESIS, (), 0)
        assert writer.file_sha256 == hashlib.sha256(b"").hexdigest()
        assert writer.recheck().first_difference is None
    assert path.read_bytes() == b""
    assert list(read_ledger(path)) == []


def test_files_are_private_and_the_lock_goes_with_the_writer(path):
    with LedgerWriter.create(path, clock=NOON):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert sorted(item.name for item in path.parent.iterdir()) == ["s.jsonl", "s.jsonl.lock"]
    assert [item.name for item in path.parent.iterdir()] == ["s.jsonl"]


def test_space_that_was_reserved_is_given_back(path):
    with LedgerWriter.create(path, clock=NOON) as writer:
        writer.append(note()).durable.result()
        assert b"\0" not in path.read_bytes()
    assert path.stat().st_blocks * 512 <= 8192


def test_threads_share_one_dense_chain(path):
    seen: dict[int, Event] = {}
    with LedgerWriter.create(path, clock=NOON) as writer:

        def work(number):
            for place in range(40):
                event = writer.append(note(f"{number}/{place}")).durable.result()
                seen[event.seq] = event

        threads = [threading.Thread(target=work, args=(number,)) for number in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert writer.recheck().first_difference is None
        hashes, head = writer.hashes, writer.head
    events = list(read_ledger(path))
    assert [event.seq for event in events] == list(range(32 * 40))
    assert events == [seen[seq] for seq in range(32 * 40)]
    assert (hashes, head) == (tuple(event.hash for event in events), events[-1].hash)
    # each thread's own events stand in its own order
    for number in range(32):
        mine = [message for message in messages(path) if message.startswith(f"{number}/")]
        assert mine == [f"{number}/{place}" for place in range(40)]


def test_foreign_programs_agree_with_the_file_and_its_tree(path, tmp_path):
    with LedgerWriter.create(path, clock=NOON) as writer:
        for number in range(7):
            writer.append(note(f"é {number}\n"))
        writer.append_final([END])
        hashes, head, digest = writer.hashes, writer.head, writer.file_sha256
    summed = subprocess.run(["sha256sum", str(path)], capture_output=True, text=True, check=True).stdout
    assert summed.split()[0] == digest
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    vector = {
        "name": "written by docket", "text": path.read_text("utf-8"), "events": 8, "head": head, "torn_bytes": 0,
        "merkle_root": MerkleTree(hashes).root, "file_sha256": digest,
    }  # fmt: skip
    ledger = {"genesis": GENESIS, "accepted": [vector], "refused": []}
    (tmp_path / "ledger.json").write_text(json.dumps(ledger))
    (tmp_path / "canonical.json").write_text(json.dumps({"accepted": [], "refused": []}))
    (tmp_path / "merkle.json").write_text(json.dumps({"event_hashes": [], "roots": [], "paths": []}))
    done = subprocess.run(["node", str(CHECKER), str(tmp_path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_appended_while_the_disk_is_busy_shares_one_sync(memory):
    inner, options = memory
    busy, go_on = threading.Event(), threading.Event()

    def slow_first_sync(_step, operation, _name):
        if operation == "sync" and not busy.is_set():
            busy.set()
            go_on.wait()

    disk = FaultyDisk(inner, slow_first_sync)
    with LedgerWriter.create(
        MEMORY_PATH, clock=NOON, options=LedgerOptions(disk=disk, acquire_lock=options.acquire_lock)
    ) as writer:
        first = writer.append(note("first"))
        busy.wait()
        rest = [writer.append(note(str(number))) for number in range(100)]
        assert first.written.result().seq == 0
        assert not first.durable.done()
        assert not any(item.written.done() for item in rest)
        go_on.set()
        assert [item.durable.result().seq for item in rest] == list(range(1, 101))
    assert sum(operation == "sync" for operation, _ in disk.log) == 2
    assert sum(operation == "append" and not _is_spare(name) for operation, name in disk.log) == 2


def test_a_listener_is_called_once_for_each_stage_of_a_batch(memory):
    inner, options = memory
    gate = threading.Event()
    disk = FaultyDisk(inner, lambda _step, operation, _name: gate.wait() and None if operation == "append" else None)
    items, heard = [], []
    with LedgerWriter.create(
        MEMORY_PATH, clock=NOON, options=LedgerOptions(disk=disk, acquire_lock=options.acquire_lock)
    ) as writer:
        items += [writer.append(note(str(number))) for number in range(10)]
        assert [(item.stage, item.outcome) for item in items] == [(QUEUED, None)] * 10
        writer.listen(lambda: heard.append([item.stage for item in items]))
        gate.set()
    # the first appends may have been taken as a batch of their own
    assert len(heard) in (2, 4)
    first = heard[-2].count(DURABLE)
    assert heard[-2:] == [[DURABLE] * first + [WRITTEN] * (10 - first), [DURABLE] * 10]
    assert [item.outcome.seq for item in items] == list(range(10))


def test_nobody_is_called_who_does_not_listen_any_more(path):
    heard = []
    with LedgerWriter.create(path, clock=NOON) as writer:
        writer.listen(lambda: heard.append("news"))
        writer.listen(None)
        writer.append(note()).durable.result()
    assert heard == []


def test_a_listener_hears_of_a_failure():
    heard = []
    disk, options = options_with(lambda *_: None)
    with LedgerWriter.create(MEMORY_PATH, clock=NOON, options=options) as writer:
        disk.rule = lambda *_: Reason.IO_ERROR
        writer.listen(lambda: heard.append(writer.failure))
        assert writer.append(note()).durable.exception() is writer.failure
        refused = writer.append(note())
        assert (refused.stage, refused.outcome) == (FAILED, writer.failure)
    assert heard == [writer.failure]


def test_a_long_queue_is_taken_in_bounded_batches(memory, monkeypatch):
    inner, options = memory
    monkeypatch.setattr("docket.stores.ledger._BATCH_EVENTS", 3)
    gate = threading.Event()
    disk = FaultyDisk(inner, lambda _step, operation, _name: gate.wait() and None if operation == "append" else None)
    with LedgerWriter.create(
        MEMORY_PATH, clock=NOON, options=LedgerOptions(disk=disk, acquire_lock=options.acquire_lock)
    ) as writer:
        for number in range(10):
            writer.append(note(str(number)))
        gate.set()
        writer.flush()
        assert len(writer.hashes) == 10
    assert messages(MEMORY_PATH, disk=inner) == [str(number) for number in range(10)]
    assert sum(operation == "sync" for operation, _ in disk.log) >= 4


def test_a_flush_with_nothing_on_the_way_returns_at_once(path):
    with LedgerWriter.create(path, clock=NOON) as writer:
        writer.flush()
        writer.append(note())
        writer.flush()
        writer.flush()
        assert len(writer.hashes) == 1


def test_futures_may_be_asked_for_late_and_twice(path):
    with LedgerWriter.create(path, clock=NOON) as writer:
        item = writer.append(note())
        writer.flush()
        assert item.written is item.written
        assert item.durable is item.durable
        assert item.written.done()
        assert item.durable.result() is item.written.result()


def test_data_without_canonical_form_fails_its_appender_alone(path):
    with LedgerWriter.create(path, clock=NOON) as writer:
        assert refusal(writer.append, Note(code="a", message="\ud800")) == Reason.LONE_SURROGATE
        assert writer.append(note()).durable.result().seq == 0
        assert writer.failure is None


def test_a_clock_that_steps_back_repeats_the_last_instant(path):
    clock = ListedClock("2026-01-31T12:00:00.500Z", "2026-01-31T11:00:00.000Z", "2026-01-31T12:00:00.501Z")
    with LedgerWriter.create(path, clock=clock) as writer:
        stamps = [writer.append(note()).durable.result().ts for _ in range(3)]
    assert stamps == ["2026-01-31T12:00:00.500Z", "2026-01-31T12:00:00.500Z", "2026-01-31T12:00:00.501Z"]


def test_what_is_foreseen_is_what_is_then_written(path):
    clock = ListedClock("2026-01-31T12:00:00.500Z", "2026-01-31T12:00:00.700Z")
    with LedgerWriter.create(path, clock=clock) as writer:
        writer.append(note("before"))
        foreseen = writer.foresee([note("last"), END])
        coming = b"".join(foreseen.chunks())
        assert path.read_bytes() == coming[: coming.index(b"\n") + 1]
        assert writer.append(note("late")).durable.exception().reason == Reason.LEDGER_CLOSED
        writer.append_final([note("last"), END], now=foreseen.now)
        assert writer.hashes == foreseen.hashes
    assert path.read_bytes() == coming
    assert [item.ts for item in read_ledger(path)][1:] == ["2026-01-31T12:00:00.700Z"] * 2


def test_the_end_closes_the_ledger(path):
    with LedgerWriter.create(path, clock=NOON) as writer:
        writer.append(note("before"))
        events = writer.append_final([note("last"), END])
        assert [event.seq for event in events] == [1, 2]
        late = writer.append(note("late"))
        for future in (late.written, late.durable):
            assert future.exception().reason == Reason.LEDGER_CLOSED
        assert writer.append_final([note("more")])[0].seq == 3
        writer.close()
        writer.close()
        assert refusal(writer.append_final, [END]) == Reason.LEDGER_CLOSED
        assert writer.append(note()).durable.exception().reason == Reason.LEDGER_CLOSED
    assert [item.type for item in read_ledger(path)] == ["note", "note", "session.end", "note"]


def test_closing_waits_for_what_was_appended(path):
    writer = LedgerWriter.create(path, clock=NOON)
    items = [writer.append(note(str(number))) for number in range(500)]
    writer.close()
    assert all(item.durable.done() for item in items)
    assert messages(path) == [str(number) for number in range(500)]


# Where a ledger may begin


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        pytest.param(lambda path: path.write_bytes(b""), Reason.ALREADY_EXISTS, id="file"),
        pytest.param(lambda path: path.symlink_to("elsewhere"), Reason.ALREADY_EXISTS, id="link"),
        pytest.param(os.mkfifo, Reason.ALREADY_EXISTS, id="fifo"),
        pytest.param(lambda path: path.mkdir(), Reason.ALREADY_EXISTS, id="folder"),
    ],
)
def test_a_ledger_begins_where_nothing_stands(path, make, reason):
    path.parent.mkdir()
    make(path)
    assert refusal(LedgerWriter.create, path, clock=NOON) == reason
    assert [item.name for item in path.parent.iterdir()] == ["s.jsonl"]


def test_a_folder_that_is_a_link_is_refused(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "runs").symlink_to(tmp_path / "real")
    assert refusal(LedgerWriter.create, tmp_path / "runs" / "s.jsonl", clock=NOON) == Reason.IS_A_SYMLINK
    assert list((tmp_path / "real").iterdir()) == []


def test_two_writers_do_not_share_a_ledger(path):
    with LedgerWriter.create(path, clock=NOON) as writer:
        writer.append(note())
        assert refusal(LedgerWriter.create, path, clock=NOON) == Reason.LOCKED
        assert refusal(LedgerWriter.resume, path, clock=NOON) == Reason.LOCKED
        writer.append(note()).durable.result()
    assert len(list(read_ledger(path))) == 2


@pytest.mark.parametrize("operation", ["create", "sync folder", "preallocate"])
def test_a_ledger_that_cannot_begin_leaves_nothing(operation):
    disk, options = options_with(lambda step, met, name: Reason.NO_SPACE if met == operation and step else None)
    disk.inner.folder(MEMORY_PATH.parent, create=True)
    assert refusal(LedgerWriter.create, MEMORY_PATH, clock=NOON, options=options) == Reason.NO_SPACE
    assert disk.inner.folder(MEMORY_PATH.parent).names() == ()
    disk.rule = lambda *_: None
    with LedgerWriter.create(MEMORY_PATH, clock=NOON, options=options) as writer:
        writer.append(note()).durable.result()


# Ceilings


def test_ordinary_events_stop_at_a_ceiling_and_control_events_do_not(path):
    with LedgerWriter.create(path, clock=NOON, options=LedgerOptions(max_events=2)) as writer:
        writer.append(note("1"))
        assert not writer.is_full
        writer.append(note("2"))
        assert writer.is_full
        over = writer.append(note("3"))
        assert over.written.exception().reason == over.durable.exception().reason == Reason.LEDGER_FULL
        gap = EvidenceGap(first_failing_seq=2, unwritten_events=1, detail="ceiling")
        assert writer.append(gap).durable.result().seq == 2
        assert writer.append(note("by request"), control=True).durable.result().seq == 3
        assert writer.append_final([END])[0].seq == 4
        assert (writer.lost_events, writer.failure) == (1, None)


def test_the_first_refusal_by_a_ceiling_is_told_once(path):
    told = []
    options = LedgerOptions(max_events=1, on_overflow=told.append)
    with LedgerWriter.create(path, clock=NOON, options=options) as writer:
        writer.append(note("1"))
        assert (writer.overflow, told) == (None, [])
        writer.append(note("2"))
        writer.append(note("3"))
        assert [refused.reason for refused in told] == [Reason.LEDGER_FULL]
        assert writer.overflow is told[0]
    # A ledger that has been closed is not full.
    closed = LedgerWriter.create(path.with_name("other.jsonl"), clock=NOON, options=LedgerOptions(max_events=9))
    closed.close()
    closed.append(note("late"))
    assert closed.overflow is None


def test_a_disk_that_runs_short_takes_no_ordinary_event_and_every_control_event():
    disk, path = MemoryDisk(capacity_bytes=4_000_000), Path("/state/run.jsonl")
    options = LedgerOptions(min_free_bytes=2_000_000, disk=disk, acquire_lock=MemoryLocks().acquire)
    with LedgerWriter.create(path, clock=NOON, options=options) as writer:
        writer.append(note("1")).durable.result()
        assert not writer.is_full
        with disk.folder(Path("/state")) as folder, folder.create("somebody's") as ballast:
            ballast.append(b"x" * 2_000_000)
        # The writer looks after each batch: the one that finds the disk short is still in.
        writer.append(note("2")).durable.result()
        assert writer.is_full
        over = writer.append(note("3"))
        assert over.durable.exception().reason == Reason.NO_SPACE
        assert (writer.overflow.reason, writer.lost_events, writer.failure) == (Reason.NO_SPACE, 1, None)
        assert writer.append(note("by request"), control=True).durable.result().seq == 2
        assert writer.append_final([END])[0].seq == 3


def test_a_disk_that_is_short_already_is_refused_before_anything_stands():
    disk, path = MemoryDisk(capacity_bytes=1_000_000), Path("/state/run.jsonl")
    options = LedgerOptions(min_free_bytes=2_000_000, disk=disk, acquire_lock=MemoryLocks().acquire)
    with pytest.raises(UnavailableError) as caught:
        LedgerWriter.create(path, clock=NOON, options=options)
    assert caught.value.reason == Reason.NO_SPACE
    assert caught.value.detail.endswith("resilience.min_free_bytes keeps 2,000,000")
    with disk.folder(Path("/state")) as folder:
        assert folder.names() == ()


def test_a_ceiling_of_bytes(path):
    with LedgerWriter.create(path, clock=NOON, options=LedgerOptions(max_bytes=2_000)) as writer:
        items = [writer.append(note("x" * 100)) for _ in range(10)]
        writer.flush()
        taken = [item for item in items if item.durable.exception() is None]
        assert 0 < len(taken) < 10
        assert {item.durable.exception().reason for item in items[len(taken) :]} == {Reason.LEDGER_FULL}
        assert writer.append(note("x" * 2_000)).durable.exception().reason == Reason.LEDGER_FULL
    assert path.stat().st_size <= 2_000


# Failing disks


@pytest.mark.parametrize("operation", ["append", "sync"])
@pytest.mark.parametrize("reason", [Reason.NO_SPACE, Reason.IO_ERROR, Reason.READ_ONLY, Reason.QUOTA_EXCEEDED])
def test_an_error_fails_the_batch_and_closes_admission(operation, reason):
    told = []
    disk, options = options_with(fail(reason, operation, ".jsonl", after=1, times=1), on_failure=told.append)
    with LedgerWriter.create(MEMORY_PATH, clock=NOON, options=options) as writer:
        writer.append(note("good")).durable.result()
        size, head = writer.size_bytes, writer.head
        bad = writer.append(note("bad"))
        assert bad.durable.exception().reason == bad.written.exception().reason == reason
        assert writer.append(note("after")).durable.exception().reason == reason
        assert told == [writer.failure]
        assert (writer.failure.reason, writer.failed_seq) == (reason, 1)
        assert (writer.size_bytes, writer.head, writer.lost_events) == (size, head, 2)
        assert refusal(writer.flush) == reason
        assert writer.recheck().first_difference is None
        assert disk.inner.folder(MEMORY_PATH.parent).open("s.jsonl").size() == size
        gap = EvidenceGap(first_failing_seq=writer.failed_seq, unwritten_events=2, detail=writer.failure.detail)
        assert [event.seq for event in writer.append_final([gap, END])] == [1, 2]
        assert writer.recheck().first_difference is None
    assert [item.type for item in read_ledger(MEMORY_PATH, disk=disk.inner)] == [
        "note", "x-docket.evidence-gap", "session.end"
    ]  # fmt: skip


def test_what_was_written_and_then_failed_stays_told_as_written():
    gate = threading.Event()
    disk, options = options_with(lambda *_: None)
    with LedgerWriter.create(MEMORY_PATH, clock=NOON, options=options) as writer:
        disk.rule = lambda _step, operation, _name: (gate.wait() and None if operation == "append" else Reason.IO_ERROR
                                                     if operation == "sync" else None)  # fmt: skip
        item = writer.append(note())
        written, durable = item.written, item.durable
        gate.set()
        assert written.result().seq == 0
        assert durable.exception().reason == Reason.IO_ERROR
        disk.rule = lambda *_: None
        assert writer.append_final([END])[0].seq == 0


def test_what_waits_behind_a_failed_batch_fails_with_it():
    gate = threading.Event()

    def first_append_fails(_step, operation, _name):
        if operation != "append":
            return None
        gate.wait()
        return Reason.IO_ERROR

    _, options = options_with(first_append_fails)
    with LedgerWriter.create(MEMORY_PATH, clock=NOON, options=options) as writer:
        items = [writer.append(note(str(number))) for number in range(5)]
        futures = [item.written for item in items[::2]]
        gate.set()
        assert [future.exception().reason for future in futures] == [Reason.IO_ERROR] * 3
        assert {item.durable.exception().reason for item in items} == {Reason.IO_ERROR}
        assert writer.lost_events == 5


def test_not_even_the_end_can_be_written_on_a_dead_disk():
    disk, options = options_with(lambda *_: None)
    writer = LedgerWriter.create(MEMORY_PATH, clock=NOON, options=options)
    writer.append(note("good")).durable.result()
    disk.rule = lambda *_: Reason.IO_ERROR
    assert writer.append(note("bad")).durable.exception().reason == Reason.IO_ERROR
    assert refusal(writer.append_final, [END]) == Reason.IO_ERROR
    disk.rule = lambda _step, operation, _name: Reason.IO_ERROR if operation == "append" else None
    assert refusal(writer.append_final, [END]) == Reason.IO_ERROR
    disk.rule = lambda *_: None
    assert writer.append_final([END])[0].seq == 1
    disk.rule = lambda *_: Reason.IO_ERROR
    writer.close()
    assert [item.type for item in read_ledger(MEMORY_PATH, disk=disk.inner)] == ["note", "session.end"]


def test_a_fault_in_the_clock_does_not_leave_appenders_waiting(path):
    class BrokenClock:
        def now(self) -> str:
            raise ValueError("no time")

        def monotonic_ns(self) -> int:
            return 0

    with LedgerWriter.create(path, clock=BrokenClock()) as writer:
        error = writer.append(note()).durable.exception()
        assert error.reason == Reason.WRITE_FAILED
        assert "no time" in error.detail


def test_a_full_disk_refuses_ordinary_events_and_takes_the_last_ones():
    disk = MemoryDisk(capacity_bytes=400_000)
    options = LedgerOptions(disk=disk, acquire_lock=MemoryLocks().acquire)
    with LedgerWriter.create(MEMORY_PATH, clock=NOON, options=options) as writer:
        count = 0
        while (error := writer.append(note("x" * 1_000)).durable.exception()) is None:
            count += 1
        assert error.reason == Reason.NO_SPACE
        assert 80 < count < 130
        # the agent takes what is left
        other = disk.folder(Path("/tree"), create=True).create("big")
        other.append(b"x" * disk.room())
        assert disk.room() == 0
        gap = EvidenceGap(first_failing_seq=count, unwritten_events=1, detail="no space")
        assert [event.seq for event in writer.append_final([gap, END])] == [count, count + 1]
        assert writer.recheck().first_difference is None
    events = list(read_ledger(MEMORY_PATH, disk=disk))
    assert (len(events), events[-1].type) == (count + 2, "session.end")


def test_without_reserved_space_a_ledger_works_until_the_disk_is_full():
    disk = MemoryDisk(capacity_bytes=50_000)
    disk.supports_preallocation = False
    options = LedgerOptions(disk=disk, acquire_lock=MemoryLocks().acquire)
    with LedgerWriter.create(MEMORY_PATH, clock=NOON, options=options) as writer:
        while (error := writer.append(note("x" * 1_000)).durable.exception()) is None:
            pass
        assert error.reason == Reason.NO_SPACE
        # cutting the torn batch off gave back enough for a short end
        assert writer.append_final([END])
    assert not any(isinstance(item, TornTail) for item in read_ledger(MEMORY_PATH, disk=disk))


# Someone else's hands


def doctor(path, old, new):
    path.write_bytes(path.read_bytes().replace(old, new))


@pytest.mark.parametrize(
    ("hurt", "first", "reason"),
    [
        pytest.param(lambda path: doctor(path, b'"n 2"', b'"n 9"'), 2, Reason.BROKEN_CHAIN, id="edited"),
        pytest.param(lambda path: path.write_bytes(b""), 0, Reason.LEDGER_DAMAGED, id="emptied"),
        pytest.param(lambda path: path.write_bytes(b"".join(path.read_bytes().splitlines(True)[:3])), 3,
                     Reason.LEDGER_DAMAGED, id="cut"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:-5]), 4, Reason.TORN_TAIL, id="torn"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes() + b"{}\n"), 5, Reason.MISSING_MEMBER,
                     id="added to"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes() + b"\n"), 5, Reason.NOT_JSON, id="a blank line"),
        pytest.param(lambda path: path.unlink(), 0, Reason.VANISHED, id="unlinked"),
        pytest.param(lambda path: shutil.rmtree(path.parent), 0, Reason.VANISHED, id="removed with its folder"),
    ],
)  # fmt: skip
def test_a_change_by_another_hand_is_seen_and_named(path, hurt, first, reason):
    with LedgerWriter.create(path, clock=NOON) as writer:
        for number in range(5):
            writer.append(note(f"n {number}"))
        assert writer.recheck().first_difference is None
        hurt(path)
        found = writer.recheck()
        assert (found.first_difference, found.reason) == (first, reason)
        assert found.detail


def test_a_whole_chain_of_another_hand_is_seen(path, tmp_path):
    with LedgerWriter.create(tmp_path / "other.jsonl", clock=NOON) as other:
        other.append(note("n 0")).durable.result()
        other.append(note("forged"))
        other.append(note("more"))
    with LedgerWriter.create(path, clock=NOON) as writer:
        for number in range(2):
            writer.append(note(f"n {number}")).durable.result()
        path.write_bytes((tmp_path / "other.jsonl").read_bytes())
        assert (writer.recheck().first_difference, writer.recheck().reason) == (1, Reason.LEDGER_DAMAGED)
        path.write_bytes((tmp_path / "other.jsonl").read_bytes().splitlines(True)[0])
        writer.append(note("n 2")).durable.result()
        assert writer.recheck().first_difference == 1


def test_more_events_than_were_written_are_seen(path, tmp_path):
    with LedgerWriter.create(path, clock=NOON) as writer:
        writer.append(note("a")).durable.result()
        shutil.copy(path, tmp_path / "copy.jsonl")
        with LedgerWriter.resume(tmp_path / "copy.jsonl", clock=NOON) as other:
            other.append(note("b")).durable.result()
        path.write_bytes((tmp_path / "copy.jsonl").read_bytes())
        assert (writer.recheck().first_difference, writer.recheck().reason) == (1, Reason.LEDGER_DAMAGED)


@pytest.mark.parametrize("put", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("x"), Path.touch])
def test_something_else_in_the_ledgers_place_is_seen_and_moved_aside(path, put):
    with LedgerWriter.create(path, clock=NOON) as writer:
        writer.append(note("mine")).durable.result()
        path.unlink()
        put(path)
        assert (writer.recheck().first_difference, writer.recheck().reason) == (0, Reason.VANISHED)
        aside = writer.reinstate()
        assert aside.name.startswith("s.jsonl.displaced-")
        assert aside.is_symlink() or aside.exists()
    assert messages(path) == ["mine"]


def test_a_ledger_that_was_edited_by_replacing_it_comes_back_whole(path):
    with LedgerWriter.create(path, clock=NOON) as writer:
        writer.append(note("mine")).durable.result()
        path.with_name("copy").write_bytes(path.read_bytes().replace(b"mine", b"evil"))
        path.with_name("copy").replace(path)
        writer.append_final([END])
        assert b"evil" in writer.reinstate().read_bytes()
        assert writer.recheck().reason == Reason.VANISHED, "the file of that name is a copy, not the one that is open"
    assert [item.type for item in read_ledger(path)] == ["note", "session.end"]


@pytest.mark.parametrize(
    "remove",
    [Path.unlink, lambda path: shutil.rmtree(path.parent), lambda path: path.parent.rename(path.parent.parent / "x")],
    ids=["unlinked", "folder removed", "folder moved"],
)
def test_a_ledger_that_is_gone_is_written_again(path, remove):
    with LedgerWriter.create(path, clock=NOON) as writer:
        writer.append(note("kept")).durable.result()
        remove(path)
        writer.append_final([END])
        assert writer.recheck().reason == Reason.VANISHED
        assert writer.reinstate() is None
    assert [item.type for item in read_ledger(path)] == ["note", "session.end"]


def test_a_ledger_that_stands_in_its_place_is_not_written_again(path):
    with LedgerWriter.create(path, clock=NOON) as writer:
        writer.append_final([END])
        inode = path.stat().st_ino
        assert writer.reinstate() is None
        assert path.stat().st_ino == inode
        assert sorted(item.name for item in path.parent.iterdir()) == ["s.jsonl", "s.jsonl.lock"]


def test_a_listener_that_fails_does_not_stop_the_writer():
    def listen(_error):
        raise ValueError("a fault of the listener's own")

    _, options = options_with(fail(Reason.IO_ERROR, "append", times=1), on_failure=listen)
    with LedgerWriter.create(MEMORY_PATH, clock=NOON, options=options) as writer:
        assert writer.append(note()).durable.exception().reason == Reason.IO_ERROR
        assert writer.append_final([END])[0].seq == 0


# Going on


def test_a_ledger_without_an_end_is_continued(path):
    with LedgerWriter.create(path, clock=ListedClock("2026-01-31T12:00:00.000Z")) as writer:
        writer.append(note("a"))
        writer.append(note("b"))
    with LedgerWriter.resume(path, clock=ListedClock("2026-01-31T11:00:00.000Z")) as writer:
        assert len(writer.hashes) == 2
        event = writer.append(note("c")).durable.result()
        assert (event.seq, event.ts) == (2, "2026-01-31T12:00:00.000Z")
        assert writer.recheck().first_difference is None
        assert writer.file_sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert messages(path) == ["a", "b", "c"]


def test_an_empty_ledger_is_continued(path):
    LedgerWriter.create(path, clock=NOON).close()
    with LedgerWriter.resume(path, clock=NOON) as writer:
        assert writer.append(note()).durable.result().seq == 0


def test_ceilings_count_what_stands_there_already(path):
    with LedgerWriter.create(path, clock=NOON) as writer:
        writer.append(note())
    with LedgerWriter.resume(path, clock=NOON, options=LedgerOptions(max_events=1)) as writer:
        assert writer.is_full


@pytest.mark.parametrize(
    ("hurt", "reason"),
    [
        (lambda path: doctor(path, b'"n 1"', b'"n 9"'), Reason.LEDGER_DAMAGED),
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), Reason.TORN_TAIL),
        (lambda path: path.unlink(), Reason.NOT_FOUND),
        (lambda path: (path.rename(path.with_name("x")), path.symlink_to("x")), Reason.IS_A_SYMLINK),
        (lambda path: (path.unlink(), path.mkdir()), Reason.NOT_A_FILE),
        (lambda path: (path.unlink(), os.mkfifo(path)), Reason.NOT_A_FILE),
    ],
    ids=["damaged", "torn", "missing", "link", "folder", "fifo"],
)
def test_a_ledger_that_is_not_whole_is_not_continued(path, hurt, reason):
    with LedgerWriter.create(path, clock=NOON) as writer:
        writer.append(note("n 0"))
        writer.append(note("n 1"))
    hurt(path)
    before = path.read_bytes() if path.is_file() else None
    assert refusal(LedgerWriter.resume, path, clock=NOON) == reason
    assert (path.read_bytes() if path.is_file() else None) == before
    assert not path.with_name("s.jsonl.lock").exists()


def test_a_ledger_that_ended_is_not_continued(path):
    with LedgerWriter.create(path, clock=NOON) as writer:
        writer.append_final([END])
    assert refusal(LedgerWriter.resume, path, clock=NOON) == Reason.LEDGER_CLOSED


def _is_spare(name) -> bool:
    """Whether a name is that of the copy without a name, which is hidden until it is removed."""
    return str(name).rpartition("/")[2].startswith(".")
