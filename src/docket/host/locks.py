"""Exclusive locks between processes: flock on a file that names its holder.

Rules:
1. A lock is waited for until a deadline on the monotonic clock; a deadline that has passed takes nothing, not even
   a free lock.
2. After flock succeeds the descriptor's file must still be the one of that name: a lock file that was unlinked
   meanwhile locks nobody out, so the new file is tried.
3. The file holds the holder's process id and start time, for people and for recovery. The kernel's lock decides;
   the text never does.
4. A directory may be locked itself, by its open descriptor: then there is no file to unlink or to name a holder.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.host.clock import Clock, SystemClock
from docket.host.disk import create_file, reported

_PAUSE_SECONDS = 0.01
_START_TIME_FIELD = 19  # field 22 of proc(5) stat, counted after the command's closing parenthesis


class FileLock:
    """A held lock; `release` (or leaving the block) gives it up and removes the file."""

    __slots__ = ("_descriptor", "path")

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor = descriptor
        self.path = path

    @classmethod
    def acquire(cls, path: Path, *, wait_seconds: float = 0.0, clock: Clock | None = None) -> FileLock:
        """Take the lock or raise UnavailableError(LOCKED), which names the holder.

        `wait_seconds` of 0 tries once; a negative one is a deadline that has passed.
        """
        now = (clock or SystemClock()).monotonic_ns
        deadline = now() + int(wait_seconds * 1e9)
        first = wait_seconds >= 0
        while first or now() < deadline:
            first = False
            descriptor = _try(path)
            if descriptor is not None:
                return cls(descriptor, path)
            if now() >= deadline:
                break
            time.sleep(_PAUSE_SECONDS)
        raise UnavailableError(Reason.LOCKED, f"{path} is held by {_holder(path)}")

    def release(self) -> None:
        """Remove the file while it is still held, then let it go; a second call does nothing."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor < 0:
            return
        try:
            if _same_file(descriptor, self.path):
                self.path.unlink(missing_ok=True)
        except OSError:
            pass  # the name may stay: the kernel's lock is what counts
        finally:
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class DirectoryLock:
    """A held lock on a directory itself: it needs no file, and no name or state folder can hide it."""

    __slots__ = ("_descriptor", "identity", "path")

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor = descriptor
        self.path = path
        status = os.fstat(descriptor)
        self.identity = (status.st_dev, status.st_ino)

    @classmethod
    def acquire(cls, path: Path, *, wait_seconds: float = 0.0, clock: Clock | None = None) -> DirectoryLock:
        """Take the lock or raise UnavailableError(LOCKED). A file system without such locks has one user."""
        now = (clock or SystemClock()).monotonic_ns
        deadline = now() + int(wait_seconds * 1e9)
        with reported("lock", path):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        while not _flocked(descriptor):
            if now() >= deadline:
                os.close(descriptor)
                raise UnavailableError(Reason.LOCKED, f"{path} is held by another process")
            time.sleep(_PAUSE_SECONDS)
        return cls(descriptor, path)

    def release(self) -> None:
        """Let it go; a second call does nothing."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _flocked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EWOULDBLOCK, errno.EACCES)
    return True


def is_held(path: Path) -> bool:
    """Whether a process holds the lock now; nothing is made or written.

    The look itself is a shared lock for an instant: whoever takes the lock where others may look must wait a little.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False  # no lock file, no holder; what cannot be opened is told by whoever takes the lock
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _try(path: Path) -> int | None:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    with reported("lock", path):
        descriptor = create_file(path, flags)
        held = False
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UnavailableError(Reason.NOT_A_FILE, f"cannot lock {path}: it is not a regular file")
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = _same_file(descriptor, path)
        except BlockingIOError:
            pass
        finally:
            if not held:
                os.close(descriptor)
    if not held:
        return None
    _write_holder(descriptor)
    return descriptor


def _same_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def _write_holder(descriptor: int) -> None:
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {_start_time(os.getpid())}\n".encode("ascii"), 0)
    except OSError:
        pass  # a full disk must not keep a run from locking: the text is only for people


def _start_time(pid: int) -> str:
    try:
        line = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
        return line.rpartition(")")[2].split()[_START_TIME_FIELD]
    except (OSError, IndexError):
        return "?"


def _holder(path: Path) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return "another process"
    try:
        pid = os.read(descriptor, 64).decode("ascii", "replace").split()[:1]
    except OSError:
        pid = []
    finally:
        os.close(descriptor)
    return f"process {pid[0]}" if pid and pid[0].isdigit() else "another process"
