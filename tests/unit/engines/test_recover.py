"""What a recovery makes of each kind of thing that a killed run can leave, on a disk in memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import recovery_lab
from disks.faulty_disk import FaultyDisk, fail
from docket.engines.recover import RECOVERY_LOCK, Recovery, State
from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.stores.unfinished import unfinished
from recovery_lab import NOW, NUMBER, SESSION, TAIL, DiskLocks, leavings, names, read, write

LAYOUTS = {"split": recovery_lab.SPLIT, "one folder": recovery_lab.ONE_FOLDER}
OTHER_SESSION, OTHER_NUMBER = "ba9876543210", "DKT-20261001-0BEEF0"
RESERVE = f".{NUMBER}.receipt.json.{'0a' * 8}.tmp"


@pytest.fixture(params=LAYOUTS)
def layout(request):
    return LAYOUTS[request.param]


@pytest.fixture
def disk(layout):
    return recovery_lab.project(layout)


def only(recovery: Recovery):
    (outcome,) = recovery.outcomes
    return outcome


def receipt_of(disk, layout, number=NUMBER):
    data = read(disk, layout.docket_dir / f"receipts/{number}.receipt.json")
    return None if data is None else json.loads(data)


def test_a_run_without_an_end_gets_a_receipt_that_says_so(disk, layout):
    data = recovery_lab.ledger(has_end=False)
    recovery_lab.plant_dead(disk, layout, data)
    outcome = only(recovery_lab.recovered(disk, layout))
    assert outcome.state is State.RECOVERED
    assert (outcome.session_id, outcome.docket_number, outcome.has_end) == (SESSION, NUMBER, False)
    assert outcome.receipt_path == layout.docket_dir / f"receipts/{NUMBER}.receipt.json"
    assert outcome.problems == ()
    assert outcome.torn_tail is None
    assert outcome.removed == (layout.state / f"live/{SESSION}",)
    receipt = receipt_of(disk, layout)
    assert receipt["session"]["exit_code"] is receipt["session"]["duration_seconds"] is None
    assert receipt["evidence"]["ledger_complete"] is False
    assert receipt["ledger"]["events"] == 4
    assert receipt["created_at"] == "2026-10-01T12:00:03.250Z"
    assert leavings(disk, layout) == []
    assert read(disk, layout.docket_dir / f"runs/{SESSION}.jsonl") == data


def test_a_run_with_an_end_gets_the_receipt_it_would_have_published(disk, layout):
    recovery_lab.plant_dead(disk, layout, recovery_lab.ledger(has_end=True))
    outcome = only(recovery_lab.recovered(disk, layout))
    assert (outcome.state, outcome.has_end) == (State.RECOVERED, True)
    receipt = receipt_of(disk, layout)
    assert (receipt["session"]["exit_code"], receipt["session"]["duration_seconds"]) == (0, "12.345")
    assert receipt["evidence"]["ledger_complete"] is True


def test_a_torn_tail_is_put_aside(disk, layout):
    data = recovery_lab.ledger(has_end=True)
    recovery_lab.plant_dead(disk, layout, data + TAIL)
    outcome = only(recovery_lab.recovered(disk, layout))
    stamp = "".join(character for character in NOW if character.isalnum())
    assert outcome.torn_tail == layout.state / f"runs/{SESSION}.jsonl.torn-{stamp}"
    assert read(disk, outcome.torn_tail) == TAIL
    assert read(disk, layout.ledger_path(SESSION)) == data


def test_what_was_reserved_is_given_back(disk, layout):
    recovery_lab.plant_dead(disk, layout, recovery_lab.ledger(has_end=True))
    assert disk.used_bytes() > 1_000_000
    recovery_lab.recovered(disk, layout)
    assert disk.used_bytes() < 50_000


def test_a_full_disk_has_room_for_the_receipt_in_the_space_that_the_run_had_set_aside(layout):
    disk = recovery_lab.project(layout)
    recovery_lab.plant_dead(disk, layout, recovery_lab.ledger(has_end=True))
    disk.capacity_bytes = disk.used_bytes()
    outcome = only(recovery_lab.recovered(disk, layout))
    assert outcome.state is State.RECOVERED
    receipt = read(disk, layout.state / f"receipts/{NUMBER}.receipt.json")
    assert json.loads(receipt)["session"]["exit_code"] == 0


def test_a_disk_without_room_at_all_is_told_and_tried_again(layout):
    disk = recovery_lab.project(layout)
    recovery_lab.plant_dead(disk, layout, recovery_lab.ledger(has_end=True), number=None)
    disk.capacity_bytes = disk.used_bytes()
    outcome = only(recovery_lab.recovered(disk, layout))
    assert (outcome.state, outcome.reason) == (State.UNAVAILABLE, Reason.NO_SPACE)
    assert names(disk, layout.state / "live") == (SESSION,)
    assert unfinished(layout, disk=disk, held=lambda _: False) == (SESSION,)
    disk.capacity_bytes = None
    assert only(recovery_lab.recovered(disk, layout)).state is State.RECOVERED
    assert leavings(disk, layout) == []


def test_a_docket_folder_that_takes_nothing_costs_the_copies():
    layout = recovery_lab.SPLIT
    disk = recovery_lab.project(layout)
    recovery_lab.plant_dead(disk, layout, recovery_lab.ledger(has_end=True))
    outcome = only(recovery_lab.recovered(FaultyDisk(disk, fail(Reason.READ_ONLY, "make", ".docket")), layout))
    assert outcome.state is State.RECOVERED
    assert outcome.receipt_path == layout.state / f"receipts/{NUMBER}.receipt.json"
    assert len(outcome.problems) == 1
    # The receipt is there: nothing is left to be done, and nothing is said with every run.
    assert only(recovery_lab.recovered(disk, layout)).state is State.NOTHING_TO_DO


def test_a_run_that_goes_on_is_not_touched(disk, layout):
    data = recovery_lab.ledger(has_end=False) + TAIL
    recovery_lab.plant_dead(disk, layout, data)
    locks = DiskLocks(disk)
    locks.held.add(layout.state / f"runs/{SESSION}.jsonl.lock")
    before = leavings(disk, layout)
    for dry_run in (True, False):
        outcome = only(recovery_lab.recovered(disk, layout, locks, dry_run=dry_run))
        assert (outcome.state, outcome.docket_number) == (State.STILL_RUNNING, NUMBER)
    assert leavings(disk, layout) == before
    assert read(disk, layout.ledger_path(SESSION)) == data
    assert receipt_of(disk, layout) is None


def test_a_run_that_has_written_nothing_yet_keeps_its_reserve(disk, layout):
    dead = recovery_lab.ledger(OTHER_SESSION, OTHER_NUMBER, has_end=False)
    recovery_lab.plant_dead(disk, layout, dead, OTHER_SESSION, OTHER_NUMBER)
    write(disk, layout.ledger_path(SESSION), b"")
    write(disk, layout.state / f"runs/{SESSION}.jsonl.lock", b"")
    write(disk, layout.state / "receipts" / RESERVE, b"", reserved=1_000_000)
    locks = DiskLocks(disk)
    locks.held.add(layout.state / f"runs/{SESSION}.jsonl.lock")
    recovery = recovery_lab.recovered(disk, layout, locks)
    states = {outcome.session_id: outcome.state for outcome in recovery.outcomes}
    assert states == {SESSION: State.STILL_RUNNING, OTHER_SESSION: State.RECOVERED}
    assert recovery.strays == ()
    assert leavings(disk, layout) == [RESERVE, f"{SESSION}.jsonl.lock"]


def test_a_folder_under_a_temporary_files_name_stops_no_recovery(disk, layout):
    recovery_lab.plant_dead(disk, layout, recovery_lab.ledger(has_end=False))
    in_the_way = layout.docket_dir / f"receipts/.{NUMBER}.receipt.json.{'0' * 16}.tmp"
    disk.folder(in_the_way, create=True).close()
    outcome = only(recovery_lab.recovered(disk, layout))
    assert (outcome.state, receipt_of(disk, layout) is None) == (State.RECOVERED, False)
    assert any(str(in_the_way) in problem for problem in outcome.problems)
    assert only(recovery_lab.recovered(disk, layout)).state is State.NOTHING_TO_DO
    assert leavings(disk, layout) == [in_the_way.name]


def test_a_run_that_was_killed_before_anything_was_recorded(disk, layout):
    write(disk, layout.ledger_path(SESSION), b"", reserved=9000)
    write(disk, layout.state / f"runs/{SESSION}.jsonl.lock", b"")
    write(disk, layout.state / "receipts" / RESERVE, b"", reserved=1_000_000)
    recovery = recovery_lab.recovered(disk, layout)
    outcome = only(recovery)
    assert (outcome.state, outcome.receipt_path) == (State.NOTHING_TO_DO, None)
    assert "before anything was recorded" in outcome.detail
    assert recovery.strays == (layout.state / "receipts" / RESERVE,)
    assert leavings(disk, layout) == []
    assert names(disk, layout.state / "runs") == ()
    assert recovery_lab.recovered(disk, layout).outcomes == ()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        TAIL,
        None,
        b"nonsense\n",
        recovery_lab.ledger(has_end=True).replace(b'"generic"', b'"another"', 1),
        recovery_lab.ledger("ffffffffffff", has_end=True),
        recovery_lab.ledger(number="../../DKT", has_end=True),
        recovery_lab.ledger(has_end=True).split(b"\n", 1)[1],
    ],
)
def test_a_ledger_that_lost_its_record_is_damaged_and_stays_as_it_is(disk, layout, data):
    recovery_lab.plant_dead(disk, layout, data or b"", number=None)
    path = layout.ledger_path(SESSION)
    if data is None:
        with disk.folder(path.parent) as folder:
            folder.remove(path.name)
    foreseen = only(recovery_lab.recovered(disk, layout, dry_run=True))
    outcome = only(recovery_lab.recovered(disk, layout))
    assert outcome.state is foreseen.state is State.DAMAGED
    assert outcome.reason == foreseen.reason
    assert outcome.reason is not None
    assert outcome.receipt_path is None
    assert read(disk, path) == data
    assert [name for name in names(disk, layout.docket_dir / "receipts") if name.startswith("DKT")] == []
    assert leavings(disk, layout) == []


def test_a_ledger_with_another_sessions_name_costs_that_session_nothing(disk, layout):
    """A copy of a live run's ledger under another name is nobody's; the run's own files stay."""
    data = recovery_lab.ledger(has_end=False)
    recovery_lab.plant_dead(disk, layout, data)
    write(disk, layout.ledger_path(OTHER_SESSION), data)
    locks = DiskLocks(disk)
    locks.held.add(layout.state / f"runs/{SESSION}.jsonl.lock")
    before = leavings(disk, layout)
    states = {one.session_id: one.state for one in recovery_lab.recovered(disk, layout, locks).outcomes}
    assert states == {SESSION: State.STILL_RUNNING, OTHER_SESSION: State.DAMAGED}
    assert leavings(disk, layout) == before
    assert receipt_of(disk, layout) is None


