"""Counts out of replies that may say anything."""

from __future__ import annotations

from dataclasses import dataclass, field

from docket.rules.providers.interface import MAX_COUNT
from docket.rules.providers.json_scan import JsonMap


def count(value: object) -> int | None:
    """Return a non-negative whole number below 10**12 (`12.0` is one too), None for anything else."""
    if type(value) is int:
        return value if 0 <= value < MAX_COUNT else None
    if isinstance(value, float) and value.is_integer():
        return count(int(value))
    return None


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
