"""What a pass saw beside its listing, where it was asked to: what a faithful copy needs and a digest leaves out.

Rules (spec/tree.md, Details):
1. Details stand beside the listing's bytes and never enter its digest.
2. A `Detail` stands for a path that has something to tell: further names (`identity`, `links`), holes
   (`allocated_bytes` below its size), extended attributes, an owner (`owner`) who is not the reader.
3. Modification times of directories and of links are one little-endian signed 64-bit number each, in the listing's
   order, as those of files are in `Listing.mtimes`. Inodes of directories are unsigned (formats.tree.directories).
"""

from __future__ import annotations

from docket.formats.dataclass import dataclass
from docket.formats.relpath import RelPath
from docket.formats.tree.attributes import Attributes


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """What one path has beside its entry: `kind` and `size` are the entry's."""

    path: RelPath
    kind: str
    size: int = 0
    identity: tuple[int, int] | None = None
    links: int = 1
    allocated_bytes: int | None = None
    xattrs: Attributes = ()
    owner: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """The details of one pass, in tree order."""

    paths: tuple[Detail, ...] = ()
    directory_mtimes: bytes = b""
    symlink_mtimes: bytes = b""
    directory_inodes: bytes = b""
