"""The contents of a base whose files were not read when it was staged: read for what changed, and for nothing else.

Rules (spec/workspace.md, Unread files):
1. A file is what it was when it was staged as long as its inode says what it said then; a status is taken down only
   where a later write must show in it (engines.observe).
2. Such a file is read once, and its digest counts only if the inode still says the same afterwards. What is found is
   kept with the transaction, for the file may change yet.
3. Of a file that changed before it was read nobody knows what it held. It is told as changed, its former state without
   a digest; nothing lands on it, unless it already is what would land.
4. Of git's own what tells how it stands is read when the base is staged; what it stores is not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from stat import S_IMODE
from typing import TypeVar

from docket.engines.apply import ConfinedTree
from docket.engines.observe import ObserveRequest
from docket.engines.transaction.world import OpenTransaction, TransactionWorld
from docket.errors import DocketError
from docket.formats.dataclass import dataclass, replace
from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import Change, EntryState, FsChange
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.changes import Difference
from docket.formats.tree.listing import FileEntry, Kind, Listing, Omission, Record
from docket.formats.tree.parts import paths_ending, records_at
from docket.formats.tree.spans import path_of
from docket.formats.tree.status_listing import HEADER, FileStatus, StatusEntry, StatusListing, status_listing
from docket.formats.tree.steps import ANYTHING, Remove
from docket.formats.tree.unread import UNREAD, is_unread, with_digests
from docket.formats.workspace.change_set import ChangeSet, change_set_of
from docket.host.tree_files import TreeFiles
from docket.rules.tree.git_metadata import REPOSITORY_MARKS
from docket.rules.workspace.git_paths import GitPaths, is_stored
from docket.rules.workspace.result import laid_over, outermost

_PIECE_BYTES = 1024 * 1024
Changed = TypeVar("Changed", FsChange, Difference)


def statuses_of(listing: Listing) -> StatusListing:
    """Return the statuses that a pass took down of the files that it did not read."""
    return status_listing(HEADER + listing.statuses)


def observed_unread(request: ObserveRequest, world: TransactionWorld) -> Listing:
    """Return what a pass over a base sees that reads nothing but what of git's own tells how it stands."""
    listing = world.observe(replace(request, unread=True, statuses=True))
    if not listing.statuses:
        return listing
    statuses = statuses_of(listing)
    paths = outermost(_of_git(listing, statuses))
    if not paths:
        return listing
    surface = replace(request.surface, roots=paths)
    part = world.observe(replace(request, surface=surface, root_identity=listing.root, progress=None))
    read = laid_over(listing, part, paths)
    read.statuses = statuses.without(paths)
    return read


def known_entries(opened: OpenTransaction) -> tuple[StatusEntry, ...]:
    """Return what was found out of unread files, to be kept."""
    return tuple(
        StatusEntry(path=path, status=status, sha256=digest) for (path, status), digest in opened.known.items()
    )


def digests_at(paths: Iterable[RelPath], before: Listing, opened: OpenTransaction) -> dict[RelPath, Digest]:
    """Return the digests of files that a pass over the base did not read; of what changed since, none."""
    wanted = tuple(paths)
    if not before.statuses or not wanted:
        return {}
    statuses, found = statuses_of(before), dict[RelPath, Digest]()
    with TreeFiles(opened.state.base.path) as files:
        for path in wanted:
            entry = statuses.at(path)
            if entry is None:
                continue
            key = path, entry.status
            digest = entry.sha256 or opened.known.get(key) or _read(files, path, entry.status)
            if digest is not None:
                found[path] = opened.known[key] = digest
    return found


def told_as_before(before: Listing, now: Listing, part: Listing, opened: OpenTransaction) -> Listing:
    """Return the listing `now` of a stage, its unread files that are what they were told as in `before`.

    `part` is what of it was looked at. So a stage in which nothing changed has the digest of its base.
    """
    if not before.statuses:
        return now
    looked_at = {entry.path: entry for entry in part.entries if isinstance(entry, FileEntry)}
    digests = digests_at(looked_at, before, opened)
    same = [path for path, digest in digests.items() if looked_at[path].sha256 == digest]
    was = records_at(before, same)
    unchanged = (path for path in same if is_unread(was.get(path)) and _alike(was[path], looked_at[path]))
    return with_digests(now, dict.fromkeys(unchanged, UNREAD))


def with_known(changes: Iterable[Changed], before: Listing, opened: OpenTransaction) -> tuple[Changed, ...]:
    """Return changes with the digests of what was not read before, as far as they can be known."""
    told = tuple(changes)
    digests = digests_at((item.path for item in told if is_unknown(item.before)), before, opened)
    if not digests:
        return told
    return tuple(
        replace(item, before=replace(item.before, sha256=digests[item.path]))
        if item.before is not None and item.path in digests
        else item
        for item in told
    )


