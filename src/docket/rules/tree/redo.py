"""What putting a restore back does, from its record alone: each path it changed gets back what stood there before.

Rules (spec/restore.md, Redo):
1. A step is done only where the path still holds what the restore left. Under `force` it is done over anything.
2. A file is written only from what the restore kept beside its record.
3. What the restore did not do is not undone.
"""

from __future__ import annotations

from docket.formats.ledger.tree_events import EntryState
from docket.formats.reason import Reason
from docket.formats.tree.address import Address
from docket.formats.tree.changes import target_of
from docket.formats.tree.listing import Kind, tree_order
from docket.formats.tree.restore_record import RestoredPath, RestoreRecord
from docket.formats.tree.steps import (
    ABSENT,
    ANYTHING,
    MAX_DIRECTORY_MODE,
    MAX_FILE_MODE,
    Holds,
    MakeDirectory,
    MakeSymlink,
    Precondition,
    Remove,
    SetMode,
    StepStatus,
    WriteFile,
)
from docket.rules.tree.restore import Intention, Selection, Verb, state_fault


def redo_intentions(
    record: RestoreRecord, selection: Selection | None = None, *, force: bool = False
) -> tuple[Intention, ...]:
    """Return what is to happen to each path that the restore changed, in tree order."""
    chosen = selection or Selection()
    found = [_of(item, chosen, force=force) for item in record.paths if item.status is StepStatus.APPLIED]
    return tuple(sorted(found, key=lambda item: tree_order(item.path.raw)))


def _of(item: RestoredPath, selection: Selection, *, force: bool) -> Intention:
    path, was, now = item.path, item.was, item.now
    kinds = {state.kind for state in (was, now) if state is not None}
    if not selection.takes(path, is_directory=Kind.DIRECTORY.value in kinds):
        return Intention(path=path, verb=Verb.SKIP, reason=Reason.NOT_SELECTED)
    for state in (was, now):
        fault = None if state is None else state_fault(state)
        if fault is not None:
            return Intention(path=path, verb=Verb.REFUSED, reason=fault[0], detail=fault[1])
    expected: Precondition = ABSENT if now is None else Holds(now)
    if force:
        expected = ANYTHING
    if was is None:
        return _gone(item, expected)
    return _again(item, was, expected)


def _gone(item: RestoredPath, expected: Precondition) -> Intention:
    if item.now is None:
        detail = "the record says that nothing stood there before, and nothing since"
        return Intention(path=item.path, verb=Verb.REFUSED, reason=Reason.WRONG_VALUE, detail=detail)
    step = Remove(path=item.path, precondition=expected, kind=Kind(item.now.kind))
    return Intention(path=item.path, verb=Verb.REMOVE, step=step)


def _again(item: RestoredPath, was: EntryState, expected: Precondition) -> Intention:
    path, now = item.path, item.now
    if was.kind == Kind.DIRECTORY.value:
        made = MakeDirectory(path=path, precondition=expected, mode=was.mode & MAX_DIRECTORY_MODE)
        return Intention(path=path, verb=Verb.DIRECTORY, step=made)
    if was.kind == Kind.SYMLINK.value:
        link = MakeSymlink(path=path, precondition=expected, target=target_of(was))
        return Intention(path=path, verb=Verb.SYMLINK, step=link)
    mode = was.mode & MAX_FILE_MODE
    if now is not None and isinstance(expected, Holds) and (now.size, now.sha256) == (was.size, was.sha256):
        return Intention(path=path, verb=Verb.MODE, step=SetMode(path=path, precondition=expected, mode=mode))
    if not item.kept or was.sha256 is None or was.size is None:
        detail = "what stood there before was not kept"
        return Intention(path=path, verb=Verb.NOT_COVERED, reason=Reason.CONTENT_MISSING, detail=detail)
    write = WriteFile(path=path, precondition=expected, content=Address(was.sha256, was.size), mode=mode)
    return Intention(path=path, verb=Verb.RECREATE if now is None else Verb.WRITE, step=write)
