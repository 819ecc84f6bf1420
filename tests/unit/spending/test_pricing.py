"""What calls cost, each worked out by hand to the micro-dollar.

The faults are ones that other meters had; the prices are the reports' own.
"""

from __future__ import annotations

import json

import pytest
from hand_book import META, book_bytes, hand_book
from hypothesis import given
from hypothesis import strategies as st

from docket.formats.amount import Usd
from docket.formats.ledger.model_events import PriceRow
from docket.formats.run.price_table import Family, cost_row, embedded
from docket.formats.run.usage import Usage, UsagePart
from docket.rules.spending.price_book import PriceBook
from docket.rules.spending.pricing import (
    CallFacts,
    Priced,
    Waiver,
    WorstCase,
    fallback_row,
    known,
    live_rates,
    price_call,
    worst_case,
)

NOW = "2026-11-29T10:00:00.000Z"


def price(model: str, usage: Usage, provider: str = "anthropic", **members: object) -> Priced:
    facts = CallFacts(provider=provider, model=model, usage=usage, at=NOW, **members)  # type: ignore[arg-type]
    return price_call(hand_book(), facts)


def shape(priced: Priced) -> list[tuple[str, int, int, int, str]]:
    return [
        (item.model, item.input_tokens, item.cached_input_tokens, item.output_tokens, str(item.cost_usd))
        for item in priced.components
    ]


def check(priced: Priced) -> Priced:
    """Recompute the call from its rows alone, as a foreign verifier does."""
    families = [
        Family(pattern=row.pattern, input=row.input, cached_input=row.cached_input, output=row.output)
        for row in dict.fromkeys(priced.rows)
    ]
    table = embedded(families, {"as_of": "2026-11-29"})
    total = 0
    for item in priced.components:
        match = table.match(item.model)
        assert match is not None
        assert not match.assumed
        cost = cost_row(match.family, item.input_tokens, item.cached_input_tokens, item.output_tokens)
        assert cost == item.cost_usd
        total += cost.micros
    assert Usd(total) == priced.cost
    return priced


def test_anthropic_with_writes_of_both_lifetimes_and_reads() -> None:
    # 100 fresh x 5 + 4000 read x 0.5 + 250 out x 25 = 500 + 2000 + 6250; 1000 x 6.25; 2000 x 10.
    usage = Usage(
        input_tokens=7100,
        cached_input_tokens=4000,
        cache_write_5m_tokens=1000,
        cache_write_1h_tokens=2000,
        output_tokens=250,
    )
    priced = check(price("opus", usage))
    assert shape(priced) == [
        ("opus+cache-write-5m", 1000, 0, 0, "0.006250"),
        ("opus+cache-write-1h", 2000, 0, 0, "0.02"),
        ("opus", 4100, 4000, 250, "0.008750"),
    ]
    assert (str(priced.cost), priced.assumed) == ("0.035000", False)
    assert priced.rows[0] == PriceRow(
        pattern="opus+cache-write-5m",
        input="6.25",
        output="0",
        source="anthropic/opus, docket/price-book/v1 as of 2026-11-29",
    )


def test_writes_are_not_paid_twice() -> None:
    # Reported as 1.8598 where 1.06376125 was billed: 6 x 5 + 2745 x 25 = 68,655 and 159,217 x 6.25 = 995,106.25.
    usage = Usage(input_tokens=159223, cache_write_5m_tokens=159217, output_tokens=2745)
    assert str(check(price("opus", usage)).cost) == "1.063761"


def test_writes_of_one_hour_cost_twice_the_input() -> None:
    # 344,139 x 10, not x 6.25.
    usage = Usage(input_tokens=344139, cache_write_1h_tokens=344139)
    assert price("opus", usage).cost == Usd(3_441_390)


def test_a_stream_whose_input_was_counted_twice() -> None:
    # 27 x 3 + 100 x 0.30 + 47 x 15 = 81 + 30 + 705.
    usage = Usage(input_tokens=127, cached_input_tokens=100, output_tokens=47)
    assert str(price("sonnet", usage).cost) == "0.000816"


def test_compaction_is_billed() -> None:
    # (180,000 + 23,000) x 3 + (3,500 + 1,000) x 15 = 609,000 + 67,500.
    parts = (
        UsagePart(model="sonnet", usage=Usage(input_tokens=180000, output_tokens=3500)),
        UsagePart(model="sonnet", usage=Usage(input_tokens=23000, output_tokens=1000)),
    )
    priced = check(price("sonnet", parts[0].usage + parts[1].usage, parts=parts))
    assert shape(priced) == [("sonnet", 203000, 0, 4500, "0.676500")]


