"""Segments: runs of a listing's lines, as a walk gathers them and as they are joined into the listing.

A segment is plain data (bytes, numbers, texts), so that a forked copy can hand it over. It holds, beside the lines,
what the encoding leaves out: modification times, the prose of omissions, which keys of the stat cache were met or are
new, and, where they were asked for, details, statuses and what the taker of contents is to be told.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.attributes import Attributes
from docket.formats.tree.details import Detail, Details
from docket.formats.tree.directories import packed_inodes
from docket.formats.tree.listing import HEADER, Counts, Kind, Listing, Omission, encode_record

Facts: TypeAlias = tuple[bytes, str, str | None, str | None, int | None, int | None]
"""An omission's path, reason, detail, kind, mode and size."""
Seen: TypeAlias = tuple[bytes, str, int, tuple[int, int] | None, int, int | None, Attributes, int | None]
"""A `Detail`'s path, kind, size, identity, links, allocated bytes, attributes and owner."""


class Segment(NamedTuple):
    """Consecutive lines of a listing and what goes with them."""

    lines: bytes
    mtimes: bytes
    directories: int
    symlinks: int
    file_bytes: int
    omissions: tuple[Facts, ...]
    met: bytes
    fresh: bytes
    marked: bytes
    acks: bytes
    details: tuple[Seen, ...]
    directory_mtimes: bytes
    symlink_mtimes: bytes
    statuses: bytes
    directory_inodes: bytes


class Gathering:
    """What a walk has found since the last `cut`."""

    __slots__ = (
        "acks", "details", "directories", "directory_inodes", "directory_mtimes", "file_bytes", "fresh", "lines",
        "marked", "met", "mtimes", "omissions", "statuses", "symlink_mtimes", "symlinks",
    )  # fmt: skip

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.lines: list[str] = []
        self.mtimes: list[int] = []
        self.directories = 0
        self.symlinks = 0
        self.file_bytes = 0
        self.omissions: list[Facts] = []
        self.met: list[bytes] = []
        self.fresh: list[bytes] = []
        self.marked: list[bytes] = []
        self.acks: list[bytes] = []
        self.details: list[Seen] = []
        self.directory_mtimes: list[int] = []
        self.symlink_mtimes: list[int] = []
        self.statuses: list[str] = []
        self.directory_inodes: list[int] = []

    def omit(self, omission: Omission) -> None:
        """Add an omission."""
        self.lines.append(encode_record(omission).decode("utf-8"))
        kind = None if omission.kind is None else str(omission.kind)
        self.omissions.append(
            (omission.path.raw, str(omission.reason), omission.detail, kind, omission.mode, omission.size)
        )

    def cut(self) -> Segment:
        """Return what was found and begin anew."""
        segment = Segment(
            lines="".join(self.lines).encode("utf-8"),
            mtimes=_packed(self.mtimes),
            directories=self.directories,
            symlinks=self.symlinks,
            file_bytes=self.file_bytes,
            omissions=tuple(self.omissions),
            met=b"".join(self.met),
            fresh=b"".join(self.fresh),
            marked=b"".join(self.marked),
            acks=b"".join(self.acks),
            details=tuple(self.details),
            directory_mtimes=_packed(self.directory_mtimes),
            symlink_mtimes=_packed(self.symlink_mtimes),
            statuses="".join(self.statuses).encode("utf-8"),
            directory_inodes=packed_inodes(self.directory_inodes),
        )
        self._clear()
        return segment


def joined(segments: Iterable[Segment], root: tuple[int, int]) -> Listing:
    """Return the listing of segments in tree order."""
    parts = list(segments)
    mtimes = b"".join(part.mtimes for part in parts)
    omissions = tuple(_omission(facts) for part in parts for facts in part.omissions)
    listing = Listing(
        b"".join((HEADER, *(part.lines for part in parts))),
        counts=Counts(
            files=len(mtimes) // 8,
            directories=sum(part.directories for part in parts),
            symlinks=sum(part.symlinks for part in parts),
            omissions=len(omissions),
            bytes=sum(part.file_bytes for part in parts),
        ),
        omissions=omissions,
        mtimes=mtimes,
        root=root,
    )
    listing.details = _details(parts)
    listing.statuses = b"".join(part.statuses for part in parts)
    return listing


def _packed(numbers: list[int]) -> bytes:
    return struct.pack(f"<{len(numbers)}q", *numbers)


def _details(parts: list[Segment]) -> Details:
    return Details(
        paths=tuple(_detail(seen) for part in parts for seen in part.details),
        directory_mtimes=b"".join(part.directory_mtimes for part in parts),
        symlink_mtimes=b"".join(part.symlink_mtimes for part in parts),
        directory_inodes=b"".join(part.directory_inodes for part in parts),
    )


def _detail(seen: Seen) -> Detail:
    raw, kind, size, identity, links, allocated_bytes, xattrs, owner = seen
    return Detail(
        path=RelPath(raw),
        kind=kind,
        size=size,
        identity=identity,
        links=links,
        allocated_bytes=allocated_bytes,
        xattrs=xattrs,
        owner=owner,
    )


def _omission(facts: Facts) -> Omission:
    raw, reason, detail, kind, mode, size = facts
    return Omission(
        path=RelPath(raw),
        reason=Reason(reason),
        detail=detail,
        kind=None if kind is None else Kind(kind),
        mode=mode,
        size=size,
    )
