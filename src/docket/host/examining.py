"""Looking at a path before its step is done: whether the precondition holds, and whether anything is left to do.

Rules:
1. What is done already is not done again, whatever the precondition says.
2. A mount point, another file system and what is none of file, directory and link are refused.
3. A directory that holds something is replaced or removed by no step.
"""

from __future__ import annotations

import os
from contextlib import suppress

from docket.formats.dataclass import replace
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.steps import (
    Link,
    MakeDirectory,
    Outcome,
    Remove,
    SetMode,
    Step,
    StepStatus,
    WriteFile,
)
from docket.formats.tree.xattrs import named_acl
from docket.host.looking import Found, attributes, core_is_done, has_entries, look, source_unmet, unmet
from docket.host.reaching import Reached, Refusal, Ways
from docket.host.tree import identity_of


class Examiner:
    """Looks at reached paths of one tree, on the file system `device`; every method may raise OSError.

    `passed` are directories of which steps change what they hold, and which have a time in the end.
    """

    def __init__(self, ways: Ways, device: int) -> None:
        self._ways = ways
        self._device = device
        self.passed: frozenset[RelPath] = frozenset()

    def examine(self, step: Step, reached: Reached, *, anew: bool = False) -> Outcome | Refusal | Found | None:
        """Return what stands at the path if the step can be done there, else why not or that nothing is left to do.

        `anew`: the file that a `Link` is to be a name of is about to be replaced, so there is always something to do.
        """
        if self._ways.is_mount(step.path):
            return Refusal(Reason.OTHER_FILE_SYSTEM, "it is a mount point")
        found = look(*reached.place, self._ways.own_mode)
        if isinstance(found, Refusal):
            return found
        if found is not None and found.status.st_dev != self._device:
            return Refusal(Reason.OTHER_FILE_SYSTEM, "it is on another file system")
        if found is not None and _needs_attributes(step, found):
            found = replace(found, xattrs=attributes(*reached.place))
        refused = unmet(step, found)
        if not anew and self._is_done(step, found, otherwise=refused is not None):
            return Outcome(path=step.path, status=StepStatus.ALREADY)
        return refused or self._obstacle(step, reached, found) or self._source(step) or found

    def _is_done(self, step: Step, found: Found | None, *, otherwise: bool) -> bool:
        """Whether nothing is left to do; `otherwise` where only times and attributes could be left, and not for us."""
        if isinstance(step, Remove) or found is None:
            return isinstance(step, Remove) and found is None
        if isinstance(step, Link):
            return identity_of(found.status) == self._identity_at(step.to)
        if isinstance(step, MakeDirectory) and step.path in self.passed and not otherwise:
            return False
        return core_is_done(step, found) and (otherwise or not _rest_differs(step, found))

    def _obstacle(self, step: Step, reached: Reached, found: Found | None) -> Refusal | None:
        if found is None:
            return Refusal(Reason.NOT_FOUND, "nothing stands there") if isinstance(step, SetMode) else None
        if isinstance(step, SetMode) and found.state.size is None:
            return Refusal(Reason.NOT_A_FILE, f"a {found.kind} stands there, whose mode this step does not set")
        if isinstance(step, Remove) and found.is_directory != (step.kind == "directory"):
            return Refusal(Reason.CHANGED_SINCE, f"a {step.kind} was to be removed, and a {found.kind} stands there")
        if found.is_directory and not isinstance(step, MakeDirectory):
            self._ways.open_up(reached, step.path)
            if has_entries(*reached.place):
                return Refusal(Reason.NOT_EMPTY, "a directory that is not empty stands there")
        return None

    def _source(self, step: Step) -> Refusal | None:
        """Return why the file is not to be had that a link to what stands in the tree is to be a name of."""
        if not isinstance(step, Link) or step.holds is None:
            return None
        reached = self._ways.reach(step.to)
        if isinstance(reached, Refusal):
            return reached
        with reached:
            return source_unmet(step, look(*reached.place, self._ways.own_mode))

    def _identity_at(self, path: RelPath) -> tuple[int, int] | None:
        reached = self._ways.reach(path)
        if isinstance(reached, Refusal):
            return None
        with reached, suppress(OSError):
            return identity_of(os.stat(reached.name, dir_fd=reached.descriptor, follow_symlinks=False))
        return None


def _rest_differs(step: Step, found: Found) -> bool:
    mtime_ns = getattr(step, "mtime_ns", None)
    if mtime_ns is not None and mtime_ns != found.status.st_mtime_ns:
        return True
    if isinstance(step, SetMode):
        return step.acl not in (None, named_acl(found.xattrs))
    return isinstance(step, WriteFile | MakeDirectory) and step.xattrs not in (None, found.xattrs)


def _needs_attributes(step: Step, found: Found) -> bool:
    match step:
        case WriteFile():
            return found.state.size is not None
        case MakeDirectory():
            return found.is_directory and step.xattrs is not None
        case SetMode():
            return step.acl is not None and found.state.size is not None
        case _:
            return isinstance(step, Remove) and found.is_directory
