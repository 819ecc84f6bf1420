"""Reading a whole file that a person or a repository names, without waiting for what is not a file.

Rules: a FIFO, a device or a directory is refused, never waited for; a file larger than allowed is refused, never
read to its end. A symbolic link is followed: it is the person's own way of naming a file.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

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
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UnavailableError(Reason.NOT_A_FILE, f"{path} is not a regular file")
            data = _content(descriptor, limit_bytes + 1)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        reason = _REASONS.get(type(error), Reason.IO_ERROR)
        why = getattr(error, "strerror", None) or str(error)
        raise UnavailableError(reason, f"{path} cannot be read: {why}") from error
    if len(data) > limit_bytes:
        raise UnavailableError(Reason.TOO_LARGE, f"{path} is larger than {limit_bytes:,} bytes")
    return data


def _content(descriptor: int, limit_bytes: int) -> bytes:
    parts: list[bytes] = []
    left = limit_bytes
    while left and (part := os.read(descriptor, min(left, _CHUNK_BYTES))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
