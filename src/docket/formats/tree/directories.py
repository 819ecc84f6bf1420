"""Which directories a listing's pass saw: their inodes, in the listing's order, beside it.

Rules (spec/tree.md, Details):
1. One little-endian unsigned 64-bit number a directory, in the listing's order; none at all where they are unknown.
2. They are found in the listing's text, without decoding its records.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from docket.formats.relpath import RelPath
from docket.formats.tree.listing import Listing, path_member

_BEGINNING, _OMITTED = b'{"kind":"directory",', b'"reason":"'
_NUMBER_BYTES = 8


def directory_members(listing: Listing) -> Iterator[bytes]:
    """Yield the encoded path member of each directory, in order."""
    for line in listing.lines():
        if line.startswith(_BEGINNING) and _OMITTED not in line:
            yield line.split(b",", 2)[2][:-1]


def member_of(path: RelPath) -> bytes:
    """Return a path's member as `directory_members` spells it."""
    return path_member(path.raw).encode("utf-8")


def inodes_by_member(listing: Listing) -> dict[bytes, int]:
    """Return the inode of each directory by its member; empty where they are unknown or not this listing's."""
    packed = listing.details.directory_inodes
    if not packed or len(packed) != listing.directories * _NUMBER_BYTES:
        return {}
    return dict(zip(directory_members(listing), struct.unpack(f"<{listing.directories}Q", packed), strict=True))


def packed_inodes(numbers: Iterable[int]) -> bytes:
    """Return inodes as a listing's details carry them."""
    values = list(numbers)
    return struct.pack(f"<{len(values)}Q", *values)
