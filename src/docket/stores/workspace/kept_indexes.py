"""The git indexes of a base as they were when it was staged: `stage-indexes/<sha256>` of a transaction.

Rules (spec/workspace.md, Git):
1. An index stands under the digest of its bytes, which is the one that the base's listing names: reading proves it.
2. It is kept to tell whether an index changed in what counts. One that is missing or damaged is told by its digest
   alone; nothing hangs on that these files are durable.
3. They go with the stage to a successor.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from docket.errors import DocketError
from docket.formats.digest import Digest, sha256
from docket.host.disk import SYSTEM_DISK, Disk

INDEXES = "stage-indexes"


class KeptIndexes:
    """Those of the transaction whose folder is `folder`."""

    def __init__(self, folder: Path, *, disk: Disk = SYSTEM_DISK) -> None:
        self._folder, self._disk = folder, disk

    def keep(self, data: bytes) -> None:
        """Keep one; one that cannot be kept is told by its digest alone."""
        with (
            suppress(DocketError),
            self._disk.folder(self._folder) as opened,
            opened.folder(INDEXES, create=True, durable=False) as folder,
            folder.create(sha256(data)) as file,
        ):
            file.append(data)

    def read(self, digest: Digest, most: int) -> bytes | None:
        """Return the index of that digest, None where it is not here."""
        with (
            suppress(DocketError),
            self._disk.folder(self._folder) as opened,
            opened.folder(INDEXES) as folder,
            folder.open(digest) as file,
        ):
            data = file.read(0, min(file.size(), most))
            return data if sha256(data) == digest else None
        return None


__all__ = ["INDEXES", "KeptIndexes"]
