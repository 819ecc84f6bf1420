"""What the clearing of a store of windows is made of: what stands there, what of it may go, and who clears it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from docket.errors import UnavailableError
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.host.disk import Disk, Folder
from docket.host.durable import TEMPORARY_SUFFIX
from docket.host.git_program import Deadline


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A file of docket's own, or with `is_folder` a folder and all in it; `path` is from the folder of windows."""

    path: str
    size_bytes: int
    mtime_ns: int
    is_folder: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptName:
    """A name that keeps a tree, written at that time."""

    ref: str
    tree: str
    mtime_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Clearing:
    """What may go of a store of `store_bytes`, the oldest first."""

    store_bytes: int
    items: tuple[Item, ...] = ()
    contents_bytes: int = 0

    @property
    def freed_bytes(self) -> int:
        """What that gives back."""
        return sum(item.size_bytes for item in self.items) + self.contents_bytes


class Upkeep(Protocol):
    """Who clears the store of one tree."""

    def names(self) -> tuple[KeptName, ...]:
        """Return the names that keep trees."""
        ...

    def clearing(self, needed: frozenset[str], before_ns: int, budget_bytes: int) -> Clearing:
        """Return what may go: what none of the trees needs, is older, and is beyond the budget, the oldest first."""
        ...

    def clear(self, clearing: Clearing, until: Deadline) -> int:
        """Remove it while nobody looks; what is younger than it was stays. Return how many items are left for want
        of time."""
        ...

    def missing(self, trees: Iterable[str]) -> tuple[str, ...]:
        """Return those of these trees that are not whole any more."""
        ...


def within_budget(items: Iterable[Item], store_bytes: int, budget_bytes: int) -> tuple[Item, ...]:
    """Return the oldest of the items, as many as must go for the store to keep to the budget."""
    going, left = list[Item](), store_bytes
    for item in sorted(items, key=lambda item: (item.mtime_ns, item.path)):
        if left <= budget_bytes:
            break
        going.append(item)
        left -= item.size_bytes
    return tuple(going)


def files_in(folder: Folder, prefix: str) -> Iterator[Item]:
    """Yield the files of a folder."""
    for name in folder.names():
        found = folder.look(name)
        if found is not None and found.is_file:
            yield Item(path=f"{prefix}/{name}", size_bytes=found.size_bytes, mtime_ns=found.mtime_ns)


def files_below(disk: Disk, windows: Path, prefix: str) -> Iterator[Item]:
    """Yield the files of a folder below that of windows, those of folders in it too; none where there is no folder."""
    try:
        folder = disk.folder(windows / prefix)
    except UnavailableError as error:
        if error.reason in (Reason.NOT_FOUND, Reason.NOT_A_DIRECTORY):
            return
        raise
    with folder:
        yield from files_in(folder, prefix)
        inner = [name for name in folder.names() if (found := folder.look(name)) is not None and found.is_folder]
    for name in inner:
        yield from files_below(disk, windows, f"{prefix}/{name}")


def remove_items(disk: Disk, windows: Path, items: Iterable[Item], until: Deadline) -> int:
    """Remove files that are as they were; return how many are left for want of time."""
    waiting = list(items)
    for number, item in enumerate(waiting):
        if until.is_over():
            return len(waiting) - number
        path = windows / item.path
        with suppress(UnavailableError), disk.folder(path.parent) as folder:
            found = folder.look(path.name)
            if found is not None and found.mtime_ns == item.mtime_ns:
                folder.remove(path.name)
    return 0


def is_leftover(name: str) -> bool:
    """Whether a name is that of what a death left half written."""
    return name.startswith(".") and name.endswith(TEMPORARY_SUFFIX)
