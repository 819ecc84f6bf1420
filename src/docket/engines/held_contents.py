"""The contents of what a run changed, from wherever they are still held: its snapshot, its stage, the tree, its git.

Rules:
1. A content counts only if it has the size and the digest that the record names: what stands at a path now, or in a
   folder that a document names, is never taken for what the run saw.
2. Nothing is written, no link is followed, and what is larger than asked for is not read.
3. A place that cannot be looked into holds nothing; which places were looked into, `places` tells.

A link's content is its target, which the record itself holds.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from docket.errors import DocketError
from docket.formats.dataclass import dataclass
from docket.formats.ledger.tree_events import EntryState
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.changes import target_of
from docket.formats.tree.listing import Kind
from docket.host.git_place import find_git_place
from docket.host.tree_files import TreeFiles
from docket.stores.content import ContentReader
from docket.stores.snapshots import open_snapshot
from docket.stores.workspace.git_ancestors import GitAncestors

Holder = Callable[[RelPath, Address], bytes | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where contents may be: a session's snapshot folder, what holds a stage's files, the tree that was watched."""

    snapshot: Path | None = None
    stages: tuple[Path, ...] = ()
    tree: bytes | None = None


class HeldContents:
    """Looks contents up; `places` are the names of those that could be looked into."""

    def __init__(self, holders: Iterable[tuple[str, Holder]]) -> None:
        held = tuple(holders)
        self.places = tuple(dict.fromkeys(name for name, _ in held))
        self._holders = tuple(holder for _, holder in held)

    def content(self, path: RelPath, state: EntryState) -> bytes | None:
        """Return what a file or a link of that state holds, None where nobody has it any more."""
        if state.kind == Kind.SYMLINK.value:
            return target_of(state)
        if state.kind != Kind.FILE.value or state.sha256 is None or state.size is None:
            return None
        address = Address(state.sha256, state.size)
        found = (holder(path, address) for holder in self._holders)
        return next((data for data in found if data is not None), None)


@contextmanager
def held_contents(places: Places) -> Iterator[HeldContents]:
    """Open the places that are there, for as long as contents are asked for."""
    with ExitStack() as stack:
        holders: list[tuple[str, Holder]] = []
        if places.snapshot is not None:
            with suppress(DocketError):
                snapshot = open_snapshot(places.snapshot, keep=_none)
                stack.callback(snapshot.close)
                holders.append(("the snapshot", _of_store(snapshot.contents)))
        for name, root in _trees(places):
            with suppress(DocketError):
                files = TreeFiles(root)
                stack.callback(files.close)
                holders.append((name, _of_tree(files)))
        with suppress(DocketError, OSError):
            tree = None if places.tree is None else Path(os.fsdecode(places.tree))
            if tree is not None and find_git_place(tree) is not None:
                holders.append(("its git", _of_git(stack.enter_context(GitAncestors(tree)))))
        yield HeldContents(holders)


def _trees(places: Places) -> Iterator[tuple[str, bytes]]:
    yield from (("the transaction's stage", bytes(stage)) for stage in places.stages)
    if places.tree is not None:
        yield "the tree", places.tree


def _none(_: bytes) -> bool:
    return False


def _of_store(store: ContentReader) -> Holder:
    def content(_: RelPath, address: Address) -> bytes | None:
        with suppress(DocketError), store.open(address) as stream:
            return b"".join(stream)
        return None

    return content


def _of_git(git: GitAncestors) -> Holder:
    def content(path: RelPath, address: Address) -> bytes | None:
        with suppress(DocketError):
            return git.read(path, address)
        return None

    return content


def _of_tree(files: TreeFiles) -> Holder:
    def content(path: RelPath, address: Address) -> bytes | None:
        with suppress(DocketError, OSError), open(files.open(path), "rb") as file:  # noqa: PTH123 - a descriptor
            data = file.read(address.size + 1)
            if len(data) == address.size and hashlib.sha256(data).hexdigest() == address.sha256:
                return data
        return None

    return content


__all__ = ["HeldContents", "Places", "held_contents"]
