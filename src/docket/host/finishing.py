"""Finishing a directory: its last mode and time, when nothing is made in it any more.

Rules:
1. It must still be the directory that the step made or found.
2. It is closed for its owner last, and synced as its parent is.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress

from docket.formats.reason import Reason
from docket.formats.tree.steps import MakeDirectory
from docket.host.placing import Placed
from docket.host.reaching import Reached, Refusal, Ways, failure
from docket.host.tree import identity_of
from docket.host.tree_calls import TreeCalls, open_inside, open_name


class Finisher:
    """Finishes directories of one tree."""

    def __init__(self, ways: Ways, calls: TreeCalls, touch: Callable[[Reached], None]) -> None:
        self._ways = ways
        self._calls = calls
        self._touch = touch

    def finish(self, placed: Placed) -> Refusal | None:
        """Give a directory its last mode and time; nothing is made in it afterwards."""
        step = placed.step
        if not isinstance(step, MakeDirectory):
            return None
        reached = self._ways.reach(step.path)
        if isinstance(reached, Refusal):
            return reached
        with reached:
            try:
                return self._finished(placed, step, reached)
            except OSError as error:
                return failure(error, "set the mode of", step.path)

    def _finished(self, placed: Placed, step: MakeDirectory, reached: Reached) -> Refusal | None:
        descriptor = open_name(*reached.place)
        try:
            status = os.fstat(descriptor)
            inode = placed.built.inode or (placed.before.status.st_ino if placed.before else 0)
            if status.st_ino != inode or not stat.S_ISDIR(status.st_mode):
                return Refusal(Reason.CHANGED_SINCE, "another thing was put there meanwhile")
            if step.mtime_ns is not None:
                self._calls.set_mtime(reached.place, step.mtime_ns)
            if stat.S_IMODE(status.st_mode) != step.mode:
                self._calls.chmod(descriptor, step.mode)
            self._ways.settle_mode(status)
        finally:
            os.close(descriptor)
        self._sync(reached)
        return None

    def _sync(self, reached: Reached) -> None:
        self._touch(reached)
        with suppress(PermissionError):  # its own last mode may forbid to open it; its parent's sync follows
            descriptor = open_inside(*reached.place)
            self._touch(Reached(descriptor, b".", identity_of(os.fstat(descriptor))))
            os.close(descriptor)
