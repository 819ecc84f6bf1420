"""Two runs side by side, for a terminal.

Rules: columns are as wide as what stands in them. Where a terminal is too narrow for all of them the share of a change
goes first, then names stand on lines of their own; figures are never cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.digest import is_digest
from docket.formats.shown import shown
from docket.rules.analysis.comparison import Comparison, Figure, spelled
from docket.surfaces.cli.console import plain
from docket.surfaces.render.findings import head
from docket.surfaces.render.wrapping import wrapped

_WIDEST_NAME = 24
_GAP = 2
_PATHS_SHOWN = 10
_DIGITS_SHOWN = 16
_UNKNOWN = "not known"
_HEADINGS = ("left", "right", "change")


@dataclass(frozen=True, slots=True)
class _Row:
    """A figure in words: left, right and change; the share that the change is of left is empty where there is none."""

    name: str
    values: tuple[str, str, str]
    share: str
    colour: str | None


@dataclass(frozen=True, slots=True)
class _Columns:
    """How wide the columns are; `share` is 0 where there is no room for it."""

    name: int
    values: tuple[int, ...]
    share: int


def lines(left: JsonObject, right: JsonObject, comparison: Comparison, width: int | None = None) -> Iterator[str]:
    """Yield the lines for a person, styled; `width` is the terminal's."""
    for side, document in (("left", left), ("right", right)):
        yield from head(document, width, lead=f"{side:<6} ")
    for caveat in comparison.caveats:
        yield from (click.style(line, fg="yellow") for line in wrapped(caveat, width, lead="note   "))
    yield ""
    told = [_row(item) for item in comparison.figures if item.left or item.right]
    models, findings = ([_row(item) for item in items] for items in (comparison.models, comparison.findings))
    columns = _columns([*told, *models, *findings], width)
    headings = "".join(f"{name:>{at}}" for name, at in zip(_HEADINGS, columns.values, strict=True))
    yield click.style(f"{'':<{columns.name}}{headings}", dim=True)
    yield from (_line(row, columns) for row in told)
    yield from _table("Cost by model", models, columns)
    yield from _table("Findings by rule", findings, columns)
    if comparison.texts:
        yield ""
        yield click.style("Differs", bold=True)
        for name, was, is_ in comparison.texts:
            yield from _differs(name, _value(was), _value(is_), width)
    yield from _paths("Changed on the left only", comparison.paths_only_left)
    yield from _paths("Changed on the right only", comparison.paths_only_right)


def _columns(rows: Sequence[_Row], width: int | None) -> _Columns:
    values = tuple(
        _GAP + max(len(heading), *(len(row.values[at]) for row in rows)) if rows else _GAP + len(heading)
        for at, heading in enumerate(_HEADINGS)
    )
    share = max((_GAP + len(row.share) for row in rows if row.share), default=0)
    name = max((len(row.name) for row in rows if len(row.name) <= _WIDEST_NAME), default=0)
    if width is not None and name + sum(values) + share > width:
        share = 0
    if width is not None:
        name = max(0, min(name, width - sum(values)))
    return _Columns(name, values, share)


def _table(title: str, rows: Sequence[_Row], columns: _Columns) -> Iterator[str]:
    if rows:
        yield ""
        yield click.style(title, bold=True)
        yield from (_line(row, columns) for row in rows)


def _line(row: _Row, columns: _Columns) -> str:
    head = f"{row.name:<{columns.name}}" if len(row.name) <= columns.name else f"{row.name}\n{'':<{columns.name}}"
    *sides, change = (f"{value:>{at}}" for value, at in zip(row.values, columns.values, strict=True))
    share = f"{row.share:>{columns.share}}" if row.share and columns.share else ""
    return f"{head}{''.join(sides)}{click.style(change + share, fg=row.colour)}"


def _row(item: Figure) -> _Row:
    change, permille = item.change, item.permille
    values = (_amount(item, item.left), _amount(item, item.right))
    if not change:
        return _Row(plain(item.name), (*values, "?" if change is None else "="), "", None)
    sign = "+" if change > 0 else "-"
    share = {None: "", 0: "<0.1 %"}.get(permille, f"{sign}{abs(permille or 0) // 10}.{abs(permille or 0) % 10} %")
    # More is red and less is green only where it is money: more files may be what was wanted.
    colour = {"usd": "red" if change > 0 else "green"}.get(item.unit)
    return _Row(plain(item.name), (*values, f"{sign}{_amount(item, abs(change))}"), share, colour)


def _amount(item: Figure, value: int | None) -> str:
    if value is None:
        return _UNKNOWN
    text = f"{value:,}" if item.unit == "count" else str(spelled(item.unit, value))
    return {"usd": f"${text}", "ms": f"{text} s"}.get(item.unit, text)


def _differs(name: str, was: str, is_: str, width: int | None) -> Iterator[str]:
    """Yield what differs on one line, or each side on lines of its own where one has not room for both."""
    line = f"  {name}: {was} -> {is_}"
    if width is None or len(line) <= width:
        yield line
        return
    yield f"  {name}:"
    yield from wrapped(was, width, lead="    left   ")
    yield from wrapped(is_, width, lead="    right  ")


def _value(value: JsonValue) -> str:
    if isinstance(value, str) and is_digest(value):
        return f"{value[:_DIGITS_SHOWN]}…"
    return "nothing" if value is None else plain(shown(value))


def _paths(title: str, paths: Sequence[str]) -> Iterator[str]:
    if not paths:
        return
    yield ""
    yield click.style(title, bold=True)
    yield from (f"  {plain(path)}" for path in paths[:_PATHS_SHOWN])
    if len(paths) > _PATHS_SHOWN:
        yield f"  and {len(paths) - _PATHS_SHOWN:,} more"
