"""Replies that docket's own cache gave again while the tree changed: they may speak of files that are no more so."""

from __future__ import annotations

from docket.formats.canonical import object_at
from docket.formats.lenient import count_at
from docket.rules.analysis.finding import Confidence, Finding, Severity, cited
from docket.rules.analysis.record import Cited, RunRecord
from docket.rules.analysis.thresholds import HAZARD_HITS
from docket.rules.wording import were

RULE = HAZARD_HITS.rule
TITLE = "Earlier replies were given again while the tree changed"


def find(record: RunRecord) -> list[Finding]:
    """Return at most one finding; sure where a tool is seen to have changed files between a reply and its repeat."""
    if not record.hits or not (record.changes or record.deltas):
        return []
    spanned = [item for item in record.hits if _is_spanned(item, record.deltas)]
    items = spanned or record.hits
    where = "with a tool's changes to the tree between" if spanned else "in a run that changed the tree at some time"
    number = were(len(items), "reply", "replies")
    return [
        Finding(
            rule=RULE,
            subject="run",
            title=TITLE,
            severity=Severity.MEDIUM if spanned else Severity.LOW,
            confidence=Confidence.MEDIUM if spanned else Confidence.LOW,
            evidence=cited(item.seq for item in items),
            detail=f"{number} given again from docket's cache, {where}; the request was the same to the byte, "
            "what it asks about may not have been",
            remedy="Shorten cache.ttl_seconds, or run without the cache where the agent asks anew after each change.",
        )
    ]


def _is_spanned(hit: Cited, deltas: list[Cited]) -> bool:
    origin = count_at(object_at(hit.data, "origin"), "seq")
    return any(origin < delta.seq < hit.seq for delta in deltas)
