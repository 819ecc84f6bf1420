"""Receipts on the disk: published so that no fault of one folder loses them, and found again.

Rules (spec/receipt.md, Where it stands):
1. The receipt becomes durable in the state folder first; then `.docket/` gets the kept responses, the ledger's copy
   and that of its checkpoints, the receipt, and the pointers `latest.receipt.json` and `latest`, each atomically, the
   pointers last.
2. What stands under a receipt's or ledger's name with other content is moved aside and told, never overwritten.
   Publishing the same again changes nothing.
3. A `.docket/` that is read-only, full, gone or something else yields problems as values; the receipt's path is
   then the one in the state folder.

It builds no receipt and reads none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Self

from docket.errors import DocketError, InvalidDocumentError, UnavailableError
from docket.formats.canonical import JsonObject, object_at
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.host.disk import SYSTEM_DISK, Disk, Folder, StoredFile
from docket.host.durable import chunks, displace, publish_copy, settle, temporary_name
from docket.host.durable import publish as publish_file
from docket.stores.checkpoint_file import checkpoints_path
from docket.stores.layout import RECEIPTS, RUNS, Layout, ledger_name, open_docket_dir, receipt_name
from docket.stores.responses import publish_responses

LATEST, LATEST_RECEIPT = "latest", "latest.receipt.json"
RECEIPT_RESERVE_BYTES = 1024 * 1024

DOCKET_NUMBER = re.compile(r"DKT-\d{8}-[0-9A-F]{6}", re.ASCII)
SESSION_ID = re.compile(r"[0-9A-Za-z_-]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be published where it belongs."""

    reason: Reason
    detail: str


class ReceiptReserve:
    """Disk space set aside for a receipt before it is needed: the very file that will become it."""

    def __init__(self, folder: Folder, name: str, file: StoredFile) -> None:
        self._folder, self._name, self._file = folder, name, file

    @classmethod
    def hold(
        cls, layout: Layout, docket_number: str, *, size_bytes: int = RECEIPT_RESERVE_BYTES, disk: Disk = SYSTEM_DISK
    ) -> Self:
        """Reserve `size_bytes` in the state folder; UnavailableError (NO_SPACE, …) if they cannot be had."""
        folder = disk.folder(layout.state / RECEIPTS, create=True)
        name = temporary_name(receipt_name(docket_number))
        try:
            file = folder.create(name)
        except DocketError:
            folder.close()
            raise
        held = cls(folder, name, file)
        try:
            held.grow(size_bytes)
        except DocketError:
            held.release()
            raise
        return held

    @classmethod
    def adopt(cls, layout: Layout, name: str, *, prepared: bytes = b"", disk: Disk = SYSTEM_DISK) -> Self | None:
        """Take over the reserve that a dead run left under `name`; None where it is none, or was written to.

        One that begins with `prepared` was written to by a run that prepared this receipt.
        """
        with ExitStack() as undo:
            folder = undo.enter_context(disk.folder(layout.state / RECEIPTS))
            file = undo.enter_context(folder.open(name, writable=True))
            if file.size() > 0 and not (prepared and file.read(0, len(prepared)) == prepared):
                return None
            undo.pop_all()
            return cls(folder, name, file)

    def grow(self, size_bytes: int) -> None:
        """Reserve more, as the receipt to come grows."""
        self._file.preallocate(size_bytes)

    def prepare(self, data: bytes, behind: bytes) -> None:
        """Keep a receipt durably before it may stand under its name, and behind it what goes with it.

        What is prepared is no receipt for anybody who looks for one. UnavailableError leaves the reserve empty.
        """
        try:
            self._file.append(data + behind)
            self._file.sync()
            self._folder.sync()
        except DocketError:
            self._file.truncate(0)
            raise

    def stands_in(self, folder: Folder) -> bool:
        """Whether nobody took it away from there, and put nothing else in its place."""
        found = folder.identity(self._name)
        return found is not None and found == self._file.identity()

    def become(self, name: str, data: bytes) -> None:
        """Turn the reserved file into `name`; NO_SPACE if the reserve was too small, ALREADY_EXISTS if it is taken."""
        try:
            if self._file.size() > 0 and self._file.read(0, len(data)) != data:
                self._file.truncate(0)  # another one was prepared
            if self._file.size() == 0:
                self._file.append(data)
            self._file.truncate(len(data))
            self._file.sync()
            settle(self._folder, self._name, name, overwrite=False)
        finally:
            self.release()

    def release(self) -> None:
        """Give the space back if it was not used; a second call does nothing."""
        if self._name:
            name, self._name = self._name, ""
            self._file.close()
            with suppress(DocketError):
                self._folder.remove(name)
            self._folder.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What a run leaves: the receipt's bytes and the ledger that stands in the state folder.

    `is_latest` is False for the receipt of a run after which another one ended: the pointers stay where they are.
    """

    docket_number: str
    session_id: str
    receipt: bytes
    ledger_path: Path
    reserve: ReceiptReserve | None = None
    is_latest: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Where a person finds the receipt and the ledger; `state_receipt_path` is the copy out of the tree's reach.

    A path of None was not written. `problems` tells what did not reach its place.
    """

    receipt_path: Path
    ledger_path: Path
    state_receipt_path: Path | None
    problems: tuple[Problem, ...]


