"""Opening a ledger for its one writer: where nothing stood, or where an earlier writer left off.

Rules (spec/ledger.md):
1. The lock comes first and goes last; what fails in between leaves no file that was not there and no lock.
2. A new ledger's name is durable, and space for its last events reserved, before the first event.
3. Only a whole ledger without an end is continued; a damaged or torn one is refused as it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from docket.errors import DocketError, InvalidDocumentError, UnavailableError
from docket.formats.dataclass import dataclass
from docket.formats.ledger.session_events import SessionEnd
from docket.formats.reason import Reason
from docket.host.disk import SYSTEM_DISK, Disk, Folder, StoredFile
from docket.host.durable import temporary_name
from docket.host.locks import FileLock
from docket.stores.chain_file import ChainFile
from docket.stores.ledger_reader import LOCK_SUFFIX, AcquireLock, existing_events


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerOptions:
    """How a ledger is kept.

    `max_events` and `max_bytes` bound it for ordinary events, None is no bound; `min_free_bytes` is what they must
    leave on the disk. `on_failure` is called once, from the writer's thread, when the disk has refused; it must return
    soon and may not call `append_final`. `on_overflow` is called once, by an appender under the ledger's lock, when a
    ceiling refuses; it must return at once and may not append.
    """

    max_events: int | None = None
    max_bytes: int | None = None
    min_free_bytes: int = 0
    on_failure: Callable[[DocketError], None] | None = None
    on_overflow: Callable[[DocketError], None] | None = None
    disk: Disk = SYSTEM_DISK
    acquire_lock: AcquireLock = FileLock.acquire


@dataclass(frozen=True, slots=True)
class OpenedLedger:
    """A chain that may be written, and what must be given back after it."""

    chain: ChainFile
    options: LedgerOptions
    held: ExitStack

    def close(self) -> None:
        """Give back unused space, file, folder and lock, the lock last."""
        with self.held, suppress(DocketError):
            self.chain.trim()


def begin(path: Path, options: LedgerOptions) -> OpenedLedger:
    """Create a ledger; UnavailableError (ALREADY_EXISTS, LOCKED, IS_A_SYMLINK, NO_SPACE, ...)."""

    def create(folder: Folder, undo: ExitStack, held: ExitStack) -> ChainFile:
        file = folder.create(path.name)
        held.callback(file.close)
        undo.callback(_discard, folder, path.name)
        folder.sync()
        free = file.free_bytes() if options.min_free_bytes else None
        if free is not None and free < options.min_free_bytes:
            raise UnavailableError(
                Reason.NO_SPACE,
                f"{path.parent} has {free:,} bytes free; resilience.min_free_bytes keeps {options.min_free_bytes:,}",
            )
        chain = ChainFile(file, _spare(folder, path.name, held))
        chain.reserve(0)
        return chain

    return _open(path, options, create)


def go_on(path: Path, options: LedgerOptions) -> OpenedLedger:
    """Open a ledger to continue it; InvalidDocumentError (LEDGER_DAMAGED, TORN_TAIL, LEDGER_CLOSED) if it cannot be."""

    def resume(folder: Folder, _undo: ExitStack, held: ExitStack) -> ChainFile:
        file: StoredFile = held.enter_context(folder.open(path.name, writable=True))
        chain, last = ChainFile(file), ""
        for event in existing_events(file):
            chain.adopt(event)
            last = event.type
        if last == SessionEnd.TYPE:
            raise InvalidDocumentError(Reason.LEDGER_CLOSED, f"{path} has ended")
        chain.reserve(0)
        return chain

    return _open(path, options, resume)


def _open(
    path: Path, options: LedgerOptions, prepare: Callable[[Folder, ExitStack, ExitStack], ChainFile]
) -> OpenedLedger:
    with ExitStack() as undo:
        held = undo.enter_context(ExitStack())
        folder = held.enter_context(options.disk.folder(path.parent, create=True))
        held.callback(options.acquire_lock(path.with_name(path.name + LOCK_SUFFIX)).release)
        chain = prepare(folder, undo, held)
        undo.pop_all()
    return OpenedLedger(chain, options, held)


def _spare(folder: Folder, name: str, held: ExitStack) -> StoredFile | None:
    """Return an open file whose name is gone already; None where there is no room for one."""
    unnamed = temporary_name(name)
    try:
        file = held.enter_context(folder.create(unnamed))
        folder.remove(unnamed)
    except UnavailableError:
        return None
    return file


def _discard(folder: Folder, name: str) -> None:
    with suppress(DocketError):
        folder.remove(name)
