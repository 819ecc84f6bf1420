"""Exact US dollars in whole micro-dollars.

Rules (spec/canonical.md, Money): an amount is a decimal string with exactly two digits after the point when it is
a whole number of cents, else exactly six. How a computed one is rounded is `formats.run.price_table`.
"""

from __future__ import annotations

import re

from docket.errors import InvalidDocumentError
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason

MICROS_PER_USD = 1_000_000
_MICROS_PER_CENT = 10_000
_LENIENT = re.compile(r"(0|[1-9][0-9]{0,11})(?:\.([0-9]{1,6}))?")


@dataclass(frozen=True, slots=True, order=True)
class Usd:
    """An amount of US dollars; `micros` is a non-negative count of micro-dollars."""

    micros: int

    def __post_init__(self) -> None:
        if type(self.micros) is not int or self.micros < 0:
            raise InvalidDocumentError(
                Reason.NOT_AN_AMOUNT, "an amount is a whole, non-negative count of micro-dollars"
            )

    @classmethod
    def parse(cls, text: object) -> Usd:
        """Read a decimal string with at most six digits after the point (`5`, `0.05`, `1.234567`)."""
        match = _LENIENT.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise InvalidDocumentError(
                Reason.NOT_AN_AMOUNT, f"{text!r} is not an amount: write dollars with at most six decimals, as in 5.00"
            )
        whole, fraction = match.group(1), match.group(2) or ""
        return cls(int(whole) * MICROS_PER_USD + int(fraction.ljust(6, "0")))

    @classmethod
    def parse_canonical(cls, text: object) -> Usd:
        """Read an amount and refuse any spelling but the canonical one."""
        amount = cls.parse(text)
        if str(amount) != text:
            raise InvalidDocumentError(Reason.NOT_CANONICAL, f"{text!r} is not the canonical spelling of {amount}")
        return amount

    def __str__(self) -> str:
        whole, rest = divmod(self.micros, MICROS_PER_USD)
        if rest % _MICROS_PER_CENT == 0:
            return f"{whole}.{rest // _MICROS_PER_CENT:02d}"
        return f"{whole}.{rest:06d}"

    def __add__(self, other: Usd) -> Usd:
        return Usd(self.micros + other.micros)


ZERO = Usd(0)
