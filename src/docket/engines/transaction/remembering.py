"""What docket knows of the files of a stage because it made them, so that nobody reads them when the run is over.

Rules:
1. It is known right after the stage was made, before anybody else could write to it, under what each file's inode says
   then. A file whose inode does not vouch for its content yet (stores.statcache) is read.
2. A file with attributes is left to be read: what is remembered of a file says all of them.
"""

from __future__ import annotations

import os
from pathlib import Path

from docket.engines.observe import ObserveRequest
from docket.engines.transaction.world import TransactionWorld
from docket.formats.tree.listing import FileEntry, Listing
from docket.formats.tree.surface import Surface


def remember_stage(root: Path, surface: Surface, base: Listing, world: TransactionWorld) -> None:
    """Know the contents of the stage at `root`, which was made of what `base` lists just now."""
    marked = {detail.path for detail in base.details.paths if detail.xattrs}
    made = {
        entry.path.raw: (bytes.fromhex(entry.sha256), entry.size)
        for entry in base.entries
        if isinstance(entry, FileEntry) and entry.path not in marked
    }
    world.observe(ObserveRequest(root=os.fsencode(root), surface=surface, of_another=True, made=made))


__all__ = ["remember_stage"]
