"""What merging made of files in which both sides changed the same lines: `conflicts/` of a transaction.

Rules (spec/workspace.md, Merging):
1. A file's text, with both sides and their ancestor between markers, stands under the digest of its path.
2. They are those of the last commit that was to merge; the next one takes their place.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from docket.errors import DocketError
from docket.formats.digest import sha256
from docket.formats.relpath import RelPath
from docket.host.clearing import remove_tree
from docket.host.disk import SYSTEM_DISK, Disk
from docket.host.durable import publish

CONFLICTS = "conflicts"


class Conflicts:
    """Those of one transaction, in its folder."""

    def __init__(self, folder: Path, *, disk: Disk = SYSTEM_DISK) -> None:
        self.path = folder / CONFLICTS
        self._disk = disk

    def replace(self, texts: Mapping[RelPath, bytes]) -> None:
        """Keep these instead of what is kept; UnavailableError where that cannot be."""
        remove_tree(self.path)
        if texts:
            with self._disk.folder(self.path, create=True) as folder:
                for path, text in texts.items():
                    publish(folder, _name(path), text)

    def place(self, path: RelPath) -> Path:
        """Where the text of a file is kept."""
        return self.path / _name(path)

    def read(self, path: RelPath) -> bytes | None:
        """Return the text of a file, None where there is none."""
        if not self.path.is_dir():
            return None
        with suppress(DocketError), self._disk.folder(self.path) as folder, folder.open(_name(path)) as file:
            return file.read(0, file.size())
        return None


def _name(path: RelPath) -> str:
    return sha256(path.raw)


__all__ = ["CONFLICTS", "Conflicts"]
