"""What of a change set lands in a repository that git worked in meanwhile without changing what counts.

Rules (spec/workspace.md, Git):
1. An index of the base that says what it said is no drift: the staged one lands over it. One that says what the staged
   one says stays.
2. Where a note of git's is another in the base, the base's stays.
3. An object that stands in the base stays, for its name says what it holds; so does a folder of objects. One that is
   needed for an object is made again where it went.
4. Objects go from the base only where the repository is as it was staged, and their folders only where they are empty
   then: what somebody committed meanwhile may hang on them.
5. Where the change set has more of a repository than objects, every object that was there when it was staged, and went
   from the base since, is put there again: what lands may hang on it.
6. A branch or tag whose file went because git packed it, with the value that it had, has not moved.
7. Everything else is left to the order of a commit: what differs is drift.

Pure; the base is looked at by `Looks`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from docket.formats.dataclass import replace
from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import Change, EntryState, FsChange
from docket.formats.relpath import RelPath
from docket.formats.tree.changes import state_of
from docket.formats.tree.listing import DirectoryEntry, FileEntry, Kind, Listing
from docket.formats.workspace.change_set import ChangeSet, change_set_of
from docket.rules.workspace.git_paths import GitPaths, GitRole, is_stored


class Looks(Protocol):
    """The base as it is now."""

    def present(self, path: RelPath) -> EntryState | None:
        """What stands at a path, None for nothing."""
        ...

    def stands(self, path: RelPath) -> bool:
        """Whether anything stands at a path."""
        ...

    def names(self, folder: RelPath) -> frozenset[bytes]:
        """The names in a folder."""
        ...

    def says(self, path: RelPath, other: EntryState | None) -> bool:
        """Whether the index at a path says what the one in that state says, staged now or when the stage was made."""
        ...

    def packed(self, path: RelPath) -> Digest | None:
        """The digest of what the file of a ref would hold, by the packed refs of its repository."""
        ...

    def has_moved(self, folder: RelPath) -> bool:
        """Whether a repository is another than the one that was staged, its objects left aside."""
        ...


def adapted(changes: ChangeSet, looks: Looks, opened: Listing, stage: Listing) -> ChangeSet:
    """Return the change set as it can land in the base as it is now; the same one where there is nothing of git's."""
    if not any(b".git" in change.path.raw or b"/objects/" in change.path.raw for change in changes.changes):
        return changes
    git = GitPaths.of(opened, stage)
    roles = {change.path: git.role(change.path) for change in changes.changes}
    maker = _Adapting(git, looks, roles, changes)
    landing = [kept for change in changes.changes if (kept := maker.kept(change)) is not None]
    landing += maker.put_back(opened, stage)
    landing += _missing_folders(landing, git, looks, stage)
    return changes if tuple(landing) == changes.changes else change_set_of(changes.manifest_sha256, landing)


class _Adapting:
    def __init__(self, git: GitPaths, looks: Looks, roles: dict[RelPath, GitRole | None], changes: ChangeSet) -> None:
        self._git, self._looks, self._roles = git, looks, roles
        self._gone = {change.path for change in changes.changes if change.after is None}
        self._moved: dict[RelPath, bool] = {}

    def kept(self, change: FsChange) -> FsChange | None:
        """Return the change as it lands, None where it does not."""
        role = self._roles[change.path]
        match role:
            case GitRole.INDEX:
                return self._index(change)
            case GitRole.REF if change.before is not None and not self._looks.stands(change.path):
                return self._packed(change, change.before)
            case GitRole.NOTE:
                present = self._looks.present(change.path)
                return change if present in (change.before, change.after) else None
            case GitRole.OBJECT | GitRole.FANOUT | GitRole.STORED if change.after is None:
                return None if self._must_stay(change, role) else change
            case GitRole.OBJECT | GitRole.FANOUT if change.change is Change.ADDED:
                present = self._looks.present(change.path)
                return None if present is not None and present.kind == _KINDS[role] else change
            case _:
                return change

    def put_back(self, opened: Listing, stage: Listing) -> list[FsChange]:
        """Return what adds the objects again that went from the base."""
        folders = {
            self._git.folder_of(path) for path, role in self._roles.items() if role is not None and not is_stored(role)
        }
        if not folders:
            return []
        staged = {entry.path: entry for entry in stage.entries if isinstance(entry, FileEntry)}
        return [
            FsChange(path=entry.path, change=Change.ADDED, before=None, after=state_of(staged[entry.path]))
            for entry in opened.entries
            if isinstance(entry, FileEntry)
            and b"objects" in entry.path.parts
            and self._git.role(entry.path) in (GitRole.OBJECT, GitRole.STORED)
            and self._git.folder_of(entry.path) in folders
            and entry.path in staged
            and entry.path not in self._roles
            and not self._looks.stands(entry.path)
        ]

    def _index(self, change: FsChange) -> FsChange | None:
        present = self._looks.present(change.path)
        if present in (change.before, change.after) or present is None or present.kind != Kind.FILE.value:
            return change
        if self._looks.says(change.path, change.after):
            return None
        return replace(change, before=present) if self._looks.says(change.path, change.before) else change

    def _packed(self, change: FsChange, before: EntryState) -> FsChange:
        if before.sha256 is None or change.after is None or self._looks.packed(change.path) != before.sha256:
            return change
        return replace(change, change=Change.ADDED, before=None)

    def _must_stay(self, change: FsChange, role: GitRole) -> bool:
        folder = self._git.folder_of(change.path)
        assert folder is not None  # noqa: S101 - only what is in one has a role
        if folder in self._gone:
            return False
        if folder not in self._moved:
            self._moved[folder] = self._looks.has_moved(folder)
        if self._moved[folder]:
            return True
        children = (
            (change.path.child(name) for name in self._looks.names(change.path)) if role is GitRole.FANOUT else ()
        )
        return any(child not in self._gone for child in children)


_KINDS = {GitRole.OBJECT: Kind.FILE.value, GitRole.FANOUT: Kind.DIRECTORY.value}


def _is_made_anew(role: GitRole | None) -> bool:
    return role is GitRole.REF or is_stored(role)


def _missing_folders(landing: list[FsChange], git: GitPaths, looks: Looks, stage: Listing) -> Iterator[FsChange]:
    """Yield what makes the folders of objects and refs that went from the base and are needed."""
    made = {change.path for change in landing}
    needed = {
        above
        for change in landing
        if change.change is Change.ADDED
        for above in change.path.above()
        if above not in made and _is_made_anew(git.role(above)) and not looks.stands(above)
    }
    for entry in stage.entries if needed else ():
        if isinstance(entry, DirectoryEntry) and entry.path in needed:
            yield FsChange(path=entry.path, change=Change.ADDED, before=None, after=state_of(entry))
