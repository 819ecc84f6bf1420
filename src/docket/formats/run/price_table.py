"""The price table a receipt embeds: `docket/prices/v1` (spec/receipt.md, Price table).

Rules:
1. A family's prices are US dollars per million tokens, decimal strings with at most six digits after the point.
2. A pattern is one or more alternatives split at `/`, matched as shell globs on the lower-cased model name; the
   first family that matches wins. The pattern `*` is the fallback and marks the model as assumed.
3. cost = (max(input - cached, 0) * input price + cached * cached price + output * output price) / 10**6,
   in micro-dollars, rounded once half to even; without a cached price the input price counts.
4. docket embeds literal patterns alone: every character that a glob or the alternatives give a meaning is `?`.

It knows nothing of providers, tiers and dates: those are settled before a family is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.dataclass import dataclass, field
from docket.formats.effort import Effort
from docket.formats.letters import lowered
from docket.formats.reading import Reader
from docket.formats.reason import Reason
from docket.formats.run.pattern_index import PatternIndex, Rank

SCHEMA = "docket/prices/v1"
CURRENCY = "USD"
UNIT = "per_million_tokens"
FALLBACK_PATTERN = "*"
FALLBACK_MARKER = "assumed"
_PRICE = re.compile(r"(0|[1-9][0-9]{0,6})(?:\.([0-9]{1,6}))?")
_SPECIAL = re.compile(r"[*?\[\]/]|^\s|\s$")
_SCALE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Models that cost the same; prices are decimal strings per million tokens."""

    pattern: str
    input: str
    cached_input: str | None = None
    output: str
    source: str | None = None

    def __post_init__(self) -> None:
        for text in (self.input, self.cached_input, self.output):
            if text is not None:
                parse_price(text)

    def to_json(self) -> dict[str, JsonValue]:
        """Return the object of the document."""
        members = {
            "pattern": self.pattern,
            "input": self.input,
            "cached_input": self.cached_input,
            "output": self.output,
            "source": self.source,
        }
        return {name: value for name, value in members.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Match:
    """The family of a model; `assumed` where only the fallback fitted."""

    family: Family
    assumed: bool


class FamilyIndex:
    """Families in their places, found by what their patterns match (`PatternIndex`); the fallback behind them all."""

    __slots__ = ("_fallback", "_patterns")

    def __init__(self, effort: Effort | None = None) -> None:
        self._patterns = PatternIndex[Family](effort)
        self._fallback: tuple[Rank, Family] | None = None

    def add(self, family: Family, rank: Rank) -> None:
        """Take one more, in its place."""
        for pattern in alternatives(family.pattern):
            if pattern != FALLBACK_PATTERN:
                self._patterns.add(pattern, rank, family)
            elif self._fallback is None or rank < self._fallback[0]:
                self._fallback = rank, family

    def steps(self, name: str) -> int:
        """Return what finding a name's family counts, where efforts are counted."""
        return self._patterns.steps(name)

    def match(self, name: str) -> Match | None:
        """Return the first family that fits a name in lower case, None if there is not even a fallback."""
        family = self._patterns.first(name)
        if family is not None:
            return Match(family, assumed=False)
        return None if self._fallback is None else Match(self._fallback[1], assumed=True)


def at_place(number: int) -> Rank:
    """Return the rank of the family that stands there in a table that is walked from its beginning."""
    return False, 0, number, ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTable:
    """A table in matching order; `meta` is the document's `_meta` as it stands.

    `indexes` is its own: what is made of the families when the first model is looked up, all of them and the variants.
    """

    meta: JsonObject
    families: tuple[Family, ...]
    indexes: dict[str, FamilyIndex] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "indexes", {})

    def match(self, model: str) -> Match | None:
        """Return the first family that fits the model, None if there is not even a fallback."""
        return self._index("").match(lowered(model))

    def match_variant(self, model: str) -> Match | None:
        """As `match`, among the families alone that were written for a component or a tier: their pattern has a `+`."""
        return self._index("+").match(lowered(model))

    def _index(self, mark: str) -> FamilyIndex:
        known = self.indexes.get(mark)
        if known is None:
            known = FamilyIndex()
            for number, family in enumerate(self.families):
                if mark in family.pattern:
                    known.add(family, at_place(number))
            self.indexes[mark] = known
        return known

    def document(self) -> dict[str, JsonValue]:
        """Return the document."""
        return {"_meta": self.meta, "families": [family.to_json() for family in self.families]}


