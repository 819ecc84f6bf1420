"""A plan applied path by path: each step is done or not on its own, many of them made durable together.

Rules:
1. A batch is built first; its contents are made durable together, then each takes its place, then the directories
   are synced, and only then what was displaced goes. So a path never holds what a power cut could take a part of.
2. Directories and removals, which later steps need, are done when their turn comes; everything else waits for the
   rest of its batch.
3. If the names of a batch cannot be synced, the batch is put back and nothing more is done.
4. Files that a tree is filled with beside the plan come when all steps are done (engines.apply_files).
5. A directory's last mode and time are set when everything in the tree is done, deepest first.
"""

from __future__ import annotations

from collections.abc import Iterator

from docket.engines.apply_files import Filling, fill
from docket.engines.apply_work import Work
from docket.formats.tree.plan import Link, MakeDirectory, Outcome, Plan, Remove, StepStatus, WriteFile
from docket.host.placing import Built, Placed

BATCH_STEPS = 1024
BATCH_BYTES = 128 * 1024 * 1024


def path_by_path(work: Work, filling: Filling | None = None) -> tuple[Outcome, ...]:
    """Do each step on its own; return what became of each, and at the end of what stopped the filling, if anything."""
    directories: list[Placed] = []
    for batch in batches(work.plan):
        placed = _in_place(work, batch) if work.tree.durable else _at_once(work, batch)
        broken = work.unkept() or work.unsynced()
        if broken is not None:
            work.give_up([], placed, broken)
            break
        for item in placed:
            work.settle(item)
        directories += (item for item in placed if isinstance(item.step, MakeDirectory))
    stopped = None if filling is None else fill(work.tree, filling)
    _finish(work, directories)
    work.advanced()
    return work.all() if stopped is None else (*work.all(), stopped)


def batches(plan: Plan) -> Iterator[range]:
    """Yield the numbers of the steps of each batch: so many that syncing is cheap, so few that the disk has room."""
    start, size_bytes = 0, 0
    for number, step in enumerate(plan.steps):
        size_bytes += step.content.size if isinstance(step, WriteFile) else 0
        if number - start >= BATCH_STEPS or (size_bytes > BATCH_BYTES and number > start):
            yield range(start, number)
            start, size_bytes = number, step.content.size if isinstance(step, WriteFile) else 0
    if start < len(plan):
        yield range(start, len(plan))


def _in_place(work: Work, numbers: range) -> list[Placed]:
    waiting: list[Built] = []
    placed: list[Placed] = []
    for number in numbers:
        step = work.plan.steps[number]
        if isinstance(step, Link):  # what it is to be a name of must stand there
            placed += _landed(work, waiting)
            waiting = []
        built = work.ready(number)
        if built is None:
            continue
        if isinstance(step, MakeDirectory | Remove | Link):
            placed += _landed(work, [built])
        else:
            waiting.append(built)
    return placed + _landed(work, waiting)


def _landed(work: Work, built: list[Built]) -> list[Placed]:
    landed = (work.land(item) for item in work.harden(built))
    return [item for item in landed if item is not None]


def _at_once(work: Work, numbers: range) -> list[Placed]:
    made = (work.made(number) for number in numbers)
    return [item for item in made if item is not None]


def _finish(work: Work, directories: list[Placed]) -> None:
    changed = [item for item in reversed(directories) if work.finish(item)]
    broken = work.unsynced()
    if broken is not None:
        for item in changed:
            detail = f"done, but it may not outlast a power cut: {broken.detail}"
            work.note(item.built.number, Outcome(path=item.step.path, status=StepStatus.APPLIED, detail=detail))
