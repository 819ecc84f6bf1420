"""What a person has taken of a change set so far, path by path, and the choice that comes of it.

Rules:
1. Of each path all, nothing, or some hunks are taken. Taking or leaving a directory takes or leaves what is below it.
2. A directory that the change set makes is taken where anything below it is. One that it removes, or that becomes
   something else, is taken only where all below it is.
3. The choice takes exactly what is taken here, as far as what must stand before a path can allows; what does land,
   `rules.workspace.hunks` tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from docket.formats.dataclass import dataclass
from docket.formats.ledger.tree_events import FsChange
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import Kind
from docket.formats.workspace.change_set import ChangeSet
from docket.formats.workspace.hunk_choice import MODE, HunkChoice, TakenPath
from docket.rules.workspace.hunks import changes_mode


@dataclass(frozen=True, slots=True)
class Selection:
    """Of each path that is taken, the hunks; None for all of it. Paths that are left are not in it."""

    changes: ChangeSet
    taken: Mapping[RelPath, frozenset[str] | None]

    @classmethod
    def of_all(cls, changes: ChangeSet) -> Selection:
        """Return the selection that takes everything."""
        return cls(changes, {change.path: None for change in changes.changes})

    @property
    def is_all(self) -> bool:
        """Whether everything is taken whole."""
        return len(self.taken) == len(self.changes.changes) and all(hunks is None for hunks in self.taken.values())

    def with_paths(self, paths: Iterable[RelPath], *, take: bool) -> Selection:
        """Return the selection with these paths and all below them taken whole, or left."""
        roots = frozenset(paths)
        meant = {c.path for c in self.changes.changes if c.path in roots or not roots.isdisjoint(c.path.above())}
        taken = {path: hunks for path, hunks in self.taken.items() if path not in meant}
        return _settled(self.changes, taken | (dict.fromkeys(meant, None) if take else {}))

    def with_hunks(self, path: RelPath, hunks: frozenset[str], *, of: frozenset[str]) -> Selection:
        """Return the selection with these hunks of a file taken; `of` are all it has."""
        taken = {other: chosen for other, chosen in self.taken.items() if other != path}
        if hunks:
            taken[path] = None if hunks == of else hunks
        return _settled(self.changes, taken)

    def choice(self) -> HunkChoice:
        """Return the choice that takes what is taken here."""
        below = _below(self.changes)
        by_path = {change.path: change for change in self.changes.changes}
        take: list[TakenPath] = []
        for path, hunks in self.taken.items():
            if hunks is not None:
                take.append(TakenPath(path=path, hunks=tuple(sorted(hunks))))
            elif self._is_whole(below.get(path, ())):
                take.append(TakenPath(path=path))
            elif changes_mode(by_path[path]):
                take.append(TakenPath(path=path, hunks=(MODE,)))
        return HunkChoice(diff_sha256=self.changes.digest, take=tuple(take))

    def _is_whole(self, paths: Iterable[RelPath]) -> bool:
        return all(self.taken.get(path, frozenset()) is None for path in paths)


def _settled(changes: ChangeSet, taken: Mapping[RelPath, frozenset[str] | None]) -> Selection:
    """Let directories follow what is below them, the innermost first."""
    below = _below(changes)
    found = dict(taken)
    for change in reversed(changes.changes):
        inner = below.get(change.path, ())
        if not inner:
            continue
        if _is_directory(change, after=True) and not _is_directory(change, after=False):
            if any(path in found for path in inner):
                found[change.path] = None
            else:
                found.pop(change.path, None)
        elif not _is_directory(change, after=True) and any(found.get(path, frozenset()) is not None for path in inner):
            found.pop(change.path, None)
    return Selection(changes, {change.path: found[change.path] for change in changes.changes if change.path in found})


def _below(changes: ChangeSet) -> dict[RelPath, list[RelPath]]:
    """Return, for each changed path, the changed paths below it."""
    found: dict[RelPath, list[RelPath]] = {change.path: [] for change in changes.changes}
    for change in changes.changes:
        for above in change.path.above():
            if above in found:
                found[above].append(change.path)
    return found


def _is_directory(change: FsChange, *, after: bool) -> bool:
    state = change.after if after else change.before
    return state is not None and state.kind == Kind.DIRECTORY.value
