"""The agent as docket sees it: started, waited for, stopped, and everything it started ended with it.

Owns the docket end of the launcher's socket (`host/launch_protocol`). Rules:
1. The agent's exit is told exactly: its code or its signal, or why it never ran.
2. A run has ended when no process of it is left; `wait` returns then and not before.
3. Nothing polls: a thread reads the launcher's reports, every other thread waits on what it learned.
4. Nothing waits for ever once a stop was asked: stages are bounded by the launcher, the launcher by docket.
5. If this process dies, the socket closes, and guard and launcher end the run.

Does not decide when to stop, nor what an exit means for docket's own exit code.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from docket.errors import UnavailableError, UsageError
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.host import descendants, fresh_program, isolation, orphans, terminal
from docket.host.agent_exit import AgentExit, Ended, Reports, StopReport
from docket.host.launch_protocol import NO_NAMESPACE, LineReader, StartRequest, encode_request
from docket.host.stage_mount import StageMount

__all__ = ["Agent", "AgentExit", "Ended", "SpawnRequest", "StopPlan", "StopReport", "spawn"]

_START_ALLOWED_SECONDS = 60.0
_NUDGE_SECONDS = 0.25
# What the launcher allows itself for killing, and as much again for a machine under load.
_KILL_ALLOWED_SECONDS = 20.0
_GUARD_EXIT_ALLOWED_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SpawnRequest:
    """A program to run as the agent.

    `argv`, `env` and `cwd` are text in which bytes that are not UTF-8 stand as lone surrogates (`os.fsdecode`). The
    program is looked for in the `PATH` of `env`. `stdin`, `stdout`, `stderr` are descriptors, None for docket's.
    `leftover_grace_seconds`: what processes that outlive the agent have between SIGTERM and SIGKILL. `mount` is the
    view of the tree that the agent has instead of docket's own; it must stay open until `spawn` has returned.
    Raises UsageError for what no program can be given: no argv, a NUL, a surrogate that stands for no byte, a
    variable's name that is empty or has `=`.
    """

    argv: tuple[str, ...]
    cwd: str | bytes | Path
    env: Mapping[str, str]
    stdin: int | None = None
    stdout: int | None = None
    stderr: int | None = None
    leftover_grace_seconds: float = 0.5
    mount: StageMount | None = None

    def __post_init__(self) -> None:
        if not self.argv:
            raise UsageError(Reason.USAGE, "no program to run is named")
        for text in (*self.argv, *self.env, *self.env.values(), os.fsdecode(self.cwd)):
            if "\0" in text or not _is_encodable(text):
                raise UsageError(Reason.WRONG_VALUE, f"no program can be given the text {text!r}")
        if any(not name or "=" in name for name in self.env):
            raise UsageError(Reason.WRONG_VALUE, "a variable's name is empty or holds '='")


def _is_encodable(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class StopPlan:
    """How long the agent has after SIGINT, and everything left again after SIGTERM, before SIGKILL."""

    grace_seconds: float


class Agent:
    """One agent that `spawn` started, until nothing of it is left. Any thread may call any method.

    As a context manager it ends the run on leaving, if the run has not ended by itself.
    """

    def __init__(self, link: _Link, request: SpawnRequest) -> None:
        self._link = link
        self._request = request
        self._reports = Reports()
        self._settled = threading.Event()
        self._ended = threading.Event()
        self._timers: list[threading.Timer] = []
        self._event_descriptor = os.eventfd(0, os.EFD_CLOEXEC)
        self._thread = threading.Thread(target=self._read_reports, name="docket-agent", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int | None:
        """The agent's pid, which is also the number of its process group; None if it could not be started."""
        return self._reports.pid

    def fileno(self) -> int:
        """A descriptor that becomes readable, and stays so, when the run has ended."""
        return self._event_descriptor

    def wait(self, timeout_s: float | None = None) -> AgentExit | None:
        """Wait until the agent has exited and nothing of it is left; None if that takes longer."""
        if not self._ended.wait(timeout_s):
            return None
        return self._reports.agent_exit(self._request.argv[0], os.fsdecode(self._request.cwd))

    def signal(self, signum: int) -> None:
        """Send a signal to the agent's process group, as its terminal would."""
        self._command(f"signal {int(signum)}")

    def request_stop(self, plan: StopPlan) -> None:
        """Begin to stop the run and return at once; a later request can only shorten the graces.

        The run then ends within twice the grace and what killing takes, whatever became of the launcher.
        """
        grace_seconds = max(0.0, plan.grace_seconds)
        self._command(f"stop {round(grace_seconds * 1000)}")
        self._continue_launchers()
        timer = threading.Timer(2 * grace_seconds + _KILL_ALLOWED_SECONDS, self._force)
        timer.daemon = True
        self._timers.append(timer)
        timer.start()
        if self._ended.is_set():
            timer.cancel()

    def stop(self, plan: StopPlan) -> StopReport:
        """Stop the run and wait until nothing of it is left; if it ended already, tell how."""
        self.request_stop(plan)
        self._ended.wait(2 * max(0.0, plan.grace_seconds) + 4 * _KILL_ALLOWED_SECONDS)
        return self._reports.stop_report()

    def close(self) -> None:
        """End the run if it has not ended, and let go of descriptors, thread and terminal. May be called twice."""
        if self._event_descriptor < 0:
            return
        if not self._ended.is_set():
            self.stop(StopPlan(grace_seconds=0))
        self._thread.join(_GUARD_EXIT_ALLOWED_SECONDS)
        self._link.close()
        os.close(self._event_descriptor)
        self._event_descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def await_start(self, request: bytes) -> None:
        """Send the request; return when the agent runs or cannot. UnavailableError if the launcher itself failed."""
        try:
            with suppress(OSError):  # a launcher that is gone is noticed by the reading thread
                self._link.control.sendall(request)
            settled = self._await_settled()
        except BaseException:  # an interrupt, perhaps: the caller never gets the agent that it would have to close
            self.close()
            raise
        if not settled or self._reports.never_ran:
            self.close()
            raise UnavailableError(Reason.LAUNCHER_LOST, "the agent's launcher ended before it had started the agent")

    def _await_settled(self) -> bool:
        """Wait for the launcher's word on the start; False if it does not come in time."""
        deadline = time.monotonic() + _START_ALLOWED_SECONDS
        while not self._settled.wait(_NUDGE_SECONDS):
            if time.monotonic() >= deadline:
                return False
            # A hostile agent may have stopped its launcher before that could tell that the agent runs.
            guard = self._link.guard_identity
            for row in [] if guard is None else descendants.living(guard[0]):
                if row.parent == guard[0]:
                    descendants.send(row, signal.SIGCONT)
            self._continue_launchers()
        return True

    def _command(self, line: str) -> None:
        with suppress(OSError):  # the run has ended meanwhile
            self._link.control.sendall(line.encode("ascii") + b"\n")

    def _continue_launchers(self) -> None:
        """Undo a SIGSTOP that a process of the run may have sent to guard or launcher."""
        for row in self._launchers():
            descendants.send(row, signal.SIGCONT)

    def _launchers(self) -> list[descendants.Process]:
        """Return what still runs of launcher and guard, in this order."""
        identities = (self._reports.launcher, self._link.guard_identity)
        rows = [None if identity is None else descendants.read_process(identity[0]) for identity in identities]
        return [row for row in rows if row is not None and row.identity in identities]

    def _force(self) -> None:
        """The launcher did not do its work in time: do it from here, and kill it, so that the guard sees to the rest.

        If that is not enough the guard is killed too, and the reading thread, which sees the end of the socket,
        does what is left.
        """
        for row in self._launchers():
            descendants.kill_once([row.pid])
            descendants.send(row, signal.SIGKILL)
            self._continue_launchers()
            if self._ended.wait(_KILL_ALLOWED_SECONDS):
                return

    def _read_reports(self) -> None:
        """Take the launcher's reports until the last; what runs in the reading thread."""
        lines = LineReader()
        while not self._reports.ended and not lines.closed:
            for words in lines.read(self._link.control.fileno()):
                self._reports.take(words)
            if self._reports.settled:
                self._settled.set()
        if not self._reports.ended:
            swept = orphans.end_adopted(self._reports.agent_identity, self._link.guard_identity[1])
            self._reports.give_up(swept.reaped, swept.killed, swept.survivors)
        self._link.reap(self._reports.launcher)
        if self._link.terminal is not None:
            self._link.terminal.take_back(self._reports.pid, reset_screen=self._reports.agent_was_killed)
        self._ended.set()
        self._settled.set()
        for timer in self._timers:
            timer.cancel()
        os.eventfd_write(self._event_descriptor, 1)


