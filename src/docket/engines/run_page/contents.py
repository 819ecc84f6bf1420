"""The contents of what a run changed, side by side, from wherever they are still held.

Rules:
1. A receipt leads nobody into a folder that is not its project's: contents are looked for in the state of the project
   that the person stands in, and in its tree where that is the one the receipt names.
2. Contents are read when they are asked for, and not kept.
"""

from __future__ import annotations

import os
from pathlib import Path

from docket.engines.foresee import MAX_COMPARED_BYTES, Compared
from docket.engines.held_contents import HeldContents, Places
from docket.engines.run_page.gathered import ComparedPath
from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonObject, object_at
from docket.formats.ledger.payload_codec import from_members
from docket.formats.ledger.tree_events import EntryState
from docket.formats.lenient import part
from docket.formats.tree.listing import Kind
from docket.formats.visible import raw_of
from docket.formats.workspace.state import TRANSACTION_ID
from docket.rules.analysis.told import ChangedPath
from docket.stores.layout import Layout
from docket.stores.receipts import SESSION_ID
from docket.stores.snapshots import snapshot_path
from docket.stores.workspace.transactions import Transactions


def places_of(receipt: JsonObject, layout: Layout) -> Places:
    """Return where contents of a run may be held (rule 1)."""
    session, cwd = part(receipt, "session", "id"), raw_of("cwd", object_at(receipt, "session"))
    if not isinstance(session, str) or not SESSION_ID.fullmatch(session):
        return Places()
    is_here = cwd is not None and cwd == os.fsencode(layout.tree_root)
    return Places(
        snapshot=snapshot_path(layout, session),
        stages=_stages(receipt) if is_here else (),
        tree=cwd if is_here else None,
    )


def _stages(receipt: JsonObject) -> tuple[Path, ...]:
    """Return where what the run wrote on its stage may lie: an overlay's own layer, or the whole stage."""
    name = part(receipt, "workspace", "transaction")
    if not isinstance(name, str) or not TRANSACTION_ID.fullmatch(name):
        return ()
    stage = Transactions.of(os.environ).path(name) / "stage"
    return stage / "upper", stage


def comparison(changed: ChangedPath, held: HeldContents) -> ComparedPath:
    """Return a changed path with both of its contents, or why there is nothing to compare."""
    try:
        was, now = (None if side is None else from_members(EntryState, side, "state") for side in _sides(changed))
    except InvalidDocumentError:
        return ComparedPath(changed=changed, why_not="The record does not say what stood there.")
    if not any(map(_has_content, (was, now))):
        return ComparedPath(changed=changed)
    if any(state is not None and (state.size or 0) > MAX_COMPARED_BYTES for state in (was, now)):
        compared = Compared(path=changed.path, was=was, now=now, before=None, after=None, too_large=True)
        return ComparedPath(changed=changed, compared=compared)
    before, after = (_content(changed, state, held) for state in (was, now))
    lacking = [name for name, content in (("before", before), ("after", after)) if content is None]
    if lacking:
        return ComparedPath(changed=changed, why_not=f"Not held any more: what it was {' and '.join(lacking)} the run.")
    compared = Compared(path=changed.path, was=was, now=now, before=before, after=after)
    return ComparedPath(changed=changed, compared=compared)


def _content(changed: ChangedPath, state: EntryState | None, held: HeldContents) -> bytes | None:
    """Return what a state holds, nothing for what has no contents, None where they are not held."""
    return b"" if state is None or not _has_content(state) else held.content(changed.path, state)


def _sides(changed: ChangedPath) -> tuple[JsonObject | None, JsonObject | None]:
    return changed.before, changed.after


def _has_content(state: EntryState | None) -> bool:
    return state is not None and state.kind in (Kind.FILE.value, Kind.SYMLINK.value)


__all__ = ["comparison", "places_of"]