def test_a_declined_attempt_is_billed_at_its_own_model() -> None:
    # Fable: 560,186 x 1 + 299 x 50 = 575,136. Opus: 560,186 x 0.5 = 280,093 and 130 x 25 = 3,250.
    cached = {"input_tokens": 560186, "cached_input_tokens": 560186}
    parts = (
        UsagePart(model="a-fable", usage=Usage(**cached, output_tokens=299)),
        UsagePart(model="opus", usage=Usage(**cached, output_tokens=130)),
    )
    priced = check(price("opus", parts[0].usage + parts[1].usage, parts=parts))
    assert [item.model for item in priced.components] == ["a-fable", "opus"]
    assert str(priced.cost) == "0.858479"


def test_the_base_of_the_replys_model_stands_last_whatever_the_order() -> None:
    parts = (
        UsagePart(model="opus", usage=Usage(input_tokens=2, cache_write_5m_tokens=1)),
        UsagePart(model="a-fable", usage=Usage(input_tokens=1)),
    )
    priced = check(price("opus", parts[0].usage + parts[1].usage, parts=parts))
    assert [item.model for item in priced.components] == ["opus+cache-write-5m", "a-fable", "opus"]
    foreign = (UsagePart(model="a-fable", usage=Usage(input_tokens=1)),)
    assert [item.model for item in price("opus", Usage(input_tokens=1), parts=foreign).components] == ["a-fable"]


def test_chat_with_cached_and_reasoning_tokens() -> None:
    # 2006 in of which 1920 cached: 86 x 5 + 1920 x 0.5 = 430 + 960; 300 out, reasoning inside, x 30 = 9,000.
    usage = Usage(input_tokens=2006, cached_input_tokens=1920, output_tokens=300, reasoning_tokens=256)
    priced = check(price("gpt-2026-04-01", usage, "openai"))
    assert shape(priced) == [("gpt-2026-04-01", 2006, 1920, 300, "0.010390")]


def test_responses_with_written_tokens() -> None:
    # 2600 = 2000 read + 400 written + 200 fresh: 200 x 4 + 2000 x 0.4 + 300 x 20 = 7,600; 400 x 5 = 2,000.
    usage = Usage(input_tokens=2600, cached_input_tokens=2000, cache_write_tokens=400, output_tokens=300)
    priced = check(price("writer", usage, "openai"))
    assert shape(priced) == [("writer+cache-write", 400, 0, 0, "0.002000"), ("writer", 2200, 2000, 300, "0.007600")]


def test_lifetimes_without_prices_of_their_own() -> None:
    # 30 minutes as 5 minutes (5), 12 hours as twice the input (8); a model that writes for nothing: its input (5).
    usage = Usage(input_tokens=300, cache_write_30m_tokens=100, cache_write_12h_tokens=200)
    priced = price("writer", usage, "openai")
    assert [(row.pattern, row.input) for row in priced.rows] == [
        ("writer+cache-write-30m", "5"),
        ("writer+cache-write-12h", "8"),
        ("writer", "4"),
    ]
    assert [row.input for row in price("gpt", usage, "openai").rows] == ["5", "5", "5"]


def test_long_context_holds_for_all_tokens() -> None:
    # 272,001 in of which 200,000 cached: 72,001 x 10 + 200,000 x 1 + 10 x 45; at 272,000 the lower prices.
    over = Usage(input_tokens=272_001, cached_input_tokens=200_000, output_tokens=10)
    priced = check(price("gpt", over, "openai"))
    assert (priced.components[0].model, str(priced.cost)) == ("gpt+long-context", "0.920460")
    at = Usage(input_tokens=272_000, cached_input_tokens=200_000, output_tokens=10)
    # 72,000 x 5 + 200,000 x 0.5 + 10 x 30.
    assert str(price("gpt", at, "openai").cost) == "0.460300"


def test_the_served_tier_is_billed_not_the_asked_one() -> None:
    usage = Usage(input_tokens=1000, output_tokens=1000)
    assert str(price("gpt", usage, "openai", service_tier="default").cost) == "0.035000"
    assert str(price("gpt", usage, "openai", service_tier="priority").cost) == "0.087500"


def test_searches_are_paid_by_the_use() -> None:
    # Two searches at 10 dollars a thousand beside 1000 x 3.
    priced = check(price("sonnet", Usage(input_tokens=1000, web_searches=2)))
    assert shape(priced) == [("sonnet+web-search", 2, 0, 0, "0.02"), ("sonnet", 1000, 0, 0, "0.003000")]
    assert priced.rows[0].input == "10000"
    files = check(price("writer", Usage(file_searches=4), "openai"))
    assert shape(files)[0] == ("writer+file-search", 4, 0, 0, "0.01")
    assert [row.input for row in price("gpt", Usage(file_searches=1, web_searches=1), "openai").rows][:2] == [
        "10000", "10000",
    ]  # fmt: skip
    assert price("mute", Usage(web_searches=1), "openai").rows[0].input == "10000"


