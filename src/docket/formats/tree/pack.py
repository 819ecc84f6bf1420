"""A pack: many small contents in one file, which is a tar archive that any tar reads.

Rules (spec/snapshot.md, Packs):
1. Each member is named `<aa>/<rest>` by its content's digest and begins at a multiple of 512 bytes. So unpacking a
   pack gives the folders that its contents would stand in as files.
2. The last member but one, `index`, has a row for each content that counts, sorted by digest: the digest, where its
   bytes begin, how many they are. The last, `docket-pack`, is one block: how many rows, and their SHA-256.
3. The index alone says what a pack holds. A member that stands in no row counts for nothing.

It reads and writes nothing (stores.packs).
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Sequence

from docket.errors import InvalidDocumentError
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.formats.tree.address import blob_name

BLOCK_BYTES = 512
END_BYTES = 2 * BLOCK_BYTES
TAIL_BYTES = BLOCK_BYTES + END_BYTES
"""How many bytes at a pack's end say where its index stands: the block of `docket-pack` and the end of the archive."""
ROW_BYTES = 48

_INDEX, _SEAL = "index", "docket-pack"
_MAGIC = b"docket/pack/v1\n\0"
_ROW = struct.Struct("<32sQQ")
_TAIL = struct.Struct("<16sQQ32s")
# POSIX.1-1988 ustar: name, mode, uid, gid, size, mtime, checksum, type, link name, magic, version, then names and
# numbers that are empty here.
_HEADER = struct.Struct("100s8s8s8s12s12s8ss100s6s2s247x")
_FIXED = (b"0000600\0", b"0000000\0", b"0000000\0")
_TIME = b"00000000000\0"
_BLANK = b" " * 8

Row = tuple[bytes, int, int]
"""A content's digest (32 bytes), where its bytes begin in the pack, and its size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """A pack that was read: its name, its size in bytes on the disk, and what it holds."""

    name: str
    size_bytes: int
    rows: Sequence[Row]


def member(name: str, data: bytes) -> bytes:
    """Return a member of a tar archive, whole."""
    fields = (name.encode("ascii"), *_FIXED, b"%011o\0" % len(data), _TIME)
    checksum = sum(_HEADER.pack(*fields, _BLANK, b"0", b"", b"ustar\0", b"00"))
    header = _HEADER.pack(*fields, b"%06o\0 " % checksum, b"0", b"", b"ustar\0", b"00")
    return header + data + bytes(-len(data) % BLOCK_BYTES)


def content_member(digest: bytes, data: bytes) -> bytes:
    """Return the member that holds a content."""
    return member(blob_name(digest.hex()), data)


def member_bytes(size: int) -> int:
    """Return how many bytes a member of `size` takes."""
    return BLOCK_BYTES + size + -size % BLOCK_BYTES


def closing(rows: Iterable[Row], length: int) -> bytes:
    """Return what ends a pack whose members take `length` bytes so far."""
    index = b"".join(_ROW.pack(*row) for row in sorted(rows))
    tail = _TAIL.pack(_MAGIC, len(index) // ROW_BYTES, length + BLOCK_BYTES, hashlib.sha256(index).digest())
    return member(_INDEX, index) + member(_SEAL, tail + bytes(BLOCK_BYTES - len(tail))) + bytes(END_BYTES)


def closing_bytes(contents: int) -> int:
    """Return how many bytes end a pack of so many contents."""
    return member_bytes(contents * ROW_BYTES) + member_bytes(BLOCK_BYTES) + END_BYTES


def where_index(tail: bytes, length: int) -> tuple[int, int, bytes]:
    """Return where the index of a pack of `length` bytes begins, its length and digest, from its last TAIL_BYTES.

    InvalidDocumentError where these bytes end no pack.
    """
    if len(tail) != TAIL_BYTES or tail.count(0, _TAIL.size) != TAIL_BYTES - _TAIL.size:
        raise _damaged("it does not end as one")
    magic, count, begins, digest = _TAIL.unpack_from(tail)
    if magic != _MAGIC or begins + member_bytes(count * ROW_BYTES) + member_bytes(BLOCK_BYTES) + BLOCK_BYTES != length:
        raise _damaged("it does not end as one")
    return begins, count * ROW_BYTES, digest


def index_rows(index: bytes, digest: bytes, begins: int) -> list[Row]:
    """Return the rows of an index that begins at `begins`; InvalidDocumentError where it is not a pack's."""
    if hashlib.sha256(index).digest() != digest:
        raise _damaged("its index has another digest")
    rows = list(_ROW.iter_unpack(index))
    if any(offset < BLOCK_BYTES or offset % BLOCK_BYTES or offset + size > begins for _, offset, size in rows):
        raise _damaged("its index names what does not lie in it")
    return rows


def _damaged(what: str) -> InvalidDocumentError:
    return InvalidDocumentError(Reason.CONTENT_DAMAGED, f"this is no pack of contents: {what}")
