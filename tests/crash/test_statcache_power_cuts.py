"""A power cut at each step of writing the cache: what is read afterwards is an old state, a new one, or nothing."""

from __future__ import annotations

import hashlib
import random
import struct
from pathlib import Path

import pytest

from disks.faulty_disk import FaultyDisk, stop_at
from disks.memory_disk import MemoryDisk
from docket.stores.statcache import StatCache

PATH = Path("/state/project/statcache")


def key(number: int) -> bytes:
    return struct.pack("<QQqqq", 1, number, number, 0, 0)


def digest(number: int, turn: int) -> bytes:
    return hashlib.sha256(b"%d %d" % (number, turn)).digest()


def fresh(count: int, turn: int) -> bytes:
    return b"".join(key(number) + digest(number, turn) for number in range(count))


def state(cache: StatCache) -> int | None:
    """The turn whose digests are known, None for an empty cache; every entry must be of the same one."""
    known = [cache.lookup(key(number)) for number in range(40)]
    if known == [None] * 40:
        return None
    (turn,) = [turn for turn in (1, 2) if known == [digest(number, turn) for number in range(40)]]
    return turn


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("steps", range(8))
def test_a_power_cut_costs_the_cache_at_most(steps, seed):
    memory, chance = MemoryDisk(), random.Random(seed)
    StatCache(PATH, disk=memory).keep(b"", fresh(40, 1))
    StatCache(PATH, disk=FaultyDisk(memory, stop_at(steps))).keep(b"", fresh(40, 2))
    left = memory.after_power_cut(lambda limit: chance.randint(0, limit))
    assert state(StatCache(PATH, disk=left)) in (None, 1, 2)
    again = StatCache(PATH, disk=left)
    again.keep(b"", fresh(40, 1))
    assert state(again) == 1
    assert state(StatCache(PATH, disk=left)) == 1


def test_a_killed_writer_leaves_the_old_file_and_the_next_one_sweeps():
    memory = MemoryDisk()
    StatCache(PATH, disk=memory).keep(b"", fresh(40, 1))
    names = set()
    for steps in range(4):
        StatCache(PATH, disk=FaultyDisk(memory, stop_at(steps))).keep(b"", fresh(40, 2))
        names |= set(memory.folder(PATH.parent).names())
        assert state(StatCache(PATH, disk=memory)) in (1, 2)
    assert len(names) > 1, "something was left behind on the way"
    StatCache(PATH, disk=memory).keep(b"", fresh(40, 1))
    assert memory.folder(PATH.parent).names() == ("statcache",)
