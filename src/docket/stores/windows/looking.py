"""Looks at a tree on the one side, who clears its store on the other: neither while the other is at work.

Rules (spec/windows.md, Tidying):
1. Looks share the lock LOOKS; who clears holds it alone. So what a look finds to be there already is still there when
   the look is over, and is marked as used by then.
2. What a look uses again and was not used for FRESH_SECONDS gets a new time; nothing younger than GRACE_SECONDS is
   cleared, or than PRESSED_SECONDS where the store is far beyond its limits. So between a look and the name that keeps
   its tree nothing of it goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docket.errors import PartialEvidenceError, UnavailableError
from docket.formats.reason import Reason
from docket.formats.windows.names import PartialReason
from docket.host.disk import SYSTEM_DISK, Disk

LOOKS = "looks"
GRACE_SECONDS = 24 * 3600
PRESSED_SECONDS = 900


@contextmanager
def looking(windows: Path, wait_seconds: float, *, alone: bool = False, disk: Disk = SYSTEM_DISK) -> Iterator[None]:
    """Keep those who clear away, or with `alone` those who look; PartialEvidenceError(timeout) if that takes longer."""
    with disk.folder(windows, create=True) as folder:
        try:
            held = folder.hold(LOOKS, exclusive=alone, wait_seconds=wait_seconds)
        except UnavailableError as error:
            if error.reason != Reason.LOCKED:
                raise
            raise PartialEvidenceError(PartialReason.TIMEOUT, error.detail) from error
        try:
            yield
        finally:
            held.release()
