"""A list of transactions for a terminal: a heading, and one line each, of columns whose width is known beforehand.

Rules: a column that the terminal has no room for is left out, the least needed first; the last one is the rest of the
line, and may go on beyond it, for a path is worth nothing without its end.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from docket.formats.dataclass import dataclass
from docket.formats.workspace.state import TransactionState
from docket.rules.workspace.states import Standing
from docket.surfaces.cli.console import plain

COLOURS = {
    Standing.OPEN: "green", Standing.CLOSED: "yellow", Standing.COMMITTING: "green", Standing.REFUSED: "red",
    Standing.INTERRUPTED: "red", Standing.INTERRUPTED_COMMIT: "red",
}  # fmt: skip
ENDS_IT = "docket tx recover ends it"
_GAP = "  "


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A transaction and how it is seen; `awaits_recovery`: its commit was cut short, whatever its standing."""

    state: TransactionState
    standing: Standing
    awaits_recovery: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column; `rank` says which are left out first, the highest. A width of 0 is the rest of the line."""

    name: str
    width: int
    rank: int
    cell: Callable[[Row], str]
    right: bool = False


def _rest(row: Row) -> str:
    reason = f"({row.state.reason})" if row.state.reason is not None else ""
    return " ".join(filter(None, (reason, ENDS_IT if row.awaits_recovery else "")))


_ID = Column(name="id", width=12, rank=0, cell=lambda row: row.state.id)
_STANDING = Column(name="standing", width=18, rank=0, cell=lambda row: row.standing)
_CHANGED = Column(name="changed", width=7, rank=0, right=True,
                  cell=lambda row: "" if row.state.changes is None else f"{row.state.changes.total:,}")  # fmt: skip
_OPENED = Column(name="opened (UTC)", width=16, rank=2, cell=lambda row: row.state.opened_at[:16].replace("T", " "))
_RUN = Column(name="run", width=19, rank=3, cell=lambda row: row.state.docket_number or "")
_WHY = Column(name="reason", width=0, rank=1, cell=_rest)
_TREE = Column(name="tree", width=0, rank=0,
               cell=lambda row: " ".join(filter(None, (os.fsdecode(row.state.base.path), _rest(row)))))  # fmt: skip
_LEAST_REST = 16


def columns_for(width: int | None, *, with_trees: bool) -> tuple[Column, ...]:
    """Return the columns that a line of `width` has room for, None for one without an end; the trees where wanted."""
    kept = [_ID, _STANDING, _CHANGED, _OPENED, _RUN, _TREE if with_trees else _WHY]
    while width is not None and _taken(kept) > width and any(column.rank for column in kept):
        kept.remove(max(kept, key=lambda column: column.rank))
    return tuple(kept)


def heading(columns: tuple[Column, ...]) -> str:
    """Return the line above the rows."""
    return _line(columns, [column.name for column in columns])


def line(row: Row, columns: tuple[Column, ...]) -> str:
    """Return a transaction's line."""
    return _line(columns, [plain(column.cell(row)) for column in columns])


def _taken(columns: list[Column]) -> int:
    return sum((column.width or _LEAST_REST) + len(_GAP) for column in columns) - len(_GAP)


def _line(columns: tuple[Column, ...], cells: list[str]) -> str:
    aligned = (
        cell.rjust(column.width) if column.right else cell.ljust(column.width)
        for column, cell in zip(columns, cells, strict=True)
    )
    return _GAP.join(aligned).rstrip()
