"""What commits displaced in a base while other transactions over it had not landed: the contents those were staged of.

Rules (spec/workspace.md, Merging):
1. They stand in `workspace-tx/ancestors/<device>-<inode>` of the base, by their digests (`stores.blobs`).
2. They are kept before what they are the content of goes, all of one commit made durable together.
3. They go when no transaction over the base is left that may land.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from docket.errors import DocketError
from docket.formats.tree.address import Address
from docket.host.clearing import remove_tree
from docket.host.disk import SYSTEM_DISK, Disk
from docket.stores.blobs import BlobFolder
from docket.stores.content import missing
from docket.stores.unfinished import names_in

ANCESTORS = "ancestors"


class Ancestors:
    """Those of one base; `root` is the folder of all transactions."""

    def __init__(self, root: Path, base: tuple[int, int], *, disk: Disk = SYSTEM_DISK) -> None:
        self.path = root / ANCESTORS / f"{base[0]}-{base[1]}"
        self._disk = disk

    def keep(self, contents: Iterable[bytes]) -> None:
        """Keep contents, durable when the call returns; UnavailableError, and then nothing of it counts as kept."""
        with BlobFolder(self._disk.folder(self.path, create=True)) as blobs:
            for content in contents:
                blobs.put_later((content,))
            blobs.flush()

    def read(self, address: Address) -> bytes:
        """Return a content, whole; UnavailableError(CONTENT_MISSING, NOT_FOUND) where it is not here."""
        if not self.path.is_dir():
            raise missing(address)
        with BlobFolder(self._disk.folder(self.path)) as blobs, blobs.open(address) as stream:
            return b"".join(stream)

    def clear(self) -> None:
        """Remove them; UnavailableError where something is left."""
        remove_tree(self.path)


def bases_with_ancestors(root: Path, *, disk: Disk = SYSTEM_DISK) -> tuple[tuple[int, int], ...]:
    """Return the identities of the bases of which something is kept."""
    names: tuple[str, ...] = ()
    with suppress(DocketError):
        names = names_in(root / ANCESTORS, disk)
    found = (name.split("-") for name in names)
    return tuple((int(parts[0]), int(parts[1])) for parts in found if len(parts) == 2 and all(map(_is_number, parts)))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


__all__ = ["ANCESTORS", "Ancestors", "bases_with_ancestors"]
