"""Which prices hold."""

from __future__ import annotations

import json

import pytest
from hand_book import book_bytes, hand_book

from docket.rules.spending.price_book import PriceBook
from docket.rules.spending.tariff import Asked, Limits, Rates, Tariff, Waiver, dearest, limits, resolve

NOW = "2026-11-29T10:00:00.000Z"
M = 1_000_000


def tariff(provider: str, model: str, at: str = NOW, **members: object) -> Tariff:
    return resolve(hand_book(), Asked(provider=provider, model=model, at=at, **members))  # type: ignore[arg-type]


def short(found: Tariff) -> tuple[str, int, int, bool]:
    return found.name, found.rates.input, found.rates.output, found.assumed


def test_the_standard_prices_of_a_model() -> None:
    assert tariff("anthropic", "opus") == Tariff(
        name="opus",
        rates=Rates(
            input=5 * M,
            cached_input=M // 2,
            cache_write=6_250_000,
            cache_write_1h=10 * M,
            output=25 * M,
            # 10 dollars for a thousand searches are 10,000 for a million.
            web_search=10_000 * M,
        ),
        source="anthropic/opus, docket/price-book/v1 as of 2026-11-29",
        assumed=False,
    )


@pytest.mark.parametrize("tier", [None, "", "auto", "default", "standard", "standard_only", "Default"])
def test_no_tier_is_the_standard_one(tier: str | None) -> None:
    assert short(tariff("openai", "gpt", service_tier=tier)) == ("gpt", 5 * M, 30 * M, False)


@pytest.mark.parametrize(
    ("provider", "model", "members", "expected"),
    [
        ("openai", "gpt", {"service_tier": "flex"}, ("gpt+flex", 2_500_000, 15 * M, False)),
        ("openai", "gpt", {"service_tier": "priority"}, ("gpt+priority", 12_500_000, 75 * M, False)),
        ("openai", "gpt", {"service_tier": "batch"}, ("gpt+batch", 2_500_000, 15 * M, False)),
        ("anthropic", "opus", {"service_tier": "batch"}, ("opus+batch", 2_500_000, 12_500_000, False)),
        ("anthropic", "opus", {"speed": "fast"}, ("opus+fast", 10 * M, 50 * M, False)),
        ("anthropic", "opus", {"speed": "standard"}, ("opus", 5 * M, 25 * M, False)),
        ("anthropic", "opus", {"inference_geo": "us"}, ("opus+us", 5_500_000, 27_500_000, False)),
        ("anthropic", "opus", {"inference_geo": "global"}, ("opus", 5 * M, 25 * M, False)),
        ("anthropic", "sonnet", {"inference_geo": "us"}, ("sonnet", 3 * M, 15 * M, False)),
        ("anthropic", "opus", {"speed": "fast", "inference_geo": "us"}, ("opus+fast+us", 11 * M, 55 * M, False)),
        # What the book does not list is a stated multiple, and assumed.
        ("anthropic", "opus", {"service_tier": "priority"}, ("opus+priority-unlisted", 5 * M, 25 * M, True)),
        ("anthropic", "opus", {"service_tier": "gold/x+y"}, ("opus+gold-x-y-unlisted", 10 * M, 50 * M, True)),
        ("anthropic", "sonnet", {"speed": "fast"}, ("sonnet+fast-unlisted", 18 * M, 90 * M, True)),
        ("openai", "gpt", {"service_tier": "ultrafast"}, ("gpt+ultrafast-unlisted", 20 * M, 120 * M, True)),
        ("openai", "gpt", {"speed": "fast"}, ("gpt+fast-unlisted", 5 * M, 30 * M, True)),
        ("deepseek", "night", {"service_tier": "x"}, ("night+price-1+x-unlisted+at-deepseek", 2 * M, 4 * M, True)),
    ],
)
def test_tiers_speeds_and_geographies(
    provider: str, model: str, members: dict[str, str], expected: tuple[str, int, int, bool]
) -> None:
    assert short(tariff(provider, model, **members)) == expected


def test_a_tier_before_its_own_date_is_not_listed() -> None:
    assert short(tariff("anthropic", "opus", at="2026-10-13T23:59:59Z", service_tier="batch")) == (
        "opus+batch-unlisted", 10 * M, 50 * M, True,
    )  # fmt: skip
    assert short(tariff("anthropic", "opus", at="2026-10-14T00:00:00Z", service_tier="batch"))[0] == "opus+batch"


def test_of_two_variants_the_first_that_holds_counts() -> None:
    before = tariff("openai", "gpt", at="2026-10-11T00:00:00Z", service_tier="flex")
    assert (before.name, before.rates.input) == ("gpt+flex-2", 9 * M)
    assert tariff("openai", "gpt", service_tier="flex").name == "gpt+flex"


