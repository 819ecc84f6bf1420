"""The embedded price table, by hand and against the shell's own globbing."""

from __future__ import annotations

import fnmatch
from decimal import ROUND_HALF_EVEN, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.canonical import decode_document, encode
from docket.formats.dataclass import replace
from docket.formats.run.price_table import (
    Family,
    Match,
    alternatives,
    cost_row,
    embedded,
    family_name,
    literal_pattern,
    parse_price,
    read_price_table,
    specific_first,
    spell_price,
)

META = {"schema": "docket/prices/v1", "as_of": "2026-11-29", "currency": "USD", "unit": "per_million_tokens"}
LUNA = {"pattern": "gpt-6-luna*", "input": "0.10", "cached_input": "0.01", "output": "0.50", "source": "a page"}
O_SERIES = {"pattern": "O3* / o4* /", "input": "2", "output": "8"}
FALLBACK = {"pattern": "*", "input": "3", "output": "15"}
DOCUMENT = {"_meta": {**META, "note": "anything"}, "families": [FALLBACK, LUNA, O_SERIES]}


def family(pattern: str = "m", price_in: str = "1", price_out: str = "2", cached: str | None = None) -> Family:
    return Family(pattern=pattern, input=price_in, cached_input=cached, output=price_out)


def test_a_document_is_read_and_written_back() -> None:
    table = read_price_table(decode_document(encode(DOCUMENT)))
    assert table.document() == DOCUMENT
    assert [item.pattern for item in table.families] == ["*", "gpt-6-luna*", "O3* / o4* /"]


@pytest.mark.parametrize(
    ("model", "pattern", "assumed"),
    [
        ("gpt-6-luna", "gpt-6-luna*", False),
        ("GPT-6-Luna-2026", "gpt-6-luna*", False),
        ("o4-mini", "O3* / o4* /", False),
        ("o3", "O3* / o4* /", False),
        ("o5", "*", True),
        ("", "*", True),
    ],
)
def test_the_first_family_that_fits_counts_and_the_fallback_last(model: str, pattern: str, assumed: bool) -> None:
    match = read_price_table(DOCUMENT).match(model)
    assert match is not None
    assert (match.family.pattern, match.assumed) == (pattern, assumed)


def test_a_table_that_was_made_of_another_remembers_nothing_of_it() -> None:
    table = embedded([family("a*")], {})
    assert table.match("ab") is not None
    other = replace(table, families=(family("b*"),))
    assert (table == replace(table), other.match("ab")) == (True, None)


def test_without_a_fallback_an_unknown_model_has_no_family() -> None:
    table = read_price_table({"_meta": META, "families": [LUNA]})
    assert table.match("gpt-5") is None
    assert table.match("gpt-6-luna") == Match(table.families[0], assumed=False)


def test_of_two_fallbacks_the_first_counts() -> None:
    second = {"pattern": "*", "input": "9", "output": "9"}
    match = read_price_table({"_meta": META, "families": [FALLBACK, second]}).match("x")
    assert match is not None
    assert match.family.input == "3"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"_meta": {**META, "schema": "docket/prices/v2"}}, "schema"),
        ({"_meta": {**META, "currency": "EUR"}}, "currency"),
        ({"_meta": {"schema": "docket/prices/v1"}}, "currency"),
        ({"_meta": {**META, "unit": "per_token"}}, "unit"),
        ({"_meta": "x"}, "_meta"),
        ({"families": {}}, "families"),
        ({"families": ["x"]}, r"families\[0\]"),
        ({"families": [{**LUNA, "extra": 1}]}, "extra"),
        ({"families": [{**LUNA, "input": 1}]}, "input"),
        ({"families": [{**LUNA, "input": "1e3"}]}, "1e3"),
        ({"families": [{**LUNA, "output": "0.0000001"}]}, "0.0000001"),
        ({"families": [{"pattern": "x", "input": "1"}]}, "output"),
        ({"other": 1}, "other"),
    ],
)
def test_documents_that_are_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidDocumentError, match=words):
        read_price_table({**DOCUMENT, **change})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "text", ["", "-1", "01", "1.", ".5", "1,5", "1.0000000", " 1", "1e3", "NaN", "10000000", "\u0661"]
)
def test_prices_that_are_refused(text: str) -> None:
    with pytest.raises(InvalidDocumentError):
        parse_price(text)


@pytest.mark.parametrize(
    ("text", "micros", "spelled"),
    [("3", 3_000_000, "3"), ("0.30", 300_000, "0.3"), ("6.25", 6_250_000, "6.25"), ("0.000001", 1, "0.000001"),
     ("0", 0, "0"), ("10000", 10_000_000_000, "10000"), ("100.000000", 100_000_000, "100")],
)  # fmt: skip
def test_prices(text: str, micros: int, spelled: str) -> None:
    assert parse_price(text) == micros
    assert spell_price(micros) == spelled
    assert parse_price(spelled) == micros


