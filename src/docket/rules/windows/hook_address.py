"""Where the hooks of a run's agent go: to the boundary's own door, by the session's token (spec/windows.md, In a run).

Rules:
1. The address of one hook is `<session URL>/hooks/<agent>/<event>`; the payload is posted there as the agent gives it.
2. The session's token opens this door and no model call. The answer is always 200 with an object that decides nothing.

Light on purpose: a hook in a process of its own needs these names and nothing else of the boundary.
"""

from __future__ import annotations

SESSION_URL_VARIABLE = "DOCKET_SESSION_URL"
"""Names the run's session in the agent's environment; a program in it that can read this may tell docket of tools."""
HOOKS = "hooks"


def hooks_url(session_url: str) -> str:
    """Return the address that the hooks of a session stand below."""
    return f"{session_url}/{HOOKS}"


def hook_url(session_url: str, agent: str, event: str) -> str:
    """Return the address of one hook, as an agent's own settings or `docket hook` use it."""
    return f"{hooks_url(session_url)}/{agent}/{event}"