def test_the_newest_stays_the_newest(disk, layout):
    recovery_lab.plant_dead(disk, layout, recovery_lab.ledger(OTHER_SESSION, OTHER_NUMBER, has_end=True, notes=50),
                            OTHER_SESSION, OTHER_NUMBER)  # fmt: skip
    recovery_lab.recovered(disk, layout)
    recovery_lab.plant_dead(disk, layout, recovery_lab.ledger(has_end=False))
    recovery = recovery_lab.recovered(disk, layout)
    states = {outcome.session_id: outcome.state for outcome in recovery.outcomes}
    assert states == {SESSION: State.RECOVERED, OTHER_SESSION: State.NOTHING_TO_DO}
    for folder in {layout.state, layout.docket_dir}:
        assert read(disk, folder / "latest") == f"{OTHER_NUMBER}\n".encode()
    assert json.loads(read(disk, layout.docket_dir / "latest.receipt.json"))["docket_number"] == OTHER_NUMBER


def test_a_later_run_becomes_the_newest(disk, layout):
    recovery_lab.plant_dead(disk, layout, recovery_lab.ledger(has_end=True))
    recovery_lab.recovered(disk, layout)
    recovery_lab.plant_dead(disk, layout, recovery_lab.ledger(OTHER_SESSION, OTHER_NUMBER, has_end=True, notes=50),
                            OTHER_SESSION, OTHER_NUMBER)  # fmt: skip
    recovery_lab.recovered(disk, layout)
    assert read(disk, layout.docket_dir / "latest") == f"{OTHER_NUMBER}\n".encode()


