"""What would become of a plan's steps if it were applied now, and what stands where: for a dry run and its diff.

Rules:
1. Nothing is changed.
2. What is foreseen is what `engines.apply` would find, except for what happens in between, and for contents that are
   there and damaged: whether they are whole only reading them tells, which a diff does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from docket.engines.apply import ConfinedTree, ContentReader, open_tree
from docket.errors import DocketError
from docket.formats.dataclass import dataclass, replace
from docket.formats.ledger.tree_events import EntryState
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.changes import symlink_state, target_of
from docket.formats.tree.listing import Kind
from docket.formats.tree.plan import (
    Absent,
    Anything,
    Holds,
    Link,
    MakeDirectory,
    MakeSymlink,
    Outcome,
    Plan,
    Remove,
    SetMode,
    Step,
    StepStatus,
    WriteFile,
)
from docket.host.looking import open_file
from docket.host.reaching import Refusal
from docket.stores.content import missing

MAX_COMPARED_BYTES = 1024 * 1024
_NO_WAY = (Reason.NOT_FOUND, Reason.NOT_A_DIRECTORY, Reason.IS_A_SYMLINK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """What would become of a step: an outcome where it would not be done, and what stands at its path."""

    step: Step
    outcome: Outcome | None = None
    was: EntryState | None = None


def foresee(plan: Plan, tree: ConfinedTree, progress: Callable[[int], None] | None = None) -> tuple[Foreseen, ...]:
    """Look at every step of the plan, in its order; `progress` hears how many are looked at."""
    if plan.root != tree.identity:
        detail = "another directory stands at the root's path than the one that the plan was made for"
        return tuple(_outcome(step, StepStatus.REFUSED, Reason.ROOT_REPLACED, detail) for step in plan.steps)
    ahead = _Ahead(tree)
    found = []
    for done, step in enumerate(plan.steps, 1):
        found.append(ahead.look(step))
        if progress is not None:
            progress(done)
    with suppress(OSError):
        tree.end()
    return tuple(found)


def present_content(tree: ConfinedTree, path: RelPath, max_bytes: int) -> bytes | None:
    """Return what the regular file at a path holds, no link followed; None where there is none or it holds more."""
    reached = tree.ways.reach(path)
    if isinstance(reached, Refusal):
        return None
    with reached:
        try:
            descriptor = open_file(*reached.place)
        except OSError:
            return None
        with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor, which no Path opens
            data = file.read(max_bytes + 1)
    return data if len(data) <= max_bytes else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What a path holds now and would hold: states, None for nothing, and the contents of files and links.

    `too_large`: a side is too large to be shown, and neither is given. `problem` says why the content that would come
    cannot be had.
    """

    path: RelPath
    was: EntryState | None
    now: EntryState | None
    before: bytes | None
    after: bytes | None
    too_large: bool = False
    problem: str | None = None


def compare_contents(
    plan: Plan, root: bytes, contents: ContentReader, max_bytes: int = MAX_COMPARED_BYTES
) -> Iterator[Compared]:
    """Yield, for each step that would be done to a file or a link, what stands there and what would."""
    with open_tree(root) as tree:
        found = foresee(plan, tree)
        states = StatesAfter(found)
        makers = {item.step.path: item.step for item in found}
        for item in found:
            now = states.of(item)
            if item.outcome is not None or not any(map(_has_content, (item.was, now))):
                continue
            sizes = [state.size or 0 for state in (item.was, now) if state is not None]
            only_mode = isinstance(item.step, SetMode)
            if only_mode or max(sizes) > max_bytes:
                yield Compared(
                    path=item.step.path, was=item.was, now=now, before=None, after=None, too_large=not only_mode
                )
                continue
            before = _content_before(tree, item, max_bytes)
            maker = makers.get(item.step.to) if isinstance(item.step, Link) else item.step
            try:
                after, problem = _content_after(maker, contents), None
            except DocketError as error:
                after, problem = None, error.detail
            yield Compared(path=item.step.path, was=item.was, now=now, before=before, after=after, problem=problem)


def with_contents(found: Iterable[Foreseen], contents: ContentReader) -> Iterator[Foreseen]:
    """Yield what is foreseen, a step that lacks its content as one that would fail; no content is read."""
    for item in found:
        if item.outcome is None and isinstance(item.step, WriteFile) and not contents.has(item.step.content):
            detail = f"the content of {item.step.path} cannot be had: {missing(item.step.content).detail}"
            lacking = _outcome(item.step, StepStatus.FAILED, Reason.CONTENT_MISSING, detail)
            yield replace(lacking, was=item.was)
        else:
            yield item


