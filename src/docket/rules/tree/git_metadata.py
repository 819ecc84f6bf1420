"""What in a tree is git's own: told from the paths that the documents name, never by looking.

Rules (spec/restore.md, The plan):
1. A path with a part `.git` is git's own, whether that is a folder or the file of a worktree or submodule.
2. So is everything in a folder that holds `HEAD`, `objects` and `refs`: a bare repository, or one to which the `.git`
   file of another folder points. It counts whether it had them before the run, after it, or some at each time.
3. It is selected by name alone: by a path that is git's own itself, or by a pattern one of whose parts is, letter by
   letter, the name of git's folder. A folder that merely holds a repository does not select what is git's in it.
"""

from __future__ import annotations

from collections.abc import Iterable

from docket.formats.relpath import RelPath

_GIT = b".git"
_MARKS = (b"/HEAD", b"/objects", b"/refs")


class GitMetadata:
    """The git's own folders among `paths`, which are all that the documents name."""

    def __init__(self, paths: Iterable[RelPath]) -> None:
        """Find them; one look at each path."""
        holders: dict[bytes, set[bytes]] = {mark: set() for mark in _MARKS}
        for path in paths:
            placed = b"/" + path.raw
            if placed.endswith(_MARKS):
                head, slash, name = placed.rpartition(b"/")
                holders[slash + name].add(head)
        self._repositories = frozenset.intersection(*map(frozenset, holders.values()))

    def folder_of(self, path: RelPath) -> bytes | None:
        """Return the outermost folder of git's own that is, or holds, a path; empty for the tree itself."""
        if b"" in self._repositories:
            return b""
        place = b""
        for part in path.parts:
            place += b"/" + part
            if part == _GIT or place in self._repositories:
                return place[1:]
        return None

    def is_named(self, path: RelPath, paths: Iterable[RelPath], patterns: Iterable[str]) -> bool:
        """Whether a path that is git's own is selected as such, or holds one that is."""
        own = [named.raw for named in paths if self.folder_of(named) is not None]
        if any(_is_at_or_below(path.raw, named) or _is_at_or_below(named, path.raw) for named in own):
            return True
        name = (self.folder_of(path) or _GIT).rpartition(b"/")[2]
        return any(name in pattern.encode("utf-8", "surrogateescape").split(b"/") for pattern in patterns)


def _is_at_or_below(raw: bytes, folder: bytes) -> bool:
    return raw == folder or raw.startswith(folder + b"/")
