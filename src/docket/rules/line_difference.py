"""docket's own line difference, `docket/lines/v1`: one answer for two contents (spec/windows.md).

Rules:
1. Lines end at a line feed and nowhere else. The common beginning and the common end are set aside.
2. What stands on one side alone cannot match and is set aside too. Of the rest the greedy forward search (Myers 1986)
   finds a shortest script: on each diagonal the insertion is taken where it reaches as far or farther.
3. Nothing of the machine, of git or of a clock shapes the result. Budgets count lines and steps: beyond a depth of
   MAX_DEPTH, or once the files before have used up MAX_STEPS, what rule 1 leaves is one hunk.
"""

from __future__ import annotations

from collections.abc import Sequence

from docket.formats.dataclass import dataclass

MAX_DEPTH = 1024
MAX_STEPS = 2**26


@dataclass(slots=True)
class Budget:
    """Steps that the files of one delta share."""

    steps_left: int = MAX_STEPS
    depth: int = MAX_DEPTH


@dataclass(frozen=True, slots=True)
class Edit:
    """Lines `before_start` to `before_end` of the one become `after_start` to `after_end` of the other, ends excluded.

    Lines count from 0; one side may be empty.
    """

    before_start: int
    before_end: int
    after_start: int
    after_end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """A content as lines without their line feeds."""

    lines: tuple[bytes, ...]
    no_eof_newline: bool


def split_lines(content: bytes) -> Lines:
    """Return a content's lines; a carriage return before the line feed stays."""
    parts = content.split(b"\n")
    last = parts.pop()
    if last:
        parts.append(last)
    return Lines(lines=tuple(parts), no_eof_newline=bool(last))


def lines_of(content: bytes) -> list[bytes]:
    """Return a content's lines with their line feeds; together they are the content."""
    found = [line + b"\n" for line in content.split(b"\n")]
    found[-1] = found[-1][:-1]
    return found if found[-1] else found[:-1]


def edits(before: Sequence[bytes], after: Sequence[bytes], budget: Budget) -> tuple[Edit, ...]:
    """Return what makes `after` of `before`, in order; between two edits stands at least one line that both have."""
    first = _common(before, after)
    last = _common(before[first:][::-1], after[first:][::-1])
    before_end, after_end = len(before) - last, len(after) - last
    matched = _matched(before[first:before_end], after[first:after_end], budget)
    pairs = [(first + left, first + right) for left, right in matched]
    found, before_at, after_at = [], first, first
    for left, right in (*pairs, (before_end, after_end)):
        if left > before_at or right > after_at:
            found.append(Edit(before_at, left, after_at, right))
        before_at, after_at = left + 1, right + 1
    return tuple(found)


def _common(old: Sequence[bytes], new: Sequence[bytes]) -> int:
    count = 0
    for left, right in zip(old, new, strict=False):
        if left != right:
            break
        count += 1
    return count


def _matched(old: Sequence[bytes], new: Sequence[bytes], budget: Budget) -> list[tuple[int, int]]:
    """Return the pairs of places that hold the same line, ascending on both sides."""
    on_both = set(old).intersection(new)
    numbers = {line: number for number, line in enumerate(on_both)}
    left_places = [place for place, line in enumerate(old) if line in on_both]
    right_places = [place for place, line in enumerate(new) if line in on_both]
    left = [numbers[old[place]] for place in left_places]
    right = [numbers[new[place]] for place in right_places]
    return [(left_places[a], right_places[b]) for a, b in _shortest(left, right, budget)]


def _shortest(left: list[int], right: list[int], budget: Budget) -> list[tuple[int, int]]:
    """Return the matches of a shortest script between two sequences, none where the budget does not reach."""
    deepest = min(budget.depth, len(left) + len(right)) if left and right else -1
    middle = deepest + 1
    reach = [0] * (2 * deepest + 3)  # how far on the left each diagonal goes; the one of equal places in the middle
    trace: list[list[int]] = []
    for depth in range(deepest + 1):
        trace.append(reach[middle - depth - 1 : middle + depth + 2])
        for diagonal in range(-depth, depth + 1, 2):
            at = middle + diagonal
            inserts = diagonal == -depth or (diagonal != depth and reach[at - 1] < reach[at + 1])
            start = 0 if depth == 0 else reach[at + 1] if inserts else reach[at - 1] + 1
            end = start + _run(left, right, start, start - diagonal)
            reach[at] = end
            budget.steps_left -= end - start + 1
            if budget.steps_left <= 0:
                return []
            if end >= len(left) and end - diagonal >= len(right):
                return _walked_back(trace, len(left), len(right))
    return []


def _run(left: list[int], right: list[int], a: int, b: int) -> int:
    """Return how many places from here on are equal."""
    start, most = a, min(len(left), a + len(right) - b)
    while a < most and left[a] == right[b]:
        a, b = a + 1, b + 1
    return a - start


def _walked_back(trace: list[list[int]], a: int, b: int) -> list[tuple[int, int]]:
    """Return the matches on the way to the end of both sides, ascending; `trace` is the reach before each depth."""
    matches: list[tuple[int, int]] = []
    for depth in range(len(trace) - 1, -1, -1):
        reach, diagonal = trace[depth], a - b
        at = diagonal + depth + 1
        inserts = diagonal == -depth or (diagonal != depth and reach[at - 1] < reach[at + 1])
        before = diagonal + 1 if inserts else diagonal - 1
        from_a = reach[before + depth + 1] if depth else 0
        from_b = from_a - before if depth else 0
        while a > from_a and b > from_b:
            a, b = a - 1, b - 1
            matches.append((a, b))
        a, b = from_a, from_b
    return matches[::-1]
