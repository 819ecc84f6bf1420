"""Looking at a git worktree before and after a tool: the whole tree as one git tree, of raw bytes (spec/windows.md).

Rules:
1. A tree is the index with what was nominated as it stands on the disk: its bytes unfiltered, its mode its own.
2. A path is looked at once, no link followed. What cannot be read, or goes beyond the limits, stands as a name that
   is made of its status (UNREAD_PREFIX): it is known to change and not how. Nothing else is lost for it.
3. After a tool, what was there before and still is was not deleted, whatever ignore rules say; and what is older than
   the look before it was not created.
4. HEAD is a fact beside the tree. If it moves while the tree is looked at, the look is made again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG

from docket.errors import InvalidDocumentError, PartialEvidenceError, UnavailableError
from docket.formats.dataclass import replace
from docket.formats.relpath import RelPath
from docket.formats.windows.changes import TreeChange
from docket.formats.windows.names import (
    ABSENT_MODE,
    EXECUTABLE_MODE,
    GITLINK_MODE,
    REGULAR_MODE,
    SYMLINK_MODE,
    Hashes,
    PartialReason,
)
from docket.formats.windows.registry import Baseline
from docket.host.disk import SYSTEM_DISK, Disk
from docket.host.git_place import GitPlace, checked_out, git_place_at, head_log_bytes, head_log_moves, object_format
from docket.host.git_program import Deadline, GitTimeoutError, run_git
from docket.host.tree import Status, file_key, local_clock_ns
from docket.host.tree_files import TreeFiles
from docket.stores.statcache import StatCache, is_settled, marked_entry
from docket.stores.windows.git_contents import GitContents
from docket.stores.windows.git_nominate import Nominated, Workbench, exclude_digest, nominate, workbench
from docket.stores.windows.git_reading import (
    LAST_TREE,
    MAX_INNER,
    Reading,
    change_of,
    last_tree,
    note_tree,
    tree_key,
    unread_name,
)
from docket.stores.windows.git_store import GitStore, open_git_store, repository_of
from docket.stores.windows.looked import Looked, LookLimits, told_as_partial
from docket.stores.windows.looking import looking

RAW_CACHE = "raw.cache"
MAX_ATTEMPTS = 3
MAX_NOMINATED = 200_000
_KNOWN_BYTES = 32
_NOTHING = Nominated()
_UNKEPT_MARK = b"n"
_CHANGE = re.compile(rb":(\d{6}) (\d{6}) ([0-9a-f]+) ([0-9a-f]+) [A-Z]\d*\0([^\0]+)\0")
_REMOVE = b"0 %b\t%b\0"


class GitTree:
    """The worktree of a repository, and docket's own store beside it."""

    def __init__(
        self, store: GitStore, cache: Path, limits: LookLimits | None = None, evidence: tuple[RelPath, ...] = ()
    ) -> None:
        """Begin; `evidence` are paths of docket's own, which are never looked at."""
        self._store, self._cache, self._limits = store, cache, limits or LookLimits()
        self._last = cache.parent / LAST_TREE
        self._compared: tuple[str, str, list[tuple[bytes, ...]]] | None = None
        self._own = tuple(path.raw + b"/" for path in evidence)
        self.repository = repository_of(store.place)

    @property
    def hashes(self) -> Hashes:
        """The repository's object format."""
        return self._store.hashes

    def look(self, deadline: Deadline, before: Baseline | None = None) -> Looked:
        """Look at the worktree; PartialEvidenceError where that cannot be done whole and in time."""
        with told_as_partial(), looking(self._cache.parent, deadline.seconds_left(), disk=self._store.disk):
            for _ in range(MAX_ATTEMPTS):
                head = checked_out(self._store.place)
                looked = self._look(head, deadline, before)
                if checked_out(self._store.place) == head:
                    return looked
            raise PartialEvidenceError(PartialReason.HEAD_CHANGED, "HEAD moved each time the tree was looked at")

    def moves(self, before: Baseline) -> int:
        """Return how many entries the log of HEAD has more than before."""
        return head_log_moves(self._store.place, before.head_log_bytes)

    def keep(self, ref: str, tree: str) -> None:
        """Keep a tree."""
        with told_as_partial():
            self._store.keep(ref, tree)

    def kept(self, ref: str) -> str | None:
        """Return what a ref keeps."""
        with told_as_partial():
            return self._store.kept(ref)

    def release(self, ref: str, tree: str) -> None:
        """Let a tree go."""
        with told_as_partial():
            self._store.release(ref, tree)

    def refs(self) -> dict[str, str]:
        """Return all refs."""
        return self._store.refs()

    def changes(self, before: str, after: str, deadline: Deadline) -> tuple[TreeChange, ...]:
        """Return what differs; a typed partial where a tree is not there any more."""
        with told_as_partial():
            return tuple(change_of(*found) for found in self._compare(before, after, deadline))

    @contextmanager
    def contents(self) -> Iterator[Callable[[str, int], bytes | None]]:
        """Open what reads contents."""
        with told_as_partial(), closing(GitContents(self._store)) as contents:
            yield contents.load

    def _look(self, head: str | None, deadline: Deadline, before: Baseline | None) -> Looked:
        place = self._store.place
        log_bytes = head_log_bytes(place)
        with TreeFiles(os.fsencode(place.worktree)) as files, workbench(self._store) as bench:
            clock_ns = _clock_ns(files)
            found = nominate(self._store, bench, head, deadline)
            if len(found.paths) > MAX_NOMINATED:
                detail = f"{len(found.paths):,} paths are neither committed nor ignored"
                raise PartialEvidenceError(PartialReason.FILE_LIMIT, detail)
            reading = Reading(self._limits, clock_ns, StatCache(self._cache))
            rows = self._rows(files, found, reading, deadline)
            known = tree_key(bench.index_sha256, rows)
            last = last_tree(self._last, known)
            tree = last or self._written(bench, rows, deadline)
            if last is None:
                note_tree(self._last, known, tree)
            phantoms = [] if before is None else self._phantoms(files, reading, (before, tree), deadline)
            if phantoms:
                if last is not None:  # then they have not been laid over the index yet
                    self._update(bench, rows, deadline)
                tree = self._written(bench, phantoms, deadline)
            reading.remember()
            if reading.met_unkept:
                self._store.use_unkept()
        return Looked(
            baseline=Baseline(
                tree=tree,
                hashes=self.hashes,
                clock_us=clock_ns // 1000,
                head=head,
                head_log_bytes=log_bytes,
                rules=exclude_digest(place),
            ),
            bytes_read=reading.bytes_read,
        )

    def _written(self, bench: Workbench, rows: Iterable[bytes | None], deadline: Deadline) -> str:
        """Put what was nominated into the index as it stands on the disk, and make a tree of it."""
        self._update(bench, rows, deadline)
        return self._write_tree(bench, deadline)

    def _rows(self, files: TreeFiles, found: Nominated, reading: Reading, deadline: Deadline) -> list[bytes | None]:
        return [self._row(files, path, reading, deadline, found) for path in self._watched(found.paths)]

    def _watched(self, paths: Iterable[bytes]) -> list[bytes]:
        return sorted(path for path in paths if not (path + b"/").startswith(self._own))

    def _update(self, bench: Workbench, rows: Iterable[bytes | None], deadline: Deadline) -> None:
        given = [row for row in rows if row is not None]
        if given:
            given.sort(key=lambda row: not row.startswith(b"0 "))  # what goes makes way for what comes
            run_git(
                bench.workplace, ("update-index", "--add", "--replace", "-z", "--index-info"), deadline,
                fed=b"".join(given),
            )  # fmt: skip

    def _write_tree(self, bench: Workbench, deadline: Deadline) -> str:
        return run_git(bench.workplace, ("write-tree", "--missing-ok"), deadline).decode("ascii").strip()

    def _row(
        self, files: TreeFiles, raw: bytes, reading: Reading, deadline: Deadline, found: Nominated = _NOTHING
    ) -> bytes | None:
        """Return the line that gives git's index a path as it stands, None to leave it as it is."""
        deadline.seconds_left()
        nothing = _REMOVE % (b"0" * self.hashes.digits, raw.rstrip(b"/"))
        try:
            path = RelPath.parse(raw.rstrip(b"/"))
        except InvalidDocumentError as error:
            raise PartialEvidenceError(PartialReason.UNSUPPORTED_PATH, error.detail) from error
        try:
            status = files.status(path)
        except UnavailableError:
            return self._line(REGULAR_MODE, unread_name(self.hashes, raw, None), path.raw)
        if status is None:
            return None if raw in found.unseen else nothing
        if S_ISREG(status.st_mode):
            mode = EXECUTABLE_MODE if status.st_mode & 0o100 else REGULAR_MODE
            return self._line(mode, self._content(files, path, status, reading), path.raw)
        if S_ISLNK(status.st_mode):
            target = files.target(path)
            return nothing if target is None else self._line(SYMLINK_MODE, self._store.objects.put(target), path.raw)
        inner = git_place_at(self._store.place.worktree / os.fsdecode(path.raw)) if S_ISDIR(status.st_mode) else None
        if inner is None:
            return None if raw in found.repositories and S_ISDIR(status.st_mode) else nothing  # one not checked out
        return self._line(GITLINK_MODE, self._inside(inner, reading, deadline), path.raw)

    def _inside(self, inner: GitPlace, reading: Reading, deadline: Deadline) -> str:
        """Return the commit of a repository inside, or a name for what is in it beyond that."""
        commit = checked_out(inner) if object_format(inner) is self.hashes else None
        nothing = commit or unread_name(self.hashes, os.fsencode(inner.git_dir), None)
        if object_format(inner) is not self.hashes or reading.inner >= MAX_INNER:
            return nothing
        reading.inner += 1
        store = replace(self._store, place=inner, is_inner=True)
        tree = GitTree(store, self._cache, self._limits)
        with TreeFiles(os.fsencode(inner.worktree)) as files, workbench(store) as bench:
            found = nominate(store, bench, commit, deadline)
            rows = tree._rows(files, found, reading, deadline)
        dirt = b"".join(row for row in rows if row is not None)
        return nothing if not dirt else unread_name(self.hashes, nothing.encode() + b"\0" + dirt, None)

    def _line(self, mode: str, name: str, path: bytes) -> bytes:
        return b"%b %b\t%b\0" % (mode.encode(), name.encode(), path)

    def _content(self, files: TreeFiles, path: RelPath, status: Status, reading: Reading) -> str:
        key, objects = file_key(status), self._store.objects
        known = reading.cache.lookup(key)
        if known is not None:
            name = known[: self.hashes.digits // 2].hex()
            if known[_KNOWN_BYTES:] == _UNKEPT_MARK or objects.has(name):
                reading.met += key
                is_unkept = known[_KNOWN_BYTES:] == _UNKEPT_MARK
                reading.kept += not is_unkept
                reading.met_unkept |= is_unkept
                return name
        if status.st_size > reading.limits.max_bytes - reading.bytes_read:
            return unread_name(self.hashes, path.raw, status)
        keep = reading.kept < reading.limits.max_paths
        read = self._read(files, path, status, keep=keep)
        if read is None:
            return unread_name(self.hashes, path.raw, status)
        reading.bytes_read += status.st_size
        reading.kept += keep
        value = bytes.fromhex(read).ljust(_KNOWN_BYTES, b"\0")
        if not keep:
            self._store.note_unkept([read])
        if is_settled(status.st_ctime_ns, reading.clock_ns):
            if keep:
                reading.fresh += key + value
            else:
                reading.marked += marked_entry(key, value + _UNKEPT_MARK)
        return read

    def _read(self, files: TreeFiles, path: RelPath, status: Status, *, keep: bool) -> str | None:
        try:
            descriptor = files.open(path)
        except UnavailableError:
            return None
        try:
            return self._store.objects.put_file(descriptor, status, keep=keep)
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def _compare(self, before: str, after: str, deadline: Deadline) -> list[tuple[bytes, ...]]:
        """Return what differs between two trees; what was compared last is not compared again, for no tree changes."""
        if before == after:
            return []
        if self._compared is None or self._compared[:2] != (before, after):
            self._compared = (before, after, self._differing(before, after, deadline))
        return self._compared[2]

    def _differing(self, before: str, after: str, deadline: Deadline) -> list[tuple[bytes, ...]]:
        arguments = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-ext-diff", before, after)
        try:
            raw = run_git(self._store.git(), arguments, deadline)
        except GitTimeoutError:
            raise
        except UnavailableError as error:
            raise PartialEvidenceError(PartialReason.ALTERNATE_OBJECT_MISSING, error.detail) from error
        found = _CHANGE.findall(raw)
        if 2 * len(found) != raw.count(b"\0"):
            raise PartialEvidenceError(PartialReason.MALFORMED_STATUS, "git's list of changes cannot be read")
        return found

    def _phantoms(
        self, files: TreeFiles, reading: Reading, trees: tuple[Baseline, str], deadline: Deadline
    ) -> list[bytes | None]:
        """Return the lines that make what rules hid or showed in a tree as it is on the disk."""
        before, tree = trees
        rows: list[bytes | None] = []
        for old_mode, new_mode, _, name, raw in self._compare(before.tree, tree, deadline):
            if new_mode == ABSENT_MODE.encode():
                status = files.status(RelPath.parse(raw))
                if status is not None and not S_ISDIR(status.st_mode):
                    rows.append(self._row(files, raw, reading, deadline))
            elif old_mode == ABSENT_MODE.encode() and self._is_older(files, raw, before):
                rows.append(_REMOVE % (b"0" * len(name), raw))
        return rows

    def _is_older(self, files: TreeFiles, raw: bytes, before: Baseline) -> bool:
        """Whether a path stood here, as it is, before the first look: only a rename brings in what has an old ctime.

        A folder that was moved has a ctime of its own, though what is in it keeps its own.
        """
        path = RelPath.parse(raw)
        statuses = [files.status(place) for place in (path, *path.above())]
        if statuses[0] is None or S_ISDIR(statuses[0].st_mode):
            return False
        newest = [status.st_ctime_ns // 1000 >= before.clock_us for status in statuses if status is not None]
        return not newest[0] and not any(newest)


def open_git_tree(
    windows: Path,
    place: GitPlace,
    limits: LookLimits | None = None,
    *,
    evidence: tuple[RelPath, ...] = (),
    disk: Disk = SYSTEM_DISK,
) -> GitTree:
    """Open docket's store for a worktree in the folder of windows, made where it is missing."""
    try:
        hashes = object_format(place)
    except UnavailableError as error:
        raise PartialEvidenceError(PartialReason.SNAPSHOT_STORE_UNAVAILABLE, error.detail) from error
    return GitTree(open_git_store(windows, place, hashes, disk=disk), windows / RAW_CACHE, limits, evidence)


def _clock_ns(files: TreeFiles) -> int:
    return files.clock_ns() or local_clock_ns()
