"""Clearing the store of a git worktree: objects that nothing needs and nobody has used lately.

Rules (spec/windows.md, Tidying):
1. What a look remembers goes first: `last.tree`, and with what is noted as not kept on purpose the notes that rely on
   it. Lost, these cost time.
2. Needed is what a name that keeps a tree reaches. git is asked for it, in the store alone; what the person's
   repository has is not looked for here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from docket.errors import DocketError, UnavailableError
from docket.formats.windows.key import REF_ROOT
from docket.host.clearing import remove_tree
from docket.host.git_program import Deadline, run_git
from docket.stores.windows.git_reading import LAST_TREE
from docket.stores.windows.git_store import STORE, UNKEPT, WORK, GitStore
from docket.stores.windows.git_tree import RAW_CACHE
from docket.stores.windows.upkeep import (
    Clearing,
    Item,
    KeptName,
    files_below,
    remove_items,
    within_budget,
)

REACH_SECONDS = 60.0
_OBJECTS = f"{STORE}/objects"
_INFO = f"{_OBJECTS}/info/"


class GitUpkeep:
    """Who clears the store of a worktree in the folder `windows`."""

    def __init__(self, windows: Path, store: GitStore) -> None:
        self._windows, self._store, self._disk = windows, store, store.disk

    def names(self) -> tuple[KeptName, ...]:
        """Return the refs."""
        found = []
        for item in files_below(self._disk, self._windows, f"{STORE}/{REF_ROOT}"):
            ref = item.path.removeprefix(f"{STORE}/")
            tree = None if ref.rpartition("/")[2].startswith(".") else self._store.kept(ref)
            if tree is not None:
                found.append(KeptName(ref=ref, tree=tree, mtime_ns=item.mtime_ns))
        return tuple(found)

    def clearing(self, needed: frozenset[str], before_ns: int, budget_bytes: int) -> Clearing:
        """Return the objects that may go, and folders in which a look died."""
        every = list(files_below(self._disk, self._windows, STORE))
        size = sum(item.size_bytes for item in every)
        reached = frozenset(self._reached(needed)) if needed else frozenset[str]()
        left, old = list(self._benches(before_ns)), list[Item]()
        for item in every:
            name = _object_of(item)
            if item.mtime_ns >= before_ns or name in reached:
                continue
            if (name and "tmp_obj_" in name) or (item.path == f"{STORE}/{UNKEPT}" and not needed):
                left.append(item)
            elif name:
                old.append(item)
        return Clearing(store_bytes=size, items=(*left, *within_budget(old, size, budget_bytes)))

    def clear(self, clearing: Clearing, until: Deadline) -> int:
        """Remove them."""
        files = [item for item in clearing.items if not item.is_folder]
        if any(item.path.startswith(f"{_OBJECTS}/") for item in files):
            self._forget(LAST_TREE)
        if any(item.path == f"{STORE}/{UNKEPT}" for item in files):
            self._forget(RAW_CACHE)
        for item in clearing.items:
            if item.is_folder and not until.is_over():
                with suppress(DocketError):
                    remove_tree(self._windows / item.path)
        return remove_items(self._disk, self._windows, files, until)

    def missing(self, trees: Iterable[str]) -> tuple[str, ...]:
        """Return the trees of which git does not find all trees."""
        return tuple(tree for tree in dict.fromkeys(trees) if not self._is_whole(tree))

    def _is_whole(self, tree: str) -> bool:
        try:
            run_git(self._store.git(), ("ls-tree", "-r", "-z", "--name-only", tree), Deadline.within(REACH_SECONDS))
        except UnavailableError:
            return False
        return True

    def _reached(self, trees: frozenset[str]) -> Iterator[str]:
        how = ("--objects", "--missing=allow-any", "--ignore-missing", "--no-object-names")
        said = run_git(self._store.git(), ("rev-list", *how, *sorted(trees)), Deadline.within(REACH_SECONDS))
        yield from said.decode("ascii", "replace").split()

    def _forget(self, name: str) -> None:
        with suppress(UnavailableError), self._disk.folder(self._windows) as folder:
            if folder.identity(name) is not None:
                folder.remove(name)
                folder.sync()  # what relies on the rest must not outlive it

    def _benches(self, before_ns: int) -> Iterator[Item]:
        with suppress(UnavailableError), self._disk.folder(self._windows / WORK) as folder:
            for name in folder.names():
                found = folder.look(name)
                if found is not None and found.is_folder and found.mtime_ns < before_ns:
                    yield Item(path=f"{WORK}/{name}", size_bytes=0, mtime_ns=found.mtime_ns, is_folder=True)


def _object_of(item: Item) -> str | None:
    """Return the object's name that a file has, None for what is no object."""
    if not item.path.startswith(f"{_OBJECTS}/") or item.path.startswith(_INFO):
        return None
    return item.path[len(_OBJECTS) + 1 :].replace("/", "")
