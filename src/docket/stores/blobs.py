"""A content store that is a folder: one file a content, `<aa>/<rest>` by the digits of its digest.

Rules:
1. A blob is written under a unique partial name, synced, and renamed to its digest's: it stands whole or not at all.
2. Where it stands is derived from the digest alone. No name in the folder is followed if it is a link.
3. Files are 0600 and folders 0700. A blob that is there is never written again.
4. What is read is checked (`stores.content`).

Contents that are taken for later (`put_later`, `flush`) are made durable together. Many at once, as a snapshot has
them, are written by `stores.blob_batch` and read by `stores.pool`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from itertools import groupby
from types import TracebackType
from typing import Self

from docket.errors import DocketError, InvalidDocumentError, UnavailableError
from docket.formats.digest import Digest
from docket.formats.reason import Reason
from docket.formats.tree.address import Address, blob_parts
from docket.host.disk import Folder
from docket.host.durable import temporary_name
from docket.stores.content import ContentStream, missing

_HEX = frozenset("0123456789abcdef")
_REST_DIGITS = 62
SYNCED_ONE_BY_ONE = 32


class BlobFolder:
    """The store in an open folder, which it takes over and closes."""

    def __init__(self, folder: Folder) -> None:
        """Begin; the folder may be empty or hold what an earlier store put there."""
        self._folder = folder
        self._waiting: dict[Address, str] = {}

    def has(self, address: Address) -> bool:
        """Whether a regular file of that size stands where the content belongs."""
        fan, rest = blob_parts(address.sha256)
        try:
            with self._folder.folder(fan) as inner:
                found = inner.look(rest)
        except UnavailableError:
            return False
        return found is not None and found.is_file and found.size_bytes == address.size

    def open(self, address: Address) -> ContentStream:
        """Open a blob."""
        fan, rest = blob_parts(address.sha256)
        try:
            with self._folder.folder(fan) as inner:
                return open_blob(inner, rest, address)
        except UnavailableError as error:
            if error.reason == Reason.NOT_FOUND:
                raise missing(address) from error
            raise

    def put(self, chunks: Iterable[bytes]) -> Address:
        """Keep one content, durable when the call returns."""
        address = self.put_later(chunks)
        self.flush()
        return address

    def put_later(self, chunks: Iterable[bytes]) -> Address:
        """Take one content; it is kept, and can be read, only after `flush`."""
        partial = temporary_name("content")
        digest, size = hashlib.sha256(), 0
        with ExitStack() as undo:
            undo.callback(_forget, self._folder, partial)
            with self._folder.create(partial) as file:
                for chunk in chunks:
                    digest.update(chunk)
                    file.append(chunk)
                    size += len(chunk)
            address = Address(Digest(digest.hexdigest()), size)
            if address not in self._waiting and not self.has(address):
                self._waiting[address] = partial
                undo.pop_all()
        return address

    def flush(self) -> None:
        """Keep what was taken, durable when the call returns; UnavailableError where nothing of it counts as kept."""
        waiting, self._waiting = self._waiting, {}
        with ExitStack() as undo:
            for partial in waiting.values():
                undo.callback(_forget, self._folder, partial)
            if waiting:
                blobs = [(address.sha256, partial) for address, partial in waiting.items()]
                settle_blobs(self._folder, self._folder, blobs)
                self._folder.sync()
            undo.pop_all()

    def clone_into(self, address: Address, descriptor: int) -> bool:
        """Make an empty open file share or hold a blob, without its bytes' passing through this process.

        False where that cannot be done. Nobody has checked what was cloned: whoever asked for it reads it back, for
        only the file that was written tells what was written.
        """
        fan, rest = blob_parts(address.sha256)
        if not self.has(address):
            return False
        with self._folder.folder(fan) as inner, inner.open(rest) as file:
            return file.copy_into(descriptor, 0, address.size)

    def digests(self) -> Iterator[Digest]:
        """Yield the digest of every blob, by name alone; what is no blob's name is passed over."""
        for fan in self._folder.names():
            if len(fan) == 2 and _HEX.issuperset(fan):
                with suppress(UnavailableError), self._folder.folder(fan) as inner:
                    for rest in inner.names():
                        if len(rest) == _REST_DIGITS and _HEX.issuperset(rest):
                            yield Digest(fan + rest)

    def close(self) -> None:
        """Give the folder back; what was taken and not flushed is forgotten."""
        for partial in self._waiting.values():
            _forget(self._folder, partial)
        self._folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def settle_blobs(partials: Folder, contents: Folder, blobs: Iterable[tuple[str, str]]) -> None:
    """Give contents that were written under partial names their places: (digest, partial name), made durable together.

    Whether `contents` itself has the folders that were new is the caller's to sync. UnavailableError where it does not
    succeed: some may stand in their places then.
    """
    members = sorted(blobs)
    few = len(members) <= SYNCED_ONE_BY_ONE
    if few:
        for _, partial in members:
            with partials.open(partial, writable=True) as file:
                file.sync()
    else:
        partials.sync_everything()
    for fan, inside in groupby(members, key=lambda item: blob_parts(item[0])[0]):
        with contents.folder(fan, create=True, durable=False) as inner:
            for digest, partial in inside:
                partials.move(partial, inner, blob_parts(digest)[1])
            if few:
                inner.sync()
    if not few:
        contents.sync_everything()


def open_blob(inner: Folder, rest: str, address: Address) -> ContentStream:
    """Open the blob `rest` of an open fan-out folder."""
    file = inner.open(rest)
    offset = 0

    def read(size: int) -> bytes:
        nonlocal offset
        data = file.read(offset, size)
        offset += len(data)
        return data

    return ContentStream(address, read, file.close)


def is_intact(stream: ContentStream) -> bool:
    """Read a stream to its end and close it; return whether it was what its address says."""
    with stream:
        try:
            for _ in stream:
                pass
        except (UnavailableError, InvalidDocumentError):
            return False
    return True


def _forget(folder: Folder, partial: str) -> None:
    with suppress(DocketError):
        folder.remove(partial)
