"""fsync and fdatasync that do not wait for the disk of the temporary folder.

A process that dies, which is the worst that befalls one in a test, loses nothing of what it wrote: a power cut is
played on the disks of `disks/`, and what is synced, and when, is seen by who counts the calls. What the wait itself
could say is asked where it can say anything: on every other file system, of what cannot be synced, in programs that are
started rather than forked, and everywhere with DOCKET_TEST_SYNC=1, as in `./dev slow`.
"""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from collections.abc import Callable

VARIABLE = "DOCKET_TEST_SYNC"
_fstat, _flags = os.fstat, fcntl.fcntl


def begin() -> None:
    """From here on nothing in this process, or in a fork of it, waits for that disk."""
    if os.environ.get(VARIABLE) == "1" or not hasattr(os, "O_PATH"):
        return
    device = os.stat(tempfile.gettempdir()).st_dev
    os.fsync, os.fdatasync = _unwaited(os.fsync, device), _unwaited(os.fdatasync, device)


def _unwaited(call: Callable[[int], None], device: int) -> Callable[[int], None]:
    def sync(fd: int) -> None:
        descriptor = fd if isinstance(fd, int) else fd.fileno()
        status = _fstat(descriptor)
        kept = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
        if status.st_dev != device or not kept or _flags(descriptor, fcntl.F_GETFL) & os.O_PATH:
            call(descriptor)

    return sync
