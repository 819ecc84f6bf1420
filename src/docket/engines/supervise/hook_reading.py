"""From a hook as it was posted to the neutral event that it is.

Rules:
1. A payload up to SMALL_BYTES is read whole. Of a longer one the short members alone are read, a piece at a time, so
   that the reading of fifty megabytes holds nobody up; what was asked for and what came of it are left out.
2. Nothing here raises on what a payload holds.
"""

from __future__ import annotations

import json

from docket.formats.canonical import JsonObject
from docket.rules.agents.hooks import HOOK_READERS
from docket.rules.providers.json_scan import MemberScan
from docket.rules.windows.hook_door import Hook, HookLoss
from docket.rules.windows.tool_event import OtherEvent, ToolEvent, UnknownPayload

SMALL_BYTES = 1024 * 1024
_PIECE_BYTES = 64 * 1024
_SHORT = (
    "hook_event_name", "hookEventName", "event", "type", "session_id", "sessionId", "sessionID", "conversation_id",
    "turn_id", "turnId", "prompt_id", "generation_id", "tool_use_id", "toolUseId", "tool_call_id", "toolCallId",
    "callID", "call_id", "tool_name", "toolName", "tool", "cwd", "agent_id", "agentId", "timestamp", "is_interrupt",
    "tool_input", "toolArgs", "args",
)  # fmt: skip


def read_hook(hook: Hook) -> ToolEvent | OtherEvent | HookLoss:
    """Return what a hook says, or why that cannot be known."""
    reader = HOOK_READERS.get(hook.agent)
    if reader is None:
        return HookLoss.UNKNOWN_AGENT
    payload = _payload(hook.body)
    if payload is None:
        return HookLoss.MALFORMED
    said = reader(hook.event, payload)
    return HookLoss.UNKNOWN_PAYLOAD if isinstance(said, UnknownPayload) else said


def _payload(body: bytes) -> JsonObject | None:
    if len(body) > SMALL_BYTES:
        return _short_members(body)
    try:
        # A byte that is no UTF-8 is a half of a surrogate pair from here on, and is recorded spelled out.
        value = json.loads(body.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _short_members(body: bytes) -> JsonObject | None:
    scan = MemberScan((name,) for name in _SHORT)
    for at in range(0, len(body), _PIECE_BYTES):
        scan.feed(body[at : at + _PIECE_BYTES])
    return scan.result() if scan.ended else None
