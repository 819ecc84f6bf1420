"""Clearing the store of a folder without git: listings that nothing keeps, and contents that no listing names.

Rules (spec/windows.md, Tidying):
1. The newest listings stay as long as they and the contents they name keep to the budget; what a name keeps, and what
   is young, stays whatever it takes.
2. A listing goes first, contents later, while nobody looks and nobody reads the pool.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from docket.engines.windows.folder_tree import CONTENTS, KEPT, LISTINGS, MAX_LISTING_BYTES, kept_name
from docket.errors import DocketError
from docket.formats.tree.listing import FileEntry, decode_listing
from docket.host.disk import SYSTEM_DISK, Disk
from docket.host.git_program import Deadline
from docket.rules.tree.sweeping import sweep
from docket.stores.pool import open_pool
from docket.stores.sweeping import large_contents, remove_files, remove_packs, rewrite_packs
from docket.stores.windows.upkeep import Clearing, Item, KeptName, files_below, is_leftover, remove_items

_WAIT_SECONDS = 0.25


class FolderUpkeep:
    """Who clears the store of a folder in the folder `windows`."""

    def __init__(self, windows: Path, disk: Disk = SYSTEM_DISK) -> None:
        self._windows, self._disk = windows, disk
        self._read_before: dict[str, dict[str, int]] = {}

    def names(self) -> tuple[KeptName, ...]:
        """Return the names that keep listings."""
        found = []
        for item in files_below(self._disk, self._windows, KEPT):
            name = item.path.rpartition("/")[2]
            if not is_leftover(name):
                with suppress(DocketError):
                    ref, tree = kept_name(self._read(item.path))
                    found.append(KeptName(ref=ref, tree=tree, mtime_ns=item.mtime_ns))
        return tuple(found)

    def clearing(self, needed: frozenset[str], before_ns: int, budget_bytes: int) -> Clearing:
        """Return the listings that may go; with them go the contents that they alone name."""
        listings = [item for item in files_below(self._disk, self._windows, LISTINGS) if not _is_leftover(item)]
        pool_bytes = sum(item.size_bytes for item in files_below(self._disk, self._windows, CONTENTS))
        store = pool_bytes + sum(item.size_bytes for item in listings)
        is_old = {item.path: item.mtime_ns < before_ns and _tree(item) not in needed for item in listings}
        used, sizes, going = self._beside(listings, pool_bytes), dict[str, int](), list[Item]()
        for item in sorted(listings, key=lambda item: (is_old[item.path], -item.mtime_ns, item.path)):
            named = self._named(item)
            takes = item.size_bytes + sum(size for digest, size in named.items() if digest not in sizes)
            if is_old[item.path] and (going or used + takes > budget_bytes):
                going.append(item)
                continue
            used += takes
            sizes |= named
        freed = self._freed({bytes.fromhex(digest): size for digest, size in sizes.items()})
        return Clearing(store_bytes=store, items=tuple(reversed(going)), contents_bytes=freed)

    def clear(self, clearing: Clearing, until: Deadline) -> int:
        """Remove the listings, and sweep the pool."""
        left = remove_items(self._disk, self._windows, clearing.items, until)
        if left:
            return left
        needed = dict[bytes, int]()
        for item in files_below(self._disk, self._windows, LISTINGS):
            if not _is_leftover(item):
                needed |= {bytes.fromhex(digest): size for digest, size in self._named(item).items()}
        with self._disk.folder(self._windows / CONTENTS, create=True) as folder:
            pool = open_pool(folder, exclusive=True, wait_seconds=_WAIT_SECONDS)
            if pool is None:
                return 0
            with pool:
                decided = sweep(pool.packs(), large_contents(pool.contents), needed)
                remove_files(pool.contents, decided.files)
                remove_packs(pool.contents, decided.packs)
                waiting = list(decided.rewritten)
                while waiting and not until.is_over():
                    rewrite_packs(pool, [waiting.pop(0)])
                return len(waiting)

    def missing(self, trees: Iterable[str]) -> tuple[str, ...]:
        """Return the listings that are not there, or name a content that is not."""
        with self._disk.folder(self._windows / CONTENTS, create=True) as folder:
            pool = open_pool(folder, wait_seconds=_WAIT_SECONDS)
            known = frozenset[bytes]()
            if pool is not None:
                with pool:
                    known = pool.known()
        return tuple(tree for tree in dict.fromkeys(trees) if not self._is_whole(tree, known))

    def _beside(self, listings: Iterable[Item], pool_bytes: int) -> int:
        """Return what the pool takes beside the contents that listings name."""
        named = dict[str, int]()
        for item in listings:
            named |= self._named(item)
        return max(pool_bytes - sum(named.values()), 0)

    def _freed(self, needed: dict[bytes, int]) -> int:
        with self._disk.folder(self._windows / CONTENTS, create=True) as folder:
            pool = open_pool(folder, wait_seconds=_WAIT_SECONDS)
            if pool is None:
                return 0
            with pool:
                return sweep(pool.packs(), large_contents(pool.contents), needed).freed_bytes

    def _is_whole(self, tree: str, known: frozenset[bytes]) -> bool:
        try:
            document = self._read(f"{LISTINGS}/{tree}")
            entries = decode_listing(document).entries
        except DocketError:
            return False
        named = (entry.sha256 for entry in entries if isinstance(entry, FileEntry) and entry.sha256.strip("0"))
        return hashlib.sha256(document).hexdigest() == tree and all(bytes.fromhex(name) in known for name in named)

    def _named(self, item: Item) -> dict[str, int]:
        """Return the contents that a listing names; one that cannot be read stops the clearing."""
        if item.path not in self._read_before:
            entries = decode_listing(self._read(item.path)).entries
            self._read_before[item.path] = {
                entry.sha256: entry.size for entry in entries if isinstance(entry, FileEntry)
            }
        return self._read_before[item.path]

    def _read(self, path: str) -> bytes:
        place = self._windows / path
        with self._disk.folder(place.parent) as folder, folder.open(place.name) as file:
            return file.read(0, MAX_LISTING_BYTES)


def _tree(item: Item) -> str:
    return item.path.rpartition("/")[2]


def _is_leftover(item: Item) -> bool:
    return is_leftover(_tree(item))
