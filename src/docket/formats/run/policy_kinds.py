"""The kinds of value a policy key may have: how each is written in TOML and in the digested document.

Rules (docs/reference/policy.md):
1. A value of another type is refused; true and false are never numbers.
2. Money and fractions are exact: what was written is what counts, and what cannot be kept exactly is refused.
3. NaN, infinities and negative numbers are refused wherever a number stands.
4. In the document a fraction is a decimal string in one spelling, a whole number an integer, an absent cap null.

A kind does not know the key it serves: the caller puts the key before the message.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum
from typing import NoReturn, Protocol

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.canonical import MAX_INTEGER, JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason

MAX_SECONDS = Decimal(10**9)

_MAX_DIGITS = 24


class ValueKind(Protocol):
    """A kind of value; every method raises InvalidDocumentError with what is wanted instead."""

    @property
    def wants(self) -> str:
        """What is wanted, in words that follow "must be"."""
        ...

    @property
    def toml_type(self) -> str:
        """The kind in one or two words, for the reference page."""
        ...

    def from_toml(self, value: object) -> object:
        """Return the typed value of what stood in a policy file."""
        ...

    def check(self, value: object) -> None:
        """Refuse a typed value outside the kind."""
        ...

    def to_json(self, value: object) -> JsonValue:
        """Return the document's form of a typed value."""
        ...

    def from_json(self, value: JsonValue) -> object:
        """Return the typed value of what `to_json` wrote."""
        ...


