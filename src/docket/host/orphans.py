"""The last line: guard and launcher were both killed, and docket itself ends what the run left.

Rules:
1. The kernel has killed the agent by then (PDEATHSIG). The rest is found only if docket adopts orphans
   (`isolation.adopt_orphans`): as children of docket that are younger than the guard and in another process group.
2. What docket started itself keeps docket's process group, and is never touched here.
3. It takes a bounded time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from docket.formats.dataclass import dataclass
from docket.host import descendants, prctl
from docket.host.agent_exit import ExitStatus

_ALLOWED_SECONDS = 10.0
_FIRST_PAUSE_SECONDS = 0.002
_LONGEST_PAUSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What was found: the statuses of the processes reaped here, counts of the killed and of those that remain."""

    reaped: Mapping[int, ExitStatus]
    killed: int
    survivors: int


def end_adopted(agent: tuple[int, int] | None, guard_started: int) -> Swept:
    """End every process that this one adopted from a run; `agent` is the agent's pid and start time, if it ran."""
    ends_at = time.monotonic() + _ALLOWED_SECONDS
    pause = _FIRST_PAUSE_SECONDS
    reaped: dict[int, ExitStatus] = {}
    killed: set[tuple[int, int]] = set()
    adopts = prctl.is_subreaper()
    while True:
        table = descendants.read_table()
        roots = _adopted(table, guard_started) if adopts else []
        _reap(roots, reaped)
        rows = [below for root in roots for below in (root, *descendants.descendants(root.pid, table))]
        victims = [row for row in rows if row.pid not in reaped]
        running = [row for row in victims if row.alive]
        if not victims and not _runs(agent):
            return Swept(reaped=reaped, killed=len(killed), survivors=0)
        if time.monotonic() >= ends_at:
            return Swept(reaped=reaped, killed=len(killed), survivors=len(running) or int(_runs(agent)))
        descendants.kill(victims, table)
        killed.update(row.identity for row in running)
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


def _adopted(table: dict[int, descendants.Process], since: int) -> list[descendants.Process]:
    """Return the children of this process that it did not start itself."""
    mine, group = os.getpid(), os.getpgrp()
    return [row for row in table.values() if row.parent == mine and row.group != group and row.started >= since]


def _reap(children: list[descendants.Process], reaped: dict[int, ExitStatus]) -> None:
    for row in children:
        try:
            pid, status = os.waitpid(row.pid, os.WNOHANG)
        except ChildProcessError:
            continue  # it was reaped elsewhere meanwhile
        if pid:
            reaped[pid] = ExitStatus.from_wait(status)


def _runs(agent: tuple[int, int] | None) -> bool:
    row = None if agent is None else descendants.read_process(agent[0])
    return row is not None and row.identity == agent and row.alive
