"""What undoing a tool call would do, and did, for a person and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from docket.engines.restore_proposal import Restored
from docket.engines.windows.undo import UndoProposal
from docket.formats.canonical import JsonObject, JsonValue
from docket.surfaces.render import restore_plan

_OF_RUNS = ("docket_number", "verdict", "failures", "changes_known", "forced", "warnings")
_WORDS = {"already": "as it was already", "kept": "as before the tool", "not_selected": "not selected"}


def titles(found: UndoProposal) -> Iterator[str]:
    """Yield a line for each tool call that is undone."""
    for use in found.delta.tool_uses:
        yield f"{found.delta.actors[use.actor].provider} {use.tool_name} {use.tool_use_id}"


def sentence(counts: Counter[str], *, done: bool) -> str:
    """Return the figures as a sentence without its end."""
    would = "" if done else "would be "
    told = [f"{counts['restored']:,} {would}undone"]
    refused = counts["refused"] - counts["failed"]
    told += [f"{refused:,} in conflict or refused"] * bool(refused)
    told += [f"{counts['failed']:,} {'failed' if done else 'would fail'}"] * bool(counts["failed"])
    told += [f"{counts[name]:,} {words}" for name, words in _WORDS.items() if counts[name]]
    return ", ".join(told)


def proposed_members(found: UndoProposal) -> dict[str, JsonValue]:
    """Return the plan as JSON members (docs/how-to/undo-a-tool-call.md)."""
    return {**_of_call(restore_plan.proposed_members(found.proposal), found), "conflicts": _conflicts(found)}


def done_members(found: UndoProposal, restored: Restored) -> dict[str, JsonValue]:
    """Return what was done as JSON members: the record's, and what goes with it."""
    return _of_call(restore_plan.done_members(found.proposal, restored), found)


def _of_call(members: JsonObject, found: UndoProposal) -> dict[str, JsonValue]:
    kept = {name: value for name, value in members.items() if name not in _OF_RUNS}
    return {
        **kept,
        "window_id": found.record.key.window_id,
        "delta_sha256": found.record.delta_sha256,
        "tool_uses": [
            {"provider": found.delta.actors[use.actor].provider, "tool_name": use.tool_name,
             "tool_use_id": use.tool_use_id}
            for use in found.delta.tool_uses
        ],
    }  # fmt: skip


def _conflicts(found: UndoProposal) -> list[JsonValue]:
    return [{**path.members(), "text": text.decode("utf-8", "replace")} for path, text in found.conflicts.items()]
