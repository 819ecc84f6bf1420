"""The folders of content snapshots: `snapshots/<session>/manifest.json`, which names contents in `snapshots/contents`.

Rules (spec/snapshot.md, Where it stands):
1. The manifest is published last, when everything it names is durable. A folder without one is no snapshot: it is
   being taken, or its taking was cut short, and it is never restored from.
2. Contents stand in the project's pool (`stores.pool`), which is locked for as long as a snapshot is taken or read.
   Snapshots taken before there was one have a folder `blobs` of their own, and are read from both.
3. Removing begins with the manifest, durably, and takes no content: a sweep does (`stores.sweeping`). So deleting a
   session's folder by hand takes nothing from another.
4. Folders are 0700 and files 0600, and no name in them is followed if it is a link.

It decides neither what goes into a snapshot (engines.snapshot) nor which are removed (rules.tree.pruning).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from enum import StrEnum
from pathlib import Path

from docket.errors import DocketError, InvalidDocumentError, UnavailableError
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest, sha256
from docket.formats.reason import Reason
from docket.formats.tree.address import Address
from docket.formats.tree.manifest import Manifest, SnapshotLimits
from docket.formats.tree.manifest_scan import Keep, read_manifest
from docket.formats.tree.marks import Named, named_contents
from docket.host.disk import SYSTEM_DISK, Disk, Folder
from docket.host.durable import publish
from docket.host.locks import is_held
from docket.stores.blob_batch import BatchLimits, BlobBatch
from docket.stores.blobs import BlobFolder, is_intact
from docket.stores.layout import SNAPSHOTS, Layout
from docket.stores.pool import CONTENTS, LOCK, SHARED_WAIT_SECONDS, EitherContents, Pool, create_pool, open_pool
from docket.stores.receipts import SESSION_ID
from docket.stores.removing import files_below, remove_below, remove_published
from docket.stores.unfinished import lock_path, names_in

MANIFEST, BLOBS, PARTIALS = "manifest.json", "blobs", "partial"
MAX_MANIFEST_BYTES = 4 * 1024**3
_DAMAGED_HINT = "nothing of that snapshot can be relied on; docket snapshots verify tells which others still restore"


class SnapshotState(StrEnum):
    """What a session's folder is."""

    COMPLETE = "complete"
    BEING_TAKEN = "being-taken"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFolder:
    """A session's folder: its state, when its manifest was written, and its own files' (inode, size).

    `has_own_contents` is whether it was taken before there was a pool.
    """

    session_id: str
    path: Path
    state: SnapshotState
    written_ns: int | None
    inodes: frozenset[tuple[int, int]] = frozenset()
    has_own_contents: bool = False


class SnapshotDraft:
    """A snapshot being taken; `batch` takes contents from the scanner. Close it, whatever has become of it."""

    def __init__(self, snapshots: Folder, session: Folder, pool: Pool, limits: SnapshotLimits) -> None:
        """Begin in the empty folder `session` of `snapshots`; all that is given is the draft's from now on."""
        self._snapshots, self._session, self._pool = snapshots, session, pool
        self._partials: Folder | None = None
        self.batch = BlobBatch(BatchLimits(max_file_bytes=limits.max_file_bytes), pool.known())

    @property
    def path(self) -> Path:
        """The session's folder."""
        return self._session.path

    def prepare(self) -> None:
        """Make ready for a pass that hands over contents; without one, nothing but the manifest is written."""
        if self._partials is None:
            self._partials = self._session.folder(PARTIALS, create=True, durable=False)
            self.batch.write_to(self._partials)

    def publish(self, manifest: bytes) -> None:
        """Make everything durable and then the manifest; UnavailableError leaves no snapshot."""
        self.batch.settle(self._pool.contents)
        if self._partials is not None:
            remove_below(self._partials)
            self._session.remove_folder(PARTIALS)
        publish(self._session, MANIFEST, manifest, overwrite=False)
        self._snapshots.sync()

    def close(self) -> None:
        """Give the folders back, and the lock last."""
        with suppress(DocketError):
            self.batch.close()
        for folder in (self._partials, self._session, self._snapshots):
            if folder is not None:
                with suppress(DocketError):
                    folder.close()
        self._pool.close()


def begin_snapshot(
    layout: Layout, session_id: str, limits: SnapshotLimits, *, disk: Disk = SYSTEM_DISK
) -> SnapshotDraft:
    """Make the session's folder (ALREADY_EXISTS) and lock the project's pool, to share it with others who take one.

    UnavailableError(LOCKED) where a sweep holds the pool for too long.
    """
    with ExitStack() as undo:
        state = disk.folder(layout.state, create=True)
        with state:
            snapshots = undo.enter_context(state.folder(SNAPSHOTS, create=True))
        snapshots.make_private()
        pool = undo.enter_context(create_pool(snapshots, wait_seconds=SHARED_WAIT_SECONDS))
        if snapshots.identity(session_id) is not None:
            raise UnavailableError(Reason.ALREADY_EXISTS, f"{snapshots.path / session_id} exists already")
        undo.callback(_take_back, layout.state / SNAPSHOTS, session_id, disk)
        session = undo.enter_context(snapshots.folder(session_id, create=True, durable=False))
        draft = SnapshotDraft(snapshots, session, pool, limits)
        undo.pop_all()
    return draft


