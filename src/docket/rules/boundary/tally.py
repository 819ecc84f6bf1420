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

from docket.formats.dataclass import dataclass, field
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


@dataclass(slots=True)
class ModelTally:
    """The calls of one model: how they ended, and what those that were billed used."""

    outcomes: dict[str, int] = field(default_factory=dict)
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    written_tokens: int = 0
    micros: int = 0
    estimated: int = 0


@dataclass(slots=True)
class Tally:
    """Counts so far; `models` are by provider and model, `breakers` by provider and upstream.

    `latencies` has one count for each of LATENCY_BOUNDS_MS and one beyond them.
    """

    models: dict[tuple[str, str], ModelTally] = field(default_factory=dict)
    denied: Counter[str] = field(default_factory=Counter)
    turned_away: Counter[str] = field(default_factory=Counter)
    cache_hits: Counter[str] = field(default_factory=Counter)
    asserted: Counter[str] = field(default_factory=Counter)
    others: int = 0
    appended: int = 0
    latencies: list[int] = field(default_factory=lambda: [0] * (len(LATENCY_BOUNDS_MS) + 1))
    latency_sum_ms: int = 0
    breakers: dict[tuple[str, str], BreakerState] = field(default_factory=dict)

    def take(self, payload: Payload) -> None:
        """Take the next event that is recorded."""
        self.appended += 1
        taker = _TAKERS.get(type(payload))
        if taker is not None:
            taker(self, payload)

    def _response(self, payload: ModelResponse) -> None:
        # Written out member by member: every call of a run comes through here.
        model, usage = self._model(payload.provider, payload.model), payload.usage
        outcome = payload.outcome
        model.outcomes[outcome] = model.outcomes.get(outcome, 0) + 1
        model.input_tokens += usage.input_tokens
        model.cached_input_tokens += usage.cached_input_tokens
        model.output_tokens += usage.output_tokens
        model.reasoning_tokens += usage.reasoning_tokens
        model.written_tokens += usage.written_tokens
        model.micros += payload.cost_usd.micros
        model.estimated += payload.usage_source is UsageSource.ESTIMATED
        self._took(payload.latency_ms)

    def _error(self, payload: ModelError) -> None:
        model = self._model(payload.provider, payload.model)
        model.outcomes[payload.reason] = model.outcomes.get(payload.reason, 0) + 1
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
        self.breakers[payload.provider, payload.upstream] = payload.state

    def _passed(self, _: OtherExchange) -> None:
        self.others += 1

    def _said(self, payload: ToolCall | AssertedCall) -> None:
        self.asserted[payload.TYPE] += 1

    def _model(self, provider: str, model: str) -> ModelTally:
        label = (provider, model)
        found = self.models.get(label)
        if found is None:
            label = label if len(self.models) < MAX_MODELS else (provider, OTHER)
            found = self.models.setdefault(label, ModelTally())
        return found


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
