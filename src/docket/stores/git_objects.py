"""Contents that git keeps, as a read-only content store.

Rules:
1. Which object holds which content is told by whoever opens the store; what is read is checked against the address all
   the same, so a wrong word of it is found out.
2. Objects are only read (host.git_batch): nothing is written to the repository, executed or fetched for it.

It keeps nothing: a repository may lose an object at any time, and then the content is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from docket.formats.tree.address import Address
from docket.host.git_batch import GitBatch
from docket.stores.content import ContentStream, missing


class GitObjects:
    """The store over a running batch, which it takes over; one stream of it is read at a time."""

    def __init__(self, batch: GitBatch, names: Mapping[Address, str]) -> None:
        """`names` are the object names of contents."""
        self._batch, self._names = batch, names

    def has(self, address: Address) -> bool:
        """Whether git has a blob of that size under the name told for the content."""
        name = self._names.get(address)
        return name is not None and self._batch.begin(name) == address.size

    def open(self, address: Address) -> ContentStream:
        """Open a content; UnavailableError(CONTENT_MISSING) where git has no blob of its size."""
        if not self.has(address):
            raise missing(address)
        return ContentStream(address, self._batch.read, _nothing)

    def close(self) -> None:
        """End git."""
        self._batch.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _nothing() -> None:
    return None
