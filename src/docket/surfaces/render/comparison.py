"""Two runs side by side, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.shown import shown
from docket.rules.analysis.comparison import Comparison, Figure, spelled
from docket.surfaces.cli.console import plain
from docket.surfaces.render import figures

_NAME, _VALUE = 24, 14
_PATHS_SHOWN = 10
_UNKNOWN = "not known"


def lines(left: JsonObject, right: JsonObject, comparison: Comparison) -> Iterator[str]:
    """Yield the lines for a person, styled."""
    for side, document in (("left", left), ("right", right)):
        number = plain(figures.text(document, "docket_number"))
        yield f"{side:<6} {click.style(number, bold=True)}  {plain(figures.ending(document))}"
    for caveat in comparison.caveats:
        yield click.style(f"note   {caveat}", fg="yellow")
    yield ""
    yield click.style(f"{'':<{_NAME}}{'left':>{_VALUE}}{'right':>{_VALUE}}{'change':>{_VALUE}}", dim=True)
    yield from (_figure(item) for item in comparison.figures if item.left or item.right)
    yield from _table("Cost by model", comparison.models)
    yield from _table("Findings by rule", comparison.findings)
    if comparison.texts:
        yield ""
        yield click.style("Differs", bold=True)
        for name, was, is_ in comparison.texts:
            yield f"  {name}: {_value(was)} -> {_value(is_)}"
    yield from _paths("Changed on the left only", comparison.paths_only_left)
    yield from _paths("Changed on the right only", comparison.paths_only_right)


def _table(title: str, items: Sequence[Figure]) -> Iterator[str]:
    if items:
        yield ""
        yield click.style(title, bold=True)
        yield from (_figure(item) for item in items)


def _figure(item: Figure) -> str:
    name = plain(item.name)
    head = f"{name:<{_NAME - 1}} " if len(name) < _NAME else f"{name}\n{'':<{_NAME}}"
    return f"{head}{_amount(item, item.left):>{_VALUE}}{_amount(item, item.right):>{_VALUE}}{_change(item)}"


def _amount(item: Figure, value: int | None) -> str:
    if value is None:
        return _UNKNOWN
    text = f"{value:,}" if item.unit == "count" else str(spelled(item.unit, value))
    return {"usd": f"${text}", "ms": f"{text} s"}.get(item.unit, text)


def _change(item: Figure) -> str:
    """Return the change with its sign and, where left is not zero, its share."""
    change = item.change
    if change is None:
        return f"{'?':>{_VALUE}}"
    if change == 0:
        return f"{'=':>{_VALUE}}"
    sign = "+" if change > 0 else "-"
    text = f"{sign}{_amount(item, abs(change))}"
    permille = item.permille
    share = "" if permille is None else f"  {sign}{abs(permille) // 10}.{abs(permille) % 10} %"
    # More is red and less is green only where it is money: more files may be what was wanted.
    colour = {"usd": "red" if change > 0 else "green"}.get(item.unit)
    return click.style(f"{text:>{_VALUE}}{share}", fg=colour)


def _value(value: JsonValue) -> str:
    return "nothing" if value is None else plain(shown(value))


def _paths(title: str, paths: Sequence[str]) -> Iterator[str]:
    if not paths:
        return
    yield ""
    yield click.style(title, bold=True)
    yield from (f"  {plain(path)}" for path in paths[:_PATHS_SHOWN])
    if len(paths) > _PATHS_SHOWN:
        yield f"  and {len(paths) - _PATHS_SHOWN:,} more"
