"""What a boundary counts: once, exactly, under bounded labels."""

from __future__ import annotations

from docket.formats.ledger.resilience_events import BreakerChange, BreakerState
from docket.formats.ledger.vocabulary import read_payload
from docket.formats.run.usage import Usage
from docket.rules.boundary.tally import LATENCY_BOUNDS_MS, MAX_MODELS, OTHER, Tally
from golden_ledgers import samples
from golden_ledgers.build import LedgerBuilder, component, response


def counted(ledger: LedgerBuilder) -> Tally:
    tally = Tally()
    for event in ledger.events:
        payload = read_payload(event)
        if payload is not None:
            tally.take(payload)
    return tally


def test_a_busy_run_is_counted_by_its_labels() -> None:
    tally = counted(samples.busy())

    assert {label: dict(model.outcomes) for label, model in tally.models.items()} == {
        ("openai", "gpt-5"): {"upstream_status": 1, "complete": 1}
    }
    assert tally.models["openai", "gpt-5"].micros == 975_000
    assert dict(tally.denied) == {"max_usd": 1}
    assert tally.others == 1
    assert sum(tally.turned_away.values()) == 5
    assert dict(tally.asserted) == {"tool.call": 2}
    assert tally.appended == sum(read_payload(event) is not None for event in samples.busy().events)


def test_tokens_are_told_by_kind() -> None:
    model = counted(samples.anthropic()).models["anthropic", "claude-sonnet-4-5"]

    assert (model.input_tokens, model.cached_input_tokens, model.output_tokens) == (17_100, 10_000, 510)
    assert (model.written_tokens, model.reasoning_tokens) == (6000, 0)


def test_an_estimate_is_counted_as_one() -> None:
    assert sum(model.estimated for model in counted(samples.cut()).models.values()) == 1


def test_a_latency_falls_into_the_first_bucket_that_holds_it() -> None:
    tally = Tally()
    for number, latency in enumerate((0, 100, 101, 300_000, 300_001), start=1):
        tally.take(
            response(
                number, "openai", "m", usage=Usage(input_tokens=1), components=(component("m", 1, 0, 0, "0.00"),),
                cost="0.00", cumulative="0.00", latency_ms=latency,
            )
        )  # fmt: skip
    assert (tally.latencies[0], tally.latencies[1], tally.latencies[-2], tally.latencies[-1]) == (2, 1, 1, 1)
    assert sum(tally.latencies) == 5
    assert len(tally.latencies) == len(LATENCY_BOUNDS_MS) + 1
    assert tally.latency_sum_ms == 600_202


def test_models_beyond_the_bound_are_one() -> None:
    tally = Tally()
    for number in range(MAX_MODELS + 20):
        tally.take(
            response(
                number, "openai", f"m{number}", usage=Usage(input_tokens=1),
                components=(component("m", 1, 0, 0, "0.000001"),), cost="0.000001", cumulative="0.000001",
            )
        )  # fmt: skip
    assert tally.models["openai", OTHER].outcomes == {"complete": 20}
    assert len(tally.models) == MAX_MODELS + 1
    assert sum(model.micros for model in tally.models.values()) == MAX_MODELS + 20


def test_the_breaker_of_an_upstream_is_its_last_state() -> None:
    tally = Tally()
    tally.take(
        BreakerChange(provider="openai", upstream="https://y", state=BreakerState.OPEN, failures=5, cooldown_ms=0)
    )
    for state in (BreakerState.OPEN, BreakerState.HALF_OPEN):
        tally.take(BreakerChange(provider="openai", upstream="https://x", state=state, failures=5, cooldown_ms=0))
    assert tally.breakers == {
        ("openai", "https://x"): BreakerState.HALF_OPEN, ("openai", "https://y"): BreakerState.OPEN,
    }  # fmt: skip


def test_replayed_replies_are_counted_by_provider_and_cost_nothing() -> None:
    tally = counted(samples.cached())

    assert sum(tally.cache_hits.values()) == 3
    assert sum(model.micros for model in tally.models.values()) == 24_325
