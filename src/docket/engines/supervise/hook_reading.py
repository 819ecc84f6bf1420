"""From a hook as it was posted to the neutral event that it is.

Rules:
1. The reading of fifty megabytes holds nobody up for longer than READING_SECONDS.
2. Nothing here raises on what a payload holds.
"""

from __future__ import annotations

import time

from docket.rules.agents.hook_body import read_body
from docket.rules.agents.hooks import HOOK_READERS
from docket.rules.windows.hook_door import Hook, HookLoss
from docket.rules.windows.tool_event import OtherEvent, ToolEvent, UnknownPayload

READING_SECONDS = 1.0


def read_hook(hook: Hook) -> ToolEvent | OtherEvent | HookLoss:
    """Return what a hook says, or why that cannot be known."""
    reader = HOOK_READERS.get(hook.agent)
    if reader is None:
        return HookLoss.UNKNOWN_AGENT
    until = time.monotonic() + READING_SECONDS
    payload = read_body(hook.body, lambda: time.monotonic() > until)
    if isinstance(payload, str):
        return HookLoss.MALFORMED
    said = reader(hook.event, payload)
    return HookLoss.UNKNOWN_PAYLOAD if isinstance(said, UnknownPayload) else said