def test_a_receipt_that_something_else_wrote_is_moved_aside(disk, layout):
    recovery_lab.plant_dead(disk, layout, recovery_lab.ledger(has_end=True))
    write(disk, layout.docket_dir / f"receipts/{NUMBER}.receipt.json", b"{}")
    outcome = only(recovery_lab.recovered(disk, layout))
    assert any("held something else" in problem for problem in outcome.problems)
    assert receipt_of(disk, layout)["session"]["exit_code"] == 0


def test_a_ledger_of_another_program_is_not_its_business(disk, layout):
    made = recovery_lab.build.LedgerBuilder()
    made.add_raw("session.start", {"tool": "docket", "session_id": SESSION})
    write(disk, layout.ledger_path(SESSION), made.data())
    assert only(recovery_lab.recovered(disk, layout)).state is State.NOTHING_TO_DO
    assert read(disk, layout.ledger_path(SESSION)) == made.data()


def test_one_session_by_its_id_or_number(disk, layout):
    for session, number in ((SESSION, NUMBER), (OTHER_SESSION, OTHER_NUMBER)):
        recovery_lab.plant_dead(disk, layout, recovery_lab.ledger(session, number, has_end=False), session, number)
    assert only(recovery_lab.recovered(disk, layout, session=OTHER_NUMBER.lower())).session_id == OTHER_SESSION
    assert receipt_of(disk, layout) is None
    assert only(recovery_lab.recovered(disk, layout, session=SESSION)).docket_number == NUMBER
    with pytest.raises(UnavailableError) as caught:
        recovery_lab.recovered(disk, layout, session="DKT-20200101-000000")
    assert caught.value.reason == Reason.NOT_FOUND


