"""The watch phase: wait until the agent ends or something ends it (a cap, a signal, the clock, failed evidence)."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING

from docket.engines.supervise.request import RunWorld
from docket.engines.supervise.session import OpenRun
from docket.formats.dataclass import dataclass, replace
from docket.formats.reason import Reason
from docket.formats.run.policy import OnBreach
from docket.host.process import Agent, AgentExit, StopPlan

if TYPE_CHECKING:
    from docket.rules.boundary.protocol import Breach


class Cause(StrEnum):
    """Why the watch ended."""

    AGENT = "agent"
    CAP = "cap"
    SIGNAL = "signal"
    EVIDENCE = "evidence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """How the agent's time ended; `stopped` says that docket ended it, `cap`, `detail` and `signal` why.

    `survivors` counts the processes of the run that could not be ended.
    """

    cause: Cause
    exit: AgentExit
    cap: Reason | None = None
    detail: str = ""
    signal: int | None = None
    stopped: bool = False
    survivors: int = 0


class Breached:
    """A cap the boundary reports, from its own thread; the first one counts, and the watch is woken for it."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self.cap: Reason | None = None
        self.detail = ""
        self.stops = False
        self._wake = wake

    def report(self, breach: Breach) -> None:
        """Keep the first breach; one that kills counts over one that only denies."""
        kills = breach.action is OnBreach.KILL
        if self.cap is None or (kills and not self.stops):
            self.detail, self.stops = breach.detail, kills
            self.cap = breach.cap
        self._wake()


def watch(run: OpenRun, agent: Agent, breached: Breached, refuse: Callable[[Reason, str], None]) -> Watched:
    """Return once no process of the run is left.

    `refuse` is called with a reason and a sentence when docket stops it for anything but a cap that the boundary holds
    itself: no call is sent from then on.
    """
    ended = _Ended(agent, run.world.signals.wake)
    deadline_ns = _deadline(run)
    while ended.exit is None:
        signals = run.world.signals.wait(_seconds_until(deadline_ns, run.world))
        stop = _interrupted(signals) or _capped(run, breached, deadline_ns) or _unrecorded(run)
        if stop is not None:
            if stop.cap in (None, Reason.MAX_WALL_SECONDS):
                refuse(Reason.RUN_ENDING, stop.detail)
            run.world.watcher.stopping(stop.detail)
            return _stopped(run, agent, ended, stop)
    return Watched(cause=Cause.AGENT, exit=ended.exit)


def _interrupted(signals: tuple[int, ...]) -> Watched | None:
    if not signals:
        return None
    detail = f"docket received {signal_name(signals[0])}"
    return Watched(cause=Cause.SIGNAL, exit=_PENDING, signal=signals[0], detail=detail)


def _capped(run: OpenRun, breached: Breached, deadline_ns: int | None) -> Watched | None:
    if breached.cap is not None and breached.stops:
        return Watched(cause=Cause.CAP, exit=_PENDING, cap=breached.cap, detail=breached.detail)
    if deadline_ns is None or run.world.clock.monotonic_ns() < deadline_ns:
        return None
    detail = f"the run has lasted {run.request.policy.caps.max_wall_seconds} s, its cap"
    return Watched(cause=Cause.CAP, exit=_PENDING, cap=Reason.MAX_WALL_SECONDS, detail=detail)


def _unrecorded(run: OpenRun) -> Watched | None:
    failure = run.session.ledger.failure
    if failure is None and run.request.policy.resilience.fail_fast_evidence:
        failure = run.session.ledger.overflow
    if failure is None:
        return None
    return Watched(cause=Cause.EVIDENCE, exit=_PENDING, detail=f"the record cannot be written: {failure.detail}")


def _stopped(run: OpenRun, agent: Agent, ended: _Ended, stop: Watched) -> Watched:
    """Stop everything the run started; another signal meanwhile takes the grace away."""
    grace_seconds = float(run.request.policy.caps.grace_seconds)
    if stop.cap is not None and stop.cap is not Reason.MAX_WALL_SECONDS:
        # The agent has just been told why no further call is made: let it tell the person and end by itself.
        _wait_for_end(run, ended, run.world.clock.monotonic_ns() + int(grace_seconds * 1e9))
    if ended.exit is not None:
        return replace(stop, exit=ended.exit)
    agent.request_stop(StopPlan(grace_seconds=grace_seconds))
    while not _wait_for_end(run, ended, None):
        agent.request_stop(_AT_ONCE)
    return replace(stop, exit=ended.exit or _PENDING, stopped=True)


def _wait_for_end(run: OpenRun, ended: _Ended, deadline_ns: int | None) -> bool:
    """Return True once the agent has ended, False if a signal or the deadline came first."""
    while ended.exit is None:
        if run.world.signals.wait(_seconds_until(deadline_ns, run.world)):
            return False
        if deadline_ns is not None and run.world.clock.monotonic_ns() >= deadline_ns:
            return False
    return True


class _Ended:
    """Waits for the agent in a thread of its own, so that the watch waits for everything at once."""

    def __init__(self, agent: Agent, wake: Callable[[], None]) -> None:
        self.exit: AgentExit | None = None
        self._agent, self._wake = agent, wake
        threading.Thread(target=self._wait, name="docket-agent-exit", daemon=True).start()

    def _wait(self) -> None:
        self.exit = self._agent.wait(None)
        self._wake()


_AT_ONCE = StopPlan(grace_seconds=0)
_PENDING = AgentExit(exit_code=None, signal=None, failure=None, leftover_processes=0)


def _deadline(run: OpenRun) -> int | None:
    seconds = run.request.policy.caps.max_wall_seconds
    return None if seconds is None else run.session.started_ns + seconds * 1_000_000_000


def _seconds_until(deadline_ns: int | None, world: RunWorld) -> float | None:
    if deadline_ns is None:
        return None
    return max(0.0, (deadline_ns - world.clock.monotonic_ns()) / 1e9)


def signal_name(number: int) -> str:
    """Return `SIGINT` for 2, and so on."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"
