"""The plan that lands a change set: each step where the base still holds what was staged, or nothing.

Rules (spec/workspace.md, Commit):
1. What is added expects nothing at its path; what is modified, retyped or removed expects exactly what was staged.
2. What lands is what the closing scan saw in the stage: content by digest, permission bits, link targets, the
   modification times of files, and the attributes that a plan may name; where the stage has none, those of the
   base stay. Names of one file among what is written become names of one file; a further name of a file that did not
   change becomes one of the base's file, which must hold the same.
3. A state that no plan can make or compare (a special file, content that was not read, a mode with powers) refuses
   the whole commit.

It does nothing (engines.apply), and what stands in the base now it does not know.
"""

from __future__ import annotations

from collections.abc import Mapping

from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import EntryState, FsChange
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.changes import target_of
from docket.formats.tree.details import Detail
from docket.formats.tree.listing import FileEntry, Kind, Listing, Record
from docket.formats.tree.parts import records_at
from docket.formats.tree.steps import (
    ABSENT,
    MAX_DIRECTORY_MODE,
    MAX_FILE_MODE,
    Holds,
    Link,
    MakeDirectory,
    MakeSymlink,
    Precondition,
    Remove,
    SetMode,
    Step,
    WriteFile,
)
from docket.formats.tree.xattrs import named_acl
from docket.formats.workspace.change_set import ChangeSet
from docket.rules.tree.restore import state_fault
from docket.rules.workspace.powers import powers_fault
from docket.rules.workspace.stage_plan import xattrs_of

_File = tuple[int, int]
"""Device and inode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CannotLand:
    """A change that no plan can make."""

    path: RelPath
    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """The steps of a commit, and the changes for which there is none."""

    steps: tuple[Step, ...]
    refused: tuple[CannotLand, ...] = ()


def landing(changes: ChangeSet, stage: Listing, base: Listing | None = None) -> Landing:
    """Return the steps that land `changes`; `stage` is the listing, with details, of the stage they come from.

    `base` is that of the base as it was staged. Without it every file that is written is one of its own.
    """
    maker = _Steps(changes, stage, standing_names(changes, stage, base))
    steps: list[Step] = []
    refused: list[CannotLand] = []
    for change in changes.changes:
        fault = _fault(change)
        if fault is None:
            steps.append(maker.step(change))
        else:
            refused.append(CannotLand(path=change.path, reason=fault[0], detail=fault[1]))
    return Landing(steps=tuple(steps), refused=tuple(refused))


def standing_names(changes: ChangeSet, stage: Listing, base: Listing | None) -> dict[_File, RelPath]:
    """Return the files of a stage that have a name which is another's too and which did not change, by that name."""
    if base is None:
        return {}
    changed = {change.path for change in changes.changes}
    named = {item.path: item for item in stage.details.paths if item.identity is not None}
    wanted = {item.identity for path, item in named.items() if path in changed}
    names = [path for path, item in named.items() if item.identity in wanted and path not in changed]
    if not names:
        return {}
    now, was = records_at(stage, names), records_at(base, names)
    others = {item.path for item in base.details.paths if item.owner is not None}  # no name of theirs may be given
    found: dict[_File, RelPath] = {}
    for path in names:
        identity = named[path].identity
        if identity is not None and path not in others and _is_the_same(was.get(path), now.get(path)):
            found.setdefault(identity, path)
    return found


def _is_the_same(was: Record | None, now: Record | None) -> bool:
    return (
        isinstance(was, FileEntry)
        and isinstance(now, FileEntry)
        and (was.mode, was.size, was.sha256) == (now.mode, now.size, now.sha256)
    )


def _fault(change: FsChange) -> tuple[Reason, str] | None:
    for state in (change.before, change.after):
        fault = None if state is None else state_fault(state)
        if fault is not None:
            return fault
    return None if change.after is None else powers_fault(change.after)


class _Steps:
    def __init__(self, changes: ChangeSet, stage: Listing, standing: Mapping[_File, RelPath]) -> None:
        found = records_at(stage, (change.path for change in changes.changes))
        self._files: Mapping[RelPath, FileEntry] = {
            path: record for path, record in found.items() if isinstance(record, FileEntry)
        }
        self._details: Mapping[RelPath, Detail] = {item.path: item for item in stage.details.paths}
        self._standing = standing
        self._first: dict[tuple[_File, Digest | None], RelPath] = {}

    def step(self, change: FsChange) -> Step:
        """Return the one step of a change."""
        path, before, after = change.path, change.before, change.after
        expected: Precondition = ABSENT if before is None else Holds(before)
        if after is None:
            assert before is not None  # noqa: S101 - a change set holds no change without a state
            return Remove(path=path, precondition=expected, kind=Kind(before.kind))
        match after.kind:
            case Kind.DIRECTORY.value:
                return MakeDirectory(
                    path=path,
                    precondition=expected,
                    mode=after.mode & MAX_DIRECTORY_MODE,
                    xattrs=xattrs_of(self._details.get(path), after.mode),
                )
            case Kind.SYMLINK.value:
                return MakeSymlink(path=path, precondition=expected, target=target_of(after))
            case _:
                return self._file(change, after, expected)

    def _file(self, change: FsChange, after: EntryState, expected: Precondition) -> Step:
        path, before = change.path, change.before
        entry, detail = self._files.get(path), self._details.get(path)
        mtime_ns = None if entry is None else entry.mtime_ns
        mode = after.mode & MAX_FILE_MODE
        xattrs = xattrs_of(detail, after.mode)
        if before is not None and (before.kind, before.sha256) == (Kind.FILE.value, after.sha256):
            acl = named_acl(xattrs)
            return SetMode(path=path, precondition=expected, mode=mode, mtime_ns=mtime_ns, acl=acl)
        if detail is not None and detail.identity is not None:
            stands = self._standing.get(detail.identity)
            if stands is not None and entry is not None and entry.sha256 == after.sha256:
                return Link(path=path, precondition=expected, to=stands, holds=after)
            first = self._first.setdefault((detail.identity, after.sha256), path)  # what was made has other content
            if first != path:
                return Link(path=path, precondition=expected, to=first)
        assert after.sha256 is not None and after.size is not None  # noqa: S101, PT018 - `_fault` let it pass
        return WriteFile(
            path=path,
            precondition=expected,
            content=Address(after.sha256, after.size),
            mode=mode,
            mtime_ns=mtime_ns,
            sparse=detail is not None and detail.allocated_bytes is not None,
            xattrs=xattrs,
        )
