"""Where the hooks of a run's agent go: to the boundary's own door, by the session's token (spec/windows.md, In a run).

Rules:
1. The address of one hook is `<session URL>/hooks/<agent>/<event>`; the payload is posted there as the agent gives it.
2. The session's token opens this door and no model call. The answer is always 200 with an object that decides nothing.

Light on purpose: a hook in a process of its own needs these names and nothing else of the boundary.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

SESSION_URL_VARIABLE = "DOCKET_SESSION_URL"
"""Names the run's session in the agent's environment; a program in it that can read this may tell docket of tools."""
HOOKS = "hooks"
MAX_HOOK_BYTES = 64 * 1024 * 1024
"""What of a payload is taken; a longer one is read to its end, dropped, and told in the record."""


def hooks_url(session_url: str) -> str:
    """Return the address that the hooks of a session stand below."""
    return f"{session_url}/{HOOKS}"


def hook_url(session_url: str, agent: str, event: str) -> str:
    """Return the address of one hook, as an agent's own settings or `docket hook` use it."""
    return f"{hooks_url(session_url)}/{agent}/{event}"


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
