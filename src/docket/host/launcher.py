"""The program between docket and the agent: it starts the agent, tells how it ended, and ends all it started.

docket runs it in a fresh interpreter (`host/process`), so that neither docket's threads nor its memory are
forked. It runs as two processes: the *guard* and, as its child, the *launcher*. Both are subreapers and both see
docket go, so killing any one or two of docket, guard and launcher leaves another to end the rest.

Rules:
1. When docket is gone (its end of the socket closes, or its process ends while a forked copy still holds that end),
   every descendant is killed at once: nobody would meter or record it.
2. When the agent has ended, what it left behind is asked to end (SIGTERM) and after a grace killed, and counted.
3. A stop is SIGINT to the agent's group (as Ctrl-C is), a grace, SIGTERM to everything, a grace, SIGKILL to
   everything; a later stop can only shorten what is left. Nothing is waited for without a bound.
4. No signal but SIGKILL and SIGSTOP has an effect on guard or launcher.
5. The agent stays unreaped until the last stage, so its pid, which is also its group's number, is nobody else's.

Decides nothing about budget or policy. No traceback: both write to the socket only.
"""

from __future__ import annotations

import os
import select
import time

from docket.host import agent_start, descendants, foreground, launch_protocol, prctl
from docket.host.light_signal import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from docket.host.launch_protocol import StartRequest

KILL_ALLOWED_SECONDS = 10.0
# A child that is about to end by itself when the agent does is not a leftover.
_SETTLE_SECONDS = 0.05
_LAUNCHER_ALLOWED_SECONDS = KILL_ALLOWED_SECONDS + 5.0


def main(control: int, docket: int) -> NoReturn:
    """Run guard and launcher over the socket `control` for the process `docket`; this process ends here."""
    os.set_inheritable(control, False)  # noqa: FBT003 - has no keyword
    hangup_ignored = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    _shut_signals_out()
    code = 1
    try:
        prctl.become_subreaper()
        channel = Channel(control, docket)
        pid = os.fork()
        if pid:
            _guard(channel, pid)
        else:
            _launch(channel, hangup_ignored=hangup_ignored)
        code = 0
    finally:
        os._exit(code)


def _shut_signals_out() -> None:
    """Block every signal but SIGCHLD; what is blocked here stays blocked in the forked launcher."""
    signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals() - {signal.SIGCHLD})
    signal.signal(signal.SIGCHLD, _noted)  # by default it would be dropped, and no wait would end for it


def _noted(_number: int, _frame: object) -> None:
    """Take a SIGCHLD whose arrival the wakeup pipe tells."""


class Channel:
    """The way to docket: the socket, and docket's process, whose end is noticed even if the socket stays open."""

    __slots__ = ("control", "process")

    def __init__(self, control: int, docket: int) -> None:
        self.control = control
        try:
            self.process: int | None = os.pidfd_open(docket)
        except (OSError, AttributeError):
            self.process = None
        if self.process is not None and os.getppid() != docket:
            # docket ended before: the number may be a stranger's. The socket tells.
            os.close(self.process)
            self.process = None

    def tell(self, text: str) -> None:
        """Send one report; docket may be gone."""
        try:
            os.write(self.control, text.encode("ascii") + b"\n")
        except OSError:
            return


class Waker:
    """Waits for a child to change state and for docket, whichever comes first.

    `events` is what to look for on the socket besides its end (0: nothing).
    """

    __slots__ = ("_channel", "_pipe", "_poll")

    def __init__(self, channel: Channel, events: int) -> None:
        self._pipe, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        self._channel = channel
        self._poll = select.poll()
        self._poll.register(self._pipe, select.POLLIN)
        self._poll.register(channel.control, events)
        if channel.process is not None:
            self._poll.register(channel.process, select.POLLIN)

    def wait(self, seconds: float | None) -> tuple[bool, bool]:
        """Wait at most so long; return whether the socket has something, and whether docket's process has ended."""
        ready = self._poll.poll(None if seconds is None else max(0, int(seconds * 1000) + 1))
        found = [descriptor for descriptor, _ in ready]
        if self._pipe in found:
            os.read(self._pipe, 65536)
        return self._channel.control in found, self._channel.process in found

    def forget_docket(self) -> None:
        """Wait for children only from now on."""
        self._poll.unregister(self._channel.control)
        if self._channel.process is not None:
            self._poll.unregister(self._channel.process)


def _silence() -> None:
    """Let go of docket's input and outputs, so that their readers see the end when agent and docket are done."""
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    if null > 2:
        os.close(null)


def _told_status(info: os.waitid_result) -> str:
    if info.si_code == os.CLD_EXITED:
        return f"exited {info.si_status}"
    return f"killed {info.si_status}"


