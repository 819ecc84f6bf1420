"""Reading the contents that trees of a git worktree name (spec/windows.md, Looking at a git worktree).

Rules:
1. What docket or git has written lately stands loose, in docket's store or the person's, and is read without git. What
   does not is asked of one `git cat-file`, started for the first of them and ended by `close`.
2. What is nowhere is told apart: not kept on purpose, or gone (ALTERNATE_OBJECT_MISSING).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from docket.errors import PartialEvidenceError
from docket.formats.windows.names import Hashes, PartialReason
from docket.host.git_loose import LooseObjects
from docket.stores.windows.git_store import GitStore

if TYPE_CHECKING:
    from docket.host.git_batch import GitBatch


class GitContents:
    """The contents of a store and of what it borrows."""

    def __init__(self, store: GitStore) -> None:
        self._store = store
        self._loose = (store.objects, LooseObjects(store.place.objects, store.hashes))
        self._batch: GitBatch | None = None
        self._unkept: frozenset[str] | None = None

    def load(self, name: str, most: int) -> bytes | None:
        """Return a content; None where it is larger than `most` bytes, or not kept on purpose."""
        for objects in self._loose:
            data = objects.read(name, most)
            if data is not None:
                return data
        batch = self._started()
        size = batch.begin(name)
        if size is None:
            if name in self._not_kept():
                return None
            detail = f"the content {name} is not in the repository any more"
            raise PartialEvidenceError(PartialReason.ALTERNATE_OBJECT_MISSING, detail)
        if size > most:
            return None
        pieces = []
        while piece := batch.read(size):
            pieces.append(piece)
        return b"".join(pieces)

    def close(self) -> None:
        """End git, where it was started."""
        if self._batch is not None:
            self._batch.close()

    def _started(self) -> GitBatch:
        if self._batch is None:
            from docket.host.git_batch import GitBatch  # noqa: PLC0415 - hardly any tool needs it, and it is not light

            self._batch = GitBatch(self._store.folder / "objects", is_sha256=self._store.hashes is Hashes.SHA256)
        return self._batch

    def _not_kept(self) -> frozenset[str]:
        if self._unkept is None:
            self._unkept = self._store.unkept()
        return self._unkept
