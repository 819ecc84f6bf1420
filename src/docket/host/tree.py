"""Looking at a tree: what stands at a name in an open directory, read once and never followed.

Rules (spec/tree.md, Observation):
1. Everything is reached by (directory descriptor, name) with O_NOFOLLOW, so a directory that is swapped for a link
   while the pass runs redirects nothing.
2. Only a regular file is opened for reading: its kind is known from fstatat before the open, the open neither waits
   (O_NONBLOCK) nor follows, and fstat on the descriptor must show the very file that was seen.
3. A file is read once, from start to the size it was seen with; if its status afterwards is not its status before,
   the bytes stand for nothing and None is returned.
4. What cannot be read is a value, `Unread`, with a reason; no OSError leaves this module.

It decides nothing: which names, how often to try again and what becomes of a refusal is engines.walk's.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import struct
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Protocol, TypeAlias

from docket.errors import UnavailableError
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.formats.tree.kinds import Kind
from docket.formats.visible import visible
from docket.host.attributes import remembered_open

Status = os.stat_result
Row: TypeAlias = tuple[bytes, str, Status]
"""A name in a directory: its bytes, the text Python's calls take for it, and its own status (a link's, not its
target's)."""

DIGEST_BYTES = 32
MAX_HOLE_BYTES = 16 * 1024**3
_WHOLE_BYTES = 256 * 1024
_CHUNK_BYTES = 1024 * 1024
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
BLOCK_BYTES = 512
_CLOCK_REALTIME_COARSE = 5  # linux/time.h; the time module has no name for it
# What os.fsencode does, without its checks: a listing does it for each name.
_ENCODING, _ERRORS = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()

_KINDS = {
    stat.S_IFREG: Kind.FILE,
    stat.S_IFDIR: Kind.DIRECTORY,
    stat.S_IFLNK: Kind.SYMLINK,
    stat.S_IFIFO: Kind.FIFO,
    stat.S_IFSOCK: Kind.SOCKET,
    stat.S_IFCHR: Kind.CHARACTER_DEVICE,
    stat.S_IFBLK: Kind.BLOCK_DEVICE,
}
# What an open or a read answers when another thing has taken the name's place since it was looked at.
_STALE = (errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.ENXIO, errno.ESTALE)


@dataclass(frozen=True, slots=True)
class Unread:
    """Why a name could not be read."""

    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class Listed:
    """The names of a directory in byte order.

    `gaps` are names that could not be looked at; they stand among the rows with the directory's own status.
    """

    rows: list[Row]
    gaps: Mapping[bytes, Unread]


def kind_of(mode: int) -> Kind:
    """Return the kind that a status' mode tells."""
    return _KINDS.get(stat.S_IFMT(mode), Kind.UNKNOWN)


pack_key = struct.Struct("<QQqqq").pack
"""Pack device, inode, size, mtime and ctime (ns): what is equal while a file stays as it is."""


