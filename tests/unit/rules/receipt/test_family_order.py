"""Families that are looked up by name and added one by one price as a table does that is walked from its beginning."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from docket.formats.letters import lowered
from docket.formats.run.price_table import FALLBACK_PATTERN, Family, Match, PriceTable, alternatives, specific_first
from docket.rules.receipt.families import Families

PARTS = st.sampled_from(["a", "b", "A", "+", "*", "?", "[ab]", "[", "]", "[!a]", " ", "/", "\n", "\u0130"])
PATTERNS = st.lists(st.lists(PARTS, max_size=4).map("".join), max_size=6)
NAMES = ("", "a", "b", "ab", "aa", "A", "[", "]", "a]", "[a", " a", "a\n", "\u0130", "i\u0307", "c", "+", "a+b", "ab+")


def tables(patterns: list[str]) -> list[Family]:
    return [Family(pattern=pattern, input=str(number), output="0") for number, pattern in enumerate(patterns)]


def walked(families: Iterable[Family], model: str) -> Match | None:
    """What a walk over all families with the shell's globbing finds."""
    fallback = None
    for family in families:
        for pattern in alternatives(family.pattern):
            if pattern == FALLBACK_PATTERN:
                fallback = fallback or family
            elif fnmatch.fnmatchcase(lowered(model), pattern):
                return Match(family, assumed=False)
    return None if fallback is None else Match(fallback, assumed=True)


@given(PATTERNS)
def test_in_the_order_of_a_document(patterns: list[str]) -> None:
    families = tables(patterns)
    table, looked_up = PriceTable(meta={}, families=tuple(families)), Families(families)
    variants = [family for family in families if "+" in family.pattern]

    wanted = [walked(families, name) for name in NAMES]
    assert [looked_up.find(name) for name in NAMES] == wanted
    assert [table.match(name) for name in NAMES] == wanted
    assert [table.match_variant(name) for name in NAMES] == [walked(variants, name) for name in NAMES]


@given(PATTERNS)
def test_the_most_specific_first_whenever_one_is_added(patterns: list[str]) -> None:
    known: list[Family] = []
    grown = Families(specific_first=True)
    for family in tables(list(dict.fromkeys(patterns))):
        known.append(family)
        grown.add(family)
        ordered = specific_first(known)
        assert [grown.find(name) for name in NAMES] == [walked(ordered, name) for name in NAMES]
