"""Patterns in an order, and the first of them that matches a name, found without a walk where it can be.

Rules:
1. What is found is what a walk over all patterns in their order with the shell's globbing would find
   (`fnmatch.fnmatchcase`).
2. What has no glob in it but `?` is looked up by the rest of its text, what ends in its only glob `*` by what stands
   before. Any other is compiled once and compared, up to the place of what was looked up.
3. Where an effort is given, reading a glob and comparing a name are counted as `formats.effort` says, whichever way
   they take: no pattern is read once there is none left.
"""

from __future__ import annotations

import fnmatch
import re
from bisect import insort
from operator import itemgetter
from typing import Generic, TypeAlias, TypeVar

from docket.formats.effort import GLOB_STEPS, Effort, weight

T = TypeVar("T")
Rank: TypeAlias = tuple[bool, int, int, str]

_GLOB = re.compile(r"[*\[]")
_BEFORE = re.compile(r"([^*?\[]*)\*+")
_PLACES_STEPS = 32
_RANK = itemgetter(0)


class PatternIndex(Generic[T]):
    """Patterns, each with its rank and what it stands for; equal ranks count in the order in which they come."""

    __slots__ = ("_before", "_effort", "_globs", "_globs_weight", "_names")

    def __init__(self, effort: Effort | None = None) -> None:
        self._effort = effort
        # By how long a pattern is and where it has a `?`: what each rest stands for.
        self._names: dict[int, dict[tuple[int, ...], dict[str, tuple[Rank, T]]]] = {}
        # By how long what stands before the `*` is.
        self._before: dict[int, dict[str, tuple[Rank, T]]] = {}
        self._globs: list[tuple[Rank, re.Pattern[str], T]] = []
        self._globs_weight = 0

    def add(self, pattern: str, rank: Rank, value: T) -> None:
        """Take one more, in its place."""
        if _GLOB.search(pattern) is None:
            marks = tuple(at for at, character in enumerate(pattern) if character == "?")
            known = self._names.setdefault(len(pattern), {}).setdefault(marks, {})
            _put(known, _without(pattern, marks), (rank, value))
            return
        self._globs_weight += weight(pattern)
        if self._effort is not None and not self._effort.take(GLOB_STEPS):
            return
        plain = _BEFORE.fullmatch(pattern)
        if plain is None:
            insort(self._globs, (rank, re.compile(fnmatch.translate(pattern)), value), key=_RANK)
        else:
            _put(self._before.setdefault(len(plain[1]), {}), plain[1], (rank, value))

    def steps(self, name: str) -> int:
        """Return what comparing a name counts."""
        known = self._names.get(len(name), {})
        return weight(name) * (_PLACES_STEPS * (len(known) - (() in known)) + self._globs_weight)

    def first(self, name: str) -> T | None:
        """Return what the first pattern that matches the name stands for; None where none does."""
        found = [texts.get(_without(name, marks)) for marks, texts in self._names.get(len(name), {}).items()]
        found += [texts.get(name[:length]) for length, texts in self._before.items() if length <= len(name)]
        best = min((place for place in found if place is not None), key=_RANK, default=None)
        for rank, pattern, value in self._globs:
            if best is not None and best[0] < rank:
                break
            if pattern.match(name):
                return value
        return None if best is None else best[1]


def _put(known: dict[str, tuple[Rank, T]], text: str, place: tuple[Rank, T]) -> None:
    known[text] = min(known.get(text, place), place, key=_RANK)


def _without(text: str, places: tuple[int, ...]) -> str:
    if not places:
        return text
    begins, ends = (0, *(place + 1 for place in places)), (*places, len(text))
    return "".join(text[begin:end] for begin, end in zip(begins, ends, strict=True))
