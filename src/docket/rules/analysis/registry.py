"""The rules of analysis in order, and all that they find in a record (docs/reference/findings.md).

A rule is a module with `RULE`, its stable name, and `find`, which reads a RunRecord and returns findings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from docket.formats.canonical import JsonObject
from docket.formats.ledger.event import Event
from docket.rules.analysis import (
    cache_hazard,
    cache_miss,
    concentration,
    denials,
    fat_context,
    premium_model,
    retry_storm,
    runaway_loop,
    unknown_spend,
    write_scope,
)
from docket.rules.analysis.finding import Finding, ranked
from docket.rules.analysis.record import RunRecord, record_of

MAX_A_RULE = 8
"""How many findings of one rule are kept: those with the most money, then the gravest."""

RULES: dict[str, Callable[[RunRecord], list[Finding]]] = {
    runaway_loop.RULE: runaway_loop.find,
    retry_storm.RULE: retry_storm.find,
    cache_miss.RULE: cache_miss.find,
    fat_context.RULE: fat_context.find,
    premium_model.RULE: premium_model.find,
    concentration.RULE: concentration.find,
    write_scope.RULE: write_scope.find,
    denials.RULE: denials.find,
    cache_hazard.RULE: cache_hazard.find,
    unknown_spend.RULE: unknown_spend.find,
}


def findings_of(receipt: JsonObject, events: Iterable[Event] | None = None) -> tuple[Finding, ...]:
    """Return what is found in a receipt and its ledger's events, most money first.

    Both may come from another writer. Without events only what the usage rows tell is looked at. Nothing is verified
    here: `docket verify` says whether the record may be believed.
    """
    return findings_in(record_of(receipt, events))


def findings_in(record: RunRecord) -> tuple[Finding, ...]:
    """Return what is found in a record that was read."""
    return ranked(finding for find in RULES.values() for finding in ranked(find(record))[:MAX_A_RULE])