def publish(layout: Layout, publication: Publication, *, disk: Disk = SYSTEM_DISK) -> Published:
    """Publish a receipt; UnavailableError only if it could be written in neither folder."""
    press = _Press(layout, publication, disk)
    press.fill_state()
    press.settle_responses()
    if layout.is_split:
        press.fill_docket_dir()
    receipt_path = press.visible_receipt or press.state_receipt
    if receipt_path is None:
        first = press.problems[0]
        raise UnavailableError(first.reason, f"the receipt could not be written: {first.detail}")
    return Published(
        receipt_path=receipt_path,
        ledger_path=press.visible_ledger or publication.ledger_path,
        state_receipt_path=press.state_receipt,
        problems=tuple(press.problems),
    )


def find_receipt(layout: Layout, ref: str | None, *, disk: Disk = SYSTEM_DISK) -> Path:
    """Return the path of the latest receipt, of a docket number's, or of the file named; NOT_FOUND otherwise."""
    if ref is not None and not DOCKET_NUMBER.fullmatch(ref.upper()):
        path = Path(ref)
        if not os.path.exists(path):  # noqa: PTH110 - Path's own raises for a name that is too long
            raise UnavailableError(Reason.NOT_FOUND, f"{ref} is neither a receipt's path nor a docket number")
        return path
    unseen = None if ref is not None or not layout.is_split else _unseen_latest(layout, disk)
    if unseen is not None:
        return unseen
    for folder in _folders(layout):
        number = ref.upper() if ref is not None else latest_number(folder, disk)
        found = number is not None and _readable(folder / RECEIPTS / receipt_name(number), disk)
        if number is not None and found:
            return folder / RECEIPTS / receipt_name(number)
    wanted = "no receipt" if ref is None else f"no receipt {ref}"
    raise UnavailableError(
        Reason.NOT_FOUND, f"there is {wanted} in {layout.docket_dir}", hint="docket run -- <agent> writes one"
    )


def _unseen_latest(layout: Layout, disk: Disk) -> Path | None:
    """Return the latest receipt where it reached the state folder alone: the other folder's pointer lags behind."""
    number = latest_number(layout.state, disk)
    if number is None:
        return None
    seen, unseen = (folder / RECEIPTS / receipt_name(number) for folder in (layout.docket_dir, layout.state))
    return None if _readable(seen, disk) or not _readable(unseen, disk) else unseen


def ledger_beside(receipt: Path, session_id: str, *, disk: Disk = SYSTEM_DISK) -> Path | None:
    """Return the path of a session's ledger in the evidence folder that a receipt, or a link to one, stands in.

    InvalidDocumentError where something else stands in its place: a link leads to what nobody named, and what is not to
    be read is not as good as gone.
    """
    if not SESSION_ID.fullmatch(session_id):
        return None
    real = Path(os.path.realpath(receipt))
    places = (folder / RUNS / ledger_name(session_id) for folder in (real.parent.parent, real.parent))
    path = next((path for path in places if _stands(path, disk)), None)
    if path is not None and not _readable(path, disk):
        hint = "name the ledger with --ledger"
        detail = f"the ledger: {path} is a link, or no file that can be read"
        raise InvalidDocumentError(Reason.UNREADABLE, detail, hint=hint)
    return path


def _stands(path: Path, disk: Disk) -> bool:
    try:
        with disk.folder(path.parent) as folder:
            return folder.look(path.name) is not None
    except DocketError:
        return os.path.lexists(path)  # a folder that is a link holds what its names say, too


def ledger_of(receipt: Path, document: JsonObject) -> Path | None:
    """Return the ledger beside a receipt, by the session that its document names; None where it names none."""
    session_id = object_at(document, "session").get("id")
    return ledger_beside(receipt, session_id) if isinstance(session_id, str) else None


