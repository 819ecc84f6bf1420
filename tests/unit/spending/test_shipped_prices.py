"""The price book that ships: it is what its generator writes, it can be read, and it says what providers say.

The figures below are typed from the providers' price pages, not from the book.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest

from docket.rules.spending.price_book import Found, PriceBook
from docket.rules.spending.tariff import Asked, limits, resolve

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = ROOT / "src" / "docket" / "data" / "prices.json"
NOW = "2026-11-29T00:00:00.000Z"
M = 1_000_000


@pytest.fixture(scope="module")
def book() -> PriceBook:
    return PriceBook.parse(SHIPPED.read_bytes())


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_the_book_is_what_the_generator_writes() -> None:
    pytest.importorskip("genai_prices")
    recorded = json.loads(SHIPPED.read_bytes())["_meta"]["sources"][0]["version"]
    if metadata.version("genai-prices") != recorded:
        pytest.skip(f"the book was generated from genai-prices {recorded}")
    assert tool("generate_prices").generate() == SHIPPED.read_bytes()


def test_every_section_can_be_read_and_every_model_finds_a_price(book: PriceBook) -> None:
    for provider in book.providers():
        for entry in book.section(provider)["models"]:
            tariff = resolve(book, Asked(provider=provider, model=entry["id"], at=NOW))
            assert tariff.rates.input >= 0
            assert limits(book, provider, entry["id"]).max_output_tokens > 0


def test_the_book_is_small() -> None:
    assert SHIPPED.stat().st_size < 1_500_000


@pytest.mark.parametrize(
    ("provider", "model", "entry"),
    [
        ("anthropic", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("anthropic", "claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("anthropic", "claude-opus-4-1-20250805", "claude-opus-4-1"),
        ("anthropic", "claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("anthropic", "anthropic/claude-opus-4-8", "claude-opus-4-8"),
        ("anthropic", "claude-mythos-5-1", "claude-mythos-5-1"),
        ("openai", "gpt-5.2-codex", "gpt-5.2"),
        ("openai", "gpt-5.2-20251211", "gpt-5.2"),
        ("openai", "openai/gpt-5-mini", "gpt-5-mini"),
        ("openai", "gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("openai", "o4-mini", "o4-mini"),
    ],
)
def test_aliases_and_snapshots(book: PriceBook, provider: str, model: str, entry: str) -> None:
    found = book.find(provider, model)
    assert isinstance(found, Found)
    assert (found.section, found.entry["id"], found.assumed) == (provider, entry, False)


@pytest.mark.parametrize(
    ("model", "rates"),
    [
        # input, read, five minutes, an hour, output
        ("claude-opus-4-8", (5, 0.5, 6.25, 10, 25)),
        ("claude-opus-5-5", (4, 0.2, 5, 8, 20)),
        ("claude-sonnet-5-5", (2, 0.1, 2.5, 4, 10)),
        ("claude-haiku-4-5", (1, 0.1, 1.25, 2, 5)),
        ("claude-fable-5-2", (8, 0.2, 10, 16, 40)),
    ],
)
def test_what_anthropic_asks(book: PriceBook, model: str, rates: tuple[float, ...]) -> None:
    found = resolve(book, Asked(provider="anthropic", model=model, at=NOW)).rates
    expected = tuple(round(price * M) for price in rates)
    assert (found.input, found.cached_input, found.cache_write, found.cache_write_1h, found.output) == expected
    assert found.web_search == 10_000 * M


@pytest.mark.parametrize(
    ("model", "tier", "tokens", "rates"),
    [
        ("gpt-5.2", None, 10, (1.75, 0.175, 14)),
        ("gpt-5.2", "priority", 10, (3.5, 0.35, 28)),
        ("gpt-5.2", "flex", 10, (0.875, 0.0875, 7)),
        ("gpt-5.4", None, 272_000, (2.5, 0.25, 15)),
        ("gpt-5.4", None, 272_001, (5, 0.5, 22.5)),
        ("gpt-5.5", None, 272_001, (10, 1, 45)),
        ("gpt-5.5", None, 272_000, (5, 0.5, 30)),
    ],
)
def test_what_openai_asks(book: PriceBook, model: str, tier: str | None, tokens: int, rates: tuple[float, ...]) -> None:
    asked = Asked(provider="openai", model=model, at=NOW, service_tier=tier, input_tokens=tokens)
    found = resolve(book, asked).rates
    assert (found.input, found.cached_input, found.output) == tuple(round(price * M) for price in rates)


def test_prices_that_changed_on_a_day(book: PriceBook) -> None:
    def sonnet(at: str) -> int:
        return resolve(
            book, Asked(provider="anthropic", model="claude-sonnet-4-6", at=at, input_tokens=300_000)
        ).rates.input

    assert (sonnet("2026-03-12T23:59:59Z"), sonnet("2026-03-13T00:00:00Z")) == (6 * M, 3 * M)


def test_inference_in_the_us_costs_a_tenth_more(book: PriceBook) -> None:
    asked = Asked(provider="anthropic", model="claude-opus-4-8", at=NOW, inference_geo="us")
    assert resolve(book, asked).rates.input == 5_500_000
    older = Asked(provider="anthropic", model="claude-sonnet-4-5", at=NOW, inference_geo="us")
    assert resolve(book, older).rates.input == 3 * M


def test_limits_of_models(book: PriceBook) -> None:
    assert limits(book, "anthropic", "claude-sonnet-4-5").max_output_tokens == 64_000
    assert limits(book, "openai", "gpt-4o").max_output_tokens == 16_384
    assert limits(book, "openai", "gpt-4o").context_tokens == 128_000


def test_the_page_of_differences_is_up_to_date() -> None:
    compare = tool("compare_prices")
    table = compare.litellm_table()
    if table is None:
        pytest.skip("litellm is not installed")
    page = (ROOT / "docs" / "reference" / "price-differences.md").read_text(encoding="utf-8")
    version = metadata.version("litellm")
    if f"LiteLLM {version}," not in page:
        pytest.skip(f"the page was written with another litellm than {version}")
    assert compare.page(PriceBook.parse(SHIPPED.read_bytes()), json.loads(table.read_bytes()), version) == page


def test_the_comparison_by_hand(book: PriceBook) -> None:
    compare = tool("compare_prices")
    table = {
        "claude-opus-4-8": {
            "litellm_provider": "anthropic", "mode": "chat", "input_cost_per_token": 5e-06,
            "cache_read_input_token_cost": 5e-07, "cache_creation_input_token_cost": 6.25e-06,
            "cache_creation_input_token_cost_above_1hr": 1e-05, "output_cost_per_token": 2.6e-05,
            "input_cost_per_token_batches": 2.5e-06,
        },
        "gpt-99": {"litellm_provider": "openai", "mode": "chat"},
        "gpt-4o": {"litellm_provider": "azure", "mode": "chat"},
    }  # fmt: skip
    found = list(compare.differences(book, table))
    assert found == [
        compare.Difference("anthropic", "claude-opus-4-8", "output", "25", "26"), ("openai", "gpt-99"),
    ]  # fmt: skip
