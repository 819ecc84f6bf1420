"""Failures in a row: an agent that tries again and again without a pause that helps."""

from __future__ import annotations

from docket.rules.analysis.finding import Confidence, Finding, Severity, cited
from docket.rules.analysis.record import RunRecord
from docket.rules.analysis.thresholds import STORM_FAILURES, STORM_HIGH_FAILURES

RULE = STORM_FAILURES.rule
TITLE = "Calls failed one after another"


def find(record: RunRecord) -> list[Finding]:
    """Return one finding for each provider and model with a long enough row of failures: its longest."""
    longest: dict[tuple[str, str], list[int]] = {}
    running: dict[tuple[str, str], list[int]] = {}
    for seq, provider, model, answered in record.outcomes:
        row = running.setdefault((provider, model), [])
        if answered:
            row.clear()
            continue
        row.append(seq)
        if len(row) > len(longest.get((provider, model), ())):
            longest[provider, model] = list(row)
    return [_found(*key, row) for key, row in longest.items() if len(row) >= STORM_FAILURES.value]


def _found(provider: str, model: str, row: list[int]) -> Finding:
    return Finding(
        rule=RULE,
        subject=f"{provider} {model}",
        title=TITLE,
        severity=Severity.HIGH if len(row) >= STORM_HIGH_FAILURES.value else Severity.MEDIUM,
        confidence=Confidence.HIGH,
        evidence=cited(row),
        detail=f"{len(row):,} calls to {model or 'a model'} at {provider or 'its provider'} failed, with no reply "
        "between them; whether a failed call is billed is the provider's to say",
        remedy="Look at the errors of these events; resilience.breaker_threshold stops calls to a provider that is "
        "down, resilience.max_calls_per_minute paces them.",
    )