class StatesAfter:
    """What the steps that are foreseen leave at their paths."""

    def __init__(self, found: Iterable[Foreseen]) -> None:
        self._found = {item.step.path: item for item in found}

    def of(self, item: Foreseen, was: EntryState | None = None) -> EntryState | None:
        """Return what the step leaves, None for nothing; `was`: what it found, where that is known better."""
        step, before = item.step, was or item.was
        match step:
            case WriteFile():
                content = step.content
                return EntryState(kind=Kind.FILE.value, mode=step.mode, size=content.size, sha256=content.sha256)
            case MakeDirectory():
                return EntryState(kind=Kind.DIRECTORY.value, mode=step.mode)
            case MakeSymlink():
                return symlink_state(step.target)
            case SetMode():
                held = before or (step.precondition.state if isinstance(step.precondition, Holds) else None)
                return None if held is None else replace(held, mode=step.mode)
            case Link():
                holder = self._found.get(step.to)
                return step.holds if holder is None else self.of(holder)
            case Remove():
                return None


def _has_content(state: EntryState | None) -> bool:
    return state is not None and state.kind in (Kind.FILE.value, Kind.SYMLINK.value)


def _content_before(tree: ConfinedTree, item: Foreseen, max_bytes: int) -> bytes | None:
    if item.was is None or item.was.kind == Kind.DIRECTORY.value:
        return None
    if item.was.kind == Kind.SYMLINK.value:
        return target_of(item.was)
    return present_content(tree, item.step.path, max_bytes)


def _content_after(step: Step | None, contents: ContentReader) -> bytes | None:
    match step:
        case WriteFile(content=address):
            with contents.open(address) as stream:
                return b"".join(stream)
        case MakeSymlink():
            return step.target
        case _:
            return None


class _Ahead:
    """The steps looked at so far: which directories will be made, which files written, and which paths will be gone."""

    def __init__(self, tree: ConfinedTree) -> None:
        self._tree = tree
        self._made: set[RelPath] = set()
        self._written: set[RelPath] = set()
        self._gone: set[RelPath] = set()

    def look(self, step: Step) -> Foreseen:
        """Look at one step."""
        seen = self._tree.examine(step, anew=isinstance(step, Link) and step.to in self._written)
        if isinstance(seen, Outcome):
            found = self._despite(step, seen)
        else:
            found = Foreseen(step=step, was=None if seen is None else seen.state)
        undone = found.outcome is not None and found.outcome.status is not StepStatus.ALREADY
        if isinstance(step, Remove) and not undone:
            self._gone.add(step.path)
        if isinstance(step, MakeDirectory) and not undone:
            self._made.add(step.path)
        if isinstance(step, WriteFile) and found.outcome is None:
            self._written.add(step.path)
        return found

    def _despite(self, step: Step, outcome: Outcome) -> Foreseen:
        """Return what will become of a step that could not be done now: earlier steps may make it possible."""
        if outcome.reason is Reason.NOT_EMPTY:
            mode = self._mode_when_emptied(step.path)
            if mode is not None:
                return Foreseen(step=step, was=EntryState(kind=Kind.DIRECTORY.value, mode=mode))
        needs_way = outcome.reason in _NO_WAY and isinstance(step.precondition, Absent | Anything)
        if needs_way and any(above in self._made for above in step.path.above()):
            return Foreseen(step=step)
        return Foreseen(step=step, outcome=outcome)

    def _mode_when_emptied(self, path: RelPath) -> int | None:
        """Return the mode of a directory of which the steps before leave nothing in it, None where something stays."""
        reached = self._tree.ways.reach(path.child(b"x"))
        if isinstance(reached, Refusal):
            return None
        with reached:
            try:
                names = os.listdir(reached.descriptor)  # noqa: PTH208 - by descriptor
                mode = self._tree.ways.own_mode(os.fstat(reached.descriptor))
            except OSError:
                return None
        return mode if all(path.child(os.fsencode(name)) in self._gone for name in names) else None


def _outcome(step: Step, status: StepStatus, reason: Reason, detail: str) -> Foreseen:
    return Foreseen(step=step, outcome=Outcome(path=step.path, status=status, reason=reason, detail=detail))
