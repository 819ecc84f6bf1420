"""Many contents put into the pool at once: written one by one, made durable together, then named.

Rules:
1. What is written stands in a folder of the taker's own: small contents in packs, large ones in files. Only `settle`
   moves it into the pool, synced, under names that stand for it; it then syncs the names. A batch that dies before
   leaves partials alone.
2. A forked copy of the process may write through the same batch: its partials carry its process id, and what it
   hands back (`ack`) is plain bytes that `settled` takes in the process that began the batch.
3. What the pool holds is not written again.

Which contents those are is the scanner's finding (`engines.observe`); what the batch is for, `stores.snapshots`'s.
"""

from __future__ import annotations

import os
import struct
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress

from docket.errors import DocketError, UnavailableError
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.formats.tree.pack import Row
from docket.host.disk import Folder, StoredFile
from docket.stores.blobs import settle_blobs
from docket.stores.packs import MAX_PACK_BYTES, PARTIAL_SUFFIX, PackWriter, pack_name, seal

PACKS = "packs"
_ACK = struct.Struct("<32sQQQQ")
_Partial = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimits:
    """Files larger than `max_file_bytes` are not taken."""

    max_file_bytes: int


class BlobBatch:
    """Takes contents from the scanner; `known` are the digests (32 bytes each) that the pool holds already."""

    def __init__(self, limits: BatchLimits, known: frozenset[bytes] = frozenset()) -> None:
        self._limits, self._known = limits, known
        self._partials: Folder | None = None
        self._taken: set[bytes] = set()
        self._pid = self._count = 0
        self._pack: tuple[int, PackWriter] | None = None
        self._file: StoredFile | None = None
        self._written = 0
        self._ack = self._acks = b""

    def write_to(self, partials: Folder) -> None:
        """Write what is taken from now on into this folder, which the batch does not close."""
        self._partials = partials

    def knows_all(self, contents: Mapping[bytes, int]) -> bool:
        """Whether the pool holds all of these contents, sizes by digest (32 bytes)."""
        return self._known.issuperset(contents)

    def known_bytes(self, contents: Mapping[bytes, int]) -> int:
        """Return how many bytes of these contents, sizes by digest, the pool holds."""
        if self.knows_all(contents):
            return sum(contents.values())
        return sum(size for digest, size in contents.items() if digest in self._known)

    def holds(self, digest: bytes, size: int) -> bool:
        """Whether a content of that digest and size need not be read for the batch."""
        return digest in self._known or digest in self._taken or size > self._limits.max_file_bytes

    def wants(self, size: int) -> bool:
        """Whether the batch takes a file of that size."""
        return size <= self._limits.max_file_bytes

    def whole(self, data: bytes, digest: bytes) -> None:
        """Take a small content whose digest is known: it goes into a pack."""
        self._ack = b""
        if digest in self._known or digest in self._taken:
            return
        count, pack = self._open_pack()
        offset = pack.add(digest, data)
        self._taken.add(digest)
        self._ack = _ACK.pack(digest, self._pid, count, offset, len(data))

    def piece(self, data: memoryview) -> None:
        """Take the next bytes of a large content that is being read: it gets a file of its own."""
        if self._file is None:
            self._ack, self._written = b"", 0
            self._file = self._create()
        self._file.append(bytes(data))
        self._written += len(data)

    def end(self, digest: bytes) -> None:
        """The content begun is complete and has this digest."""
        self._shut()
        if digest in self._known or digest in self._taken:
            self._unlink()
            return
        self._taken.add(digest)
        self._ack = _ACK.pack(digest, self._pid, self._count, 0, self._written)

    def drop(self) -> None:
        """What was begun is not a content."""
        self._ack = b""
        if self._file is not None:
            self._shut()
            self._unlink()

    def ack(self) -> bytes:
        """Return what `settle` must be given for the content taken last; empty where it was there already."""
        return self._ack

    def settled(self, acks: bytes) -> None:
        """Keep in mind what a pass stands for, beside what an earlier one did."""
        self._acks += acks

    def settle(self, contents: Folder) -> None:
        """Make what the passes stand for durable and name it in the pool's folder.

        UnavailableError where that does not succeed: then some of it may stand there, and nothing names it.
        """
        packs: defaultdict[_Partial, list[Row]] = defaultdict(list)
        files: list[tuple[str, str]] = []
        # Copies of the process that have taken equal bytes each tell of them; one is enough.
        rows = {row[0]: row for row in _ACK.iter_unpack(self._acks)}
        for digest, pid, count, offset, size in rows.values():
            if offset:
                packs[pid, count].append((digest, offset, size))
            else:
                files.append((digest.hex(), _partial_name(pid, count)))
        self.close()
        if self._partials is not None and packs:
            _settle_packs(self._partials, contents, packs)
        if self._partials is not None and files:
            settle_blobs(self._partials, contents, files)
        if rows:
            contents.sync()

    def close(self) -> None:
        """Give back what is open; what is not settled stays a partial."""
        pack, self._pack = self._pack, None
        if pack is not None:
            pack[1].close()
        self._shut()

    def _open_pack(self) -> tuple[int, PackWriter]:
        if self._pack is None or self._pid != os.getpid() or self._pack[1].length >= MAX_PACK_BYTES:
            if self._pack is not None:
                self._pack[1].close()
            writer = PackWriter(self._create())
            self._pack = self._count, writer
        return self._pack

    def _create(self) -> StoredFile:
        if self._partials is None:
            raise UnavailableError(Reason.WRITE_FAILED, "contents are given to a batch that takes none")
        self._pid = os.getpid()
        while True:
            self._count += 1
            try:
                return self._partials.create(_partial_name(self._pid, self._count))
            except UnavailableError as error:
                if error.reason != Reason.ALREADY_EXISTS:
                    raise

    def _unlink(self) -> None:
        if self._partials is not None:
            with suppress(DocketError):
                self._partials.remove(_partial_name(self._pid, self._count))

    def _shut(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()


def _settle_packs(partials: Folder, contents: Folder, packs: dict[_Partial, list[Row]]) -> None:
    with contents.folder(PACKS, create=True, durable=False) as place:
        for partial, rows in packs.items():
            name = _partial_name(*partial)
            with partials.open(name, writable=True) as file:
                seal(file, rows)
            partials.move(name, place, pack_name())
        place.sync()


def _partial_name(pid: int, count: int) -> str:
    return f"{pid:x}-{count:x}{PARTIAL_SUFFIX}"
