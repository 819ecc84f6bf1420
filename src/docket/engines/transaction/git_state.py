"""Git within a transaction: what of its own changes is none, and what of it lands in the base as it is now.

Rules (spec/workspace.md, Git):
1. Nothing of git is executed: its files are read as any others, and a document of git's that is not understood counts
   by its bytes.
2. An index that says what it said is no change, and a lock that a program left in the stage never lands.
3. What lands is decided by `rules.workspace.git_landing`; here the base is looked at for it.
"""

from __future__ import annotations

import os
from pathlib import Path

from docket.engines.apply import ConfinedTree
from docket.engines.foresee import present_content
from docket.engines.observe import ObserveRequest
from docket.engines.transaction.base_contents import with_known
from docket.engines.transaction.world import OpenTransaction, TransactionWorld
from docket.errors import DocketError
from docket.formats.dataclass import replace
from docket.formats.digest import Digest, sha256
from docket.formats.ledger.tree_events import Change, EntryState, FsChange
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import FileEntry, Kind, Listing, listing_of
from docket.formats.tree.parts import paths_ending, records_at
from docket.formats.tree.steps import ANYTHING, Remove
from docket.formats.workspace.change_set import ChangeSet, change_set_of
from docket.formats.workspace.git_index import MAX_INDEX_BYTES, same_index
from docket.host.reaching import Refusal
from docket.host.tree_files import TreeFiles
from docket.rules.tree.diff import diff
from docket.rules.workspace.changes import Found, find_changes
from docket.rules.workspace.git_landing import adapted
from docket.rules.workspace.git_paths import INDEX_NAME, LOCK_SUFFIX, GitPaths, GitRole, is_stored
from docket.rules.workspace.surface import Classes
from docket.stores.workspace.kept_indexes import KeptIndexes

MAX_REFS_BYTES = 64 * 1024 * 1024


def keep_indexes(listing: Listing, stage: Path, folder: Path) -> None:
    """Keep the git indexes of a base that was staged just now, as its stage holds them."""
    git, kept = GitPaths.of(listing), KeptIndexes(folder)
    wanted = (path for path in paths_ending(listing, INDEX_NAME) if git.role(path) is GitRole.INDEX)
    for entry in records_at(listing, wanted).values():
        if isinstance(entry, FileEntry):
            data = _read(stage, entry.path)
            if data is not None and sha256(data) == entry.sha256:
                kept.keep(data)


def changes_of(base: Listing, stage: Listing, opened: OpenTransaction, world: TransactionWorld) -> Found:
    """Return what a stage changes of a base, without what git changes there though nothing of it counts."""
    found = find_changes(base, stage, Classes.of(opened.state.surface))
    known = with_known(found.change_set.changes, base, opened)
    if known != found.change_set.changes:
        found = replace(found, change_set=change_set_of(base.tree_sha256, known))
    suspects = [item for item in found.change_set.changes if _may_be_noise(item.path)]
    if not suspects:
        return found
    git = GitPaths.of(base, stage)
    kept = KeptIndexes(world.transactions.path(opened.state.id))
    locks = tuple(item.path for item in suspects if _is_left_lock(item, git))
    noise = {item.path for item in suspects if _is_same_index(item, git, kept, opened.stage.root)}.union(locks)
    if not noise:
        return found
    rest = (item for item in found.change_set.changes if item.path not in noise)
    return replace(
        found,
        change_set=change_set_of(base.tree_sha256, rest),
        excluded_writes=(*found.excluded_writes, *locks),
    )


def landing_changes(
    changes: ChangeSet, stage: Listing, opened: OpenTransaction, found: tuple[ConfinedTree, TransactionWorld]
) -> ChangeSet:
    """Return the change set as it can land in the open tree of its base as that is now."""
    tree, world = found
    return adapted(changes, _Base(opened, tree, world), opened.base, stage)


def _may_be_noise(path: RelPath) -> bool:
    return path.parts[-1] == INDEX_NAME or path.parts[-1].endswith(LOCK_SUFFIX)


def _is_left_lock(change: FsChange, git: GitPaths) -> bool:
    return change.change is Change.ADDED and git.role(change.path) is GitRole.LOCK


