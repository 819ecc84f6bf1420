"""The contract of every content store: bytes by address, named by what was read and checked by whoever reads.

Rules:
1. `put` reads its stream once and answers with the address of exactly the bytes it keeps.
2. Nothing stands under an address but bytes of that digest and size: reading to the end proves it or raises.
3. What was read counts only once the end was reached; up to then it may be anything.

A store may have `clone_into(address, descriptor) -> bool` too: it makes an empty open file share or hold a content
without reading it here, or says False. What was cloned is checked by whoever asked, who reads the file back.

Implementations: `stores.blobs` (a folder), `stores.pool`, `stores.workspace.made_contents`, the tests' memory twin.
One suite holds them to this (tests/contracts/test_content_contract.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Protocol, Self

from docket.errors import InvalidDocumentError, UnavailableError
from docket.formats.reason import Reason
from docket.formats.tree.address import Address

CHUNK_BYTES = 1024 * 1024


class ContentStream:
    """Reads one content and proves at its end that it is what its address names; close it, or use it with `with`."""

    __slots__ = ("_address", "_close", "_digest", "_left", "_read")

    def __init__(self, address: Address, read: Callable[[int], bytes], close: Callable[[], None]) -> None:
        """Begin; `read(n)` gives up to n of the next bytes, fewer only at the end."""
        self._address, self._read, self._close = address, read, close
        self._digest = hashlib.sha256()
        self._left = address.size

    def read(self, size: int) -> bytes:
        """Return up to `size` of the next bytes, none at the end.

        InvalidDocumentError(CONTENT_DAMAGED) where the content turns out not to be the one asked for.
        """
        # One byte more than there should be is asked for at the end: it shows content that is too long.
        data = self._read(min(size, self._left) if self._left else 1)
        self._left -= len(data)
        self._digest.update(data)
        if self._left < 0 or (self._left and not data and size):
            raise self._damaged("it has another size")
        if not self._left and self._digest.hexdigest() != self._address.sha256:
            raise self._damaged("it has another digest")
        return data

    def __iter__(self) -> Iterator[bytes]:
        """Yield all that is left, in chunks."""
        while chunk := self.read(CHUNK_BYTES):
            yield chunk

    def close(self) -> None:
        """Give back what the stream holds."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _damaged(self, what: str) -> InvalidDocumentError:
        return InvalidDocumentError(Reason.CONTENT_DAMAGED, f"the content kept as {self._address} is damaged: {what}")


class ContentReader(Protocol):
    """Content by address."""

    def has(self, address: Address) -> bool:
        """Whether something stands under the address; that it is undamaged only reading tells."""
        ...

    def open(self, address: Address) -> ContentStream:
        """Return the content as a stream that checks it; UnavailableError(CONTENT_MISSING) where it is not there."""
        ...


class ContentStore(ContentReader, Protocol):
    """Content that more can be put into."""

    def put(self, chunks: Iterable[bytes]) -> Address:
        """Keep the bytes durably and return their address; UnavailableError where they cannot be kept."""
        ...


def missing(address: Address) -> UnavailableError:
    """Return the error for an address under which nothing stands."""
    return UnavailableError(Reason.CONTENT_MISSING, f"no content is kept as {address} of {address.size} bytes")