@pytest.mark.parametrize(
    ("tokens", "prices", "micros"),
    [
        # 27 fresh, 100 read, 47 out at 3 / 0.30 / 15: 81 + 30 + 705.
        ((127, 100, 47), ("3", "0.30", "15"), 816),
        # Without a cached price the cached part costs what the input does.
        ((100, 100, 0), ("3", None, "15"), 300),
        # More cached than input: the fresh part is not negative.
        ((10, 100, 0), ("3", "1", "15"), 100),
        ((0, 0, 0), ("3", None, "15"), 0),
        # 159217 x 6.25 = 995106.25; 2.5 and 3.5 go to the even neighbour, 0.500001 goes up.
        ((159217, 0, 0), ("6.25", None, "0"), 995106),
        ((1, 0, 0), ("2.5", None, "0"), 2),
        ((1, 0, 0), ("3.5", None, "0"), 4),
        ((1, 0, 0), ("0.5", None, "0"), 0),
        ((1, 0, 0), ("0.500001", None, "0"), 1),
        ((1, 0, 0), ("0.499999", None, "0"), 0),
    ],
)
def test_what_a_row_costs(tokens: tuple[int, int, int], prices: tuple[str, str | None, str], micros: int) -> None:
    assert cost_row(family("m", prices[0], prices[2], prices[1]), *tokens) == Usd(micros)


PRICES = st.integers(0, 10**9).map(spell_price)
COUNTS = st.integers(0, 10**7)


@given(st.tuples(COUNTS, COUNTS, COUNTS), st.tuples(PRICES, st.none() | PRICES, PRICES))
def test_a_row_costs_what_decimals_say(tokens: tuple[int, int, int], prices: tuple[str, str | None, str]) -> None:
    fresh, cached, out = tokens
    price_in, price_cached, price_out = prices
    exact = (
        fresh * Decimal(price_in) + cached * Decimal(price_cached or price_in) + out * Decimal(price_out)
    ).quantize(Decimal(1), rounding=ROUND_HALF_EVEN)
    assert cost_row(family("m", price_in, price_out, price_cached), fresh + cached, cached, out) == Usd(int(exact))


def test_drift_does_not_come_up() -> None:
    # 10,000 calls of 0.000207 are 2.07, and four calls of the reported sum are 0.662.
    total = sum((cost_row(family("m", "1", "2"), 7, 0, 100).micros for _ in range(10_000)), 0)
    assert str(Usd(total)) == "2.07"
    assert str(Usd.parse("0.1655") + Usd.parse("0.1655") + Usd.parse("0.1655") + Usd.parse("0.1655")) == "0.662000"


@pytest.mark.parametrize(
    ("model", "pattern"),
    [
        ("claude-opus-4-8", "claude-opus-4-8"),
        ("Anthropic/Claude", "anthropic?claude"),
        ("a*b?c[d]e", "a?b?c?d?e"),
        ("a!b", "a!b"),
        (" x ", "?x?"),
        ("", "?"),
    ],
)
def test_literal_patterns(model: str, pattern: str) -> None:
    assert literal_pattern(model) == pattern
    assert alternatives(pattern) == (pattern,)


@given(st.text(min_size=1, max_size=12))
def test_a_literal_pattern_matches_its_model(model: str) -> None:
    assert fnmatch.fnmatchcase(model.lower(), literal_pattern(model))


def test_the_more_literal_pattern_stands_first() -> None:
    families = [family(name) for name in ("*", "a?b", "a-b", "a*", "a?b?c", "z")]
    assert [item.pattern for item in specific_first(families)] == ["a-b", "z", "a?b", "a?b?c", "a*", "*"]


@given(st.lists(st.text("ab-./?", min_size=1, max_size=4), min_size=1, max_size=8, unique=True))
def test_every_model_finds_its_own_family(models: list[str]) -> None:
    by_pattern = {literal_pattern(model): model for model in models}
    table = embedded([family(pattern) for pattern in by_pattern], {"as_of": "2026-11-29"})
    for model in models:
        match = table.match(model)
        assert match is not None
        assert match.family.pattern.count("?") <= literal_pattern(model).count("?")


def test_the_embedded_table_names_its_schema() -> None:
    table = embedded([family("b"), family("a")], {"as_of": "2026-11-29", "schema": "mine"})
    assert table.meta == {**META, "fallback_marker": "assumed"}
    assert [item.pattern for item in table.families] == ["a", "b"]
    assert read_price_table(table.document()) == table


def test_a_plus_in_a_model_is_told_from_a_variant() -> None:
    assert family_name("claude-opus-4-8") == "claude-opus-4-8"
    assert family_name("a+flex") == "a%2Bflex"
    assert family_name("a%2Bflex") == "a%252Bflex"
