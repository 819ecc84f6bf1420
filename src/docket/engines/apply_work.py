"""One apply under way: its steps examined, built, placed, kept, settled or put back, and what became of each.

Rules:
1. What cannot be done is an outcome of its step; nothing of the step is left in the tree.
2. What is displaced is handed to the sink before it goes; what the sink does not take is put back.
3. Giving up puts everything back that was done, the last first.

In which order, and what is given up together, is `engines.apply_batches`' and `engines.apply_whole`'s.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from docket.engines.apply_options import Journal, Options
from docket.errors import DocketError
from docket.formats.dataclass import replace
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.plan import (
    Link,
    MakeSymlink,
    Outcome,
    Plan,
    Remove,
    Step,
    StepStatus,
    WriteFile,
)
from docket.host.confined import ConfinedTree
from docket.host.disk import unavailable
from docket.host.looking import Found
from docket.host.placing import Built, Placed
from docket.host.reaching import Refusal, unable
from docket.stores.content import ContentReader

_TELL_STEPS, _TELL_BYTES = 64, 8 * 1024 * 1024


class Work:
    """The state of one apply; `outcomes` stand in the plan's order, None where a step was not reached yet."""

    def __init__(self, plan: Plan, content: ContentReader, tree: ConfinedTree, options: Options) -> None:
        self.plan = plan
        self.tree = tree
        self.outcomes: list[Outcome | None] = [None] * len(plan)
        self.undone: dict[RelPath, Outcome] = {}
        self._content = content
        self._keep = options.keep
        self._journal = options.journal
        self._progress = options.progress
        self._told = self._done = (0, 0)
        self._links = {step.path: step for step in plan.steps if isinstance(step, MakeSymlink)}

    def ready(self, number: int) -> Built | None:
        """Examine and build a step; None, with its outcome, where it cannot be done or nothing is left to do."""
        step = self.plan.steps[number]
        if isinstance(step, Link) and (undone := self.undone.get(step.to)) is not None:
            detail = f"{step.to}, of which it is to be a name, could not be written"
            self.note(number, replace(undone, path=step.path, status=StepStatus.SKIPPED, detail=detail))
            return None
        seen = self.tree.examine(step)
        if isinstance(seen, Outcome):
            self.note(number, self.or_gone(step, seen))
            return None
        return self.build(number, seen)

    def build(self, number: int, seen: Found | None, source: Built | None = None) -> Built | None:
        """Build a step over what was seen; None, with its outcome, where that does not succeed.

        `source` is the file, built and not yet in place, that a `Link` is to be a name of.
        """
        step = self.plan.steps[number]
        built = self.tree.build(number, step, self._stored(step), seen, source)
        if isinstance(built, Outcome):
            self.note(number, built)
            return None
        self._told_of(step)
        return built

    def harden(self, built: Sequence[Built]) -> list[Built]:
        """Make what was built durable, together; return what is, with the outcomes of the rest."""
        undone = self.tree.harden(built)
        for number, outcome in undone.items():
            self.note(number, outcome)
        return [item for item in built if item.number not in undone]

    def land(self, built: Built) -> Placed | None:
        """Put in place what was built, and hand on what it displaced; None, with its outcome, where it is not done."""
        placed = self.tree.place(built)
        if isinstance(placed, Outcome):
            self.note(built.number, placed)
            return None
        return placed if self._kept(placed) else None

    def made(self, number: int) -> Placed | None:
        """Do a step of a tree that need not outlast anything, at once where its name is free."""
        step = self.plan.steps[number]
        placed = self.tree.make(number, step, self._stored(step))
        if isinstance(placed, Outcome):
            self.note(number, placed)
            return None
        if placed is not None:
            self._told_of(step)
            return placed
        built = self.ready(number)
        return None if built is None else self.land(built)

    def unsynced(self) -> Refusal | None:
        """Sync what was changed; return why that failed."""
        try:
            self.tree.sync()
        except OSError as error:
            told = unavailable(error, "sync the directories of", os.fsdecode(self.tree.path))
            return Refusal(Reason(told.reason), told.detail, failed=True)
        return None

    def unkept(self) -> Refusal | None:
        """Have the sink make durable what it took; return why that failed."""
        flush = getattr(self._keep, "flush", None)
        try:
            if flush is not None:
                flush()
        except DocketError as error:
            return unable(error, "what stood there could not be kept")
        return None

    def marked(self, mark: Callable[[Journal], None]) -> Refusal | None:
        """Sync, and make a mark in the journal, if there is one; return why that failed."""
        if self._journal is None:
            return None
        broken = self.unsynced()
        if broken is not None:
            return broken
        try:
            mark(self._journal)
        except DocketError as error:
            return unable(error, "the journal cannot be written")
        except OSError as error:
            return Refusal(Reason.WRITE_FAILED, f"the journal cannot be written: {error.strerror}", failed=True)
        return None

    def or_gone(self, step: Step, outcome: Outcome) -> Outcome:
        """Take a removal below a link as done where that link is what this very plan puts there."""
        if not isinstance(step, Remove) or outcome.reason is not Reason.IS_A_SYMLINK:
            return outcome
        for above in step.path.above():
            maker = self._links.get(above)
            if maker is not None:
                now = self.tree.examine(maker)
                if isinstance(now, Outcome) and now.status is StepStatus.ALREADY:
                    return Outcome(path=step.path, status=StepStatus.ALREADY)
        return outcome

    def note(self, number: int, outcome: Outcome) -> None:
        """Take down what became of a step."""
        self.outcomes[number] = outcome
        if outcome.status in (StepStatus.REFUSED, StepStatus.FAILED):
            self.undone[outcome.path] = outcome

    def tell(self, placed: Placed, refused: Refusal | None) -> None:
        """Take down that a step was done, or why it was not after all."""
        outcome = Outcome(path=placed.step.path, status=StepStatus.APPLIED, detail=placed.built.detail or None)
        self.note(placed.built.number, outcome if refused is None else refused.outcome(placed.step.path))

    def finish(self, placed: Placed) -> bool:
        """Finish a directory, and take down what became of it; return whether that changed it."""
        number, path = placed.built.number, placed.step.path
        finished = self.tree.finish(placed)
        if isinstance(finished, Refusal):
            self.note(number, finished.outcome(path))
        elif path not in self.undone:
            status = StepStatus.APPLIED if finished.changed else StepStatus.ALREADY
            self.note(number, Outcome(path=path, status=status, detail=finished.detail or None))
            return finished.changed
        return False

    def _kept(self, placed: Placed) -> bool:
        """Hand what was displaced to the sink; if it does not take it, put it back."""
        if self._keep is None or not placed.displaced or placed.before is None or placed.before.is_directory:
            return True
        try:
            descriptor = self.tree.displaced(placed)
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
        self.tell(placed, self.tree.undo(placed) or refused)
        return False

    def settle(self, placed: Placed) -> None:
        """Let go of what a step displaced, and take down that it was done."""
        refused = self.tree.settle(placed)
        if refused is None and self.outcomes[placed.built.number] is not None:
            return  # a directory that is finished
        if refused is None:
            self.tell(placed, None)
        elif refused.reason is Reason.NOT_EMPTY:  # somebody put a thing into the directory that was to go
            self.tell(placed, self.tree.undo(placed) or refused)
        else:
            detail = f"what stood there could not be removed for good: {refused.detail}"
            self.note(placed.built.number, Outcome(path=placed.step.path, status=StepStatus.APPLIED, detail=detail))

    def give_up(self, built: list[Built], placed: list[Placed], why: Refusal | None = None) -> None:
        """Put everything back; `why`, if no step is to blame, becomes the outcome of those built or done."""
        for item in built:
            self.tree.discard(item)
            if why is not None:
                self.note(item.number, why.outcome(item.step.path))
        for done in reversed(placed):
            refused = self.tree.undo(done) or why
            if refused is None and done.step.path not in self.undone:
                self.outcomes[done.built.number] = None  # it may have been finished
            elif refused is not None:
                self.note(done.built.number, refused.outcome(done.step.path))
        self.unsynced()
        for number, step in enumerate(self.plan.steps):
            if self.outcomes[number] is None:
                detail = "another step of the plan could not be done"
                self.outcomes[number] = Outcome(
                    path=step.path, status=StepStatus.SKIPPED, reason=Reason.ROLLED_BACK, detail=detail
                )

    def _stored(self, step: Step) -> _Stored | None:
        return _Stored(self._content, step.content) if isinstance(step, WriteFile) else None

    def all(self) -> tuple[Outcome, ...]:
        """Return the outcomes, in the plan's order."""
        return tuple(outcome for outcome in self.outcomes if outcome is not None)

    def advanced(self) -> None:
        """Say how far it is: how many steps were worked on, and how many bytes of content written."""
        if self._progress is not None and self._done != self._told:
            self._told = self._done
            self._progress(self._done[0])

    def _told_of(self, step: Step) -> None:
        steps, size_bytes = self._done
        self._done = steps + 1, size_bytes + (step.content.size if isinstance(step, WriteFile) else 0)
        if self._done[0] - self._told[0] >= _TELL_STEPS or self._done[1] - self._told[1] >= _TELL_BYTES:
            self.advanced()


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
