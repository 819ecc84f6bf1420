"""The reflink backend: a stage that is a copy whose files share their bytes with the base's until one is written.

Rules:
1. It is made, shown, walked and removed as a copy is (`backends.copy`); what differs is how a file gets its bytes.
2. What was shared is compared with its digest as a copy is: by reading the base's file (host.copying), for reading the
   new one fetches its bytes from the disk a second time.
3. A file of less than 16 KiB is copied, which costs less than to share it and leaves it in the system's cache.
4. A file that cannot be shared (one with holes, one on another file system) is copied.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from docket.engines.transaction.backends.copy import CopyBackend
from docket.engines.transaction.backends.interface import BackendName, Probe, Refused
from docket.formats.reason import Reason
from docket.formats.tree.address import Address
from docket.formats.tree.listing import FileEntry
from docket.host.cloning import cannot_share
from docket.host.disk_calls import share
from docket.stores.workspace.tree_contents import TreeContents


class ReflinkBackend(CopyBackend):
    """See the module."""

    @property
    def name(self) -> BackendName:
        """`reflink`."""
        return BackendName.REFLINK

    def probe(self, base: Path, state: Path) -> Probe:
        """Share the bytes of a file of the base with one below `state` that has no name."""
        trouble = cannot_share(base, state)
        if trouble is not None:
            return Refused(reason=Reason.REFLINK_UNSUPPORTED, detail=trouble)
        return super().probe(base, state)

    @property
    def shares(self) -> bool:
        """Yes."""
        return True

    def contents(self, base: bytes, files: Iterable[FileEntry]) -> TreeContents:
        """Return contents that share their bytes where they can."""
        return _SharedContents(base, files)


class _SharedContents(TreeContents):
    def clone_into(self, address: Address, descriptor: int) -> bool:
        """Let an empty file share the content's bytes; False where that cannot be."""
        place = self.place(address)
        if place is None:
            return False
        source = self.files.open(place)
        try:
            share(source, descriptor)
        except OSError:
            return False
        finally:
            os.close(source)
        return True
