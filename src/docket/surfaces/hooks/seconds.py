"""How long a hook may take: two seconds, or as many as DOCKET_HOOK_SECONDS says, for machines that are slow."""

from __future__ import annotations

import os

SECONDS, LEAST_SECONDS, MOST_SECONDS = 2.0, 0.5, 60.0


def hook_seconds() -> float:
    """Return the seconds that a hook may take; a variable that is no number says nothing."""
    try:
        said = float(os.environ.get("DOCKET_HOOK_SECONDS", SECONDS))
    except ValueError:
        return SECONDS
    return min(max(said, LEAST_SECONDS), MOST_SECONDS) if said > 0 else SECONDS