def test_a_dry_run_changes_nothing(disk, layout):
    recovery_lab.plant_dead(disk, layout, recovery_lab.ledger(has_end=False) + TAIL)
    counting = FaultyDisk(disk)
    outcome = only(recovery_lab.recovered(counting, layout, dry_run=True))
    assert counting.log == []
    assert (outcome.state, outcome.has_end) == (State.RECOVERED, False)
    assert outcome.removed == (layout.state / f"live/{SESSION}", layout.state / "receipts" / RESERVE)


def test_another_recovery_is_at_work(disk, layout):
    recovery_lab.plant_dead(disk, layout, recovery_lab.ledger(has_end=False))
    locks = DiskLocks(disk)
    held = locks.acquire(layout.state / RECOVERY_LOCK)
    with pytest.raises(UnavailableError) as caught:
        recovery_lab.recovered(disk, layout, locks)
    assert caught.value.reason == Reason.LOCKED
    assert "another recovery" in caught.value.detail
    held.release()
    assert only(recovery_lab.recovered(disk, layout, locks)).state is State.RECOVERED


def test_a_project_in_which_nothing_ran(layout):
    disk = recovery_lab.MemoryDisk()
    disk.folder(Path("/tree"), create=True)
    assert recovery_lab.recovered(disk, layout) == Recovery(outcomes=())
    assert unfinished(layout, disk=disk) == ()
