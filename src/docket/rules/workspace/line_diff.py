"""How the lines of one text become those of another: edits, each a run of lines in the place of another.

Rules:
1. A line ends with a line feed and nothing else; the last may have none. What else is taken for the end of a line
   somewhere is a character of it.
2. The edits, made from the first to the last, give exactly the other text; between two of them stands at least one
   line that both have. The same two texts always give the same edits.
3. What it costs is bounded whatever the texts are: lines that each side has once are matched first (in the longest
   order that both share), what lies between them by the shortest script of at most `MAX_STEPS` lines, and where there
   is none so short, it is one edit.

Source for the shortest script: E. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MAX_STEPS = 256


@dataclass(frozen=True, slots=True)
class Edit:
    """Lines `before_start` to `before_end` of the one become `after_start` to `after_end` of the other, ends excluded.

    Lines count from 0; one side may be empty.
    """

    before_start: int
    before_end: int
    after_start: int
    after_end: int


def lines_of(data: bytes) -> list[bytes]:
    """Return the lines of a text, each with its line feed; they make up the text."""
    found = [line + b"\n" for line in data.split(b"\n")]
    found[-1] = found[-1][:-1]
    return found if found[-1] else found[:-1]


def edits(before: Sequence[bytes], after: Sequence[bytes]) -> tuple[Edit, ...]:
    """Return what makes `after` of `before`."""
    whole = Edit(0, len(before), 0, len(after))
    matched = [pair for gap in _gaps(before, after, _trimmed(before, after, whole)) for pair in gap]
    return tuple(_between(matched, _trimmed(before, after, whole)))


def _trimmed(before: Sequence[bytes], after: Sequence[bytes], part: Edit) -> Edit:
    """Return a part without the lines at its ends that both sides have."""
    a, b, c, d = part.before_start, part.before_end, part.after_start, part.after_end
    while a < b and c < d and before[a] == after[c]:
        a, c = a + 1, c + 1
    while a < b and c < d and before[b - 1] == after[d - 1]:
        b, d = b - 1, d - 1
    return Edit(a, b, c, d)


def _gaps(before: Sequence[bytes], after: Sequence[bytes], part: Edit) -> Iterator[Sequence[tuple[int, int]]]:
    """Yield pairs of lines that are the same, in order: the anchors, and what is found between them."""
    a, c = part.before_start, part.after_start
    for x, y in (*_anchors(before, after, part), (part.before_end, part.after_end)):
        yield _shortest(before, after, Edit(a, x, c, y))
        if x < part.before_end:
            yield ((x, y),)
        a, c = x + 1, y + 1


def _anchors(before: Sequence[bytes], after: Sequence[bytes], part: Edit) -> list[tuple[int, int]]:
    """Return the longest run, in the order of both, of lines that each side has once."""
    ours, theirs = before[part.before_start : part.before_end], after[part.after_start : part.after_end]
    times = Counter(ours), Counter(theirs)
    places = {line: part.after_start + i for i, line in enumerate(theirs) if times[1][line] == 1}
    pairs = [
        (part.before_start + i, places[line]) for i, line in enumerate(ours) if times[0][line] == 1 and line in places
    ]
    ends: list[int] = []  # of the run of each length, the least last place; and which pair that is
    last: list[int] = []
    previous: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        ends[length : length + 1] = [place]
        last[length : length + 1] = [number]
        previous.append(last[length - 1] if length else -1)
    found: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    while number >= 0:
        found.append(pairs[number])
        number = previous[number]
    return found[::-1]


def _shortest(before: Sequence[bytes], after: Sequence[bytes], part: Edit) -> list[tuple[int, int]]:
    """Return the pairs that the shortest script keeps; none where that is too long to look for."""
    rows, columns = part.before_end - part.before_start, part.after_end - part.after_start
    if not rows or not columns:
        return []
    reached: dict[int, int] = {1: 0}
    trace: list[dict[int, int]] = []
    for steps in range(min(rows + columns, MAX_STEPS) + 1):
        trace.append(dict(reached))
        for diagonal in range(-steps, steps + 1, 2):
            x = _next_row(reached, diagonal, steps)
            y = x - diagonal
            while x < rows and y < columns and before[part.before_start + x] == after[part.after_start + y]:
                x, y = x + 1, y + 1
            reached[diagonal] = x
            if x >= rows and y >= columns:
                return [(part.before_start + i, part.after_start + j) for i, j in _walked_back(trace, rows, columns)]
    return []


def _next_row(reached: dict[int, int], diagonal: int, steps: int) -> int:
    """Return where a script of so many steps enters a diagonal: by a line that is added, or one that is removed."""
    down, right = reached.get(diagonal + 1, -1), reached.get(diagonal - 1, -1) + 1
    return down if diagonal == -steps or (diagonal != steps and right <= down) else right


def _walked_back(trace: Sequence[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for steps in range(len(trace) - 1, -1, -1):
        reached, diagonal = trace[steps], x - y
        start = _next_row(reached, diagonal, steps)
        while x > start:
            x, y = x - 1, y - 1
            found.append((x, y))
        if steps:
            came_down = start == reached.get(diagonal + 1, -1) and (
                diagonal == -steps or (diagonal != steps and reached.get(diagonal - 1, -1) + 1 <= start)
            )
            x, y = (x, y - 1) if came_down else (x - 1, y)
    return found[::-1]


def _between(matched: Sequence[tuple[int, int]], part: Edit) -> Iterator[Edit]:
    a, c = part.before_start, part.after_start
    for x, y in (*matched, (part.before_end, part.after_end)):
        if a < x or c < y:
            yield Edit(a, x, c, y)
        a, c = x + 1, y + 1
