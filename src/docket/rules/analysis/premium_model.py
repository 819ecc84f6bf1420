"""Small calls to the dearest model of a run that had a much cheaper one at hand."""

from __future__ import annotations

from docket.formats.amount import Usd
from docket.formats.run.price_table import Family, cost_row
from docket.rules.analysis.finding import Confidence, Finding, Severity, cited
from docket.rules.analysis.record import Call, RunRecord
from docket.rules.analysis.thresholds import PREMIUM_FACTOR, SMALL_CALLS, SMALL_INPUT_TOKENS, SMALL_OUTPUT_TOKENS

RULE = SMALL_CALLS.rule
TITLE = "Small calls went to the dearest model"
_YARDSTICK = (1_000_000, 0, 1_000_000)


def find(record: RunRecord) -> list[Finding]:
    """Return at most one finding; both models are ones the run called, both prices the embedded table's."""
    families = {call.model: record.family(call.model) for call in record.billed}
    priced = sorted((_price(family), model) for model, family in families.items() if family is not None)
    if len(priced) < 2 or priced[-1][0] < PREMIUM_FACTOR.value * priced[0][0] or not priced[0][0]:
        return []
    dear, cheap = priced[-1][1], priced[0][1]
    small = [call for call in record.billed if call.model == dear and _is_small(call)]
    family, other = families[dear], families[cheap]
    if len(small) < SMALL_CALLS.value or family is None or other is None:
        return []
    saved = sum(_cost(family, call) - _cost(other, call) for call in small)
    return [_found(small, Usd(max(saved, 0)), dear, cheap)]


def _found(small: list[Call], saved: Usd, dear: str, cheap: str) -> Finding:
    return Finding(
        rule=RULE,
        subject=f"{dear} {cheap}",
        title=TITLE,
        severity=Severity.LOW,
        confidence=Confidence.LOW,
        evidence=cited(call.reply_seq or call.seq for call in small),
        usd_impact=saved,
        detail=f"{len(small):,} calls to {dear} had at most {SMALL_INPUT_TOKENS.value:,} input and "
        f"{SMALL_OUTPUT_TOKENS.value:,} output tokens; the impact is what they cost beyond the price of {cheap}, which "
        "the run called as well. Whether it would have done nobody can tell from counts",
        remedy=f"See whether the agent can be told to use {cheap} for its small tasks, such as titles and summaries; "
        f"caps.per_model bounds {dear}.",
    )


def _is_small(call: Call) -> bool:
    return call.input_tokens <= SMALL_INPUT_TOKENS.value and call.output_tokens <= SMALL_OUTPUT_TOKENS.value


def _cost(family: Family, call: Call) -> int:
    return cost_row(family, call.input_tokens, call.cached_input_tokens, call.output_tokens).micros


def _price(family: Family) -> int:
    return cost_row(family, *_YARDSTICK).micros
