"""Opening regular files of a tree for reading, by path from its open root, no link followed on the way or at the end.

Rules:
1. The root is opened once; each directory on the way is opened by name from the one above it, and kept while the next
   file lies in it.
2. Only a regular file is opened; anything else is UnavailableError with its reason.

Its reader compares what is read with what it was to be (`stores.content`).
"""

from __future__ import annotations

import os
import stat
from types import TracebackType
from typing import Self

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.visible import visible
from docket.host.disk import reported
from docket.host.tree import Status, Unread, file_system_clock_ns, open_root, read_link, status_at

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class TreeFiles:
    """The files of the tree at `root`; close it."""

    def __init__(self, root: bytes) -> None:
        """Open the root; UnavailableError where it cannot be."""
        self._root = open_root(root)
        self._prefix, self._parent = b"", -1

    def open(self, path: RelPath) -> int:
        """Return a descriptor of the regular file at `path`; UnavailableError where there is none. Close it."""
        parent = self._at(path)
        with reported("open", visible(path.raw)):
            descriptor = os.open(path.parts[-1], _FILE, dir_fd=parent)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise UnavailableError(Reason.NOT_A_FILE, f"{path} is not a regular file")
        return descriptor

    def identity(self, path: RelPath) -> tuple[int, int] | None:
        """Return the device and inode of what stands at `path`, None where nothing does."""
        try:
            status = os.stat(path.parts[-1], dir_fd=self._at(path), follow_symlinks=False)
        except (OSError, UnavailableError):
            return None
        return status.st_dev, status.st_ino

    def status(self, path: RelPath) -> Status | None:
        """Return the status of what stands at `path`, not followed; None where nothing does, or a link is on the way.

        UnavailableError where it cannot be looked at.
        """
        try:
            found = status_at(self._at(path), path.parts[-1])
        except UnavailableError as error:
            if error.reason in (Reason.NOT_FOUND, Reason.NOT_A_DIRECTORY, Reason.IS_A_SYMLINK):
                return None
            raise
        if isinstance(found, Unread):
            raise UnavailableError(found.reason, f"cannot look at {path}: {found.detail}")
        return found

    def clock_ns(self) -> int | None:
        """Return the present time by the tree's own file system, None where it does not tell."""
        return file_system_clock_ns(self._root)

    def target(self, path: RelPath) -> bytes | None:
        """Return the target of the link at `path`, None where no link stands there."""
        found = read_link(self._at(path), os.fsdecode(path.parts[-1]))
        return found if isinstance(found, bytes) else None

    def close(self) -> None:
        """Give the descriptors back."""
        self._leave()
        if self._root >= 0:
            os.close(self._root)
            self._root = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _at(self, path: RelPath) -> int:
        """Return the descriptor of the directory that `path` is in."""
        *outer, _ = path.parts
        if not outer:
            return self._root
        prefix = b"/".join(outer)
        if prefix != self._prefix or self._parent < 0:
            self._leave()
            self._parent, self._prefix = self._reached(outer), prefix
        return self._parent

    def _reached(self, parts: list[bytes]) -> int:
        descriptor = self._root
        for number, part in enumerate(parts):
            with reported("open the folder", visible(b"/".join(parts[: number + 1]))):
                try:
                    inner = os.open(part, _DIRECTORY, dir_fd=descriptor)
                finally:
                    if descriptor != self._root:
                        os.close(descriptor)
            descriptor = inner
        return descriptor

    def _leave(self) -> None:
        if self._parent >= 0:
            os.close(self._parent)
        self._prefix, self._parent = b"", -1
