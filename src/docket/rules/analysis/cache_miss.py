"""Input that was paid in full although the call before had sent it: a heuristic, for bodies are not kept.

An agent's conversation grows by its end, so what the call before sent is most likely sent again; a provider that
caches such a beginning reads it for less. How much of it was in fact the same nobody who has counts alone can say.
"""

from __future__ import annotations

from docket.formats.amount import Usd
from docket.formats.run.price_table import cost_row
from docket.rules.analysis.finding import Confidence, Finding, Severity, cited
from docket.rules.analysis.record import Call, RunRecord
from docket.rules.analysis.thresholds import CACHE_MISS_CALLS, CACHE_MISS_TOKENS

RULE = CACHE_MISS_TOKENS.rule
TITLE = "Input that could have come from the provider's cache was paid in full"


def find(record: RunRecord) -> list[Finding]:
    """Return one finding for each model; `usd_impact` is what cached prices of the embedded table would have saved."""
    before: dict[tuple[str, str, str], Call] = {}
    missed: dict[tuple[str, str], list[tuple[Call, int]]] = {}
    for call in record.billed:
        line = (call.provider, call.model, call.agent_id)
        previous = before.get(line)
        before[line] = call
        if previous is not None and call.cached_input_tokens == 0 and not call.written_tokens:
            shared = min(previous.input_tokens, call.input_tokens)
            if shared >= CACHE_MISS_TOKENS.value:
                missed.setdefault((call.provider, call.model), []).append((call, shared))
    found = (
        _found(record, model, calls) for (_, model), calls in missed.items() if len(calls) >= CACHE_MISS_CALLS.value
    )
    return [finding for finding in found if finding is not None]


def _found(record: RunRecord, model: str, calls: list[tuple[Call, int]]) -> Finding | None:
    family = record.family(model)
    if family is None or family.cached_input is None:
        return None
    saved = sum(
        cost_row(family, shared, 0, 0).micros - cost_row(family, shared, shared, 0).micros for _, shared in calls
    )
    if saved <= 0:
        return None
    tokens = sum(shared for _, shared in calls)
    return Finding(
        rule=RULE,
        subject=model,
        title=TITLE,
        severity=Severity.MEDIUM,
        confidence=Confidence.LOW,
        evidence=cited(call.reply_seq or call.seq for call, _ in calls),
        usd_impact=Usd(saved),
        detail=f"{len(calls):,} calls to {model} read nothing from a cache, though the call before each had sent as "
        f"much: about {tokens:,} tokens, if they were the same ones (a heuristic: the record holds counts, not texts)",
        remedy="See whether the agent marks its beginning as cacheable, keeps it unchanged from call to call, and "
        "calls again before the cache forgets it.",
    )
