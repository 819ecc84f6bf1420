"""Where other file systems are mounted below an open directory, from the kernel's own table.

A device number shows most mounts; a folder or file of the same file system that is bound in from elsewhere is only
seen here. Where there is no /proc the answer is empty and the device number alone decides.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

_ESCAPE = re.compile(rb"\\([0-7]{3})")


def mounts_below(descriptor: int) -> frozenset[bytes]:
    """Return the mount points below an open directory, as paths relative to it."""
    try:
        root = os.fsencode(Path(f"/proc/self/fd/{descriptor}").readlink())
        lines = Path("/proc/self/mountinfo").read_bytes().split(b"\n")
    except OSError:
        return frozenset()
    return mount_points(lines, root)


def mount_points(lines: list[bytes], root: bytes) -> frozenset[bytes]:
    """Return the mount points of a mountinfo table (proc(5)) that lie below `root`, relative to it."""
    prefix = root.rstrip(b"/") + b"/"
    points = (_unescaped(line.split(b" ", 5)[4]) for line in lines if line.count(b" ") > 4)
    return frozenset(point.removeprefix(prefix) for point in points if point.startswith(prefix) and point != prefix)


def _unescaped(field: bytes) -> bytes:
    return _ESCAPE.sub(lambda match: bytes([int(match[1], 8)]), field)
