"""On which side each step of an interrupted commit stands: found by looking, at its path and at what stands aside.

Rules (spec/workspace.md, Recovery):
1. A path is `pre` where it holds what the step expects, `post` where it holds the very thing that the step put there,
   as planned, `between` where a change of a mode was cut short, and `foreign` in every other case: somebody came.
2. What stands aside is the step's own by its inode; anything else there is what the step displaced. If that is not what
   the step expected, somebody saved at the last moment: that is foreign too, and is not what stands at the path.
3. `intact`: what the step puts in place is at hand, unchanged, or it needs nothing. `displaced`: what it displaced is.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from enum import StrEnum

from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.steps import Link, MakeDirectory, Remove, Step, WriteFile
from docket.formats.workspace.journal import Journal, JournalStep, Standing
from docket.host.confined import ConfinedTree
from docket.host.looking import Found, core_is_done, has_entries, look, told, unmet
from docket.host.reaching import Refusal
from docket.host.tree import identity_of

NOT_THERE = (Reason.NOT_FOUND, Reason.NOT_A_DIRECTORY, Reason.IS_A_SYMLINK)
_OWN = 0o700


class Side(StrEnum):
    """Where a path stands between what was and what was planned."""

    PRE = "pre"
    POST = "post"
    BETWEEN = "between"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One step as it was found. `saved`: what is foreign stands aside, displaced; `blocks_back` says what does.

    `has_place` False: the directory that held the path is gone, and no step brings it back. `is_full`: a directory that
    holds something stands where it is to go, which no step does.
    """

    item: JournalStep
    side: Side
    detail: str = ""
    intact: bool = True
    displaced: bool = False
    saved: bool = False
    blocks_back: str = ""
    has_place: bool = True
    is_full: bool = False

    @property
    def path(self) -> RelPath:
        """Its path."""
        return self.item.step.path


def staged_name(item: JournalStep) -> bytes:
    """Return the name that what the step puts in place, or displaced, has in the staging directory."""
    return b"%d.%d" % (item.number, item.inode)


