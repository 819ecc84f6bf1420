"""Making what was written outlast a power cut: many files and directories together, with few waits.

Rules:
1. A file counts as durable only if the system said so after it was written; which ones do not is told one by one.
2. A few are synced one after another, some by threads whose waits for the disk overlap, many by one call for their
   whole file system. That call waits for what other programs have written there too, so it is made only where it
   spares many waits.
3. It counts only where it tells of a write that failed (Linux 5.8) and reaches the disk: on the file systems named
   here. Everywhere else the threads do the work.
4. If that call fails, nothing it stood for counts: it does not say which file was meant.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress

from docket.host.reaching import Reached
from docket.host.tree_calls import TreeCalls

FEW, MANY = 4, 64
MAX_TOUCHED = 64
_THREADS = 8
_TELLS_OF_FAILURES = (5, 8)
_FSTATFS_BYTES = 256
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# Their numbers in statfs(2): ext2 to ext4, XFS, Btrfs, F2FS, tmpfs.
_KNOWN = frozenset((0xEF53, 0x58465342, 0x9123683E, 0xF2F52010, 0x01021994))


class Syncing:
    """What of one tree is changed and not yet durable."""

    def __init__(self, root: int, calls: TreeCalls) -> None:
        self._root = root
        self._calls = calls
        self._as_one = syncs_as_one(root)
        self._touched: dict[tuple[int, int], int] = {}
        self._everything = False
        self._failed: OSError | None = None

    def touch(self, reached: Reached) -> None:
        """Remember a directory in which a name changed. May raise OSError."""
        if self._everything or reached.identity in self._touched:
            return
        if len(self._touched) >= MAX_TOUCHED:
            if self._as_one:
                self.forget()
                self._everything = True
                return
            try:
                self.names(None)
            except OSError as error:
                # What was changed so far is not this caller's: whoever asks for it hears.
                self._failed = error
        self._touched[reached.identity] = os.dup(reached.descriptor)

    def names(self, staging: int | None) -> None:
        """Return when every name changed in a touched directory, and in `staging`, is durable. May raise OSError."""
        try:
            if self._failed is not None:
                raise self._failed
            if self._everything:
                self._calls.sync_file_system(self._root)
                return
            descriptors = [*self._touched.values(), *(() if staging is None else (staging,))]
            for error in self._each(self._calls.sync, descriptors):
                if error is not None:
                    raise error
        finally:
            self.forget()

    def contents(self, folder: int, names: Sequence[bytes]) -> dict[bytes, OSError]:
        """Make files of one directory durable; return those that could not be, each with its error."""
        if self._as_one and len(names) >= MANY:
            try:
                self._calls.sync_file_system(self._root)
            except OSError as error:
                return dict.fromkeys(names, error)
            return {}

        def sync(name: bytes) -> None:
            descriptor = os.open(name, _READ_FLAGS, dir_fd=folder)
            try:
                self._calls.sync(descriptor)
            finally:
                os.close(descriptor)

        errors = zip(names, self._each(sync, names), strict=True)
        return {name: error for name, error in errors if error is not None}

    def forget(self) -> None:
        """Let go of the touched directories."""
        for descriptor in self._touched.values():
            os.close(descriptor)
        self._touched.clear()
        self._everything, self._failed = False, None

    def _each(self, work: Callable[..., None], items: Sequence[object]) -> list[OSError | None]:
        found: dict[int, OSError | None] = {}

        def take(number: int) -> None:
            try:
                work(items[number])
            except OSError as error:
                found[number] = error
            else:
                found[number] = None

        if len(items) >= FEW:
            _in_threads(take, len(items))
        # What failed is not asked again: a system tells of a lost write once.
        for number in range(len(items)):
            if number not in found:
                take(number)
        return [found[number] for number in range(len(items))]


def _in_threads(take: Callable[[int], None], count: int) -> None:
    """Have threads take the numbers below `count`; some or all may be left where no more threads are to be had."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - not needed by most who import this

    with suppress(RuntimeError), ThreadPoolExecutor(min(_THREADS, count)) as pool:
        for number in range(count):
            pool.submit(take, number)


def syncs_as_one(descriptor: int) -> bool:
    """Whether one call makes everything on the file system of an open directory durable, or says that it failed."""
    version = re.match(r"(\d+)\.(\d+)", os.uname().release)
    if os.uname().sysname != "Linux" or version is None or (int(version[1]), int(version[2])) < _TELLS_OF_FAILURES:
        return False
    call = getattr(ctypes.CDLL(None, use_errno=True), "fstatfs", None)
    told = ctypes.create_string_buffer(_FSTATFS_BYTES)
    if call is None or int(call(descriptor, told)) != 0:
        return False
    return ctypes.c_long.from_buffer(told).value & 0xFFFFFFFF in _KNOWN