def is_unknown(state: EntryState | None) -> bool:
    """Whether a state is of a file whose content nobody knows."""
    return state is not None and state.kind == Kind.FILE.value and state.sha256 is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A change set in which what nobody knew is what stands in the base now.

    `done` counts what already is as it would be, which is not in it; `others` are the paths at which something else
    stands than would land.
    """

    changes: ChangeSet
    done: int = 0
    others: tuple[RelPath, ...] = ()


def over_present(changes: ChangeSet, tree: ConfinedTree) -> Standing:
    """Compare what is to land where nobody knows what was staged with what stands in the open base."""
    if not any(is_unknown(change.before) for change in changes.changes):
        return Standing(changes=changes)
    kept: list[FsChange] = []
    others: list[RelPath] = []
    for change in changes.changes:
        if not is_unknown(change.before):
            kept.append(change)
            continue
        found = tree.stands(Remove(path=change.path, precondition=ANYTHING, kind=Kind.FILE))
        present = None if found is None else found.state
        if present == change.after:
            continue
        others.append(change.path)
        kept.append(
            replace(change, change=Change.ADDED, before=None) if present is None else replace(change, before=present)
        )
    done = len(changes.changes) - len(kept)
    return Standing(changes=change_set_of(changes.manifest_sha256, kept), done=done, others=tuple(others))


def has_moved(before: Listing, request: ObserveRequest, opened: OpenTransaction, world: TransactionWorld) -> bool:
    """Whether the base is another than the pass saw by which it was staged; what is not staged is left aside.

    Contents are compared by their statuses where the pass took them down. `request` asks for the same pass.
    DocketError where the base cannot be looked at.
    """
    now = world.observe(replace(request, unread=True, statuses=True) if before.statuses else request)
    if (now.document, now.statuses) == (before.document, before.statuses):
        return False
    return _differ(before, now, opened)


def _differ(before: Listing, now: Listing, opened: OpenTransaction) -> bool:
    lines = set(before.lines()).symmetric_difference(now.lines())
    lines |= set(before.statuses.split(b"\n")).symmetric_difference(now.statuses.split(b"\n"))
    paths = {path_of(line) for line in lines if line}
    was, present = records_at(before, paths), records_at(now, paths)
    statuses = statuses_of(before)
    with TreeFiles(opened.state.base.path) as files:
        return any(not _is_same(path, (was, present), statuses, files) for path in paths)


def _is_same(
    path: RelPath,
    records: tuple[dict[RelPath, Record], dict[RelPath, Record]],
    statuses: StatusListing,
    files: TreeFiles,
) -> bool:
    before, now = (found.get(path) for found in records)
    if _is_unstaged(before) and _is_unstaged(now):
        return True
    if not isinstance(before, FileEntry) or not isinstance(now, FileEntry) or not _alike(before, now):
        return before == now
    told = statuses.at(path)
    if told is not None:
        return _status(files, path) == told.status
    return now.sha256 == before.sha256 or (is_unread(now) and _digest(files, path) == before.sha256)


def _is_unstaged(record: Record | None) -> bool:
    return record is None or (isinstance(record, Omission) and record.reason is Reason.EXCLUDED)


def _of_git(listing: Listing, statuses: StatusListing) -> list[RelPath]:
    """Return the unread files of git's own, what it stores left aside."""
    endings = (b".git", *(mark.removeprefix(b"/") for mark in REPOSITORY_MARKS))
    git = GitPaths.of(listing)
    folders = {git.folder_of(path) for path in paths_ending(listing, *endings)}
    inside = statuses.part(outermost(folder for folder in folders if folder is not None))
    return [entry.path for entry in inside if (role := git.role(entry.path)) is not None and not is_stored(role)]


def _alike(one: Record, other: Record) -> bool:
    return (
        isinstance(one, FileEntry) and isinstance(other, FileEntry) and (one.mode, one.size) == (other.mode, other.size)
    )


def _read(files: TreeFiles, path: RelPath, status: FileStatus) -> Digest | None:
    """Return the digest of a file that has that status before and after it is read, None where it has not."""
    if _status(files, path) != status:
        return None
    digest = _digest(files, path)
    return digest if _status(files, path) == status else None


def _digest(files: TreeFiles, path: RelPath) -> Digest | None:
    with suppress(DocketError, OSError), open(files.open(path), "rb") as file:  # noqa: PTH123 - a descriptor
        return Digest(hashlib.file_digest(file, "sha256").hexdigest())
    return None


def _status(files: TreeFiles, path: RelPath) -> FileStatus | None:
    with suppress(DocketError):
        found = files.status(path)
        if found is not None:
            return FileStatus(
                size=found.st_size,
                mode=S_IMODE(found.st_mode),
                inode=found.st_ino,
                mtime_ns=found.st_mtime_ns,
                ctime_ns=found.st_ctime_ns,
            )
    return None