class _Link:
    """What docket holds of one launcher: its guard, the socket, the terminal lent to the agent."""

    def __init__(self, guard: subprocess.Popen[bytes], control: socket.socket, lent: terminal.Terminal | None) -> None:
        row = descendants.read_process(guard.pid)
        self.guard_identity = (guard.pid, 0 if row is None else row.started)
        self.control = control
        self.terminal = lent
        self._guard = guard

    def reap(self, launcher: tuple[int, int] | None) -> None:
        """Reap the guard, which ends right after its last report, and a launcher that docket adopted."""
        self.control.settimeout(_GUARD_EXIT_ALLOWED_SECONDS)
        try:
            # The end of the socket is the end of its holders. A reset is one too: a command came too late.
            with suppress(ConnectionResetError):
                while self.control.recv(4096):
                    pass
        except TimeoutError:
            return  # a process that cannot be ended keeps the guard busy
        self._guard.wait()
        row = None if launcher is None else descendants.read_process(launcher[0])
        if row is not None and row.identity == launcher and row.parent == os.getpid():
            with suppress(ChildProcessError):
                os.waitpid(row.pid, 0)

    def close(self) -> None:
        """Close the socket and give the terminal's signal its disposition back."""
        self.control.close()
        if self.terminal is not None:
            self.terminal.close()


