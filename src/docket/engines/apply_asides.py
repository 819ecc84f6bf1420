"""What stands aside when a recovery is at its end: let go of, with what is not docket's kept first.

Rules (spec/workspace.md, Recovery):
1. Nothing that anybody else wrote goes before it is kept; of a directory, every file and link at whatever depth.
2. What cannot be kept (a special file, another file system, what may not be read) stays where it is, and is told with
   its name there: a person takes it away, and recovers again.
3. No link is followed, and one directory is open at a time.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress

from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.steps import Outcome, StepStatus
from docket.formats.visible import visible
from docket.host.looking import open_file
from docket.host.staging import Staging
from docket.host.tree import identity_of, kind_of
from docket.host.tree_calls import TreeCalls, open_inside, open_name

_OWNER = 0o700
_ABOVE = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Keep = Callable[[RelPath, int | None, bytes], None]
"""Keeps what stood at a path, durably: the file that is open, or where none is, the target of a link."""


@dataclass(slots=True)
class _Level:
    """A directory that is being emptied, where it stood, and the directories in it that are still to be."""

    name: bytes
    path: RelPath
    above: tuple[int, int]
    inner: list[bytes]


class Asides:
    """Lets go of single things in a staging directory; `stayed` is what could not be kept."""

    def __init__(self, calls: TreeCalls, staging: Staging, keep: Keep) -> None:
        self._calls, self._staging, self._keep = calls, staging, keep
        self._device = os.fstat(staging.descriptor).st_dev
        self._current = staging.descriptor
        self._levels: list[_Level] = []
        self.stayed: list[Outcome] = []

    def let_go(self, name: bytes, path: RelPath, *, keeps: bool) -> None:
        """Remove what stands under a name and stood at a path, where `keeps` only once it is kept.

        What is in a directory is kept in any case: docket leaves nothing in one that it means to remove. May raise
        OSError, and what keeping raises.
        """
        status = os.stat(name, dir_fd=self._staging.descriptor, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            self._let_directory_go(name, path)
        elif not keeps or self._kept(name, path, status):
            with suppress(OSError):
                self._calls.unlink(self._staging.descriptor, name)

    def _let_directory_go(self, name: bytes, path: RelPath) -> None:
        self._current = os.dup(self._staging.descriptor)
        try:
            self._enter(name, path)
            while self._levels:
                level = self._levels[-1]
                if level.inner:
                    inner = level.inner.pop()
                    self._enter(inner, level.path.child(inner))
                else:
                    self._leave(self._levels.pop())
        finally:
            os.close(self._current)
            self._current = self._staging.descriptor
            self._levels.clear()

    def _enter(self, name: bytes, path: RelPath) -> None:
        """Go into a directory, and let go of everything in it that is none."""
        try:
            entered = self._opened(name)
        except OSError as error:
            self._stays(name, path, f"the directory cannot be entered: {(error.strerror or str(error)).lower()}")
            return
        above = identity_of(os.fstat(self._current))
        os.close(self._current)
        self._current = entered
        level = _Level(name, path, above, [])
        self._levels.append(level)
        for inner in sorted(map(os.fsencode, os.listdir(entered))):  # noqa: PTH208 - by descriptor
            status = os.stat(inner, dir_fd=entered, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                level.inner.append(inner)
            elif self._kept(inner, path.child(inner), status):
                with suppress(OSError):
                    self._calls.unlink(entered, inner)

    def _opened(self, name: bytes) -> int:
        """Open a directory that is about to go, to its owner too if its mode keeps that one out."""
        unopened = open_name(self._current, name)
        try:
            status = os.fstat(unopened)
            own = status.st_uid == os.geteuid() and status.st_dev == self._device
            if own and status.st_mode & _OWNER != _OWNER:
                self._calls.chmod(unopened, stat.S_IMODE(status.st_mode) | _OWNER)
        finally:
            os.close(unopened)
        return open_inside(self._current, name)

    def _leave(self, level: _Level) -> None:
        above = os.open("..", _ABOVE, dir_fd=self._current)
        os.close(self._current)
        self._current = above
        if identity_of(os.fstat(above)) != level.above:
            self._levels.clear()  # somebody moved it away: what is in it is not docket's to remove
            return
        with suppress(OSError):  # what holds something that stays
            self._calls.remove_directory(above, level.name)

    def _kept(self, name: bytes, path: RelPath, status: os.stat_result) -> bool:
        """Have a thing kept; say whether it may go."""
        if stat.S_ISLNK(status.st_mode):
            self._keep(path, None, os.readlink(name, dir_fd=self._current))
            return True
        if not stat.S_ISREG(status.st_mode):
            self._stays(name, path, f"a {kind_of(status.st_mode)} cannot be kept")
            return False
        try:
            descriptor = open_file(self._current, name)
        except OSError as error:
            self._stays(name, path, f"it cannot be read: {(error.strerror or str(error)).lower()}")
            return False
        try:
            self._keep(path, descriptor, b"")
        finally:
            os.close(descriptor)
        return True

    def _stays(self, name: bytes, path: RelPath, why: str) -> None:
        where = visible(b"/".join([self._staging.name, *(level.name for level in self._levels), name]))
        detail = f"{why}; it stands as {where}: move it away, then recover again"
        self.stayed.append(Outcome(path=path, status=StepStatus.FAILED, reason=Reason.LEFT_ASIDE, detail=detail))
