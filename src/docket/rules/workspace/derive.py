"""A part of a change set that can land by itself, and what then is left of it.

Rules (spec/workspace.md, Derived change sets):
1. A chosen path stands for everything below it.
2. What must stand before a chosen path can comes along: directories above it that the change set makes.
3. What is taken and what is left are change sets of their own, each with its digest; together they are the whole.
4. A path that the change set does not hold, nor anything below it, is refused: it would be a choice of nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from docket.errors import UsageError
from docket.formats.dataclass import dataclass
from docket.formats.ledger.tree_events import EntryState, FsChange
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.changes import target_of
from docket.formats.tree.listing import DirectoryEntry, FileEntry, Kind, Listing, Record, SymlinkEntry, listing_of
from docket.formats.workspace.change_set import ChangeSet, change_set_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """A choice of a change set and its rest."""

    taken: ChangeSet
    left: ChangeSet


def derive(changes: ChangeSet, chosen: Sequence[RelPath]) -> Derived:
    """Return what `chosen` takes of a change set; UsageError for a path that takes nothing."""
    by_path = {change.path: change for change in changes.changes}
    taken: set[RelPath] = set()
    for path in chosen:
        found = [item for item in by_path if item == path or item.raw.startswith(path.raw + b"/")]
        if not found:
            raise UsageError(Reason.USAGE, f"the transaction changes nothing at {path}")
        taken.update(found)
    for path in tuple(taken):
        taken.update(above for above in path.above() if _makes_directory(by_path, above))
    # A directory that becomes something else, or that is put where something stood, takes what is below along.
    for path in tuple(by_path):
        if any(above in taken and _unmakes_directory(by_path[above]) for above in path.above()):
            taken.add(path)
    return Derived(
        taken=change_set_of(changes.manifest_sha256, (by_path[path] for path in taken)),
        left=change_set_of(changes.manifest_sha256, (by_path[path] for path in by_path if path not in taken)),
    )


def landed_listing(base: Listing, taken: ChangeSet) -> Listing:
    """Return the base's listing as it is once `taken` has landed; times of what landed are not in it."""
    changed = {change.path: change for change in taken.changes}
    records: list[Record] = [record for record in base.records if record.path not in changed]
    records += [_record(change.path, change.after) for change in taken.changes if change.after is not None]
    return listing_of(records)


def _record(path: RelPath, state: EntryState) -> Record:
    match state.kind:
        case Kind.DIRECTORY.value:
            return DirectoryEntry(path=path, mode=state.mode)
        case Kind.SYMLINK.value:
            return SymlinkEntry(path=path, target=target_of(state))
        case _:
            assert state.sha256 is not None and state.size is not None  # noqa: S101, PT018 - nothing else lands
            return FileEntry(path=path, size=state.size, mode=state.mode, mtime_ns=0, sha256=state.sha256)


def _makes_directory(by_path: Mapping[RelPath, FsChange], path: RelPath) -> bool:
    change = by_path.get(path)
    return change is not None and change.after is not None and change.after.kind == Kind.DIRECTORY.value


def _unmakes_directory(change: FsChange) -> bool:
    was = change.before is not None and change.before.kind == Kind.DIRECTORY.value
    return was and (change.after is None or change.after.kind != Kind.DIRECTORY.value)
