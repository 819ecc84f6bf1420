"""A list of runs for a terminal: one line each, of columns whose width is known before the first row comes.

Rules: nothing waits for the last row; a column that the terminal has no room for is left out, the least needed
first; text from a record is shown escaped.
"""

from __future__ import annotations

from collections.abc import Callable

from docket.engines.run_listing import Totals
from docket.formats.amount import Usd
from docket.formats.dataclass import dataclass
from docket.formats.run.run_row import End, RunRow
from docket.surfaces.cli.console import plain
from docket.surfaces.render.figures import plural
from docket.surfaces.render.live import clock_text

COLOURS = {
    End.LIVE: "green", End.CAP: "red", End.FAILED: "yellow", End.DAMAGED: "red", End.KILLED: "red",
    End.INCOMPLETE: "yellow", End.INTERRUPTED: "yellow", End.REVIEW: "yellow", End.NOT_LANDED: "yellow",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column; `rank` says which are left out first, the highest. A width of 0 is the rest of the line."""

    name: str
    width: int
    rank: int
    cell: Callable[[RunRow], str]
    right: bool = True


def _ending(row: RunRow) -> str:
    if row.end is End.CAP:
        return f"cap {row.breached}"
    return f"exit {row.exit_code}" if row.end is End.FAILED else str(row.end)


def _agent(row: RunRow) -> str:
    return " ".join(part for part in (row.agent, row.label and f"({row.label})", row.project) if part)


_COLUMNS = (
    Column(name="run", width=19, rank=0, cell=lambda row: row.docket_number, right=False),
    Column(name="UTC", width=5, rank=4, cell=lambda row: row.began_at[11:16], right=False),
    Column(name="end", width=19, rank=0, cell=_ending, right=False),
    Column(name="cost", width=12, rank=0, cell=lambda row: f"${row.cost_usd}"),
    Column(name="calls", width=6, rank=1, cell=lambda row: f"{row.calls:,}"),
    Column(name="tokens", width=11, rank=2, cell=lambda row: f"{row.tokens:,}"),
    Column(name="time", width=8, rank=3,
           cell=lambda row: "" if row.duration_ms is None else clock_text(row.duration_ms // 1000)),
    Column(name="files", width=5, rank=5, cell=lambda row: "?" if row.files is None else f"{row.files:,}"),
    Column(name="agent", width=0, rank=6, cell=_agent, right=False),
)  # fmt: skip
_GAP = "  "
_LEAST_REST = 8


def columns_for(width: int | None) -> tuple[Column, ...]:
    """Return the columns that a line of `width` has room for; None is a line without an end."""
    kept = list(_COLUMNS)
    while width is not None and _taken(kept) > width:
        kept.remove(max(kept, key=lambda column: column.rank))
        if len(kept) == 1:
            break
    return tuple(kept)


def _taken(columns: list[Column]) -> int:
    return sum((column.width or _LEAST_REST) + len(_GAP) for column in columns) - len(_GAP)


def heading(columns: tuple[Column, ...]) -> str:
    """Return the line above the rows."""
    return _line(columns, [column.name for column in columns])


def line(row: RunRow, columns: tuple[Column, ...]) -> str:
    """Return a run's line; a damaged one has its reason in the place of its figures."""
    if row.end is End.DAMAGED:
        return f"{plain(row.docket_number):<19}{_GAP}damaged: {plain(row.detail or 'it cannot be read')}"
    return _line(columns, [plain(column.cell(row)) for column in columns])


def _line(columns: tuple[Column, ...], cells: list[str]) -> str:
    aligned = (
        cell.rjust(column.width) if column.right else cell.ljust(column.width)
        for column, cell in zip(columns, cells, strict=True)
    )
    return _GAP.join(aligned).rstrip()


def closing(totals: Totals) -> str:
    """Return the line under the rows: exact sums, and what is among them that is no whole run."""
    parts = [
        plural(totals.runs, "run"),
        plural(totals.calls, "call") + (f" ({totals.denied:,} refused)" if totals.denied else ""),
        plural(totals.tokens, "token"),
        f"${Usd(totals.cost_micros)}",
    ]
    odd = [
        f"{totals.ends[end]:,} {end}" for end in (End.LIVE, End.REVIEW, End.KILLED, End.DAMAGED) if totals.ends.get(end)
    ]
    return ", ".join(parts) + (f"; {', '.join(odd)}" if odd else "")
