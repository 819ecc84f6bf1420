"""The program that mounts a stage in a mount namespace of its own and hands that namespace to docket.

docket runs it in a fresh interpreter (`host/stage_mount`) and gives it one message: items that each end in NUL, the
path to be looked at in the end and six per mount (kind, source, target, upper, work, options). It answers with one
message, `made` with descriptors beside it, or `failed STEP ERRNO`, and ends; the namespaces live as long as somebody
holds a descriptor of them or runs in them.

Rules:
1. Whoever may mount makes a mount namespace alone. Everybody else makes a user namespace too, in which they are the
   same user and the same group.
2. No mount made here reaches another namespace; what is mounted elsewhere later arrives here.
3. What the mounts show is opened before the first is made, so that none covers the source of a later one.
4. Paths are given to the kernel as descriptors: none is cut at a comma, a colon or a backslash.

No traceback: it writes to its socket only. No imports that cost.
"""

from __future__ import annotations

import _socket
import errno
import os
import sys

from docket.host import launch_protocol, namespaces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import NoReturn

BIND = b"bind"
READ_ONLY = b"read-only"
OVERLAY = b"overlay"

STEP_NAMESPACE = "namespace"
STEP_USER = "user"
STEP_ROOT = "root"
STEP_SOURCE = "source"
STEP_BIND = "bind"
STEP_OVERLAY = "overlay"
STEP_TARGET = "target"

_ITEMS_PER_MOUNT = 6
_DESCRIPTOR_BYTES = 4
_PATH_FLAGS = getattr(os, "O_PATH", 0) | os.O_CLOEXEC
_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class StepFailedError(Exception):
    """A step could not be done; `error` is the kernel's errno."""

    def __init__(self, step: str, error: int) -> None:
        super().__init__(step)
        self.step = step
        self.error = error


class _Step:
    """Tells which step an OSError belongs to."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OSError):
            raise StepFailedError(self._name, error.errno or 0) from error


def main(control: int) -> NoReturn:
    """Take one message from the socket `control`, do it and answer; this process ends here."""
    try:
        items = launch_protocol.read_items(control)
        if items:
            _answer(_socket.socket(fileno=control), items)
    finally:
        os._exit(0)


def _answer(link: _socket.socket, items: list[bytes]) -> None:
    mounts = [items[i : i + _ITEMS_PER_MOUNT] for i in range(1, len(items), _ITEMS_PER_MOUNT)]
    try:
        descriptors = _make(items[0], mounts)
    except StepFailedError as failed:
        link.send(f"failed {failed.step} {failed.error}".encode("ascii"))
        return
    packed = b"".join(number.to_bytes(_DESCRIPTOR_BYTES, sys.byteorder) for number in descriptors)
    link.sendmsg([b"made"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, packed)])


def _make(target: bytes, mounts: Sequence[Sequence[bytes]]) -> list[int]:
    """Return descriptors: the target as seen within, the mount namespace, and the user namespace if one is made."""
    is_own_user = _unshare()
    with _Step(STEP_ROOT):
        namespaces.mount(None, b"/", None, namespaces.MS_REC | namespaces.MS_SLAVE)
        made = [_open_namespace("mnt"), *([_open_namespace("user")] if is_own_user else [])]
        _refuse_other_root(made[0])
    with _Step(STEP_SOURCE):
        opened = [[os.open(path, _PATH_FLAGS) if path else -1 for path in (mount[1], *mount[3:5])] for mount in mounts]
    for (kind, _, place, _, _, options), (source, upper, work) in zip(mounts, opened, strict=True):
        if kind == OVERLAY:
            with _Step(STEP_OVERLAY):
                folders = b"lowerdir=%s,upperdir=%s,workdir=%s" % (_path(source), _path(upper), _path(work))
                data = b",".join(part for part in (folders, options) if part)
                namespaces.mount(b"docket", place, b"overlay", 0, data)
        elif kind == READ_ONLY:
            with _Step(STEP_BIND):
                namespaces.mount(_path(source), place, None, namespaces.MS_BIND)
                namespaces.forbid_writing(place)
        else:
            with _Step(STEP_BIND):
                namespaces.mount(_path(source), place, None, namespaces.MS_BIND | namespaces.MS_REC)
    with _Step(STEP_TARGET):
        return [os.open(target, _DIRECTORY_FLAGS), *made]


def _unshare() -> bool:
    """Make the namespaces; return whether a user namespace is among them."""
    user, group = os.geteuid(), os.getegid()
    try:
        namespaces.unshare(namespaces.MOUNTS)
    except OSError as refused:
        if refused.errno != errno.EPERM:
            raise StepFailedError(STEP_NAMESPACE, refused.errno or 0) from refused
    else:
        return False
    with _Step(STEP_NAMESPACE):
        namespaces.unshare(namespaces.USERS | namespaces.MOUNTS)
    with _Step(STEP_USER):
        namespaces.map_user(user, group)
    return True


def _open_namespace(kind: str) -> int:
    return os.open(f"/proc/self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)


def _refuse_other_root(mounts: int) -> None:
    """Refuse where entering the namespace would lead out of a root directory that was changed (chroot)."""
    before = os.stat("/")  # noqa: PTH116 - pathlib costs the program as much as starting Python
    namespaces.enter(mounts, namespaces.MOUNTS)
    if not os.path.samestat(before, os.stat("/")):  # noqa: PTH116
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))


def _path(descriptor: int) -> bytes:
    return b"/proc/self/fd/%d" % descriptor
