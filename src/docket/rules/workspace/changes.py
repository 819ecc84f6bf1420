"""What a transaction changes: the base as it was staged, compared with the stage as the run left it.

Rules (spec/workspace.md, Change sets):
1. What was not staged (masked, shared, omitted in the base) is not compared: its absence from the stage says nothing.
2. What stands in the stage at a masked path is an excluded write: reported, never landed. So is what appears at a
   shared path of which the base has nothing to show. A path that was staged and is masked or shared by what it became
   (a directory where a file was) counts as removed.
3. A special file that is new is not preserved; one that took the place of something, and anything else that cannot
   be read, blocks the commit: what cannot be told cannot land.

The comparison itself is `rules.tree.diff`.
"""

from __future__ import annotations

from collections.abc import Sequence

from docket.formats.dataclass import dataclass, replace
from docket.formats.ledger.tree_events import Change
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.changes import Difference
from docket.formats.tree.listing import Kind, Listing, Omission, Record, listing_of
from docket.formats.tree.plain import without_omissions
from docket.formats.workspace.change_set import ChangeSet, change_set_of
from docket.formats.workspace.state import SurfaceRules
from docket.rules.tree.diff import diff
from docket.rules.workspace.surface import Classes, PathClass


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a closing scan means: the changes, and beside them what does not land and what cannot."""

    change_set: ChangeSet
    excluded_writes: tuple[RelPath, ...] = ()
    not_preserved: tuple[Omission, ...] = ()
    blocking: tuple[Omission, ...] = ()


def staged_part(base: Listing) -> Listing:
    """Return the listing of what is staged of a base: its entries."""
    if not base.omissions:
        return base
    staged = Listing(
        without_omissions(base.document),
        counts=replace(base.counts, omissions=0),
        mtimes=base.mtimes,
        root=base.root,
    )
    staged.details = base.details
    return staged


def find_changes(base: Listing, stage: Listing, classes: Classes) -> Found:
    """Compare the staged part of a base with the stage; the change set names the base's whole listing."""
    staged = staged_part(base)
    stood = _paths(staged) if stage.omissions else frozenset[bytes]()
    excluded: list[RelPath] = []
    lost: list[Omission] = []
    blocking: list[Omission] = []
    own = frozenset(classes.outermost(base)[1])
    seen = frozenset(omission.path for omission in base.omissions if omission.reason is Reason.SPECIAL_FILE)
    for omission in stage.omissions:
        if omission.reason is Reason.EXCLUDED:
            found = classes.of_path(omission.path, is_directory=omission.kind == "directory")
            if found is PathClass.MASKED or omission.path not in own:
                excluded.append(omission.path)
        elif omission.reason is Reason.SPECIAL_FILE and omission.path.raw not in stood:
            lost.append(omission)
        elif omission.reason is not Reason.VANISHED:
            blocking.append(omission)
    kept: Listing = stage if not stage.omissions else listing_of(_without(stage, (*excluded,), lost))
    changes = tuple(difference.payload() for difference in diff(staged, kept))
    return Found(
        change_set=change_set_of(base.tree_sha256, changes),
        excluded_writes=tuple(excluded),
        not_preserved=tuple(omission for omission in lost if omission.path not in seen),
        blocking=tuple(blocking),
    )


def blocked(omission: Omission) -> str:
    """Return in words why what stands there keeps a change set from landing."""
    match omission.reason:
        case Reason.SPECIAL_FILE:
            return f"a {omission.kind or 'special file'} is neither made nor removed"
        case Reason.TOO_LARGE:
            why = "it is too large to be read"
        case Reason.NAME_TOO_LONG:
            why = "its path is too long"
        case _:
            why = f"its content was not read ({omission.reason})"
    return why if omission.detail is None else f"{why}: {omission.detail}"


def only_staged(differences: Sequence[Difference], before: Listing, rules: SurfaceRules) -> tuple[Difference, ...]:
    """Return the differences between a tree and its stage that are a run's doing: not what was never staged."""
    if not differences:
        return ()
    classes = Classes.of(rules)
    omitted = frozenset(omission.path for omission in before.omissions)
    return tuple(
        item
        for item in differences
        if classes.of_path(item.path, is_directory=_is_directory(item)) is PathClass.STAGED
        and not (item.change is Change.REMOVED and item.path in omitted)
    )


def _is_directory(item: Difference) -> bool:
    return any(state is not None and state.kind == Kind.DIRECTORY.value for state in (item.before, item.after))


def _paths(listing: Listing) -> frozenset[bytes]:
    return frozenset(entry.path.raw for entry in listing.entries)


def _without(stage: Listing, excluded: tuple[RelPath, ...], lost: list[Omission]) -> list[Record]:
    gone = {*excluded, *(item.path for item in lost)}
    return [
        record
        for record in stage.records
        if not isinstance(record, Omission) or (record.path not in gone and record.reason is not Reason.EXCLUDED)
    ]