def _guard(channel: Channel, launcher: int) -> None:
    """Wait until the launcher ended; end all it left if it was killed, or if it does not end after docket did."""
    prctl.set_name(b"docket-guard")
    _silence()
    waker = Waker(channel, 0)
    ends_at: float | None = None
    while not _has_exited(launcher):
        seconds = None if ends_at is None else ends_at - time.monotonic()
        if seconds is not None and seconds <= 0:
            break
        if any(waker.wait(seconds)):
            waker.forget_docket()
            ends_at = time.monotonic() + _LAUNCHER_ALLOWED_SECONDS
            os.kill(launcher, signal.SIGCONT)  # a process of the run may have stopped it
    if _ended_well(launcher):
        return
    channel.tell("lost")
    if ends_at is None:
        waker.forget_docket()
    statuses: dict[int, str] = {}
    killed, survivors = descendants.end_all(
        os.getpid(), lambda: _reap_into(statuses), lambda pause: _wait(waker, pause), KILL_ALLOWED_SECONDS
    )
    for pid, status in statuses.items():
        channel.tell(f"reaped {pid} {status}")
    channel.tell(f"ended 0 0 {len(killed)} {len(killed)} {survivors}")


def _wait(waker: Waker, seconds: float) -> None:
    waker.wait(seconds)


