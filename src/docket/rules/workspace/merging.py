"""What becomes of a path that a transaction and somebody else changed: the three-way rule, without any content.

Rules (spec/workspace.md, Merging):
1. Three states are compared: what was staged (the ancestor), what the stage holds (ours), what the tree holds now
   (theirs). What only one side changed is that side's; what both changed alike is that; the rest is for a text merge.
2. Content and mode are merged each for itself. Modes that both sides changed to different ones are a conflict.
3. Only regular files on all three sides are merged, with one name each, none larger than `MAX_MERGED_BYTES`, and
   nothing of git's own, which lines put together do not make whole.
   What one side removed and the other changed, and what both made anew, are conflicts.
4. Content with a NUL in its first `TEXT_BYTES` is no text.
5. What merging makes of a change set is a change set of its own, over the tree as it is now.

What a content is, and merging two texts, is `engines.transaction.merging`'s.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeAlias, TypeVar

from docket.formats.dataclass import dataclass, replace
from docket.formats.ledger.tree_events import Change, EntryState, FsChange
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.listing import FileEntry, Kind, Listing, Record, listing_of
from docket.formats.workspace.change_set import ChangeSet, change_set_of

MAX_MERGED_BYTES = 4 * 1024 * 1024
TEXT_BYTES = 8000
BOTH_CHANGED = "both sides changed it"

_V = TypeVar("_V", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drifted:
    """A change whose path is not as it was staged: `theirs` is what stands there, None for nothing.

    `mtime_ns` is when that was modified; `reason` and `detail` say what stood in our way. `several_names`:
    the file has other names in the stage. `is_gits`: git keeps it for itself.
    """

    change: FsChange
    theirs: EntryState | None
    reason: Reason
    detail: str
    mtime_ns: int = 0
    several_names: bool = False
    is_gits: bool = False

    @property
    def path(self) -> RelPath:
        """The path of the change."""
        return self.change.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What the path becomes, without a text merge; `is_theirs` where its content is what stands in the tree."""

    state: EntryState
    is_theirs: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TextMerge:
    """The contents whose merge the path gets, with this mode."""

    ancestor: Address
    ours: Address
    theirs: Address
    mode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmergeable:
    """Why the path cannot become one thing."""

    reason: Reason
    detail: str


Decision: TypeAlias = Settled | TextMerge | Unmergeable


def three_way(ancestor: _V, ours: _V, theirs: _V) -> _V | None:
    """Return what both sides make of a value, None where each changed it to another one."""
    if ours in (theirs, ancestor):
        return theirs
    return ours if theirs == ancestor else None


def decide(drifted: Drifted) -> Decision:
    """Return what becomes of a path that drifted."""
    sides = _files(drifted)
    if isinstance(sides, Unmergeable):
        return sides
    before, ours, theirs = sides
    mode = three_way(before.mode, ours.mode, theirs.mode)
    if mode is None:
        detail = f"its mode was {before.mode:04o}, is {ours.mode:04o} in the stage and {theirs.mode:04o} in the tree"
        return Unmergeable(reason=Reason.MERGE_CONFLICT, detail=detail)
    addresses = [_address(state) for state in sides]
    content = three_way(*addresses)
    if content is not None:
        state = EntryState(kind=Kind.FILE.value, mode=mode, size=content.size, sha256=content.sha256)
        return Settled(state=state, is_theirs=content == addresses[2])
    if max(address.size for address in addresses) > MAX_MERGED_BYTES:
        return too_large(BOTH_CHANGED)
    ancestor, mine, their = addresses
    return TextMerge(ancestor=ancestor, ours=mine, theirs=their, mode=mode)


def untaken(texts: Iterable[bytes], how: str) -> Unmergeable | None:
    """Return why texts are not merged by their lines, None where they are; `how` says how they came to differ."""
    sides = tuple(texts)
    if max(map(len, sides)) > MAX_MERGED_BYTES:
        return too_large(how)
    if not all(map(is_text, sides)):
        return Unmergeable(reason=Reason.NOT_MERGEABLE, detail=f"{how}, and it is no text")
    return None


