"""The pool: the contents of a project's snapshots, `snapshots/contents`, read under a lock that keeps a sweep away.

Rules (spec/snapshot.md, The pool):
1. Whoever takes or reads a snapshot holds the pool's lock with others; whoever sweeps holds it alone. So nothing goes
   between a look at what is there and the manifest that names it, nor while it is read.
2. Small contents stand in packs, large ones in files of their own, `<aa>/<rest>`. What a content is called says where
   it stands, by the packs' indexes or by its digits; no document names a place.
3. A pack whose index cannot be read holds nothing, as far as anybody is told, and is left as it is.
4. What is read is checked (`stores.content`).
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Self

from docket.errors import DocketError, UnavailableError
from docket.formats.reason import Reason
from docket.formats.tree.address import Address
from docket.formats.tree.pack import Row
from docket.host.disk import Folder, Held, StoredFile
from docket.stores.blob_batch import PACKS
from docket.stores.blobs import BlobFolder
from docket.stores.content import ContentStream, missing
from docket.stores.packs import Pack, is_pack, packed_stream, read_pack

CONTENTS, LOCK = "contents", "lock"
SHARED_WAIT_SECONDS = 60.0
MAX_OPEN_PACKS = 16
CLONED_FROM_BYTES = 64 * 1024


class Pool:
    """The pool, open and locked; close it, or use it with `with`."""

    def __init__(self, contents: Folder, held: Held) -> None:
        """Begin; the folder and the lock are the pool's from now on."""
        self.contents = contents
        self._held = held
        self._blobs = BlobFolder(contents)
        self._packs: tuple[Pack, ...] | None = None
        self._places: dict[bytes, tuple[str, Row]] | None = None
        self._open: OrderedDict[str, StoredFile] = OrderedDict()

    def packs(self) -> tuple[Pack, ...]:
        """Return the packs that can be read, as they were at the first look."""
        if self._packs is None:
            found = []
            with suppress(UnavailableError), self.contents.folder(PACKS) as folder:
                for name in filter(is_pack, folder.names()):
                    with suppress(DocketError):
                        found.append(read_pack(folder, name))
            self._packs = tuple(found)
        return self._packs

    def known(self) -> frozenset[bytes]:
        """Return the digests (32 bytes each) of all that the pool holds."""
        files = (bytes.fromhex(digest) for digest in self._blobs.digests())
        return frozenset(row[0] for pack in self.packs() for row in pack.rows).union(files)

    def has(self, address: Address) -> bool:
        """Whether something of that digest and size stands here."""
        place = self._place(address)
        return self._blobs.has(address) if place is None else place[1][2] == address.size

    def open(self, address: Address) -> ContentStream:
        """Open a content; UnavailableError(CONTENT_MISSING) where it is not here."""
        place = self._place(address)
        if place is None:
            return self._blobs.open(address)
        if place[1][2] != address.size:
            raise missing(address)
        return packed_stream(self._file(place[0]), place[1])

    def clone_into(self, address: Address, descriptor: int) -> bool:
        """Make an empty open file share or hold a content, without its bytes' passing through this process.

        False where that cannot be done or does not pay. Nobody has checked what was cloned: whoever asked for it
        reads it back, for only the file that was written tells what was written.
        """
        place = self._place(address)
        if place is None:
            return self._blobs.clone_into(address, descriptor)
        if place[1][2] != address.size or address.size < CLONED_FROM_BYTES:
            return False
        return self._file(place[0]).copy_into(descriptor, place[1][1], address.size)

    def close(self) -> None:
        """Give everything back, the lock last."""
        with suppress(DocketError):
            while self._open:
                self._open.popitem()[1].close()
            self.contents.close()
        self._held.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _place(self, address: Address) -> tuple[str, Row] | None:
        if self._places is None:
            self._places = {row[0]: (pack.name, row) for pack in self.packs() for row in pack.rows}
        return self._places.get(bytes.fromhex(address.sha256))

    def _file(self, name: str) -> StoredFile:
        if name in self._open:
            self._open.move_to_end(name)
            return self._open[name]
        if len(self._open) >= MAX_OPEN_PACKS:
            self._open.popitem(last=False)[1].close()
        with self.contents.folder(PACKS) as folder:
            self._open[name] = folder.open(name)
        return self._open[name]


def create_pool(snapshots: Folder, *, wait_seconds: float) -> Pool:
    """Open the pool of a project's folder of snapshots, made where it is missing, and share its lock.

    UnavailableError(LOCKED) where somebody holds the lock alone for longer than the wait.
    """
    return _opened(snapshots, create=True, exclusive=False, wait_seconds=wait_seconds)


def open_pool(snapshots: Folder, *, exclusive: bool = False, wait_seconds: float) -> Pool | None:
    """Open and lock the pool of a project's folder of snapshots; None where it has none.

    UnavailableError(LOCKED) where somebody holds the lock against it for longer than the wait.
    """
    if snapshots.identity(CONTENTS) is None:
        return None
    return _opened(snapshots, create=False, exclusive=exclusive, wait_seconds=wait_seconds)


def _opened(snapshots: Folder, *, create: bool, exclusive: bool, wait_seconds: float) -> Pool:
    with ExitStack() as undo:
        held = snapshots.hold(LOCK, exclusive=exclusive, wait_seconds=wait_seconds)
        undo.callback(held.release)
        contents = undo.enter_context(snapshots.folder(CONTENTS, create=create))
        undo.pop_all()
    return Pool(contents, held)


class EitherContents:
    """A snapshot's contents: its own folder of them, as snapshots had before there was a pool, and the pool."""

    def __init__(self, own: BlobFolder | None, pool: Pool | None) -> None:
        """Begin; both are closed with it."""
        self._stores: tuple[BlobFolder | Pool, ...] = tuple(store for store in (own, pool) if store is not None)

    def has(self, address: Address) -> bool:
        """Whether one of them has it."""
        return any(store.has(address) for store in self._stores)

    def open(self, address: Address) -> ContentStream:
        """Open it in the first that has it."""
        for store in self._stores:
            try:
                return store.open(address)
            except UnavailableError as error:
                if error.reason != Reason.CONTENT_MISSING:
                    raise
        raise missing(address)

    def clone_into(self, address: Address, descriptor: int) -> bool:
        """Clone it from the first that has it (`Pool.clone_into`)."""
        for store in self._stores:
            if store.has(address):
                return store.clone_into(address, descriptor)
        return False

    def close(self) -> None:
        """Give the stores back."""
        for store in self._stores:
            with suppress(DocketError):
                store.close()


__all__ = ["CONTENTS", "LOCK", "EitherContents", "Pool", "create_pool", "open_pool"]
