"""Appending a text to a file of a person's own, durably, while others may append to it too.

Rules:
1. What is appended stands there whole, on lines of its own: one writer at a time, under a lock of the file itself.
2. It is durable when the call returns. Nothing that stands in the file is changed.
3. A FIFO, a device or a folder is refused, and never waited for. A link is followed: it is the person's own.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.host.disk import reported

_MODE = 0o644


def try_anchor(path: Path) -> None:
    """Show that something can be appended to the file, which is made if it is not there; UnavailableError if not."""
    with _opened(path):
        pass


def append_durably(path: Path, text: bytes) -> None:
    """Append whole lines; UnavailableError where that fails, and then a part of them may stand there."""
    with _opened(path) as descriptor, reported("append to", path):
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        end = os.fstat(descriptor).st_size
        data = text if end == 0 or os.pread(descriptor, 1, end - 1) == b"\n" else b"\n" + text
        while data:
            data = data[os.write(descriptor, data) :]
        os.fsync(descriptor)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
    try:
        with reported("open", path):
            descriptor = os.open(path, flags, _MODE)
    except ValueError as error:  # a name with a NUL
        raise UnavailableError(Reason.NOT_FOUND, f"{str(path)!r} is no name of a file") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UnavailableError(Reason.NOT_A_FILE, f"{path} is not a regular file")
        _sync_folder(path)
        yield descriptor
    finally:
        os.close(descriptor)


def _sync_folder(path: Path) -> None:
    with reported("sync", path.parent):
        folder = os.open(os.path.realpath(path.parent), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EACCES):  # a file system that syncs no folders
                raise
        finally:
            os.close(folder)
