"""The few calls of Linux `prctl(2)` that docket makes.

Rules: each call either takes effect or raises OSError; nothing here decides. Imported by the launcher, so it
imports nothing beyond ctypes. On another system the module can be imported, and every call raises OSError.
"""

from __future__ import annotations

import ctypes
import errno
import os

_PR_SET_PDEATHSIG = 1
_PR_GET_PDEATHSIG = 2
_PR_GET_DUMPABLE = 3
_PR_SET_DUMPABLE = 4
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37

_LIBC = ctypes.CDLL(None, use_errno=True)
_ULONG_MAX_ARGUMENTS = 4


def _prctl(option: int, argument: int | ctypes.c_void_p) -> int:
    """Call prctl with one argument; OSError carries the kernel's errno."""
    call = getattr(_LIBC, "prctl", None)
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    # Every unused argument is passed as a zero of full width: some options are refused with EINVAL otherwise.
    first = argument if isinstance(argument, ctypes.c_void_p) else ctypes.c_ulong(argument)
    rest = [ctypes.c_ulong(0)] * (_ULONG_MAX_ARGUMENTS - 1)
    answer = int(call(ctypes.c_int(option), first, *rest))
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer


def become_subreaper() -> None:
    """Make orphaned descendants of this process its children instead of those of init."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def is_subreaper() -> bool:
    """Whether orphaned descendants become children of this process."""
    return _read(_PR_GET_CHILD_SUBREAPER) == 1


def parent_death_signal() -> int:
    """Return the signal this process gets when its parent ends, 0 for none."""
    return _read(_PR_GET_PDEATHSIG)


def _read(option: int) -> int:
    """Call an option that writes its answer to an int."""
    answer = ctypes.c_int(0)
    _prctl(option, ctypes.cast(ctypes.byref(answer), ctypes.c_void_p))
    return answer.value


def die_with_parent(signum: int) -> None:
    """Ask for signal `signum` when the thread that started this process ends (kept across exec)."""
    _prctl(_PR_SET_PDEATHSIG, signum)


def set_dumpable(*, dumpable: bool) -> None:
    """Allow or forbid that a process of the same user traces this one or reads its memory, and core dumps."""
    _prctl(_PR_SET_DUMPABLE, int(dumpable))


def is_dumpable() -> bool:
    """Whether a process of the same user may trace this one."""
    return _prctl(_PR_GET_DUMPABLE, 0) == 1


def set_name(name: bytes) -> None:
    """Set the short name that process listings show; at most 15 bytes count."""
    text = ctypes.create_string_buffer(name[:15])
    _prctl(_PR_SET_NAME, ctypes.cast(text, ctypes.c_void_p))
