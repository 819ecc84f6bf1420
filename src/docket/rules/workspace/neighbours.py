"""Which other transaction changed a path that drifted: told, never judged by.

Rules (spec/workspace.md, Commit):
1. Only a transaction over the same directory counts that landed when ours was open already.
2. It has changed a path if its change set holds it; else if it holds something above or below it.
3. Of several the one that landed last is named. A person's own change is nobody's, and names none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from docket.formats.dataclass import dataclass
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


@dataclass(frozen=True, slots=True)
class LandedPaths:
    """The paths that transactions changed, each with the rank of the first that did; asked for each refused path."""

    names: tuple[str, ...]
    changed: Mapping[RelPath, int]
    above: Mapping[RelPath, int]

    @classmethod
    def of(cls, landed: Sequence[tuple[str, ChangeSet]]) -> LandedPaths:
        """Index what transactions changed; the first of them is named before the others."""
        changed: dict[RelPath, int] = {}
        above: dict[RelPath, int] = {}
        for rank, (_, changes) in enumerate(landed):
            for change in changes.changes:
                changed.setdefault(change.path, rank)
                for folder in change.path.above():
                    above.setdefault(folder, rank)
        return cls(tuple(name for name, _ in landed), changed, above)

    def who_changed(self, path: RelPath) -> str | None:
        """Return the first of the transactions that changed a path, None where none did."""
        rank = self.changed.get(path)
        if rank is None:
            around = [self.changed[folder] for folder in path.above() if folder in self.changed]
            around += [self.above[path]] if path in self.above else []
            rank = min(around, default=None)
        return None if rank is None else self.names[rank]
