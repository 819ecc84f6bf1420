"""Putting what was built in its place, and back: each a single rename, verified afterwards.

Rules:
1. A name that is taken is exchanged with what was built (RENAME_EXCHANGE), a free one is taken only if it is still
   free, and what is removed is renamed away; so nothing is ever overwritten or unlinked where it stood.
2. What was displaced is looked at again where nobody else can rename it. If it is not what the step expects, it is put
   back: a save made between the look and the rename is not lost. Nor is what cannot be put back: it stays in the
   staging directory, and the refusal names it.
   A file that is written to after that, through a descriptor from before, is not let go of either (`settle`).
3. Afterwards the directory must still be the one the path leads to; if it was moved meanwhile, everything is undone
   through the descriptor that is held.
4. An empty directory is removed where it stands (rmdir can lose nothing) and made again if it must come back. Where a
   journal is kept (`aside`), it is renamed away like a file, so that the very directory can come back.
5. Where a system or a file system has no exchange, a taken name is replaced by a plain rename, after the old file
   got a second name: what another program puts there by a rename in between the two calls is lost. `exchanges` tells.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from enum import Enum

from docket.formats.dataclass import dataclass, replace
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.attributes import ACCESS_ACL
from docket.formats.tree.plan import MakeDirectory, Remove, SetMode, Step, WriteFile
from docket.host.attribute_setting import set_attribute, set_attributes
from docket.host.holders import Holders
from docket.host.looking import Found, core_is_done, has_entries, look, told, unmet
from docket.host.reaching import Reached, Refusal, Ways, failure
from docket.host.staging import Staging
from docket.host.tree import Status, identity_of, status_at
from docket.host.tree_calls import UNSUPPORTED, TreeCalls, open_name

Place = tuple[int, bytes]


class Deed(Enum):
    """What was done at a path, and so what undoes it."""

    EXCHANGED = "exchanged"
    CREATED = "created"
    TAKEN_AWAY = "taken-away"
    DIRECTORY_REMOVED = "directory-removed"
    ALTERED = "altered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What is ready to be put in place: `staged` is its name in the staging directory, or the one it will leave there.

    `seen` is what stood at the path when it was built, `inode` 0 where nothing was built; `detail` tells what could
    not be kept. An `unsynced` file is not durable yet.
    """

    number: int
    step: Step
    staged: bytes
    seen: Found | None = None
    inode: int = 0
    detail: str = ""
    unsynced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A step that was done and can be undone; `before` is what stood at the path, `aside` it as it was displaced."""

    built: Built
    deed: Deed
    before: Found | None
    aside: Found | None = None

    @property
    def step(self) -> Step:
        """The step."""
        return self.built.step

    @property
    def displaced(self) -> bool:
        """Whether what stood at the path now stands in the staging directory."""
        return self.deed in (Deed.EXCHANGED, Deed.TAKEN_AWAY)


class Placer:
    """Puts things in place in one tree; every method may raise OSError, after which the path is as it was."""

    def __init__(
        self, ways: tuple[Ways, Holders], staging: Staging, calls: TreeCalls, touch: Callable[[Reached], None]
    ) -> None:
        self._ways, self._holders = ways
        self._staging = staging
        self._calls = calls
        self._touch = touch
        self.exchanges = True
        self.aside = False

    def place(self, built: Built, reached: Reached, found: Found | None) -> Placed | Refusal:
        """Do a step at a reached name where `found` stood a moment ago."""
        self._touch(reached)
        match built.step:
            case Remove() if found is not None and found.is_directory and not self.aside:
                self._calls.remove_directory(*reached.place)
                self._ways.settle_mode(found.status)
                placed = Placed(built=built, deed=Deed.DIRECTORY_REMOVED, before=found)
            case Remove():
                self._calls.rename(reached.place, self._staged(built))
                placed = Placed(built=built, deed=Deed.TAKEN_AWAY, before=found)
            case _ if not built.inode:
                return self._altered(built, reached, found)
            case _ if found is None:
                self._put_new(self._staged(built), reached.place)
                placed = Placed(built=built, deed=Deed.CREATED, before=None)
            case _:
                if found.is_directory:
                    self._ways.open_up(reached, built.step.path)
                self._exchange(built, reached, found)
                placed = Placed(built=built, deed=Deed.EXCHANGED, before=found)
        return self._verified(placed, reached)

    def undo(self, placed: Placed) -> Refusal | None:
        """Put back what stood at the path; a refusal says why it could not be."""
        path = placed.step.path
        try:
            reached = self._reached_again(path)
            if isinstance(reached, Refusal):
                return reached
            with reached:
                self._touch(reached)
                return self._put_back(placed, reached.place)
        except OSError as error:
            return failure(error, "put back", path)

    def settle(self, placed: Placed) -> Refusal | None:
        """Let go of what was displaced."""
        if not placed.displaced or placed.before is None:
            return None
        try:
            if self._was_written_to(placed):
                return Refusal(Reason.LEFT_ASIDE, f"it was written to meanwhile; {self._aside(placed)}", failed=True)
            self._drop(placed.built.staged, is_directory=placed.before.is_directory)
        except OSError as error:
            return failure(error, "remove", placed.step.path)
        if placed.before.is_directory:
            self._ways.settle_mode(placed.before.status)
        return None

    def _was_written_to(self, placed: Placed) -> bool:
        """Whether a file that was displaced holds something else by now, through a descriptor that was open before."""
        seen = placed.aside
        if seen is None or seen.state.size is None:
            return False
        place = self._staged(placed.built)
        now = status_at(*place)
        if not isinstance(now, os.stat_result) or _written(now) == _written(seen.status):
            return False
        found = look(*place, self._ways.own_mode)
        return isinstance(found, Found) and found.state.sha256 != seen.state.sha256

    def discard(self, built: Built) -> None:
        """Remove what was built and not put in place."""
        with suppress(FileNotFoundError):
            status = os.stat(built.staged, dir_fd=self._staging.descriptor, follow_symlinks=False)
            if status.st_ino == built.inode:  # anything else there is what was displaced and could not be put back
                self._drop(built.staged, is_directory=stat.S_ISDIR(status.st_mode))

    def _reached_again(self, path: RelPath) -> Reached | Refusal:
        """Reach the directory in which something was done at a path, wherever that was moved since."""
        reached = self._ways.reach(path)
        if isinstance(reached, Refusal):
            return self._holders.held(path) or reached
        refused = self._holders.refused(path, reached)
        if refused is None:
            return reached
        os.close(reached.descriptor)
        return self._holders.held(path) or refused

    def _staged(self, built: Built) -> Place:
        return self._staging.descriptor, built.staged

    def _drop(self, name: bytes, *, is_directory: bool) -> None:
        with suppress(FileNotFoundError):
            if is_directory:
                self._calls.remove_directory(self._staging.descriptor, name)
            else:
                self._calls.unlink(self._staging.descriptor, name)

    def _verified(self, placed: Placed, reached: Reached) -> Placed | Refusal:
        checked: Placed | Refusal
        try:
            checked = self._checked(placed, reached)
        except OSError as error:
            checked = failure(error, "verify", placed.step.path)
        if isinstance(checked, Placed):
            return checked
        try:
            worse = self._put_back(placed, reached.place)
        except OSError as error:
            told_why = failure(error, "put back", placed.step.path).detail
            worse = Refusal(Reason.LEFT_ASIDE, f"{told_why}; {self._aside(placed)}", failed=True)
        return worse or checked

    def _checked(self, placed: Placed, reached: Reached) -> Placed | Refusal:
        """Return the step as it was done, with what it really displaced, or why it must be put back."""
        if placed.displaced:
            found = look(*self._staged(placed.built), self._ways.own_mode)
            if isinstance(found, Refusal):
                return found
            refused = unmet(placed.step, found)
            if refused is not None:
                return refused
            if found is not None and found.is_directory and has_entries(*self._staged(placed.built)):
                return Refusal(Reason.NOT_EMPTY, "the directory was filled meanwhile")
            if found is not None and placed.before is not None and found.state != placed.before.state:
                placed = replace(placed, before=found)  # whoever overwrites anything keeps what came at the last moment
            placed = replace(placed, aside=found)
        return self._ways.moved(placed.step.path, reached) or placed

    def _put_new(self, source: Place, target: Place) -> None:
        """Rename to a name that must be free."""
        try:
            self._calls.rename_new(source, target)
        except OSError as error:
            if error.errno not in UNSUPPORTED:
                raise
        else:
            return
        if stat.S_ISDIR(os.stat(source[1], dir_fd=source[0], follow_symlinks=False).st_mode):
            self._calls.rename(source, target)  # over a directory only, and only over an empty one
        else:
            self._calls.link(source, target)
            self._calls.unlink(*source)

    def _exchange(self, built: Built, reached: Reached, found: Found) -> None:
        staged = self._staged(built)
        try:
            self._calls.exchange(staged, reached.place)
        except OSError as error:
            if error.errno not in UNSUPPORTED:
                raise
        else:
            return
        self.exchanges = False
        aside = (self._staging.descriptor, built.staged + b".aside")
        if found.is_directory or isinstance(built.step, MakeDirectory):
            self._calls.rename(reached.place, aside)
            try:
                self._put_new(staged, reached.place)
            except OSError:
                self._put_new(aside, reached.place)
                raise
        else:
            self._calls.link(reached.place, aside)
            try:
                self._calls.rename(staged, reached.place)
            except OSError:
                self._calls.unlink(*aside)
                raise
        self._calls.rename(aside, staged)

    def _put_back(self, placed: Placed, place: Place) -> Refusal | None:
        match placed.deed:
            case Deed.EXCHANGED:
                return self._exchange_back(placed, place)
            case Deed.CREATED:
                return self._uncreate(placed, place)
            case Deed.TAKEN_AWAY:
                try:
                    self._put_new(self._staged(placed.built), place)
                except FileExistsError:
                    detail = f"another thing stands there by now; {self._aside(placed)}"
                    return Refusal(Reason.LEFT_ASIDE, detail, failed=True)
            case Deed.DIRECTORY_REMOVED:
                self._calls.make_directory(*place)
                self._holders.forget(placed.step.path)
                self._set_mode(place, placed)
            case _:
                self._set_mode(place, placed)
        return None

    def _exchange_back(self, placed: Placed, place: Place) -> Refusal | None:
        staged = self._staged(placed.built)
        try:
            self._calls.exchange(staged, place)
        except FileNotFoundError:
            self._put_new(staged, place)
            return None
        except OSError as error:
            if error.errno not in UNSUPPORTED:
                raise
            self._replace_back(placed, place)
            return None
        now = os.stat(staged[1], dir_fd=staged[0], follow_symlinks=False)
        if now.st_ino == placed.built.inode:
            self._drop(staged[1], is_directory=stat.S_ISDIR(now.st_mode))
            return None
        self._calls.exchange(staged, place)
        return Refusal(Reason.LEFT_ASIDE, f"it was saved anew meanwhile; {self._aside(placed)}", failed=True)

    def _replace_back(self, placed: Placed, place: Place) -> None:
        staged = self._staged(placed.built)
        if isinstance(placed.step, MakeDirectory):
            self._calls.remove_directory(*place)
        elif placed.before is not None and placed.before.is_directory:
            self._calls.unlink(*place)
        self._calls.rename(staged, place)

    def _uncreate(self, placed: Placed, place: Place) -> Refusal | None:
        status = os.stat(place[1], dir_fd=place[0], follow_symlinks=False)
        if status.st_ino != placed.built.inode:
            return Refusal(Reason.CHANGED_SINCE, "another thing was put there meanwhile")
        if stat.S_ISDIR(status.st_mode):
            self._calls.remove_directory(*place)
            return None
        staged = self._staged(placed.built)
        self._put_new(place, staged)
        if os.stat(staged[1], dir_fd=staged[0], follow_symlinks=False).st_ino == placed.built.inode:
            self._drop(staged[1], is_directory=False)
            return None
        self._put_new(staged, place)
        return Refusal(Reason.CHANGED_SINCE, "another thing was put there meanwhile")

    def _altered(self, built: Built, reached: Reached, found: Found | None) -> Placed | Refusal:
        """Change what stands at the path and stays: a file's mode and time. A directory's come last (`finish`)."""
        placed = Placed(built=built, deed=Deed.ALTERED, before=found)
        step = built.step
        if isinstance(step, MakeDirectory) and found is not None and found.is_directory:
            return placed
        if found is None or not (
            isinstance(step, SetMode) or (isinstance(step, WriteFile) and core_is_done(step, found))
        ):
            return Refusal(Reason.CHANGED_SINCE, "another thing was put there meanwhile")
        descriptor = open_name(*reached.place)
        try:
            if identity_of(os.fstat(descriptor)) != identity_of(found.status):
                return Refusal(Reason.CHANGED_SINCE, "another file was put there meanwhile")
            acl = step.acl if isinstance(step, SetMode) else None
            if acl is not None and not set_attribute(self._calls, descriptor, ACCESS_ACL, acl):
                placed = replace(placed, built=replace(built, detail=f"not kept: {ACCESS_ACL.decode()}"))
            if step.mode != stat.S_IMODE(os.fstat(descriptor).st_mode):
                self._calls.chmod(descriptor, step.mode)
            if step.mtime_ns is not None:
                self._calls.set_mtime(reached.place, step.mtime_ns)
        except OSError:
            with suppress(OSError):
                self._set_mode(reached.place, placed)
            raise
        finally:
            os.close(descriptor)
        return self._verified(placed, reached)

    def _set_mode(self, place: Place, placed: Placed) -> None:
        if placed.before is None:
            return
        with suppress(FileNotFoundError):
            descriptor = open_name(*place)
            try:
                status = os.fstat(descriptor)
                same = identity_of(status) == identity_of(placed.before.status)
                if same or placed.deed is Deed.DIRECTORY_REMOVED:
                    asked = getattr(placed.step, "acl" if isinstance(placed.step, SetMode) else "xattrs", None)
                    if placed.before.xattrs or asked is not None:
                        set_attributes(self._calls, descriptor, placed.before.xattrs)
                    self._calls.chmod(descriptor, placed.before.state.mode)
                    self._calls.set_mtime(place, placed.before.status.st_mtime_ns)
                    self._ways.settle_mode(status)
            finally:
                os.close(descriptor)

    def _aside(self, placed: Placed) -> str:
        kept = (self._staging.name + b"/" + placed.built.staged).decode("utf-8", "backslashreplace")
        what = "" if placed.before is None else f" ({told(placed.before.state)})"
        return f"what stood there{what} is kept as {kept}"


def _written(status: Status) -> tuple[int, int]:
    """Return what a write changes; names that come and go do not."""
    return status.st_size, status.st_mtime_ns
