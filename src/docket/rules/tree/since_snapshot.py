"""How a tree differs now from what a snapshot's manifest says of it, whoever changed it.

Rules:
1. A path is missing only if the pass could look there; new only if the manifest knows what stood there.
2. What the snapshot does not keep is compared as far as the manifest tells what it was.

It is for a person who looks. A restore is made of what a run was seen to change (`rules.tree.restore`), never of this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from docket.formats.ledger.tree_events import Change, EntryState
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.changes import Difference, state_of
from docket.formats.tree.listing import Omission, Record, tree_order
from docket.formats.tree.manifest import Manifest
from docket.rules.tree.restore import state_of_kept


def since_snapshot(manifest: Manifest, now: Iterable[Record]) -> tuple[Difference, ...]:
    """Return what stands there now otherwise than the manifest says, in tree order."""
    before = {entry.path: state_of_kept(entry) for entry in manifest.kept()}
    unknown = {item.path for item in manifest.not_covered}
    for item in manifest.not_covered:
        if item.sha256 is not None and item.kind is not None and item.mode is not None:
            before[item.path] = EntryState(kind=item.kind.value, mode=item.mode, size=item.size, sha256=item.sha256)
    records = tuple(now)
    hidden = {record.path for record in records if isinstance(record, Omission)}
    after = {record.path: state_of(record) for record in records if not isinstance(record, Omission)}
    found = list(_standing(before, after, unknown))
    for item in manifest.not_covered:  # that it is gone can be told of what was never read too
        if item.kind is not None and item.reason is not Reason.VANISHED:
            before.setdefault(item.path, EntryState(kind=item.kind.value, mode=item.mode or 0, size=item.size))
    found += _gone(before, after, hidden)
    return tuple(sorted(found, key=lambda item: tree_order(item.path.raw)))


def _standing(
    before: dict[RelPath, EntryState], after: dict[RelPath, EntryState], unknown: set[RelPath]
) -> Iterator[Difference]:
    for path, state in after.items():
        was = before.get(path)
        if was is None:
            if not _is_at_or_below(path, unknown):
                yield Difference(path=path, change=Change.ADDED, after=state)
        elif was != state:
            change = Change.MODIFIED if was.kind == state.kind else Change.RETYPED
            yield Difference(path=path, change=change, before=was, after=state)


def _gone(
    before: dict[RelPath, EntryState], after: dict[RelPath, EntryState], hidden: set[RelPath]
) -> Iterator[Difference]:
    for path, state in before.items():
        if path not in after and not _is_at_or_below(path, hidden):
            yield Difference(path=path, change=Change.REMOVED, before=state)


def _is_at_or_below(path: RelPath, places: set[RelPath]) -> bool:
    return path in places or any(above in places for above in path.above())
