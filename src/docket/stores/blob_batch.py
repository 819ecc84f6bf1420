"""Many contents put into a blob folder at once: written one by one, made durable together, then named.

Rules:
1. What is written stands under a unique partial name in a folder of its own. Only `settle`, after everything was
   synced, gives it its digest's name; it then syncs the names. A batch that dies before leaves partials alone.
2. A forked copy of the process may write through the same batch: its partials carry its process id, and what it
   hands back (`ack`) is plain bytes that `settled` takes in the process that began the batch.
3. Contents that an earlier blob folder holds are not written again: they are linked from there, each read and
   checked before its first further link. What cannot be linked (EMLINK, another file system) is copied, checked on
   the way; what is damaged there is said to be, and is not used.

Which contents those are is the scanner's finding (`engines.observe`); what the batch is for, `stores.snapshots`'s.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby

from docket.errors import DocketError, InvalidDocumentError, UnavailableError
from docket.formats.reason import Reason
from docket.formats.tree.address import Address, blob_parts
from docket.host.disk import Folder, StoredFile
from docket.stores.blobs import is_intact, open_blob

PARTIAL_SUFFIX = ".partial"
_ACK = struct.Struct("<32sQQ")
_FULL = frozenset((Reason.NO_SPACE, Reason.QUOTA_EXCEEDED, Reason.IO_ERROR, Reason.READ_ONLY))
_UNLINKABLE = frozenset((Reason.TOO_MANY_LINKS, Reason.OTHER_FILE_SYSTEM, Reason.NOT_PERMITTED, Reason.WRITE_FAILED))


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimits:
    """Files larger than `max_file_bytes` are not taken."""

    max_file_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """What became of contents that stood in an earlier folder: how many bytes are shared, which were not to be had."""

    shared_bytes: int
    lost: frozenset[str]


class BlobBatch:
    """Takes contents from the scanner; `partials` is the folder of what is not settled, `known` what need not be taken.

    `known` are digests (32 bytes each) that stand in an earlier store or in this one already.
    """

    def __init__(self, partials: Folder, limits: BatchLimits, known: frozenset[bytes] = frozenset()) -> None:
        self._partials, self._limits, self._known = partials, limits, known
        self._taken: set[bytes] = set()
        self._count = 0
        self._file: StoredFile | None = None
        self._ack = self._acks = b""

    def forget(self, digests: Iterable[str]) -> None:
        """Take these contents as not known: what was to be shared is not to be had."""
        self._known -= {bytes.fromhex(digest) for digest in digests}

    def known(self, addresses: Iterable[Address]) -> list[Address]:
        """Return those of `addresses` that stand in an earlier store."""
        return [address for address in addresses if bytes.fromhex(address.sha256) in self._known]

    def holds(self, digest: bytes, size: int) -> bool:
        """Whether a content of that digest and size need not be read for the batch."""
        return digest in self._known or digest in self._taken or size > self._limits.max_file_bytes

    def wants(self, size: int) -> bool:
        """Whether the batch takes a file of that size."""
        return size <= self._limits.max_file_bytes

    def whole(self, data: bytes, digest: bytes) -> None:
        """Take a content whose digest is known."""
        self._ack = b""
        if digest in self._known or digest in self._taken:
            return
        self._open()
        self._append(data)
        self.end(digest)

    def piece(self, data: memoryview) -> None:
        """Take the next bytes of a content that is being read."""
        if self._file is None:
            self._open()
        self._append(bytes(data))

    def end(self, digest: bytes) -> None:
        """The content begun is complete and has this digest."""
        self._shut()
        self._taken.add(digest)
        self._ack = _ACK.pack(digest, os.getpid(), self._count)

    def drop(self) -> None:
        """What was begun is not a content; its partial goes with the folder."""
        self._ack = b""
        if self._file is not None:
            self._shut()
            with suppress(DocketError):
                self._partials.remove(_partial_name(os.getpid(), self._count))

    def ack(self) -> bytes:
        """Return what `settle` must be given for the content taken last; empty where it was there already."""
        return self._ack

    def settled(self, acks: bytes) -> None:
        """Keep in mind what a pass stands for, beside what an earlier one did."""
        self._acks += acks

    def settle(self, blobs: Folder) -> int:
        """Make what the pass stands for durable and name it in `blobs`; return how many bytes are new there.

        UnavailableError where that does not succeed: then nothing of it counts.
        """
        rows = sorted((digest.hex(), pid, count) for digest, pid, count in _ACK.iter_unpack(self._acks))
        if rows:
            self._partials.sync_everything()
        new_bytes = 0
        for fan, members in groupby(rows, key=lambda row: blob_parts(row[0])[0]):
            with blobs.folder(fan, create=True, durable=False) as inner:
                new_bytes += sum(self._name(inner, *row) for row in members)
        return new_bytes

    def _name(self, inner: Folder, digest: str, pid: int, count: int) -> int:
        partial, rest = _partial_name(pid, count), blob_parts(digest)[1]
        found = inner.look(rest)
        if found is not None and found.is_file:
            self._partials.remove(partial)  # two copies of the process have taken equal bytes
            return 0
        self._partials.move(partial, inner, rest)
        settled = inner.look(rest)
        return 0 if settled is None else settled.size_bytes

    def _open(self) -> None:
        while self._file is None:
            self._count += 1
            try:
                self._file = self._partials.create(_partial_name(os.getpid(), self._count))
            except UnavailableError as error:
                if error.reason != Reason.ALREADY_EXISTS:
                    raise

    def _append(self, data: bytes) -> None:
        if self._file is not None:
            self._file.append(data)

    def _shut(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()


def link_earlier(wanted: Iterable[Address], earlier: Folder, blobs: Folder) -> Linked:
    """Give the contents that stand in `earlier`, another store's folder, further names in `blobs`.

    Nothing is durable yet when it returns: whoever publishes what names them syncs first. UnavailableError where
    `blobs` cannot be written.
    """
    shared_bytes, lost = 0, set[str]()
    ordered = sorted(wanted, key=lambda address: address.sha256)
    for fan, members in groupby(ordered, key=lambda address: blob_parts(address.sha256)[0]):
        addresses = list(members)
        try:
            source = earlier.folder(fan)
        except UnavailableError:
            lost.update(address.sha256 for address in addresses)
            continue
        with source, blobs.folder(fan, create=True, durable=False) as target:
            for address in addresses:
                if _share(address, source, target):
                    shared_bytes += address.size
                else:
                    lost.add(address.sha256)
    return Linked(shared_bytes=shared_bytes, lost=frozenset(lost))


def _share(address: Address, source: Folder, target: Folder) -> bool:
    rest = blob_parts(address.sha256)[1]
    found = source.look(rest)
    if found is None or not found.is_file or found.size_bytes != address.size:
        return False
    try:
        # More than one name says that it was checked when it got its second.
        if found.links == 1 and not is_intact(open_blob(source, rest, address)):
            return False
        source.link(rest, target, rest)
    except UnavailableError as error:
        if error.reason in _FULL:
            raise
        return error.reason == Reason.ALREADY_EXISTS or (error.reason in _UNLINKABLE and _copy(address, source, target))
    return True


def _copy(address: Address, source: Folder, target: Folder) -> bool:
    rest = blob_parts(address.sha256)[1]
    partial = f"{rest}{PARTIAL_SUFFIX}"
    with open_blob(source, rest, address) as stream, target.create(partial) as file:
        try:
            for chunk in stream:
                file.append(chunk)
        except InvalidDocumentError:
            target.remove(partial)
            return False
        file.sync()
    target.replace(partial, rest)
    return True


def _partial_name(pid: int, count: int) -> str:
    return f"{pid:x}-{count:x}{PARTIAL_SUFFIX}"
