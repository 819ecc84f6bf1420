"""The folders of content snapshots: `snapshots/<session>/manifest.json` and `blobs/<aa>/<rest>`.

Rules (spec/snapshot.md, Where it stands):
1. The manifest is published last, when everything it names is durable. A folder without one is no snapshot: it is
   being taken, or its taking was cut short, and it is never restored from.
2. What an earlier snapshot of the project holds is shared with it by further names of the same files, so deleting a
   session's folder takes nothing from another. Such snapshots are no independent backups of each other.
3. Removing begins with the manifest, durably: what a removal that dies leaves is no snapshot either.
4. Folders are 0700 and files 0600, and no name in them is followed if it is a link.

It decides neither what goes into a snapshot (engines.snapshot) nor which are removed (rules.tree.pruning).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from docket.errors import DocketError, UnavailableError
from docket.formats.digest import Digest, sha256
from docket.formats.reason import Reason
from docket.formats.tree.address import Address
from docket.formats.tree.manifest import Manifest, SnapshotLimits, decode_manifest
from docket.host.disk import SYSTEM_DISK, Disk, Folder
from docket.host.durable import publish
from docket.host.locks import is_held
from docket.stores.blob_batch import BatchLimits, BlobBatch, Linked, link_earlier
from docket.stores.blobs import BlobFolder, is_intact
from docket.stores.layout import SNAPSHOTS, Layout
from docket.stores.receipts import SESSION_ID
from docket.stores.unfinished import lock_path, names_in

MANIFEST, BLOBS, PARTIALS = "manifest.json", "blobs", "partial"
_MAX_DEPTH = 8


class SnapshotState(StrEnum):
    """What a session's folder is."""

    COMPLETE = "complete"
    BEING_TAKEN = "being-taken"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFolder:
    """A session's folder: its state, when its manifest was written, and its files' (inode, size)."""

    session_id: str
    path: Path
    state: SnapshotState
    written_ns: int | None
    inodes: frozenset[tuple[int, int]] = frozenset()


class SnapshotDraft:
    """A snapshot being taken; `batch` takes contents from the scanner. Close it, whatever has become of it."""

    def __init__(self, session: Folder, earlier: Folder | None, limits: SnapshotLimits) -> None:
        """Make its folders in the empty folder `session`; both folders given are the draft's from now on."""
        self._session, self._earlier = session, earlier
        with ExitStack() as undo:
            self._blobs = undo.enter_context(session.folder(BLOBS, create=True))
            self._partials = undo.enter_context(session.folder(PARTIALS, create=True))
            known: frozenset[bytes] = frozenset()
            if earlier is not None:
                # Not closed through the store: the folder goes with the draft.
                known = frozenset(bytes.fromhex(digest) for digest in BlobFolder(earlier).digests())
            self.batch = BlobBatch(self._partials, BatchLimits(max_file_bytes=limits.max_file_bytes), known)
            undo.pop_all()

    @property
    def path(self) -> Path:
        """The session's folder."""
        return self._session.path

    def link(self, wanted: Iterable[Address]) -> Linked:
        """Share what the earlier snapshot holds of `wanted`; what turns out not to be had there is forgotten."""
        known = self.batch.known(wanted)
        if self._earlier is None or not known:
            return Linked(shared_bytes=0, lost=frozenset())
        linked = link_earlier(known, self._earlier, self._blobs)
        self.batch.forget(linked.lost)
        return linked

    def publish(self, manifest: bytes) -> None:
        """Make everything durable and then the manifest; UnavailableError leaves no snapshot."""
        self.batch.settle(self._blobs)
        _empty(self._partials)
        self._session.remove_folder(PARTIALS)
        self._session.sync_everything()
        publish(self._session, MANIFEST, manifest, overwrite=False)

    def close(self) -> None:
        """Give the folders back."""
        for folder in (self._partials, self._blobs, self._earlier, self._session):
            if folder is not None:
                with suppress(DocketError):
                    folder.close()


def begin_snapshot(
    layout: Layout, session_id: str, limits: SnapshotLimits, *, disk: Disk = SYSTEM_DISK
) -> SnapshotDraft:
    """Make the session's folder (ALREADY_EXISTS) and find the newest snapshot of the project, to share with."""
    with ExitStack() as held:
        state = held.enter_context(disk.folder(layout.state, create=True))
        snapshots = held.enter_context(state.folder(SNAPSHOTS, create=True))
        snapshots.make_private()
        if snapshots.identity(session_id) is not None:
            raise UnavailableError(Reason.ALREADY_EXISTS, f"{snapshots.path / session_id} exists already")
        with ExitStack() as undo:
            undo.callback(_take_back, snapshots, session_id)
            earlier = _newest(snapshots)
            if earlier is not None:
                undo.enter_context(earlier)
            session = undo.enter_context(snapshots.folder(session_id, create=True))
            draft = SnapshotDraft(session, earlier, limits)
            undo.pop_all()
        return draft


