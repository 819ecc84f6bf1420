"""What stood in the trees that docket's store of a git worktree keeps, path by path, and what stands there now.

Rules:
1. A tree object that is not there any more makes what it would tell unknown, never absent.
2. Nothing is written, but for a folder that git works in while it tells whether a path is watched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from docket.errors import DocketError
from docket.formats.dataclass import dataclass, field
from docket.formats.relpath import RelPath
from docket.formats.windows.changes import Side
from docket.formats.windows.names import REGULAR_MODE, Hashes
from docket.host.git_batch import GitBatch
from docket.host.git_place import checked_out
from docket.host.git_program import Deadline, run_git
from docket.stores.windows.git_nominate import exclude_digest, exclude_files, workbench
from docket.stores.windows.git_reading import UNREAD_PREFIX
from docket.stores.windows.git_store import GitStore
from docket.stores.windows.standing import standing

MAX_CONTENT_BYTES = 64 * 1024 * 1024
_SECONDS = 30.0
_TREE_MODE = "040000"
_ENTRY = {
    digits: re.compile(rb"([0-7]{5,6}) ([^\0]+)\0(.{%d})" % (digits // 2), re.DOTALL)
    for digits in (Hashes.SHA1.digits, Hashes.SHA256.digits)
}
_Tree = dict[bytes, tuple[str, str]]


@dataclass(slots=True)
class GitSights:
    """The trees and contents of a store, read by `batch`; `own` are prefixes of docket's own paths."""

    store: GitStore
    batch: GitBatch
    own: tuple[bytes, ...]
    _trees: dict[str, _Tree | None] = field(default_factory=dict)

    @property
    def rules(self) -> str | None:
        """The digest of the ignore patterns outside the tree, now."""
        return exclude_digest(self.store.place)

    def present(self, path: RelPath) -> Side:
        """Return what stands at a path now."""
        return standing(self.store.place.worktree, path, self.store.hashes)

    def side(self, tree: str, path: RelPath) -> Side | None:
        """Return what stood at a path in a tree."""
        *folders, last = path.parts
        for part in folders:
            entries = self._tree(tree)
            if entries is None:
                return None
            mode, tree = entries.get(part, ("", ""))
            if mode != _TREE_MODE:
                return Side()
        entries = self._tree(tree)
        return None if entries is None else _side(*entries.get(last, (_TREE_MODE, "")))

    def twins(self, tree: str, name: str) -> tuple[RelPath, ...] | None:
        """Return the paths of a tree that had a content."""
        try:
            return tuple(RelPath.parse(path) for path, found in self._below(tree, b"") if found == name)
        except (KeyError, DocketError):
            return None

    def content(self, name: str) -> bytes | None:
        """Return a content; None where it is not kept, or larger than anybody compares."""
        return self._read(self.batch.begin(name))

    def _read(self, size: int | None) -> bytes | None:
        if size is None or size > MAX_CONTENT_BYTES:
            return None
        pieces = []
        while piece := self.batch.read(size):
            pieces.append(piece)
        return b"".join(pieces)

    def committed(self, commit: str, path: RelPath) -> bytes | None:
        """Return what a commit has at a path; None for nothing, or what is larger than anybody compares."""
        return self._read(self.batch.begin_in_commit(commit, path.raw))

    def committed_now(self, path: RelPath) -> bytes | None:
        """Return what a path holds in the commit that is checked out."""
        commit = None
        with suppress(DocketError):
            commit = checked_out(self.store.place)
        return None if commit is None else self.committed(commit, path)

    def ignore_files(self, path: RelPath) -> tuple[RelPath, ...]:
        """Return the ignore files from the top down to a path's folder."""
        return (RelPath(b".gitignore"), *(folder.child(b".gitignore") for folder in path.above()))

    def is_watched(self, path: RelPath) -> bool:
        """Whether git has the path in its index, or does not ignore it."""
        if (path.raw + b"/").startswith(self.own):
            return False
        ignored = [f"--exclude-from={file}" for file in exclude_files(self.store.place)]
        asked = ("ls-files", "-z", "--cached", "--others", "--exclude-per-directory=.gitignore", *ignored, "--")
        try:
            with workbench(self.store) as bench:
                return bool(run_git(bench.workplace, (*asked, path.raw.decode("utf-8", "surrogateescape")),
                                    Deadline.within(_SECONDS)))  # fmt: skip
        except DocketError:
            return False

    def _tree(self, name: str) -> _Tree | None:
        if name not in self._trees:
            raw = self.batch.tree(name)
            self._trees[name] = None if raw is None else {
                entry: (mode.decode("ascii").zfill(6), object_name.hex())
                for mode, entry, object_name in _ENTRY[self.store.hashes.digits].findall(raw)
            }  # fmt: skip
        return self._trees[name]

    def _below(self, name: str, prefix: bytes) -> Iterator[tuple[bytes, str]]:
        entries = self._tree(name)
        if entries is None:
            raise KeyError(name)
        for entry, (mode, object_name) in entries.items():
            if mode == _TREE_MODE:
                yield from self._below(object_name, prefix + entry + b"/")
            else:
                yield prefix + entry, object_name


def _side(mode: str, name: str) -> Side:
    if mode == _TREE_MODE:
        return Side()
    shown = REGULAR_MODE if mode == "100664" else mode
    return Side(mode=shown, name=None if name.startswith(UNREAD_PREFIX) else name)
