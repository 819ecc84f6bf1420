"""A boundary's counters in the text format that Prometheus reads.

It is loaded when the counters are asked for, and not before: most runs are never measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from docket.formats.dataclass import dataclass
from docket.formats.ledger.resilience_events import BreakerState
from docket.rules.boundary.state import BoundaryState, LedgerFacts
from docket.rules.boundary.tally import LATENCY_BOUNDS_MS, Tally

CONTENT_TYPE = CONTENT_TYPE_LATEST


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What is put into the text: the counters, the desk's figures, and the record's where they are known."""

    tally: Tally
    state: BoundaryState
    cap_micros: int | None
    ledger: LedgerFacts | None
    docket_number: str


def exposition(measured: Measured) -> bytes:
    """Return the counters as text."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Measures(measured))
    return generate_latest(registry)


class _Measures(Collector):
    def __init__(self, measured: Measured) -> None:
        self._measured = measured

    def collect(self) -> Iterable[Metric]:
        """Yield every metric."""
        measured, tally = self._measured, self._measured.tally
        run = GaugeMetricFamily("docket_run", "The run that is measured.", labels=["docket_number"])
        run.add_metric([measured.docket_number], 1)
        yield run
        yield from _models(tally)
        yield _counted("docket_denied", "Calls docket refused.", ("reason",), _keyed(tally.denied))
        yield _counted("docket_turned_away", "Requests without a way in.", ("kind",), _keyed(tally.turned_away))
        yield _counted("docket_cache_hits", "Replies that were replayed.", ("provider",), _keyed(tally.cache_hits))
        yield _counted("docket_asserted", "Events on the agent's word.", ("type",), _keyed(tally.asserted))
        yield CounterMetricFamily("docket_other_exchanges", "Requests that are not billed.", value=tally.others)
        yield CounterMetricFamily("docket_ledger_appends", "Events the boundary recorded.", value=tally.appended)
        yield self._latency()
        yield from self._gauges()

    def _latency(self) -> Metric:
        tally, total = self._measured.tally, 0
        buckets = []
        for bound, number in zip((*LATENCY_BOUNDS_MS, None), tally.latencies, strict=True):
            total += number
            buckets.append(("+Inf" if bound is None else str(bound / 1000), total))
        family = HistogramMetricFamily("docket_call_latency_seconds", "From the request to the end of its reply.")
        family.add_metric([], buckets, tally.latency_sum_ms / 1000)
        return family

    def _gauges(self) -> Iterator[Metric]:
        measured = self._measured
        state = measured.state
        yield GaugeMetricFamily("docket_calls_in_flight", "Calls sent and not settled.", value=state.in_flight)
        if measured.cap_micros is not None:
            yield GaugeMetricFamily("docket_cap_microdollars", "The cap on spend.", value=measured.cap_micros)
        breached = 0 if state.breach is None else 1
        yield GaugeMetricFamily("docket_breached", "Whether a cap was reached.", value=breached)
        if measured.ledger is not None:
            ledger = measured.ledger
            yield GaugeMetricFamily("docket_ledger_events", "Durable events of the ledger.", value=ledger.events)
            yield GaugeMetricFamily("docket_ledger_bytes", "Durable bytes of the ledger.", value=ledger.size_bytes)
        breaker = GaugeMetricFamily(
            "docket_breaker_state", "0 closed, 1 half open, 2 open.", labels=["provider", "upstream"]
        )
        for label, known in sorted(measured.tally.breakers.items()):
            breaker.add_metric(label, _BREAKER[known])
        yield breaker


_BREAKER = {BreakerState.CLOSED: 0, BreakerState.HALF_OPEN: 1, BreakerState.OPEN: 2}


def _models(tally: Tally) -> Iterator[Metric]:
    models = sorted(tally.models.items())
    yield _counted(
        "docket_calls",
        "Model calls that ended.",
        ("provider", "model", "outcome"),
        [((*label, str(how)), number) for label, model in models for how, number in model.outcomes.items()],
    )
    yield _counted(
        "docket_tokens",
        "Tokens of billed calls.",
        ("provider", "model", "kind"),
        [((*label, kind), getattr(model, kind)) for label, model in models for kind in _KINDS if getattr(model, kind)],
    )
    yield _counted(
        "docket_spend_microdollars",
        "What was spent.",
        ("provider", "model"),
        [(label, model.micros) for label, model in models],
    )
    yield _counted(
        "docket_estimated_calls",
        "Calls counted by estimate.",
        ("provider", "model"),
        [(label, model.estimated) for label, model in models if model.estimated],
    )


_KINDS = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_tokens", "written_tokens")


def _keyed(counter: dict[str, int]) -> Iterator[tuple[tuple[str, ...], int]]:
    return (((key,), number) for key, number in counter.items())


def _counted(
    name: str, about: str, labels: tuple[str, ...], items: Iterable[tuple[tuple[str, ...], int]]
) -> CounterMetricFamily:
    family = CounterMetricFamily(name, about, labels=labels)
    for values, number in sorted(items):
        family.add_metric(values, number)
    return family