def _take_back(snapshots: Folder, name: str) -> None:
    """Remove a folder that was just begun; what cannot be removed is no snapshot, and a later prune finds it."""
    with suppress(DocketError):
        with snapshots.folder(name) as session:
            _empty(session)
        snapshots.remove_folder(name)


def _newest(snapshots: Folder) -> Folder | None:
    """Open the blobs of the newest complete snapshot."""
    written: list[tuple[int, str]] = []
    for name in snapshots.names():
        with suppress(UnavailableError), snapshots.folder(name) as session:
            found = session.look(MANIFEST)
            if found is not None and found.is_file:
                written.append((found.mtime_ns, name))
    for _, name in sorted(written, reverse=True):
        with suppress(UnavailableError), snapshots.folder(name) as session:
            return session.folder(BLOBS)
    return None


class Snapshot:
    """A complete snapshot, opened for reading: its manifest, the digest of that, and the store of its contents."""

    def __init__(self, manifest: Manifest, contents: BlobFolder, path: Path, manifest_sha256: Digest) -> None:
        self.manifest, self.contents, self.path = manifest, contents, path
        self.manifest_sha256 = manifest_sha256

    def damaged(self) -> Iterator[Address]:
        """Yield each content that is missing or not what its address says, reading all of them."""
        for address in self.manifest.addresses():
            try:
                stream = self.contents.open(address)
            except UnavailableError:
                yield address
                continue
            if not is_intact(stream):
                yield address

    def close(self) -> None:
        """Give the store back."""
        self.contents.close()


def open_snapshot(path: Path, *, disk: Disk = SYSTEM_DISK) -> Snapshot:
    """Open the snapshot in a session's folder.

    UnavailableError where it is none (NOT_FOUND: no manifest) or cannot be read; InvalidDocumentError where its
    manifest is not one.
    """
    with ExitStack() as undo:
        session = undo.enter_context(disk.folder(path))
        with session.open(MANIFEST) as file:
            document = file.read(0, file.size())
        manifest = decode_manifest(document)
        return Snapshot(manifest, BlobFolder(session.folder(BLOBS)), path, sha256(document))


def snapshot_path(layout: Layout, session_id: str) -> Path:
    """Where a session's snapshot stands."""
    return layout.state / SNAPSHOTS / session_id


def snapshot_folders(
    layout: Layout, *, disk: Disk = SYSTEM_DISK, held: Callable[[Path], bool] = is_held
) -> tuple[SnapshotFolder, ...]:
    """Return every session's folder, the newest last; one without a manifest whose run lives is being taken."""
    found = []
    for name in names_in(layout.state / SNAPSHOTS, disk):
        if not SESSION_ID.fullmatch(name):
            continue
        path = snapshot_path(layout, name)
        with suppress(UnavailableError), disk.folder(path) as session:
            written = session.look(MANIFEST)
            state = SnapshotState.COMPLETE
            if written is None:
                live = held(lock_path(layout, name))
                state = SnapshotState.BEING_TAKEN if live else SnapshotState.INTERRUPTED
            written_ns = None if written is None else written.mtime_ns
            inodes = frozenset(_inodes(session, 0))
            found.append(SnapshotFolder(session_id=name, path=path, state=state, written_ns=written_ns, inodes=inodes))
    return tuple(sorted(found, key=lambda item: (item.written_ns or 0, item.session_id)))


def _inodes(folder: Folder, depth: int) -> Iterator[tuple[int, int]]:
    for name in folder.names():
        found = folder.look(name)
        if found is not None and found.is_file:
            yield found.identity.inode, found.size_bytes
        elif found is not None and found.is_folder and depth < _MAX_DEPTH:
            with suppress(UnavailableError), folder.folder(name) as inner:
                yield from _inodes(inner, depth + 1)


def remove_snapshot(path: Path, *, disk: Disk = SYSTEM_DISK) -> None:
    """Remove a session's folder, its manifest first; UnavailableError where something of it is left."""
    with disk.folder(path.parent) as snapshots:
        with snapshots.folder(path.name) as session:
            if session.look(MANIFEST) is not None:
                session.remove(MANIFEST)
                session.sync()
            _empty(session)
        snapshots.remove_folder(path.name)
        snapshots.sync()


def _empty(folder: Folder, depth: int = 0) -> None:
    for name in folder.names():
        found = folder.look(name)
        if found is None:
            continue
        if not found.is_folder or depth >= _MAX_DEPTH:
            folder.remove(name)
            continue
        with folder.folder(name) as inner:
            _empty(inner, depth + 1)
        folder.remove_folder(name)
