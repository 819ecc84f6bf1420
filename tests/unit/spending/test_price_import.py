"""Imported price tables: four forms, checked whole."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hand_book import book_bytes, hand_book

from docket.errors import InvalidDocumentError
from docket.formats.run.usage import Usage
from docket.rules.spending.price_book import Found, PriceBook
from docket.rules.spending.price_changes import price_changes
from docket.rules.spending.price_import import Imported, import_prices, is_whole
from docket.rules.spending.pricing import CallFacts, price_call

AT = "2026-11-29T10:00:00.000Z"


def imported(value: object) -> Imported:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return import_prices(data, source="mine.json", day="2026-11-29", shipped=hand_book())


def entry(book: PriceBook, provider: str, model: str) -> dict[str, Any]:
    found = book.find(provider, model)
    assert isinstance(found, Found)
    return dict(found.entry)


LITELLM = {
    "sample_spec": {"litellm_provider": "one of many", "input_cost_per_token": 0},
    "opus": {
        "litellm_provider": "anthropic",
        "input_cost_per_token": 4e-06,
        "cache_read_input_token_cost": 4e-07,
        "cache_creation_input_token_cost": 5e-06,
        "cache_creation_input_token_cost_above_1hr": 8e-06,
        "output_cost_per_token": 2e-05,
        "max_input_tokens": 200000,
        "max_output_tokens": 32000,
        "input_cost_per_token_above_200k_tokens": 8e-06,
        "output_cost_per_token_above_200k_tokens": 3e-05,
        "input_cost_per_token_batches": 2e-06,
    },
    "xai/grok-9": {"litellm_provider": "xai", "input_cost_per_token": 0.00000333333333, "output_cost_per_token": 0},
    "sonnet-new": {"litellm_provider": "anthropic", "input_cost_per_token": 1e-06, "max_input_tokens": "many"},
    "a-picture": {"litellm_provider": "anthropic", "output_cost_per_image": 0.04},
    "a-nonsense": {"litellm_provider": "anthropic", "input_cost_per_token": "free"},
    "nobody": {"input_cost_per_token": 1},
    "nothing": 5,
}


def test_litellms_table_becomes_a_book() -> None:
    new = imported(LITELLM)
    assert (new.form, new.left_out) == ("LiteLLM", 2)
    assert entry(new.book, "anthropic", "opus") == {
        "id": "opus",
        "match": ["is", "opus"],
        "context": 200000,
        "max_output": 32000,
        "prices": [
            {"input": "4", "cached_input": "0.4", "cache_write": "5", "cache_write_1h": "8", "output": "20",
             "above": [[200000, {"input": "8", "output": "30"}]]}
        ],
        "variants": [{"served": {"processing": "batch"}, "input": "2"}],
    }  # fmt: skip
    assert entry(new.book, "x-ai", "grok-9")["prices"] == [{"input": "3.333333", "output": "0"}]
    # What the file does not list is the shipped book's: other models, other providers, surcharges and defaults.
    assert entry(new.book, "anthropic", "sonnet-1")["prices"] == entry(hand_book(), "anthropic", "sonnet-1")["prices"]
    assert entry(new.book, "openai", "gpt")["prices"] == entry(hand_book(), "openai", "gpt")["prices"]
    ours = hand_book().section("anthropic")
    assert new.book.section("anthropic").get("geo") == ours.get("geo")


def test_an_imported_price_is_what_calls_cost() -> None:
    facts = CallFacts(provider="anthropic", model="opus", usage=Usage(input_tokens=1000, output_tokens=10), at=AT)
    # 1000 x 4 + 10 x 20.
    assert str(price_call(imported(LITELLM).book, facts).cost) == "0.004200"


GENAI = [
    {
        "id": "anthropic",
        "name": "Anthropic",
        "models": [
            {
                "id": "opus",
                "match": {"or": [{"equals": "Opus"}, {"regex": "^opus-\\d+$"}]},
                "context_window": 300000,
                "prices": [
                    {"prices": {"input_mtok": 6,
                                "output_mtok": {"base": 30, "tiers": [{"start": 200000, "price": 45}]}}},
                    {"constraint": {"start_date": "2026-06-01"}, "prices": {"input_mtok": 5.5, "output_mtok": 30}},
                ],
                "price_variants": [
                    {"when": {"service_tier": "flex"}, "prices": {"input_mtok": 3},
                     "constraint": {"start_time": "00:30:00", "end_time": "16:30:00"}},
                    {"when": {"route": "eu"}, "prices": {"input_mtok": 4}},
                    {"when": {"speed": "fast"}, "prices": "dear"},
                    5,
                ],
            },
            {"id": "heard", "match": {"equals": "heard"}, "prices": {"audio_hours": 0.36}},
            {"id": "no-input", "match": {"equals": "x"}, "prices": {"requests_kcount": 5}},
            {"id": "no-match", "match": {"is_like": "x"}, "prices": {"input_mtok": 5}},
            {"id": "two-matches", "match": {"equals": "x", "regex": "y"}, "prices": {"input_mtok": 5}},
            {"id": "bad-inner", "match": {"and": [{"equals": 5}]}, "prices": {"input_mtok": 5}},
            {"id": "bad-operand", "match": {"or": "x"}, "prices": {"input_mtok": 5}},
            {"id": "bad-price", "match": {"equals": "x"}, "prices": {"input_mtok": "a lot"}},
            {"id": "bad-tier", "match": {"equals": "x"}, "prices": {"input_mtok": {"base": 1, "tiers": [5]}}},
            {"id": "no-price", "match": {"equals": "x"}},
            "nothing",
        ],
    },
    {"name": "nobody", "models": [{"id": "x"}]},
]  # fmt: skip


def test_genai_prices_data_becomes_a_book() -> None:
    new = imported(GENAI)
    assert (new.form, new.left_out) == ("genai-prices", 10)
    assert entry(new.book, "anthropic", "opus-7") == {
        "id": "opus",
        "match": ["or", [["is", "opus"], ["re", "^opus-\\d+$"]]],
        "context": 300000,
        # A limit that the file does not know is the shipped book's.
        "max_output": 64000,
        "prices": [
            {"input": "6", "output": "30", "above": [[200000, {"output": "45"}]]},
            {"from": "2026-06-01", "input": "5.5", "output": "30"},
        ],
        "variants": [{"served": {"service_tier": "flex"}, "between": ["00:30", "16:30"], "input": "3"}],
    }
    # What is billed by its length alone: its tokens cost nothing.
    assert entry(new.book, "anthropic", "heard")["prices"] == [{"audio_hour": "0.36", "input": "0"}]


def test_provenance_is_in_the_table_and_in_the_record() -> None:
    data = json.dumps(LITELLM).encode()
    new = imported(data)
    origin = {"source": "mine.json", "date": "2026-11-29", "sha256": hashlib.sha256(data).hexdigest()}
    assert new.book.imported == origin
    assert new.book.session_members() == {
        "schema": "docket/price-book/v1", "as_of": "2026-11-29",
        "digest": hashlib.sha256(new.data).hexdigest(), "imported": origin,
    }  # fmt: skip
    assert "imported" not in hand_book().session_members()
    assert imported(data).data == new.data


def test_our_own_book_stands_as_it_is() -> None:
    new = imported(book_bytes())
    assert new.form == "docket price book"
    assert new.book.section("anthropic") == hand_book().section("anthropic")
    assert new.book.as_of == hand_book().as_of
    assert price_changes(hand_book(), new.book, AT) == ()


TABLE = {
    "_meta": {"schema": "docket/prices/v1", "as_of": "2026-01-01", "currency": "USD", "unit": "per_million_tokens"},
    "families": [{"pattern": "mine*", "input": "1", "output": "2"}],
}


def test_a_plain_table_stands_as_it_is() -> None:
    new = imported(TABLE)
    assert (new.form, new.book.as_of) == ("docket/prices/v1 table", "2026-01-01")
    assert new.book.imported is not None
    assert is_whole(new.data)


def test_damage_is_found() -> None:
    data = imported(LITELLM).data
    assert is_whole(data)
    assert not is_whole(data.replace(b'"input":"4"', b'"input":"3"'))


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        (b"{", "it is not JSON"),
        (b"\xff", "it is not JSON"),
        ([], "no price table docket can read"),
        ({"_meta": 5}, "no price table docket can read"),
        ({"x": {"litellm_provider": "anthropic"}}, "no entry of this LiteLLM table prices input tokens"),
        ({**TABLE, "families": []}, "families is empty"),
        ({**TABLE, "families": [{"pattern": "m", "input": 1.5, "output": "2"}]}, "write prices as text"),
        ({"_meta": {"schema": "docket/price-book/v1"}, "providers": {"p": {"models": [{"id": "m"}]}}}, "has no member"),
        ({"_meta": {"schema": "docket/price-book/v1"}, "providers": {}}, "price book"),
        ([{"id": "p", "models": [{"id": "m", "match": {"regex": "("}, "prices": {"input_mtok": 1}}]}], "models.m"),
        ([{"id": "p", "models": [{"id": "m", "match": {"equals": "m"}, "prices": {"input_mtok": -1}}]}], "no entry"),
        ([{"id": "p", "models": [{"id": "m", "match": {"equals": "m"}, "prices": {"input_mtok": 1e9}}]}], "no entry"),
        ([{"id": "p", "models": [{"id": "m", "match": {"equals": "m"}, "prices": {"input_mtok": True}}]}], "no entry"),
    ],
)
def test_a_file_with_one_wrong_price_is_refused_whole(value: object, wrong: str) -> None:
    with pytest.raises(InvalidDocumentError) as caught:
        imported(value)
    assert wrong in caught.value.detail


def test_what_an_import_changes() -> None:
    changes = price_changes(hand_book(), imported(LITELLM).book, AT)
    told = {(change.provider, change.model): change for change in changes}
    assert told["anthropic", "opus"].to_json() == {
        "provider": "anthropic",
        "model": "opus",
        "change": "changed",
        "prices": {
            "input": ["5", "4"], "cached_input": ["0.5", "0.4"], "cache_write": ["6.25", "5"],
            "cache_write_1h": ["10", "8"], "output": ["25", "20"],
        },
    }  # fmt: skip
    assert told["x-ai", "grok-9"].kind == "added"
    assert ("anthropic", "sonnet") not in told
    assert {change.kind for change in price_changes(imported(LITELLM).book, imported(TABLE).book, AT)} == {
        "added", "removed",
    }  # fmt: skip
