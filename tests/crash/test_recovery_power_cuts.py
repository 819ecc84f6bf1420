"""A recovery is killed after each of its steps, the cache is lost, kept or torn: done again, it ends alike.

What is expected is taken from an undisturbed recovery, and that one's receipt is judged by hand in the unit tests.
"""

from __future__ import annotations

import json
from contextlib import suppress

import pytest

import recovery_lab
from disks.faulty_disk import FaultyDisk, stop_at
from disks.memory_disk import EVERYTHING_LEFT, NOTHING_LEFT, torn
from docket.engines.recover import State
from docket.errors import UnavailableError
from docket.formats.canonical import encode_document
from golden_ledgers.headed import SIGNED_ORIGIN, file_of, signed_run
from golden_ledgers.judging import receipt_of
from golden_ledgers.proven import SECRET_KEY, signed
from recovery_lab import NUMBER, SESSION, TAIL
from sweeps import some

DRAWS = [NOTHING_LEFT, EVERYTHING_LEFT, *(torn(seed) for seed in range(5))]
LAYOUTS = {"split": recovery_lab.SPLIT, "one folder": recovery_lab.ONE_FOLDER}


@pytest.fixture(params=LAYOUTS)
def layout(request):
    return LAYOUTS[request.param]


def prepared(layout, data):
    disk = recovery_lab.project(layout)
    recovery_lab.plant_dead(disk, layout, data)
    return disk


@pytest.mark.parametrize("has_end", [True, False])
@pytest.mark.parametrize("tail", [b"", TAIL])
def test_a_recovery_is_killed_and_done_again(layout, has_end, tail):
    whole = recovery_lab.ledger(has_end=has_end)
    undisturbed = prepared(layout, whole + tail)
    counting = FaultyDisk(undisturbed)
    recovery_lab.recovered(counting, layout)
    receipt_at = layout.docket_dir / f"receipts/{NUMBER}.receipt.json"
    expected = recovery_lab.read(undisturbed, receipt_at)
    assert expected is not None
    assert counting.steps > 15
    for count in range(counting.steps + 1):
        memory = prepared(layout, whole + tail)
        with suppress(UnavailableError):
            recovery_lab.recovered(FaultyDisk(memory, stop_at(count)), layout)
        for draw in DRAWS:
            left = memory.after_power_cut(draw)
            for receipts in {layout.state / "receipts", layout.docket_dir / "receipts"}:
                for name in recovery_lab.names(left, receipts):
                    assert name.startswith(".") or recovery_lab.read(left, receipts / name) == expected
            recovery_lab.recovered(left, layout)
            judge(left, layout, whole, tail, expected)
            again = recovery_lab.recovered(left, layout)
            assert [outcome.state for outcome in again.outcomes] == [State.NOTHING_TO_DO]
            assert again.outcomes[0].removed == again.strays == ()
            judge(left, layout, whole, tail, expected)


@some(5)
def test_what_the_run_had_signed_is_found_whatever_step_a_recovery_is_killed_at(layout, stride):
    """Killed behind its end, with its receipt and last checkpoint signed and in the reserve."""
    run = signed_run()
    whole, receipt = run.data(), signed(receipt_of(run.data()))
    expected, notes = encode_document(receipt), file_of(run, SIGNED_ORIGIN, SECRET_KEY)
    *told, last = notes.splitlines(keepends=True)
    reserve = layout.state / f"receipts/.{NUMBER}.receipt.json.{'0c' * 8}.tmp"
    beside = layout.ledger_path(SESSION).with_suffix(".checkpoints")

    def dead():
        disk = recovery_lab.project(layout)
        recovery_lab.plant_dead(disk, layout, whole, number=None)
        recovery_lab.write(disk, beside, b"".join(told), reserved=5000)
        recovery_lab.write(disk, reserve, expected + json.loads(last)["note"].encode(), reserved=1_000_000)
        return disk

    counting = FaultyDisk(dead())
    recovery_lab.recovered(counting, layout)
    for count in range(0, counting.steps + 1, stride):
        memory = dead()
        with suppress(UnavailableError):
            recovery_lab.recovered(FaultyDisk(memory, stop_at(count)), layout)
        for draw in DRAWS:
            left = memory.after_power_cut(draw)
            recovery_lab.recovered(left, layout)
            judge(left, layout, whole, b"", expected)
            assert recovery_lab.read(left, beside) == notes


def judge(disk, layout, whole, tail, expected):
    assert recovery_lab.leavings(disk, layout) == []
    for folder in {layout.state, layout.docket_dir}:
        assert recovery_lab.read(disk, folder / f"receipts/{NUMBER}.receipt.json") == expected
        assert recovery_lab.read(disk, folder / f"runs/{SESSION}.jsonl") == whole
        assert recovery_lab.read(disk, folder / "latest") == f"{NUMBER}\n".encode()
    assert recovery_lab.read(disk, layout.docket_dir / "latest.receipt.json") == expected
    runs = layout.state / "runs"
    aside = [recovery_lab.read(disk, runs / name) for name in recovery_lab.names(disk, runs) if ".jsonl.torn-" in name]
    assert set(aside) == ({tail} if tail else set())


def test_a_recovery_of_a_run_that_recorded_nothing_is_killed_and_done_again(layout):
    def dead():
        disk = recovery_lab.project(layout)
        recovery_lab.write(disk, layout.ledger_path(SESSION), TAIL, reserved=9000)
        recovery_lab.write(disk, layout.state / f"runs/{SESSION}.jsonl.lock", b"")
        recovery_lab.write(disk, layout.state / f"receipts/.{NUMBER}.receipt.json.{'0b' * 8}.tmp", b"", reserved=9000)
        return disk

    counting = FaultyDisk(dead())
    recovery_lab.recovered(counting, layout)
    for count in range(counting.steps + 1):
        memory = dead()
        with suppress(UnavailableError):
            recovery_lab.recovered(FaultyDisk(memory, stop_at(count)), layout)
        for draw in DRAWS:
            left = memory.after_power_cut(draw)
            for _ in range(2):
                recovery_lab.recovered(left, layout)
                assert [name for name in recovery_lab.leavings(left, layout) if not name.endswith(".lock")] == []
                assert recovery_lab.read(left, layout.ledger_path(SESSION)) in (None, b"")
            assert TAIL in [recovery_lab.read(left, layout.state / "runs" / name) for name in torn_names(left, layout)]


def torn_names(disk, layout):
    return [name for name in recovery_lab.names(disk, layout.state / "runs") if ".torn-" in name]
