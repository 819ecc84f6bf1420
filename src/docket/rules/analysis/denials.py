"""What docket refused: calls, by reason, and connections."""

from __future__ import annotations

from docket.formats.lenient import count_at, text_at
from docket.rules.analysis.finding import Confidence, Finding, Severity, cited
from docket.rules.analysis.record import Cited, RunRecord
from docket.rules.analysis.thresholds import DENIALS
from docket.rules.wording import were

RULE = DENIALS.rule


def find(record: RunRecord) -> list[Finding]:
    """Return one finding for each reason; what a cap refused matters most, for the work was not done."""
    calls: dict[tuple[str, bool], list[Cited]] = {}
    doors: dict[str, list[Cited]] = {}
    for item in record.denials:
        reason = text_at(item.data, "reason") or "no reason"
        if item.kind == "model":
            calls.setdefault((reason, bool(text_at(item.data, "cap"))), []).append(item)
        else:
            doors.setdefault(reason, []).append(item)
    found = [_calls(reason, items, by_cap=by_cap) for (reason, by_cap), items in calls.items()]
    return found + [_connections(reason, items) for reason, items in doors.items()]


def _calls(reason: str, items: list[Cited], *, by_cap: bool) -> Finding:
    models = sorted({text_at(item.data, "model") for item in items} - {""})
    return Finding(
        rule=RULE,
        subject=f"model {reason}",
        title="Model calls were refused by a cap" if by_cap else "Model calls were refused",
        severity=Severity.HIGH if by_cap else Severity.MEDIUM,
        confidence=Confidence.HIGH,
        evidence=cited(item.seq for item in items),
        detail=f"{were(len(items), 'call')} refused ({reason})" + (f": {', '.join(models[:3])}" if models else ""),
        remedy="What the agent was about may be unfinished: raise the cap that stands in the event if the work is "
        "worth it, or find what used it up."
        if by_cap
        else "See the event's detail: it says what the policy would have to allow.",
    )


def _connections(reason: str, items: list[Cited]) -> Finding:
    times = sum(count_at(item.data, "count") or 1 for item in items)
    hosts = sorted({text_at(item.data, "host") for item in items} - {""})
    return Finding(
        rule=RULE,
        subject=f"network {reason}",
        title="Connections were refused",
        severity=Severity.MEDIUM if hosts else Severity.LOW,
        confidence=Confidence.HIGH,
        evidence=cited(item.seq for item in items),
        detail=f"{were(times, 'request')} refused ({reason})" + (f": {', '.join(hosts[:3])}" if hosts else ""),
        remedy="A host that is meant to be reached is allowed with egress.allow; one that is not is worth asking the "
        "agent about."
        if hosts
        else "Something called docket's own port without the run's token: see which program of the run does.",
    )
