"""The same request again and again: what the repeats cost."""

from __future__ import annotations

from docket.formats.amount import Usd
from docket.rules.analysis.finding import Confidence, Finding, Severity, cited
from docket.rules.analysis.record import Call, RunRecord
from docket.rules.analysis.thresholds import LOOP_HIGH_REQUESTS, LOOP_REQUESTS

RULE = LOOP_REQUESTS.rule
TITLE = "The agent sent the same request over and over"


def find(record: RunRecord) -> list[Finding]:
    """Return one finding for each fingerprint that came often enough; the first request of each is no repeat."""
    alike: dict[str, list[Call]] = {}
    for call in record.calls:
        if call.fingerprint is not None:
            alike.setdefault(call.fingerprint, []).append(call)
    return [_found(calls) for calls in alike.values() if len(calls) >= LOOP_REQUESTS.value]


def _found(calls: list[Call]) -> Finding:
    repeats = calls[1:]
    return Finding(
        rule=RULE,
        subject=f"{calls[0].fingerprint}",
        title=TITLE,
        severity=Severity.HIGH if len(calls) >= LOOP_HIGH_REQUESTS.value else Severity.MEDIUM,
        confidence=Confidence.HIGH,
        evidence=cited(call.seq for call in calls),
        usd_impact=Usd(sum(call.micros for call in repeats)),
        detail=f"{len(calls):,} requests to {calls[0].provider or 'one provider'} have the fingerprint "
        f"{calls[0].fingerprint}; all but the first are repeats",
        remedy="Bound it with caps.max_repeats; where the repeats are wanted, "
        "--cache answers them without paying again.",
    )
