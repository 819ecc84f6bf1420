"""Calls whose input is very large."""

from __future__ import annotations

from docket.formats.amount import Usd
from docket.formats.run.price_table import cost_row
from docket.rules.analysis.finding import Confidence, Finding, Severity, cited
from docket.rules.analysis.record import Call, RunRecord
from docket.rules.analysis.thresholds import FAT_TOKENS
from docket.rules.wording import count_of

RULE = FAT_TOKENS.rule
TITLE = "Calls carried a very large context"


def find(record: RunRecord) -> list[Finding]:
    """Return one finding for each model; `usd_impact` is the least that the tokens beyond the threshold cost."""
    fat: dict[str, list[Call]] = {}
    for call in record.billed:
        if call.input_tokens >= FAT_TOKENS.value:
            fat.setdefault(call.model, []).append(call)
    return [_found(record, model, calls) for model, calls in fat.items()]


def _found(record: RunRecord, model: str, calls: list[Call]) -> Finding:
    most = max(call.input_tokens for call in calls)
    return Finding(
        rule=RULE,
        subject=model,
        title=TITLE,
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        evidence=cited(call.reply_seq or call.seq for call in calls),
        usd_impact=_beyond(record, model, calls),
        detail=f"{count_of(len(calls), 'call')} to {model} with at least {FAT_TOKENS.value:,} input tokens, {most:,} "
        "at most; the impact is of the tokens beyond, at the lowest price that they can have had",
        remedy="Let the agent compact its conversation, read parts of files instead of whole ones, or begin a new "
        "session for a new task.",
    )


def _beyond(record: RunRecord, model: str, calls: list[Call]) -> Usd | None:
    """Return what the tokens beyond the threshold cost if those read from a cache are among them first."""
    family = record.family(model)
    if family is None:
        return None
    micros = 0
    for call in calls:
        beyond = call.input_tokens - FAT_TOKENS.value
        micros += cost_row(family, beyond, min(beyond, call.cached_input_tokens), 0).micros
    return Usd(micros)
