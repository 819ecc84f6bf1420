"""The folders of workspace transactions: `workspace-tx/<id>` in the state folder, each describing itself.

Rules (spec/workspace.md, Where it stands):
1. `tx.json` is published whole, first of all: a folder without one never began. `base.listing` is what the base's
   staged part was, `base.directories` the inodes of its directories, `base.statuses` the statuses of the files
   that were not read then, `base.digests` those of them whose contents were read since; `changes` the change set as it
   was found last, `stage*` is the backend's.
2. Folders are 0700, files 0600, and no name in them is followed if it is a link. A state folder that is a link is
   refused.
3. Whoever changes a transaction's state holds its lock.
4. A folder that cannot be read is told and passed over; nothing of it is guessed.

What may follow what is `rules.workspace.states`; what a state says is `formats.workspace.state`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from docket.errors import DocketError, InvalidDocumentError, UnavailableError
from docket.formats.dataclass import dataclass, replace
from docket.formats.digest import sha256
from docket.formats.reason import Reason
from docket.formats.tree.listing import Listing, tree_order
from docket.formats.tree.parts import known_listing
from docket.formats.tree.status_listing import HEADER as STATUS_HEADER
from docket.formats.tree.status_listing import StatusEntry, encode_status, status_listing
from docket.formats.workspace.change_set import ChangeSet, decode_change_set
from docket.formats.workspace.state import MAX_STATE_BYTES, TRANSACTION_ID, TransactionState, decode_state, encode_state
from docket.host.clearing import remove_tree
from docket.host.disk import SYSTEM_DISK, Disk, reported
from docket.host.durable import publish
from docket.host.locks import FileLock, is_held
from docket.stores.layout import state_home
from docket.stores.unfinished import names_in

WORKSPACE_TX = "workspace-tx"
STATE, LISTING, CHANGES, LOCK, RECORDS = "tx.json", "base.listing", "changes", "lock", "records"
DIRECTORIES, STATUSES, DIGESTS, CHOSEN = "base.directories", "base.statuses", "base.digests", "chosen"
DUE = "record.due"
STAGE_PREFIX = "stage"
MAX_LISTING_BYTES = 4 * 1024**3


@dataclass(frozen=True, slots=True, kw_only=True)
class Damaged:
    """A folder of a transaction whose state cannot be read, and why."""

    id: str
    path: Path
    detail: str


class Transactions:
    """All transactions of one state root."""

    def __init__(self, root: Path, *, disk: Disk = SYSTEM_DISK) -> None:
        self.root = root
        self._disk = disk

    @classmethod
    def of(cls, environment: Mapping[str, str], *, disk: Disk = SYSTEM_DISK) -> Transactions:
        """Return those of the person's state folder; UsageError where that is no absolute path."""
        return cls(state_home(environment) / WORKSPACE_TX, disk=disk)

    def path(self, transaction_id: str) -> Path:
        """Where a transaction's folder stands."""
        return self.root / transaction_id

    def prepare(self) -> None:
        """Make the folder of all of them; UnavailableError where it cannot be, or is another's."""
        with self._disk.folder(self.root, create=True) as root:
            root.make_private()

    def create(self, state: TransactionState, base: Listing) -> None:
        """Make a transaction's folder with its first state; UnavailableError, and nothing is left."""
        with ExitStack() as held:
            root = held.enter_context(self._disk.folder(self.root, create=True))
            root.make_private()
            if root.identity(state.id) is not None:
                raise UnavailableError(Reason.ALREADY_EXISTS, f"{self.path(state.id)} exists already")
            with ExitStack() as undo:
                undo.callback(shutil.rmtree, self.path(state.id), ignore_errors=True)
                folder = held.enter_context(root.folder(state.id, create=True))
                publish(folder, LISTING, base.document)
                if base.details.directory_inodes:
                    publish(folder, DIRECTORIES, base.details.directory_inodes)
                if base.statuses:
                    publish(folder, STATUSES, STATUS_HEADER + base.statuses)
                publish(folder, STATE, encode_state(state))
                undo.pop_all()

    def save(self, state: TransactionState) -> None:
        """Make a transaction's state durable."""
        with self._disk.folder(self.path(state.id)) as folder:
            publish(folder, STATE, encode_state(state))

    def load(self, transaction_id: str) -> TransactionState:
        """Read a transaction's state.

        UnavailableError(NOT_FOUND) where there is none; InvalidDocumentError where what stands there is not one.
        """
        state = decode_state(self._read(transaction_id, STATE, MAX_STATE_BYTES))
        if state.id != transaction_id:
            raise InvalidDocumentError(
                Reason.DOCUMENTS_DISAGREE, f"{self.path(transaction_id)} holds the state of {state.id}"
            )
        return state

    def base_listing(self, state: TransactionState) -> Listing:
        """Read what the base's staged part was; InvalidDocumentError where that is not what the state names."""
        document = self._read(state.id, LISTING, MAX_LISTING_BYTES)
        if sha256(document) != state.manifest_sha256:
            raise self._another(state.id, "the listing of {} is not the one that its state names")
        listing = known_listing(document)
        with suppress(UnavailableError):  # an older docket took none down
            inodes = self._read(state.id, DIRECTORIES, MAX_LISTING_BYTES)
            listing.details = replace(listing.details, directory_inodes=inodes)
        if state.statuses_sha256 is not None:
            statuses = status_listing(self._read(state.id, STATUSES, MAX_LISTING_BYTES))
            if statuses.digest != state.statuses_sha256:
                raise self._another(state.id, "the statuses of {} are not the ones that its state names")
            listing.statuses = statuses.document[len(STATUS_HEADER) :]
        return listing

    def save_digests(self, transaction_id: str, known: Iterable[StatusEntry]) -> None:
        """Keep what was found out of files of the base that were not read when they were staged."""
        ordered = sorted(known, key=lambda entry: tree_order(entry.path.raw))
        with self._disk.folder(self.path(transaction_id)) as folder:
            publish(folder, DIGESTS, STATUS_HEADER + b"".join(map(encode_status, ordered)))

    def digests(self, transaction_id: str) -> tuple[StatusEntry, ...]:
        """Read what was found out of files that were not read; nothing where that was never kept."""
        try:
            return status_listing(self._read(transaction_id, DIGESTS, MAX_LISTING_BYTES)).entries()
        except UnavailableError as error:
            if error.reason == Reason.NOT_FOUND:
                return ()
            raise

    def save_changes(self, transaction_id: str, changes: ChangeSet) -> None:
        """Keep the change set as it was found last."""
        with self._disk.folder(self.path(transaction_id)) as folder:
            publish(folder, CHANGES, changes.document)

    def changes(self, transaction_id: str) -> ChangeSet | None:
        """Read the change set that was found last, None where none was."""
        return self._change_set(transaction_id, CHANGES)

    def save_chosen(self, transaction_id: str, taken: ChangeSet) -> None:
        """Write down what was chosen of a change set, before it lands."""
        with self._disk.folder(self.path(transaction_id)) as folder:
            publish(folder, CHOSEN, taken.document)

    def chosen(self, transaction_id: str) -> ChangeSet | None:
        """Read what was chosen of a change set whose rest has no successor yet, None where there is no such thing."""
        return self._change_set(transaction_id, CHOSEN)

    def has_chosen(self, transaction_id: str) -> bool:
        """Whether there is such a thing, whatever it holds."""
        return self._has(transaction_id, CHOSEN)

    def forget_chosen(self, transaction_id: str) -> None:
        """The rest is handed over, or nothing landed."""
        self._forget(transaction_id, CHOSEN)

    def promise_record(self, transaction_id: str) -> None:
        """Write down, before a commit, that it has a record of its own."""
        with self._disk.folder(self.path(transaction_id)) as folder:
            publish(folder, DUE, b"")

    def owes_record(self, transaction_id: str) -> bool:
        """Whether a commit was to have a record, and nobody said that it has."""
        return self._has(transaction_id, DUE)

    def settle_record(self, transaction_id: str) -> None:
        """The record stands, or there is nothing to be recorded."""
        self._forget(transaction_id, DUE)

    def lock(self, transaction_id: str, *, wait_seconds: float = 0.0) -> FileLock:
        """Take a transaction's lock; UnavailableError(LOCKED) names who holds it."""
        return FileLock.acquire(self.path(transaction_id) / LOCK, wait_seconds=wait_seconds)

    def is_locked(self, transaction_id: str) -> bool:
        """Whether somebody works on a transaction now."""
        return is_held(self.path(transaction_id) / LOCK)

    def every(self) -> tuple[TransactionState | Damaged, ...]:
        """Return all transactions, the oldest first; what cannot be read as `Damaged`."""
        found: list[TransactionState | Damaged] = []
        for name in names_in(self.root, self._disk):
            if not TRANSACTION_ID.fullmatch(name):
                continue
            try:
                found.append(self.load(name))
            except DocketError as error:
                found.append(Damaged(id=name, path=self.path(name), detail=error.detail))
        return tuple(sorted(found, key=lambda item: ("" if isinstance(item, Damaged) else item.opened_at, item.id)))

    def write_record(self, transaction_id: str, name: str, document: bytes) -> Path:
        """Keep a commit's own record in the transaction's folder."""
        with self._disk.folder(self.path(transaction_id)) as folder, folder.folder(RECORDS, create=True) as records:
            publish(records, name, document, overwrite=False)
        return self.path(transaction_id) / RECORDS / name

    def record_at(self, transaction_id: str, begins: str) -> Path | None:
        """Return a commit's own record whose name begins so, None where there is none."""
        with self._disk.folder(self.path(transaction_id)) as folder:
            if folder.identity(RECORDS) is None:
                return None
            with folder.folder(RECORDS) as records:
                name = next((name for name in records.names() if name.startswith(begins)), None)
        return None if name is None else self.path(transaction_id) / RECORDS / name

    def hand_over(self, transaction_id: str, successor_id: str) -> None:
        """Give a transaction's stage to another."""
        with (
            self._disk.folder(self.path(transaction_id)) as source,
            self._disk.folder(self.path(successor_id)) as target,
        ):
            for name in source.names():
                if name.startswith(STAGE_PREFIX):
                    source.move(name, target, name)
            target.sync()
            source.sync()

    def remove(self, transaction_id: str) -> None:
        """Remove a transaction's folder with all that is in it; UnavailableError where something is left."""
        path = self.path(transaction_id)
        with reported("remove", path):
            remove_tree(path)

    def _has(self, transaction_id: str, name: str) -> bool:
        try:
            with self._disk.folder(self.path(transaction_id)) as folder:
                return folder.identity(name) is not None
        except UnavailableError as error:
            if error.reason == Reason.NOT_FOUND:
                return False
            raise

    def _forget(self, transaction_id: str, name: str) -> None:
        with self._disk.folder(self.path(transaction_id)) as folder:
            if folder.identity(name) is not None:
                folder.remove(name)
                folder.sync()

    def _change_set(self, transaction_id: str, name: str) -> ChangeSet | None:
        try:
            return decode_change_set(self._read(transaction_id, name, MAX_LISTING_BYTES))
        except UnavailableError as error:
            if error.reason == Reason.NOT_FOUND:
                return None
            raise

    def _another(self, transaction_id: str, detail: str) -> InvalidDocumentError:
        hint = f"it can no more land as a whole; what the run made is in {self.path(transaction_id)}/{STAGE_PREFIX}"
        return InvalidDocumentError(Reason.DOCUMENTS_DISAGREE, detail.format(transaction_id), hint=hint)

    def _read(self, transaction_id: str, name: str, most: int) -> bytes:
        with self._disk.folder(self.path(transaction_id)) as folder, folder.open(name) as file:
            size = file.size()
            if size > most:
                raise InvalidDocumentError(Reason.TOO_LARGE, f"{self.path(transaction_id) / name} is too large")
            return file.read(0, size)