def test_audio_is_paid_apart_where_it_has_prices() -> None:
    # 60 text in x 2.5 + 20 text out x 10 = 350; 40 audio in x 32 + 30 audio out x 64 = 3,200.
    usage = Usage(input_tokens=100, output_tokens=50, audio_input_tokens=40, audio_output_tokens=30)
    priced = check(price("voice", usage, "openai"))
    assert shape(priced) == [("voice+audio", 40, 0, 30, "0.003200"), ("voice", 60, 0, 20, "0.000350")]
    # A model with a price for audio input alone pays for audio output as for text.
    assert [(row.input, row.output) for row in price("mute", usage, "openai").rows] == [("4", "2"), ("1", "2")]
    assert len(price("gpt", usage, "openai").components) == 1


def test_audio_output_with_a_price_of_its_own_alone() -> None:
    entry = {"id": "s", "match": ["is", "s"], "prices": [{"input": "1", "output": "2", "audio_output": "8"}]}
    book = PriceBook.parse(book_bytes({"openai": {"models": [entry]}}))
    usage = Usage(input_tokens=10, audio_input_tokens=10, output_tokens=10, audio_output_tokens=10)
    priced = price_call(book, CallFacts(provider="openai", model="s", usage=usage, at=NOW))
    assert [(row.input, row.output) for row in priced.rows] == [("1", "8"), ("1", "2")]


def test_an_empty_usage_costs_nothing_and_has_a_row() -> None:
    priced = check(price("opus", Usage()))
    assert shape(priced) == [("opus", 0, 0, 0, "0.00")]


def test_an_unknown_model_is_never_free() -> None:
    priced = check(price("opus-9", Usage(input_tokens=1000)))
    assert (priced.assumed, str(priced.cost)) == (True, "0.01")
    assert priced.rows[0].source.startswith("assumed: ")


def test_a_local_host_is_free_and_quota_is_not_dollars() -> None:
    usage = Usage(input_tokens=1000, cached_input_tokens=10, output_tokens=5, cache_write_tokens=1, web_searches=0)
    local = check(price("llama3", usage, "ollama", waiver=Waiver.LOCAL_HOST))
    assert (str(local.cost), local.assumed) == ("0.00", False)
    assert local.rows[-1].source == "free by rule: the provider's host is local"
    quota = check(price("opus", usage, waiver=Waiver.QUOTA))
    assert (str(quota.cost), quota.components[-1].model) == ("0.00", "opus+quota")


def test_a_fee_is_waived_with_the_rest() -> None:
    priced = check(price("opus", Usage(web_searches=3), waiver=Waiver.QUOTA))
    assert str(priced.cost) == "0.00"


def test_models_that_a_glob_could_confuse() -> None:
    first = price("vendor/sonnet", Usage(input_tokens=1000), "gateway")
    assert first.rows[0].pattern == "vendor?sonnet+at-gateway"
    check(first)


@given(
    st.tuples(*[st.integers(0, 10**6)] * 5),
    st.sampled_from([("anthropic", "opus"), ("openai", "gpt"), ("openai", "writer"), ("openai", "?")]),
)
def test_rows_recompute_and_no_call_exceeds_its_worst_case(counts: tuple[int, ...], who: tuple[str, str]) -> None:
    fresh, cached, out, five, hour = counts
    usage = Usage(
        input_tokens=fresh + cached + five + hour,
        cached_input_tokens=cached,
        cache_write_5m_tokens=five,
        cache_write_1h_tokens=hour,
        output_tokens=out,
        web_searches=2,
    )
    priced = check(price(who[1], usage, who[0]))
    most = worst_case(
        hand_book(),
        WorstCase(
            provider=who[0], model=who[1], at=NOW, input_tokens=usage.input_tokens, output_tokens=out, searches=2
        ),
    )
    assert priced.cost <= most


def worst(model: str, provider: str = "anthropic", **members: object) -> Usd:
    case = {"input_tokens": 1000, "output_tokens": 1000, "at": NOW, **members}
    return worst_case(hand_book(), WorstCase(provider=provider, model=model, **case))  # type: ignore[arg-type]


