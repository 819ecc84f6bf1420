"""Usage rows as files: JSON Lines, CSV (RFC 4180), and Parquet through pyarrow, which is an extra.

Rules:
1. Bytes come out as rows come in: no more than one group of rows is held.
2. In JSON Lines every text is exact. In CSV what is null is an empty field, and what steers a terminal, a line end too,
   is its visible escape, so that a row is a line. A text that a spreadsheet would take for a formula has a `'` in
   front: models and agents name themselves.
3. In Parquet an instant is a column of microseconds in UTC, null where a record tells none; an amount is its decimal
   text beside an integer of micro-dollars.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.surfaces.cli.console import plain
from docket.surfaces.export.otlp_values import nanoseconds
from docket.surfaces.export.usage_rows import COLUMNS, INTEGER_COLUMNS, OPTIONAL_COLUMNS, UsageLine

GROUP_ROWS = 10_000
INSTALL = "pip install pyarrow, where docket is installed, or pipx inject docket pyarrow"
_TIME = "time"
_FORMULAS = ("=", "+", "-", "@")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NS_PER_US = 1000


def json_lines(rows: Iterable[UsageLine]) -> Iterator[bytes]:
    """Yield a line for each row, in ASCII, its members in the order of the columns."""
    for row in rows:
        line = json.dumps(dict(zip(COLUMNS, row.values(), strict=True)), separators=(",", ":"))
        yield line.replace("\x7f", "\\u007f").encode("ascii") + b"\n"


def comma_separated(rows: Iterable[UsageLine]) -> Iterator[bytes]:
    """Yield a line with the names of the columns and one for each row, in UTF-8."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([_cell(value) if isinstance(value, str) else value for value in row.values()])
        yield _taken(text)
    yield _taken(text)


def _cell(text: str) -> str:
    shown = plain(text)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULAS) else shown


def parquet(rows: Iterable[UsageLine]) -> Iterator[bytes]:
    """Return the pieces of a file; UnavailableError, before any of them, where pyarrow is not installed."""
    try:
        arrow = importlib.import_module("pyarrow")
        files = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise UnavailableError(Reason.PROGRAM_MISSING, "Parquet is written by pyarrow, which cannot be imported",
                               hint=INSTALL) from error  # fmt: skip
    return _groups(arrow, files, rows)


def _groups(arrow: Any, files: Any, rows: Iterable[UsageLine]) -> Iterator[bytes]:  # noqa: ANN401 - an extra, untyped
    schema = arrow.schema([arrow.field(name, _type(arrow, name), name in OPTIONAL_COLUMNS) for name in COLUMNS])
    sink, left = io.BytesIO(), iter(rows)
    with files.ParquetWriter(_NotClosed(sink), schema, compression="zstd") as writer:
        while group := [_typed(row) for row in islice(left, GROUP_ROWS)]:
            columns = zip(*group, strict=True)
            arrays = [arrow.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))
            yield _taken_bytes(sink)
    yield _taken_bytes(sink)


class _NotClosed(io.RawIOBase):
    """Where pyarrow writes: bytes are taken away as they come, and the place in the file goes on being counted."""

    def __init__(self, sink: io.BytesIO) -> None:
        super().__init__()
        self._sink, self._written = sink, 0

    def writable(self) -> bool:
        """It is written to."""
        return True

    def write(self, data: Any) -> int:  # noqa: ANN401 - a buffer of any kind
        """Take bytes."""
        count = self._sink.write(data)
        self._written += count
        return count

    def tell(self) -> int:
        """Return how much has been written in all."""
        return self._written


def _type(arrow: Any, name: str) -> Any:  # noqa: ANN401
    if name == _TIME:
        return arrow.timestamp("us", tz="UTC")
    return arrow.int64() if name in INTEGER_COLUMNS else arrow.string()


def _typed(row: UsageLine) -> tuple[object, ...]:
    ns = nanoseconds(row.time)
    at = None if ns is None else _EPOCH + timedelta(microseconds=ns // _NS_PER_US)
    return tuple(at if name == _TIME else value for name, value in zip(COLUMNS, row.values(), strict=True))


def _taken(text: io.StringIO) -> bytes:
    told = text.getvalue().encode("utf-8")
    text.seek(0)
    text.truncate()
    return told


def _taken_bytes(sink: io.BytesIO) -> bytes:
    told = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return told