def test_a_variant_keeps_the_rates_it_does_not_name() -> None:
    rates = tariff("openai", "gpt", service_tier="batch").rates
    assert (rates.cached_input, rates.web_search) == (M // 2, 10_000 * M)


@pytest.mark.parametrize(
    ("input_tokens", "name", "price_in"),
    [
        (0, "gpt", 5 * M),
        (272_000, "gpt", 5 * M),
        (272_001, "gpt+long-context", 10 * M),
        (500_000, "gpt+long-context", 10 * M),
        (500_001, "gpt+long-context-2", 20 * M),
    ],
)
def test_a_step_holds_for_the_whole_call(input_tokens: int, name: str, price_in: int) -> None:
    found = tariff("openai", "gpt", input_tokens=input_tokens)
    assert (found.name, found.rates.input) == (name, price_in)
    assert found.source == f"openai/{found.name}, docket/price-book/v1 as of 2026-11-29"


def test_a_tier_has_steps_of_its_own() -> None:
    found = tariff("openai", "gpt", service_tier="flex", input_tokens=300_000)
    assert (found.name, found.rates.input, found.rates.cached_input) == ("gpt+flex+long-context", 5 * M, M // 2)
    # The priority tier replaces every rate that has a step and names none: there is no step.
    assert tariff("openai", "gpt", service_tier="priority", input_tokens=300_000).name == "gpt+priority"
    # The batch tier keeps the cached rate and its step.
    batch = tariff("openai", "gpt", service_tier="batch", input_tokens=300_000)
    assert (batch.name, batch.rates.input, batch.rates.cached_input) == ("gpt+batch+long-context", 2_500_000, M)


def test_prices_by_date() -> None:
    before = tariff("anthropic", "sonnet", at="2026-03-12T23:59:59Z", input_tokens=200_001)
    assert (before.name, before.rates.input, before.rates.output) == ("sonnet+price-1+long-context", 6 * M, 22_500_000)
    after = tariff("anthropic", "sonnet", at="2026-03-13T00:00:00Z", input_tokens=200_001)
    assert (after.name, after.rates.input, after.rates.output) == ("sonnet", 3 * M, 15 * M)


@pytest.mark.parametrize(
    ("time", "price_in"),
    [("16:29", 2), ("16:30", 1), ("23:59", 1), ("00:00", 1), ("00:29", 1), ("00:30", 2), ("11:59", 2)],
)
def test_prices_by_the_hour(time: str, price_in: int) -> None:
    assert tariff("deepseek", "night", at=f"2026-11-29T{time}:30Z").rates.input == price_in * M
    assert tariff("deepseek", "night", at="2026-11-29T12:00:00Z").rates.input == 1_500_000
    assert tariff("deepseek", "night", at="2026-11-29T13:00:00Z").rates.input == 2 * M


def test_the_replys_model_counts_and_the_requests_helps_out() -> None:
    assert short(tariff("anthropic", "sonnet", requested_model="opus")) == ("sonnet", 3 * M, 15 * M, False)
    assert short(tariff("anthropic", "router-7", requested_model="opus")) == (
        "router-7+as-opus", 5 * M, 25 * M, True,
    )  # fmt: skip
    assert short(tariff("anthropic", "router-7", requested_model="also-unknown"))[3]


def test_an_unknown_model_costs_the_dearest_and_is_assumed() -> None:
    found = tariff("anthropic", "opus-9")
    assert found == Tariff(
        name="opus-9+assumed+at-anthropic",
        rates=Rates(
            input=10 * M,
            cached_input=M,
            cache_write=6_250_000,
            cache_write_1h=10 * M,
            output=50 * M,
            web_search=10_000 * M,
        ),
        source="assumed: the dearest prices of anthropic, docket/price-book/v1 as of 2026-11-29",
        assumed=True,
    )
    assert dearest(hand_book(), "openai").audio_output == 64 * M
    # A provider without a section: the dearest of the best known.
    assert tariff("gateway", "opus-9").rates.input == 10 * M
    assert tariff("gateway", "opus-9").name == "opus-9+assumed+at-gateway"


def test_a_reseller_has_names_of_its_own() -> None:
    found = tariff("gateway", "anthropic/opus", section="gateway")
    assert short(found) == ("anthropic/opus+at-gateway", 5 * M, 25 * M, True)
    assert found.source == "assumed: anthropic/opus, docket/price-book/v1 as of 2026-11-29"
    assert tariff("openai", "gpt", section="anthropic").name == "gpt"
    # The maker's prices at another known provider are an assumption, and another family.
    assert tariff("anthropic", "gpt").name == "gpt+at-anthropic"


def test_a_plus_in_a_models_name_is_escaped() -> None:
    assert tariff("anthropic", "sonnet+fast").name == "sonnet%2Bfast"


FREE = Rates(web_search=0, file_search=0, code_interpreter=0, audio_hour=0)


def test_waivers() -> None:
    local = tariff("ollama", "llama3", waiver=Waiver.LOCAL_HOST)
    assert (local.name, local.rates, local.assumed) == ("llama3+at-ollama", FREE, False)
    quota = tariff("anthropic", "unheard-of", waiver=Waiver.QUOTA)
    assert (quota.name, quota.rates, quota.assumed) == ("unheard-of+quota", FREE, False)


def test_limits() -> None:
    book = hand_book()
    assert limits(book, "anthropic", "opus") == Limits(200_000, 64_000)
    assert limits(book, "anthropic", "sonnet") == Limits(1_000_000, 128_000)
    assert limits(book, "anthropic", "fable") == Limits(1_000_000, 128_000)
    assert limits(book, "anthropic", "unknown") == Limits(1_000_000, 128_000)
    assert limits(book, "openai", "voice") == Limits(1_050_000, 128_000)
    assert limits(book, "gateway", "opus") == Limits(200_000, 64_000)
    small = {"a": {"models": [{"id": "s", "match": ["is", "s"], "context": 8000, "prices": [{"input": "1"}]}]}}
    assert limits(PriceBook.parse(book_bytes(small)), "a", "s") == Limits(8000, 8000)


TABLE = {
    "_meta": {"schema": "docket/prices/v1", "as_of": "2026-01-01", "currency": "USD", "unit": "per_million_tokens"},
    "families": [
        {"pattern": "opus*+cache-write-1h", "input": "11", "output": "0"},
        {"pattern": "opus*+flex", "input": "2", "output": "12"},
        {"pattern": "opus*+web-search", "input": "5000", "output": "0"},
        {"pattern": "opus*", "input": "4", "cached_input": "0.4", "output": "20"},
        {"pattern": "*", "input": "30", "output": "60"},
    ],
}


def test_a_table_in_place_of_the_book() -> None:
    book = PriceBook.parse(json.dumps(TABLE).encode())

    def of(model: str, **members: object) -> Tariff:
        return resolve(book, Asked(provider="anthropic", model=model, at=NOW, **members))  # type: ignore[arg-type]

    assert of("opus-5") == Tariff(
        name="opus-5",
        rates=Rates(
            input=4 * M,
            cached_input=400_000,
            cache_write=5 * M,
            cache_write_1h=11 * M,
            output=20 * M,
            web_search=5_000 * M,
        ),
        source="docket/prices/v1 as of 2026-01-01",
        assumed=False,
    )
    assert short(of("opus-5", service_tier="flex")) == ("opus-5+flex", 2 * M, 12 * M, False)
    assert short(of("opus-5", service_tier="gold")) == ("opus-5+gold", 4 * M, 20 * M, True)
    assert short(of("router", requested_model="opus-5")) == ("router+as-opus-5", 4 * M, 20 * M, True)
    assert short(of("router", requested_model="router-2")) == ("router", 30 * M, 60 * M, True)
    unknown = of("gpt")
    assert short(unknown) == ("gpt", 30 * M, 60 * M, True)
    assert (unknown.rates.cache_write, unknown.rates.cache_write_1h) == (37_500_000, 60 * M)
    assert unknown.rates.web_search == 10_000 * M
    assert unknown.source == "assumed: docket/prices/v1 as of 2026-01-01"
    assert limits(book, "anthropic", "opus-5") == Limits(1_050_000, 128_000)


def test_a_table_without_a_fallback_still_has_a_price_for_everything() -> None:
    families = [
        {"pattern": "a", "input": "9", "cached_input": "1", "output": "10"},
        {"pattern": "b", "input": "10", "output": "9"},
    ]
    book = PriceBook.parse(json.dumps({**TABLE, "families": families}).encode())
    found = resolve(book, Asked(provider="x", model="gpt", at=NOW))
    assert short(found) == ("gpt+at-x", 10 * M, 10 * M, True)
    unlisted = resolve(book, Asked(provider="x", model="gpt", requested_model="other", at=NOW))
    assert short(unlisted) == short(found)
    assert found.rates.cached_input is None


def test_the_dearest_token_of_a_tariff() -> None:
    assert Rates(input=5, cache_write=6, cache_write_1h=10, audio_input=7).dearest_input == 10
    assert Rates(input=5).dearest_input == 5
    assert Rates(output=3, audio_output=9).dearest_output == 9
    assert (Rates().audio_apart, Rates(audio_input=1).audio_apart, Rates(audio_output=1).audio_apart) == (
        False, True, True,
    )  # fmt: skip