class Observer:
    """Looks at the paths of one journal; changes nothing that it can leave."""

    def __init__(self, journal: Journal, tree: ConfinedTree) -> None:
        self._tree = tree
        self._applied = journal.applied
        self._steps: Mapping[RelPath, Step] = {item.step.path: item.step for item in journal.steps}
        stood = ((item.step.path, item.before) for item in journal.steps)
        self._directories = {path for path, before in stood if before is not None and before.state.kind == "directory"}

    def seen(self, item: JournalStep) -> Seen:
        """Return where a step stands. May raise OSError."""
        now = self._now(item.step.path)
        if isinstance(now, Refusal):
            return Seen(item=item, side=Side.FOREIGN, detail=now.detail, intact=False)
        aside = self._aside(item)
        if isinstance(aside, Refusal):
            return Seen(item=item, side=Side.FOREIGN, detail=aside.detail, intact=False)
        if isinstance(item.step, Remove):
            return self._removed(item, now, aside)
        return self._put(item, now, aside) if item.inode else self._altered(item, now)

    def _removed(self, item: JournalStep, now: Found | None, aside: Found | None) -> Seen:
        if aside is None:
            if now is None:
                gone = "nothing stands there, and what stood there is not docket's to tell"
                side = Side.POST if self._applied else Side.FOREIGN
                return Seen(item=item, side=side, detail=gone, blocks_back="what stood there is gone")
            return self._before(item, now, intact=True)
        if now is not None:
            return Seen(item=item, side=Side.FOREIGN, displaced=True, detail=f"{told(now.state)} was put there")
        return self._after(item, aside)

    def _put(self, item: JournalStep, now: Found | None, aside: Found | None) -> Seen:
        stands = now is not None and now.status.st_ino == item.inode
        if aside is not None and aside.status.st_ino == item.inode:
            return self._before(item, now, intact=self._is_whole(item.step, aside))
        if stands and now is not None and self._is_whole(item.step, now):
            return self._after(item, aside)
        if _is_the_same(item.before, now) or (aside is None and now is None and item.before is None):
            return self._before(item, now, intact=False)
        if aside is None and now is not None and item.before is not None and unmet(item.step, now) is None:
            return self._before(item, now, intact=False)
        what = "nothing stands there" if now is None else f"{told(now.state)} stands there"
        return Seen(item=item, side=Side.FOREIGN, intact=False, displaced=aside is not None, detail=what)

    def _before(self, item: JournalStep, now: Found | None, *, intact: bool) -> Seen:
        """Tell of a step that was not done, or was undone."""
        refused = unmet(item.step, now)
        goes = now is not None and now.is_directory and not isinstance(item.step, MakeDirectory)
        stranger = self._stranger(item.step.path) if goes else ""
        if refused is not None:
            return Seen(item=item, side=Side.FOREIGN, intact=intact, detail=refused.detail, is_full=bool(stranger))
        if stranger:
            detail = f"{stranger}, of which the commit knows nothing, stands in it"
            return Seen(item=item, side=Side.FOREIGN, intact=intact, detail=detail, is_full=True)
        if now is None and not isinstance(item.step, Remove) and not self._has_a_place(item.step.path):
            gone = "the directory that was to hold it is gone"
            return Seen(item=item, side=Side.FOREIGN, intact=intact, detail=gone, has_place=False)
        return Seen(item=item, side=Side.PRE, intact=intact)

    def _after(self, item: JournalStep, aside: Found | None) -> Seen:
        """Tell of a step that was done."""
        if aside is not None and not self._is_expected(item, aside):
            detail = f"{told(aside.state)} was saved there at the last moment, and stands aside"
            return Seen(item=item, side=Side.FOREIGN, detail=detail, displaced=True, saved=True)
        blocks, has_place = "", not isinstance(item.step, Remove) or self._can_return(item.step.path)
        if not has_place:
            blocks = "the directory that held it is gone"
        elif isinstance(item.step, MakeDirectory):
            blocks = self._stranger(item.step.path)
        elif aside is None and item.before is not None:
            blocks = "what stood there is gone"
        displaced = aside is not None
        return Seen(item=item, side=Side.POST, displaced=displaced, blocks_back=blocks, has_place=has_place)

    def _altered(self, item: JournalStep, now: Found | None) -> Seen:
        step, before = item.step, item.before
        if before is None or not _is_the_same(before, now, content=True) or now is None:
            what = "nothing stands there" if now is None else f"{told(now.state)} stands there"
            return Seen(item=item, side=Side.FOREIGN, detail=what)
        modes = {before.state.mode, getattr(step, "mode", before.state.mode)}
        if now.is_directory:
            modes |= {mode | _OWN for mode in modes}
        if now.state.mode not in modes:
            return Seen(item=item, side=Side.FOREIGN, detail=f"its mode is {now.state.mode:o}")
        return Seen(item=item, side=Side.BETWEEN)

    def _is_whole(self, step: Step, found: Found) -> bool:
        """Whether a thing is as the step makes it, times and attributes left aside."""
        if isinstance(step, MakeDirectory):
            return found.is_directory and found.state.mode in (step.mode, step.mode | _OWN)
        if isinstance(step, Link):
            source = self._steps.get(step.to)
            return found.state.size is not None and (not isinstance(source, WriteFile) or core_is_done(source, found))
        return core_is_done(step, found)

    def _is_expected(self, item: JournalStep, aside: Found) -> bool:
        if not aside.is_directory:
            return unmet(item.step, aside) is None
        staging = self._tree.aside
        return (
            item.before is not None
            and aside.status.st_ino == item.before.inode
            and staging is not None
            and not has_entries(staging.descriptor, staged_name(item))
        )

    def is_own_aside(self, item: JournalStep) -> bool:
        """Whether what stands aside is what the step was to put in place, unchanged. May raise OSError."""
        aside = self._aside(item)
        own = isinstance(aside, Found) and item.inode != 0 and aside.status.st_ino == item.inode
        return own and isinstance(aside, Found) and self._is_whole(item.step, aside)

    def is_expected_aside(self, item: JournalStep) -> bool:
        """Whether what stands aside is what the step expected at its path. May raise OSError."""
        aside = self._aside(item)
        return isinstance(aside, Found) and self._is_expected(item, aside)

    def _stranger(self, path: RelPath) -> str:
        """Return the name of something in a directory that no step is about, "" where there is none."""
        reached = self._tree.ways.reach(RelPath(path.raw + b"/x"))
        if isinstance(reached, Refusal):
            return ""
        with reached:
            names = sorted(os.fsencode(name) for name in os.listdir(reached.descriptor))  # noqa: PTH208 - by descriptor
        return next((str(below) for name in names if (below := RelPath(path.raw + b"/" + name)) not in self._steps), "")

    def _has_a_place(self, path: RelPath) -> bool:
        """Whether there is, or will be, a directory that a thing can be put into."""
        return any(isinstance(self._steps.get(above), MakeDirectory) for above in path.above()) or self._reaches(path)

    def _can_return(self, path: RelPath) -> bool:
        """Whether there is a directory that a thing can be put back into, or one that comes back before it."""
        return any(above in self._directories for above in path.above()) or self._reaches(path)

    def _reaches(self, path: RelPath) -> bool:
        reached = self._tree.ways.reach(path)
        if isinstance(reached, Refusal):
            return False
        reached.__exit__(None, None, None)
        return True

    def _now(self, path: RelPath) -> Found | Refusal | None:
        reached = self._tree.ways.reach(path)
        if isinstance(reached, Refusal):
            return None if reached.reason in NOT_THERE else reached
        with reached:
            found = look(*reached.place, self._tree.ways.own_mode)
        if isinstance(found, Found) and found.unread is not None:
            return Refusal(found.unread.reason, f"it cannot be read: {found.unread.detail}")
        return found

    def _aside(self, item: JournalStep) -> Found | Refusal | None:
        staging = self._tree.aside
        return None if staging is None else look(staging.descriptor, staged_name(item), self._tree.ways.own_mode)


def _is_the_same(before: Standing | None, now: Found | None, *, content: bool = False) -> bool:
    """Whether what stood there stands there: that inode, in that state, or with that content alone."""
    if before is None or now is None or identity_of(now.status) != (before.device, before.inode):
        return False
    then, state = before.state, now.state
    if content:
        known = then.sha256 is None or then.sha256 == state.sha256
        return (then.kind, then.size) == (state.kind, state.size) and known
    return then == state


def as_found(before: Standing | None) -> Found | None:
    """Return what a journal says of what stood at a path, as the writer takes it."""
    if before is None:
        return None
    kinds = {"file": stat.S_IFREG, "directory": stat.S_IFDIR, "symlink": stat.S_IFLNK}
    mode = kinds.get(before.state.kind, 0) | before.state.mode
    seconds = before.mtime_ns // 10**9
    fields = (mode, before.inode, before.device, 1, 0, 0, before.state.size or 0, seconds, seconds, seconds)
    times = {"st_atime_ns": before.mtime_ns, "st_mtime_ns": before.mtime_ns, "st_ctime_ns": before.mtime_ns}
    return Found(before.state, os.stat_result(fields, times), xattrs=before.xattrs)
