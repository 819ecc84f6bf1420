"""What runs that were killed left in a project's folders, told by names and locks alone.

Rules:
1. A run holds its ledger's lock from before its first file to after its last. A lock file that nobody holds is thus
   what a killed run left, and so is a live folder without a held lock.
2. No ledger is read here beyond its first event.
3. A temporary file is a dead run's if it carries a name of that run's, and the run's lock was to be had.

It removes what it is told to. Deriving and publishing a receipt is `engines.recover`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from docket.errors import DocketError, UnavailableError
from docket.formats.canonical import JsonObject, object_at
from docket.formats.dataclass import dataclass, field
from docket.formats.ledger.event import Event
from docket.formats.reason import Reason
from docket.host.disk import SYSTEM_DISK, Disk
from docket.host.locks import is_held
from docket.stores.layout import LEDGER_SUFFIX, RECEIPT_SUFFIX, RECEIPTS, RUNS, Layout, ledger_name, receipt_name
from docket.stores.ledger_reader import LOCK_SUFFIX, read_ledger
from docket.stores.live import LIVE
from docket.stores.receipts import DOCKET_NUMBER, LATEST, SESSION_ID

IsHeld = Callable[[Path], bool]

_TEMPORARY = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{16}\.tmp", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What a ledger's first event says: when the run began and what it is called; None where it does not say.

    `proof` is what it says of what vouches for it, as it stands, empty where it says nothing.
    """

    began_at: str
    session_id: str | None
    docket_number: str | None
    is_ours: bool
    proof: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """What stands in a project's state folder under the names of its sessions."""

    ledgers: frozenset[str]
    locks: frozenset[str]
    live: frozenset[str]

    @property
    def sessions(self) -> tuple[str, ...]:
        """Every session that left something."""
        return tuple(sorted(self.ledgers | self.locks | self.live))

    def is_marked(self, session_id: str) -> bool:
        """Whether the session left what a run that ended by itself takes away."""
        return session_id in self.locks or session_id in self.live


def traces(layout: Layout, *, disk: Disk = SYSTEM_DISK) -> Traces:
    """Look at the names in the state folder; a folder that is not there holds none."""
    runs = names_in(layout.state / RUNS, disk)
    return Traces(
        ledgers=_sessions(runs, LEDGER_SUFFIX),
        locks=_sessions(runs, LEDGER_SUFFIX + LOCK_SUFFIX),
        live=sessions_in(layout.state / LIVE, "", disk),
    )


def unfinished(layout: Layout, *, disk: Disk = SYSTEM_DISK, held: IsHeld = is_held) -> tuple[str, ...]:
    """Return the sessions that were killed and that nothing has taken care of since; no ledger is opened."""
    locks = sessions_in(layout.state / RUNS, LEDGER_SUFFIX + LOCK_SUFFIX, disk)
    live = sessions_in(layout.state / LIVE, "", disk)
    return tuple(sorted(one for one in locks | live if not held(lock_path(layout, one))))


def newest_lacks_receipt(layout: Layout, *, disk: Disk = SYSTEM_DISK, held: IsHeld = is_held) -> bool:
    """Whether the ledger that was written last has no receipt and is not being written now."""
    paths = [layout.ledger_path(session_id) for session_id in traces(layout, disk=disk).ledgers]
    newest = max(paths, key=_changed_ns, default=None)
    if newest is None or held(newest.with_name(newest.name + LOCK_SUFFIX)):
        return False
    try:
        head = read_head(newest, disk=disk)
    except DocketError:
        return True
    return head is not None and head.is_ours and not has_receipt(layout, head.docket_number, disk=disk)


def lock_path(layout: Layout, session_id: str) -> Path:
    """Where the lock of a session's ledger stands."""
    path = layout.ledger_path(session_id)
    return path.with_name(path.name + LOCK_SUFFIX)


def read_head(path: Path, *, disk: Disk = SYSTEM_DISK) -> Head | None:
    """Read a ledger's first event; None if it holds no whole one. DocketError where it is no ledger."""
    with closing(_items(path, disk)) as items:
        first = next(items, None)
    if not isinstance(first, Event):
        return None
    data = first.data
    session, number = data.get("session_id"), data.get("docket_number")
    return Head(
        began_at=first.ts,
        session_id=session if isinstance(session, str) else None,
        docket_number=number if isinstance(number, str) and DOCKET_NUMBER.fullmatch(number) else None,
        is_ours=first.type == "session.start" and "fold" in data,
        proof=object_at(data, "proof"),
    )


