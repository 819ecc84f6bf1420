"""Packs on the disk: written a content at a time, closed with their index, and read by it.

Rules (spec/snapshot.md, Packs):
1. A pack that is being written has a partial name and no index. What a dead writer left is no pack.
2. A pack that has its name is never written again; it goes when nothing of it is needed, or when what is needed of
   it stands in another.

What a pack looks like is `formats.tree.pack`; which contents are needed, the caller's business.
"""

from __future__ import annotations

import io
import secrets
from collections.abc import Iterable

from docket.formats.digest import Digest
from docket.formats.tree.address import Address
from docket.formats.tree.pack import (
    TAIL_BYTES,
    Pack,
    Row,
    closing,
    content_member,
    index_rows,
    member_bytes,
    where_index,
)
from docket.host.disk import Folder, StoredFile
from docket.stores.content import ContentStream

PACK_SUFFIX, PARTIAL_SUFFIX = ".tar", ".partial"
MAX_PACK_BYTES = 64 * 1024 * 1024
_HEADER_BYTES = member_bytes(0)


class PackWriter:
    """Writes contents into a new file."""

    def __init__(self, file: StoredFile) -> None:
        """Begin; the file is empty, and the writer's from now on."""
        self._file = file
        self.length = 0

    def add(self, digest: bytes, data: bytes) -> int:
        """Write a content and return where its bytes begin."""
        written = content_member(digest, data)
        self._file.append(written)
        offset = self.length + _HEADER_BYTES
        self.length += len(written)
        return offset

    def close(self) -> None:
        """Give the file back, as it is."""
        self._file.close()


def seal(file: StoredFile, rows: Iterable[Row]) -> None:
    """Write the index of a pack whose members are written, and make all of it durable."""
    file.append(closing(rows, file.size()))
    file.sync()


def pack_name() -> str:
    """Return a name that no pack has."""
    return f"{secrets.token_hex(12)}{PACK_SUFFIX}"


def is_pack(name: str) -> bool:
    """Whether a name is a pack's."""
    return name.endswith(PACK_SUFFIX)


def read_pack(folder: Folder, name: str) -> Pack:
    """Read what a pack holds; UnavailableError where it cannot be read, InvalidDocumentError where it is none."""
    with folder.open(name) as file:
        length = file.size()
        begins, size, digest = where_index(file.read(max(length - TAIL_BYTES, 0), TAIL_BYTES), length)
        rows = index_rows(file.read(begins, size), digest, begins)
    return Pack(name=name, size_bytes=length, rows=rows)


def packed_stream(file: StoredFile, row: Row) -> ContentStream:
    """Return a content of an open pack; it is read at once, so the pack may be closed before the stream is."""
    digest, offset, size = row
    data = io.BytesIO(file.read(offset, size))
    return ContentStream(Address(Digest(digest.hex()), size), data.read, data.close)


__all__ = [
    "MAX_PACK_BYTES",
    "PARTIAL_SUFFIX",
    "Pack",
    "PackWriter",
    "is_pack",
    "pack_name",
    "packed_stream",
    "read_pack",
    "seal",
]
