"""The price book as rows for people: the same tariffs that calls are billed by, asked for one by one.

Rules:
1. A model has a row for every provider that lists it, for its standard prices, every tier and speed with prices of
   its own, and every step for long inputs.
2. Without a model, every model of a provider has its standard row.
3. A `docket/prices/v1` table is listed as it stands: its families are its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.run.price_table import PriceTable, parse_price, spell_price
from docket.rules.spending.price_book import Found, PriceBook, UnknownModel
from docket.rules.spending.tariff import Asked, Rates, Tariff, resolve, tariff_of

DEFAULT_PROVIDERS = ("anthropic", "openai")


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceLine:
    """One row: the family name a receipt would show, and its prices."""

    provider: str
    model: str
    family: str
    rates: Rates
    source: str

    def to_json(self) -> dict[str, JsonValue]:
        """Return decimal strings: dollars per million tokens, and per thousand searches."""
        rates = self.rates
        prices = {
            "input": rates.input,
            "cached_input": rates.cached_input,
            "cache_write": rates.cache_write,
            "cache_write_1h": rates.cache_write_1h,
            "output": rates.output,
            "audio_input": rates.audio_input,
            "audio_output": rates.audio_output,
            "web_search": _per_thousand(rates.web_search),
            "file_search": _per_thousand(rates.file_search),
            "cached_audio_input": rates.cached_audio_input,
            "image_input": rates.image_input,
            "cached_image_input": rates.cached_image_input,
            "image_output": rates.image_output,
            "code_interpreter": _per_thousand(rates.code_interpreter),
            "audio_hour": None if rates.audio_hour is None else rates.audio_hour * 3600 // 10**6,
        }
        named: dict[str, JsonValue] = {"provider": self.provider, "model": self.model, "family": self.family}
        spelled = {name: spell_price(value) for name, value in prices.items() if value is not None}
        return {**named, **spelled, "source": self.source}


def lines_of_model(book: PriceBook, model: str, at: str) -> tuple[PriceLine, ...] | UnknownModel:
    """Return the rows of a model at an instant, or that the book does not list it."""
    if book.table is not None:
        match = book.table.match(model)
        if match is None or match.assumed:
            return UnknownModel("", model, book.nearest("", model))
        return tuple(line for line in _table_lines(book, book.table) if line.family == match.family.pattern)
    lines: list[PriceLine] = []
    for provider in book.providers():
        found = book.find(provider, model)
        if isinstance(found, Found) and not found.assumed:
            lines += (_line(provider, tariff, found.entry) for tariff in _tariffs(book, provider, model, found, at))
    if lines:
        return tuple(lines)
    near = [name for provider in DEFAULT_PROVIDERS for name in book.nearest(provider, model)]
    return UnknownModel("", model, tuple(dict.fromkeys(near)))


def lines_of_providers(book: PriceBook, providers: tuple[str, ...], at: str) -> tuple[PriceLine, ...]:
    """Return the standard row of every model of these providers; of a table, all its rows."""
    if book.table is not None:
        return tuple(_table_lines(book, book.table))
    return tuple(
        _line(provider, _standard(book, provider, entry, at), entry)
        for provider in providers
        for entry in book.section(provider).get("models", ())
    )


def _standard(book: PriceBook, provider: str, entry: Mapping[str, Any], at: str) -> Tariff:
    # By the entry and not by its id: an id may stand for a family of names without being one of them.
    return tariff_of(book, Asked(provider=provider, model=entry["id"], at=at), Found(provider, entry, assumed=False))


def _tariffs(book: PriceBook, provider: str, model: str, found: Found, at: str) -> Iterator[Tariff]:
    served: list[dict[str, str]] = [{}]
    for variant in found.entry.get("variants", ()):
        kind, name = next(iter(variant["served"].items()), ("", ""))
        members = {"speed" if kind == "speed" else "service_tier": name}
        if members not in served:
            served.append(members)
    lengths = {0}
    for price in (*found.entry["prices"], *found.entry.get("variants", ())):
        lengths.update(start + 1 for start, _ in price.get("above", ()))
    seen: set[str] = set()
    for members in served:
        for length in sorted(lengths):
            asked = Asked(
                provider=provider,
                model=model,
                at=at,
                input_tokens=length,
                service_tier=members.get("service_tier"),
                speed=members.get("speed"),
            )
            tariff = resolve(book, asked)
            if tariff.name not in seen and not tariff.assumed:
                seen.add(tariff.name)
                yield tariff


def _line(provider: str, tariff: Tariff, entry: Mapping[str, Any]) -> PriceLine:
    return PriceLine(provider=provider, model=entry["id"], family=tariff.name, rates=tariff.rates, source=tariff.source)


def _table_lines(book: PriceBook, table: PriceTable) -> Iterator[PriceLine]:
    for family in table.families:
        cached = None if family.cached_input is None else parse_price(family.cached_input)
        rates = Rates(input=parse_price(family.input), cached_input=cached, output=parse_price(family.output))
        source = family.source or f"{book.schema} as of {book.as_of}"
        yield PriceLine(provider="", model=family.pattern, family=family.pattern, rates=rates, source=source)


def _per_thousand(fee: int | None) -> int | None:
    return None if fee is None else fee // 1000
