"""Reading a file that a person or a repository names, without waiting for what is not a file.

Rules: a FIFO, a device or a directory is refused, never waited for; a file that is read whole and larger than allowed
is refused, never read to its end. A symbolic link is followed: it is the person's own way of naming a file.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from docket.errors import UnavailableError
from docket.formats.reason import Reason

# Room is made for as much as is asked for at once: the limit itself may not be had where memory is limited.
_CHUNK_BYTES = 1024 * 1024
_REASONS: dict[type[Exception], Reason] = {
    FileNotFoundError: Reason.NOT_FOUND,
    IsADirectoryError: Reason.NOT_A_FILE,
    NotADirectoryError: Reason.NOT_FOUND,
    PermissionError: Reason.NOT_PERMITTED,
}


def read_regular_file(path: Path, limit_bytes: int) -> bytes:
    """Return the file's bytes.

    UnavailableError: NOT_FOUND, NOT_PERMITTED, NOT_A_FILE, TOO_LARGE, or IO_ERROR for any other error of the system.
    """
    parts: list[bytes] = []
    left = limit_bytes
    for part in _chunks(path, limit_bytes):
        parts.append(part)
        left -= len(part)
        if left < 0:
            raise _too_large(path, limit_bytes)
    return b"".join(parts)


def regular_file_chunks(path: Path) -> Iterator[bytes]:
    """Yield the file's bytes in pieces; UnavailableError as from `read_regular_file`, also in the middle."""
    yield from _chunks(path, 0)


def _chunks(path: Path, at_once_bytes: int) -> Iterator[bytes]:
    """Yield a file of up to `at_once_bytes` in one piece, never twice in memory; with 0 one of any size in pieces."""
    with _reported(path):
        descriptor = _descriptor(path)
    if descriptor is None:
        raise UnavailableError(Reason.NOT_A_FILE, f"{path} is not a regular file")
    size = os.fstat(descriptor).st_size
    if 0 < at_once_bytes < size:
        os.close(descriptor)
        raise _too_large(path, at_once_bytes)
    asked = size + 1 if size <= at_once_bytes else _CHUNK_BYTES
    try:
        while True:
            with _reported(path):
                part = os.read(descriptor, asked)
            asked = _CHUNK_BYTES
            if not part:
                return
            yield part
    finally:
        os.close(descriptor)


def _too_large(path: Path, limit_bytes: int) -> UnavailableError:
    return UnavailableError(Reason.TOO_LARGE, f"{path} is larger than {limit_bytes:,} bytes")


def open_regular_file(path: Path) -> BinaryIO:
    """Open the file for reading; OSError, with ENXIO for what is no regular file."""
    descriptor = _descriptor(path)
    if descriptor is None:
        raise OSError(errno.ENXIO, "it is not a regular file", str(path))
    return os.fdopen(descriptor, "rb")


def _descriptor(path: Path) -> int | None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        reason = _REASONS.get(type(error), Reason.IO_ERROR)
        why = getattr(error, "strerror", None) or str(error)
        raise UnavailableError(reason, f"{path} cannot be read: {why}") from error
