"""The plan that lands a change set: each step where the base still holds what was staged, or nothing.

Rules (spec/workspace.md, Commit):
1. What is added expects nothing at its path; what is modified, retyped or removed expects exactly what was staged.
2. What lands is what the closing scan saw in the stage: content by digest, permission bits, link targets, the
   modification times of files, and the attributes that a plan may name; where the stage has none, those of the
   base stay. Names of one file among what is written become names of one file.
3. A state that no plan can make or compare (a special file, content that was not read, a mode with powers) refuses
   the whole commit.

It does nothing (engines.apply), and what stands in the base now it does not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from docket.formats.ledger.tree_events import EntryState, FsChange
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.changes import target_of
from docket.formats.tree.details import Detail
from docket.formats.tree.listing import FileEntry, Kind, Listing
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


def landing(changes: ChangeSet, stage: Listing) -> Landing:
    """Return the steps that land `changes`; `stage` is the listing, with details, of the stage they come from."""
    maker = _Steps(changes, stage)
    steps: list[Step] = []
    refused: list[CannotLand] = []
    for change in changes.changes:
        fault = _fault(change)
        if fault is None:
            steps.append(maker.step(change))
        else:
            refused.append(CannotLand(path=change.path, reason=fault[0], detail=fault[1]))
    return Landing(steps=tuple(steps), refused=tuple(refused))


def _fault(change: FsChange) -> tuple[Reason, str] | None:
    for state in (change.before, change.after):
        fault = None if state is None else state_fault(state)
        if fault is not None:
            return fault
    return None if change.after is None else powers_fault(change.after)


class _Steps:
    def __init__(self, changes: ChangeSet, stage: Listing) -> None:
        found = records_at(stage, (change.path for change in changes.changes))
        self._files: Mapping[RelPath, FileEntry] = {
            path: record for path, record in found.items() if isinstance(record, FileEntry)
        }
        self._details: Mapping[RelPath, Detail] = {item.path: item for item in stage.details.paths}
        self._first: dict[tuple[int, int], RelPath] = {}

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
            first = self._first.setdefault(detail.identity, path)
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
