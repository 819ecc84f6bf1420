"""The calls of the C library that `host.disk` makes and Python has no name for; None where the library has none.

Each returns 0, or the number of what went wrong. The library is loaded with the first of them: many commands make none.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache

_FICLONE = 0x40049409  # linux/fs.h
_NOT_HERE = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF, errno.ETXTBSY, errno.EPERM)


@cache
def fallocate() -> Callable[..., int] | None:
    """Return fallocate(descriptor, mode, offset, length) with 64-bit offsets."""
    import ctypes  # noqa: PLC0415 - as below

    found = _called("fallocate64") or _called("fallocate")
    if found is None:
        return None
    call = found
    return lambda descriptor, mode, offset, size: call(descriptor, mode, ctypes.c_int64(offset), ctypes.c_int64(size))


@cache
def syncfs() -> Callable[..., int] | None:
    """Return syncfs(descriptor)."""
    return _called("syncfs")


def _called(name: str) -> Callable[..., int] | None:
    import ctypes  # noqa: PLC0415 - not light, and hardly any command makes such a call

    call: Callable[..., int] | None = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    return None if call is None else lambda *arguments: 0 if call(*arguments) == 0 else ctypes.get_errno()


def share(source: int, target: int) -> None:
    """Let the empty file `target` share all bytes of the file `source` until one of them is written.

    Whole or not at all; raises OSError where that cannot be.
    """
    import fcntl  # noqa: PLC0415 - hardly any command shares a file

    fcntl.ioctl(target, _FICLONE, source)


def clone(source: int, target: int, offset: int, size: int) -> bool:
    """Let the empty file `target` share or hold bytes of `source`; False where the kernel can do neither.

    May raise OSError: of the disk, and EIO where the source ends too soon.
    """
    if not offset and os.fstat(source).st_size == size:
        with suppress(OSError):
            share(source, target)
            return True
    done = 0
    while done < size:
        try:
            count = os.copy_file_range(source, target, size - done, offset + done, done)
        except OSError as error:
            if done or error.errno not in _NOT_HERE:
                raise
            return False
        if not count:
            if not done:
                return False  # some file systems say so of what they cannot copy
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        done += count
    return True
