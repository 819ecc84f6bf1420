"""What docket knows of the files of a stage because it made them, so that nobody reads them when the run is over.

Rules:
1. It is known under what each file's inode said when it was made, before anybody else could write to it. A file whose
   inode does not vouch for its content yet (stores.statcache) is left to be read.
2. What was made with attributes, holes or several names is left to be read, too.
"""

from __future__ import annotations

import os
from pathlib import Path

from docket.engines.transaction.world import TransactionWorld
from docket.host import tree
from docket.stores.statcache import settled_part


def remember_made(root: Path, made: bytes, world: TransactionWorld) -> None:
    """Know the files of the stage at `root`, as `Filling.made` told them."""
    descriptor = tree.open_root(os.fsencode(root))
    try:
        clock_ns = tree.file_system_clock_ns(descriptor)
    finally:
        tree.close(descriptor)
    if clock_ns is not None:
        world.remember(settled_part(made, clock_ns))


__all__ = ["remember_made"]
