"""The agent's first moments: a fork, what is set before its program runs, and the exec.

Rules:
1. The program gets exactly the environment given, descriptors 0, 1 and 2 and no other, a process group of its
   own, default signal dispositions (a SIGHUP that was ignored stays ignored, which is what nohup asks) and an
   empty signal mask. (Every other descriptor of the launcher closes on exec.)
2. It is killed when the launcher dies (PDEATHSIG), so that no death of the launcher leaves an unmetered agent.
3. Where a stage stands at its base's own path in namespaces of its own (`host/mount_maker`), the agent enters them
   as the user it is, and no program of it may change mounts: the base cannot be uncovered.
4. A failure is told as the stage and the errno; a program that exists but whose interpreter does not is not
   called missing.

Imported by the launcher: no imports that cost.
"""

from __future__ import annotations

import errno
import os

from docket.host import launch_protocol, prctl
from docket.host.light_signal import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from docket.host.foreground import Foreground
    from docket.host.launch_protocol import StartRequest

_ABSENT = (errno.ENOENT, errno.ENOTDIR)
# POSIX leaves the search without PATH to the system; these are the folders every Linux has.
_PATH_WITHOUT_PATH = b"/usr/local/bin:/usr/bin:/bin"


class StartFailure:
    """Why the program does not run: the stage of `launch_protocol` and the kernel's errno."""

    __slots__ = ("error", "stage")

    def __init__(self, stage: str, error: int) -> None:
        self.stage = stage
        self.error = error


def start(
    request: StartRequest, foreground: Foreground, told_forked: Callable[[], None], *, keep_hangup_ignored: bool
) -> int | StartFailure:
    """Fork and exec the agent; return its pid once its program runs, or why it does not.

    `told_forked` is called in the agent's process before anything of its program runs.
    """
    reader, writer = os.pipe2(os.O_CLOEXEC)
    launcher = os.getpid()
    try:
        pid = os.fork()
    except OSError as failure:
        os.close(reader)
        os.close(writer)
        return StartFailure(launch_protocol.STAGE_FORK, failure.errno or 0)
    if pid == 0:
        _become_agent(request, foreground, launcher, writer, told_forked, keep_hangup_ignored=keep_hangup_ignored)
    os.close(writer)
    told = _read_all(reader)
    os.close(reader)
    if not told:
        return pid
    os.waitpid(pid, 0)
    stage, error = told.decode("ascii").split()
    return StartFailure(stage, int(error))


def _read_all(descriptor: int) -> bytes:
    parts = []
    while part := os.read(descriptor, 256):
        parts.append(part)
    return b"".join(parts)


def _become_agent(  # noqa: PLR0913 - what a fork hands to its child
    request: StartRequest,
    foreground: Foreground,
    launcher: int,
    writer: int,
    told_forked: Callable[[], None],
    *,
    keep_hangup_ignored: bool,
) -> None:
    """Turn this forked process into the agent. Does not return."""
    try:
        os.setpgid(0, 0)
        # Before the wish to die with the launcher: new credentials may take that back.
        outside = _enter_namespaces(request)
        prctl.die_with_parent(signal.SIGKILL)
        if os.getppid() != launcher:
            os._exit(1)
        told_forked()
        if request.take_terminal:
            foreground.give(os.getpid())
        failure = outside or _enter(request.cwd)
        if failure is None:
            _restore_signals(keep_hangup_ignored=keep_hangup_ignored)
            failure = _execute(request)
        os.write(writer, f"{failure.stage} {failure.error}".encode("ascii"))
    except OSError as error:
        os.write(writer, f"{launch_protocol.STAGE_FORK} {error.errno or 0}".encode("ascii"))
    finally:
        os._exit(1)


def _enter_namespaces(request: StartRequest) -> StartFailure | None:
    if request.mount_namespace == launch_protocol.NO_NAMESPACE:
        return None
    from docket.host import namespaces  # noqa: PLC0415 - most runs have no stage

    kinds = ((request.user_namespace, namespaces.USERS), (request.mount_namespace, namespaces.MOUNTS))
    try:
        for descriptor, kind in kinds:
            if descriptor != launch_protocol.NO_NAMESPACE:
                namespaces.enter(descriptor, kind)
                os.close(descriptor)
        namespaces.renounce_mounting()
    except OSError as failure:
        return StartFailure(launch_protocol.STAGE_NAMESPACE, failure.errno or 0)
    return None


def _enter(cwd: bytes) -> StartFailure | None:
    try:
        os.chdir(cwd)
    except OSError as failure:
        return StartFailure(launch_protocol.STAGE_CWD, failure.errno or 0)
    return None


def _restore_signals(*, keep_hangup_ignored: bool) -> None:
    """Give every signal its default disposition back, and block none."""
    kept = {signal.SIGKILL, signal.SIGSTOP, *((signal.SIGHUP,) if keep_hangup_ignored else ())}
    for number in signal.valid_signals():
        if number not in kept:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _execute(request: StartRequest) -> StartFailure:
    """Run the program in place of this process; return why that could not be done."""
    environment = dict(item.split(b"=", 1) for item in request.environment)
    missing = StartFailure(launch_protocol.STAGE_PROGRAM, errno.ENOENT)
    refused = None
    for path in _candidates(request.argv[0], environment.get(b"PATH", _PATH_WITHOUT_PATH)):
        try:
            os.execve(path, request.argv, environment)  # noqa: S606 - no shell is wanted
        except OSError as failure:
            error = failure.errno or 0
        if error in _ABSENT and os.path.isfile(path):  # noqa: PTH113 - a path of bytes
            refused = refused or StartFailure(launch_protocol.STAGE_INTERPRETER, error)
        # In a search, a folder that may not be entered or a name that cannot exist there holds no program.
        elif error not in _ABSENT and (path == request.argv[0] or os.path.isfile(path)):  # noqa: PTH113
            refused = refused or StartFailure(launch_protocol.STAGE_PROGRAM, error)
    return refused or missing


def _candidates(program: bytes, path: bytes) -> list[bytes]:
    """Return where the program may be, in the order in which execvp looks."""
    if not program:
        return []
    if b"/" in program:
        return [program]
    return [(folder or b".") + b"/" + program for folder in path.split(b":")]
