"""How an agent ended, put together from what its launcher reported (`host/launch_protocol`).

Rules: a status is passed on exactly as the kernel told it; what nobody saw is None and has a reason, never a
guess. Reads no descriptor and starts nothing.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Mapping, Sequence

from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.formats.run.exit_code import NOT_FOUND, NOT_RUNNABLE
from docket.host import launch_protocol

_ABSENT = (errno.ENOENT, errno.ENOTDIR)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentExit:
    """How the agent ended: by `exit_code` or by `signal`; both None if nobody can know.

    `failure`: why it never ran (PROGRAM_MISSING with code 127, PROGRAM_NOT_RUNNABLE with 126), or LAUNCHER_LOST
    if its launcher was killed and it with it; `detail` is the sentence then. `leftover_processes`: how many
    processes outlived the agent and were ended by docket.
    """

    exit_code: int | None
    signal: int | None
    failure: Reason | None
    leftover_processes: int
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How many processes ended after `signal` was sent and before the next one was."""

    signal: int
    processes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReport:
    """What ended a run; `survivors` counts processes that could not be ended (of another user, or stuck)."""

    ended: tuple[Ended, ...]
    leftover_processes: int
    survivors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitStatus:
    """An exit status: a code or a signal, the other None."""

    code: int | None = None
    signal: int | None = None

    @classmethod
    def parse(cls, words: Sequence[str]) -> ExitStatus:
        """Read `exited CODE` or `killed SIGNAL`."""
        kind, number = words
        return cls(code=int(number)) if kind == "exited" else cls(signal=int(number))

    @classmethod
    def from_wait(cls, status: int) -> ExitStatus:
        """Read what waitpid returns."""
        if os.WIFSIGNALED(status):
            return cls(signal=os.WTERMSIG(status))
        return cls(code=os.WEXITSTATUS(status))


class Reports:
    """What the launcher said so far, and what follows from it."""

    def __init__(self) -> None:
        self.pid: int | None = None
        self.started: int = 0
        self.launcher: tuple[int, int] | None = None
        self.lost = False
        self._forked: tuple[int, int] | None = None
        self._failure: tuple[str, int] | None = None
        self._status: ExitStatus | None = None
        self._reaped: dict[int, ExitStatus] = {}
        self._counts: tuple[int, ...] | None = None

    @property
    def settled(self) -> bool:
        """Whether it is known that the agent runs, or that it never will."""
        return self.pid is not None or self._failure is not None or self.ended

    @property
    def ended(self) -> bool:
        """Whether the last report has come: nothing of the run is left."""
        return self._counts is not None

    def take(self, words: Sequence[str]) -> None:
        """Take one report, the words of a line."""
        match words:
            case ["forked", pid, started, launcher, launcher_started]:
                self._forked = (int(pid), int(started))
                self.launcher = (int(launcher), int(launcher_started))
            case ["started", pid, started, launcher, launcher_started]:
                self.pid, self.started = int(pid), int(started)
                self.launcher = (int(launcher), int(launcher_started))
            case ["failed", stage, error]:
                self._failure = (stage, int(error))
            case ["exited" | "killed", _]:
                self._status = ExitStatus.parse(words)
            case ["lost"]:
                self._lose()
            case ["reaped", pid, *status]:
                self._reaped[int(pid)] = ExitStatus.parse(status)
            case ["ended", *counts]:
                self._counts = tuple(int(count) for count in counts)

    @property
    def never_ran(self) -> bool:
        """Whether the launcher ended without having started the agent or said why it could not."""
        return self.ended and self.pid is None and self._failure is None

    @property
    def agent_identity(self) -> tuple[int, int] | None:
        """The pid and start time of the agent or of what was to become it, None if there was no process."""
        return self._forked if self.pid is None else (self.pid, self.started)

    @property
    def agent_was_killed(self) -> bool:
        """Whether a signal ended the agent, as far as is known."""
        return self._agent_status().code is None

    def give_up(self, reaped: Mapping[int, ExitStatus], killed: int, survivors: int) -> None:
        """No report will come any more: guard and launcher were killed, and docket itself ended what it found."""
        self._lose()
        self._reaped.update(reaped)
        self._counts = (0, 0, killed, killed, survivors)

    def _lose(self) -> None:
        """The launcher is gone. A process that it had forked was not refused its program: what killed it was that."""
        self.lost = True
        if self.pid is None and self._failure is None and self._forked is not None:
            self.pid, self.started = self._forked

    def _agent_status(self) -> ExitStatus:
        if self._status is not None or self.pid is None:
            return self._status or ExitStatus()
        return self._reaped.get(self.pid, ExitStatus())

    def agent_exit(self, program: str, cwd: str) -> AgentExit:
        """Return how the agent ended; `ended` must hold."""
        leftovers = self._counts[3] if self._counts is not None else 0
        if self._failure is not None:
            return _failed(*self._failure, program=program, cwd=cwd)
        status = self._agent_status()
        return AgentExit(
            exit_code=status.code,
            signal=status.signal,
            failure=Reason.LAUNCHER_LOST if self.lost else None,
            leftover_processes=leftovers,
            detail="the launcher between docket and the agent was killed, and the agent with it" if self.lost else "",
        )

    def stop_report(self) -> StopReport:
        """Return what ended the run; before `ended` holds, that something of it survives."""
        interrupted, terminated, killed, leftovers, survivors = self._counts or (0, 0, 0, 0, 1)
        counts = ((signal.SIGINT, interrupted), (signal.SIGTERM, terminated), (signal.SIGKILL, killed))
        return StopReport(
            ended=tuple(Ended(signal=number, processes=count) for number, count in counts if count),
            leftover_processes=leftovers,
            survivors=survivors,
        )


def _failed(stage: str, error: int, *, program: str, cwd: str) -> AgentExit:
    """Say why the program never ran."""
    cause = os.strerror(error)
    if stage == launch_protocol.STAGE_PROGRAM and error in _ABSENT:
        code, reason, detail = NOT_FOUND, Reason.PROGRAM_MISSING, f"there is no program {program!r}"
    else:
        code, reason = NOT_RUNNABLE, Reason.PROGRAM_NOT_RUNNABLE
        match stage:
            case launch_protocol.STAGE_CWD:
                detail = f"the agent's folder {cwd!r} cannot be entered: {cause}"
            case launch_protocol.STAGE_NAMESPACE:
                detail = f"the namespace in which the stage stands at {cwd!r} cannot be entered: {cause}"
            case launch_protocol.STAGE_INTERPRETER:
                detail = f"the program {program!r} names an interpreter that does not exist"
            case launch_protocol.STAGE_PROGRAM:
                detail = f"the program {program!r} cannot be run: {cause}"
            case _:
                detail = f"no process could be started for the program {program!r}: {cause}"
    return AgentExit(exit_code=code, signal=None, failure=reason, leftover_processes=0, detail=detail)
