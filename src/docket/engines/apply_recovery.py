"""Ending an apply that died after its journal said PREPARED: every step forward, or every step back.

Rules (spec/workspace.md, Recovery):
1. Where each step stands is found by looking (engines.apply_sides). Nothing is done while a path is foreign, unless it
   was said what becomes of that one.
2. Forward where all that is to be put in place is at hand, else back; or as it is asked for, where that can be.
3. The same writer does the same single exchanges, so that a recovery may die like the apply did and begin anew.
4. Nothing that anybody else wrote is removed before `keep` has it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from docket.engines.apply_asides import Asides
from docket.engines.apply_sides import NOT_THERE, Observer, Seen, Side, as_found, staged_name
from docket.formats.dataclass import dataclass, replace
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.plan import Plan
from docket.formats.tree.steps import ANYTHING, MakeDirectory, Outcome, Remove, StepStatus
from docket.formats.workspace.journal import Journal, JournalStep
from docket.host.confined import ConfinedTree
from docket.host.placing import Built, Deed, Placed
from docket.host.reaching import Refusal
from docket.host.staging import NEW_SUFFIX

_ITEM = re.compile(rb"(0|[1-9][0-9]{0,9})\.(0|[1-9][0-9]{0,19})(\.aside)?")


class Hears(Protocol):
    """Who hears how a recovery goes on; each returns when it is durable, and raises DocketError where it cannot be."""

    def applied(self) -> None:
        """Every path is as planned; what was displaced goes next."""
        ...

    def keep(self, path: RelPath, descriptor: int | None, target: bytes, /) -> None:
        """Keep what somebody wrote at a path: the file that is open, or where none is, the target of a link."""
        ...


class Direction(StrEnum):
    """To which end."""

    FORWARD = "forward"
    BACK = "back"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a person asks for: a direction, the paths to be left as they are, and whether others are overwritten."""

    direction: Direction | None = None
    theirs: frozenset[RelPath] = frozenset()
    force: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What a recovery came to. `direction` None: nothing was done, for `blocked`, each path with its reason.

    `failed` are steps that could not be done in that direction, and what could not be kept and so stands aside still:
    it is not over, and may be tried again.
    """

    seen: tuple[Seen, ...]
    direction: Direction | None
    blocked: tuple[Outcome, ...] = ()
    failed: tuple[Outcome, ...] = ()
    left: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether the tree is at one end, and nothing of the apply is left in it."""
        return self.direction is not None and not self.failed and self.left is None


def recover(journal: Journal, plan: Plan, tree: ConfinedTree, asked: Asked, hears: Hears) -> Ended:
    """End the apply of a prepared journal; may raise OSError, and what `hears` raises."""
    assert journal.staging is not None  # noqa: S101 - asked of prepared ones alone
    refused = tree.resume(journal.staging, plan.steps, looks=asked.dry_run)
    if refused is not None and refused.reason is not Reason.NOT_FOUND:
        return Ended(seen=(), direction=None, blocked=(refused.outcome(RelPath(os.fsencode(journal.staging.name))),))
    observer = Observer(journal, tree)
    seen = tuple(observer.seen(item) for item in journal.steps)
    direction, blocked = choose(seen, journal, asked)
    if blocked or asked.dry_run:
        (tree.ways.abandon if asked.dry_run else tree.ways.close_below)()
        return Ended(seen=seen, direction=None if blocked else direction, blocked=blocked)
    work = _Recovery(seen, tree, asked, observer, hears)
    failed: tuple[Outcome, ...] = ()
    applied = direction is Direction.FORWARD and has_landed(seen, journal)
    if refused is None and not applied:  # else the tree is at that end, and only what stands aside is to go
        failed = work.forward() if direction is Direction.FORWARD else work.back()
    if not failed:
        tree.sync()
        if direction is Direction.FORWARD and not journal.applied:
            hears.applied()
        failed = work.clean(direction)
        tree.sync()
        if tree.aside is not None:
            tree.adopt()
    return Ended(seen=seen, direction=direction, failed=failed, left=tree.end())


def choose(seen: Sequence[Seen], journal: Journal, asked: Asked) -> tuple[Direction, tuple[Outcome, ...]]:
    """Return in which direction to go, and what stands in the way of it."""
    settled = [item for item in seen if item.side is not Side.FOREIGN]
    applied = has_landed(seen, journal)
    intact = all(item.intact for item in settled if item.side is Side.PRE)
    direction = asked.direction or (Direction.FORWARD if applied or intact else Direction.BACK)
    blocked = []
    for item in seen:
        why = _obstacle(item, direction, asked)
        if why is not None:
            blocked.append(why.outcome(item.path))
    return direction, tuple(blocked)


def has_landed(seen: Sequence[Seen], journal: Journal) -> bool:
    """Whether every path was as planned: the mark says so, and nothing shows that it was all put back after it."""
    return journal.applied and not any(item.side is Side.PRE for item in seen)


def _obstacle(item: Seen, direction: Direction, asked: Asked) -> Refusal | None:
    if item.path in asked.theirs:
        return None
    if item.side is Side.FOREIGN:
        if not asked.force:
            return Refusal(Reason.CHANGED_SINCE, item.detail)
        if direction is Direction.FORWARD and not item.intact:
            detail = f"{item.detail}, and what was to land is not at hand: it may go back, or be left as it is"
            return Refusal(Reason.CONTENT_MISSING, detail)
        if direction is Direction.FORWARD and not item.has_place:
            return Refusal(Reason.NOT_FOUND, f"{item.detail}: it may go back, or be left as it is")
        if direction is Direction.FORWARD and item.is_full:
            detail = f"{item.detail}; the directory is not empty: move it away, go back, or leave it as it is"
            return Refusal(Reason.NOT_EMPTY, detail)
        return None
    if direction is Direction.FORWARD and item.side is Side.PRE and not item.intact:
        return Refusal(Reason.CONTENT_MISSING, "what was to land there is not at hand any more")
    kept = asked.force and not item.has_place
    if direction is Direction.BACK and item.side is Side.POST and item.blocks_back and not kept:
        return Refusal(Reason.CHANGED_SINCE, f"it cannot go back: {item.blocks_back}")
    return None


