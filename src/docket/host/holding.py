"""Locks that many may share or one holds alone: flock on a file that stays.

Rules:
1. The file is made once and never removed, so nobody can hold another file of the same name. Should a person remove
   it all the same, whoever has waited for it takes the new one.
2. The kernel gives a lock up with its holder. Forked copies of a holder hold it with him.

A lock that names its holder and is held alone is `host.locks`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time

_PAUSE_SECONDS = 0.01
_FLAGS = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_MODE = 0o600


class Holding:
    """A lock that is held."""

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        """Begin; a descriptor of -1 stands for a lock that nobody else can hold."""
        self._descriptor = descriptor

    def release(self) -> None:
        """Give it up."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def hold(folder: int, name: str, *, exclusive: bool, wait_seconds: float) -> Holding | None:
    """Hold the lock file `name` of an open folder; None if it cannot be had in time. May raise OSError."""
    deadline = time.monotonic() + wait_seconds
    while True:
        descriptor = _opened(folder, name, exclusive=exclusive)
        try:
            if descriptor < 0 or _taken(descriptor, folder, name, exclusive=exclusive):
                return Holding(descriptor)
        except OSError:
            os.close(descriptor)
            raise
        os.close(descriptor)
        if time.monotonic() >= deadline:
            return None
        time.sleep(_PAUSE_SECONDS)


def _opened(folder: int, name: str, *, exclusive: bool) -> int:
    if not exclusive:
        try:
            return os.open(name, os.O_RDONLY | _FLAGS, dir_fd=folder)
        except FileNotFoundError:
            pass
    try:
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | _FLAGS, _MODE, dir_fd=folder)
    except OSError as error:
        if exclusive or error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise
        return -1
    if stat.S_IMODE(os.fstat(descriptor).st_mode) & _MODE != _MODE:
        os.fchmod(descriptor, _MODE)  # a umask that takes the owner's bits too
    return descriptor


def _taken(descriptor: int, folder: int, name: str, *, exclusive: bool) -> bool:
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), os.stat(name, dir_fd=folder, follow_symlinks=False))
    except (BlockingIOError, FileNotFoundError):
        return False
