"""Where the git of a tree writes outside of it: places that a stage of the tree does not cover.

Rules (spec/workspace.md, Git):
1. Told are the repository that a `.git` file names, the one whose parts a repository shares (`commondir`), the working
   tree that a configuration names, and what a link that is git's own leads to; each if it lies outside of the tree.
2. What git only reads or executes there is not told: objects of another repository (`alternates`), hooks, notes of
   `info`, and stores of large files, which only grow.
3. A path is read as git reads it: from where the document stands, `~` as a home, which is outside.

Pure; the documents are handed in, and whether anything stands at a place is for the caller to see.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator

from docket.formats.dataclass import dataclass
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import Listing
from docket.formats.tree.parts import links_of

GIT, COMMON = b".git", b"commondir"
GITDIR = re.compile(rb"\Agitdir: (.*?)\r?\n?\Z", re.DOTALL)
WORKTREE = re.compile(rb"^\s*worktree\s*=\s*(.*?)\s*$", re.MULTILINE | re.IGNORECASE)
_ONLY_READ = frozenset((b"hooks", b"info", b"lfs", b"annex"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """A place that git writes to because of `path`, a document or link of the tree."""

    path: RelPath
    place: bytes


def places_outside(listing: Listing, base: bytes, documents: Iterable[tuple[RelPath, bytes]]) -> tuple[Outside, ...]:
    """Return the places outside of the tree at `base` (a real path) that its git writes to, each as it is named."""
    named = [*_told(base, documents), *_linked(listing, base)]
    return tuple(Outside(path=path, place=place) for path, place in named if not is_within(place, base))


def gitdir_of(document: bytes, where: bytes) -> bytes | None:
    """Return the repository that a `.git` file in the directory `where` names, None where it names none."""
    found = GITDIR.match(document)
    return absolute(found[1], where) if found is not None else None


def absolute(target: bytes, where: bytes) -> bytes:
    """Return a path that is told from the directory `where`, without `.` and `..`."""
    path = posixpath.normpath(posixpath.join(where, target))
    return path.replace(b"//", b"/", 1) if path.startswith(b"//") else path


def is_within(path: bytes, folder: bytes) -> bool:
    """Whether a path is a folder or lies in it."""
    return path == folder or path.startswith(folder.rstrip(b"/") + b"/")


def _told(base: bytes, documents: Iterable[tuple[RelPath, bytes]]) -> Iterator[tuple[RelPath, bytes]]:
    for path, data in documents:
        where, name = posixpath.dirname(base + b"/" + path.raw), path.parts[-1]
        if name == GIT:
            found = gitdir_of(data, where)
            if found is not None:
                yield path, found
        elif name == COMMON:
            yield path, absolute(data.rstrip(b"\r\n"), where)
        elif name != b"alternates":
            for setting in WORKTREE.findall(data):
                told = setting.strip(b'"')
                yield path, told if told.startswith(b"~") else absolute(told, where)


def _linked(listing: Listing, base: bytes) -> Iterator[tuple[RelPath, bytes]]:
    for entry in links_of(listing):
        if GIT in entry.path.parts:
            parts = entry.path.parts
            if _ONLY_READ.isdisjoint(parts[parts.index(GIT) + 1 :]):
                yield entry.path, absolute(entry.target, posixpath.dirname(base + b"/" + entry.path.raw))
