"""Who finishes a group of windows, and whether anybody does."""

from __future__ import annotations

from docket.formats.process_identity import ProcessIdentity
from docket.formats.windows.registry import Closing
from docket.host.liveness import is_gone

NOBODY = ProcessIdentity(pid=0, started="", boot_id="")


def is_left(closing: Closing | None) -> bool:
    """Whether nobody is at it: nobody began, whoever did has let go of it, or is no more."""
    return closing is None or not closing.owner.pid or is_gone(closing.owner)
