"""The hooks of Claude Code. Tried on 2.1.197.

PreToolUse comes before a tool, PostToolUse after one that succeeded, PostToolUseFailure after one that failed or was
interrupted; `tool_use_id` is the id on the wire, `prompt_id` the turn. A denied tool has no event after the first.
"""

from __future__ import annotations

from docket.formats.canonical import JsonObject
from docket.rules.windows.tool_event import HookEvent, OtherEvent, Phase, ToolEvent, UnknownPayload, summary_of, text_at

PROVIDER = "claude"
_BEFORE, _AFTER, _FAILED = "PreToolUse", "PostToolUse", "PostToolUseFailure"


def claude_event(event: str, payload: JsonObject) -> HookEvent:
    """Return what a payload of that event says."""
    name = text_at(payload, "hook_event_name") or event
    if name not in (_BEFORE, _AFTER, _FAILED):
        return OtherEvent(name=name)
    tool_use_id, session_id = text_at(payload, "tool_use_id"), text_at(payload, "session_id")
    if not tool_use_id or not session_id:
        return UnknownPayload(detail=f"a {name} without tool_use_id or session_id")
    outcome = None
    if name == _FAILED:
        outcome = "interrupted" if payload.get("is_interrupt") is True else "failed"
    return ToolEvent(
        phase=Phase.BEFORE if name == _BEFORE else Phase.AFTER,
        provider=PROVIDER,
        session_id=session_id,
        turn_id=text_at(payload, "prompt_id"),
        tool_use_id=tool_use_id,
        tool_name=text_at(payload, "tool_name") or "unknown",
        folder=text_at(payload, "cwd") or None,
        command_summary=summary_of(payload.get("tool_input"), "command", "file_path", "path", "pattern"),
        outcome=outcome,
    )
