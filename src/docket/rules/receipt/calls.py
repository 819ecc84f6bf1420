"""The fold over model calls: usage rows, totals, call counts, latency (spec/receipt.md, Component rows).

A `model.response` gives one row per component, in the event's order; rows are counted in `totals`, calls in
`model_calls`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from operator import add, attrgetter

from docket.formats.amount import Usd
from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass, field, field_names
from docket.formats.digest import Digest
from docket.formats.ledger.model_events import ModelDenied, ModelError, ModelRequest, ModelResponse
from docket.formats.ledger.network_events import OtherExchange
from docket.formats.run.receipt import UsageRow
from docket.formats.run.row_sums import sum_of_all, sums_by_model
from docket.formats.run.usage import LATER, Usage, UsageSource
from docket.rules.receipt.latency import summary

_NAMES = field_names(Usage)
_COUNTS = attrgetter(*_NAMES)
BASIS_REPORTED = "reported: the providers' own counts"
BASIS_ESTIMATED = "estimated: the providers gave no count that could be read"
BASIS_MIXED = "mixed: some counts are the providers', some are estimates"


@dataclass(slots=True)
class CallsFold:
    """What the calls add up to; `rows` in ledger order."""

    rows: list[UsageRow] = field(default_factory=list)
    requests: int = 0
    responses: int = 0
    estimated_calls: int = 0
    others: int = 0
    providers: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    denials: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    usage: list[int] = field(default_factory=lambda: [0] * len(_NAMES))
    assumed_models: set[str] = field(default_factory=set)
    altered: int = 0

    def request(self, payload: ModelRequest) -> None:
        """Take an admitted call."""
        self.requests += 1
        self.altered += bool(payload.altered)

    def response(self, payload: ModelResponse, seq: int, event_hash: Digest) -> None:
        """Take a billed reply."""
        self.responses += 1
        self.providers[payload.provider] += 1
        self.outcomes[str(payload.outcome)] += 1
        self.estimated_calls += payload.usage_source is UsageSource.ESTIMATED
        self.usage = list(map(add, self.usage, _COUNTS(payload.usage)))
        if payload.assumed_price:
            self.assumed_models.update(part.model for part in payload.components[-1:])
        last = len(payload.components) - 1
        mark = payload.cache
        key = mark.key if mark is not None and mark.stored else None
        for index, part in enumerate(payload.components):
            self.rows.append(
                UsageRow(
                    seq=seq,
                    model=part.model,
                    provider=payload.provider,
                    input_tokens=part.input_tokens,
                    cached_input_tokens=part.cached_input_tokens,
                    output_tokens=part.output_tokens,
                    usage_source=payload.usage_source,
                    cost_usd=part.cost_usd,
                    event_hash=event_hash,
                    latency_ms=payload.latency_ms if index == last else None,
                    cache_key=key if index == last else None,
                )
            )

    def denied(self, payload: ModelDenied) -> None:
        """Take a refused call."""
        self.denials[payload.reason] += 1

    def error(self, payload: ModelError) -> None:
        """Take a call without a billable reply."""
        self.errors[payload.reason] += 1

    def other(self, _payload: OtherExchange) -> None:
        """Take a request that is not billed."""
        self.others += 1

    def totals(self, fallback_models: Iterable[str]) -> dict[str, JsonValue]:
        """Return the receipt member `totals`; `fallback_models` are the rows' models that the fallback prices."""
        by_model = sums_by_model(self.rows)
        whole = sum_of_all(by_model)
        ranked = sorted(by_model.items(), key=lambda item: (-item[1].micros, item[0]))
        return {
            "calls": whole.calls,
            "input_tokens": whole.input_tokens,
            "cached_input_tokens": whole.cached_input_tokens,
            "output_tokens": whole.output_tokens,
            "total_tokens": whole.input_tokens + whole.output_tokens,
            "cost_usd": str(Usd(whole.micros)),
            "cost_basis": cost_basis(whole.reported, whole.estimated),
            "usage_reported_calls": whole.reported,
            "usage_estimated_calls": whole.estimated,
            "asserted_calls": 0,
            "assumed_price_models": sorted(self.assumed_models.union(fallback_models)),
            "by_model": [{"model": model, **total.to_json()} for model, total in ranked],
        }

    def model_calls(self) -> dict[str, JsonValue]:
        """Return the receipt member `model_calls`; `usage` counts each token of a call once."""
        errors = self.errors.total()
        return {
            "count": self.responses,
            "by_provider": counted(self.providers),
            "denied": self.denials.total(),
            "errors": errors,
            "admitted": self.requests,
            "unsettled": self.requests - self.responses - errors,
            "outcomes": counted(self.outcomes),
            "denied_by_reason": counted(self.denials),
            "errors_by_reason": counted(self.errors),
            "estimated": self.estimated_calls,
            "altered": self.altered,
            "other_exchanges": self.others,
            "usage": {
                name: count for name, count in zip(_NAMES, self.usage, strict=True) if count or name not in LATER
            },
        }

    def latency(self) -> dict[str, JsonValue] | None:
        """Return the receipt member `latency`, or None where nothing was measured."""
        measured = [row.latency_ms for row in self.rows if row.latency_ms is not None]
        return summary(measured, len(self.rows))


def cost_basis(reported: int, estimated: int) -> str:
    """Return the sentence that says who counted."""
    if reported and estimated:
        return BASIS_MIXED
    return BASIS_ESTIMATED if estimated else BASIS_REPORTED


def counted(counter: Counter[str]) -> dict[str, JsonValue]:
    """Return a counter as a JSON object, its names sorted."""
    return {name: counter[name] for name in sorted(counter)}
