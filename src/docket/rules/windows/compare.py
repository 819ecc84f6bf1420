"""What became of one file, from its content before and after (spec/windows.md, Files).

Rules:
1. Binary is what has a NUL in its first BINARY_LOOK_BYTES, on either side. A link's content is its target.
2. What has more than MAX_LINES lines or MAX_FILE_BYTES bytes on a side, or was not read, is told without lines
   (`truncated`), and so is what comes after hunks of MAX_HUNK_BYTES in one delta.
3. A change in the last line's end alone is an edit without hunks: the flags say it.
"""

from __future__ import annotations

from collections.abc import Callable

from docket.formats.dataclass import dataclass, field
from docket.formats.windows.changes import Side, TreeChange
from docket.formats.windows.delta import FileDelta, Hunk
from docket.formats.windows.names import ABSENT_MODE, GITLINK_MODE, Hashes, Operation, kind_of
from docket.rules.line_difference import Budget, split_lines
from docket.rules.windows.differ import MAX_LINES, diff_lines

BINARY_LOOK_BYTES = 8000
MAX_FILE_BYTES = 16 * 1024 * 1024
MAX_HUNK_BYTES = 64 * 1024 * 1024


@dataclass(slots=True)
class Room:
    """What the files of one delta share."""

    budget: Budget = field(default_factory=Budget)
    hunk_bytes_left: int = MAX_HUNK_BYTES


Load = Callable[[str], bytes | None]
"""From a content's name to its bytes; None for one that is larger than MAX_FILE_BYTES."""


def compare_file(change: TreeChange, hashes: Hashes, load: Load, room: Room) -> FileDelta:
    """Return what the change is."""
    before, after = change.before, change.after
    operation = _operation(before.mode, after.mode)
    unread = any(side.mode != ABSENT_MODE and side.name is None for side in (before, after))
    contents = None
    if not unread and _has_lines(operation, before, after):
        contents = _loaded(before, load), _loaded(after, load)
        unread = None in contents
    binary, hunks, ends = False, tuple[Hunk, ...](), (False, False)
    if contents is not None and contents[0] is not None and contents[1] is not None:
        old, new = contents[0], contents[1]
        binary = b"\0" in old[:BINARY_LOOK_BYTES] or b"\0" in new[:BINARY_LOOK_BYTES]
        if not binary:
            compared = _compared(old, new, room)
            unread = compared is None
            hunks, ends = compared or (hunks, ends)
    zeros = "0" * hashes.digits
    return FileDelta(
        path=change.path,
        operation=operation,
        before_hash=before.name or zeros,
        after_hash=after.name or zeros,
        before_mode=before.mode,
        after_mode=after.mode,
        binary=binary,
        truncated=unread,
        old_no_eof_newline=ends[0],
        new_no_eof_newline=ends[1],
        hunks=hunks,
    )


def _operation(before: str, after: str) -> Operation:
    if before == ABSENT_MODE:
        return Operation.CREATE
    if after == ABSENT_MODE:
        return Operation.DELETE
    return Operation.EDIT if kind_of(before) == kind_of(after) else Operation.TYPECHANGE


def _has_lines(operation: Operation, before: Side, after: Side) -> bool:
    if operation is Operation.TYPECHANGE or GITLINK_MODE in (before.mode, after.mode):
        return False
    return before.name != after.name


def _loaded(side: Side, load: Load) -> bytes | None:
    return b"" if side.name is None else load(side.name)


def _compared(old: bytes, new: bytes, room: Room) -> tuple[tuple[Hunk, ...], tuple[bool, bool]] | None:
    if max(len(old), len(new)) > MAX_FILE_BYTES or max(old.count(b"\n"), new.count(b"\n")) >= MAX_LINES:
        return None
    left, right = split_lines(old), split_lines(new)
    hunks = diff_lines(left.lines, right.lines, room.budget)
    size = sum(len(line) + 1 for hunk in hunks for line in (*hunk.old_lines, *hunk.new_lines))
    if size > room.hunk_bytes_left:
        return None
    room.hunk_bytes_left -= size
    return hunks, (left.no_eof_newline, right.no_eof_newline)
