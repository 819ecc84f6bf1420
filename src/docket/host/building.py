"""Building what a step puts in place, whole, in the staging directory, where only its owner reaches it.

Rules:
1. A file has its content, digest checked, its owner, attributes, mode and time before it is put in place. It is made
   durable together with others (`Built.unsynced`), but for one that could not be opened again for that.
2. A directory is open to its owner until everything in it is done; its last mode is noted where that is another.
3. Each thing's name tells its inode, so that whoever finds it left over can tell it from what was displaced.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.steps import (
    Link,
    MakeDirectory,
    MakeSymlink,
    Remove,
    SetMode,
    Step,
    WriteFile,
)
from docket.host.filling import Content, dress, fill
from docket.host.looking import Found, core_is_done, look, source_unmet
from docket.host.placing import Built, Place
from docket.host.reaching import Refusal, Ways
from docket.host.staging import NEW_SUFFIX, Staging
from docket.host.tree import identity_of, kind_of
from docket.host.tree_calls import TreeCalls, open_name

_ENOUGH_TO_WORK = 0o700


class Builder:
    """Builds in one staging directory, which `stage` makes when the first thing is built."""

    def __init__(self, ways: Ways, calls: TreeCalls, stage: Callable[[], Staging]) -> None:
        self._ways = ways
        self._calls = calls
        self._stage = stage
        self.notes: dict[RelPath, bytes] = {}

    def build(
        self, number: int, step: Step, content: Content | None, found: Found | None, source: Built | None = None
    ) -> Built | Refusal:
        """Build for a step over what was found at its path. May raise OSError, and DocketError of the content.

        `source` is the file, built and not yet in place, that a `Link` is to be a name of.
        """
        if isinstance(step, SetMode | Remove) or (found is not None and _stays(step, found)):
            return Built(number=number, step=step, staged=b"%d.0" % number, seen=found)
        name, staging = new_name(number), self._stage().descriptor
        detail, unsynced = "", False
        match step:
            case WriteFile():
                made = self._file((staging, name), step, content, found)
                if isinstance(made, Refusal):
                    return made
                detail, unsynced = made, bool(step.mode & stat.S_IRUSR)
            case MakeDirectory():
                if step.mode & _ENOUGH_TO_WORK != _ENOUGH_TO_WORK:
                    self.notes[step.path] = self._stage().note_opened(step.path.raw, step.mode)
                self._calls.make_directory(staging, name)
                self._set_mode((staging, name), step.mode | _ENOUGH_TO_WORK)
            case MakeSymlink():
                self._calls.make_symlink(step.target, staging, name)
                if step.mtime_ns is not None:
                    self._calls.set_mtime((staging, name), step.mtime_ns)
            case Link():
                refused = None
                if source is None:
                    refused = self._linked((staging, name), step)
                else:
                    self._calls.link((staging, source.staged), (staging, name))
                if refused is not None:
                    return refused
            case _:
                raise AssertionError(step)
        inode = os.stat(name, dir_fd=staging, follow_symlinks=False).st_ino
        staged = b"%d.%d" % (number, inode)
        self._calls.rename((staging, name), (staging, staged))
        return Built(number=number, step=step, staged=staged, seen=found, inode=inode, detail=detail, unsynced=unsynced)

    def drop(self, number: int) -> None:
        """Remove what was begun for a step and not finished. May raise OSError."""
        self._stage().drop(new_name(number))

    def _file(self, place: Place, step: WriteFile, content: Content | None, found: Found | None) -> str | Refusal:
        if content is None:
            return Refusal(Reason.CONTENT_MISSING, f"no store has the content {step.content.sha256}", failed=True)
        before = found if found is not None and found.state.size is not None else None
        descriptor = self._calls.make_file(*place)
        try:
            refused = fill(self._calls, descriptor, step, content)
            if refused is not None:
                return refused
            detail = dress(self._calls, descriptor, step, before)
            if self._stage().durable and not step.mode & stat.S_IRUSR:
                self._calls.sync(descriptor)
            return detail
        finally:
            os.close(descriptor)

    def _set_mode(self, place: Place, mode: int) -> None:
        descriptor = open_name(*place)
        try:
            self._calls.chmod(descriptor, mode)
        finally:
            os.close(descriptor)

    def _linked(self, place: Place, step: Link) -> Refusal | None:
        reached = self._ways.reach(step.to)
        if isinstance(reached, Refusal):
            return reached
        with reached:
            seen = os.stat(reached.name, dir_fd=reached.descriptor, follow_symlinks=False)
            if kind_of(seen.st_mode) != "file":
                return Refusal(Reason.NOT_A_FILE, f"{step.to} is no file, and only files are linked")
            self._calls.link(reached.place, place)
        made = os.stat(place[1], dir_fd=place[0], follow_symlinks=False)
        if identity_of(made) != identity_of(seen):
            return Refusal(Reason.CHANGED_SINCE, f"another thing was put at {step.to} meanwhile")
        return source_unmet(step, look(*place, self._ways.own_mode))


def new_name(number: int) -> bytes:
    """Return the name of what is being built for a step."""
    return b"%d%s" % (number, NEW_SUFFIX)


def _stays(step: Step, found: Found) -> bool:
    """Whether what stands there is altered rather than replaced."""
    if isinstance(step, MakeDirectory):
        return found.is_directory
    return isinstance(step, WriteFile) and core_is_done(step, found) and step.xattrs in (None, found.xattrs)
