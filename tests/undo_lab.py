"""Undoing tool calls in the trees of `windows_lab`: proposals, doing them, and what stands in a tree."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from docket.engines.restore import RedoRequest, Restored, RestoreWorld, carry_out, propose_redo
from docket.engines.windows.listing import find_window, newest_deltas
from docket.engines.windows.undo import UndoProposal, UndoRequest, propose_undo
from docket.formats.relpath import RelPath
from docket.host.clock import SystemClock
from docket.host.ids import SystemIds
from docket.rules.tree.restore import Selection
from docket.stores.layout import Layout
from windows_lab import WindowsLab

WORLD = RestoreWorld(clock=SystemClock(), ids=SystemIds())


def layout(lab: WindowsLab) -> Layout:
    """The layout of the lab's tree."""
    return Layout(tree_root=lab.tree, state=lab.root / "state", docket_dir=lab.root / "state", evidence=())


def request(lab: WindowsLab, use: str, *paths: str, hunks: tuple[int, ...] = (), **options: Any) -> UndoRequest:
    """A request to undo a tool use."""
    record = find_window(lab.world.evidence, use)
    return UndoRequest(
        record=record,
        delta=lab.world.evidence.delta(record.delta_sha256),
        layout=layout(lab),
        root=os.fsencode(lab.tree),
        selection=Selection(paths=tuple(RelPath(os.fsencode(path)) for path in paths)),
        hunks=frozenset(hunks),
        history=lambda: newest_deltas(lab.world.evidence),
        **options,
    )


def proposed(lab: WindowsLab, asked: UndoRequest) -> UndoProposal:
    """What undoing would do."""
    with ExitStack() as stack:
        return propose_undo(asked, lab.store, WORLD, stack)


def undo(lab: WindowsLab, use: str, *paths: str, **options: Any) -> Restored:
    """Undo a tool use; nothing stands in the way."""
    with ExitStack() as stack:
        found = propose_undo(request(lab, use, *paths, **options), lab.store, WORLD, stack)
        assert not found.refused, conflicts(found)
        return carry_out(found.proposal, WORLD)


def redo(lab: WindowsLab, restored: Restored) -> Restored:
    """Put back what was undone."""
    with ExitStack() as stack:
        return carry_out(
            propose_redo(RedoRequest(record_path=restored.record_path, layout=layout(lab)), WORLD, stack), WORLD
        )


def conflicts(found: UndoProposal) -> dict[str, tuple[str | None, str | None]]:
    """The paths that stand in the way, with reason and detail."""
    told = {}
    for item in found.proposal.intentions:
        seen = found.proposal.foreseen.get(item.path)
        outcome = None if seen is None else seen.outcome
        if outcome is not None and outcome.status != "already":
            told[str(item.path)] = (outcome.reason, outcome.detail)
        elif item.verb == "refused":
            told[str(item.path)] = (item.reason, item.detail)
    return told


def standing(tree: Path) -> dict[str, tuple[str, bytes]]:
    """Files and links of a tree: how each is, and what it holds. Git's own are left out."""
    found = {}
    for path in tree.rglob("*"):
        name = str(path.relative_to(tree))
        if name.startswith(".git/"):
            continue
        if path.is_symlink():
            found[name] = ("link", os.fsencode(path.readlink()))
        elif path.is_file():
            found[name] = ("executable" if path.stat().st_mode & 0o100 else "file", path.read_bytes())
    return found
