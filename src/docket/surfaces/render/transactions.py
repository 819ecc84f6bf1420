"""Transactions for a person: a line each, how one stands, what it changes, and how a commit of it ended."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from docket.engines.transaction.committing import Committed
from docket.engines.transaction.later import LaterOutcome
from docket.formats.ledger.payload_codec import to_members
from docket.formats.ledger.tree_events import EntryState, FsChange
from docket.formats.relpath import RelPath
from docket.formats.workspace.change_set import ChangeSet
from docket.formats.workspace.scope import NOT_TRANSACTIONAL
from docket.formats.workspace.state import ChangeCounts, TransactionState
from docket.rules.workspace.renames import Rename, renames
from docket.rules.workspace.states import Standing
from docket.surfaces.render.merging import merged_lines, refusal_lines, where_lines

_SIGNS = {"added": "A", "modified": "M", "removed": "D", "retyped": "T"}
_WHOLE_PERCENT = 100


def row(state: TransactionState, standing: Standing) -> str:
    """Return a transaction's line."""
    changed = "" if state.changes is None else f"  {state.changes.total} changed"
    why = "" if state.reason is None else f"  ({state.reason})"
    number = "" if state.docket_number is None else f"  {state.docket_number}"
    base = os.fsdecode(state.base.path)
    return f"{state.id}  {standing:<18}  {state.opened_at[:16]}Z{number}  {base}{changed}{why}"


def state_lines(state: TransactionState, standing: Standing) -> Iterator[str]:
    """Yield how a transaction stands, a name and a value a line."""
    told = (
        ("id", state.id),
        ("standing", str(standing)),
        ("reason", state.reason),
        ("detail", state.detail),
        ("base", os.fsdecode(state.base.path)),
        ("run", state.docket_number),
        ("backend", f"{state.backend}, {state.view}"),
        ("settle", str(state.settle)),
        ("opened", state.opened_at),
        ("closed", state.closed_at),
        ("diff", state.diff_sha256),
        ("exclude", ", ".join(state.surface.exclude)),
        ("share", ", ".join(state.surface.share)),
        ("protect", ", ".join(state.surface.protect)),
        ("predecessor", state.predecessor),
        ("successor", state.successor),
        ("not_transactional", ", ".join(NOT_TRANSACTIONAL)),
    )
    for name, value in told:
        if value:
            yield f"{name:<18} {value}"


def change_lines(changes: ChangeSet, moved: Mapping[RelPath, Rename] | None = None) -> Iterator[str]:
    """Yield a line for each changed path; a rename is shown, and is a removal and an addition all the same.

    `moved`: the renames, where more is known of them than what the change set tells.
    """
    found = renames(changes) if moved is None else moved
    went = {rename.source: path for path, rename in found.items()}
    for change in changes.changes:
        sign = sign_of(change, found)
        yield f"{sign}  {change.path}{mode_note(change)}{rename_note(change.path, found, went)}"


def sign_of(change: FsChange, moved: Mapping[RelPath, Rename]) -> str:
    """Return the letter of a change; R is what was added under another name."""
    return "R" if change.path in moved else _SIGNS[change.change]


def rename_note(path: RelPath, moved: Mapping[RelPath, Rename], went: Mapping[RelPath, RelPath]) -> str:
    """Return what a rename is of, or to; empty where a path is in none."""
    if path in moved:
        percent = moved[path].percent
        alike = "" if percent == _WHOLE_PERCENT else f", {percent} % alike"
        return f"  (renamed from {moved[path].source}{alike})"
    return f"  (renamed to {went[path]})" if path in went else ""


def members(changes: ChangeSet) -> dict[str, object]:
    """Return a change set as JSON members."""
    return {
        "diff_sha256": changes.digest,
        "manifest_sha256": changes.manifest_sha256,
        "counts": to_members(changes.counts),
        "changes": [item.to_data() for item in changes.changes],
    }


def counts(found: ChangeCounts) -> str:
    """Return the figures as a sentence."""
    return f"{found.added} added, {found.modified} modified, {found.removed} removed, {found.retyped} retyped"


def outcome_lines(done: LaterOutcome) -> Iterator[str]:
    """Yield how a later commit ended."""
    outcome = done.outcome
    if isinstance(outcome, Committed):
        yield f"landed: {counts(done.taken.counts)}; {outcome.already} stood so already"
        yield from merged_lines(done.merged)
        for remark in outcome.remarks:
            yield f"remark  {remark}"
        if done.successor is not None:
            yield f"the rest is transaction {done.successor}"
    else:
        yield f"refused ({outcome.reason}): {outcome.detail}; nothing was changed"
        yield from refusal_lines(outcome.paths)
        yield from where_lines(outcome, done.stage)
    yield f"diff {done.taken.digest}"
    yield f"record {done.record}"


def mode_note(change: FsChange) -> str:
    """Return how the mode changes; empty where it does not."""
    before, after = change.before, change.after
    if before is None or after is None or before.mode == after.mode or _has_no_mode(before) or _has_no_mode(after):
        return ""
    return f"  (mode {before.mode:04o} -> {after.mode:04o})"


def _has_no_mode(state: EntryState) -> bool:
    return state.kind == "symlink"
