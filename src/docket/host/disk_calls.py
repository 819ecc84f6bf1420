"""The calls of the C library that `host.disk` makes and Python has no name for; None where the library has none."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache


@cache
def fallocate() -> Callable[..., int] | None:
    """Return fallocate(descriptor, mode, offset, length) with 64-bit offsets."""
    library = ctypes.CDLL(None, use_errno=True)
    found: Callable[..., int] | None = getattr(library, "fallocate64", None) or getattr(library, "fallocate", None)
    return found


@cache
def syncfs() -> Callable[..., int] | None:
    """Return syncfs(descriptor)."""
    found: Callable[..., int] | None = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    return found
