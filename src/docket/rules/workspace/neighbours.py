"""Which other transaction changed a path that drifted: told, never judged by.

Rules (spec/workspace.md, Commit):
1. Only a transaction over the same directory counts that landed when ours was open already.
2. It has changed a path if its change set holds it; else if it holds something above or below it.
3. Of several the one that landed last is named. A person's own change is nobody's, and names none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from docket.formats.relpath import RelPath
from docket.formats.workspace.change_set import ChangeSet
from docket.formats.workspace.state import Status, TransactionState


def landed_since(ours: TransactionState, others: Iterable[TransactionState]) -> tuple[TransactionState, ...]:
    """Return the others that landed on the base of `ours` since that was opened, the last one first."""
    found = [
        other
        for other in others
        if other.id != ours.id
        and other.status is Status.COMMITTED
        and other.base.identity == ours.base.identity
        and other.changed_at >= ours.opened_at
    ]
    return tuple(sorted(found, key=lambda other: (other.changed_at, other.id), reverse=True))


def may_land(base: tuple[int, int], than: str, others: Iterable[TransactionState]) -> bool:
    """Whether another transaction than `than` over the directory `base` has not landed, and so may yet."""
    return any(
        other.id != than and other.status is not Status.COMMITTED and other.base.identity == base for other in others
    )


def who_changed(path: RelPath, landed: Sequence[tuple[str, ChangeSet]]) -> str | None:
    """Return the first of the transactions that changed a path, None where none did."""
    for name, changes in landed:
        if any(change.path == path for change in changes.changes):
            return name
    for name, changes in landed:
        if any(_is_around(change.path, path) for change in changes.changes):
            return name
    return None


def _is_around(one: RelPath, other: RelPath) -> bool:
    return one.raw.startswith(other.raw + b"/") or other.raw.startswith(one.raw + b"/")
