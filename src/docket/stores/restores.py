"""The folders of restores: `restores/<id>/record.json`, and beside it in `blobs/` what the restore displaced.

Rules (spec/restore.md, Where it stands):
1. What is displaced is kept, durably, before it goes; the record is published when everything is done.
2. A folder without a record is a restore that was cut short: what it displaced is still in its `blobs`.
3. Folders are 0700 and files 0600, and no name in them is followed if it is a link.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO

from docket.errors import DocketError, InvalidDocumentError, UnavailableError
from docket.formats.dataclass import dataclass
from docket.formats.ledger.tree_events import EntryState
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.restore_record import RestoreRecord, decode_record, encode_record
from docket.host.disk import SYSTEM_DISK, Disk, Folder
from docket.host.durable import publish
from docket.stores.blobs import BlobFolder
from docket.stores.content import CHUNK_BYTES
from docket.stores.layout import RESTORES, Layout
from docket.stores.removing import files_below, remove_published
from docket.stores.unfinished import names_in

RECORD, BLOBS = "record.json", "blobs"
RESTORE_LOCK = "restore.lock"
"""In the project's state folder: whoever restores, or removes what restores kept, holds it alone."""
MAX_RECORD_BYTES = 1024**3


class RestoreDraft:
    """A restore that is being done: takes what it displaces (`keep`), then its record. Close it in any case."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._blobs = BlobFolder(folder.folder(BLOBS, create=True))
        self.displaced: dict[RelPath, EntryState] = {}

    @property
    def path(self) -> Path:
        """The restore's folder."""
        return self._folder.path

    def keep(self, path: RelPath, state: EntryState, content: BinaryIO | None, /) -> None:
        """Take what a step displaced, kept once `flush` returns.

        InvalidDocumentError where the content is not the one that was seen.
        """
        if content is not None:
            address = self._blobs.put_later(_pieces(content))
            if address.sha256 != state.sha256:
                raise InvalidDocumentError(Reason.CHANGED_WHILE_READ, f"{path} was written to while it was kept")
        self.displaced[path] = state

    def flush(self) -> None:
        """Make durable what was taken; UnavailableError where that cannot be: it does not count as kept."""
        self._blobs.flush()

    def publish(self, record: RestoreRecord) -> Path:
        """Make the record durable and return where it stands."""
        publish(self._folder, RECORD, encode_record(record), overwrite=False)
        return self._folder.path / RECORD

    def close(self) -> None:
        """Give the folders back."""
        for folder in (self._blobs, self._folder):
            with suppress(DocketError):
                folder.close()


def begin_restore(layout: Layout, restore_id: str, *, disk: Disk = SYSTEM_DISK) -> RestoreDraft:
    """Make the folder of a new restore; UnavailableError where it cannot be made."""
    with ExitStack() as undo:
        state = undo.enter_context(disk.folder(layout.state, create=True))
        restores = undo.enter_context(state.folder(RESTORES, create=True))
        restores.make_private()
        folder = restores.folder(restore_id, create=True)
        try:
            return RestoreDraft(folder)
        except DocketError:  # nothing was displaced into it yet
            folder.close()
            with suppress(DocketError):
                restores.remove_folder(restore_id)
            raise


def open_restore(path: Path, *, disk: Disk = SYSTEM_DISK) -> tuple[RestoreRecord, BlobFolder]:
    """Return the record at `path` and the store of what that restore displaced, which the caller closes.

    UnavailableError where there is none; InvalidDocumentError where the record is not one.
    """
    with disk.folder(path.parent) as folder:
        with folder.open(path.name) as file:
            size = file.size()
            if size > MAX_RECORD_BYTES:
                raise InvalidDocumentError(Reason.TOO_LARGE, f"{path} is no record of a restore: it is too large")
            record = decode_record(file.read(0, size))
        return record, BlobFolder(folder.folder(BLOBS))


def record_paths(layout: Layout, *, disk: Disk = SYSTEM_DISK) -> tuple[Path, ...]:
    """Return where the records of the project's finished restores stand, the newest first."""
    found = []
    for name in names_in(layout.state / RESTORES, disk):
        path = layout.state / RESTORES / name
        with suppress(UnavailableError), disk.folder(path) as folder:
            written = folder.look(RECORD)
            if written is not None and not written.is_folder:
                found.append((written.mtime_ns, path / RECORD))
    return tuple(path for _, path in sorted(found, reverse=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreFolder:
    """A restore's folder: when its record was written, or the folder where there is none, and its size in bytes."""

    restore_id: str
    written_ns: int
    size_bytes: int


def restore_folders(layout: Layout, *, disk: Disk = SYSTEM_DISK) -> tuple[RestoreFolder, ...]:
    """Return every restore's folder, with those of restores that were cut short."""
    found = []
    for name in names_in(layout.state / RESTORES, disk):
        with suppress(UnavailableError), disk.folder(layout.state / RESTORES) as restores:
            at, size = restores.look(name), 0
            with restores.folder(name) as folder:
                written = folder.look(RECORD) or at
                size = sum(file.size_bytes for file in files_below(folder))
            if written is not None:
                found.append(RestoreFolder(restore_id=name, written_ns=written.mtime_ns, size_bytes=size))
    return tuple(found)


def remove_restore(layout: Layout, restore_id: str, *, disk: Disk = SYSTEM_DISK) -> None:
    """Remove a restore's folder, its record first; UnavailableError where something of it is left."""
    with disk.folder(layout.state / RESTORES) as restores:
        remove_published(restores, restore_id, RECORD)


def _pieces(content: BinaryIO) -> Iterator[bytes]:
    while piece := content.read(CHUNK_BYTES):
        yield piece