def _is_same_index(change: FsChange, git: GitPaths, kept: KeptIndexes, stage: Path) -> bool:
    before, after = change.before, change.after
    if change.change is not Change.MODIFIED or before is None or after is None or before.sha256 is None:
        return False
    if git.role(change.path) is not GitRole.INDEX or after.mode != before.mode:
        return False
    was, now = kept.read(before.sha256, MAX_INDEX_BYTES), _read(stage, change.path)
    return was is not None and now is not None and sha256(now) == after.sha256 and same_index(was, now)


def _read(root: Path, path: RelPath) -> bytes | None:
    """Return what a file of a tree holds, None where it cannot be read or is too large to be an index."""
    try:
        with TreeFiles(os.fsencode(root)) as files, open(files.open(path), "rb") as file:  # noqa: PTH123 - a descriptor
            data = file.read(MAX_INDEX_BYTES + 1)
    except (DocketError, OSError):
        return None
    return data if len(data) <= MAX_INDEX_BYTES else None


class _Base:
    """Looks at the base through its open tree (`git_landing.Looks`)."""

    def __init__(self, opened: OpenTransaction, tree: ConfinedTree, world: TransactionWorld) -> None:
        self._opened, self._tree, self._world = opened, tree, world
        self._kept = KeptIndexes(world.transactions.path(opened.state.id))

    def present(self, path: RelPath) -> EntryState | None:
        found = self._tree.stands(Remove(path=path, precondition=ANYTHING, kind=Kind.FILE))
        return None if found is None else found.state

    def stands(self, path: RelPath) -> bool:
        reached = self._tree.ways.reach(path)
        if isinstance(reached, Refusal):
            return False
        with reached:
            return _has(reached.descriptor, reached.name)

    def names(self, folder: RelPath) -> frozenset[bytes]:
        reached = self._tree.ways.reach(folder.child(b"x"))
        if isinstance(reached, Refusal):
            return frozenset()
        with reached:
            return frozenset(map(os.fsencode, os.listdir(reached.descriptor)))  # noqa: PTH208 - by descriptor

    def says(self, path: RelPath, other: EntryState | None) -> bool:
        present = present_content(self._tree, path, MAX_INDEX_BYTES)
        if present is None or other is None or other.sha256 is None:
            return False
        told = self._kept.read(other.sha256, MAX_INDEX_BYTES)
        if told is None:
            staged = _read(self._opened.stage.root, path)
            told = staged if staged is not None and sha256(staged) == other.sha256 else None
        return told is not None and same_index(present, told)

    def packed(self, path: RelPath) -> Digest | None:
        parts = path.parts
        at = parts.index(b"refs")
        document = present_content(self._tree, RelPath(b"/".join((*parts[:at], b"packed-refs"))), MAX_REFS_BYTES)
        name = b" " + b"/".join(parts[at:])
        for line in (document or b"").split(b"\n"):
            if line.endswith(name) and not line.startswith((b"#", b"^")):
                return sha256(line.removesuffix(name) + b"\n")
        return None

    def has_moved(self, folder: RelPath) -> bool:
        base = self._opened.state.base
        surface = replace(Classes.of(self._opened.state.surface).surface(), roots=(folder,), object_stores=False)
        try:
            now = self._world.observe(ObserveRequest(root=base.path, surface=surface, root_identity=base.identity))
        except DocketError:
            return True
        git = GitPaths.of(self._opened.base, now)
        different = diff(_part(self._opened.base, folder, git), _part(now, folder, git))
        return any(self._counts(item.path, item.before, git) for item in different)

    def _counts(self, path: RelPath, before: EntryState | None, git: GitPaths) -> bool:
        role = git.role(path)
        if role is GitRole.INDEX:
            return not self.says(path, before)
        return role not in (GitRole.LOCK, GitRole.NOTE)


def _part(listing: Listing, folder: RelPath, git: GitPaths) -> Listing:
    """Return what a listing has of a repository, the objects left aside."""
    inside = (entry for entry in listing.entries if entry.path.raw.startswith(folder.raw + b"/"))
    return listing_of(entry for entry in inside if not is_stored(git.role(entry.path)))


def _has(folder: int, name: bytes) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True
