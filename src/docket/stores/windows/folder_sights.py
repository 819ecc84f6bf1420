"""What stood in the listings that are kept of a folder without git, path by path, and what stands there now.

A listing that is not there any more, or covers a path with something that could not be looked at, makes it unknown.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from docket.errors import DocketError, UnavailableError
from docket.formats.dataclass import dataclass, field
from docket.formats.digest import Digest
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.listing import FileEntry, Listing, Omission, SymlinkEntry, decode_listing
from docket.formats.windows.changes import Side
from docket.formats.windows.names import EXECUTABLE_MODE, REGULAR_MODE, SYMLINK_MODE, Hashes
from docket.host.disk import SYSTEM_DISK, Disk
from docket.stores.pool import Pool
from docket.stores.windows.standing import standing

LISTINGS = "listings"
MAX_LISTING_BYTES = 1024**3
MAX_CONTENT_BYTES = 64 * 1024 * 1024


@dataclass(slots=True)
class FolderSights:
    """The listings `trees` and the contents below the folder `windows`; `own` are prefixes of docket's own paths."""

    windows: Path
    root: Path
    pool: Pool | None
    trees: tuple[str, ...] = ()
    own: tuple[bytes, ...] = ()
    disk: Disk = SYSTEM_DISK
    rules: str | None = None
    _listings: dict[str, Listing | None] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)

    def present(self, path: RelPath) -> Side:
        """Return what stands at a path now."""
        return standing(self.root, path, Hashes.CONTENT_SHA256)

    def side(self, tree: str, path: RelPath) -> Side | None:
        """Return what stood at a path in a listing."""
        listing = self._listing(tree)
        if listing is None or any(isinstance(listing.record(place), Omission) for place in path.above()):
            return None
        match listing.record(path):
            case FileEntry() as entry:
                mode = EXECUTABLE_MODE if entry.mode & 0o100 else REGULAR_MODE
                return Side(mode=mode, name=entry.sha256 if entry.sha256.strip("0") else None)
            case SymlinkEntry() as entry:
                return Side(mode=SYMLINK_MODE, name=hashlib.sha256(entry.target).hexdigest())
            case Omission():
                return None
            case _:
                return Side()

    def twins(self, tree: str, name: str) -> tuple[RelPath, ...] | None:
        """Return the paths of a listing that had a content."""
        listing = self._listing(tree)
        if listing is None:
            return None
        return tuple(entry.path for entry in listing.entries if isinstance(entry, FileEntry) and entry.sha256 == name)

    def content(self, name: str) -> bytes | None:
        """Return a content; None where it is not kept, or larger than anybody compares."""
        size = self._size(name)
        if self.pool is None or size is None or size > MAX_CONTENT_BYTES:
            return None
        try:
            with self.pool.open(Address(Digest(name), size)) as stream:
                return b"".join(stream)
        except UnavailableError:
            return None

    def committed_now(self, path: RelPath) -> bytes | None:  # noqa: ARG002 - the port's
        """Return None: there are no commits."""
        return None

    def ignore_files(self, path: RelPath) -> tuple[RelPath, ...]:  # noqa: ARG002 - the port's
        """Return none: nothing is ignored."""
        return ()

    def is_watched(self, path: RelPath) -> bool:
        """Whether the path is not docket's own."""
        return not (path.raw + b"/").startswith(self.own)

    def _size(self, name: str) -> int | None:
        for tree in self.trees if name not in self._sizes else ():
            self._listing(tree)
        return self._sizes.get(name)

    def _listing(self, tree: str) -> Listing | None:
        if tree not in self._listings:
            self._listings[tree] = listing = self._read(tree)
            for entry in () if listing is None else listing.entries:
                if isinstance(entry, FileEntry):
                    self._sizes[entry.sha256] = entry.size
        return self._listings[tree]

    def _read(self, tree: str) -> Listing | None:
        try:
            with self.disk.folder(self.windows / LISTINGS) as folder, folder.open(tree) as file:
                document = file.read(0, MAX_LISTING_BYTES)
            return decode_listing(document) if hashlib.sha256(document).hexdigest() == tree else None
        except DocketError:
            return None
