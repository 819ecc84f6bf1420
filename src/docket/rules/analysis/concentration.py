"""A few calls that took most of the money."""

from __future__ import annotations

from docket.formats.amount import Usd
from docket.rules.analysis.finding import Confidence, Finding, Severity, cited
from docket.rules.analysis.record import RunRecord
from docket.rules.analysis.thresholds import CONCENTRATION_CALLS, CONCENTRATION_PERCENT, CONCENTRATION_TOP

RULE = CONCENTRATION_CALLS.rule
TITLE = "A few calls took most of the money"


def find(record: RunRecord) -> list[Finding]:
    """Return at most one finding; that money was spent in few calls is no money lost, so it has no impact."""
    calls, whole = record.billed, record.cost.micros
    if len(calls) < CONCENTRATION_CALLS.value or not whole:
        return []
    top = sorted(calls, key=lambda call: (-call.micros, call.seq))[: CONCENTRATION_TOP.value]
    taken = sum(call.micros for call in top)
    if taken * 100 < CONCENTRATION_PERCENT.value * whole:
        return []
    return [
        Finding(
            rule=RULE,
            subject="run",
            title=TITLE,
            severity=Severity.INFO,
            confidence=Confidence.HIGH,
            evidence=cited(call.reply_seq or call.seq for call in top),
            detail=f"the {len(top)} dearest of {len(calls):,} calls took ${Usd(taken)} of ${Usd(whole)}, "
            f"{taken * 100 // whole} %",
            remedy="Look at these calls first: what made them dear is where a change pays.",
        )
    ]
