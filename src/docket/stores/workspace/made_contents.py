"""Contents that were made here and stand in no tree, before those of another reader.

Rules: a content is found by its address alone; what is made is small, and held whole. Nothing is written.

Passes `tests/contracts/test_content_contract.py` as a reader; `stores.content` is the contract.
"""

from __future__ import annotations

import io
from collections.abc import Iterable

from docket.formats.tree.address import Address
from docket.stores.content import ContentReader, ContentStream


class MadeContents:
    """The contents `made`, and what `others` has; closing `others` is its owner's."""

    def __init__(self, made: Iterable[bytes], others: ContentReader) -> None:
        self._made = {Address.of(data): data for data in made}
        self._others = others

    def has(self, address: Address) -> bool:
        """Whether it is made, or the others have it."""
        return address in self._made or self._others.has(address)

    def open(self, address: Address) -> ContentStream:
        """Return the content as a stream that checks it; the others' error where they have none either."""
        data = self._made.get(address)
        if data is None:
            return self._others.open(address)
        return ContentStream(address, io.BytesIO(data).read, lambda: None)
