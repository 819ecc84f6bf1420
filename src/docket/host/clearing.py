"""Removing a directory with everything in it, whatever an agent or the kernel left its modes at.

Rules:
1. No link is followed and no other file system is entered: what is mounted below is an error.
2. A directory without permission for its owner is given it first; nothing outside the directory is touched.
3. What cannot be removed does not keep the rest: the first error is raised when everything else is gone.
4. One directory is open at a time, whatever the depth.

For directories that are docket's own and in which nobody works any more.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from docket.formats.dataclass import dataclass
from docket.host.disk_errors import reported

_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OWNER = 0o700


@dataclass(slots=True)
class _Level:
    """A directory being emptied: its name in the one above, and the directories in it that are still there."""

    name: str
    inner: list[str]


def remove_tree(path: Path) -> None:
    """Remove the directory `path` and everything below it; nothing there is fine. UnavailableError if any is left."""
    with reported("remove", path):
        try:
            parent = os.open(path.parent, _FLAGS & ~os.O_NOFOLLOW)
        except FileNotFoundError:
            return
        try:
            _Removal(parent).run(path.name)
        finally:
            os.close(parent)


class _Removal:
    def __init__(self, parent: int) -> None:
        self._current = os.dup(parent)
        self._device = os.fstat(parent).st_dev
        self._error: OSError | None = None

    def run(self, name: str) -> None:
        try:
            levels = [level] if (level := self._entered(name)) is not None else []
            while levels:
                if levels[-1].inner:
                    below = self._entered(levels[-1].inner.pop())
                    levels += [] if below is None else [below]
                else:
                    self._left(levels.pop())
        finally:
            os.close(self._current)
        if self._error is not None:
            raise self._error

    def _entered(self, name: str) -> _Level | None:
        """Step into a directory and unlink everything in it that is none; None if it cannot be entered."""
        try:
            descriptor = _opened(self._current, name, self._device)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._note(error)
            return None
        os.close(self._current)
        self._current = descriptor
        return _Level(name, [inner for inner in self._names() if not self._unlinked(inner)])

    def _names(self) -> list[str]:
        try:
            return os.listdir(self._current)  # noqa: PTH208 - by descriptor
        except OSError as error:
            self._note(error)
            return []

    def _unlinked(self, name: str) -> bool:
        """Unlink a name, and tell whether that is all there is to do about it."""
        try:
            if stat.S_ISDIR(os.lstat(name, dir_fd=self._current).st_mode):
                return False
            os.unlink(name, dir_fd=self._current)
        except OSError as error:
            self._note(error)
        return True

    def _left(self, level: _Level) -> None:
        above = os.open("..", _FLAGS, dir_fd=self._current)
        os.close(self._current)
        self._current = above
        try:
            os.rmdir(level.name, dir_fd=above)
        except OSError as error:
            self._note(error)

    def _note(self, error: OSError) -> None:
        self._error = self._error or error


def _opened(parent: int, name: str, device: int) -> int:
    try:
        descriptor = os.open(name, _FLAGS, dir_fd=parent)
    except PermissionError:
        if not stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode):
            raise
        os.chmod(name, _OWNER, dir_fd=parent)  # it is a directory, so no link is followed
        descriptor = os.open(name, _FLAGS, dir_fd=parent)
    try:
        status = os.fstat(descriptor)
        if status.st_dev != device:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        if status.st_mode & _OWNER != _OWNER:
            os.fchmod(descriptor, _OWNER)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
