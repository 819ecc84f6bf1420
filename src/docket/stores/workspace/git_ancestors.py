"""Contents that git has of a tree's files, by their paths: those of the commit that is checked out, and of the index.

Rules:
1. Where the repository lies and which commit is checked out is read from its files (`host.git_place`); no git is run in
   it, and none of its configuration is read. Objects are read by `host.git_batch`.
2. A content counts only if its digest is the one asked for: what git has at the path may be another version.
3. What is not understood is not there: a repository is a place to look, and nothing is refused because of it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from docket.errors import DocketError
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.host.git_batch import GitBatch
from docket.host.git_place import GitPlace, checked_out, find_git_place
from docket.stores.content import ContentStream, missing


class GitAncestors:
    """The contents of one tree; close it."""

    def __init__(self, root: Path) -> None:
        """Look for the repository; none is no error."""
        self._place: GitPlace | None = None
        self._prefix = b""
        self._commit: str | None = None
        self._batch: GitBatch | None = None
        with suppress(DocketError, OSError):
            self._place = find_git_place(root)
            if self._place is not None:
                inner = os.fsencode(Path(os.path.realpath(root)).relative_to(self._place.worktree))
                self._prefix = b"" if inner == b"." else inner + b"/"
                self._commit = checked_out(self._place)

    def read(self, path: RelPath, address: Address) -> bytes:
        """Return the content of that address that git has at a path; UnavailableError(CONTENT_MISSING) for none."""
        if self._place is not None:
            asked = self._prefix + path.raw
            with suppress(DocketError, OSError):
                batch = self._started(self._place)
                if self._commit is not None and batch.begin_in_commit(self._commit, asked) == address.size:
                    with suppress(DocketError):
                        return _whole(batch, address)
                if batch.begin_in_index(asked) == address.size:
                    return _whole(batch, address)
        raise missing(address)

    def close(self) -> None:
        """End git."""
        if self._batch is not None:
            self._batch.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _started(self, place: GitPlace) -> GitBatch:
        if self._batch is None:
            is_sha256 = self._commit is not None and len(self._commit) == 64
            self._batch = GitBatch(place.objects, is_sha256=is_sha256, index=place.git_dir / "index")
        return self._batch


def _whole(batch: GitBatch, address: Address) -> bytes:
    with ContentStream(address, batch.read, lambda: None) as stream:
        return b"".join(stream)
