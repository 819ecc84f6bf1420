"""Making things at once where they are to stand, in a tree that need not outlast anything.

Rules:
1. Only a free name is taken, and only by a call that fails if it is not: nothing is ever written over.
2. What could not be finished is removed again, and so is what stands in a directory that was moved meanwhile.
3. A directory is open to its owner alone until it is finished (host.finishing).
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from docket.errors import DocketError
from docket.formats.reason import Reason
from docket.formats.tree.steps import Absent, Anything, Link, MakeDirectory, MakeSymlink, Step, WriteFile
from docket.host.attribute_setting import has_default_acl, shed_inherited
from docket.host.filling import Content, dress, fill
from docket.host.placing import Built, Deed, Place, Placed
from docket.host.reaching import Reached, Refusal, Ways
from docket.host.tree import identity_of
from docket.host.tree_calls import TreeCalls, open_name


class DirectMaker:
    """Makes things in one tree."""

    def __init__(self, ways: Ways, calls: TreeCalls) -> None:
        self._ways = ways
        self._calls = calls

    def make(self, number: int, step: Step, content: Content | None, reached: Reached) -> Placed | Refusal | None:
        """Do a step; None where it makes nothing new. May raise OSError and DocketError, and has then done nothing."""
        if not isinstance(step.precondition, Absent | Anything):
            return None
        try:
            made = self._made(step, content, reached)
        except FileExistsError:
            return None
        if made is None or isinstance(made, Refusal):
            return made
        inode, detail = made
        moved = self._ways.moved(step.path, reached)
        if moved is not None:
            self._unmake(reached.place, inode)
            return moved
        built = Built(number=number, step=step, staged=b"%d.%d" % (number, inode), inode=inode, detail=detail)
        return Placed(built=built, deed=Deed.CREATED, before=None)

    def _made(self, step: Step, content: Content | None, reached: Reached) -> tuple[int, str] | Refusal | None:
        place = reached.place
        match step:
            case WriteFile() if content is not None:
                return self._file(step, content, place)
            case MakeDirectory():
                self._calls.make_directory(*place)
                if has_default_acl(place[0]):
                    self._shed(place)
            case MakeSymlink():
                self._calls.make_symlink(step.target, *place)
                if step.mtime_ns is not None:
                    self._calls.set_mtime(place, step.mtime_ns)
            case Link():
                return self._link(step, place)
            case _:
                return None
        return os.stat(place[1], dir_fd=place[0], follow_symlinks=False).st_ino, ""

    def _file(self, step: WriteFile, content: Content, place: Place) -> tuple[int, str] | Refusal:
        descriptor = self._calls.make_file(*place)
        try:
            inode = os.fstat(descriptor).st_ino
            try:
                shed_inherited(self._calls, place[0], descriptor)
                refused = fill(self._calls, descriptor, step, content)
                detail = "" if refused is not None else dress(self._calls, descriptor, step, None)
            except (OSError, DocketError):
                self._unmake(place, inode)
                raise
            if refused is not None:
                self._unmake(place, inode)
            return refused or (inode, detail)
        finally:
            os.close(descriptor)

    def _link(self, step: Link, place: Place) -> tuple[int, str] | Refusal:
        reached = self._ways.reach(step.to)
        if isinstance(reached, Refusal):
            return reached
        with reached:
            seen = os.stat(reached.name, dir_fd=reached.descriptor, follow_symlinks=False)
            if not stat.S_ISREG(seen.st_mode):
                return Refusal(Reason.NOT_A_FILE, f"{step.to} is no file, and only files are linked")
            self._calls.link(reached.place, place)
        made = os.stat(place[1], dir_fd=place[0], follow_symlinks=False)
        if identity_of(made) != identity_of(seen):
            self._unmake(place, made.st_ino)
            return Refusal(Reason.CHANGED_SINCE, f"another thing was put at {step.to} meanwhile")
        return seen.st_ino, ""

    def _shed(self, place: Place) -> None:
        descriptor = open_name(*place)
        try:
            shed_inherited(self._calls, place[0], descriptor)
        finally:
            os.close(descriptor)

    def _unmake(self, place: Place, inode: int) -> None:
        with suppress(OSError):
            status = os.stat(place[1], dir_fd=place[0], follow_symlinks=False)
            if status.st_ino != inode:
                return
            if stat.S_ISDIR(status.st_mode):
                self._calls.remove_directory(*place)
            else:
                self._calls.unlink(*place)
