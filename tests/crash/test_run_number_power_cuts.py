"""A run's number is taken and the power goes at every step: no number that a run had is ever given again."""

from __future__ import annotations

from contextlib import suppress

import recovery_lab
from disks.faulty_disk import FaultyDisk, stop_at
from disks.memory_disk import EVERYTHING_LEFT, NOTHING_LEFT, MemoryDisk, torn
from docket.errors import UnavailableError
from docket.formats.digest import Digest
from docket.formats.ledger.proof_facts import PreviousRun
from docket.stores.run_numbers import put_previous, take_number

LAYOUT = recovery_lab.SPLIT
DRAWS = [NOTHING_LEFT, EVERYTHING_LEFT, *(torn(seed) for seed in range(5))]
FIRST, SECOND = (
    PreviousRun(session=session, events=3, head=Digest("12" * 32), receipt_sha256=Digest("34" * 32))
    for session in ("aaaaaaaaaaaa", "bbbbbbbbbbbb")
)


def begun() -> MemoryDisk:
    disk = recovery_lab.project(LAYOUT)
    assert [take_number(LAYOUT, disk=disk).run for _ in range(3)] == [1, 2, 3]
    put_previous(LAYOUT, FIRST, disk=disk)
    return disk


def test_a_number_is_never_given_again() -> None:
    counting = FaultyDisk(begun())
    take_number(LAYOUT, disk=counting)
    assert counting.steps > 3
    for count in range(counting.steps + 1):
        memory, taken = begun(), 3
        with suppress(UnavailableError):
            taken = take_number(LAYOUT, disk=FaultyDisk(memory, stop_at(count))).run
        for draw in DRAWS:
            after = take_number(LAYOUT, disk=memory.after_power_cut(draw))
            assert after.run > taken
            assert (after.run <= 5, after.previous, after.lost) == (True, FIRST, "")


def test_the_run_before_is_the_old_one_or_the_new_one() -> None:
    counting = FaultyDisk(begun())
    put_previous(LAYOUT, SECOND, disk=counting)
    for count in range(counting.steps + 1):
        memory, is_done = begun(), False
        with suppress(UnavailableError):
            put_previous(LAYOUT, SECOND, disk=FaultyDisk(memory, stop_at(count)))
            is_done = True
        for draw in DRAWS:
            left = memory.after_power_cut(draw)
            after = take_number(LAYOUT, disk=left)
            assert after.run == 4
            assert after.previous in ((SECOND,) if is_done else (FIRST, SECOND))
            assert [name for name in recovery_lab.names(left, LAYOUT.state) if name.endswith(".tmp")] == []
