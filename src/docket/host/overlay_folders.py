"""The directories an overlay writes to: made before it is mounted, and read when nobody works in it any more.

Rules (kernel documentation, filesystems/overlayfs):
1. The upper directory stands for the root of what is seen, so it has the lower one's mode, time and attributes; so
   has every directory made in it on the way to something hidden.
2. What is hidden is a whiteout: a character device 0:0, which any user may make.
3. A directory of the upper side that hides everything below it is marked by an attribute.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress

from docket.formats.tree.attributes import Attributes
from docket.host.attributes import attributes_open

_MARK = b"user.overlay."
_OPAQUE = "user.overlay.opaque"
_WHITEOUT_DEVICE = 0
_TRIAL = "user.docket"
_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def make_upper(lower: bytes, upper: bytes, hidden: Iterable[tuple[bytes, ...]]) -> None:
    """Make the upper directory, in which the paths `hidden` (each the names that lead to it) are whiteouts.

    A path whose way does not lead through directories of the lower side is left alone. Raises OSError.
    """
    os.mkdir(upper, 0o700)  # noqa: PTH102 - a path of bytes
    made = [(os.open(lower, _DIRECTORY_FLAGS), os.open(upper, _DIRECTORY_FLAGS))]
    ways: dict[tuple[bytes, ...], tuple[int, int] | None] = {(): made[0]}
    try:
        for path in hidden:
            pair = _way(path[:-1], ways, made)
            if pair is not None:
                with suppress(FileExistsError):
                    os.mknod(path[-1], stat.S_IFCHR, _WHITEOUT_DEVICE, dir_fd=pair[1])
        for source, target in reversed(made):
            _dress(source, target)
    finally:
        for pair in made:
            for descriptor in pair:
                os.close(descriptor)


def _way(
    path: tuple[bytes, ...], ways: dict[tuple[bytes, ...], tuple[int, int] | None], made: list[tuple[int, int]]
) -> tuple[int, int] | None:
    """Return the pair of open directories at a path, the upper one made where it is not there yet."""
    for length in range(1, len(path) + 1):
        here, above = path[:length], ways[path[: length - 1]]
        if here not in ways:
            ways[here] = None if above is None else _below(above, here[-1])
            pair = ways[here]
            made += [] if pair is None else [pair]
    return ways[path]


def _below(above: tuple[int, int], name: bytes) -> tuple[int, int] | None:
    try:
        source = os.open(name, _DIRECTORY_FLAGS, dir_fd=above[0])
    except OSError:
        return None
    try:
        os.mkdir(name, 0o700, dir_fd=above[1])
        return source, os.open(name, _DIRECTORY_FLAGS, dir_fd=above[1])
    except OSError:
        os.close(source)
        raise


def _dress(source: int, target: int) -> None:
    status = os.fstat(source)
    for name in os.listxattr(source):
        with suppress(OSError):  # what may not be copied is the kernel's, or another user's to set
            os.setxattr(target, name, os.getxattr(source, name))
    if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(OSError):
            os.fchown(target, status.st_uid, status.st_gid)
    os.fchmod(target, stat.S_IMODE(status.st_mode))
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def takes_marks(folder: bytes) -> bool:
    """Whether directories of the file system that holds `folder`, which is the caller's own, can be marked."""
    try:
        os.setxattr(folder, _TRIAL, b"y")
        os.removexattr(folder, _TRIAL)
    except OSError:
        return False
    return True


def is_opaque(descriptor: int) -> bool:
    """Whether an open directory of the upper side hides the lower one at its place."""
    try:
        return os.getxattr(descriptor, _OPAQUE) == b"y"
    except OSError:
        return False


def own_attributes(descriptor: int) -> Attributes:
    """Return the attributes of an open directory that are not the overlay's."""
    return tuple(item for item in attributes_open(descriptor) if not item[0].startswith(_MARK))
