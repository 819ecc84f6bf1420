"""What a recovery found at a path that was not docket's, kept before it was overwritten: `recovered/` of a transaction.

Rules (spec/workspace.md, Recovery):
1. A file's content stands under the digests of its path and of itself, so that keeping it twice keeps it once; a
   link's target likewise, with `.link`.
2. It is durable before anything of it goes from the tree.
"""

from __future__ import annotations

from pathlib import Path

from docket.formats.digest import Digest, sha256
from docket.formats.relpath import RelPath
from docket.host.disk import SYSTEM_DISK, Disk, reported
from docket.host.durable import publish

RECOVERED = "recovered"


class KeptFolder:
    """Where one transaction's recoveries keep things; `kept` are the paths, each with where it is kept now."""

    def __init__(self, folder: Path, *, disk: Disk = SYSTEM_DISK) -> None:
        self._folder, self._disk = folder, disk
        self.kept: list[tuple[RelPath, Path]] = []

    def keep(self, path: RelPath, descriptor: int | None, target: bytes) -> None:
        """Keep the file that is open, or where none is, the target of a link; UnavailableError where it cannot be."""
        data, suffix = target, ".link"
        if descriptor is not None:
            with reported("read", str(path)), open(descriptor, "rb", closefd=False) as file:
                data, suffix = file.read(), ""
        name = f"{_short(sha256(path.raw))}-{_short(sha256(data))}{suffix}"
        with self._disk.folder(self._folder) as opened, opened.folder(RECOVERED, create=True) as folder:
            publish(folder, name, data)
        self.kept.append((path, self._folder / RECOVERED / name))


def _short(digest: Digest) -> str:
    return digest[:16]


__all__ = ["RECOVERED", "KeptFolder"]
