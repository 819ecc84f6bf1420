"""The calls of Linux that make namespaces, mount in them and enter them (namespaces(7), mount(2)).

Rules: each call either takes effect or raises OSError; nothing here decides. Imported by programs that must start
at once, so it imports nothing beyond ctypes. On another system the module can be imported, and every call raises.
"""

from __future__ import annotations

import ctypes
import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MOUNTS = 0x00020000  # CLONE_NEWNS
USERS = 0x10000000  # CLONE_NEWUSER

MS_BIND = 0x1000
MS_REC = 0x4000
MS_SLAVE = 0x80000
_MS_RDONLY, _MS_REMOUNT = 0x1, 0x20
# What statvfs tells of a mount, and the flag that must be said again, or a new user namespace may not change it.
_KEPT = ((0x2, 0x2), (0x4, 0x4), (0x8, 0x8), (0x400, 0x400), (0x800, 0x800), (0x1000, 0x200000))

_PR_CAPBSET_DROP = 24
_CAP_SYS_ADMIN = 21

_LIBC = ctypes.CDLL(None, use_errno=True)


def _call(name: str) -> Callable[..., int]:
    found: Callable[..., int] | None = getattr(_LIBC, name, None)
    if found is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    return found


def _checked(answer: int) -> None:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def unshare(kinds: int) -> None:
    """Leave the namespaces of these kinds for new ones; a new user namespace gives all capabilities within it."""
    _checked(_call("unshare")(ctypes.c_int(kinds)))


def enter(descriptor: int, kind: int) -> None:
    """Enter the namespace that the descriptor stands for; a mount namespace sets root and folder to its own root."""
    _checked(_call("setns")(ctypes.c_int(descriptor), ctypes.c_int(kind)))


def map_user(user: int, group: int) -> None:
    """In a user namespace just made: be this user and group, which are those outside, and nobody else."""
    _write("/proc/self/setgroups", b"deny")
    _write("/proc/self/uid_map", b"%d %d 1" % (user, user))
    _write("/proc/self/gid_map", b"%d %d 1" % (group, group))


def _write(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


def mount(source: bytes | None, target: bytes, kind: bytes | None, flags: int, data: bytes | None = None) -> None:
    """Mount a file system of that kind, or change mounts as the flags say."""
    _checked(_call("mount")(source, target, kind, ctypes.c_ulong(flags), data))


def forbid_writing(target: bytes) -> None:
    """Let nobody write through the mount at a path, which stays what else it was."""
    told = os.statvfs(target).f_flag
    kept = sum(flag for seen, flag in _KEPT if told & seen)
    mount(None, target, None, MS_BIND | _MS_REMOUNT | _MS_RDONLY | kept)


def renounce_mounting() -> None:
    """Take from every program that is started from here on the right to change mounts, root's included."""
    _checked(_call("prctl")(ctypes.c_int(_PR_CAPBSET_DROP), ctypes.c_ulong(_CAP_SYS_ADMIN), *[ctypes.c_ulong(0)] * 3))
