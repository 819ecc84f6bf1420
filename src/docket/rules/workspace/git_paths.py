"""What a path within git's own folders is to git, as far as a transaction treats it unlike other files.

Rules (spec/workspace.md, Git):
1. Only what is git's by `rules.tree.git_metadata` is anything here, and only by its path.
2. A lock is a name that ends in `.lock` where git puts its locks: beside what it locks, or among the refs.
3. A note is what git writes for itself or the next command, and nothing of the history hangs on.
4. What is stored is everything below `objects`: its files are named by what they hold.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from docket.formats.relpath import RelPath
from docket.formats.tree.listing import Listing
from docket.formats.tree.parts import paths_ending
from docket.rules.tree.git_metadata import REPOSITORY_MARKS, GitMetadata, owner_of

INDEX_NAME, LOCK_SUFFIX = b"index", b".lock"
_LOCKED = frozenset((b"HEAD", b"ORIG_HEAD", b"config", b"config.worktree", b"index", b"packed-refs", b"shallow"))
_NOTES = frozenset((b"FETCH_HEAD", b"ORIG_HEAD", b"COMMIT_EDITMSG", b"gc.log", b"gc.pid"))
_NAMED_NOTES = ((b"objects", b"info", b"packs"), (b"objects", b"info", b"commit-graph"))
_NOT_NOTES = frozenset((b"refs", b"logs"))
_HEX = frozenset(b"0123456789abcdef")
_OBJECT_DIGITS = (38, 62)


class GitRole(StrEnum):
    """What a path is to git. OBJECT is the file of one object, FANOUT a folder of such files."""

    INDEX = "index"
    LOCK = "lock"
    NOTE = "note"
    OBJECT = "object"
    FANOUT = "fanout"
    STORED = "stored"
    REF = "ref"
    OTHER = "other"


class GitPaths:
    """The roles of paths in a tree that holds `paths`."""

    def __init__(self, paths: Iterable[RelPath]) -> None:
        """Find the folders of git's own; one look at each path."""
        self._metadata = GitMetadata(paths)

    @classmethod
    def of(cls, *listings: Listing) -> GitPaths:
        """Return the roles of paths in a tree that holds all that the listings name."""
        endings = tuple(mark.removeprefix(b"/") for mark in REPOSITORY_MARKS)
        return cls(path for listing in listings for path in paths_ending(listing, *endings))

    def folder_of(self, path: RelPath) -> RelPath | None:
        """Return the outermost folder of git's own that is or holds a path; None where there is none in the tree."""
        folder = self._metadata.folder_of(path)
        return RelPath(folder) if folder and owner_of(folder) == "git's" else None

    def role(self, path: RelPath) -> GitRole | None:
        """Return what a path is to git, None where it is not within a folder of git's own."""
        folder = self.folder_of(path)
        if folder is None or folder == path:
            return None
        parts = path.parts[len(folder.parts) :]
        if parts[-3:] in _NAMED_NOTES:
            return GitRole.NOTE
        if b"objects" in parts[:-1]:
            return _stored(parts)
        if parts[-1] == INDEX_NAME and _NOT_NOTES.isdisjoint(parts):
            return GitRole.INDEX
        if parts[-1].endswith(LOCK_SUFFIX) and (b"refs" in parts or parts[-1].removesuffix(LOCK_SUFFIX) in _LOCKED):
            return GitRole.LOCK
        if parts[-1] in _NOTES and _NOT_NOTES.isdisjoint(parts):
            return GitRole.NOTE
        return GitRole.REF if b"refs" in parts and b"logs" not in parts else GitRole.OTHER


def is_stored(role: GitRole | None) -> bool:
    """Whether a role is one of what stands below `objects` and is named by what it holds."""
    return role in (GitRole.OBJECT, GitRole.FANOUT, GitRole.STORED)


def is_made_anew_by_git(path: RelPath) -> bool:
    """Whether a directory in `.git` is one that git removes once it is empty, and makes when it needs it."""
    parts = path.parts
    inside = parts[parts.index(b".git") + 1 :] if b".git" in parts else ()
    return b"refs" in inside[:-1] or (inside[-2:-1] == (b"objects",) and _is_hex(inside[-1], (2,)))


def _stored(parts: tuple[bytes, ...]) -> GitRole:
    if parts[-2] == b"objects" and _is_hex(parts[-1], (2,)):
        return GitRole.FANOUT
    if parts[-3:-2] == (b"objects",) and _is_hex(parts[-2], (2,)) and _is_hex(parts[-1], _OBJECT_DIGITS):
        return GitRole.OBJECT
    return GitRole.STORED


def _is_hex(part: bytes, sizes: tuple[int, ...]) -> bool:
    return len(part) in sizes and _HEX.issuperset(part)
