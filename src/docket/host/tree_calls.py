"""The system calls that change a tree, and the two that Python has no name for.

Rules:
1. Each method is one call, relative to a directory descriptor, and follows no link in the name it is given.
2. `exchange` and `rename_new` are renameat2(2). Where the system or the file system has no such call they raise
   OSError with one of `UNSUPPORTED`, and the caller says what it does instead.
3. A file is made 0600 and a directory 0700, whatever the umask, until `chmod` says otherwise.

It decides nothing. A test that counts or refuses calls stands in for `TreeCalls`.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct
from collections.abc import Callable
from functools import cache

from docket.host.disk_calls import syncfs

UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)

_RENAME_NOREPLACE = 1
_RENAME_EXCHANGE = 2
_SYS_OPENAT2 = ctypes.c_long(437)  # the same on every architecture of Linux
_RESOLVE_NO_XDEV = 0x01
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_HOW_DIRECTORY = struct.pack(
    "<QQQ",
    _DIRECTORY_FLAGS,
    0,
    _RESOLVE_NO_XDEV | _RESOLVE_NO_MAGICLINKS | _RESOLVE_NO_SYMLINKS | _RESOLVE_BENEATH,
)
_HOW_BYTES = ctypes.c_size_t(len(_HOW_DIRECTORY))
_PATH_FLAGS = getattr(os, "O_PATH", 0) | os.O_NOFOLLOW | os.O_CLOEXEC

_LIBC = ctypes.CDLL(None, use_errno=True)


def open_inside(parent: int, name: bytes) -> int:
    """Open a directory of `parent`: no link, and, where the kernel can tell, no mount point."""
    opened = open_below(parent, name)
    return os.open(name, _DIRECTORY_FLAGS, dir_fd=parent) if opened is None else opened


def open_below(parent: int, path: bytes) -> int | None:
    """Open a directory any number of names below `parent`, past no link and no mount point; OSError where one is.

    None where the kernel has no call for that: then each name must be opened in the one before it.
    """
    call = _syscall()
    if call is None:
        return None
    answer = int(call(_SYS_OPENAT2, parent, path, _HOW_DIRECTORY, _HOW_BYTES))
    if answer >= 0:
        return answer
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EPERM):  # an old kernel, or a filter that knows no such call
        return None
    raise OSError(code, os.strerror(code))


@cache
def _syscall() -> Callable[..., int] | None:
    found: Callable[..., int] | None = getattr(_LIBC, "syscall", None)
    return found if os.uname().sysname == "Linux" else None


def _renameat2(source: tuple[int, bytes], target: tuple[int, bytes], flags: int) -> None:
    call = getattr(_LIBC, "renameat2", None)
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if int(call(source[0], source[1], target[0], target[1], ctypes.c_uint(flags))) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


class TreeCalls:
    """The machine's own calls. Each may raise OSError; a place is (directory descriptor, name)."""

    __slots__ = ()

    def make_file(self, parent: int, name: bytes) -> int:
        """Create a file that must not exist and return its descriptor, readable too."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, 0o600, dir_fd=parent)

    def make_directory(self, parent: int, name: bytes) -> None:
        """Create a directory that must not exist."""
        os.mkdir(name, 0o700, dir_fd=parent)

    def make_symlink(self, target: bytes, parent: int, name: bytes) -> None:
        """Create a symbolic link that must not exist."""
        os.symlink(target, name, dir_fd=parent)

    def link(self, source: tuple[int, bytes], target: tuple[int, bytes]) -> None:
        """Give what stands at `source`, itself if it is a link, the further name `target`, which must be free."""
        os.link(source[1], target[1], src_dir_fd=source[0], dst_dir_fd=target[0], follow_symlinks=False)

    def write(self, descriptor: int, data: bytes) -> None:
        """Write all of `data` where the descriptor stands."""
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]

    def truncate(self, descriptor: int, size: int) -> None:
        """Set a file's size."""
        os.ftruncate(descriptor, size)

    def sync(self, descriptor: int) -> None:
        """Return when the file or directory would survive a power cut."""
        os.fsync(descriptor)

    def sync_file_system(self, descriptor: int) -> None:
        """Return when everything written to the file system of an open file or directory would survive a power cut."""
        call = syncfs()
        if call is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        code = call(descriptor)
        if code:
            raise OSError(code, os.strerror(code))

    def exchange(self, one: tuple[int, bytes], other: tuple[int, bytes]) -> None:
        """Let two names change places in one step."""
        _renameat2(one, other, _RENAME_EXCHANGE)

    def rename_new(self, source: tuple[int, bytes], target: tuple[int, bytes]) -> None:
        """Rename to a name that must be free."""
        _renameat2(source, target, _RENAME_NOREPLACE)

    def rename(self, source: tuple[int, bytes], target: tuple[int, bytes]) -> None:
        """Rename over whatever stands at `target`."""
        os.rename(source[1], target[1], src_dir_fd=source[0], dst_dir_fd=target[0])

    def unlink(self, parent: int, name: bytes) -> None:
        """Remove a name that is no directory."""
        os.unlink(name, dir_fd=parent)

    def remove_directory(self, parent: int, name: bytes) -> None:
        """Remove an empty directory."""
        os.rmdir(name, dir_fd=parent)

    def chmod(self, descriptor: int, mode: int) -> None:
        """Set the mode of an open file or directory; a descriptor that only names it (O_PATH) will do."""
        try:
            os.fchmod(descriptor, mode)
        except OSError as error:
            if error.errno != errno.EBADF:
                raise
            os.chmod(f"/proc/self/fd/{descriptor}", mode)  # noqa: PTH101 - no Path leads there

    def chown(self, descriptor: int, user: int, group: int) -> None:
        """Set the owner of an open file."""
        os.fchown(descriptor, user, group)

    def set_mtime(self, place: int | tuple[int, bytes], mtime_ns: int) -> None:
        """Set the modification time (and the access time with it) of a descriptor, or of a name not followed."""
        times = (mtime_ns, mtime_ns)
        if isinstance(place, int):
            os.utime(place, ns=times)
        else:
            os.utime(place[1], ns=times, dir_fd=place[0], follow_symlinks=False)

    def set_xattr(self, descriptor: int, name: bytes, value: bytes) -> None:
        """Set an extended attribute; a descriptor that only names a file or directory will do."""
        os.setxattr(open_for_attributes(descriptor), name, value)

    def remove_xattr(self, descriptor: int, name: bytes) -> None:
        """Remove an extended attribute, by any descriptor likewise."""
        os.removexattr(open_for_attributes(descriptor), name)


def open_name(parent: int, name: bytes) -> int:
    """Return a descriptor that stands for what is at a name, a link itself too, without opening it."""
    return os.open(name, _PATH_FLAGS, dir_fd=parent)


def open_for_attributes(descriptor: int) -> int | str:
    """Return what Python's calls for attributes take for a descriptor: its name in /proc where it is one by name."""
    if fcntl.fcntl(descriptor, fcntl.F_GETFL) & getattr(os, "O_PATH", 0):
        return f"/proc/self/fd/{descriptor}"
    return descriptor


SYSTEM_CALLS = TreeCalls()
