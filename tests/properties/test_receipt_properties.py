"""Receipts of ledgers that chance wrote: always consistent, and their sums are those of exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from docket.formats.amount import Usd
from docket.formats.ledger.model_events import Component, ModelError
from docket.formats.run.usage import Usage, UsageSource
from docket.formats.run.verdict import Word
from docket.rules.receipt.assemble import receipt_from_ledger
from docket.rules.receipt.latency import summary
from golden_ledgers.build import LedgerBuilder, closed, opened, price, request, response
from golden_ledgers.judging import judged, receipt_of

PRICES = {"gpt-5": ("1.25", "0.125", "10"), "o3/mini": ("0.000001", None, "999999.999999"), "free": ("0", None, "0")}
COUNTS = st.integers(min_value=0, max_value=10**9)
CALLS = st.lists(
    st.tuples(st.sampled_from(sorted(PRICES)), COUNTS, COUNTS, COUNTS, st.booleans(), st.booleans()), max_size=8
)


def exact_micros(model: str, fresh: int, cached: int, output: int) -> int:
    """The cost by fractions, rounded half to even as Python's own round does."""
    price_in, price_cached, price_out = PRICES[model]
    exact = fresh * Fraction(price_in) + cached * Fraction(price_cached or price_in) + output * Fraction(price_out)
    return round(exact)


def ledger_of(calls: list[tuple[str, int, int, int, bool, bool]]) -> tuple[LedgerBuilder, int]:
    """A run of these calls; the last flag makes a call fail. Returns what it costs in micro-dollars too."""
    ledger, spent = opened(), 0
    for model, (price_in, price_cached, price_out) in PRICES.items():
        ledger.add(price(model.replace("/", "?"), price_in, price_cached, price_out))
    for number, (model, fresh, cached, output, estimated, fails) in enumerate(calls, start=1):
        ledger.add(request(number, "openai", model, "openai-chat"))
        if fails:
            ledger.add(
                ModelError(
                    call=number,
                    provider="openai",
                    model=model,
                    status=500,
                    latency_ms=1,
                    reason="upstream_status",
                    error="",
                    response_bytes=0,
                )
            )
            continue
        cost = exact_micros(model, fresh, cached, output)
        spent += cost
        ledger.add(
            response(
                number,
                "openai",
                model,
                usage=Usage(input_tokens=fresh + cached, cached_input_tokens=cached, output_tokens=output),
                components=(
                    Component(
                        model=model,
                        input_tokens=fresh + cached,
                        cached_input_tokens=cached,
                        output_tokens=output,
                        cost_usd=Usd(cost),
                    ),
                ),
                cost=str(Usd(cost)),
                cumulative=str(Usd(spent)),
                usage_source=UsageSource.ESTIMATED if estimated else UsageSource.REPORTED,
            )
        )
    return closed(ledger, str(Usd(spent))), spent


@given(CALLS)
def test_a_receipt_is_consistent_with_its_ledger_and_adds_up_exactly(
    calls: list[tuple[str, int, int, int, bool, bool]],
) -> None:
    ledger, spent = ledger_of(calls)
    raw = ledger.data()
    receipt = receipt_of(raw)
    billed = [call for call in calls if not call[5]]

    assert judged(receipt, raw).failures == ()
    assert judged(receipt, raw).word is Word.CONSISTENT
    assert receipt["totals"]["cost_usd"] == str(Usd(spent))
    assert receipt["totals"]["input_tokens"] == sum(call[1] + call[2] for call in billed)
    assert receipt["totals"]["usage_estimated_calls"] == sum(call[4] for call in billed)
    assert receipt["model_calls"]["errors"] == len(calls) - len(billed)
    by_model = receipt["totals"]["by_model"]
    assert sum(Usd.parse(entry["cost_usd"]).micros for entry in by_model) == spent


@given(CALLS, st.lists(st.integers(min_value=1, max_value=400), max_size=30))
def test_how_the_file_is_cut_into_chunks_does_not_matter(
    calls: list[tuple[str, int, int, int, bool, bool]], sizes: list[int]
) -> None:
    raw = ledger_of(calls)[0].data()
    chunks, at = [], 0
    for size in sizes:
        chunks.append(raw[at : at + size])
        at += size

    assert receipt_from_ledger([*chunks, raw[at:]]) == receipt_from_ledger([raw])


@given(st.integers(min_value=4, max_value=11), CALLS)
def test_a_ledger_cut_after_any_event_gives_a_receipt_that_says_so(
    events: int, calls: list[tuple[str, int, int, int, bool, bool]]
) -> None:
    lines = ledger_of(calls)[0].data().splitlines(keepends=True)
    raw = b"".join(lines[: min(events, len(lines) - 1)])

    assert judged(receipt_of(raw), raw).word is Word.INCOMPLETE


@given(st.lists(st.integers(min_value=0, max_value=10**6), min_size=1, max_size=60))
def test_a_percentile_is_the_least_value_that_enough_values_do_not_exceed(latencies: list[int]) -> None:
    found = summary(latencies, len(latencies))
    assert found is not None
    for percent in (50, 95, 99):
        enough = [
            value for value in latencies if 100 * sum(other <= value for other in latencies) >= percent * len(latencies)
        ]
        assert found[f"p{percent}_ms"] == min(enough)
