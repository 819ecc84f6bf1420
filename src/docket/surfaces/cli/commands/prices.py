"""`docket prices`: what models cost by the price book that runs are billed by."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from docket.errors import UsageError
from docket.formats.canonical import JsonValue
from docket.formats.reason import Reason
from docket.formats.run.price_table import spell_price
from docket.host.clock import SystemClock
from docket.rules.spending.price_book import PriceBook, UnknownModel
from docket.rules.spending.price_listing import DEFAULT_PROVIDERS, PriceLine, lines_of_model, lines_of_providers
from docket.stores.prices import read_prices
from docket.surfaces.cli import console, exits

_COLUMNS = ("input", "cached", "write 5m", "write 1h", "output")


@click.command()
@click.argument("model", required=False)
@click.option("--provider", metavar="NAME", help="List this provider; 'all' lists every one.")
@click.option("--prices", "--path", "path", type=click.Path(path_type=Path), help="Price file to use instead.")
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def prices(model: str | None, provider: str | None, path: Path | None, *, as_json: bool) -> int:
    """Show what models cost, in dollars per million tokens.

    Without MODEL: the standard prices of every model. With it: every tier, speed and length that has prices of its
    own, under the name a receipt would show. Exit code 1 if the model is not listed.

    \b
    Examples:
      docket prices
      docket prices claude-sonnet-5
      docket prices gpt-5.4 --json
    """
    book = PriceBook.parse(read_prices(path))
    at = SystemClock().now()
    if model is None:
        return _show(book, lines_of_providers(book, _providers(book, provider), at), as_json=as_json)
    found = lines_of_model(book, model, at)
    if isinstance(found, UnknownModel):
        return _unknown(book, found, as_json=as_json)
    lines = found if provider in (None, "all") else tuple(line for line in found if line.provider == provider)
    return _show(book, lines, as_json=as_json)


def _providers(book: PriceBook, asked: str | None) -> tuple[str, ...]:
    if asked is None:
        return tuple(name for name in DEFAULT_PROVIDERS if name in book.providers())
    if asked == "all":
        return book.providers()
    if asked not in book.providers():
        raise UsageError(
            Reason.UNKNOWN_PROVIDER,
            f"the price book has no provider {asked!r}",
            hint=f"it has: {', '.join(book.providers()) or 'one table for all'}",
        )
    return (asked,)


def _document(book: PriceBook, lines: Sequence[PriceLine]) -> dict[str, JsonValue]:
    return {
        **book.session_members(),
        "currency": "USD",
        "unit": "per_million_tokens",
        "sources": book.meta.get("sources", []),
        "rows": [line.to_json() for line in lines],
    }


def _show(book: PriceBook, lines: Sequence[PriceLine], *, as_json: bool) -> int:
    if as_json:
        console.result(json.dumps(_document(book, lines), indent=2))
        return exits.OK
    width = max((len(console.plain(line.family)) for line in lines), default=5)
    provider: str | None = None
    for line in lines:
        if line.provider != provider:
            provider = line.provider
            heading = f"{console.plain(provider) or 'family':<{width}}"
            console.result(click.style(heading + "".join(f"{name:>10}" for name in _COLUMNS), bold=True))
        console.result(f"{console.plain(line.family):<{width}}" + "".join(f"{text:>10}" for text in _cells(line)))
    console.result(f"US dollars per million tokens, as of {book.as_of} ({console.plain(_origin(book))})")
    return exits.OK


def _cells(line: PriceLine) -> list[str]:
    rates = line.rates
    shown = (rates.input, rates.cached_input, rates.cache_write, rates.cache_write_1h, rates.output)
    return ["-" if price is None else spell_price(price) for price in shown]


def _origin(book: PriceBook) -> str:
    sources = book.meta.get("sources")
    names = [
        " ".join(str(source[key]) for key in ("name", "version") if key in source)
        for source in (sources if isinstance(sources, list) else ())
        if isinstance(source, dict)
    ]
    return ", ".join(names) or book.schema


def _unknown(book: PriceBook, unknown: UnknownModel, *, as_json: bool) -> int:
    if as_json:
        console.result(json.dumps({**_document(book, ()), "nearest": list(unknown.nearest)}, indent=2))
    else:
        near = f"; near it: {', '.join(unknown.nearest)}" if unknown.nearest else ""
        console.say(console.plain(f"no price for the model {unknown.model}{near}"))
    return exits.FAILED
