"""What `docket tx` shows of merging: what would land of a merge, and the conflicts that the last one met."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from docket.engines.transaction.closing import ClosedTransaction
from docket.engines.transaction.committing import CommitRequest
from docket.engines.transaction.merging import Merge, MergeRefused, merge
from docket.engines.transaction.world import TransactionWorld
from docket.formats.dataclass import replace
from docket.formats.ledger.payload_codec import to_members
from docket.formats.relpath import RelPath
from docket.formats.workspace.change_set import ChangeSet
from docket.formats.workspace.state import TransactionState
from docket.rules.workspace.hunks import Part
from docket.stores.workspace.conflicts import Conflicts
from docket.surfaces.cli import console
from docket.surfaces.render import merging as render


def merge_option(function: click.decorators.FC) -> click.decorators.FC:
    """Give a command `--merge`."""
    return click.option("--merge", is_flag=True,
                        help="Merge texts that were changed in the tree too, with git.")(function)  # fmt: skip


def merged_part(
    closed: ClosedTransaction, part: Part, world: TransactionWorld
) -> tuple[ClosedTransaction, Part] | MergeRefused:
    """Return a part as it would land merged, with the transaction that has it; or why it would not."""
    chosen = CommitRequest(closed=_taking(closed, part.taken), made=tuple(part.made.values()))
    found = merge(chosen, world)
    if not isinstance(found, Merge):
        return found
    made = {RelPath(b"%d" % number): content for number, content in enumerate(found.request.made)}
    return found.request.closed, Part(taken=found.changes, made=made)


def refused_lines(refused: MergeRefused) -> Iterator[str]:
    """Yield why nothing can be merged, with the conflicts."""
    yield console.plain(f"cannot be merged ({refused.refused.reason}): {refused.refused.detail}")
    for line in render.refusal_lines(refused.refused.paths):
        yield console.plain(line)
    for path, text in refused.conflicts.items():
        yield from _shown(path, text)


def refused_members(refused: MergeRefused) -> dict[str, object]:
    """Return the same as JSON members."""
    return {
        "reason": str(refused.refused.reason),
        "detail": refused.refused.detail,
        "refusals": [to_members(item.told()) for item in refused.refused.paths],
        "conflicts": [{**path.members(), "text": _text(text)} for path, text in refused.conflicts.items()],
    }


def kept_conflicts(state: TransactionState, changes: ChangeSet | None, world: TransactionWorld) -> dict[RelPath, Path]:
    """Return where the conflicts are kept that the last commit with merging met."""
    kept = Conflicts(world.transactions.path(state.id))
    paths = () if changes is None else tuple(change.path for change in changes.changes)
    return {path: kept.place(path) for path in paths if kept.read(path) is not None}


def conflict_lines(state: TransactionState, changes: ChangeSet | None, world: TransactionWorld) -> Iterator[str]:
    """Yield those conflicts, for a terminal."""
    kept = Conflicts(world.transactions.path(state.id))
    for path in kept_conflicts(state, changes, world):
        yield from _shown(path, kept.read(path) or b"")


def conflict_members(
    state: TransactionState, changes: ChangeSet | None, world: TransactionWorld
) -> list[dict[str, object]]:
    """Return those conflicts as JSON members, each with the file that has its text."""
    found = kept_conflicts(state, changes, world)
    return [{**path.members(), "file": console.plain(str(place))} for path, place in found.items()]


def _taking(closed: ClosedTransaction, taken: ChangeSet) -> ClosedTransaction:
    return replace(closed, found=replace(closed.found, change_set=taken))


def _shown(path: RelPath, text: bytes) -> Iterator[str]:
    for line in render.conflict_lines(path, text):
        yield "\t".join(console.plain(piece) for piece in line.split("\t"))


def _text(text: bytes) -> str:
    return text.decode("utf-8", "replace")