def _take_back(snapshots: Path, name: str, disk: Disk) -> None:
    """Remove a folder that was just begun; what cannot be removed is no snapshot, and a later prune finds it."""
    with suppress(DocketError), disk.folder(snapshots) as folder:
        folder.remove_folder(name)


class Snapshot:
    """A complete snapshot, opened for reading: its manifest, the digest of that, and the store of its contents."""

    def __init__(self, manifest: Manifest, contents: EitherContents, path: Path, manifest_sha256: Digest) -> None:
        self.manifest, self.contents, self.path = manifest, contents, path
        self.manifest_sha256 = manifest_sha256

    def damaged(self, intact: set[Address] | None = None) -> Iterator[tuple[Address, bool]]:
        """Yield each content with whether it is missing or not what its address says, reading all of them.

        What `intact` holds is not read again, and what is found to be so is put into it.
        """
        for address in self.manifest.addresses():
            is_whole = intact is not None and address in intact
            if not is_whole:
                with suppress(UnavailableError):
                    is_whole = is_intact(self.contents.open(address))
            if is_whole and intact is not None:
                intact.add(address)
            yield address, not is_whole

    def close(self) -> None:
        """Give the store back."""
        self.contents.close()


def open_snapshot(path: Path, *, keep: Keep | None = None, disk: Disk = SYSTEM_DISK) -> Snapshot:
    """Open the snapshot in a session's folder; until it is closed no sweep takes what it names.

    With `keep`, its manifest has of the files those that are asked for, and those that tell more than a file must.

    UnavailableError where it is none (NOT_FOUND: no manifest) or cannot be read, or a sweep holds the pool for too long
    (LOCKED); InvalidDocumentError where its manifest is not one.
    """
    with ExitStack() as undo, disk.folder(path.parent) as snapshots, snapshots.folder(path.name) as session:
        pool = open_pool(snapshots, wait_seconds=SHARED_WAIT_SECONDS)
        if pool is not None:
            undo.enter_context(pool)
        document = _read_manifest(session)
        manifest = _decoded(document, path / MANIFEST, keep)
        own = None if session.identity(BLOBS) is None else BlobFolder(session.folder(BLOBS))
        undo.pop_all()
        return Snapshot(manifest, EitherContents(own, pool), path, sha256(document))


def named_by(session: Folder) -> Named:
    """Return what the manifest in a session's open folder names.

    UnavailableError where it cannot be read; InvalidDocumentError where it is none.
    """
    return named_contents(_read_manifest(session))


def _read_manifest(session: Folder) -> bytes:
    with session.open(MANIFEST) as file:
        size = file.size()
        if size > MAX_MANIFEST_BYTES:
            detail = f"{session.path / MANIFEST} is no manifest: it has {size:,} bytes, and none has so many"
            raise InvalidDocumentError(Reason.TOO_LARGE, detail, hint=_DAMAGED_HINT)
        return file.read(0, size)


def _decoded(document: bytes, path: Path, keep: Keep | None) -> Manifest:
    try:
        return read_manifest(document, keep)
    except InvalidDocumentError as error:
        detail = f"{path} is no manifest of a snapshot: {error.detail}"
        raise InvalidDocumentError(error.reason, detail, points=error.points, hint=_DAMAGED_HINT) from error


def manifest_folders(snapshots: Folder) -> Iterator[str]:
    """Yield each name in the folder of snapshots that holds a manifest, a session's or not.

    UnavailableError where that cannot be told of a name.
    """
    for name in snapshots.names():
        found = snapshots.look(name)
        if name != CONTENTS and found is not None and found.is_folder:
            with snapshots.folder(name) as session:
                if session.look(MANIFEST) is not None:
                    yield name


def snapshot_path(layout: Layout, session_id: str) -> Path:
    """Where a session's snapshot stands."""
    return layout.state / SNAPSHOTS / session_id


def snapshot_folders(
    layout: Layout, *, disk: Disk = SYSTEM_DISK, held: Callable[[Path], bool] = is_held
) -> tuple[SnapshotFolder, ...]:
    """Return every session's folder, the newest last; one without a manifest whose run lives is being taken."""
    found = []
    for name in names_in(layout.state / SNAPSHOTS, disk):
        if name in (CONTENTS, LOCK) or not SESSION_ID.fullmatch(name):
            continue
        path = snapshot_path(layout, name)
        with suppress(UnavailableError), disk.folder(path) as session:
            written = session.look(MANIFEST)
            state = SnapshotState.COMPLETE
            if written is None:
                live = held(lock_path(layout, name))
                state = SnapshotState.BEING_TAKEN if live else SnapshotState.INTERRUPTED
            written_ns = None if written is None else written.mtime_ns
            found.append(
                SnapshotFolder(
                    session_id=name,
                    path=path,
                    state=state,
                    written_ns=written_ns,
                    inodes=frozenset((file.identity.inode, file.size_bytes) for file in files_below(session)),
                    has_own_contents=session.identity(BLOBS) is not None,
                )
            )
    return tuple(sorted(found, key=lambda item: (item.written_ns or 0, item.session_id)))


def remove_snapshot(path: Path, *, disk: Disk = SYSTEM_DISK) -> None:
    """Remove a session's folder, its manifest first; UnavailableError where something of it is left."""
    with disk.folder(path.parent) as snapshots:
        remove_published(snapshots, path.name, MANIFEST)