def test_worst_cases() -> None:
    # All input written for an hour, all output: 1000 x 10 + 1000 x 25, and 4 for the rounding of the rows.
    assert worst("opus") == Usd(35_004)
    # `auto` may be served at the priority tier: 12.5 and 75; a named tier is itself.
    assert worst("gpt", "openai") == Usd(87_504)
    assert worst("gpt", "openai", service_tier="flex") == Usd(17_504)
    assert worst("gpt", "openai", service_tier="default") == Usd(5_000 + 30_000 + 4)
    assert worst("gpt", "openai", service_tier="auto", searches=3) == Usd(117_504)
    # Without a bound the model's own: 64,000 x 25 + 1000 x 10.
    assert worst("opus", output_tokens=None) == Usd(1_610_004)
    assert worst("mute", "openai", searches=1) == Usd(4_000 + 2_000 + 10_000 + 4)
    assert worst("llama", "ollama", waiver=Waiver.LOCAL_HOST) == Usd(0)
    assert worst("opus", input_tokens=0, output_tokens=0) == Usd(0)


def test_live_rates_are_the_dearest_that_could_apply() -> None:
    def rates(provider: str, model: str, **members: object) -> tuple[int, int]:
        case = WorstCase(provider=provider, model=model, at=NOW, input_tokens=10, **members)  # type: ignore[arg-type]
        return live_rates(hand_book(), case)

    assert rates("anthropic", "opus") == (10_000_000, 25_000_000)
    assert rates("openai", "gpt") == (12_500_000, 75_000_000)
    assert rates("openai", "gpt", service_tier="flex") == (2_500_000, 15_000_000)


def test_what_is_known() -> None:
    book = hand_book()
    assert known(book, "anthropic", "opus")
    assert known(book, "gateway", "vendor/gpt")
    assert known(book, "mine", "opus", section="anthropic")
    assert not known(book, "anthropic", "claude-opus-4.1")
    meta = {"schema": "docket/prices/v1", "currency": "USD", "unit": "per_million_tokens"}
    families = [{"pattern": "m", "input": "1", "output": "2"}]
    bare = PriceBook.parse(json.dumps({"_meta": meta, "families": families}).encode())
    assert (known(bare, "x", "m"), known(bare, "x", "n")) == (True, False)
    with_fallback = [*families, {"pattern": "*", "input": "1", "output": "2"}]
    wide = PriceBook.parse(json.dumps({"_meta": meta, "families": with_fallback}).encode())
    assert (known(wide, "x", "m"), known(wide, "x", "n")) == (True, False)
    case = WorstCase(provider="x", model="m", at=NOW, input_tokens=10, output_tokens=10)
    # 10 x 2 (an hour's write at twice the input) + 10 x 2 + 4.
    assert worst_case(wide, case) == Usd(44)


def test_a_row_for_a_table_that_would_be_empty() -> None:
    row = fallback_row(hand_book())
    assert (row.pattern, row.input, row.output) == ("*", "10", "50")


@pytest.mark.parametrize("tier", [None, "priority", "flex", "batch", "x"])
@pytest.mark.parametrize("at", ["2025-01-01T00:00:00Z", "2026-10-12T12:30:00Z", NOW])
def test_equal_patterns_are_equal_rows(tier: str | None, at: str) -> None:
    for provider, model in ASKED:
        for members in ({}, {"speed": "fast"}, {"inference_geo": "us"}, {"requested_model": "opus"}):
            for tokens in (10, 300_000, 600_000):
                usage = Usage(input_tokens=tokens, cache_write_1h_tokens=1, web_searches=1)
                facts = CallFacts(provider=provider, model=model, usage=usage, at=at, service_tier=tier, **members)
                for row in price_call(hand_book(), facts).rows:
                    assert SEEN.setdefault(row.pattern, row) == row


SEEN: dict[str, PriceRow] = {}
ASKED = [
    ("anthropic", "opus"), ("openai", "gpt"), ("gateway", "gpt"), ("openai", "opus"), ("anthropic", "sonnet"),
    ("deepseek", "night"), ("anthropic", "router"), ("openai", "router"), ("gateway", "router"), ("anthropic", "OPUS"),
]  # fmt: skip


def test_a_name_is_priced_as_what_the_person_says_it_stands_for() -> None:
    usage = Usage(input_tokens=1000, cache_write_1h_tokens=100, output_tokens=10)
    priced = price("mine", usage, priced_as="opus", service_tier="batch")
    assert [row.model for row in priced.components] == [
        "mine+as-opus+batch+cache-write-1h", "mine+as-opus+batch",
    ]  # fmt: skip
    # 100 x 5 and 900 x 2.5 + 10 x 12.5.
    assert (str(priced.cost), priced.assumed) == ("0.002875", False)
    assert price("mine", usage, priced_as="unheard-of").assumed
    table = PriceBook.parse(
        json.dumps(
            {
                "_meta": {**META, "schema": "docket/prices/v1"},
                "families": [{"pattern": "opus", "input": "1", "output": "2"}],
            }
        ).encode()
    )
    facts = CallFacts(provider="azure", model="mine", priced_as="opus", usage=Usage(input_tokens=5), at=NOW)
    assert price_call(table, facts).components[0].model == "mine+as-opus+at-azure"
