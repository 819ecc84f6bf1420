"""What a boundary counts for whoever measures it: sums over the events it records, by a few bounded labels.

Rules:
1. Everything is counted from the payloads that go into the ledger, as they go; nothing is counted twice.
2. Labels are bounded: what an agent can choose, a model's name, is told apart for MAX_MODELS of them, the rest is one.
3. It renders nothing. The text format is `engines.boundary.exposition`'s.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from docket.formats.ledger.asserted_events import AssertedCall, ToolCall
from docket.formats.ledger.cache_events import CacheHit, ComponentsHit
from docket.formats.ledger.model_events import ModelDenied, ModelError, ModelResponse
from docket.formats.ledger.network_events import NetDenied, OtherExchange
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.resilience_events import BreakerChange, BreakerState
from docket.formats.run.usage import UsageSource

MAX_MODELS = 64
OTHER = "other"
LATENCY_BOUNDS_MS = (100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 120_000, 300_000)
"""The upper bounds of the latency buckets; what took longer falls into one more."""

_TOKENS = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_tokens", "written_tokens")


@dataclass(slots=True)
class Tally:
    """Counts so far. `calls` are by provider, model and outcome, `tokens` by provider, model and kind.

    `latencies` has one count for each of LATENCY_BOUNDS_MS and one beyond them.
    """

    calls: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    tokens: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    micros: Counter[tuple[str, str]] = field(default_factory=Counter)
    estimated: Counter[str] = field(default_factory=Counter)
    denied: Counter[str] = field(default_factory=Counter)
    turned_away: Counter[str] = field(default_factory=Counter)
    cache_hits: Counter[str] = field(default_factory=Counter)
    asserted: Counter[str] = field(default_factory=Counter)
    others: int = 0
    appended: int = 0
    latencies: list[int] = field(default_factory=lambda: [0] * (len(LATENCY_BOUNDS_MS) + 1))
    latency_sum_ms: int = 0
    breakers: dict[str, BreakerState] = field(default_factory=dict)
    _models: set[tuple[str, str]] = field(default_factory=set)

    def take(self, payload: Payload) -> None:
        """Take the next event that is recorded."""
        self.appended += 1
        taker = _TAKERS.get(type(payload))
        if taker is not None:
            taker(self, payload)

    def _response(self, payload: ModelResponse) -> None:
        provider, model = self._label(payload.provider, payload.model)
        self.calls[provider, model, str(payload.outcome)] += 1
        for kind in _TOKENS:
            number = getattr(payload.usage, kind)
            if number:
                self.tokens[provider, model, kind] += number
        self.micros[provider, model] += payload.cost_usd.micros
        self.estimated[provider] += payload.usage_source is UsageSource.ESTIMATED
        self._took(payload.latency_ms)

    def _error(self, payload: ModelError) -> None:
        provider, model = self._label(payload.provider, payload.model)
        self.calls[provider, model, payload.reason] += 1
        self._took(payload.latency_ms)

    def _took(self, latency_ms: int) -> None:
        self.latencies[bisect_left(LATENCY_BOUNDS_MS, latency_ms)] += 1
        self.latency_sum_ms += latency_ms

    def _denied(self, payload: ModelDenied) -> None:
        self.denied[payload.reason] += 1

    def _away(self, payload: NetDenied) -> None:
        self.turned_away[payload.kind] += payload.count

    def _hit(self, payload: CacheHit) -> None:
        self.cache_hits[payload.provider] += 1

    def _breaker(self, payload: BreakerChange) -> None:
        self.breakers[payload.provider] = payload.state

    def _passed(self, _: OtherExchange) -> None:
        self.others += 1

    def _said(self, payload: ToolCall | AssertedCall) -> None:
        self.asserted[payload.TYPE] += 1

    def _label(self, provider: str, model: str) -> tuple[str, str]:
        label = (provider, model)
        if label in self._models:
            return label
        if len(self._models) >= MAX_MODELS:
            return provider, OTHER
        self._models.add(label)
        return label


_TAKERS: Mapping[type[Payload], Callable[..., None]] = {
    ModelResponse: Tally._response,
    ModelError: Tally._error,
    ModelDenied: Tally._denied,
    NetDenied: Tally._away,
    CacheHit: Tally._hit,
    ComponentsHit: Tally._hit,
    BreakerChange: Tally._breaker,
    OtherExchange: Tally._passed,
    ToolCall: Tally._said,
    AssertedCall: Tally._said,
}
