"""Compare two listings of one tree.

Rules (spec/tree.md, Differences):
1. A path is `added`, `removed`, `modified` (content, size, permission bits or a link's target) or `retyped` (another
   kind). A modification time alone is no difference.
2. A path is absent from a listing only if no omission covers it: below a directory that could not be looked at,
   nothing is known and nothing is said.
3. An omission is compared by what was seen of it. Content that was read before and could not be read after is
   reported as `modified`: what cannot be shown to be equal is not called equal. Only of what changed while it was read
   nothing is said, unless what was seen of it differs: the omission says that it is not known.
4. What the surface excludes is not compared; that a watched path became an excluded one, or the reverse, is.

It does not look at the tree (engines.observe).
"""

from __future__ import annotations

from docket.formats.ledger.tree_events import Change, EntryState
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.changes import Difference, state_of
from docket.formats.tree.listing import Kind, Listing, Omission, Record, decode_record, tree_order

__all__ = ["Difference", "diff"]


def diff(before: Listing, after: Listing) -> tuple[Difference, ...]:
    """Return what differs, in tree order."""
    if before.document == after.document:
        return ()
    lines_before, lines_after = set(before.lines()), set(after.lines())
    old, new = _by_path(lines_before - lines_after), _by_path(lines_after - lines_before)
    hidden_before, hidden_after = _covering(before), _covering(after)
    found = []
    for path in sorted({*old, *new}, key=lambda path: tree_order(path.raw)):
        was, now = old.get(path), new.get(path)
        if was is not None and now is not None:
            found.append(_altered(path, was, now))
        elif now is not None and _tells(now) and not _is_covered(path, hidden_before):
            found.append(Difference(path=path, change=Change.ADDED, after=state_of(now)))
        elif was is not None and _tells(was) and not _is_covered(path, hidden_after):
            found.append(Difference(path=path, change=Change.REMOVED, before=state_of(was)))
    return tuple(difference for difference in found if difference is not None)


def _by_path(lines: set[bytes]) -> dict[RelPath, Record]:
    records = (decode_record(line) for line in lines)
    # What vanished while it was looked at stood there no longer.
    return {record.path: record for record in records if _reason(record) is not Reason.VANISHED}


def _altered(path: RelPath, was: Record, now: Record) -> Difference | None:
    before, after = state_of(was), state_of(now)
    if before.kind != after.kind and Kind.UNKNOWN.value not in (before.kind, after.kind):
        change = Change.RETYPED
    elif _reason(was) is Reason.EXCLUDED or _reason(now) is Reason.EXCLUDED or not _differ(was, now, before, after):
        return None
    else:
        change = Change.MODIFIED
    return Difference(path=path, change=change, before=before, after=after)


def _differ(was: Record, now: Record, before: EntryState, after: EntryState) -> bool:
    if Reason.CHANGED_WHILE_READ in (_reason(was), _reason(now)):
        return _was_seen_to_differ(was, now)
    omitted = isinstance(was, Omission), isinstance(now, Omission)
    if all(omitted) or (any(omitted) and before.kind == after.kind == Kind.DIRECTORY.value):
        return (before.mode, before.size) != (after.mode, after.size)
    return True


def _was_seen_to_differ(was: Record, now: Record) -> bool:
    pairs = [(getattr(was, name, None), getattr(now, name, None)) for name in ("mode", "size")]
    return any(None not in pair and pair[0] != pair[1] for pair in pairs)


def _reason(record: Record) -> Reason | None:
    return record.reason if isinstance(record, Omission) else None


def _tells(record: Record) -> bool:
    return _reason(record) is not Reason.EXCLUDED


def _covering(listing: Listing) -> frozenset[RelPath]:
    return frozenset(
        omission.path
        for omission in listing.omissions
        if omission.kind in (None, Kind.DIRECTORY) and omission.reason is not Reason.VANISHED
    )


def _is_covered(path: RelPath, hidden: frozenset[RelPath]) -> bool:
    return bool(hidden) and any(above in hidden for above in path.above())