def too_large(how: str) -> Unmergeable:
    """Return that something is too large for a merge."""
    detail = f"{how}, and more than {MAX_MERGED_BYTES:,} bytes are not merged"
    return Unmergeable(reason=Reason.NOT_MERGEABLE, detail=detail)


def conflicting(count: int, how: str) -> Unmergeable:
    """Return that texts have so many conflicts."""
    what = "1 conflict" if count == 1 else f"{count} conflicts"
    return Unmergeable(reason=Reason.MERGE_CONFLICT, detail=f"{how}: {what}")


def is_text(content: bytes) -> bool:
    """Whether a content is merged by its lines: no NUL near its beginning, whatever its encoding."""
    return b"\0" not in content[:TEXT_BYTES]


@dataclass(frozen=True, slots=True, kw_only=True)
class Became:
    """What a drifted path becomes, and the modification time of that: None for the time at which it is written."""

    drifted: Drifted
    state: EntryState
    mtime_ns: int | None


def merged_changes(changes: ChangeSet, became: Iterable[Became]) -> ChangeSet:
    """Return the change set over the tree as it is now; a path that needs no change any more is not in it."""
    by_path = {change.path: change for change in changes.changes}
    for item in became:
        theirs = item.drifted.theirs
        assert theirs is not None  # noqa: S101 - what stands nowhere is not merged
        if item.state == theirs:
            del by_path[item.drifted.path]
        else:
            by_path[item.drifted.path] = FsChange(
                path=item.drifted.path, change=Change.MODIFIED, before=theirs, after=item.state
            )
    return change_set_of(changes.manifest_sha256, by_path.values())


def merged_listing(stage: Listing, became: Iterable[Became]) -> Listing:
    """Return the listing of the stage with each merged file as it becomes; one that is made anew is not in it."""
    by_path: Mapping[RelPath, Became] = {item.drifted.path: item for item in became}
    records = (_merged(record, by_path.get(record.path)) for record in stage.records)
    listing = listing_of(record for record in records if record is not None)
    listing.root, listing.details = stage.root, stage.details
    return listing


def _merged(record: Record, became: Became | None) -> Record | None:
    if became is None or not isinstance(record, FileEntry):
        return record
    if became.mtime_ns is None:
        return None
    address = _address(became.state)
    return replace(record, size=address.size, sha256=address.sha256, mode=became.state.mode, mtime_ns=became.mtime_ns)


def _files(drifted: Drifted) -> tuple[EntryState, EntryState, EntryState] | Unmergeable:
    before, ours, theirs = drifted.change.before, drifted.change.after, drifted.theirs
    if theirs == before:
        return Unmergeable(reason=drifted.reason, detail=drifted.detail)
    if before is None:
        return _conflict("both sides made it anew, and nothing is there that both began with")
    if ours is None:
        return _conflict("the transaction removes it, and it was changed in the tree")
    if theirs is None:
        return _conflict("the transaction changes it, and it was removed in the tree")
    for state, where in ((before, "was staged"), (ours, "stands in the stage"), (theirs, "stands in the tree")):
        if state.kind != Kind.FILE.value:
            detail = f"only regular files are merged, and a {state.kind} {where}"
            return Unmergeable(reason=Reason.NOT_MERGEABLE, detail=detail)
        if state.sha256 is None or state.size is None:
            return Unmergeable(reason=drifted.reason, detail=drifted.detail)
    if drifted.is_gits:
        return Unmergeable(reason=Reason.NOT_MERGEABLE, detail="both sides changed it, and git's own is not merged")
    if drifted.several_names:
        return Unmergeable(reason=Reason.NOT_MERGEABLE, detail="it is one of several names of a file in the stage")
    return before, ours, theirs


def _conflict(detail: str) -> Unmergeable:
    return Unmergeable(reason=Reason.MERGE_CONFLICT, detail=detail)


def _address(state: EntryState) -> Address:
    assert state.sha256 is not None and state.size is not None  # noqa: S101, PT018 - `_files` let it pass
    return Address(state.sha256, state.size)
