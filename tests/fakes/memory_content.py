"""A content store in memory: the fake of `stores.content.ContentStore`."""

from __future__ import annotations

from collections.abc import Iterable

from docket.formats.tree.address import Address
from docket.stores.content import ContentStream, missing


class MemoryContent:
    """Keeps contents by address; `kept` may be tampered with."""

    def __init__(self) -> None:
        self.kept: dict[Address, bytes] = {}

    def put(self, chunks: Iterable[bytes]) -> Address:
        data = b"".join(chunks)
        address = Address.of(data)
        self.kept[address] = data
        return address

    def has(self, address: Address) -> bool:
        return address in self.kept

    def open(self, address: Address) -> ContentStream:
        if address not in self.kept:
            raise missing(address)
        data, at = self.kept[address], 0

        def read(size: int) -> bytes:
            nonlocal at
            chunk = data[at : at + size]
            at += len(chunk)
            return chunk

        return ContentStream(address, read, lambda: None)
