"""Counts out of replies that may say anything."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal

from docket.formats.dataclass import dataclass, field
from docket.rules.providers.interface import MAX_COUNT
from docket.rules.providers.json_scan import JsonMap

_COST_PLACES = Decimal("0.000000000001")
_MOST_DOLLARS = Decimal(10**9)


def count(value: object) -> int | None:
    """Return a non-negative whole number below 10**12 (`12.0` is one too), None for anything else."""
    if type(value) is int:
        return value if 0 <= value < MAX_COUNT else None
    if isinstance(value, float) and value.is_integer():
        return count(int(value))
    return None


def upstream_cost(usage: JsonMap) -> str | None:
    """Return what a provider says a call cost: dollars as a decimal of at most 12 places, None where it is silent.

    A router names its charge as `cost`. With a key of the customer's own (`is_byok`) that is its fee alone, and what
    the model's provider bills comes on top; else the provider's share is inside it and never added.
    """
    ticks = count(usage.get("cost_in_usd_ticks"))
    charge = _dollars(usage.get("cost")) if ticks is None else Decimal(ticks) / 10**10
    if charge is None:
        return None
    details = usage.get("cost_details")
    if usage.get("is_byok") is True and isinstance(details, dict):
        charge += _dollars(details.get("upstream_inference_cost")) or 0
    text = format(charge.quantize(_COST_PLACES, rounding=ROUND_HALF_EVEN), "f")
    return text.rstrip("0").rstrip(".")


def _dollars(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    # The shortest text of a float is the one that was written, up to 15 digits.
    exact = Decimal(repr(value))
    return exact if exact.is_finite() and 0 <= exact < _MOST_DOLLARS else None


@dataclass(slots=True)
class Counts:
    """Counts of a usage object merged over the events that carry it.

    A later count wins, but a 0 never erases a known non-zero; null and absent change nothing. A member that is
    neither a count nor null is remembered in `unreadable`.
    """

    known: dict[str, int] = field(default_factory=dict)
    unreadable: set[str] = field(default_factory=set)

    def merge(self, usage: JsonMap, names: tuple[str, ...]) -> None:
        """Take the members `names` of a usage object."""
        for name in names if usage else ():
            value = usage.get(name)
            if value is None:
                continue
            number = count(value)
            if number is None:
                self.unreadable.add(name)
            elif number or name not in self.known:
                self.known[name] = number

    def get(self, name: str) -> int:
        """Return a count, 0 where none was reported."""
        return self.known.get(name, 0)

    def copy(self) -> Counts:
        """Return an independent copy."""
        return Counts(dict(self.known), set(self.unreadable))


def unreadable_note(*parts: Counts) -> str | None:
    """Return which member of a usage object could not be read, in words; None where all could."""
    unreadable = set().union(*(part.unreadable for part in parts))
    return f"usage.{min(unreadable)} is not a count" if unreadable else None
