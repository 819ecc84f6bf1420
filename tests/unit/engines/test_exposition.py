"""The counters as Prometheus reads them, read by Prometheus' own parser."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from docket.engines.boundary.exposition import Measured, exposition
from docket.formats.ledger.resilience_events import BreakerChange, BreakerState
from docket.rules.boundary.state import BoundaryState
from docket.rules.boundary.tally import Tally


def test_each_upstream_of_a_provider_has_a_breaker_of_its_own() -> None:
    tally = Tally()
    for host, state in (("a", BreakerState.OPEN), ("b", BreakerState.CLOSED), ("c", BreakerState.HALF_OPEN)):
        upstream = f"https://{host}.example:443"
        tally.take(BreakerChange(provider="openai", upstream=upstream, state=state, failures=5, cooldown_ms=0))
    measured = Measured(tally=tally, state=BoundaryState(), cap_micros=None, ledger=None, docket_number="DKT-1")

    text = exposition(measured).decode("utf-8")
    found = {family.name: family.samples for family in text_string_to_metric_families(text)}
    assert [(sample.labels, sample.value) for sample in found["docket_breaker_state"]] == [
        ({"provider": "openai", "upstream": "https://a.example:443"}, 2),
        ({"provider": "openai", "upstream": "https://b.example:443"}, 0),
        ({"provider": "openai", "upstream": "https://c.example:443"}, 1),
    ]
