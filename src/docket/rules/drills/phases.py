"""The phases of a game day: what is injected, under which limits, and what a person learns from it.

Rules:
1. A phase is one run of the agent, and tries one thing. The first is without any fault: the others are measured by it.
2. `policy` is TOML, `faults` are rules of `rules.drills.faults`; together they are all that makes a phase different.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from docket.errors import UsageError
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason


class Kind(StrEnum):
    """What the agent is expected to do."""

    BASELINE = "baseline"
    COME_BACK = "come_back"
    NOTICE = "notice"
    BE_PATIENT = "be_patient"
    STOP = "stop"
    RECORD_FULL = "record_full"
    KILLED = "killed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One phase. `asks` is the question it answers; `retry_after_seconds` is what the agent is told to wait.

    `verdict` is what the receipt must come to: `incomplete` where the record cannot be whole.
    """

    name: str
    title: str
    asks: str
    kind: Kind
    faults: str = ""
    policy: str = ""
    max_calls: int | None = None
    retry_after_seconds: int | None = None
    verdict: str = "consistent"


_QUICK_BREAKER = "[resilience]\nbreaker_threshold = 3\nbreaker_cooldown_seconds = 2\nbreaker_max_cooldown_seconds = 4\n"

PHASES: tuple[Phase, ...] = (
    Phase(
        name="baseline",
        title="No fault",
        asks="Does the agent work through docket at all, and what does it usually do?",
        kind=Kind.BASELINE,
    ),
    Phase(
        name="rate-limit",
        title="The provider limits the rate",
        asks="Does the agent wait as long as it is told, and then go on?",
        kind=Kind.COME_BACK,
        faults="status=429@calls=1-2,retry_after=2",
        retry_after_seconds=2,
    ),
    Phase(
        name="outage",
        title="The provider fails, and docket's breaker opens",
        asks="Does the agent live through a short outage, and is the provider left alone meanwhile?",
        kind=Kind.COME_BACK,
        faults="status=529@calls=1-3",
        policy=_QUICK_BREAKER,
        retry_after_seconds=2,
    ),
    Phase(
        name="slow-stream",
        title="The reply trickles in",
        asks="Does the agent keep its patience with a slow stream?",
        kind=Kind.BE_PATIENT,
        faults="slow=400@calls=1",
    ),
    Phase(
        name="hang",
        title="No answer for a while, then a broken connection",
        asks="Does the agent come back after a request that was never answered?",
        kind=Kind.COME_BACK,
        faults="hang=5@calls=1",
    ),
    Phase(
        name="reset",
        title="The connection breaks in the middle of a reply",
        asks="Does the agent ask again, or does it lose its work?",
        kind=Kind.COME_BACK,
        faults="reset=300@calls=1",
    ),
    Phase(
        name="truncated",
        title="The reply ends too early and looks whole",
        asks="Does the agent notice that a part of the answer is missing?",
        kind=Kind.NOTICE,
        faults="truncate=300@calls=1",
    ),
    Phase(
        name="corrupt",
        title="Bytes of the reply are changed",
        asks="Does the agent notice an answer that cannot be right?",
        kind=Kind.NOTICE,
        faults="corrupt=40@calls=1",
    ),
    Phase(
        name="budget",
        title="The cap is reached",
        asks="Does the agent stop at the first refusal, and does the cap hold?",
        kind=Kind.STOP,
        max_calls=0,
    ),
    Phase(
        name="record-full",
        title="The record takes no more events",
        asks="Does anything go on that is not on the record, and does the receipt say what is missing?",
        kind=Kind.RECORD_FULL,
        policy="[resilience]\nmax_events = 6\nfail_fast_evidence = true\n",
        verdict="incomplete",
    ),
    Phase(
        name="killed",
        title="docket itself is killed in the middle of a call",
        asks="Is the agent stopped with it, and is what happened until then still provable?",
        kind=Kind.KILLED,
        faults="hang=60@calls=1",
        verdict="incomplete",
    ),
)


def chosen(names: Iterable[str]) -> tuple[Phase, ...]:
    """Return the phases of these names in the table's order, all for none; the baseline is always among them."""
    wanted = set(names)
    known = {phase.name for phase in PHASES}
    for name in sorted(wanted - known):
        raise UsageError(
            Reason.USAGE, f"no phase is called {name!r}", hint=f"phases: {', '.join(p.name for p in PHASES)}"
        )
    return tuple(phase for phase in PHASES if not wanted or phase.name in wanted or phase.kind is Kind.BASELINE)
