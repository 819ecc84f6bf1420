"""What this system offers to hold a run together, and the supervisor's own protection.

Owns: finding out whether every descendant of a run can be found and ended here. Rules: nothing is assumed, each
feature is tried; a system where a run could outlive docket is refused as a value, and the caller says so.
Does not start or end anything (`host/process`, `host/launcher`).
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable

from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.host import prctl


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsupported:
    """Why a run cannot be supervised on this system."""

    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """What holds a run together here.

    `subreaper`: orphaned descendants stay below the launcher, so all can be found. `parent_death_signal`: the
    kernel kills the agent when the launcher dies. `pidfd`: a signal cannot reach a stranger with a reused pid.
    """

    subreaper: bool
    parent_death_signal: bool
    pidfd: bool

    def names(self) -> tuple[str, ...]:
        """The features that hold, as the record names them."""
        held = (("subreaper", self.subreaper), ("pdeathsig", self.parent_death_signal), ("pidfd", self.pidfd))
        return tuple(name for name, holds in held if holds)

    def refusal(self) -> Unsupported | None:
        """Why no run can be supervised here, None if one can."""
        if self.subreaper and self.parent_death_signal:
            return None
        return Unsupported(
            reason=Reason.UNSUPPORTED_PLATFORM,
            detail=f"docket supervises runs on Linux only: {sys.platform} offers no way to find every process of a run",
        )


def detect() -> Isolation:
    """Find out what this system offers, without changing this process."""
    linux = sys.platform == "linux" and os.access("/proc/self/stat", os.R_OK)
    return Isolation(
        subreaper=linux and _answers(prctl.is_subreaper),
        parent_death_signal=linux and _answers(prctl.parent_death_signal),
        pidfd=linux and _answers(_open_own_pidfd),
    )


def protect_supervisor() -> bool:
    """Forbid same-user processes to trace this process or read its memory, and core dumps; False if that failed."""
    try:
        prctl.set_dumpable(dumpable=False)
    except OSError:
        return False
    return True


def forbid_core_dumps() -> bool:
    """Let no core of this process be written, nor of what it starts unless that asks for one; False if that failed."""
    try:
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    except (OSError, ValueError):
        return False
    return True


def adopt_orphans() -> bool:
    """Make this process the parent of descendants whose parents died; False if that failed.

    For a program that is docket's own: it lets docket find the agent's processes even if guard and launcher were
    both killed. A program that embeds docket should not call it, its own orphans would be taken for the agent's.
    """
    try:
        prctl.become_subreaper()
    except OSError:
        return False
    return True


def _answers(call: Callable[[], object]) -> bool:
    try:
        call()
    except (OSError, AttributeError):
        return False
    return True


def _open_own_pidfd() -> None:
    os.close(os.pidfd_open(os.getpid()))
