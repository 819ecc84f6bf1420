"""What comes through the door of a run's hooks: one hook as it was posted, or why it did not come.

Where they go is `rules.windows.hook_address`.
"""

from __future__ import annotations

from enum import StrEnum

from docket.formats.dataclass import dataclass

MAX_HOOK_BYTES = 64 * 1024 * 1024
"""What of a payload is taken; a longer one is read to its end, dropped, and told in the record."""


class HookLoss(StrEnum):
    """Why no window came of a hook."""

    OVERSIZED = "oversized"
    MALFORMED = "malformed"
    UNKNOWN_AGENT = "unknown-agent"
    UNKNOWN_PAYLOAD = "unknown-payload"
    QUEUE_FULL = "queue-full"
    TOO_MANY = "too-many"
    FAULT = "fault"
    RUN_ENDING = "run-ending"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """One hook as it was posted; `lost` says why its payload is not here, where it is not."""

    agent: str
    event: str
    body: bytes = b""
    lost: HookLoss | None = None
