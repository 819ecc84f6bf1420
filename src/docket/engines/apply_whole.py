"""A plan applied all or nothing: everything is examined and built first, and what cannot be done puts all back.

Rules:
1. Contents are durable before the journal is told that everything is built, names before it is told that all is done.
2. Links are built with all the rest, of what is built already: putting in place is nothing but exchanges.
3. The first step that cannot be done ends it: what was done is put back, the last first.
4. In a tree that need not outlast anything nothing is built ahead: steps are done in their order, and put back alike.
"""

from __future__ import annotations

from collections.abc import Iterable

from docket.engines.apply_work import Work
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.plan import Link, MakeDirectory, Outcome, Remove, StepStatus, WriteFile
from docket.formats.workspace.journal import JournalStep, Standing
from docket.host.looking import Found
from docket.host.placing import Built, Placed


def all_or_nothing(work: Work) -> tuple[Outcome, ...]:
    """Do every step or none; return what became of each."""
    placed = _placed(work) if work.tree.durable else _made(work)
    if placed is None:
        return work.all()
    broken = work.unkept() or work.unsynced() or work.marked(lambda journal: journal.applied())
    if broken is not None:
        work.give_up([], placed, broken)
        return work.all()
    for item in placed:
        work.settle(item)
    work.unsynced()
    work.advanced()
    return work.all()


def _placed(work: Work) -> list[Placed] | None:
    built = _built_all(work)
    if built is None:
        return None
    hardened = work.harden(built)
    if len(hardened) < len(built):
        work.give_up(hardened, [])
        return None
    broken = work.marked(lambda journal: journal.prepared(journal_steps(built), work.tree.staging()))
    if broken is not None:
        work.give_up(built, [], broken)
        return None
    return _placed_all(work, built)


def _made(work: Work) -> list[Placed] | None:
    made: list[Placed] = []
    for number in range(len(work.plan)):
        item = work.made(number)
        if item is not None:
            made.append(item)
        elif _is_undone(work, number):
            work.give_up([], made)
            return None
    return made if _finished(work, made) else None


def _is_undone(work: Work, number: int) -> bool:
    outcome = work.outcomes[number]
    return outcome is None or outcome.status is not StepStatus.ALREADY


def _built_all(work: Work) -> list[Built] | None:
    """Examine and build every step; None, with the outcomes, where one cannot be done."""
    built: list[Built] = []
    made: set[RelPath] = set()
    emptied = {step.path.parent for step in work.plan.steps if isinstance(step, Remove)}
    files: dict[RelPath, Built] = {}
    for number, step in enumerate(work.plan.steps):  # links come last in a plan
        source = files.get(step.to) if isinstance(step, Link) else None
        seen: Outcome | Found | None = None
        if not any(above in made for above in step.path.above()):
            seen = work.tree.examine(step, anew=source is not None)
        if isinstance(step, MakeDirectory) and not (isinstance(seen, Found) and seen.is_directory):
            made.add(step.path)
        if isinstance(seen, Outcome) and seen.reason is Reason.NOT_EMPTY and step.path in emptied:
            seen = work.tree.stands(step)
        if isinstance(seen, Outcome):
            seen = work.or_gone(step, seen)
            work.note(number, seen)
            if seen.status is StepStatus.ALREADY:
                continue
            work.give_up(built, [])
            return None
        item = work.build(number, seen, source)
        if item is None:
            work.give_up(built, [])
            return None
        built.append(item)
        if isinstance(step, WriteFile) and item.inode:
            files[step.path] = item
    return built


def _placed_all(work: Work, built: list[Built]) -> list[Placed] | None:
    placed: list[Placed] = []
    for index, item in enumerate(built):
        landed = work.land(item)
        if landed is not None:
            placed.append(landed)
        elif _is_undone(work, item.number):
            work.give_up(built[index + 1 :], placed)
            return None
    return placed if _finished(work, placed) else None


def _finished(work: Work, placed: list[Placed]) -> bool:
    for done in reversed([done for done in placed if isinstance(done.step, MakeDirectory)]):
        work.finish(done)
        if done.step.path in work.undone:
            work.give_up([], placed)
            return False
    return True


def journal_steps(built: Iterable[Built]) -> tuple[JournalStep, ...]:
    """Return what was built as a journal tells it."""
    return tuple(
        JournalStep(number=item.number, step=item.step, inode=item.inode, before=_standing(item.seen)) for item in built
    )


def _standing(seen: Found | None) -> Standing | None:
    if seen is None:
        return None
    status = seen.status
    return Standing(
        state=seen.state,
        device=status.st_dev,
        inode=status.st_ino,
        mtime_ns=status.st_mtime_ns,
        xattrs=tuple(sorted(seen.xattrs, key=lambda item: item.name)),
    )
