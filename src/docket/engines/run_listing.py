"""Lists the runs of a project, or of every project: those with a receipt, those that live, those that were killed.

Rules:
1. It changes nothing and takes no lock. Rows come one by one, the newest day first, and within a day the newest run
   first: no more is held at once than the names of all runs and the rows of one day.
2. A receipt is read whole and then forgotten; a day before `since` is not opened at all.
3. What cannot be read is a row that says why. The folder a person looks into comes first: a doctored copy there must
   not be passed over in silence.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from docket.engines.verify import decode_receipt, read_receipt
from docket.errors import DocketError, InvalidDocumentError
from docket.formats.dataclass import dataclass, field, replace
from docket.formats.ledger.lines import TornTail
from docket.formats.ledger.session_events import SessionStart
from docket.formats.ledger.vocabulary import read_payload
from docket.formats.run.run_row import End, RunRow, end_of, milliseconds, row_of_receipt
from docket.formats.visible import visible
from docket.host.disk import SYSTEM_DISK, Disk
from docket.host.locks import is_held
from docket.rules.receipt.live import LiveFold
from docket.stores.layout import RECEIPTS, Layout, receipt_name
from docket.stores.ledger_reader import read_ledger
from docket.stores.run_search import heads, live_runs, places_of
from docket.stores.unfinished import lock_path, receipt_numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which runs are listed: `since` is an RFC 3339 instant, `ends` the words for how they ended, none for all."""

    agent: str | None = None
    since: str | None = None
    ends: frozenset[End] = frozenset()
    limit: int | None = None

    def takes(self, row: RunRow) -> bool:
        """Whether a row is wanted."""
        return (
            (self.agent is None or row.agent == self.agent)
            and (not self.ends or row.end in self.ends)
            and (self.since is None or row.began_at >= self.since or not row.began_at)
        )

    @property
    def only_live(self) -> bool:
        """Whether no receipt can be among what is wanted."""
        return bool(self.ends) and self.ends <= {End.LIVE}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRequest:
    """The projects to look through; `named`: rows carry their project; `landed` tells what a person landed since."""

    layouts: tuple[Layout, ...]
    wanted: Wanted
    named: bool = False
    landed: Callable[[str], bool] = lambda _: False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A run by its name: the receipt's path, or the session whose ledger has none."""

    layout: Layout
    number: str
    receipt: Path | None = None
    session: str | None = None


def list_runs(request: ListRequest, disk: Disk = SYSTEM_DISK) -> Iterator[RunRow]:
    """Yield the rows; UnavailableError where a project's folder cannot be looked into."""
    days: defaultdict[str, list[_Entry]] = defaultdict(list)
    for layout in request.layouts:
        for entry in _entries(layout, request.wanted, disk):
            days[entry.number[4:12]].append(entry)
    left = request.wanted.limit
    for day in sorted(days, reverse=True):
        if request.wanted.since is not None and day < request.wanted.since[:10].replace("-", ""):
            return
        rows = [row for entry in days.pop(day) if request.wanted.takes(row := _row(entry, request, disk))]
        for row in sorted(rows, key=lambda row: (row.began_at, row.docket_number), reverse=True):
            if left == 0:
                return
            left = None if left is None else left - 1
            yield row


def _entries(layout: Layout, wanted: Wanted, disk: Disk) -> Iterator[_Entry]:
    if wanted.only_live:
        for run in live_runs(layout, disk=disk):
            yield _Entry(layout=layout, number=run.docket_number or _NO_NUMBER, session=run.session_id)
        return
    known: set[str] = set()
    for folder in dict.fromkeys((layout.docket_dir, layout.state)):
        for number in receipt_numbers(folder, disk):
            if number not in known:
                known.add(number)
                yield _Entry(layout=layout, number=number, receipt=folder / RECEIPTS / receipt_name(number))
    for session_id, head in heads(layout, disk=disk):
        number = _NO_NUMBER if head is None or head.docket_number is None else head.docket_number
        if number not in known:
            yield _Entry(layout=layout, number=number, session=session_id)


_NO_NUMBER = "DKT-99999999-??????"  # a ledger that cannot be read is of no day: it is told first


def _row(entry: _Entry, request: ListRequest, disk: Disk) -> RunRow:
    row = _of_receipt(entry.receipt, entry.number) if entry.receipt is not None else _of_ledger(entry, disk)
    if row.end in (End.REVIEW, End.NOT_LANDED) and row.transaction is not None and request.landed(row.transaction):
        row = replace(row, end=End.OK)
    return replace(row, project=_shown(entry.layout.tree_root)) if request.named else row


def _shown(path: Path) -> str:
    return visible(os.fsencode(path))


def _of_receipt(path: Path, number: str) -> RunRow:
    try:
        return replace(row_of_receipt(decode_receipt(read_receipt(path)), number), path=_shown(path))
    except InvalidDocumentError as error:
        return RunRow(docket_number=number, end=End.DAMAGED, path=_shown(path), detail=error.detail)


def _of_ledger(entry: _Entry, disk: Disk) -> RunRow:
    session_id = entry.session or ""
    path = next(iter(places_of(entry.layout, session_id)))
    row = RunRow(docket_number=entry.number, end=End.DAMAGED, session_id=session_id, path=_shown(path))
    is_live = is_held(lock_path(entry.layout, session_id))
    fold = LiveFold()
    try:
        for item in read_ledger(path, disk=disk):
            if not isinstance(item, TornTail):
                fold.take(item, read_payload(item))
    except DocketError as error:
        return replace(row, detail=error.detail)
    start = fold.course.start
    if start is None:
        # Between its lock and its first event a run has a ledger of no line.
        return replace(row, end=End.LIVE) if is_live else replace(row, detail="its ledger has no beginning")
    return _of_fold(row, fold, start, End.LIVE if is_live else End.KILLED)


def _of_fold(row: RunRow, fold: LiveFold, start: SessionStart, end: End) -> RunRow:
    last, has_gap = fold.course.end, bool(fold.course.gaps)
    if last is not None:
        end = end_of(exit_code=last.exit_code, breached=last.breached, interrupted=last.interrupted, has_gap=has_gap)
    return replace(
        row,
        docket_number=start.docket_number,
        end=end,
        began_at=fold.course.started_at,
        agent=start.agent,
        label=start.label,
        exit_code=None if last is None else last.exit_code,
        breached=None if last is None else last.breached,
        calls=fold.calls,
        denied=fold.denials.total(),
        tokens=fold.used_tokens,
        cost_usd=fold.spent,
        duration_ms=None if last is None else milliseconds(last.duration_seconds),
        files=fold.tree.changes.total() if fold.tree.both_passes and not has_gap else None,
    )


@dataclass(slots=True)
class Totals:
    """The exact sums over rows; `ends` counts them by how they ended."""

    runs: int = 0
    calls: int = 0
    denied: int = 0
    tokens: int = 0
    cost_micros: int = 0
    ends: dict[End, int] = field(default_factory=dict)

    def add(self, row: RunRow) -> None:
        """Take a row."""
        self.runs += 1
        self.calls += row.calls
        self.denied += row.denied
        self.tokens += row.tokens
        self.cost_micros += row.cost_usd.micros
        self.ends[row.end] = self.ends.get(row.end, 0) + 1


def summed(rows: Iterable[RunRow], totals: Totals) -> Iterator[RunRow]:
    """Yield the rows as they come and add them up."""
    for row in rows:
        totals.add(row)
        yield row
