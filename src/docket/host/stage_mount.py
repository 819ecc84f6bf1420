"""A stage mounted at its base's own path, in namespaces that docket holds and an agent enters.

Rules:
1. The mounts are made by a program of their own (`host/mount_maker`); docket itself never leaves its namespaces.
2. What holds the mounts are descriptors: they go when the last holder has ended, however it ended. Nothing is ever
   mounted where another process sees it.
3. A system that does not allow it is a value, `MountRefused`, that names what stands in the way.

It does not know what a stage is made of (engines.transaction.backends).
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from docket.errors import UnavailableError
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.formats.workspace.mount import BindMount, Mount, MountPlan, OverlayMount
from docket.host import fresh_program, launch_protocol, mount_maker
from docket.host.disk_errors import reported

_ANSWER_BYTES = 256
_MAX_DESCRIPTORS = 3
_FAILED_WORDS = 3
_ALLOWED_SECONDS = 30.0
# Where Linux and its distributions let an administrator forbid namespaces, and the value that forbids.
_SWITCHES = (
    ("user.max_user_namespaces", "/proc/sys/user/max_user_namespaces", "0"),
    ("user.max_mnt_namespaces", "/proc/sys/user/max_mnt_namespaces", "0"),
    ("kernel.unprivileged_userns_clone", "/proc/sys/kernel/unprivileged_userns_clone", "0"),
    (
        "kernel.apparmor_restrict_unprivileged_userns",
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
    ),
)
_FILTERED = "a container's system call filter or security profile forbids it"


@dataclass(frozen=True, slots=True, kw_only=True)
class MountRefused:
    """Why the mounts could not be made; `step` is one of `host.mount_maker`'s and `error` the kernel's errno."""

    reason: Reason
    detail: str
    step: str
    error: int


@dataclass(slots=True)
class StageMount:
    """The namespaces of one stage: `root` is an open directory, the target as an agent sees it.

    `mounts` and `users` are descriptors of the namespaces, `users` None where no user namespace was needed. `lock` is
    what must be held for as long as the mounts are, None for nothing. `close` may be called twice; what runs within
    goes on.
    """

    root: int
    mounts: int
    users: int | None
    lock: int | None = None

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What a launcher inherits."""
        return (self.mounts,) if self.users is None else (self.mounts, self.users)

    @property
    def path(self) -> Path:
        """A path at which this process reads the stage for as long as this is open."""
        return Path(f"/proc/self/fd/{self.root}")

    def become(self, other: StageMount) -> None:
        """Hold the mounts of `other` in place of these, at the same path; `other` is closed by it."""
        os.dup2(other.root, self.root, inheritable=False)
        os.dup2(other.mounts, self.mounts, inheritable=False)
        if self.users is not None and other.users is not None:
            os.dup2(other.users, self.users, inheritable=False)
        other.close()

    def close(self) -> None:
        """Let go of the mounts."""
        held = (self.root, *self.descriptors, self.lock)
        self.root, self.mounts, self.users, self.lock = -1, -1, None, None
        for descriptor in held:
            if descriptor is not None and descriptor >= 0:
                os.close(descriptor)


def hold_folder(path: Path) -> int:
    """Return a descriptor that holds a folder against everybody else who calls this, until it is closed.

    UnavailableError: IN_USE where another holds it.
    """
    with reported("hold", path):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            detail = f"{path} is in use by a docket that runs"
            hint = "end its review, or wait for its run or commit, and try again"
            raise UnavailableError(Reason.IN_USE, detail, hint=hint) from error
    return descriptor


def make_mounts(plan: MountPlan, target: bytes) -> StageMount | MountRefused:
    """Make the mounts of a plan; `target` is the path that `root` is then open on.

    UnavailableError (LAUNCHER_LOST) if the program that makes them cannot be run.
    """
    message = launch_protocol.encode_items([target, *(item for mount in plan.mounts for item in _items(mount))])
    mine, theirs = socket.socketpair()
    with mine:
        with theirs:
            maker = _start(theirs.fileno())
        mine.settimeout(_ALLOWED_SECONDS)
        try:
            mine.sendall(message)
            answer, descriptors, _, _ = socket.recv_fds(mine, _ANSWER_BYTES, _MAX_DESCRIPTORS)
        except OSError:  # it ended first, or hangs in a mount
            answer, descriptors = b"", []
            with suppress(OSError):
                maker.kill()
        maker.wait()
    words = answer.decode("ascii").split()
    if words == ["made"]:
        return _held(descriptors)
    if len(words) == _FAILED_WORDS:
        return _refused(words[1], int(words[2]))
    raise UnavailableError(Reason.LAUNCHER_LOST, "the program that mounts a stage ended before it had answered")


def _items(mount: Mount) -> Sequence[bytes]:
    match mount:
        case BindMount():
            kind = mount_maker.READ_ONLY if mount.read_only else mount_maker.BIND
            return kind, mount.source, mount.target, b"", b"", b""
        case OverlayMount():
            options = b",".join(mount.options)
            return mount_maker.OVERLAY, mount.lower, mount.target, mount.upper, mount.work, options


def _start(control: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            fresh_program.command("mount_maker", control),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(control,),
            cwd="/",
            env=fresh_program.environment(),
            process_group=0,
        )
    except OSError as error:
        detail = f"the program that mounts a stage cannot be started: {error.strerror}"
        raise UnavailableError(Reason.LAUNCHER_LOST, detail) from error


def _held(descriptors: Sequence[int]) -> StageMount:
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - has no keyword
    root, mounts, *users = descriptors
    return StageMount(root=root, mounts=mounts, users=users[0] if users else None)


def _refused(step: str, error: int) -> MountRefused:
    cause = os.strerror(error)
    match step:
        case mount_maker.STEP_NAMESPACE | mount_maker.STEP_USER:
            reason, detail = Reason.NAMESPACES_REFUSED, f"this system gives docket no namespace of its own: {cause}"
            detail = f"{detail} ({_in_the_way()})"
        case mount_maker.STEP_ROOT if error == errno.EXDEV:
            reason, detail = Reason.NAMESPACES_REFUSED, "docket runs in a changed root directory (chroot)"
        case mount_maker.STEP_ROOT:
            reason = Reason.NAMESPACES_REFUSED
            detail = f"this system lets docket mount nothing in its own namespace: {cause} ({_in_the_way()})"
        case mount_maker.STEP_OVERLAY:
            reason, detail = Reason.OVERLAY_REFUSED, f"overlay cannot be mounted here: {cause}{_overlay_hint(error)}"
        case _:
            reason, detail = Reason.MOUNT_FAILED, f"the stage cannot be mounted at its base's path: {step}: {cause}"
    return MountRefused(reason=reason, detail=detail, step=step, error=error)


def _in_the_way() -> str:
    """Return what an administrator has set, or what is left to suspect."""
    for name, path, forbids in _SWITCHES:
        with suppress(OSError):
            if Path(path).read_text(encoding="ascii").strip() == forbids:
                return f"{name} is {forbids}"
    return _FILTERED


def _overlay_hint(error: int) -> str:
    match error:
        case errno.ENODEV:
            return " (the kernel has no overlay)"
        case errno.EINVAL:
            return " (a file system it does not take, overlays stacked too deep, or a kernel before 5.11)"
        case errno.EPERM | errno.EACCES:
            return f" ({_in_the_way()}, or a kernel before 5.11)"
        case _:
            return ""
