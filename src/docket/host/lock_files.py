"""Lock files as other programs take them: a name that only one can create, in a folder that is open.

Rules:
1. A lock appears with all that is written in it, or not at all, where the file system can do that.
2. It is removed by who made it, and only while the name still is that very file.
3. Neither the name nor what it holds is followed anywhere.

Whose turn it is, and what a lock that stands means, is the caller's to know.
"""

from __future__ import annotations

import os
from contextlib import suppress

from docket.formats.dataclass import dataclass

_TEMPORARY = getattr(os, "O_TMPFILE", 0)
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_WRITE = os.O_WRONLY | os.O_CLOEXEC
_MODE = 0o644


@dataclass(frozen=True, slots=True, kw_only=True)
class LockFile:
    """A lock that was made: the folder's descriptor, which `remove` closes, the name, and the file's identity."""

    folder: int
    name: bytes
    identity: tuple[int, int]

    def remove(self) -> None:
        """Remove it if it is still there."""
        with suppress(OSError):
            if _identity(os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)) == self.identity:
                os.unlink(self.name, dir_fd=self.folder)
        os.close(self.folder)


def make_lock(folder: int, name: bytes, data: bytes) -> LockFile | None:
    """Make a lock in an open folder, None where the name is taken; OSError where it cannot be made."""
    kept = os.dup(folder)
    try:
        made = _made_whole(folder, name, data) if _TEMPORARY else _made(folder, name, data)
    except FileExistsError:
        os.close(kept)
        return None
    except BaseException:
        os.close(kept)
        raise
    return LockFile(folder=kept, name=name, identity=made)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLock:
    """A lock that stands: what it begins with, and the file's identity."""

    text: bytes
    identity: tuple[int, int]


def read_lock(folder: int, name: bytes, most: int) -> FoundLock | None:
    """Return a lock with its first `most` bytes, None where no regular file stands there or it cannot be read."""
    try:
        descriptor = os.open(name, _READ, dir_fd=folder)
    except OSError:
        return None
    try:
        return FoundLock(text=os.read(descriptor, most), identity=_identity(os.fstat(descriptor)))
    except OSError:
        return None
    finally:
        os.close(descriptor)


def remove_lock(folder: int, name: bytes, found: FoundLock) -> None:
    """Remove a lock that nobody holds any more, unless another stands there by now; OSError where it cannot be."""
    with suppress(FileNotFoundError):
        if _identity(os.stat(name, dir_fd=folder, follow_symlinks=False)) == found.identity:
            os.unlink(name, dir_fd=folder)


def _made_whole(folder: int, name: bytes, data: bytes) -> tuple[int, int]:
    try:
        descriptor = os.open(b".", _TEMPORARY | _WRITE, _MODE, dir_fd=folder)
    except OSError:
        return _made(folder, name, data)
    try:
        os.write(descriptor, data)
        os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=folder, follow_symlinks=True)
        return _identity(os.fstat(descriptor))
    except FileExistsError:
        raise
    except OSError:  # no /proc, or no names for files that have none yet
        return _made(folder, name, data)
    finally:
        os.close(descriptor)


def _made(folder: int, name: bytes, data: bytes) -> tuple[int, int]:
    descriptor = os.open(name, os.O_CREAT | os.O_EXCL | _WRITE, _MODE, dir_fd=folder)
    try:
        os.write(descriptor, data)
        return _identity(os.fstat(descriptor))
    except BaseException:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
        raise
    finally:
        os.close(descriptor)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
