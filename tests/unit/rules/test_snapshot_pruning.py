"""Which snapshots go: by number, age and bytes, shared files counted once."""

from __future__ import annotations

import pytest

from docket.rules.tree.pruning import Candidate, KeepRule, choose, held_bytes, only_here_bytes

DAY_NS = 86_400_000_000_000
NOW_NS = 100 * DAY_NS


def snapshot(name, age_days, *inodes, taking=False):
    written_ns = None if age_days is None else NOW_NS - age_days * DAY_NS
    return Candidate(session_id=name, written_ns=written_ns, is_being_taken=taking, inodes=frozenset(inodes))


# a, b and c share file 1; each has one of its own.
ALL = [
    snapshot("a", 30, (1, 100), (2, 10)),
    snapshot("b", 20, (1, 100), (3, 20)),
    snapshot("c", 1, (1, 100), (4, 40)),
    snapshot("cut", None, (9, 5)),
    snapshot("live", None, (8, 7), taking=True),
]


@pytest.mark.parametrize(
    ("rule", "going", "freed"),
    [
        (KeepRule(), ("cut",), 5),
        (KeepRule(keep_last=3), ("cut",), 5),
        (KeepRule(keep_last=1), ("a", "b", "cut"), 35),
        (KeepRule(keep_last=0), ("a", "b", "c", "cut"), 175),
        (KeepRule(keep_days=20), ("a", "cut"), 15),
        (KeepRule(keep_days=0), ("a", "b", "c", "cut"), 175),
        (KeepRule(keep_last=2, keep_days=5), ("a", "b", "cut"), 35),
        (KeepRule(max_bytes=177), ("cut",), 5),
        (KeepRule(max_bytes=176), ("a", "cut"), 15),
        (KeepRule(max_bytes=166), ("a", "b", "cut"), 35),
        (KeepRule(max_bytes=0), ("a", "b", "c", "cut"), 175),
        (KeepRule(keep_last=2, max_bytes=167), ("a", "cut"), 15),
    ],
)
def test_what_goes(rule, going, freed):
    chosen = choose(ALL, rule, NOW_NS)
    assert (chosen.going, chosen.freed_bytes) == (going, freed)


def test_bytes_are_counted_once_a_file():
    assert held_bytes(ALL) == 100 + 10 + 20 + 40 + 5 + 7
    assert held_bytes([]) == 0


def test_what_one_alone_takes_is_what_its_going_frees():
    assert only_here_bytes(ALL) == [10, 20, 40, 5, 7]


def test_of_two_of_one_age_the_later_name_stays():
    pair = [snapshot("x", 1, (1, 1)), snapshot("y", 1, (2, 1))]
    assert choose(pair, KeepRule(keep_last=1), NOW_NS).going == ("x",)
