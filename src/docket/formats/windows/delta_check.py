"""What a delta may not say: the contradictions that decoding and encoding refuse (spec/windows.md, Contradictions).

The delta is in its order already (`delta.normalised`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NoReturn

from docket.errors import InvalidDocumentError
from docket.formats.reason import Reason
from docket.formats.windows.delta import Delta, FileDelta, Hunk, tool_use_order
from docket.formats.windows.names import (
    ABSENT_MODE,
    GITLINK_MODE,
    MODES,
    REASON_FORM,
    Hashes,
    Operation,
    Scope,
    Status,
    kind_of,
)

_HEX = re.compile(r"[0-9a-f]+")


def check_delta(delta: Delta) -> None:
    """Raise InvalidDocumentError for a delta that contradicts itself."""
    _check_tool_uses(delta)
    _check_status(delta)
    for name in ("head_before", "head_after"):
        _check_commit(delta, name)
    for before, after in pairwise(delta.files):
        if before.path == after.path:
            _refuse(f"{after.path} stands in the delta twice")
    for file in delta.files:
        _check_file(file, delta.hashes)
    limits = delta.limits
    if min(limits.files_observed, limits.bytes_read, delta.window.duration_ms, delta.head_moves) < 0:
        _refuse("a count is below 0")
    if limits.files_observed < len(delta.files):
        _refuse("fewer files were observed than changed")
    if any(file.truncated for file in delta.files) and not limits.truncated:
        _refuse("a file is truncated, and the limits do not say so")


def _check_tool_uses(delta: Delta) -> None:
    if not delta.tool_uses:
        _refuse("no tool use is named")
    if {use.actor for use in delta.tool_uses} != set(range(len(delta.actors))):
        _refuse("an actor is named who used no tool")
    for before, after in pairwise(delta.tool_uses):
        if tool_use_order(before) == tool_use_order(after):
            _refuse(f"the tool use {after.tool_use_id!r} stands in the delta twice")
    if (delta.scope is Scope.TOOL) != (len(delta.tool_uses) == 1):
        _refuse("the scope is a tool where there is one tool use, and a group where there are more")


def _check_status(delta: Delta) -> None:
    if delta.status is Status.COMPLETE:
        if delta.reason is not None:
            _refuse("a complete delta has a reason")
        if delta.hashes is None:
            _refuse("a complete delta does not say what its hashes are of")
        return
    if delta.reason is None or not REASON_FORM.fullmatch(delta.reason):
        _refuse("a partial delta has no reason of the form of one")
    if delta.files:
        _refuse("a partial delta has files")


def _check_commit(delta: Delta, name: str) -> None:
    commit: str | None = getattr(delta, name)
    if commit is None:
        return
    if delta.hashes in (None, Hashes.CONTENT_SHA256):
        _refuse(f"{name} is a commit, and the hashes are not git's")
    _check_hash(commit, delta.hashes, name)


def _check_hash(text: str, hashes: Hashes | None, name: str) -> None:
    if hashes is None or len(text) != hashes.digits or not _HEX.fullmatch(text):
        _refuse(f"{name} is no hash of the form that the delta names")


def _check_file(file: FileDelta, hashes: Hashes | None) -> None:
    sides = ((file.before_mode, file.before_hash, "before"), (file.after_mode, file.after_hash, "after"))
    for mode, name, side in sides:
        _check_hash(name, hashes, f"{side}_hash of {file.path}")
        if mode != ABSENT_MODE and mode not in MODES:
            _refuse(f"{side}_mode of {file.path} is {mode!r}")
        if _is_zero(name) and mode != ABSENT_MODE and not file.truncated:
            _refuse(f"{file.path} has a mode and no hash, and was not truncated")
        if not _is_zero(name) and mode == ABSENT_MODE:
            _refuse(f"{file.path} has a hash and is absent")
    if file.operation is not _operation(file):
        _refuse(f"the operation on {file.path} is not what its modes say")
    _check_content(file)


def _operation(file: FileDelta) -> Operation | None:
    before, after = file.before_mode, file.after_mode
    if ABSENT_MODE in (before, after):
        if before == after:
            return None
        return Operation.CREATE if before == ABSENT_MODE else Operation.DELETE
    return Operation.EDIT if kind_of(before) == kind_of(after) else Operation.TYPECHANGE


def _check_content(file: FileDelta) -> None:
    if file.hunks and (file.binary or file.truncated):
        _refuse(f"{file.path} is binary or truncated and has hunks")
    has_lines = bool(file.hunks) or file.old_no_eof_newline or file.new_no_eof_newline
    if has_lines and (file.operation is Operation.TYPECHANGE or GITLINK_MODE in (file.before_mode, file.after_mode)):
        _refuse(f"{file.path} changed its kind, or is a repository, and has lines")
    if (file.binary or file.truncated) and has_lines:
        _refuse(f"{file.path} is binary or truncated and has lines")
    if file.operation is Operation.EDIT:
        _check_edit(file)
    elif file.operation is not Operation.TYPECHANGE:
        _check_whole(file)
    _check_hunks(file)


def _check_edit(file: FileDelta) -> None:
    same = file.before_hash == file.after_hash and not file.truncated
    if same and (file.before_mode == file.after_mode or file.hunks or file.binary):
        _refuse(f"{file.path} is the same before and after")
    if same and file.old_no_eof_newline != file.new_no_eof_newline:
        _refuse(f"{file.path} is the same before and after, and its last line is not")
    told = file.binary or file.truncated or file.hunks or file.before_mode == GITLINK_MODE
    if not same and not told and file.old_no_eof_newline == file.new_no_eof_newline:
        _refuse(f"{file.path} changed, and nothing says how")


def _check_whole(file: FileDelta) -> None:
    created = file.operation is Operation.CREATE
    if len(file.hunks) > 1:
        _refuse(f"{file.path} was created or deleted in more than one piece")
    for hunk in file.hunks:
        if (hunk.old_start, hunk.new_start) != (1, 1) or (hunk.old_lines if created else hunk.new_lines):
            _refuse(f"{file.path} was created or deleted, and a hunk says otherwise")
    here, gone = file.new_no_eof_newline, file.old_no_eof_newline
    if (gone if created else here) or ((here or gone) and not file.hunks):
        _refuse(f"{file.path} ends without a newline where it has no lines")


def _check_hunks(file: FileDelta) -> None:
    end_old = end_new = 0  # the last line of the hunk before, counted from 1
    for index, hunk in enumerate(file.hunks):
        if not hunk.old_lines and not hunk.new_lines:
            _refuse(f"a hunk of {file.path} has no lines")
        if min(hunk.old_start, hunk.new_start) < 1:
            _refuse(f"a hunk of {file.path} starts before the first line")
        if any(b"\n" in line for line in _both(hunk)):
            _refuse(f"a line of {file.path} has a line feed in it")
        kept_old, kept_new = hunk.old_start - 1 - end_old, hunk.new_start - 1 - end_new
        if kept_old != kept_new or kept_old < (index > 0):
            _refuse(f"the hunks of {file.path} overlap, touch, or do not go together")
        end_old += kept_old + len(hunk.old_lines)
        end_new += kept_new + len(hunk.new_lines)


def _both(hunk: Hunk) -> Sequence[bytes]:
    return (*hunk.old_lines, *hunk.new_lines)


def _is_zero(name: str) -> bool:
    return not name.strip("0")


def _refuse(detail: str) -> NoReturn:
    raise InvalidDocumentError(Reason.WRONG_VALUE, detail)
