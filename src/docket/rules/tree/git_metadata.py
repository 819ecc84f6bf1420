"""What in a tree is git's own, or another version control's: told from the documents' paths, never by looking.

Rules (spec/restore.md, The plan):
1. A path with a part `.git` is git's own, whether that is a folder or the file of a worktree or submodule.
2. So is everything in a folder that holds `HEAD`, `objects` and `refs`: a bare repository, or one to which the `.git`
   file of another folder points. It counts whether it had them before the run, after it, or some at each time.
3. So are the folders of Mercurial, Jujutsu, Subversion, Bazaar and Darcs: no snapshot holds what they store of
   contents, and the rest of such a folder, put back around what the run left there, is a mix that never was.
4. It is selected by name alone: by a path that is git's own itself, or by a pattern one of whose parts is, letter by
   letter, the name of git's folder. A folder that merely holds a repository does not select what is git's in it.
5. What in it makes version control execute a program is told: executable hooks, and configuration.
"""

from __future__ import annotations

from collections.abc import Iterable

from docket.formats.ledger.tree_events import FsChange
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import Kind

_GIT = b".git"
_OWNERS = {
    _GIT: "git's", b".hg": "Mercurial's", b".jj": "Jujutsu's", b".svn": "Subversion's", b".bzr": "Bazaar's",
    b"_darcs": "Darcs'",
}  # fmt: skip
_CONFIGURATION = frozenset((b"config", b"config.worktree", b"hgrc", b"config.toml"))
_HOOKS, _SAMPLE = b"hooks", b".sample"
_NO_PROGRAMS = frozenset((b"refs", b"logs"))  # a branch may have any name
_EXECUTABLE = 0o111
REPOSITORY_MARKS = (b"/HEAD", b"/objects", b"/refs")


class GitMetadata:
    """The git's own folders among `paths`, which are all that the documents name."""

    def __init__(self, paths: Iterable[RelPath]) -> None:
        """Find them; one look at each path."""
        holders: dict[bytes, set[bytes]] = {mark: set() for mark in REPOSITORY_MARKS}
        for path in paths:
            placed = b"/" + path.raw
            if placed.endswith(REPOSITORY_MARKS):
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
            if part in _OWNERS or place in self._repositories:
                return place[1:]
        return None

    def program_at(self, change: FsChange) -> str | None:
        """Return in words what a change of the run makes version control execute, None where that is nothing.

        A link counts as what it may lead to.
        """
        path, state, folder = change.path, change.after, self.folder_of(change.path)
        if folder is None or state is None or not _NO_PROGRAMS.isdisjoint(path.parts):
            return None
        owner, name = owner_of(folder).removesuffix("'s").removesuffix("'"), path.parts[-1]
        did = "added" if change.before is None else "changed"
        is_file, is_link = state.kind == Kind.FILE.value, state.kind == Kind.SYMLINK.value
        if path.parts[-2:-1] == (_HOOKS,) and not name.endswith(_SAMPLE):
            may_run = is_link or (is_file and state.mode & _EXECUTABLE)
            return f"the run {did} a program that {owner} will execute: {path}" if may_run else None
        if is_link and name == _HOOKS:
            return f"the run {did} a link to a folder whose programs {owner} will execute: {path}"
        if name in _CONFIGURATION and (is_file or is_link):
            return f"the run {did} what can name programs that {owner} will execute: {path}"
        return None

    def is_named(self, path: RelPath, paths: Iterable[RelPath], patterns: Iterable[str]) -> bool:
        """Whether a path that is git's own is selected as such, or holds one that is."""
        own = [named.raw for named in paths if self.folder_of(named) is not None]
        if any(_is_at_or_below(path.raw, named) or _is_at_or_below(named, path.raw) for named in own):
            return True
        name = (self.folder_of(path) or _GIT).rpartition(b"/")[2]
        return any(name in pattern.encode("utf-8", "surrogateescape").split(b"/") for pattern in patterns)


def marks_repository(raw: bytes) -> bool:
    """Whether a path is one of those by which a folder is known to be git's own."""
    return (b"/" + raw).endswith(REPOSITORY_MARKS)


def owner_of(folder: bytes) -> str:
    """Return whose a folder of version control is, as in "git's"; git has folders of any name."""
    return _OWNERS.get(folder.rpartition(b"/")[2], _OWNERS[_GIT])


def _is_at_or_below(raw: bytes, folder: bytes) -> bool:
    return raw == folder or raw.startswith(folder + b"/")
