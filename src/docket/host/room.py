"""How many more files a file system takes; bytes are `host.disk.free_bytes`'s."""

from __future__ import annotations

import os
from pathlib import Path


def free_inodes(place: Path) -> int | None:
    """Return how many files more the disk that holds a path may have, None where it sets no limit; OSError."""
    found = os.statvfs(place)
    return found.f_favail if found.f_files else None
