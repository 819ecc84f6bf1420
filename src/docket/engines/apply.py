"""Apply a plan to a tree: the order, the durability and the outcomes; the one user of the confined writer.

Rules:
1. Path by path, each step is done or not on its own, and every path ends as it was or as planned. All or nothing,
   everything is examined and built first, and the first step that cannot be done puts all others back.
2. What a step displaces goes only after the names that changed are synced, and after `keep`, if there is one, has
   taken it.
3. A directory's last mode and time are set when everything in it is done, deepest first.
4. Every step has an outcome, in the plan's order; only a tree that cannot be used at all raises.
5. A root that is not the plan's refuses every step.

It does not decide what to do (rules.tree) and does not clear what dead applies left (`sweep`, for the caller to ask).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace

from docket.engines.apply_options import DisplacedSink, Journal, Mode, Options
from docket.errors import DocketError
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.plan import (
    Link,
    MakeDirectory,
    MakeSymlink,
    Outcome,
    Plan,
    Remove,
    Step,
    StepStatus,
    WriteFile,
)
from docket.host.confined import ConfinedTree
from docket.host.disk import reported, unavailable
from docket.host.leftovers import Leftover, LeftoverState, leftover_names
from docket.host.leftovers import sweep as _sweep
from docket.host.looking import Found
from docket.host.placing import Built, Placed
from docket.host.reaching import Refusal, unable
from docket.stores.content import ContentReader

BATCH_STEPS = 256


def open_tree(root: bytes, *, durable: bool = True) -> ConfinedTree:
    """Open the tree at `root` for `apply`; UnavailableError if that cannot be. The caller closes it."""
    return ConfinedTree(root, durable=durable)


def apply(
    plan: Plan, content: ContentReader, tree: ConfinedTree, options: Options | None = None
) -> tuple[Outcome, ...]:
    """Do the plan's steps and return what became of each, in order.

    Whatever fails is an outcome; if docket's own things could not be removed from the tree afterwards, `tree.trouble`
    says so and `sweep` removes them later. An exception that ends the program leaves what a killed one does.
    """
    options = options or Options()
    if plan.root != tree.identity:
        detail = "the plan was made for another directory than the one that stands at the root's path"
        return tuple(Refusal(Reason.ROOT_REPLACED, detail).outcome(step.path) for step in plan.steps)
    tree.begin(plan.document, keeps=options.keep is not None)
    work = _Apply(plan, content, tree, options)
    outcomes = work.all_or_nothing() if options.mode is Mode.ALL_OR_NOTHING else work.path_by_path()
    try:
        tree.end()
    except OSError as error:
        tree.trouble = f"something of docket's own is left in the tree: {(error.strerror or str(error)).lower()}"
    return outcomes


def sweep(tree: ConfinedTree) -> tuple[Leftover, ...]:
    """Clear away what dead applies left in the tree (host.leftovers); UnavailableError where that cannot be."""
    with reported("clear up", os.fsdecode(tree.path)):
        return _sweep(tree)


class _Apply:
    def __init__(self, plan: Plan, content: ContentReader, tree: ConfinedTree, options: Options) -> None:
        self._plan = plan
        self._content = content
        self._tree = tree
        self._keep = options.keep
        self._journal = options.journal
        self._progress = options.progress or (lambda _done: None)
        self._links = {step.path: step for step in plan.steps if isinstance(step, MakeSymlink)}
        self._undone: dict[RelPath, Outcome] = {}
        self._outcomes: list[Outcome | None] = [None] * len(plan)

    def path_by_path(self) -> tuple[Outcome, ...]:
        """Do each step on its own; directories are finished at the end."""
        directories: list[Placed] = []
        for start in range(0, len(self._plan), BATCH_STEPS):
            placed = [self._step(number) for number in range(start, min(start + BATCH_STEPS, len(self._plan)))]
            done = [item for item in placed if item is not None]
            broken = self._unsynced()
            if broken is not None:
                self._give_up([], done, broken)
                break
            for item in done:
                self._settle(item)
            directories += (item for item in done if isinstance(item.step, MakeDirectory))
            self._progress(min(start + BATCH_STEPS, len(self._plan)))
        for item in reversed(directories):
            refused = self._tree.finish(item)
            if refused is not None or item.step.path not in self._undone:
                self._tell(item, refused)
        broken = self._unsynced()
        if broken is not None:
            for item in directories:
                detail = f"done, but it may not outlast a power cut: {broken.detail}"
                self._note(item.built.number, Outcome(path=item.step.path, status=StepStatus.APPLIED, detail=detail))
        return self._all()

    def all_or_nothing(self) -> tuple[Outcome, ...]:
        """Do every step or none."""
        built = self._built_all()
        if built is None:
            return self._all()
        broken = self._marked(lambda journal: journal.prepared())
        if broken is not None:
            self._give_up(built, [], broken)
            return self._all()
        placed = self._placed_all(built)
        if placed is None:
            return self._all()
        broken = self._unsynced() or self._marked(lambda journal: journal.applied())
        if broken is not None:
            self._give_up([], placed, broken)
            return self._all()
        for item in placed:
            self._settle(item)
        self._unsynced()
        return self._all()

    def _unsynced(self) -> Refusal | None:
        """Sync what was changed; return why that failed."""
        try:
            self._tree.sync()
        except OSError as error:
            told = unavailable(error, "sync the directories of", os.fsdecode(self._tree.path))
            return Refusal(Reason(told.reason), told.detail, failed=True)
        return None

    def _marked(self, mark: Callable[[Journal], None]) -> Refusal | None:
        if self._journal is None:
            return None
        broken = self._unsynced()
        if broken is not None:
            return broken
        try:
            mark(self._journal)
        except DocketError as error:
            return unable(error, "the journal cannot be written")
        return None

    def _step(self, number: int) -> Placed | None:
        step = self._plan.steps[number]
        if isinstance(step, Link) and (undone := self._undone.get(step.to)) is not None:
            detail = f"{step.to}, of which it is to be a name, could not be written"
            self._note(number, replace(undone, path=step.path, status=StepStatus.SKIPPED, detail=detail))
            return None
        seen = self._tree.examine(step)
        if isinstance(seen, Outcome):
            self._note(number, self._or_gone(step, seen))
            return None
        built = self._tree.build(number, step, self._stored(step), seen)
        if isinstance(built, Outcome):
            self._note(number, built)
            return None
        placed = self._tree.place(built)
        if isinstance(placed, Outcome):
            self._note(number, placed)
            return None
        return placed if self._kept(placed) else None

    def _or_gone(self, step: Step, outcome: Outcome) -> Outcome:
        """Take a removal below a link as done where that link is what this very plan puts there."""
        if not isinstance(step, Remove) or outcome.reason is not Reason.IS_A_SYMLINK:
            return outcome
        for above in step.path.above():
            maker = self._links.get(above)
            if maker is not None:
                now = self._tree.examine(maker)
                if isinstance(now, Outcome) and now.status is StepStatus.ALREADY:
                    return Outcome(path=step.path, status=StepStatus.ALREADY)
        return outcome

    def _note(self, number: int, outcome: Outcome) -> None:
        self._outcomes[number] = outcome
        if outcome.status in (StepStatus.REFUSED, StepStatus.FAILED):
            self._undone[outcome.path] = outcome

    def _tell(self, placed: Placed, refused: Refusal | None) -> None:
        outcome = Outcome(path=placed.step.path, status=StepStatus.APPLIED, detail=placed.built.detail or None)
        self._note(placed.built.number, outcome if refused is None else refused.outcome(placed.step.path))

    def _kept(self, placed: Placed) -> bool:
        """Hand what was displaced to the sink; if it does not take it, put it back."""
        if self._keep is None or not placed.displaced or placed.before is None or placed.before.is_directory:
            return True
        try:
            descriptor = self._tree.displaced(placed)
            if descriptor is None:
                self._keep.keep(placed.step.path, placed.before.state, None)
            else:
                with open(descriptor, "rb") as stream:  # noqa: PTH123 - a descriptor, which no Path opens
                    self._keep.keep(placed.step.path, placed.before.state, stream)
        except DocketError as error:
            refused = unable(error, "what stands there could not be kept")
        except OSError as error:
            refused = Refusal(Reason.UNREADABLE, f"what stands there could not be kept: {error.strerror}", failed=True)
        else:
            return True
        self._tell(placed, self._tree.undo(placed) or refused)
        return False

    def _settle(self, placed: Placed) -> None:
        refused = self._tree.settle(placed)
        if refused is None:
            self._tell(placed, None)
        elif refused.reason is Reason.NOT_EMPTY:  # somebody put a thing into the directory that was to go
            self._tell(placed, self._tree.undo(placed) or refused)
        else:
            detail = f"what stood there could not be removed for good: {refused.detail}"
            self._note(placed.built.number, Outcome(path=placed.step.path, status=StepStatus.APPLIED, detail=detail))

    def _built_all(self) -> list[Built] | None:
        """Examine and build every step; None, with the outcomes, where one cannot be done."""
        built: list[Built] = []
        made: set[RelPath] = set()
        emptied = {step.path.parent for step in self._plan.steps if isinstance(step, Remove)}
        for number, step in enumerate(self._plan.steps):
            if isinstance(step, Link):  # what it is to be a name of may not stand there yet
                continue
            seen: Outcome | Found | None = None
            if not any(above in made for above in step.path.above()):
                seen = self._tree.examine(step)
            if isinstance(step, MakeDirectory) and not (isinstance(seen, Found) and seen.is_directory):
                made.add(step.path)
            if isinstance(seen, Outcome) and seen.reason is Reason.NOT_EMPTY and step.path in emptied:
                seen = None
            if isinstance(seen, Outcome):
                seen = self._or_gone(step, seen)
                self._note(number, seen)
                if seen.status is StepStatus.ALREADY:
                    continue
                self._give_up(built, [])
                return None
            item = self._tree.build(number, step, self._stored(step), seen)
            if isinstance(item, Outcome):
                self._note(number, item)
                self._give_up(built, [])
                return None
            built.append(item)
        return built

    def _placed_all(self, built: list[Built]) -> list[Placed] | None:
        placed: list[Placed] = []
        for index, item in enumerate(built):
            result = self._tree.place(item)
            if isinstance(result, Outcome) and result.status is not StepStatus.ALREADY:
                self._note(item.number, result)
                self._give_up(built[index + 1 :], placed)
                return None
            if isinstance(result, Outcome):
                self._note(item.number, result)
                continue
            placed.append(result)
            if not self._kept(result):
                self._give_up(built[index + 1 :], placed[:-1])
                return None
        for number, step in enumerate(self._plan.steps):
            if isinstance(step, Link):
                linked = self._step(number)
                if linked is not None:
                    placed.append(linked)
                elif step.path in self._undone:
                    self._give_up([], placed)
                    return None
        for done in reversed([done for done in placed if isinstance(done.step, MakeDirectory)]):
            refused = self._tree.finish(done)
            if refused is not None:
                self._note(done.built.number, refused.outcome(done.step.path))
                self._give_up([], placed)
                return None
        return placed

    def _give_up(self, built: list[Built], placed: list[Placed], why: Refusal | None = None) -> None:
        """Put everything back; `why`, if no step is to blame, becomes the outcome of those that were done."""
        for item in built:
            self._tree.discard(item)
        for done in reversed(placed):
            refused = self._tree.undo(done) or why
            if refused is not None:
                self._note(done.built.number, refused.outcome(done.step.path))
        self._unsynced()
        for number, step in enumerate(self._plan.steps):
            if self._outcomes[number] is None:
                detail = "another step of the plan could not be done"
                self._outcomes[number] = Outcome(
                    path=step.path, status=StepStatus.SKIPPED, reason=Reason.ROLLED_BACK, detail=detail
                )

    def _stored(self, step: Step) -> _Stored | None:
        return _Stored(self._content, step.content) if isinstance(step, WriteFile) else None

    def _all(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self._outcomes if outcome is not None)


class _Stored:
    """One content of a reader, as the writer takes it."""

    def __init__(self, reader: ContentReader, address: Address) -> None:
        self._reader = reader
        self._address = address

    def clone_into(self, descriptor: int) -> bool:
        """Ask the reader, if it can."""
        clone = getattr(self._reader, "clone_into", None)
        return clone is not None and bool(clone(self._address, descriptor))

    def chunks(self) -> Iterator[bytes]:
        """Read the reader's stream to its end."""
        with self._reader.open(self._address) as stream:
            yield from stream


__all__ = [
    "ConfinedTree",
    "ContentReader",
    "DisplacedSink",
    "Journal",
    "Leftover",
    "LeftoverState",
    "Mode",
    "Options",
    "apply",
    "leftover_names",
    "open_tree",
    "sweep",
]
