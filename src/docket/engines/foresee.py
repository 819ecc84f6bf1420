"""What would become of a plan's steps if it were applied now, and what stands where: for a dry run and its diff.

Rules:
1. Nothing is changed.
2. What is foreseen is what `engines.apply` would find, except for what happens in between.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from docket.engines.apply import ConfinedTree, ContentReader, open_tree
from docket.formats.ledger.tree_events import EntryState
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.changes import target_of
from docket.formats.tree.listing import Kind
from docket.formats.tree.plan import (
    Absent,
    Anything,
    MakeDirectory,
    MakeSymlink,
    Outcome,
    Plan,
    Remove,
    Step,
    StepStatus,
    WriteFile,
)
from docket.host.looking import open_file
from docket.host.reaching import Refusal

MAX_COMPARED_BYTES = 1024 * 1024
_NO_WAY = (Reason.NOT_FOUND, Reason.NOT_A_DIRECTORY, Reason.IS_A_SYMLINK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """What would become of a step: an outcome where it would not be done, and what stands at its path."""

    step: Step
    outcome: Outcome | None = None
    was: EntryState | None = None


def foresee(plan: Plan, tree: ConfinedTree) -> tuple[Foreseen, ...]:
    """Look at every step of the plan, in its order."""
    if plan.root != tree.identity:
        detail = "another directory stands at the root's path than the one that the plan was made for"
        return tuple(_outcome(step, StepStatus.REFUSED, Reason.ROOT_REPLACED, detail) for step in plan.steps)
    ahead = _Ahead(tree)
    found = tuple(ahead.look(step) for step in plan.steps)
    with suppress(OSError):
        tree.end()
    return found


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
    """What a file or link holds now and would hold; None for nothing, `too_large` where a side is not shown."""

    path: RelPath
    before: bytes | None
    after: bytes | None
    too_large: bool = False


def compare_contents(
    plan: Plan, root: bytes, contents: ContentReader, max_bytes: int = MAX_COMPARED_BYTES
) -> Iterator[Compared]:
    """Yield, for each step that writes or removes a file or a link, what stands there and what would."""
    with open_tree(root) as tree:
        for item in foresee(plan, tree):
            after = _content_after(item.step, contents, max_bytes)
            if item.outcome is not None or isinstance(after, _NoContent):
                continue
            before, is_file = None, item.was is not None and item.was.kind == Kind.FILE
            if item.was is not None and item.was.kind == Kind.SYMLINK:
                before = target_of(item.was)
            elif is_file:
                before = present_content(tree, item.step.path, max_bytes)
            if before is None and after is None and not is_file:
                continue
            too_large = _is_larger(item.step, max_bytes) or (is_file and before is None)
            yield Compared(path=item.step.path, before=before, after=None if too_large else after, too_large=too_large)


class _NoContent:
    """A step that neither writes nor removes content."""


def _is_larger(step: Step, max_bytes: int) -> bool:
    return isinstance(step, WriteFile) and step.content.size > max_bytes


def _content_after(step: Step, contents: ContentReader, max_bytes: int) -> bytes | _NoContent | None:
    match step:
        case WriteFile(content=address):
            if address.size > max_bytes:
                return None
            with contents.open(address) as stream:
                return b"".join(stream)
        case MakeSymlink():
            return step.target
        case Remove():
            return None
        case _:
            return _NoContent()


class _Ahead:
    """The steps looked at so far: which directories will be made, and which paths will be gone."""

    def __init__(self, tree: ConfinedTree) -> None:
        self._tree = tree
        self._made: set[RelPath] = set()
        self._gone: set[RelPath] = set()

    def look(self, step: Step) -> Foreseen:
        """Look at one step."""
        seen = self._tree.examine(step)
        if isinstance(seen, Outcome):
            found = self._despite(step, seen)
        else:
            found = Foreseen(step=step, was=None if seen is None else seen.state)
        undone = found.outcome is not None and found.outcome.status is not StepStatus.ALREADY
        if isinstance(step, Remove) and not undone:
            self._gone.add(step.path)
        if isinstance(step, MakeDirectory) and not undone:
            self._made.add(step.path)
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
