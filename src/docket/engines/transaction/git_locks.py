"""Git's own lock on what a commit changes of a repository, so that no git of a person's writes in between.

Rules (spec/workspace.md, Git):
1. Whoever lands something of a repository, or recovers it, holds `index.lock` beside each index concerned, as git
   itself would: a look by an editor goes on without writing, and a command of a person's fails and says why.
2. A lock that git holds is waited for, for a short time; then nothing is done.
3. A lock of docket's names the process that holds it. It was left behind once that process is gone for sure, and not
   before: a base below this one has a lock of its own, and its commits may hold the same `index.lock`.
4. A tree is staged while no git has a lock in it: else the stage would have that lock, and half of what is written.
5. A folder that goes as a whole is not locked, nor one that does not stand.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from docket.engines.apply import ConfinedTree, open_tree
from docket.errors import DocketError, UnavailableError
from docket.formats.ledger.tree_events import FsChange
from docket.formats.process_identity import ProcessIdentity
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import Kind, Listing
from docket.formats.tree.parts import paths_ending
from docket.formats.tree.steps import MakeDirectory, Step
from docket.host.disk_errors import reported
from docket.host.liveness import is_gone, own_identity
from docket.host.lock_files import LockFile, make_lock, read_lock, remove_lock
from docket.host.locks import DirectoryLock
from docket.host.reaching import Reached, Refusal
from docket.rules.workspace.git_paths import LOCK_SUFFIX, GitPaths, GitRole
from docket.rules.workspace.preflight import Refusal as LockedByGit

PATIENCE_SECONDS = 3.0
LOCK = b"index.lock"
_PAUSE_SECONDS = 0.02
_TEXT = (
    b"docket holds this while it changes the repository (transaction %s, process %d %s %s); "
    b"once no docket runs, docket or you may remove it\n"
)
_MARK = re.compile(
    rb"docket holds this while it changes the repository \(transaction [0-9a-f]{1,64}, "
    rb"process ([0-9]{1,10}) ([0-9]{1,20}|-) ([0-9a-f-]{1,64})\);"
)
_MAX_MARK_BYTES = 512
_UNKNOWN = b"-"
_HINT = "try again when it has ended; if no git runs, remove that file"
_GIT, _INDEX = b".git", b"index"


@contextmanager
def locked(tree: ConfinedTree, changed: Iterable[FsChange] | Iterable[Step], transaction: str) -> Iterator[None]:
    """Hold the locks of what is to change; UnavailableError(LOCKED) where git holds one for longer."""
    with ExitStack() as held:
        for folder in locked_folders((item.path, _is_folder(item)) for item in changed):
            lock = _locked(tree, folder, transaction)
            if lock is not None:
                held.callback(lock.remove)
        yield


def locked_folders(changed: Iterable[tuple[RelPath, bool]]) -> tuple[RelPath, ...]:
    """Return the folders of git's own to be locked; a path that changes comes with whether it is a folder then."""
    found: set[RelPath] = set()
    replaced: set[RelPath] = set()
    for path, is_folder in changed:
        parts = path.parts
        if _GIT in parts[:-1]:
            found.add(RelPath(b"/".join(parts[: parts.index(_GIT) + 1])))
            if parts[-1] == _INDEX:
                found.add(RelPath(b"/".join(parts[:-1])))
        if not is_folder:
            replaced.add(path)
    return tuple(sorted(path for path in found if replaced.isdisjoint((path, *path.above()))))


def observed_between_gits(base: Path, observe: Callable[[], Listing]) -> Listing | LockedByGit:
    """Return what a pass over the base sees once no git has a lock in it; a refusal where one is held for longer."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        listing = observe()
        locks = git_locks_in(listing)
        if not locks:
            return listing
        if time.monotonic() >= deadline:
            detail = f"git is at work in the tree: {locks[0]} stands there"
            return LockedByGit(reason=Reason.LOCKED, detail=detail, hint=_HINT)
        time.sleep(_PAUSE_SECONDS)
        _forget_dead(base, locks)


def git_locks_in(listing: Listing) -> tuple[RelPath, ...]:
    """Return the locks of git's that a listing names."""
    git = GitPaths.of(listing)
    return tuple(path for path in paths_ending(listing, LOCK_SUFFIX) if git.role(path) is GitRole.LOCK)


def _forget_dead(base: Path, locks: Iterable[RelPath]) -> None:
    """Remove docket's own locks that dead commits left, where none is under way here."""
    with (
        suppress(DocketError, OSError),
        DirectoryLock.acquire(base),
        open_tree(os.fsencode(base)) as tree,
    ):
        for path in locks:
            reached = tree.ways.reach(path)
            if not isinstance(reached, Refusal):
                with reached:
                    _is_free(reached)


def _is_folder(changed: FsChange | Step) -> bool:
    if isinstance(changed, FsChange):
        return changed.after is not None and changed.after.kind == Kind.DIRECTORY.value
    return isinstance(changed, MakeDirectory)


def _locked(tree: ConfinedTree, folder: RelPath, transaction: str) -> LockFile | None:
    reached = tree.ways.reach(folder.child(LOCK))
    if isinstance(reached, Refusal):
        return None
    deadline = time.monotonic() + PATIENCE_SECONDS
    with reached, reported("lock", f"{folder}/{os.fsdecode(LOCK)}"):
        while True:
            if _is_free(reached):
                made = make_lock(*reached.place, _text(transaction))
                if made is not None:
                    return made
            if time.monotonic() >= deadline:
                raise UnavailableError(
                    Reason.LOCKED,
                    f"git is at work in the tree: {folder}/{os.fsdecode(LOCK)} stands there",
                    hint=_HINT,
                )
            time.sleep(_PAUSE_SECONDS)


def _text(transaction: str) -> bytes:
    me = own_identity()
    started, boot_id = me.started.encode() or _UNKNOWN, me.boot_id.encode() or _UNKNOWN
    return _TEXT % (transaction.encode(), me.pid, started, boot_id)


def _is_free(reached: Reached) -> bool:
    found = read_lock(*reached.place, _MAX_MARK_BYTES)
    owner = None if found is None else _owner(found.text)
    if found is not None and owner is not None and is_gone(owner):
        remove_lock(*reached.place, found)
    try:
        os.stat(reached.name, dir_fd=reached.descriptor, follow_symlinks=False)
    except FileNotFoundError:
        return True
    return False


def _owner(text: bytes) -> ProcessIdentity | None:
    """Return the process that a lock of docket's names, None for a lock of anybody else."""
    found = _MARK.match(text)
    if found is None:
        return None
    started, boot_id = ("" if part == _UNKNOWN else part.decode("ascii") for part in found.group(2, 3))
    return ProcessIdentity(pid=int(found[1]), started=started, boot_id=boot_id)
