"""The walk of the one scanner: directories in, segments of a listing out, iterative and in tree order.

Rules (spec/tree.md, Observation):
1. A name is observed in its open directory; what has changed since it was looked at is looked at again, a fixed
   number of times, and is then an omission.
2. A subtree that stands on another file system, is left out by the surface or cannot be listed is one omission.
3. Open directories are bounded whatever the depth: an outer one is closed and, when the walk comes back to it,
   opened again and checked to be the same directory.

engines.observe cuts a large tree into starts and joins the segments. Nothing is read but through host.tree; what is
left out is the surface's saying.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG

from docket.engines.segment import Gathering, Segment
from docket.engines.walk_details import attributes_known, line_of_status, omission_of, seen_beside
from docket.engines.walk_request import UNKNOWN_DIGEST, Part, Start, WalkRequest
from docket.formats.dataclass import dataclass, replace
from docket.formats.reason import Reason
from docket.formats.relpath import MAX_NAME_BYTES, MAX_PATH_BYTES, RelPath
from docket.formats.tree.attributes import Attributes
from docket.formats.tree.listing import (
    SymlinkEntry,
    directory_line,
    encode_record,
    file_line,
    member_prefix,
    name_suffix,
    path_member,
)
from docket.formats.tree.surface import LeftOut
from docket.host import tree
from docket.host.attributes import attributes_at, attributes_open
from docket.host.tree import BLOCK_BYTES, DIGEST_BYTES, FileReader, Row, Status, Unread, pack_key
from docket.stores.statcache import is_settled, marked_entry

MAX_ATTEMPTS = 4
MAX_OPEN_DIRECTORIES = 64
_REPORT_EVERY_READS = 256
# Spelled out here, for these run for each file: S_IFMT, S_IFREG, S_IFDIR, S_IMODE.
_TYPE_BITS, _REGULAR, _DIRECTORY, _PERMISSIONS = 0o170000, 0o100000, 0o040000, 0o7777
_CHANGED = Unread(Reason.CHANGED_WHILE_READ, f"it was another thing each of {MAX_ATTEMPTS} times it was looked at")
_MOVED = Unread(Reason.CHANGED_WHILE_READ, "the directory that held it was replaced while the pass was in it")
_VANISHED = Unread(Reason.VANISHED, "it was gone when it was looked at a second time")
_STALE = Unread(Reason.VANISHED, "")
_OTHER = LeftOut(Reason.OTHER_FILE_SYSTEM, "another file system, or a mount point")
_OWN_PREFIX = b".docket-"
_STAGING = LeftOut(
    Reason.EXCLUDED, "docket's own: changes under way here, or cut short; docket tx recover, in this tree, sees to them"
)
_TOO_LONG = LeftOut(Reason.NAME_TOO_LONG, f"paths below it can be longer than {MAX_PATH_BYTES} bytes")


@dataclass(slots=True)
class _Frame:
    """A directory being walked; its descriptor is -1 while it is closed, `rows` is where the walk stands in it."""

    start: Start
    rows: Iterator[Row]
    descriptor: int
    member: str | None
    asks: bool


class Walk:
    """Walks starts of one pass.

    `files` and `file_bytes` are running totals over all of them; `report` hears both now and then.
    """

    def __init__(self, request: WalkRequest, report: Callable[[int, int], None]) -> None:
        self.files = 0
        self.file_bytes = 0
        self.report = report
        self._reads = 0
        self._request = request
        self._lookup = request.lookup
        self._content = request.content
        self._details = request.details
        self._statuses = request.statuses
        self._settling_ns = request.clock_ns or tree.local_clock_ns()
        self._keeps = request.clock_ns is not None
        self._device = tree.directory_status(request.root).st_dev
        self._mounts = {path.rpartition(b"/")[0] for path in request.mounts}
        self._reader = FileReader()
        self._found = Gathering()

    def split(self, start: Start) -> list[Part]:
        """Walk the rows of a start; each directory among them comes back as a start of its own, in its place."""
        parts: list[Part] = []
        frame = self._opened(start)
        try:
            while (child := self._advance(frame)) is not None:
                tree.close(child.descriptor)
                parts += (self._cut(), child.start)
        finally:
            _close(frame)
        return [*parts, self._cut()]

    def whole(self, start: Start) -> Segment:
        """Walk everything below a start."""
        frames = [self._opened(start)]
        try:
            while frames:
                child = self._advance(frames[-1])
                if child is None:
                    self._leave(frames)
                else:
                    frames.append(child)
                    if len(frames) > MAX_OPEN_DIRECTORIES:
                        _close(frames[-MAX_OPEN_DIRECTORIES])
        finally:
            for frame in frames:
                _close(frame)
        segment = self._cut()
        self.report(self.files, self.file_bytes)
        return segment

    def start_at(self, path: RelPath) -> Start | None:
        """Return the start that is one path of the tree, None where nothing stands there.

        A path that leads through something that cannot be entered (a link, a file) starts at that thing.
        """
        prefix, descriptor = b"", tree.duplicate(self._request.root)
        for part in path.parts:
            name, identity = tree.text_of(part), tree.identity_of(tree.directory_status(descriptor))
            status = tree.status_at(descriptor, name)
            inner = None
            if prefix + part != path.raw and not isinstance(status, Unread | None):
                inner = tree.open_directory(descriptor, name, tree.identity_of(status))
            tree.close(descriptor)
            if not isinstance(inner, int):
                break
            prefix, descriptor = prefix + part + b"/", inner
        if status is None or isinstance(status, Unread):
            return None
        return Start(prefix=prefix, identity=identity, rows=((part, name, status),), gaps={}, inside=True)

    def _opened(self, start: Start) -> _Frame:
        descriptor = tree.reach(self._request.root, start.prefix, start.identity)
        if isinstance(descriptor, int):
            return self._frame(start, descriptor)
        self._lose(start, start.rows)
        return self._frame(replace(start, rows=()), -1)

    def _frame(self, start: Start, descriptor: int) -> _Frame:
        surface, prefix = self._request.surface, start.prefix
        asks = (
            surface.has_patterns
            or bool(start.gaps)
            or bool(surface.evidence_names(prefix))
            or prefix[:-1] in self._mounts
        )
        return _Frame(start, iter(start.rows), descriptor, member_prefix(prefix), asks)

    def _leave(self, frames: list[_Frame]) -> None:
        done = frames.pop()
        if frames and frames[-1].descriptor < 0:
            outer = frames[-1]
            opened = tree.open_directory(done.descriptor, "..", outer.start.identity)
            if not isinstance(opened, int):
                opened = tree.reach(self._request.root, outer.start.prefix, outer.start.identity)
            if isinstance(opened, int):
                outer.descriptor = opened
            else:
                self._lose(outer.start, outer.rows)
        _close(done)

    def _lose(self, start: Start, rows: Iterable[Row]) -> None:
        for raw, _, status in rows:
            self._omit(start.prefix + raw, _MOVED, None if raw in start.gaps else status)

    def _advance(self, frame: _Frame) -> _Frame | None:
        """Observe rows up to the next directory to be entered; None at the end."""
        for row in frame.rows:
            mode = row[2].st_mode
            if frame.asks and self._leaves_out(frame, row):
                continue
            if mode & _TYPE_BITS == _REGULAR:
                if self._observe_file(frame, row) is not None:
                    self._observe(frame, row)
            elif mode & _TYPE_BITS == _DIRECTORY:
                child = self._enter(frame, row)
                if child is not None:
                    return child
            else:
                self._observe(frame, row)
        return None

    def _observe_file(self, frame: _Frame, row: Row) -> Unread | None:
        """Take down a regular file; return why it cannot be, _STALE if it is not what the row says."""
        raw, name, status = row
        size, mtime_ns = status.st_size, status.st_mtime_ns
        key = pack_key(status.st_dev, status.st_ino, size, mtime_ns, status.st_ctime_ns)
        found, known, content = self._found, self._lookup(key), self._content
        if known is None or (content is not None and not content.holds(known[:DIGEST_BYTES], size)):
            read = self._read(frame, row, key)
            if not isinstance(read, bytes):
                return read
            known = read
        else:
            found.met.append(key)
        # What almost no file has is looked for here, so that almost none costs a call; `seen_beside` says what counts.
        if self._details and (
            len(known) > DIGEST_BYTES
            or status.st_nlink > 1
            or status.st_uid != self._request.reader
            or status.st_blocks * BLOCK_BYTES < size
        ):
            attributes = attributes_known(frame.descriptor, row, known[DIGEST_BYTES:])
            if attributes is None:
                return _STALE
            self._beside(frame, row, attributes)
        member = frame.member
        path = member + name_suffix(name) if member and name.isascii() else path_member(frame.start.prefix + raw)
        digest = known[:DIGEST_BYTES]
        found.lines.append(file_line(path, status.st_mode & _PERMISSIONS, digest.hex(), size))
        if self._statuses and (digest == UNKNOWN_DIGEST or not self._request.unread):
            found.statuses.append(line_of_status(path, status, digest))
        found.mtimes.append(mtime_ns)
        found.file_bytes += size
        return None

    def _read(self, frame: _Frame, row: Row, key: bytes) -> bytes | Unread:
        """Return what is known of a file by reading it."""
        _, name, status = row
        found, content, ctime_ns = self._found, self._content, status.st_ctime_ns
        made = self._as_made(frame, row)
        if made is not None:
            found.fresh.append(key + made)
            return made
        taker = content if content is not None and content.wants(status.st_size) else None
        read = self._reader.digest(frame.descriptor, name, status, key, taker)
        if not isinstance(read, bytes):
            return read or _STALE
        if taker is not None:
            # Also if the file changes yet: the taker has these bytes now, and will not take them a second time.
            found.acks.append(taker.ack())
        if not is_settled(ctime_ns, self._settling_ns):
            # Within the clock's grain a write leaves the status as it was; only reading again shows it.
            if self._reader.digest(frame.descriptor, name, status, key) != read:
                return _STALE
        elif self._keeps:
            if len(read) == DIGEST_BYTES:
                found.fresh.append(key + read)
            else:
                found.marked.append(marked_entry(key, read))
        self._reads += 1
        if self._reads % _REPORT_EVERY_READS == 0:
            self.report(self.files + len(found.mtimes), self.file_bytes + found.file_bytes)
        return read

    def _as_made(self, frame: _Frame, row: Row) -> bytes | None:
        """Return the digest that a file was made with, where its status vouches for it since."""
        status = row[2]
        digest, size = self._request.made.get(frame.start.prefix + row[0], (None, 0))
        vouches = self._keeps and size == status.st_size and is_settled(status.st_ctime_ns, self._settling_ns)
        return digest if vouches else None

    def _beside(self, frame: _Frame, row: Row, attributes: Attributes) -> None:
        """Take down what stands beside an entry, where there is anything."""
        seen = seen_beside(frame.start.prefix + row[0], row[2], attributes, self._request.reader)
        if seen is not None:
            self._found.details.append(seen)

    def _leaves_out(self, frame: _Frame, row: Row) -> bool:
        raw, _, status = row
        path, start = frame.start.prefix + raw, frame.start
        if raw in start.gaps:
            self._omit(path, start.gaps[raw], None)
            return True
        if S_ISDIR(status.st_mode):
            return False
        if not start.inside and not self._is_watched(path, is_directory=False):
            return True
        left = _OTHER if path in self._request.mounts else self._request.surface.left_out(path, is_directory=False)
        if left is not None:
            self._omit(path, left, status)
        return left is not None

    def _is_watched(self, path: bytes, *, is_directory: bool) -> bool:
        watched = self._request.surface.watched
        return watched is None or watched.matches_own(path, is_directory=is_directory)

    def _enter(self, frame: _Frame, row: Row) -> _Frame | None:
        raw, name, status = row
        path = frame.start.prefix + raw
        left = self._left_out_directory(path)
        for _ in range(MAX_ATTEMPTS):
            left = _OTHER if status.st_dev != self._device else left
            if left is not None:
                self._omit(path, left, status)
                return None
            opened = tree.open_directory(frame.descriptor, name, tree.identity_of(status))
            if isinstance(opened, Unread):
                self._omit(path, opened, status)
                return None
            if opened is not None:
                return self._listed(frame, row, opened, status)
            again = tree.status_at(frame.descriptor, name)
            if again is None or isinstance(again, Unread):
                self._omit(path, again or _VANISHED, None)
                return None
            if not S_ISDIR(again.st_mode):
                self._observe(frame, (raw, name, again))
                return None
            status = again
        self._omit(path, _CHANGED, status)
        return None

    def _left_out_directory(self, path: bytes) -> LeftOut | None:
        if path in self._request.mounts:
            return _OTHER
        if len(path) > MAX_PATH_BYTES - MAX_NAME_BYTES - 1:
            return _TOO_LONG
        return self._request.surface.left_out(path, is_directory=True)

    def _listed(self, frame: _Frame, row: Row, descriptor: int, status: Status) -> _Frame | None:
        path = frame.start.prefix + row[0]
        listed = tree.list_directory(descriptor)
        if isinstance(listed, Unread):
            tree.close(descriptor)
            self._omit(path, listed, status)
            return None
        if not frame.start.prefix and row[0].startswith(_OWN_PREFIX) and _is_staging(row[0], status, listed.rows):
            tree.close(descriptor)
            self._omit(path, _STAGING, status)
            return None
        inside = frame.start.inside or self._is_watched(path, is_directory=True)
        if inside:
            self._found.lines.append(directory_line(path_member(path), S_IMODE(status.st_mode)))
            self._found.directories += 1
            if self._details:
                self._found.directory_mtimes.append(status.st_mtime_ns)
                self._found.directory_inodes.append(status.st_ino)
                self._beside(frame, (row[0], row[1], status), attributes_open(descriptor))
        identity = tree.identity_of(status)
        start = Start(prefix=path + b"/", identity=identity, rows=listed.rows, gaps=listed.gaps, inside=inside)
        return self._frame(start, descriptor)

    def _observe(self, frame: _Frame, row: Row) -> None:
        raw, name, status = row
        path = frame.start.prefix + raw
        for _ in range(MAX_ATTEMPTS):
            if S_ISDIR(status.st_mode):
                break
            problem = self._look(frame, (raw, name, status))
            if problem is None:
                return
            again = tree.status_at(frame.descriptor, name) if problem is _STALE else problem
            if again is None or isinstance(again, Unread):
                self._omit(path, again or _VANISHED, None if again is None else status)
                return
            status = again
        self._omit(path, _CHANGED, status)

    def _look(self, frame: _Frame, row: Row) -> Unread | None:
        """Take down what stands at a name; return why it cannot be, _STALE if it is not what the row says."""
        raw, name, status = row
        if S_ISREG(status.st_mode):
            return self._observe_file(frame, row)
        if S_ISLNK(status.st_mode):
            target = tree.read_link(frame.descriptor, name)
            if not isinstance(target, bytes):
                return target or _STALE
            self._found.lines.append(
                encode_record(SymlinkEntry(path=RelPath(frame.start.prefix + raw), target=target)).decode("utf-8")
            )
            self._found.symlinks += 1
            if self._details:
                self._found.symlink_mtimes.append(status.st_mtime_ns)
                self._beside(frame, row, attributes_at(frame.descriptor, name))
            return None
        return Unread(Reason.SPECIAL_FILE, f"a {tree.kind_of(status.st_mode)} is never opened")

    def _omit(self, path: bytes, why: Unread | LeftOut, status: Status | None) -> None:
        self._found.omit(omission_of(path, why, status))

    def _cut(self) -> Segment:
        segment = self._found.cut()
        self.files += len(segment.mtimes) // 8
        self.file_bytes += segment.file_bytes
        return segment


def _is_staging(name: bytes, status: Status, rows: Iterable[Row]) -> bool:
    from docket.host.staging_marks import is_staging  # noqa: PLC0415 - few trees hold any such name

    return is_staging(name, status, rows)


def _close(frame: _Frame) -> None:
    if frame.descriptor >= 0:
        tree.close(frame.descriptor)
        frame.descriptor = -1