def read_price_table(value: JsonValue) -> PriceTable:
    """Read a document; InvalidDocumentError names the member that is wrong. `_meta` may hold more than is read."""
    reader = Reader(value, "price table")
    meta = reader.mapping("_meta")
    families = tuple(_family(item, f"price table.families[{at}]") for at, item in enumerate(reader.items("families")))
    reader.close()
    for name, wanted in (("schema", SCHEMA), ("currency", CURRENCY), ("unit", UNIT)):
        if meta.get(name) != wanted:
            raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, f"price table._meta.{name} is not {wanted!r}")
    return PriceTable(meta=meta, families=families)


def embedded(families: Iterable[Family], meta: Mapping[str, JsonValue]) -> PriceTable:
    """Return the table of the families used, most specific first; `meta` adds members such as as_of and sources."""
    fixed: dict[str, JsonValue] = {
        "schema": SCHEMA,
        "currency": CURRENCY,
        "unit": UNIT,
        "fallback_marker": FALLBACK_MARKER,
    }
    return PriceTable(meta={**meta, **fixed}, families=specific_first(families))


def specific_first(families: Iterable[Family]) -> tuple[Family, ...]:
    """Return families so that a literal pattern stands before every pattern that could also match its text."""
    return tuple(sorted(families, key=specificity))


def specificity(family: Family) -> Rank:
    """Return where a family stands in an embedded table; no two patterns have the same place."""
    pattern = family.pattern
    return pattern == FALLBACK_PATTERN, pattern.count("*"), pattern.count("?"), pattern


@lru_cache(maxsize=4096)
def alternatives(pattern: str) -> tuple[str, ...]:
    """Return the globs of a pattern, lower-cased and without outer blanks."""
    return tuple(lowered(part.strip()) for part in pattern.split("/") if part.strip())


def literal_pattern(model: str) -> str:
    """Return the pattern that matches this model's name and, but for its special characters, no other."""
    return _SPECIAL.sub("?", lowered(model)) or "?"


def family_name(model: str) -> str:
    """Return the name under which a model's families stand: `+` separates variants, so a model's own is escaped."""
    return model.replace("%", "%25").replace("+", "%2B")


@lru_cache(maxsize=4096)
def parse_price(text: str) -> int:
    """Return a price in micro-dollars per million tokens; InvalidDocumentError unless it is spelled as rule 1 says."""
    match = _PRICE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise InvalidDocumentError(
            Reason.NOT_AN_AMOUNT, f"{text!r} is not a price: write dollars per million tokens with at most six decimals"
        )
    return int(match.group(1)) * _SCALE + int((match.group(2) or "").ljust(6, "0"))


def spell_price(micros: int) -> str:
    """Return the shortest spelling of a price in micro-dollars per million tokens."""
    whole, rest = divmod(micros, _SCALE)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".")


def cost_row(family: Family, input_tokens: int, cached_input_tokens: int, output_tokens: int) -> Usd:
    """Return what one row costs (rule 3)."""
    price_in, price_out = parse_price(family.input), parse_price(family.output)
    price_cached = price_in if family.cached_input is None else parse_price(family.cached_input)
    scaled = (
        max(input_tokens - cached_input_tokens, 0) * price_in
        + cached_input_tokens * price_cached
        + output_tokens * price_out
    )
    micros, rest = divmod(scaled, _SCALE)
    if rest * 2 > _SCALE or (rest * 2 == _SCALE and micros % 2):
        micros += 1
    return Usd(micros)


def _family(value: JsonValue, where: str) -> Family:
    reader = Reader(value, where)
    family = Family(
        pattern=reader.text("pattern"),
        input=reader.text("input"),
        cached_input=reader.optional("cached_input", reader.text),
        output=reader.text("output"),
        source=reader.optional("source", reader.text),
    )
    reader.close()
    return family