def file_key(status: Status) -> bytes:
    """Return `pack_key` of a file's status."""
    return pack_key(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def reader() -> int:
    """Return the user as whom trees are read."""
    return os.geteuid()


def identity_of(status: Status) -> tuple[int, int]:
    """Return (device, inode)."""
    return status.st_dev, status.st_ino


def allocated_bytes(status: Status) -> int:
    """Return how many bytes a file takes on its disk, holes left aside."""
    return status.st_blocks * BLOCK_BYTES


def open_root(path: bytes) -> int:
    """Open the directory a pass begins at; links on the way to it are the person's own and are followed."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    try:
        return os.open(path, flags)
    except OSError as error:
        raise UnavailableError(_reason(error), f"cannot look at {visible(path)}: {_words(error)}") from error


def root_identity(path: bytes) -> tuple[int, int] | None:
    """Return the identity of what stands at the root's path now, None if nothing can be seen there."""
    with suppress(OSError):
        return identity_of(os.stat(path))  # noqa: PTH116 - Path takes no bytes
    return None


def open_directory(parent: int, name: str | bytes, identity: tuple[int, int] | None) -> int | Unread | None:
    """Open a directory in `parent`; None if it is not (any more) the directory with that identity."""
    try:
        descriptor = os.open(name, _DIRECTORY_FLAGS, dir_fd=parent)
    except OSError as error:
        return None if error.errno in _STALE else _unread(error)
    if identity is None or identity_of(os.fstat(descriptor)) == identity:
        return descriptor
    os.close(descriptor)
    return None


def reach(root: int, prefix: bytes, identity: tuple[int, int]) -> int | Unread | None:
    """Open the directory `prefix` (ending in a slash, or empty) below an open root, a component at a time.

    None if what stands there is not (any more) the directory with that identity.
    """
    parts = prefix.split(b"/")[:-1]
    if not parts:
        return open_directory(root, ".", identity)
    current = root
    for index, part in enumerate(parts, start=1):
        opened = open_directory(current, part, identity if index == len(parts) else None)
        if current != root:
            os.close(current)
        if not isinstance(opened, int):
            return opened
        current = opened
    return current


def duplicate(descriptor: int) -> int:
    """Return another descriptor of the same open directory."""
    return os.dup(descriptor)


def text_of(name: bytes) -> str:
    """Return the text that Python's calls take for a name."""
    return os.fsdecode(name)


def close(descriptor: int) -> None:
    """Give a descriptor back."""
    os.close(descriptor)


def directory_status(descriptor: int) -> Status:
    """Return the status of an open directory."""
    return os.fstat(descriptor)


def list_directory(descriptor: int) -> Listed | Unread:
    """List an open directory; a name that vanishes meanwhile is not in it."""
    try:
        with os.scandir(descriptor) as found:
            rows = [
                (entry.name.encode(_ENCODING, _ERRORS), entry.name, entry.stat(follow_symlinks=False))
                for entry in found
            ]
    except OSError:
        return _list_one_by_one(descriptor)
    rows.sort()
    return Listed(rows, {})


def status_at(parent: int, name: str | bytes) -> Status | Unread | None:
    """Return the status of a name, not followed; None if nothing stands there."""
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        return _unread(error)


def read_link(parent: int, name: str) -> bytes | Unread | None:
    """Return a link's literal target; None if it is not (any more) a link."""
    try:
        return os.fsencode(os.readlink(name, dir_fd=parent))
    except OSError as error:
        return None if error.errno in (*_STALE, errno.EINVAL) else _unread(error)


class Taker(Protocol):
    """Who is given the bytes of a file as they are read for its digest, once."""

    def whole(self, data: bytes, digest: bytes) -> None:
        """Take all of a file that stood still, with its SHA-256."""
        ...

    def piece(self, data: memoryview) -> None:
        """Take the next bytes of a larger file; the view is good for this call only."""
        ...

    def end(self, digest: bytes) -> None:
        """The pieces are all of a file that stood still, and this is their SHA-256."""
        ...

    def drop(self) -> None:
        """The pieces stand for nothing."""
        ...


class FileReader:
    """Digests files one after the other through one buffer."""

    __slots__ = ("_chunk",)

    def __init__(self) -> None:
        self._chunk = memoryview(bytearray(_CHUNK_BYTES))

    def digest(
        self, parent: int, name: str, seen: Status, key: bytes, taker: Taker | None = None
    ) -> bytes | Unread | None:
        """Return what is known of the regular file `seen` at `name`; None if it is another or changed.

        That is its SHA-256 (DIGEST_BYTES) and after it what `formats.tree.attributes` remembers of its attributes.
        `key` is `file_key` of `seen`. `taker` gets the very bytes that the digest is made of.
        """
        size = seen.st_size
        if size > MAX_HOLE_BYTES and size - allocated_bytes(seen) > MAX_HOLE_BYTES:
            return Unread(Reason.TOO_LARGE, f"{size} bytes, of which more than {MAX_HOLE_BYTES} are a hole")
        try:
            descriptor = os.open(name, _READ_FLAGS, dir_fd=parent)
        except OSError as error:
            return None if error.errno in _STALE else _unread(error)
        try:
            # The key holds the identity and the ctime, so it stands for the kind and the mode too.
            if file_key(os.fstat(descriptor)) != key:
                return None
            if size < _WHOLE_BYTES and len(data := os.read(descriptor, size + 1)) == size:
                digest, beside = hashlib.sha256(data).digest(), remembered_open(descriptor)
                if file_key(os.fstat(descriptor)) != key:
                    return None
                if taker is not None:
                    taker.whole(data, digest)
                return digest + beside
            return self._read_chunks(descriptor, size, key, taker)
        except OSError as error:
            return _unread(error)
        finally:
            os.close(descriptor)

    def _read_chunks(self, descriptor: int, size: int, key: bytes, taker: Taker | None) -> bytes | None:
        left, digest, read = size, hashlib.sha256(), None
        os.lseek(descriptor, 0, os.SEEK_SET)
        try:
            # One byte more than there should be is asked for: it shows a file that has grown.
            while left >= 0 and (count := os.readv(descriptor, [self._chunk[: min(left + 1, _CHUNK_BYTES)]])):
                piece = self._chunk[:count]
                digest.update(piece)
                left -= count
                if taker is not None:
                    taker.piece(piece)
            beside = remembered_open(descriptor)
            read = digest.digest() if left == 0 and file_key(os.fstat(descriptor)) == key else None
        finally:
            if taker is not None and read is None:
                taker.drop()
        if taker is not None and read is not None:
            taker.end(read)
        return None if read is None else read + beside


def file_system_clock_ns(descriptor: int) -> int | None:
    """Return the present time by the clock of the file system that holds an open directory, None if it tells none.

    An unnamed file shows it: it has no name, so nothing in the directory changes. Where the file system has no such
    files or the directory is not writable there is no answer.
    """
    try:
        probe = os.open(".", os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=descriptor)
    except OSError:
        return None
    try:
        return os.fstat(probe).st_ctime_ns
    finally:
        os.close(probe)


def local_clock_ns() -> int:
    """Return the present time by this machine's coarse clock, the one its own file systems stamp with."""
    return time.clock_gettime_ns(_CLOCK_REALTIME_COARSE)


def _list_one_by_one(descriptor: int) -> Listed | Unread:
    rows: list[Row] = []
    gaps: dict[bytes, Unread] = {}
    try:
        names = os.listdir(descriptor)
    except OSError as error:
        return _unread(error)
    for name in names:
        status = status_at(descriptor, name)
        if isinstance(status, Unread):
            gaps[os.fsencode(name)] = status
            status = os.fstat(descriptor)
        if status is not None:
            rows.append((os.fsencode(name), name, status))
    rows.sort()
    return Listed(rows, gaps)


def _unread(error: OSError) -> Unread:
    return Unread(Reason.UNREADABLE, _words(error))


def _words(error: OSError) -> str:
    return (error.strerror or "the operating system gives no reason").lower()


def _reason(error: OSError) -> Reason:
    match error.errno:
        case errno.ENOENT:
            return Reason.NOT_FOUND
        case errno.ENOTDIR:
            return Reason.NOT_A_DIRECTORY
        case errno.EACCES | errno.EPERM:
            return Reason.NOT_PERMITTED
        case _:
            return Reason.UNREADABLE