def spawn(request: SpawnRequest) -> Agent:
    """Start the agent and return once its program runs, or once it is known that it cannot (`wait` tells).

    UnavailableError where runs cannot be supervised (UNSUPPORTED_PLATFORM) or the launcher fails (LAUNCHER_LOST).
    """
    refusal = isolation.detect().refusal()
    if refusal is not None:
        raise UnavailableError(refusal.reason, refusal.detail)
    _open_standard_descriptors()
    lent = terminal.borrow(
        0 if request.stdin is None else request.stdin, 1 if request.stdout is None else request.stdout
    )
    try:
        message = _encode(request, take_terminal=lent is not None and lent.give_at_start)
        link = _start_guard(request, lent)
    except BaseException:
        if lent is not None:
            lent.close()
        raise
    agent = Agent(link, request)
    agent.await_start(message)
    return agent


def _encode(request: SpawnRequest, *, take_terminal: bool) -> bytes:
    """Return what the launcher is told."""
    mount = request.mount
    return encode_request(
        StartRequest(
            argv=[os.fsencode(text) for text in request.argv],
            cwd=_absolute(os.fsencode(request.cwd)),
            environment=[os.fsencode(f"{name}={value}") for name, value in request.env.items()],
            docket_group=os.getpgrp(),
            take_terminal=take_terminal,
            leftover_grace_ms=round(request.leftover_grace_seconds * 1000),
            mount_namespace=NO_NAMESPACE if mount is None else mount.mounts,
            user_namespace=NO_NAMESPACE if mount is None or mount.users is None else mount.users,
        )
    )


def _absolute(folder: bytes) -> bytes:
    """Return the folder as seen from the root: the launcher stands elsewhere."""
    if folder.startswith(b"/"):
        return folder
    try:
        return os.path.join(os.getcwdb(), folder)  # noqa: PTH109, PTH118 - a path of bytes
    except OSError as error:
        raise UnavailableError(Reason.NOT_FOUND, "the current folder does not exist any more") from error


def _start_guard(request: SpawnRequest, lent: terminal.Terminal | None) -> _Link:
    """Run the launcher's program in an interpreter of its own, which shares nothing with this one."""
    mine, theirs = socket.socketpair()
    try:
        guard = subprocess.Popen(
            fresh_program.command("launcher", theirs.fileno(), os.getpid()),
            stdin=request.stdin,
            stdout=request.stdout,
            stderr=request.stderr,
            pass_fds=(theirs.fileno(), *(() if request.mount is None else request.mount.descriptors)),
            cwd="/",
            env=fresh_program.environment(),
            process_group=0,
        )
    except OSError as error:
        mine.close()
        raise UnavailableError(
            Reason.LAUNCHER_LOST, f"the agent's launcher cannot be started: {error.strerror}"
        ) from error
    finally:
        theirs.close()
    return _Link(guard, mine, lent)


def _open_standard_descriptors() -> None:
    """Open what docket was started without, so that no descriptor of docket's own stands where the agent's belongs."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # noqa: FBT003 - has no keyword
