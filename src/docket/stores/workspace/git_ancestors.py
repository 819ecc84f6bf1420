"""Contents that git has of a tree's files, by their paths: those of the commit that is checked out, and of the index.

Rules:
1. Where the repository lies and which commit is checked out is read from its files; no git is run in it, and none of
   its configuration is read. Objects are read by `host.git_batch`.
2. A content counts only if its digest is the one asked for: what git has at the path may be another version.
3. What is not understood is not there: a repository is a place to look, and nothing is refused because of it.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from docket.errors import DocketError
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.host.git_batch import GitBatch
from docket.stores.content import ContentStream, missing

MAX_REFS_BYTES = 64 * 1024 * 1024
_MAX_LINE_BYTES = 4096
_MOST_LINKS = 5
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?", re.ASCII)
_REF = re.compile(r"refs/[^\0\s]+")


@dataclass(frozen=True, slots=True)
class Repository:
    """`folder` has the index and what is checked out, `common` the refs and objects; `prefix` is where the tree is."""

    folder: Path
    common: Path
    prefix: bytes


class GitAncestors:
    """The contents of one tree; close it."""

    def __init__(self, root: Path) -> None:
        """Look for the repository; none is no error."""
        self._repository = find_repository(root)
        self._commit: str | None = None
        self._batch: GitBatch | None = None
        if self._repository is not None:
            with suppress(DocketError, OSError):
                self._commit = checked_out(self._repository)

    def read(self, path: RelPath, address: Address) -> bytes:
        """Return the content of that address that git has at a path; UnavailableError(CONTENT_MISSING) for none."""
        if self._repository is not None:
            asked = self._repository.prefix + path.raw
            with suppress(DocketError, OSError):
                batch = self._started(self._repository)
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

    def _started(self, repository: Repository) -> GitBatch:
        if self._batch is None:
            is_sha256 = self._commit is not None and len(self._commit) == 64
            self._batch = GitBatch(
                repository.common / "objects", is_sha256=is_sha256, index=repository.folder / "index"
            )
        return self._batch


def find_repository(root: Path) -> Repository | None:
    """Return the repository that a directory is in, the way git finds it; None for none."""
    with suppress(OSError, ValueError):
        for folder in (root, *root.parents):
            found = folder / ".git"
            if not os.path.lexists(found):
                continue
            place = found if found.is_dir() else _linked(found)
            if place is None:
                return None
            common = place / "commondir"
            shared = (place / _line(common)).resolve() if common.is_file() else place
            inner = os.fsencode(root.relative_to(folder))
            return Repository(place, shared, b"" if inner == b"." else inner + b"/")
    return None


def checked_out(repository: Repository) -> str | None:
    """Return the commit that is checked out, None where there is none yet or it is not told in files."""
    said = _line(repository.folder / "HEAD")
    for _ in range(_MOST_LINKS):
        if _COMMIT.fullmatch(said):
            return said
        name = said.removeprefix("ref: ").strip()
        if not _REF.fullmatch(name) or ".." in name.split("/"):
            return None
        loose = repository.common / name
        if not loose.is_file():
            return _packed(repository.common / "packed-refs", name)
        said = _line(loose)
    return None


def _packed(path: Path, name: str) -> str | None:
    if not path.is_file() or path.stat().st_size > MAX_REFS_BYTES:
        return None
    with path.open("rb") as file:
        for line in file:
            commit, _, ref = line.decode("utf-8", "surrogateescape").rstrip("\n").partition(" ")
            if ref == name and _COMMIT.fullmatch(commit):
                return commit
    return None


def _linked(path: Path) -> Path | None:
    said = _line(path)
    return (path.parent / said.removeprefix("gitdir: ")).resolve() if said.startswith("gitdir: ") else None


def _line(path: Path) -> str:
    """Return a file's first line; nothing for what is no file, which might be waited for without an end."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.readline(_MAX_LINE_BYTES).decode("utf-8", "surrogateescape").rstrip("\n")


def _whole(batch: GitBatch, address: Address) -> bytes:
    with ContentStream(address, batch.read, lambda: None) as stream:
        return b"".join(stream)
