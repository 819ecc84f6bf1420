"""Looking at a folder without git before and after a tool, with the one scanner and contents kept by digest.

Rules (spec/windows.md, Folders without git):
1. A tree is a listing, kept under its digest. The contents of its files are kept in a pool of the windows' own; what
   is known to be unchanged is not read again.
2. A look that would newly read more than the limits is not made: file_limit or byte_limit, and nothing is kept.
3. Modes are told as git would: a file is executable for its owner or not. Directories of their own are not told.
4. What could not be read is known to stand there, not what is in it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from docket.engines.observe import ObserveRequest, ObserveWorld, observe_tree
from docket.engines.walk_request import UNKNOWN_DIGEST
from docket.errors import DocketError, InvalidDocumentError, PartialEvidenceError, UnavailableError
from docket.formats.canonical import decode, encode, object_at
from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import EntryState
from docket.formats.reason import Reason
from docket.formats.tree.address import Address
from docket.formats.tree.changes import target_of
from docket.formats.tree.listing import FileEntry, Kind, Listing, decode_listing
from docket.formats.tree.surface import Surface
from docket.formats.windows.changes import Side, TreeChange
from docket.formats.windows.names import EXECUTABLE_MODE, REGULAR_MODE, SYMLINK_MODE, Hashes, PartialReason
from docket.formats.windows.registry import Baseline
from docket.host.disk import SYSTEM_DISK, Disk
from docket.host.durable import publish, temporary_name
from docket.host.git_program import Deadline
from docket.host.tree import local_clock_ns
from docket.rules.tree.diff import diff
from docket.stores.blob_batch import BatchLimits, BlobBatch
from docket.stores.layout import Layout
from docket.stores.pool import create_pool, open_pool
from docket.stores.statcache import StatCache
from docket.stores.windows.looked import Looked, LookLimits, told_as_partial
from docket.stores.windows.looking import looking

LISTINGS, CONTENTS, KEPT, STAT_CACHE = "listings", "pool", "kept", "statcache"
MAX_LISTING_BYTES = 1024**3
_POOL_SECONDS = 1.0
_UNKNOWN = UNKNOWN_DIGEST.hex()


class FolderTree:
    """The folder at `layout.tree_root`, and what is kept of it below the folder of windows."""

    hashes = Hashes.CONTENT_SHA256

    def __init__(self, windows: Path, layout: Layout, limits: LookLimits, disk: Disk = SYSTEM_DISK) -> None:
        self._windows, self._layout, self._limits, self._disk = windows, layout, limits, disk
        self._root = os.fsencode(layout.tree_root)
        self._surface = Surface(evidence=layout.evidence)
        self._sizes: dict[str, int] = {}
        self._targets: dict[str, bytes] = {}
        status = layout.tree_root.stat()
        named = b"\0".join((self._root, b"%d %d" % (status.st_dev, status.st_ino)))
        self.repository = hashlib.sha256(b"folder\0" + named).hexdigest()[:32]

    def look(self, deadline: Deadline, before: Baseline | None = None) -> Looked:  # noqa: ARG002 - the port's
        """Look at the folder; PartialEvidenceError where that cannot be done whole, within the limits and in time."""
        with told_as_partial(), looking(self._windows, deadline.seconds_left(), disk=self._disk):
            clock_ns = local_clock_ns()
            world = ObserveWorld(cache=StatCache(self._windows / STAT_CACHE))
            listing = observe_tree(ObserveRequest(root=self._root, surface=self._surface, unread=True), world)
            deadline.seconds_left()
            newly = self._newly_read(listing)
            if newly or not self._has_all(listing):
                with ExitStack() as held:
                    listing = self._kept_contents(world, held)
            deadline.seconds_left()
            self._publish(LISTINGS, listing.tree_sha256, listing.document)
        baseline = Baseline(tree=listing.tree_sha256, hashes=self.hashes, clock_us=clock_ns // 1000)
        return Looked(baseline=baseline, bytes_read=sum(newly))

    def moves(self, before: Baseline) -> int:  # noqa: ARG002 - the port's
        """Return 0: there is no HEAD."""
        return 0

    def keep(self, ref: str, tree: str) -> None:
        """Keep a listing under a name."""
        with told_as_partial():
            if not self._publish(KEPT, _name(ref), encode({"ref": ref, "tree": tree})) and self.kept(ref) != tree:
                raise UnavailableError(Reason.ALREADY_EXISTS, f"{ref} keeps another tree")

    def kept(self, ref: str) -> str | None:
        """Return what is kept under a name."""
        document = self._read(KEPT, _name(ref))
        return None if document is None else kept_name(document)[1]

    def release(self, ref: str, tree: str) -> None:
        """Give a name up."""
        if self.kept(ref) == tree:
            with suppress(UnavailableError), self._disk.folder(self._windows / KEPT) as folder:
                folder.remove(_name(ref))

    def refs(self) -> dict[str, str]:
        """Return all names and their trees; what is no name any more is passed over."""
        try:
            with self._disk.folder(self._windows / KEPT) as folder:
                names = [name for name in folder.names() if not name.startswith(".")]
        except UnavailableError:
            return {}
        found = dict[str, str]()
        for name in names:
            with suppress(DocketError):
                document = self._read(KEPT, name)
                if document is not None:
                    ref, tree = kept_name(document)
                    found[ref] = tree
        return found

    def changes(self, before: str, after: str, deadline: Deadline) -> tuple[TreeChange, ...]:
        """Return what differs between two listings."""
        with told_as_partial():
            deadline.seconds_left()
            found = diff(self._listing(before), self._listing(after))
        changes = []
        for difference in found:
            change = TreeChange(
                path=difference.path, before=self._side(difference.before), after=self._side(difference.after)
            )
            if change.before != change.after:
                changes.append(change)
        return tuple(sorted(changes, key=lambda change: change.path))

    @contextmanager
    def contents(self) -> Iterator[Callable[[str, int], bytes | None]]:
        """Open what reads contents."""
        with told_as_partial(), ExitStack() as held:
            folder = held.enter_context(self._disk.folder(self._windows / CONTENTS, create=True))
            pool = held.enter_context(create_pool(folder, wait_seconds=_POOL_SECONDS))

            def load(name: str, most: int) -> bytes | None:
                if name in self._targets:
                    return self._targets[name]
                size = self._sizes.get(name)
                if size is None:
                    detail = f"the listing that tells of the content {name} is not there"
                    raise PartialEvidenceError(PartialReason.ALTERNATE_OBJECT_MISSING, detail)
                if size > most:
                    return None
                try:
                    with pool.open(Address(Digest(name), size)) as stream:
                        return b"".join(stream)
                except UnavailableError as error:
                    raise PartialEvidenceError(PartialReason.ALTERNATE_OBJECT_MISSING, error.detail) from error

            yield load

    def _newly_read(self, listing: Listing) -> list[int]:
        """Return the sizes of the files that must be read; beyond the limits it is an error."""
        unknown = [entry.size for entry in listing.entries if isinstance(entry, FileEntry) and _is_unknown(entry)]
        if len(unknown) > self._limits.max_paths:
            detail = f"{len(unknown):,} files would have to be read, and {self._limits.max_paths:,} may be"
            raise PartialEvidenceError(PartialReason.FILE_LIMIT, detail)
        if sum(unknown) > self._limits.max_bytes:
            detail = f"{sum(unknown):,} bytes would have to be read, and {self._limits.max_bytes:,} may be"
            raise PartialEvidenceError(PartialReason.BYTE_LIMIT, detail)
        return unknown

    def _has_all(self, listing: Listing) -> bool:
        wanted = {bytes.fromhex(entry.sha256) for entry in listing.entries if isinstance(entry, FileEntry)}
        with self._disk.folder(self._windows / CONTENTS, create=True) as folder:
            pool = open_pool(folder, wait_seconds=_POOL_SECONDS)
            if pool is None:
                return not wanted
            with pool:
                return wanted <= pool.known()

    def _kept_contents(self, world: ObserveWorld, held: ExitStack) -> Listing:
        folder = held.enter_context(self._disk.folder(self._windows / CONTENTS, create=True))
        pool = held.enter_context(create_pool(folder, wait_seconds=_POOL_SECONDS))
        name = temporary_name("taking")
        held.callback(shutil.rmtree, folder.path / name, ignore_errors=True)
        partials = held.enter_context(folder.folder(name, create=True, durable=False))
        batch = BlobBatch(BatchLimits(max_file_bytes=self._limits.max_bytes), pool.known())
        held.callback(batch.close)
        batch.write_to(partials)
        listing = observe_tree(ObserveRequest(root=self._root, surface=self._surface, content=batch), world)
        batch.settle(pool.contents)
        return listing

    def _side(self, state: EntryState | None) -> Side:
        if state is None or state.kind not in (Kind.FILE.value, Kind.SYMLINK.value):
            return Side()
        if state.kind == Kind.SYMLINK.value:
            target = target_of(state)
            name = hashlib.sha256(target).hexdigest()
            self._targets[name] = target
            return Side(mode=SYMLINK_MODE, name=name)
        if state.sha256 is not None and state.size is not None:
            self._sizes[state.sha256] = state.size
        return Side(mode=EXECUTABLE_MODE if state.mode & 0o100 else REGULAR_MODE, name=state.sha256)

    def _listing(self, tree: str) -> Listing:
        document = self._read(LISTINGS, tree)
        if document is None or hashlib.sha256(document).hexdigest() != tree:
            raise PartialEvidenceError(PartialReason.ALTERNATE_OBJECT_MISSING, f"the listing {tree} is not there")
        return decode_listing(document)

    def _publish(self, folder: str, name: str, data: bytes) -> bool:
        with (
            self._disk.folder(self._windows, create=True) as windows,
            windows.folder(folder, create=True, durable=False) as place,
        ):
            if place.identity(name) is not None:
                with suppress(OSError):
                    os.utime(place.path / name)  # it is in use: whoever clears takes it for young
                return False
            with suppress(UnavailableError):
                publish(place, name, data, overwrite=False)
                return True
            return False

    def _read(self, folder: str, name: str) -> bytes | None:
        try:
            with self._disk.folder(self._windows / folder) as place, place.open(name) as file:
                return file.read(0, MAX_LISTING_BYTES)
        except UnavailableError as error:
            if error.reason == Reason.NOT_FOUND:
                return None
            raise


def open_folder_tree(
    windows: Path, layout: Layout, limits: LookLimits | None = None, *, disk: Disk = SYSTEM_DISK
) -> FolderTree:
    """Open what is kept of a folder; PartialEvidenceError(snapshot_store_unavailable) where it cannot be looked at."""
    try:
        return FolderTree(windows, layout, limits or LookLimits(), disk)
    except OSError as error:
        detail = f"{layout.tree_root} cannot be looked at: {error.strerror}"
        raise PartialEvidenceError(PartialReason.SNAPSHOT_STORE_UNAVAILABLE, detail) from error


def _is_unknown(entry: FileEntry) -> bool:
    return entry.sha256 == _UNKNOWN


def _name(ref: str) -> str:
    return hashlib.sha256(ref.encode()).hexdigest()[:32]


def kept_name(document: bytes) -> tuple[str, str]:
    """Return the name and the tree that a file of KEPT holds; InvalidDocumentError for one that holds none."""
    value = object_at({"": decode(document)}, "")
    ref, tree = value.get("ref"), value.get("tree")
    if not isinstance(ref, str) or not isinstance(tree, str):
        raise InvalidDocumentError(Reason.WRONG_TYPE, "what should keep a tree names none")
    return ref, tree
