"""What one look at a git worktree reads, and the names under which stands what it did not read.

The tree that was made last is remembered by what it was made of: mostly nothing happens between two tools. Whoever
prunes the store forgets it (LAST_TREE), and it counts for LAST_TREE_SECONDS alone, for nothing marks its objects as
used.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from docket.formats.dataclass import dataclass
from docket.formats.relpath import RelPath
from docket.formats.windows.changes import Side, TreeChange
from docket.formats.windows.names import ABSENT_MODE, REGULAR_MODE, Hashes
from docket.host.durable import temporary_name
from docket.host.tree import Status, file_key
from docket.stores.statcache import StatCache
from docket.stores.windows.looked import LookLimits

UNREAD_PREFIX = b"docket--".hex()
LAST_TREE = "last.tree"
LAST_TREE_SECONDS = 300
MAX_INNER = 32
"""How many repositories inside of the worktree are looked into; of others their commit is told."""


@dataclass(slots=True)
class Reading:
    """What one look has read: contents kept and bytes newly read so far, and what the cache is to know."""

    limits: LookLimits
    clock_ns: int
    cache: StatCache
    kept: int = 0
    bytes_read: int = 0
    met: bytes = b""
    fresh: bytes = b""
    marked: bytes = b""
    inner: int = 0
    met_unkept: bool = False

    def remember(self) -> None:
        """Let the cache know what was met and read."""
        self.cache.keep(self.met, self.fresh, self.marked)


def tree_key(index_sha256: str, rows: Iterable[bytes | None]) -> str:
    """Return the digest of what a tree is made of: an index, and what is laid over it."""
    digest = hashlib.sha256(index_sha256.encode())
    for row in sorted(row for row in rows if row is not None):
        digest.update(row)
    return digest.hexdigest()


def last_tree(path: Path, key: str) -> str | None:
    """Return the tree that was made last if it was made of the same, else None."""
    with suppress(OSError):
        found, _, tree = path.read_text("ascii", "replace").rstrip("\n").partition(" ")
        is_young = abs(time.time() - path.stat().st_mtime) < LAST_TREE_SECONDS
        return tree if found == key and tree and is_young else None
    return None


def note_tree(path: Path, key: str, tree: str) -> None:
    """Remember what a tree was made of; a memory that cannot be kept costs time."""
    temporary = path.with_name(temporary_name(path.name))
    with suppress(OSError):
        temporary.write_text(f"{key} {tree}\n", "ascii")
        temporary.replace(path)


def unread_name(hashes: Hashes, path: bytes, status: Status | None) -> str:
    """Return the name of a content that nobody has read."""
    seen = b"" if status is None else file_key(status)
    return (UNREAD_PREFIX + hashlib.sha256(path + b"\0" + seen).hexdigest())[: hashes.digits]


def change_of(old_mode: bytes, new_mode: bytes, old: bytes, new: bytes, path: bytes) -> TreeChange:
    return TreeChange(path=RelPath.parse(path), before=_side(old_mode, old), after=_side(new_mode, new))


def _side(mode: bytes, name: bytes) -> Side:
    shown = mode.decode("ascii")
    if shown == "100664":
        shown = REGULAR_MODE
    text = name.decode("ascii")
    absent = shown == ABSENT_MODE
    return Side(mode=shown, name=None if absent or text.startswith(UNREAD_PREFIX) else text)
