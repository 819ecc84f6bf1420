"""The embedded price table: finding a model's family and pricing a row by it (spec/receipt.md, Price table).

Rules: a pattern's alternatives are split on `/`, matched as lower-case file-name patterns against the lower-cased
model, first family in order wins; `*` is the fallback and marks the model as assumed. A row costs
((input - cached) * input price + cached * cached price + output * output price) / 1,000,000 dollars, rounded half
to even to a micro-dollar.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fnmatch import fnmatchcase

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd, cost_micros
from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.reason import Reason
from docket.formats.run.receipt import FALLBACK_PATTERN

MAX_PRICE = Decimal(10) ** 9
MAX_PRICE_DIGITS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One priced family; prices are dollars per million tokens."""

    pattern: str
    input: Decimal
    cached_input: Decimal
    output: Decimal

    def cost(self, *, input_tokens: int, cached_input_tokens: int, output_tokens: int) -> Usd:
        """Return what a row of these tokens costs, rounded once."""
        fresh = max(input_tokens - cached_input_tokens, 0)
        return Usd.from_decimal(
            cost_micros(fresh, self.input)
            + cost_micros(cached_input_tokens, self.cached_input)
            + cost_micros(output_tokens, self.output)
        )

    @property
    def is_fallback(self) -> bool:
        """Whether a model priced here is an assumed one."""
        return self.pattern == FALLBACK_PATTERN


class Families:
    """The families of a table in order; finding is remembered by model name."""

    def __init__(self, families: Sequence[Family]) -> None:
        self._families = tuple(families)
        self._alternatives = tuple(
            tuple(part.strip().lower() for part in family.pattern.split("/")) for family in families
        )
        self._found: dict[str, Family | None] = {}

    @classmethod
    def of(cls, document: JsonObject) -> Families:
        """Read the `families` of a table document; InvalidDocumentError names the family that is wrong."""
        families = document.get("families")
        if not isinstance(families, Sequence) or isinstance(families, str):
            raise InvalidDocumentError(Reason.WRONG_TYPE, "price_table.document.families is not an array")
        return cls([_family(item, f"families[{index}]") for index, item in enumerate(families)])

    def find(self, model: str) -> Family | None:
        """Return the first family that matches `model`."""
        if model not in self._found:
            self._found[model] = self._search(model.lower())
        return self._found[model]

    def _search(self, model: str) -> Family | None:
        for family, alternatives in zip(self._families, self._alternatives, strict=True):
            if any(fnmatchcase(model, alternative) for alternative in alternatives):
                return family
        return None


def _family(item: JsonValue, where: str) -> Family:
    if not isinstance(item, Mapping):
        raise InvalidDocumentError(Reason.WRONG_TYPE, f"{where} is not an object")
    pattern = item.get("pattern")
    if not isinstance(pattern, str):
        raise InvalidDocumentError(Reason.WRONG_TYPE, f"{where}.pattern is not a text")
    price = _price(item.get("input"), f"{where}.input")
    cached = item.get("cached_input")
    return Family(
        pattern=pattern,
        input=price,
        cached_input=price if cached is None else _price(cached, f"{where}.cached_input"),
        output=_price(item.get("output"), f"{where}.output"),
    )


def _price(value: JsonValue, where: str) -> Decimal:
    if not isinstance(value, str) or len(value) > MAX_PRICE_DIGITS or not value.isascii():
        raise InvalidDocumentError(Reason.NOT_AN_AMOUNT, f"{where} is not a decimal string")
    try:
        price = Decimal(value)
    except InvalidOperation as error:
        raise InvalidDocumentError(Reason.NOT_AN_AMOUNT, f"{where} is not a decimal string") from error
    if not price.is_finite() or not 0 <= price <= MAX_PRICE:
        raise InvalidDocumentError(Reason.NOT_AN_AMOUNT, f"{where} is not a price from 0 to {MAX_PRICE}")
    return price


def literal(model: str) -> str:
    """Return the pattern that matches exactly `model` (glob characters escaped, `/` as `?`)."""
    escaped = "".join(f"[{char}]" if char in "*?[" else char for char in model)
    return escaped.replace("/", "?")