class _Recovery:
    def __init__(
        self, seen: Sequence[Seen], tree: ConfinedTree, asked: Asked, observer: Observer, hears: Hears
    ) -> None:
        self._seen, self._tree, self._asked = seen, tree, asked
        self._observer, self._hears = observer, hears
        self._failed: list[Outcome] = []

    def forward(self) -> tuple[Outcome, ...]:
        """Do what was not done; return what could not be."""
        for item in self._seen:
            if item.side is Side.FOREIGN and item.path in self._asked.theirs:
                self._leave(item)
            elif item.side in (Side.PRE, Side.BETWEEN) or (item.side is Side.FOREIGN and not item.saved):
                self._place(item)
        for item in reversed(self._seen):
            if isinstance(item.item.step, MakeDirectory) and item.path not in self._asked.theirs and not self._failed:
                finished = self._tree.finish(_placed(item.item, displaced=item.displaced))
                if isinstance(finished, Refusal):
                    self._failed.append(finished.outcome(item.path))
        return tuple(self._failed)

    def back(self) -> tuple[Outcome, ...]:
        """Undo what was done, the last first; return what could not be."""
        for item in reversed(self._seen):
            if item.side is Side.FOREIGN and item.path in self._asked.theirs:
                self._leave(item)
            elif item.side is Side.FOREIGN and not item.saved:
                self._force_back(item)
            elif item.side is not Side.PRE:
                self._undo(item)
        return tuple(self._failed)

    def _place(self, item: Seen) -> None:
        step = item.item.step
        if item.side is not Side.PRE:  # looked at already, and half done or to be overwritten
            step = replace(step, precondition=ANYTHING)
        built = Built(number=item.item.number, step=step, staged=staged_name(item.item), inode=item.item.inode)
        done = self._tree.place(built)
        if isinstance(done, Outcome) and done.status is not StepStatus.ALREADY:
            self._failed.append(done)

    def _undo(self, item: Seen) -> None:
        if self._has_lost_its_place(item):
            return
        refused = self._tree.undo(_placed(item.item, displaced=item.displaced))
        holds_theirs = any(item.path in path.above() for path in self._asked.theirs)
        if refused is not None and not (holds_theirs and refused.reason is Reason.NOT_EMPTY):
            self._failed.append(refused.outcome(item.path))

    def _has_lost_its_place(self, item: Seen) -> bool:
        """Whether somebody took away the directory that held a path, and it may stay so.

        What stood at the path is kept then, like all that stands aside in the end.
        """
        if not self._asked.force and item.path not in self._asked.theirs:
            return False
        reached = self._tree.ways.reach(item.path)
        if isinstance(reached, Refusal):
            return reached.reason in NOT_THERE
        with reached:
            return False

    def _leave(self, item: Seen) -> None:
        """Leave what somebody else wrote at its path, or put it back there."""
        if item.saved:
            self._undo(item)

    def _force_back(self, item: Seen) -> None:
        """Put back what stood at a path, with what stands there now kept."""
        if not item.displaced or self._has_lost_its_place(item):
            return  # where the step was not done, what stands there is not docket's to overwrite
        reached = self._tree.ways.reach(item.path)
        if isinstance(reached, Refusal):
            self._failed.append(reached.outcome(item.path))
            return
        staging = self._tree.aside
        assert staging is not None  # noqa: S101 - something was displaced into it
        aside = (staging.descriptor, staged_name(item.item))
        with reached:
            self._tree.touch(reached)
            try:
                self._tree.calls.exchange(aside, reached.place)
            except FileNotFoundError:
                self._tree.calls.rename_new(aside, reached.place)

    def clean(self, direction: Direction) -> tuple[Outcome, ...]:
        """Drop what stands aside, and keep first what is not docket's and not what had to go; return what stays."""
        staging = self._tree.aside
        if staging is None:
            return ()
        asides = Asides(self._tree.calls, staging, self._hears.keep)
        items = {item.item.number: item.item for item in self._seen}
        for name in staging.names():
            found = _ITEM.fullmatch(name)
            item = None if found is None else items.get(int(found[1]))
            if name.endswith(NEW_SUFFIX):
                staging.drop(name)
            elif item is not None:
                asides.let_go(name, item.step.path, keeps=not self._goes(name, item, direction))
        return tuple(asides.stayed)

    def _goes(self, name: bytes, item: JournalStep, direction: Direction) -> bool:
        """Whether what stands aside is docket's own, or what had to go."""
        if name != staged_name(item):
            return False
        forward = direction is Direction.FORWARD
        return self._observer.is_own_aside(item) or (forward and self._observer.is_expected_aside(item))


def _placed(item: JournalStep, *, displaced: bool) -> Placed:
    built = Built(number=item.number, step=item.step, staged=staged_name(item), inode=item.inode)
    if isinstance(item.step, Remove):
        deed = Deed.TAKEN_AWAY
    elif not item.inode:
        deed = Deed.ALTERED
    else:
        deed = Deed.EXCHANGED if displaced else Deed.CREATED
    return Placed(built=built, deed=deed, before=as_found(item.before))
