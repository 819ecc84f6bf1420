"""Finding a model's prices."""

from __future__ import annotations

import hashlib
import json

import pytest
from hand_book import META, SECTIONS, book_bytes, hand_book

from docket.errors import InvalidDocumentError
from docket.rules.spending.price_book import Found, PriceBook, UnknownModel


def found(provider: str, model: str) -> tuple[str, str, bool] | None:
    entry = hand_book().find(provider, model)
    return (entry.section, entry.entry["id"], entry.assumed) if isinstance(entry, Found) else None


def test_what_a_session_records_of_the_book() -> None:
    data = book_bytes()
    book = PriceBook.parse(data)
    assert book.session_members() == {
        "schema": "docket/price-book/v1",
        "as_of": "2026-11-29",
        "digest": hashlib.sha256(data).hexdigest(),
    }
    assert book.providers() == ("anthropic", "openai", "deepseek")
    assert json.loads(data)["providers"] == SECTIONS


@pytest.mark.parametrize(
    ("provider", "model", "expected"),
    [
        ("anthropic", "opus", ("anthropic", "opus", False)),
        ("anthropic", "OPUS ", ("anthropic", "opus", False)),
        ("anthropic", "opus-20260101", ("anthropic", "opus", False)),
        ("anthropic", "sonnet-4-5-20250929", ("anthropic", "sonnet", False)),
        ("anthropic", "a-fable-e", ("anthropic", "fable", False)),
        ("anthropic", "anthropic/opus", ("anthropic", "opus", False)),
        # LiteLLM and OpenRouter write dates without dashes.
        ("openai", "gpt-20260401", ("openai", "gpt", False)),
        ("openai", "openai/gpt-20260401", ("openai", "gpt", False)),
        ("openai", "gpt-20261301", None),
        # A reseller asks what it asks: the maker's price is an assumption.
        ("gateway", "opus", ("anthropic", "opus", True)),
        ("openai", "opus", ("anthropic", "opus", True)),
        ("anthropic", "gpt", ("openai", "gpt", True)),
        ("gateway", "vendor/gpt", ("openai", "gpt", True)),
        ("gateway", "night", None),
        ("openai", "opus-9", None),
        ("anthropic", "opus.1", None),
    ],
)
def test_where_a_model_is_found(provider: str, model: str, expected: tuple[str, str, bool] | None) -> None:
    assert found(provider, model) == expected


def test_an_unknown_model_has_neighbours() -> None:
    book = hand_book()
    assert book.find("anthropic", "oppus") == UnknownModel("anthropic", "oppus", ("opus",))
    assert book.find("gateway", "sonet") == UnknownModel("gateway", "sonet", ("sonnet",))
    assert book.find("openai", "zzz") == UnknownModel("openai", "zzz", ())
    assert [book.nearest("anthropic", name) for name in ("oppus", "zzz", "opus")] == [("opus",), (), ()]


def test_lookups_are_remembered_but_not_without_end() -> None:
    book = hand_book()
    first = book.find("anthropic", "opus")
    assert book.find("anthropic", "opus") is first
    for number in range(1100):
        book.find("anthropic", f"model-{number}")
    assert book.find("anthropic", "opus") == first


def test_a_section_is_parsed_only_when_it_is_asked_for() -> None:
    data = book_bytes().replace(b'"deepseek":{', b'"deepseek":{{')
    book = PriceBook.parse(data)
    assert isinstance(book.find("anthropic", "opus"), Found)
    with pytest.raises(InvalidDocumentError, match="deepseek"):
        book.section("deepseek")
    assert book.section("nobody") == {}


@pytest.mark.parametrize(
    "data",
    [
        book_bytes(meta={**META, "schema": "other"}),
        book_bytes(meta=["x"]),
        book_bytes(sections={}),
        b'{"_meta":{{,"providers":{\n"a":{}\n}}\n',
        b'{"_meta":1},"providers":{\n"a":{}\n}}\n',
        b'{"_meta":{"schema":"docket/prices/v1","currency":"USD","unit":"per_million_tokens"},"families":[]}',
        b"{}",
        b"",
        b"\xff",
    ],
)
def test_books_that_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidDocumentError):
        PriceBook.parse(data)