def has_receipt(layout: Layout, docket_number: str | None, *, disk: Disk = SYSTEM_DISK) -> bool:
    """Whether a receipt of that number stands in either folder."""
    return docket_number is not None and any(
        stands(folder / RECEIPTS / receipt_name(docket_number), disk) for folder in {layout.state, layout.docket_dir}
    )


def stands(path: Path, disk: Disk = SYSTEM_DISK) -> bool:
    """Whether anything stands under this name."""
    try:
        with disk.folder(path.parent) as folder:
            return folder.identity(path.name) is not None
    except DocketError:
        return False


def temporaries_of(layout: Layout, session_id: str, docket_number: str | None, disk: Disk) -> Iterator[Path]:
    """Yield the temporary files that carry a name of the session's."""
    owned = [ledger_name(session_id)] + ([receipt_name(docket_number)] if docket_number is not None else [])
    for path, name in _temporaries(layout, disk):
        if any(name == one or name.startswith(f"{one}.") for one in owned):
            yield path


def temporaries(layout: Layout, disk: Disk) -> tuple[Path, ...]:
    """Return every temporary file of a run in the project's folders, whosoever it is."""
    return tuple(path for path, _ in _temporaries(layout, disk))


def remove_file(path: Path, disk: Disk) -> bool:
    """Remove a file; False if it was gone already."""
    try:
        with disk.folder(path.parent) as folder:
            folder.remove(path.name)
    except UnavailableError as error:
        if error.reason == Reason.NOT_FOUND:
            return False
        raise
    return True


def sweep_files(paths: Iterable[Path], disk: Disk) -> tuple[Path, ...]:
    """Remove files, and return those that went: what is something else, or stands in a folder that is shut, stays."""
    gone = []
    for path in paths:
        with suppress(DocketError):
            if remove_file(path, disk):
                gone.append(path)
    return tuple(gone)


def names_in(folder: Path, disk: Disk) -> tuple[str, ...]:
    """Return the names in a folder, none if it is not there."""
    try:
        with disk.folder(folder) as opened:
            return opened.names()
    except UnavailableError as error:
        if error.reason == Reason.NOT_FOUND:
            return ()
        raise


def sessions_in(folder: Path, suffix: str, disk: Disk) -> frozenset[str]:
    """Return the sessions whose names, each with `suffix`, stand in a folder; none if it is not there."""
    return _sessions(names_in(folder, disk), suffix)


def receipt_numbers(folder: Path, disk: Disk) -> Iterator[str]:
    """Yield the docket numbers of the receipts in a project's folder, none where something else stands in its place."""
    names: tuple[str, ...] = ()
    with suppress(DocketError):
        names = names_in(folder / RECEIPTS, disk)
    for name in names:
        number = name.removesuffix(RECEIPT_SUFFIX)
        if name.endswith(RECEIPT_SUFFIX) and DOCKET_NUMBER.fullmatch(number):
            yield number


def _temporaries(layout: Layout, disk: Disk) -> Iterator[tuple[Path, str]]:
    for root in sorted({layout.state, layout.docket_dir}):
        for folder in (root, root / RUNS, root / RECEIPTS):
            names: tuple[str, ...] = ()
            with suppress(DocketError):  # a folder of the tree's that something else stands in the place of
                names = names_in(folder, disk)
            for name in names:
                found = _TEMPORARY.fullmatch(name)
                # A run prepares its state folder before it has its lock: what it writes there then is let be.
                if found is not None and (folder != layout.state or found["name"].startswith(LATEST)):
                    yield folder / name, found["name"]


def _items(path: Path, disk: Disk) -> Generator[object, None, None]:
    yield from read_ledger(path, disk=disk)


def _sessions(names: tuple[str, ...], suffix: str) -> frozenset[str]:
    stems = (name.removesuffix(suffix) for name in names if name.endswith(suffix))
    return frozenset(stem for stem in stems if SESSION_ID.fullmatch(stem))


def _changed_ns(path: Path) -> int:
    try:
        return path.lstat().st_mtime_ns
    except OSError:  # it went between the two looks
        return 0
