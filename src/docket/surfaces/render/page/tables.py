"""Tables of a page: a caption, headings, the first rows as markup, and all of them as data for the page's script.

Rules:
1. The rows that are markup are there without any script. Where there are more, the block `NAME-rows` holds all of
   them, and the script turns pages, sorts and filters; without it a line says how many are not shown.
2. A cell is a text. A number stands at the right and sorts by its value, which may be given beside the text.
"""

from __future__ import annotations

from collections.abc import Sequence

from docket.formats.dataclass import dataclass
from docket.surfaces.render.page.embedded import json_block
from docket.surfaces.render.page.html import Html, element, joined, visible

PAGE_ROWS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """`numbers` are the columns that hold figures; `marks` name a class for a row, empty for none.

    `is_plain`: the heading above says all that the caption does, which is there for who only hears the table.
    """

    name: str
    caption: str
    headings: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numbers: frozenset[int] = frozenset()
    marks: Sequence[str] = ()
    left_out: int = 0
    is_plain: bool = False


def table(shown: Table) -> Html:
    """Return the table, and its rows as data where not all of them stand in it."""
    long = len(shown.rows) > PAGE_ROWS
    head = element("tr", [_heading(shown, column) for column in range(len(shown.headings))])
    body = [_row(shown, place) for place in range(min(PAGE_ROWS, len(shown.rows)))]
    drawn = element(
        "table",
        element("caption", shown.caption, class_="hidden" if shown.is_plain else None),
        element("thead", head),
        element("tbody", body),
        id=shown.name,
    )
    parts = [element("div", drawn, class_="scroll", tabindex="0", role="group", aria_label=shown.caption)]
    if long:
        parts.append(element("p", f"The first {PAGE_ROWS} of {len(shown.rows):,} are shown.", class_="muted pages"))
        parts.append(json_block(f"{shown.name}-rows", _data(shown)))
    if shown.left_out:
        parts.append(element("p", f"{shown.left_out:,} more stand in the ledger and not in this page.", class_="muted"))
    return element("div", parts, class_="table", data_table=shown.name if long else None)


def _data(shown: Table) -> dict[str, object]:
    marks = [*shown.marks] if any(shown.marks) else []
    return {
        "rows": [[visible(cell) for cell in row] for row in shown.rows],
        "numbers": sorted(shown.numbers),
        "marks": marks,
        "page": PAGE_ROWS,
    }


def _heading(shown: Table, column: int) -> Html:
    return element("th", shown.headings[column], scope="col", class_="number" if column in shown.numbers else None)


def _row(shown: Table, place: int) -> Html:
    cells = joined(
        element("td", cell, class_="number" if column in shown.numbers else None)
        for column, cell in enumerate(shown.rows[place])
    )
    mark = shown.marks[place] if shown.marks else ""
    return element("tr", cells, class_=mark or None)


def alike(rows: Sequence[tuple[str, ...]], column: int) -> list[tuple[str, ...]]:
    """Return rows whose amounts in a column all have as many decimals as the one that has most."""
    most = max((len(row[column].partition(".")[2]) for row in rows), default=0)
    return [(*row[:column], _decimals(row[column], most), *row[column + 1 :]) for row in rows]


def _decimals(amount: str, most: int) -> str:
    whole, point, part = amount.partition(".")
    return f"{whole}{point}{part.ljust(most, '0')}" if point else amount


def instant(text: str) -> str:
    """Return an instant of a record to the second; what is none in UTC as it stands."""
    return text[:19].replace("T", " ") + " UTC" if text.endswith("Z") else text


def facts(pairs: Sequence[tuple[str, str | Html]]) -> Html:
    """Return labelled values as a list of descriptions."""
    return element("dl", [element("div", element("dt", name), element("dd", value)) for name, value in pairs])


__all__ = ["PAGE_ROWS", "Table", "alike", "facts", "instant", "table"]
