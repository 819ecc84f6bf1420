"""Families that are looked up by name and added one by one price as a table does that is walked from its beginning."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from docket.formats.run.price_table import Family, PriceTable, specific_first
from docket.rules.receipt.families import Families

PARTS = st.sampled_from(["a", "b", "A", "*", "?", "[ab]", "[", "]", "[!a]", " ", "/", "\n", "\u0130"])
PATTERNS = st.lists(st.lists(PARTS, max_size=4).map("".join), max_size=6)
NAMES = ("", "a", "b", "ab", "aa", "A", "[", "]", "a]", "[a", " a", "a\n", "\u0130", "i\u0307", "c")


def tables(patterns: list[str]) -> list[Family]:
    return [Family(pattern=pattern, input=str(number), output="0") for number, pattern in enumerate(patterns)]


@given(PATTERNS)
def test_in_the_order_of_a_document(patterns: list[str]) -> None:
    families = tables(patterns)
    walked, looked_up = PriceTable(meta={}, families=tuple(families)), Families(families)

    assert [looked_up.find(name) for name in NAMES] == [walked.match(name) for name in NAMES]


@given(PATTERNS)
def test_the_most_specific_first_whenever_one_is_added(patterns: list[str]) -> None:
    known: list[Family] = []
    grown = Families(specific_first=True)
    for family in tables(list(dict.fromkeys(patterns))):
        known.append(family)
        grown.add(family)
        walked = PriceTable(meta={}, families=specific_first(known))
        assert [grown.find(name) for name in NAMES] == [walked.match(name) for name in NAMES]
