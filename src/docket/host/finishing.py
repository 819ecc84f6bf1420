"""Finishing a directory: its last mode, attributes and time, when nothing is made in it any more.

Rules:
1. It must still be the directory that the step made or found.
2. It is closed for its owner last, and synced as its parent is.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress

from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.formats.tree.steps import MakeDirectory
from docket.host.attribute_setting import attributes_of, set_attributes
from docket.host.placing import Placed
from docket.host.reaching import Reached, Refusal, Ways, failure
from docket.host.tree import identity_of
from docket.host.tree_calls import TreeCalls, open_inside, open_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What finishing a directory came to: whether it was changed, and what could not be kept, in words."""

    changed: bool
    detail: str = ""


class Finisher:
    """Finishes directories of one tree."""

    def __init__(self, ways: Ways, calls: TreeCalls, touch: Callable[[Reached], None]) -> None:
        self._ways = ways
        self._calls = calls
        self._touch = touch

    def finish(self, placed: Placed) -> Finished | Refusal:
        """Give a directory its last mode, attributes and time; nothing is made in it afterwards."""
        step = placed.step
        if not isinstance(step, MakeDirectory):
            return Finished(changed=True)
        reached = self._ways.reach(step.path)
        if isinstance(reached, Refusal):
            return reached
        with reached:
            try:
                return self._finished(placed, step, reached)
            except OSError as error:
                return failure(error, "set the mode of", step.path)

    def _finished(self, placed: Placed, step: MakeDirectory, reached: Reached) -> Finished | Refusal:
        descriptor = open_name(*reached.place)
        try:
            status = os.fstat(descriptor)
            inode = placed.built.inode or (placed.before.status.st_ino if placed.before else 0)
            if status.st_ino != inode or not stat.S_ISDIR(status.st_mode):
                return Refusal(Reason.CHANGED_SINCE, "another thing was put there meanwhile")
            changed = bool(placed.built.inode)
            lost: tuple[str, ...] = ()
            if step.xattrs is not None and step.xattrs != attributes_of(descriptor):
                lost, changed = set_attributes(self._calls, descriptor, step.xattrs), True
            if step.mtime_ns is not None and step.mtime_ns != status.st_mtime_ns:
                self._calls.set_mtime(reached.place, step.mtime_ns)
                changed = True
            if stat.S_IMODE(os.fstat(descriptor).st_mode) != step.mode:
                self._calls.chmod(descriptor, step.mode)
                changed = changed or self._ways.own_mode(status) != step.mode
            self._ways.settle_mode(status)
        finally:
            os.close(descriptor)
        if changed:
            self._sync(reached)
        return Finished(changed=changed, detail=f"not kept: {', '.join(lost)}" if lost else "")

    def _sync(self, reached: Reached) -> None:
        self._touch(reached)
        with suppress(PermissionError):  # its own last mode may forbid to open it; its parent's sync follows
            descriptor = open_inside(*reached.place)
            self._touch(Reached(descriptor, b".", identity_of(os.fstat(descriptor))))
            os.close(descriptor)
