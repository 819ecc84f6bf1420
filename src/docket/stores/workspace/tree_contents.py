"""A tree as a content store: the files that a listing names, read by their digests.

Rules:
1. Content is found by address alone: which file holds it is the listing's saying, and reading to the end proves it.
2. Where several files have one content, the next is tried if one cannot be opened.
3. The empty content is there whatever the listing names.
4. Nothing is written, no link is followed.

Passes `tests/contracts/test_content_contract.py` as a reader; `stores.content` is the contract.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from docket.errors import UnavailableError
from docket.formats.digest import sha256
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.listing import Entry, FileEntry
from docket.host.tree_files import TreeFiles
from docket.stores.content import ContentStream, missing

_EMPTY = Address(sha256(b""), 0)


class TreeContents:
    """The contents of the tree at `root`, as `entries` name them; close it."""

    def __init__(self, root: bytes, entries: Iterable[Entry]) -> None:
        """Open the root; UnavailableError where it cannot be."""
        self._places: dict[Address, list[RelPath]] = {}
        for entry in entries:
            if isinstance(entry, FileEntry):
                self._places.setdefault(Address(entry.sha256, entry.size), []).append(entry.path)
        self.files = TreeFiles(root)

    def has(self, address: Address) -> bool:
        """Whether the listing names a file with that content."""
        return address in self._places or address == _EMPTY

    def open(self, address: Address) -> ContentStream:
        """Return the content as a stream that checks it; UnavailableError where no file of it can be opened."""
        if address == _EMPTY:
            return ContentStream(address, lambda _size: b"", lambda: None)
        descriptor = self._descriptor(address)
        return ContentStream(address, lambda size: os.read(descriptor, size), lambda: os.close(descriptor))

    def place(self, address: Address) -> RelPath | None:
        """Return the first file that has the content."""
        found = self._places.get(address)
        return found[0] if found else None

    def close(self) -> None:
        """Give the tree back."""
        self.files.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _descriptor(self, address: Address) -> int:
        trouble: UnavailableError | None = None
        for path in self._places.get(address, ()):
            try:
                return self.files.open(path)
            except UnavailableError as error:
                trouble = error
        raise trouble or missing(address)
