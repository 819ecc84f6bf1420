"""The hunks of a delta by number, and a content without some of them.

Rules (spec/windows.md, Undo):
1. The hunks of a delta are numbered through, from 1, in the order of its files.
2. Hunks are taken back only from the very lines that they left; the line feed at the end of a content goes with the
   hunk that reaches the end, and with all of them.
3. A content that is not kept is made of the other side and the hunks. Whoever does that checks its name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from docket.formats.dataclass import dataclass, replace
from docket.formats.relpath import RelPath
from docket.formats.windows.delta import Delta, FileDelta, Hunk
from docket.rules.line_difference import split_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedHunk:
    """A hunk with its number in the delta and its place among those of its file."""

    number: int
    path: RelPath
    place: int
    hunk: Hunk


def numbered(delta: Delta) -> tuple[NumberedHunk, ...]:
    """Return all hunks of a delta, in the order of their numbers."""
    each = ((file.path, place, hunk) for file in delta.files for place, hunk in enumerate(file.hunks))
    return tuple(
        NumberedHunk(number=number, path=path, place=place, hunk=hunk)
        for number, (path, place, hunk) in enumerate(each, 1)
    )


def places_by_path(hunks: Sequence[NumberedHunk], numbers: Collection[int]) -> Mapping[RelPath, frozenset[int]]:
    """Return, for each path of which hunks are meant, their places in the file."""
    found: dict[RelPath, set[int]] = {}
    for hunk in hunks:
        if hunk.number in numbers:
            found.setdefault(hunk.path, set()).add(hunk.place)
    return {path: frozenset(places) for path, places in found.items()}


def without_hunks(after: bytes, file: FileDelta, places: Collection[int]) -> bytes | None:
    """Return what the tool left without the hunks at these places; None where they are not hunks of that content."""
    left = split_lines(after)
    lines: list[bytes] = []
    at, open_end = 0, left.no_eof_newline
    for place, hunk in enumerate(file.hunks):
        start, end = hunk.new_start - 1, hunk.new_start - 1 + len(hunk.new_lines)
        if not at <= start <= end <= len(left.lines) or left.lines[start:end] != hunk.new_lines:
            return None
        lines += left.lines[at:start]
        lines += hunk.old_lines if place in places else hunk.new_lines
        if place in places and end == len(left.lines):
            open_end = file.old_no_eof_newline
        at = end
    lines += left.lines[at:]
    if len(places) == len(file.hunks):
        open_end = file.old_no_eof_newline
    return b"\n".join(lines) + (b"" if open_end or not lines else b"\n")


def before_of(after: bytes, file: FileDelta) -> bytes | None:
    """Return what stood there before the tool, from what it left; None where the hunks do not tell it."""
    if file.binary or file.truncated:
        return None
    return without_hunks(after, file, range(len(file.hunks)))


def after_of(before: bytes, file: FileDelta) -> bytes | None:
    """Return what the tool left, from what stood there before; None where the hunks do not tell it."""
    return before_of(before, _mirrored(file))


def _mirrored(file: FileDelta) -> FileDelta:
    hunks = tuple(
        Hunk(old_start=hunk.new_start, new_start=hunk.old_start, old_lines=hunk.new_lines, new_lines=hunk.old_lines)
        for hunk in file.hunks
    )
    return replace(
        file,
        hunks=hunks,
        old_no_eof_newline=file.new_no_eof_newline,
        new_no_eof_newline=file.old_no_eof_newline,
    )
