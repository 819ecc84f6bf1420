"""What another price book would change: the standard prices of each model, row by row."""

from __future__ import annotations

from collections.abc import Mapping

from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass
from docket.rules.spending.price_book import PriceBook
from docket.rules.spending.price_listing import PriceLine, lines_of_providers

_NAMES = ("provider", "model", "family", "source")


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceChange:
    """One model's row before and after; None where the book has none. `prices` holds what differs, as decimals."""

    provider: str
    model: str
    was_listed: bool
    is_listed: bool
    prices: Mapping[str, tuple[str | None, str | None]]

    def to_json(self) -> dict[str, JsonValue]:
        """Return the change as a document."""
        prices: dict[str, JsonValue] = {name: [before, after] for name, (before, after) in self.prices.items()}
        return {"provider": self.provider, "model": self.model, "change": self.kind, "prices": prices}

    @property
    def kind(self) -> str:
        """`added`, `removed` or `changed`."""
        if not self.was_listed:
            return "added"
        return "changed" if self.is_listed else "removed"


def price_changes(old: PriceBook, new: PriceBook, at: str) -> tuple[PriceChange, ...]:
    """Return every row that differs between two books at an instant, in the order of the new one, then the old one."""
    before, after = _rows(old, at), _rows(new, at)
    found = []
    for key in dict.fromkeys((*after, *before)):
        was, now = before.get(key, {}), after.get(key, {})
        differing = {name: (was.get(name), now.get(name)) for name in dict.fromkeys((*was, *now))}
        prices = {name: pair for name, pair in differing.items() if pair[0] != pair[1]}
        if prices:
            provider, model = key
            found.append(
                PriceChange(
                    provider=provider, model=model, was_listed=key in before, is_listed=key in after, prices=prices
                )
            )
    return tuple(found)


def _rows(book: PriceBook, at: str) -> dict[tuple[str, str], dict[str, str]]:
    return {(line.provider, line.model): _prices(line) for line in lines_of_providers(book, book.providers(), at)}


def _prices(line: PriceLine) -> dict[str, str]:
    return {name: str(value) for name, value in line.to_json().items() if name not in _NAMES}