def _has_exited(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _ended_well(launcher: int) -> bool:
    """Whether the launcher did its work to the end and left no process behind."""
    info = os.waitid(os.P_PID, launcher, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if info is None or info.si_code != os.CLD_EXITED or info.si_status != 0:
        return False
    os.waitpid(launcher, 0)
    return _reap_into({})


def _reap_into(statuses: dict[int, str]) -> bool:
    """Reap all dead children; True if no child is left."""
    while True:
        try:
            info = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG)
        except ChildProcessError:
            return True
        if info is None:
            return False
        statuses[info.si_pid] = _told_status(info)


def _launch(channel: Channel, *, hangup_ignored: bool) -> None:
    """Start the agent that docket asks for and see the run to its end."""
    os.setpgid(0, 0)
    prctl.become_subreaper()
    prctl.set_name(b"docket-launcher")
    request = launch_protocol.read_request(channel.control)
    if request is None:
        return
    terminal = foreground.Foreground(request.docket_group)
    launcher = os.getpid()
    started = agent_start.start(
        request,
        terminal,
        lambda: _tell_identity(channel, "forked", os.getpid(), launcher),
        keep_hangup_ignored=hangup_ignored,
    )
    _silence()
    if isinstance(started, agent_start.StartFailure):
        channel.tell(f"failed {started.stage} {started.error}")
        channel.tell("ended 0 0 0 0 0")
        return
    run = Run(channel, started, request, terminal)
    run.announce()
    run.see_to_its_end()


def _tell_identity(channel: Channel, word: str, agent: int, launcher: int) -> None:
    """Tell docket who agent and launcher are, by pid and start time."""
    rows = [descendants.read_process(pid) for pid in (agent, launcher)]
    starts = [0 if row is None else row.started for row in rows]
    channel.tell(f"{word} {agent} {starts[0]} {launcher} {starts[1]}")


class Run:
    """One agent from its start until nothing of it is left."""

    __slots__ = (
        "_agent", "_channel", "_ends_at", "_exited", "_gone", "_leftovers", "_lines", "_request", "_running",
        "_stop_grace", "_terminal", "_waker",
    )  # fmt: skip

    def __init__(self, channel: Channel, agent: int, request: StartRequest, terminal: foreground.Foreground) -> None:
        self._channel = channel
        self._agent = agent
        self._request = request
        self._terminal = terminal
        self._lines = launch_protocol.LineReader()
        self._waker = Waker(channel, select.POLLIN)
        self._gone = False
        self._exited = False
        self._stop_grace: float | None = None
        self._ends_at: float | None = None
        self._running: list[descendants.Process] = []
        self._leftovers: int | None = None

    def announce(self) -> None:
        """Tell docket that the agent runs."""
        _tell_identity(self._channel, "started", self._agent, os.getpid())

    def see_to_its_end(self) -> None:
        """Wait for the agent or for a wish to stop it, then end what is left, stage by stage."""
        self._reap()  # a child that died before the waker existed woke nobody
        self._wait(lambda: self._exited or self._stop_grace is not None, None)
        interrupted = self._interrupt()
        terminated = self._terminate()
        killed, survivors = self._kill()
        self._channel.tell(f"ended {interrupted} {terminated} {killed} {self._leftovers or 0} {survivors}")

    def _interrupt(self) -> int:
        """Ask the agent to end as Ctrl-C would; return how many processes ended within the grace."""
        if self._exited or self._gone:
            return 0
        before = self._look()
        self._signal_agent(signal.SIGINT)
        self._signal_agent(signal.SIGCONT)
        self._wait(lambda: self._exited, self._stop_grace)
        return self._count_ended(before)

    def _terminate(self) -> int:
        """Ask everything left to end; return how many processes did within the grace."""
        if self._gone:
            return 0
        if self._exited:
            self._wait(self._nothing_runs, _SETTLE_SECONDS)
        before = self._look()
        self._count_leftovers()
        if not before:
            return 0
        for process in before:
            descendants.send(process, signal.SIGTERM)
            descendants.send(process, signal.SIGCONT)
        leftover_grace = self._request.leftover_grace_ms / 1000
        self._wait(self._nothing_runs, leftover_grace if self._stop_grace is None else self._stop_grace)
        ended = self._count_ended(before)
        self._count_leftovers()
        return ended

    def _kill(self) -> tuple[int, int]:
        """End everything; return how many processes were killed and how many could not be."""
        if self._terminal.stand_in is not None:
            os.kill(self._terminal.stand_in, signal.SIGKILL)
        before = {process.identity for process in self._running}
        # One call that no fork outruns. The number is the agent's as long as the agent is not reaped.
        _signal_group(self._agent, signal.SIGKILL)
        killed, survivors = descendants.end_all(os.getpid(), self._reap_everything, self._pause, KILL_ALLOWED_SECONDS)
        return len(killed | before), survivors

    def _look(self) -> list[descendants.Process]:
        """Return what runs now."""
        stand_in = self._terminal.stand_in
        self._running = descendants.living(os.getpid(), frozenset(() if stand_in is None else (stand_in,)))
        return self._running

    def _count_leftovers(self) -> None:
        """Remember how much ran when it was first looked for after the agent's exit."""
        if self._exited and self._leftovers is None:
            self._leftovers = len(self._running)

    def _nothing_runs(self) -> bool:
        return not self._look()

    def _count_ended(self, before: list[descendants.Process]) -> int:
        now = {process.identity for process in self._look()}
        return sum(process.identity not in now for process in before)

    def _signal_agent(self, signum: int) -> None:
        """Signal the agent's group, and the agent itself if it moved to another."""
        _signal_group(self._agent, signum)
        row = descendants.read_process(self._agent)
        if row is not None and row.group != self._agent:
            descendants.send(row, signum)

    def _wait(self, done: Callable[[], bool], grace: float | None) -> None:
        """Wait until `done`, until docket is gone, or until the grace (None: no bound) is over."""
        self._ends_at = None if grace is None else time.monotonic() + grace
        while not self._gone and not done():
            seconds = None if self._ends_at is None else self._ends_at - time.monotonic()
            if seconds is not None and seconds <= 0:
                return
            self._pause(seconds)
            self._reap()

    def _pause(self, seconds: float | None) -> None:
        told, ended = self._waker.wait(seconds)
        if told and not self._gone:
            self._obey()
        if (ended or self._lines.closed) and not self._gone:
            self._gone = True
            self._waker.forget_docket()

    def _obey(self) -> None:
        """Take the commands that arrived."""
        for name, number in self._lines.read(self._channel.control):
            if name == "stop":
                self._shorten(int(number) / 1000)
            elif name == "signal" and not self._exited:
                self._signal_agent(int(number))

    def _shorten(self, grace: float) -> None:
        self._stop_grace = grace if self._stop_grace is None else min(grace, self._stop_grace)
        if self._ends_at is not None:
            self._ends_at = min(self._ends_at, time.monotonic() + self._stop_grace)

    def _reap(self) -> None:
        """Take note of the agent's exit or stop, and reap every other dead child."""
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        while (info := os.waitid(os.P_ALL, 0, options)) is not None and info.si_pid != self._agent:
            os.waitpid(info.si_pid, 0)
            if info.si_pid == self._terminal.stand_in:
                self._terminal.continued(self._agent)
        if self._exited:
            return
        info = os.waitid(os.P_PID, self._agent, options)
        if info is not None:
            self._note_exit(_told_status(info))
            return
        stop = os.waitid(os.P_PID, self._agent, os.WSTOPPED | os.WNOHANG)
        if stop is not None:
            self._terminal.stopped(self._agent, stop.si_status)

    def _reap_everything(self) -> bool:
        """Reap all dead children, the agent too; True if no child is left."""
        statuses: dict[int, str] = {}
        none_left = _reap_into(statuses)
        if self._agent in statuses and not self._exited:
            self._note_exit(statuses[self._agent])
        return none_left

    def _note_exit(self, status: str) -> None:
        self._exited = True
        self._channel.tell(status)


def _signal_group(group: int, signum: int) -> None:
    try:
        os.killpg(group, signum)
    except OSError:
        return  # nothing is in it, or nothing that may be signalled
