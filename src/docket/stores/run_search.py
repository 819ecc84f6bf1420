"""Finding the runs of a project: which live now, and where the ledger of a named one stands.

Rules:
1. A run lives while its ledger's lock is held; the look changes nothing.
2. Of a ledger no more is read here than its first event.
3. The state folder is asked first: what a live run writes stands there, `.docket/` has copies of what has ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from docket.errors import DocketError
from docket.formats.dataclass import dataclass
from docket.host.disk import SYSTEM_DISK, Disk
from docket.host.locks import is_held
from docket.stores.layout import LEDGER_SUFFIX, RUNS, Layout, ledger_name
from docket.stores.receipts import SESSION_ID
from docket.stores.unfinished import Head, IsHeld, lock_path, read_head, sessions_in, traces


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFound:
    """A run by its names and where its ledger may stand, in the order to look."""

    session_id: str
    docket_number: str | None
    began_at: str
    places: tuple[Path, ...]


def live_runs(layout: Layout, *, disk: Disk = SYSTEM_DISK, held: IsHeld = is_held) -> tuple[RunFound, ...]:
    """Return the runs that live now and have begun their record, the newest first."""
    found = traces(layout, disk=disk)
    sessions = [one for one in found.locks & found.ledgers if held(lock_path(layout, one))]
    runs = [run for one in sessions if (run := _found(layout, one, disk)) is not None]
    return tuple(sorted(runs, key=lambda run: (run.began_at, run.session_id), reverse=True))


def newest_run(layout: Layout, *, disk: Disk = SYSTEM_DISK) -> RunFound | None:
    """Return the run that began last, whether it lives or not; None if there is none."""
    runs = (run for one in _sessions(layout, disk) if (run := _found(layout, one, disk)) is not None)
    return max(runs, key=lambda run: (run.began_at, run.session_id), default=None)


def run_of_number(layout: Layout, docket_number: str, *, disk: Disk = SYSTEM_DISK) -> RunFound | None:
    """Return the run of a docket number."""
    for session_id, head in heads(layout, disk=disk):
        if head is not None and head.docket_number == docket_number:
            return _run(layout, session_id, head)
    return None


def run_of_session(layout: Layout, session_id: str, *, disk: Disk = SYSTEM_DISK) -> RunFound | None:
    """Return the run of a session id."""
    return _found(layout, session_id, disk) if SESSION_ID.fullmatch(session_id) else None


def places_of(layout: Layout, session_id: str) -> tuple[Path, ...]:
    """Return where a session's ledger may stand."""
    return tuple(dict.fromkeys((layout.ledger_path(session_id), layout.docket_dir / RUNS / ledger_name(session_id))))


def heads(layout: Layout, *, disk: Disk = SYSTEM_DISK) -> Iterator[tuple[str, Head | None]]:
    """Yield every session of the project with what its ledger's first event says, None where that cannot be read."""
    for session_id in _sessions(layout, disk):
        yield session_id, _head(layout, session_id, disk)


def _found(layout: Layout, session_id: str, disk: Disk) -> RunFound | None:
    head = _head(layout, session_id, disk)
    return None if head is None else _run(layout, session_id, head)


def _run(layout: Layout, session_id: str, head: Head) -> RunFound:
    return RunFound(
        session_id=session_id,
        docket_number=head.docket_number,
        began_at=head.began_at,
        places=places_of(layout, session_id),
    )


def _head(layout: Layout, session_id: str, disk: Disk) -> Head | None:
    for path in places_of(layout, session_id):
        with suppress(DocketError):
            head = read_head(path, disk=disk)
            if head is not None:
                return head
    return None


def _sessions(layout: Layout, disk: Disk) -> tuple[str, ...]:
    found = traces(layout, disk=disk).ledgers
    if layout.is_split:
        with suppress(DocketError):  # a folder of the tree's that something else stands in the place of
            found |= sessions_in(layout.docket_dir / RUNS, LEDGER_SUFFIX, disk)
    return tuple(sorted(found))
