"""Which changes touch a protected path, and whether an approval covers them.

Rules (spec/workspace.md, Protected paths):
1. A change hits a selector by its own path, by a directory above it that the selector means, and, where it is a
   directory that goes or becomes something else, by any staged path below it that the selector means.
2. An approval is for the run (`--workspace-tx-approve`) or for exactly one change set, by its digest. It is said which.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import Change, FsChange
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import DirectoryEntry, Kind, Listing
from docket.formats.workspace.change_set import ChangeSet
from docket.rules.selectors import Selector, compile_patterns


class Approval(StrEnum):
    """What an approval is bound to."""

    NONE = "none"
    RUN = "run"
    DIFF = "diff"


def protected_hits(changes: ChangeSet, staged: Listing, patterns: Sequence[str]) -> tuple[RelPath, ...]:
    """Return the changed paths that touch what `patterns` protect, in tree order."""
    if not patterns or not changes.changes:
        return ()
    selector = compile_patterns(patterns)
    held = _protected_directories(staged, selector) if any(map(_takes_directory_away, changes.changes)) else frozenset()
    return tuple(
        change.path
        for change in changes.changes
        if selector.matches(change.path, is_directory=_is_directory(change))
        or (change.path in held and _takes_directory_away(change))
    )


def approval(changes: ChangeSet, *, for_run: bool, digest: Digest | None) -> Approval:
    """Return what an approval that was given is bound to; one for another change set is none."""
    if digest is not None:
        return Approval.DIFF if digest == changes.digest else Approval.NONE
    return Approval.RUN if for_run else Approval.NONE


def _is_directory(change: FsChange) -> bool:
    return any(state is not None and state.kind == Kind.DIRECTORY.value for state in (change.before, change.after))


def _takes_directory_away(change: FsChange) -> bool:
    was_directory = change.before is not None and change.before.kind == Kind.DIRECTORY.value
    return was_directory and change.change in (Change.REMOVED, Change.RETYPED)


def _protected_directories(staged: Listing, selector: Selector) -> frozenset[RelPath]:
    """Return the directories above every staged path that the selector means."""
    return frozenset(
        above
        for entry in staged.entries
        if selector.matches(entry.path, is_directory=isinstance(entry, DirectoryEntry))
        for above in entry.path.above()
    )
