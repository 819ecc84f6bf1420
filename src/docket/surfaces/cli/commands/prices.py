"""`docket prices`: what models cost by the price book that runs are billed by."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docket.errors import DocketError, InvalidDocumentError, UsageError
from docket.formats.canonical import JsonValue
from docket.formats.reason import Reason
from docket.formats.run.price_table import spell_price
from docket.host.clock import SystemClock
from docket.rules.spending.price_book import PriceBook, UnknownModel
from docket.rules.spending.price_listing import DEFAULT_PROVIDERS, PriceLine, lines_of_model, lines_of_providers
from docket.stores.prices import IMPORTED_NAME, forget_prices, keep_prices, read_prices
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.completing import models_like
from docket.surfaces.cli.pricebook import book_in_force
from docket.surfaces.cli.project import config_folder

if TYPE_CHECKING:
    from docket.rules.spending.price_changes import PriceChange

_COLUMNS = ("input", "cached", "write 5m", "write 1h", "output")
_SHOWN_CHANGES = 20
_SHOW = "show"


class PricesGroup(click.Group):
    """A group whose first word may also be a model: `docket prices claude-sonnet-5` shows its rows."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take what names no command as arguments of `show`."""
        if not args or (args[0] not in self.commands and args[0] not in ("-h", "--help")):
            args = [_SHOW, *args]
        return super().parse_args(ctx, args)


@click.group(cls=PricesGroup, context_settings={"help_option_names": ["-h", "--help"]})
def prices() -> None:
    """Show what models cost, or keep a price table of your own.

    \b
    Examples:
      docket prices
      docket prices claude-sonnet-5
      docket prices gpt-5.4 --json
      docket prices show --help
      docket prices import prices.json --dry-run
      docket prices reset
    """


@prices.command(_SHOW)
@click.argument("model", required=False, shell_complete=models_like)
@click.option("--provider", metavar="NAME", help="List this provider; 'all' lists every one.")
@click.option("--prices", "--path", "path", type=click.Path(path_type=Path), help="Price file to use instead.")
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def show(model: str | None, provider: str | None, path: Path | None, *, as_json: bool) -> int:
    """Show what models cost, in dollars per million tokens. The word `show` may be left out.

    Without MODEL: the standard prices of every model. With it: every tier, speed and length that has prices of its
    own, under the name a receipt would show. Exit code 1 if the model is not listed.

    \b
    Examples:
      docket prices show claude-sonnet-5
      docket prices show --provider openai
      docket prices show gpt-5.4 --json | jq -r '.rows[].input'
    """
    book = book_in_force(path)
    at = SystemClock().now()
    if model is None:
        return _show(book, lines_of_providers(book, _providers(book, provider), at), as_json=as_json)
    found = lines_of_model(book, model, at)
    if isinstance(found, UnknownModel):
        return _unknown(book, found, as_json=as_json)
    lines = found if provider in (None, "all") else tuple(line for line in found if line.provider == provider)
    return _show(book, lines, as_json=as_json)


@prices.command("import", short_help="Keep a file as your price table.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print every change as JSON.")
def import_(file: Path, *, dry_run: bool, as_json: bool) -> int:
    """Keep FILE as your price table: later runs are billed by it, unless --prices names another.

    FILE is docket's own price book, a docket/prices/v1 table, genai-prices' data.json or LiteLLM's JSON. It is checked
    whole; nothing is fetched. What the last two do not list keeps docket's own prices.

    \b
    Examples:
      docket prices import prices.json --dry-run
      docket prices import model_prices_and_context_window.json
    """
    from docket.rules.spending.price_changes import price_changes  # noqa: PLC0415 - only this command compares
    from docket.rules.spending.price_import import import_prices  # noqa: PLC0415

    folder, at = _config_folder(), SystemClock().now()
    shipped = PriceBook.parse(read_prices(None))
    try:
        new = import_prices(read_prices(file), source=file.name, day=at[:10], shipped=shipped)
    except InvalidDocumentError as error:
        hint = error.hint or "nothing was changed"
        raise InvalidDocumentError(error.reason, f"{file} cannot be imported: {error.detail}", hint=hint) from error
    changes = price_changes(_held(shipped), new.book, at)
    if not dry_run:
        keep_prices(folder, new.data)
    if as_json:
        kept = {**new.book.session_members(), "kept": not dry_run, "left_out": new.left_out}
        console.result(console.as_json({**kept, "changes": [change.to_json() for change in changes]}))
        return exits.OK
    _show_changes(changes)
    if new.left_out:
        left = "1 entry" if new.left_out == 1 else f"{new.left_out} entries"
        console.say(f"{left} of the file without a price for tokens or audio left out")
    done = "would be kept" if dry_run else "is kept"
    console.result(
        console.plain(f"{file} ({new.form}) {done} as {folder / IMPORTED_NAME}; docket prices reset removes it")
    )
    return exits.OK


def _show_changes(changes: Sequence[PriceChange]) -> None:
    for change in changes[:_SHOWN_CHANGES]:
        console.result(console.plain(_told(change)))
    if len(changes) > _SHOWN_CHANGES:
        console.result(f"and {len(changes) - _SHOWN_CHANGES} more; --json shows all")
    console.result(f"{len(changes)} of the models' standard rows differ from the prices held until now")


@prices.command()
def reset() -> int:
    """Remove your imported price table; docket's own holds again.

    \b
    Example:
      docket prices reset
    """
    removed = forget_prices(_config_folder())
    console.result("the imported price table is removed" if removed else "there is no imported price table")
    return exits.OK


def _config_folder() -> Path:
    folder = config_folder()
    if folder is None:
        raise UsageError(Reason.NOT_FOUND, "no folder for your configuration is known: set HOME or XDG_CONFIG_HOME")
    return folder


def _held(shipped: PriceBook) -> PriceBook:
    try:
        return book_in_force(None)
    except DocketError:
        # The table that is held is damaged; importing another is how it is mended.
        return shipped


def _told(change: PriceChange) -> str:
    where = f"{change.provider}/{change.model}" if change.provider else change.model
    prices = ", ".join(f"{name} {before or '-'} -> {after or '-'}" for name, (before, after) in change.prices.items())
    return f"{change.kind:<8} {where}: {prices}"


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
        console.result(console.as_json(_document(book, lines)))
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
    imported = book.imported
    if imported is not None:
        names.append(f"imported from {imported.get('source')} on {imported.get('date')}")
    return ", ".join(names) or book.schema


def _unknown(book: PriceBook, unknown: UnknownModel, *, as_json: bool) -> int:
    if as_json:
        console.result(console.as_json({**_document(book, ()), "nearest": list(unknown.nearest)}))
    else:
        near = f"; near it: {', '.join(unknown.nearest)}" if unknown.nearest else ""
        console.say(console.plain(f"no price for the model {unknown.model}{near}"))
    return exits.FAILED