def shown_toml(value: object) -> str:
    """Return a value as a message shows it: short, on one line, tables and arrays by their type alone."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, (list, tuple)):
        return "an array"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def refuse(kind: ValueKind, value: object) -> NoReturn:
    """Raise for a value that is not of the kind."""
    raise InvalidDocumentError(Reason.WRONG_VALUE, f"must be {kind.wants}, not {shown_toml(value)}")


@dataclass(frozen=True, slots=True)
class Amount:
    """Dollars (`Usd`), or None where there is no cap."""

    wants: str = "an amount of dollars with at most six decimals, as in 5.00"
    toml_type: str = "dollars"

    def from_toml(self, value: object) -> object:
        """Accept `5`, `5.25` and `"5.25"`."""
        try:
            return Usd.parse(_exact_text(value))
        except InvalidDocumentError:
            refuse(self, value)

    def check(self, value: object) -> None:
        """Accept `Usd` and None."""
        if value is not None and not isinstance(value, Usd):
            refuse(self, value)

    def to_json(self, value: object) -> JsonValue:
        """Return the canonical decimal string."""
        return None if value is None else str(value)

    def from_json(self, value: JsonValue) -> object:
        """Read the canonical decimal string or null."""
        return None if value is None else Usd.parse_canonical(value)


@dataclass(frozen=True, slots=True)
class Count:
    """A whole number of at least `minimum`; `optional` allows None, `zero_is_none` writes None as 0 in TOML."""

    minimum: int = 0
    optional: bool = False
    zero_is_none: bool = False
    toml_type: str = "whole number"

    @property
    def wants(self) -> str:
        """Name the least allowed number."""
        zero = "0 (no ceiling) or " if self.zero_is_none else ""
        return f"{zero}a whole number of at least {self.minimum}"

    def from_toml(self, value: object) -> object:
        """Accept an integer."""
        if self.zero_is_none and type(value) is int and value == 0:
            return None
        self.check(value)
        return value

    def check(self, value: object) -> None:
        """Accept an integer in range, and None where the key may be absent."""
        if value is None and (self.optional or self.zero_is_none):
            return
        if type(value) is not int or not self.minimum <= value <= MAX_INTEGER:
            refuse(self, value)

    def to_json(self, value: object) -> JsonValue:
        """Return the integer or null."""
        return value  # type: ignore[return-value]

    def from_json(self, value: JsonValue) -> object:
        """Read the integer or null."""
        self.check(value)
        return value


@dataclass(frozen=True, slots=True)
class Fraction:
    """An exact `Decimal` with at most `places` decimals between two bounds; `optional` allows None."""

    wants: str
    minimum: Decimal
    maximum: Decimal
    places: int = 3
    optional: bool = False
    toml_type: str = "number"
    percent: bool = False

    def from_toml(self, value: object) -> object:
        """Accept an integer, a decimal fraction or its text; with `percent`, a whole number from 2 to 100 too."""
        try:
            number = Decimal(_exact_text(value))
        except InvalidDocumentError:
            refuse(self, value)
        if self.percent and number > 1 and number == int(number):
            number = number / 100
        if not self._holds(number):
            refuse(self, value)
        return _plain(number)

    def check(self, value: object) -> None:
        """Accept a `Decimal` in range, and None where the key may be absent."""
        if value is None and self.optional:
            return
        if not isinstance(value, Decimal) or not value.is_finite() or not self._holds(value):
            refuse(self, value)

    def to_json(self, value: object) -> JsonValue:
        """Return an integer when it is one, else the shortest decimal string."""
        if value is None:
            return None
        number = _plain(value)  # type: ignore[arg-type]
        return int(number) if number == int(number) else format(number, "f")

    def from_json(self, value: JsonValue) -> object:
        """Read exactly what `to_json` writes."""
        if value is None and self.optional:
            return None
        if type(value) is not int and not (isinstance(value, str) and _DECIMAL.fullmatch(value)):
            refuse(self, value)
        number = Decimal(value)
        self.check(number)
        if self.to_json(number) != value:
            raise InvalidDocumentError(Reason.NOT_CANONICAL, f"{shown_toml(value)} is not the canonical spelling")
        return number

    def _holds(self, number: Decimal) -> bool:
        if not self.minimum <= number <= self.maximum:
            return False
        return number == number.quantize(Decimal(1).scaleb(-self.places))


@dataclass(frozen=True, slots=True)
class Choice:
    """One member of a `StrEnum`."""

    members: type[StrEnum]
    toml_type: str = "text"

    @property
    def wants(self) -> str:
        """Name the choices."""
        return " or ".join(f'"{member}"' for member in self.members)

    def from_toml(self, value: object) -> object:
        """Accept the exact text of a member."""
        if not isinstance(value, str) or value not in [str(member) for member in self.members]:
            refuse(self, value)
        return self.members(value)

    def check(self, value: object) -> None:
        """Accept a member, never its bare text."""
        if not isinstance(value, self.members):
            refuse(self, value)

    def to_json(self, value: object) -> JsonValue:
        """Return the text."""
        return str(value)

    def from_json(self, value: JsonValue) -> object:
        """Read the text."""
        return self.from_toml(value)


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    wants: str = "true or false"
    toml_type: str = "true or false"

    def from_toml(self, value: object) -> object:
        """Accept a boolean."""
        self.check(value)
        return value

    def check(self, value: object) -> None:
        """Accept a boolean."""
        if not isinstance(value, bool):
            refuse(self, value)

    def to_json(self, value: object) -> JsonValue:
        """Return the boolean."""
        return bool(value)

    def from_json(self, value: JsonValue) -> object:
        """Read the boolean."""
        return self.from_toml(value)


@dataclass(frozen=True, slots=True)
class Text:
    """One line of text that is not empty."""

    wants: str = "a line of text of at most 200 characters"
    toml_type: str = "text"

    def from_toml(self, value: object) -> object:
        """Accept a text."""
        self.check(value)
        return value

    def check(self, value: object) -> None:
        """Accept a text without control characters or blanks around it."""
        if not isinstance(value, str) or not is_line(value) or len(value) > 200:
            refuse(self, value)

    def to_json(self, value: object) -> JsonValue:
        """Return the text."""
        return str(value)

    def from_json(self, value: JsonValue) -> object:
        """Read the text."""
        return self.from_toml(value)


@dataclass(frozen=True, slots=True)
class Texts:
    """An array of texts, each accepted by `accepts` (a tuple of `str`)."""

    item: str
    accepts: Callable[[str], bool]
    may_be_empty: bool = True
    toml_type: str = "array of texts"

    @property
    def wants(self) -> str:
        """Name what stands in the array."""
        return f"an array of {self.item}" if self.may_be_empty else f"an array of one or more {self.item}"

    def from_toml(self, value: object) -> object:
        """Accept an array; a lone text is refused with the array it was meant to be."""
        if isinstance(value, str):
            raise InvalidDocumentError(
                Reason.WRONG_TYPE, f"must be {self.wants}; write a single one as [{shown_toml(value)}]"
            )
        if not isinstance(value, (list, tuple)):
            refuse(self, value)
        typed = tuple(value)
        self.check(typed)
        return typed

    def check(self, value: object) -> None:
        """Accept a tuple of accepted texts."""
        if not isinstance(value, tuple) or not (value or self.may_be_empty):
            raise InvalidDocumentError(Reason.WRONG_VALUE, f"must be {self.wants}")
        for member in value:
            if not isinstance(member, str) or not is_utf8(member) or not self.accepts(member):
                raise InvalidDocumentError(
                    Reason.WRONG_VALUE, f"must be {self.wants}, and {shown_toml(member)} is not one of them"
                )

    def to_json(self, value: object) -> JsonValue:
        """Return a list of the texts."""
        return list(value)  # type: ignore[call-overload,no-any-return]

    def from_json(self, value: JsonValue) -> object:
        """Read the list."""
        return self.from_toml(value)


def is_utf8(text: str) -> bool:
    """Whether the text has a UTF-8 form."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def is_line(text: str) -> bool:
    """Whether the text is one line, not empty, without blanks around it or control characters in it."""
    return text.strip() == text != "" and is_utf8(text) and not any(ord(c) < 32 or ord(c) == 127 for c in text)


_DECIMAL = re.compile(r"(0|[1-9][0-9]{0,17})(\.[0-9]{1,9})?")


def _exact_text(value: object) -> str:
    """Return a TOML number or text as a plain decimal text; refuse what is not exactly one."""
    if type(value) is int:
        text = str(value) if abs(value) <= MAX_INTEGER else ""
    elif isinstance(value, Decimal):
        sign, digits, exponent = value.as_tuple()
        if sign or not isinstance(exponent, int) or len(digits) > _MAX_DIGITS or abs(exponent) > _MAX_DIGITS:
            text = ""
        else:
            text = format(value, "f")
    else:
        text = value if isinstance(value, str) else ""
    if not _DECIMAL.fullmatch(text):
        raise InvalidDocumentError(Reason.NOT_AN_AMOUNT, "not a plain decimal number")
    return text


def _plain(number: Decimal) -> Decimal:
    """Return an equal number without trailing zeros or an exponent."""
    if number == int(number):
        return Decimal(int(number))
    return Decimal(format(number, "f").rstrip("0"))