ENTRY = {"id": "x", "match": ["is", "x"], "prices": [{"input": "1"}]}


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ([], "not an object"),
        ({}, "models"),
        ({"models": {}}, "models"),
        ({"models": ["x"]}, "models"),
        ({"models": [], "other": 1}, "other"),
        ({"models": [], "serves": "x"}, "serves"),
        ({"models": [], "defaults": {"input": 1.5}}, "not a text"),
        ({"models": [], "defaults": {"web_search": "x"}}, "x"),
        ({"models": [], "defaults": {"above": []}}, "above"),
        ({"models": [], "defaults": 5}, "defaults"),
        ({"models": [], "unlisted": []}, "unlisted"),
        ({"models": [], "unlisted": {"speed": 5}}, "unlisted"),
        ({"models": [], "unlisted": {"speed": {"*": 2}}}, "not a text"),
        ({"models": [], "unlisted": {"speed": {"*": "two"}}}, "two"),
        ({"models": [], "geo": {"us": {"multiplier": "1.1"}}}, "models"),
        ({"models": [], "geo": {"us": {"multiplier": "x", "models": []}}}, "x"),
        ({"models": [], "geo": {"us": {"multiplier": "1", "models": [], "z": 1}}}, "z"),
        ({"models": [], "context_default": 0}, "context_default"),
        ({"models": [], "max_output_default": "many"}, "max_output_default"),
        ({"models": [{**ENTRY, "id": 5}]}, "id"),
        ({"models": [{**ENTRY, "extra": 5}]}, "extra"),
        ({"models": [{**ENTRY, "context": -1}]}, "context"),
        ({"models": [{**ENTRY, "match": ["sounds-like", "x"]}]}, "match clause"),
        ({"models": [{**ENTRY, "match": ["is"]}]}, "match clause"),
        ({"models": [{**ENTRY, "match": ["is", 5]}]}, "no text"),
        ({"models": [{**ENTRY, "match": ["or", "x"]}]}, "no list"),
        ({"models": [{**ENTRY, "match": ["re", "("]}]}, "match"),
        ({"models": [{**ENTRY, "prices": []}]}, "empty"),
        ({"models": [{**ENTRY, "prices": [{"output": "1"}]}]}, "input"),
        ({"models": [{**ENTRY, "prices": [{"input": "1", "from": "today"}]}]}, "from"),
        ({"models": [{**ENTRY, "prices": [{"input": "1", "between": ["00:00"]}]}]}, "between"),
        ({"models": [{**ENTRY, "prices": [{"input": "1", "between": ["00:00", "24:00"]}]}]}, "between"),
        ({"models": [{**ENTRY, "prices": [{"input": "1", "between": "x"}]}]}, "between"),
        ({"models": [{**ENTRY, "prices": [{"input": "1", "above": {}}]}]}, "above"),
        ({"models": [{**ENTRY, "prices": [{"input": "1", "above": [5]}]}]}, "above"),
        ({"models": [{**ENTRY, "prices": [{"input": "1", "above": [["5", {}]]}]}]}, "above"),
        ({"models": [{**ENTRY, "prices": [{"input": "1", "above": [[5, {"input": "-1"}]]}]}]}, "-1"),
        ({"models": [{**ENTRY, "variants": {}}]}, "variants"),
        ({"models": [{**ENTRY, "variants": [{"input": "1"}]}]}, "served"),
        ({"models": [{**ENTRY, "variants": [{"served": {"speed": 5}}]}]}, "speed"),
        ({"models": [{**ENTRY, "variants": [{"served": {"speed": "fast"}, "x": "1"}]}]}, "x"),
    ],
)
def test_sections_that_are_refused(section: object, words: str) -> None:
    book = PriceBook.parse(book_bytes(sections={"a": section}))
    with pytest.raises(InvalidDocumentError, match=words):
        book.find("a", "x")


def test_clauses_do_not_nest_without_end() -> None:
    clause: list[object] = ["is", "x"]
    for _ in range(8):
        clause = ["or", [clause]]
    with pytest.raises(InvalidDocumentError, match="match clause"):
        PriceBook.parse(book_bytes(sections={"a": {"models": [{**ENTRY, "match": clause}]}})).find("a", "x")


def test_a_line_whose_name_does_not_end_is_refused_when_it_is_asked_for() -> None:
    data = book_bytes(sections={"a": {"models": []}}).replace(b"\n}}", b',\n"b\n}}')
    book = PriceBook.parse(data)
    assert book.providers() == ("a", "b")
    with pytest.raises(InvalidDocumentError, match="not JSON"):
        book.section("b")


def test_a_table_stands_in_for_a_book() -> None:
    meta = {"schema": "docket/prices/v1", "currency": "USD", "unit": "per_million_tokens"}
    document = {"_meta": meta, "families": [{"pattern": "m", "input": "1", "output": "2"}]}
    book = PriceBook.parse(json.dumps(document, indent=1).encode())
    assert book.table is not None
    assert (book.schema, book.as_of, book.providers()) == ("docket/prices/v1", "unknown", ())


def test_a_table_has_neighbours_too() -> None:
    meta = {"schema": "docket/prices/v1", "currency": "USD", "unit": "per_million_tokens"}
    patterns = ("my-large/my-small*", "my-large+cache-write-1h", "*")
    families = [{"pattern": pattern, "input": "1", "output": "2"} for pattern in patterns]
    book = PriceBook.parse(json.dumps({"_meta": meta, "families": families}, indent=1).encode())
    assert book.nearest("any", "my-Largo") == ("my-large",)
    assert book.nearest("any", "my-small") == ("my-small*",)
    assert book.nearest("any", "zzz") == ()