class _Press:
    """One publication under way: what has been placed, and what could not be."""

    def __init__(self, layout: Layout, publication: Publication, disk: Disk) -> None:
        self._layout, self._publication, self._disk = layout, publication, disk
        self._receipt = receipt_name(publication.docket_number)
        self._ledger = ledger_name(publication.session_id)
        self._latest = f"{publication.docket_number}\n".encode("ascii")
        self.problems: list[Problem] = []
        self.state_receipt: Path | None = None
        self.visible_receipt: Path | None = None
        self.visible_ledger: Path | None = None

    def fill_state(self) -> None:
        """Put the receipt and the pointers into the state folder."""
        reserve = self._publication.reserve
        with self._noting_problems(), self._disk.folder(self._layout.state, create=True) as state:
            with state.folder(RECEIPTS, create=True) as receipts:
                self._place_receipt(receipts, reserve)
            self.state_receipt = self._layout.state / RECEIPTS / self._receipt
            if not self._layout.is_split:
                self._point(state)
            elif self._publication.is_latest:
                publish_file(state, LATEST, self._latest)
        if reserve is not None:
            reserve.release()

    def settle_responses(self) -> None:
        """Leave of the kept responses what the ledger names, and copy it to the folder a person looks into."""
        with self._noting_problems():
            publish_responses(self._layout, self._publication.session_id, disk=self._disk)

    def fill_docket_dir(self) -> None:
        """Put the ledger's copy, the receipt and the pointers into the folder a person looks into."""
        with self._noting_problems(), open_docket_dir(self._layout, self._disk) as visible:
            with self._noting_problems():
                self._copy_ledger(visible)
                self.visible_ledger = self._layout.docket_dir / RUNS / self._ledger
            with self._noting_problems():
                self._copy_beside(visible)
            with visible.folder(RECEIPTS, create=True) as receipts:
                self._place_receipt(receipts, None)
            self.visible_receipt = self._layout.docket_dir / RECEIPTS / self._receipt
            self._point(visible)

    @contextmanager
    def _noting_problems(self) -> Iterator[None]:
        try:
            yield
        except DocketError as error:
            self.problems.append(Problem(Reason(error.reason), error.detail))

    def _place_receipt(self, receipts: Folder, reserve: ReceiptReserve | None) -> None:
        data = self._publication.receipt
        if self._make_room(receipts, self._receipt, lambda file: _holds(file, data)):
            return
        if reserve is not None and reserve.stands_in(receipts):
            reserve.become(self._receipt, data)
            return
        if reserve is not None:
            detail = f"somebody took away, or replaced, the file that was to become {receipts.path / self._receipt}"
            self.problems.append(Problem(Reason.VANISHED, detail))
        publish_file(receipts, self._receipt, data, overwrite=False)

    def _copy_ledger(self, visible: Folder) -> None:
        source = self._publication.ledger_path
        with self._disk.folder(source.parent) as origin:
            self._copy(origin, source.name, visible)

    def _copy_beside(self, visible: Folder) -> None:
        """Copy the checkpoints, where the run has some."""
        source = checkpoints_path(self._layout.ledger_path(self._publication.session_id))
        with self._disk.folder(source.parent) as origin:
            if origin.identity(source.name) is not None:
                self._copy(origin, source.name, visible)

    def _copy(self, origin: Folder, name: str, visible: Folder) -> None:
        with origin.open(name) as found, visible.folder(RUNS, create=True) as runs:
            if not self._make_room(runs, name, lambda file: _alike(file, found)):
                publish_copy(runs, name, found, overwrite=False)

    def _point(self, folder: Folder) -> None:
        if not self._publication.is_latest:
            return
        # `latest` last: it is what a search begins with.
        publish_file(folder, LATEST_RECEIPT, self._publication.receipt)
        publish_file(folder, LATEST, self._latest)

    def _make_room(self, folder: Folder, name: str, is_same: Callable[[StoredFile], bool]) -> bool:
        """Move aside what stands under `name`; True if it is the same already."""
        if folder.identity(name) is None:
            return False
        with suppress(DocketError), folder.open(name) as file:
            if is_same(file):
                return True
        aside = displace(folder, name)
        detail = f"{folder.path / name} held something else, which is now {aside}"
        self.problems.append(Problem(Reason.ALREADY_EXISTS, detail))
        return False


def _holds(file: StoredFile, data: bytes) -> bool:
    return file.size() == len(data) and file.read(0, len(data)) == data


def _alike(file: StoredFile, other: StoredFile) -> bool:
    return file.size() == other.size() and all(
        ours == theirs for ours, theirs in zip(chunks(file), chunks(other), strict=False)
    )


def _folders(layout: Layout) -> tuple[Path, ...]:
    # What a person sees comes first: a doctored copy there must not be passed over in silence.
    return (layout.docket_dir, layout.state) if layout.is_split else (layout.state,)


def latest_number(folder: Path, disk: Disk) -> str | None:
    """Return the docket number that the pointer in an evidence folder names, None if there is no such pointer."""
    try:
        with disk.folder(folder) as opened, opened.open(LATEST) as file:
            number = file.read(0, 64).decode("ascii", "replace").strip()
    except DocketError:
        return None
    return number if DOCKET_NUMBER.fullmatch(number) else None


def _readable(path: Path, disk: Disk) -> bool:
    try:
        with disk.folder(path.parent) as folder, folder.open(path.name):
            return True
    except DocketError:
        return False
