"""The price book as rows."""

from __future__ import annotations

import json

from hand_book import hand_book

from docket.rules.spending.price_book import PriceBook, UnknownModel
from docket.rules.spending.price_listing import lines_of_model, lines_of_providers

NOW = "2026-11-29T10:00:00.000Z"


def families(model: str) -> list[str]:
    lines = lines_of_model(hand_book(), model, NOW)
    assert isinstance(lines, tuple)
    return [f"{line.provider}: {line.family}" for line in lines]


def test_a_model_has_a_row_for_everything_with_prices_of_its_own() -> None:
    assert families("gpt") == [
        "openai: gpt",
        "openai: gpt+long-context",
        "openai: gpt+long-context-2",
        "openai: gpt+flex",
        "openai: gpt+flex+long-context",
        "openai: gpt+priority",
        "openai: gpt+batch",
        "openai: gpt+batch+long-context",
        "openai: gpt+batch+long-context-2",
    ]
    assert families("opus-20260101") == [
        "anthropic: opus-20260101",
        "anthropic: opus-20260101+batch",
        "anthropic: opus-20260101+fast",
    ]
    assert families("night") == ["deepseek: night+price-1+at-deepseek"]


def test_a_row_is_spelled_in_decimals() -> None:
    lines = lines_of_model(hand_book(), "opus", NOW)
    assert isinstance(lines, tuple)
    assert lines[0].to_json() == {
        "provider": "anthropic",
        "model": "opus",
        "family": "opus",
        "input": "5",
        "cached_input": "0.5",
        "cache_write": "6.25",
        "cache_write_1h": "10",
        "output": "25",
        "web_search": "10",
        "source": "anthropic/opus, docket/price-book/v1 as of 2026-11-29",
    }


def test_an_unknown_model_has_neighbours() -> None:
    assert lines_of_model(hand_book(), "oppus", NOW) == UnknownModel("", "oppus", ("opus",))
    assert lines_of_model(hand_book(), "zzz", NOW) == UnknownModel("", "zzz", ())


def test_all_models_of_providers() -> None:
    lines = lines_of_providers(hand_book(), ("anthropic", "deepseek"), NOW)
    assert [line.family for line in lines] == ["opus", "sonnet", "fable", "night+price-1+at-deepseek"]
    assert lines_of_providers(hand_book(), ("nobody",), NOW) == ()


def test_a_table_is_listed_as_it_stands() -> None:
    meta = {"schema": "docket/prices/v1", "as_of": "2026-01-01", "currency": "USD", "unit": "per_million_tokens"}
    rows = [
        {"pattern": "a*", "input": "1", "cached_input": "0.1", "output": "2", "source": "a page"},
        {"pattern": "*", "input": "3", "output": "4"},
    ]
    book = PriceBook.parse(json.dumps({"_meta": meta, "families": rows}).encode())
    assert [line.to_json() for line in lines_of_providers(book, (), NOW)] == [
        {"provider": "", "model": "a*", "family": "a*", "input": "1", "cached_input": "0.1", "output": "2",
         "source": "a page"},
        {"provider": "", "model": "*", "family": "*", "input": "3", "output": "4",
         "source": "docket/prices/v1 as of 2026-01-01"},
    ]  # fmt: skip
    found = lines_of_model(book, "abc", NOW)
    assert isinstance(found, tuple)
    assert [line.family for line in found] == ["a*"]
    assert lines_of_model(book, "b", NOW) == UnknownModel("", "b", ())
    bare = PriceBook.parse(json.dumps({"_meta": meta, "families": rows[:1]}).encode())
    assert lines_of_model(bare, "b", NOW) == UnknownModel("", "b", ())
