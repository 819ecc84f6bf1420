"""Money of which nobody said how much it was: calls without an end, counts that could not be read, assumed prices."""

from __future__ import annotations

from docket.formats.amount import Usd
from docket.formats.lenient import amount_of, text_at
from docket.rules.analysis.finding import Confidence, Finding, Severity, cited
from docket.rules.analysis.record import Call, RunRecord
from docket.rules.analysis.thresholds import UNKNOWN_CALLS
from docket.rules.wording import were

RULE = UNKNOWN_CALLS.rule


def find(record: RunRecord) -> list[Finding]:
    """Return a finding for calls that never ended, one for estimates, one for assumed prices, one for each pool."""
    open_ = [call for call in record.calls if not call.settled and not call.failed]
    estimated = [call for call in record.billed if call.estimated]
    assumed = [call for call in record.billed if call.assumed and not call.estimated]
    found = [_open(open_)] if open_ else []
    if estimated:
        found.append(_estimated(estimated))
    if assumed:
        found.append(_assumed(assumed))
    for item in record.pools:
        unknown = amount_of(item.data.get("unknown_usd"))
        if unknown is not None and unknown.micros:
            found.append(_pool(item.seq, text_at(item.data, "pool"), unknown))
    return found


def _open(calls: list[Call]) -> Finding:
    held = [call.held for call in calls if call.held is not None]
    return Finding(
        rule=RULE,
        subject="open",
        title="Calls were sent whose cost nobody knows",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        evidence=cited(call.seq for call in calls),
        usd_impact=Usd(sum(amount_.micros for amount_ in held)) if len(held) == len(calls) else None,
        detail=f"{were(len(calls), 'call')} admitted and never seen to end; what is held against the cap for "
        "them is the impact, and they may have been billed less, or nothing",
        remedy="Compare with the provider's own usage page for the time of the run.",
    )


def _estimated(calls: list[Call]) -> Finding:
    return Finding(
        rule=RULE,
        subject="estimated",
        title="The cost of calls is an estimate",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        evidence=cited(call.reply_seq or call.seq for call in calls),
        detail=f"{were(len(calls), 'call')} priced by docket's own estimate, at ${_cost(calls)} together: the "
        "replies gave no count of tokens that could be read",
        remedy="See usage_note of these events; a streaming client has to ask some providers for the count.",
    )


def _assumed(calls: list[Call]) -> Finding:
    models = sorted({call.model for call in calls})
    return Finding(
        rule=RULE,
        subject="assumed",
        title="The price of a model is assumed",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        evidence=cited(call.reply_seq or call.seq for call in calls),
        detail=f"{were(len(calls), 'call')} priced at the dearest known price, at ${_cost(calls)} together: "
        f"no price is known of {', '.join(models[:3])}",
        remedy="Give its price with --prices, or say with models.priced_as which model it is.",
    )


def _pool(seq: int, pool: str, unknown: Usd) -> Finding:
    return Finding(
        rule=RULE,
        subject=f"pool {pool}",
        title="A pool carries money that may have been billed",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        evidence=(seq,),
        usd_impact=unknown,
        detail=f"the pool {pool} counts ${unknown} of the run as unknown: it may have been billed though nobody "
        "says so",
        remedy="Compare with the provider's own usage page for the time of the run.",
    )


def _cost(calls: list[Call]) -> Usd:
    return Usd(sum(call.micros for call in calls))
