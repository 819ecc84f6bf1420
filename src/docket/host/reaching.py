"""Reaching a path inside a tree: one component at a time from an open root, never through a link or a mount.

Rules:
1. A path is checked as it is used, whatever made it: relative, no `.`, `..`, empty part or NUL.
2. Each directory on the way is opened in the one before it; a link, another kind of thing, a mount point or another
   file system is a `Refusal` with its reason, and nothing beyond is looked at.
3. A directory of the user's own that its mode keeps closed is opened for its owner alone, and gets its mode back as
   soon as it is not among the last few used. What was opened is noted before, so that a later run can close it.
4. Whoever only looks opens none that lets its owner look already.

What is done at the path is `host.confined`'s.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from docket.errors import DocketError, InvalidDocumentError
from docket.formats.dataclass import dataclass, replace
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.steps import Outcome, StepStatus
from docket.formats.visible import visible
from docket.host.disk import unavailable
from docket.host.mounts import mounts_below
from docket.host.tree import identity_of
from docket.host.tree_calls import TreeCalls, open_below, open_inside, open_name

STAGING_PREFIX = b".docket-apply-"
MAX_OPENED = 32
_ATTEMPTS = 8
_PASS, _CHANGE, _LOOK, _ALL = 0o100, 0o300, 0o500, 0o700


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why something was not done; `failed` where the operating system refused rather than docket."""

    reason: Reason
    detail: str
    failed: bool = False

    def outcome(self, path: RelPath) -> Outcome:
        """Return what it makes of the step at `path`."""
        status = StepStatus.FAILED if self.failed else StepStatus.REFUSED
        return Outcome(path=path, status=status, reason=self.reason, detail=self.detail)


def unable(error: DocketError, what: str) -> Refusal:
    """Return the refusal for what somebody who was asked could not do; `what` says so in words."""
    reason = Reason(error.reason) if error.reason in tuple(Reason) else Reason.CONTENT_MISSING
    return Refusal(reason, f"{what}: {error.detail}", failed=True)


def failure(error: OSError, action: str, path: RelPath) -> Refusal:
    """Return the refusal for an OSError met while doing `action` (an infinitive) to `path`."""
    if error.errno in (errno.EXDEV, errno.EBUSY):
        return Refusal(Reason.OTHER_FILE_SYSTEM, f"cannot {action} {path}: it lies on a mount point", failed=True)
    if error.errno == errno.EMLINK:
        return Refusal(Reason.TOO_MANY_LINKS, f"cannot {action} {path}: it would have too many names", failed=True)
    if error.errno in (errno.ENOTEMPTY, errno.EEXIST) and action == "remove":
        return Refusal(Reason.NOT_EMPTY, f"cannot remove {path}: the directory is not empty")
    told = unavailable(error, action, str(path))
    return Refusal(Reason(told.reason), told.detail, failed=True)


@dataclass(slots=True)
class Reached:
    """An open directory and the name in it that a path stands for."""

    descriptor: int
    name: bytes
    identity: tuple[int, int]

    @property
    def place(self) -> tuple[int, bytes]:
        """The pair that calls take."""
        return self.descriptor, self.name

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.descriptor)


@dataclass(frozen=True, slots=True)
class _Opened:
    descriptor: int
    mode: int
    note: bytes


class Ways:
    """The ways into one tree, to look until `begin` says that it will be changed."""

    def __init__(self, root: int, calls: TreeCalls) -> None:
        self._root = root
        self._calls = calls
        self._device = os.fstat(root).st_dev
        self._mounts = mounts_below(root)
        self._opened: OrderedDict[tuple[int, int], _Opened] = OrderedDict()
        self._note: Callable[[bytes, int], bytes] = lambda _path, _mode: b""
        self._forget: Callable[[bytes], None] = lambda _note: None
        self.changes = False

    def begin(self, note: Callable[[bytes, int], bytes], forget: Callable[[bytes], None]) -> None:
        """Reach things to change them from now on.

        `note` records a directory that is about to be opened up, with its mode, and returns the note's name, which
        `forget` gets when it is closed. Both may raise OSError.
        """
        self._note, self._forget, self.changes = note, forget, True

    def reach(self, path: RelPath) -> Reached | Refusal:
        """Open the directory that holds `path`; the caller closes it."""
        refused = self._refused(path)
        if refused is not None:
            return refused
        reached = self._at_once(path)
        if reached is not None:
            return reached
        *above, name = path.parts
        passed = b""
        try:
            current = os.dup(self._root)
        except OSError as error:
            return failure(error, "reach", path)
        try:
            self._open_up(current, b"", _PASS if above else self._needed)
            for index, part in enumerate(above, start=1):
                passed = passed + b"/" + part if passed else part
                entered = self._enter(current, part, passed)
                if isinstance(entered, Refusal):
                    os.close(current)
                    return entered
                os.close(current)
                current = entered
                self._open_up(current, passed, self._needed if index == len(above) else _PASS)
            return Reached(current, name, identity_of(os.fstat(current)))
        except OSError as error:
            os.close(current)
            return failure(error, "reach", path)

    def moved(self, path: RelPath, reached: Reached) -> Refusal | None:
        """Return why the directory reached before is not the one that the path leads to now, None where it is."""
        again = self.reach(path)
        if isinstance(again, Refusal):
            return Refusal(Reason.MOVED_WHILE_WRITTEN, f"its directory was moved meanwhile: {again.detail}")
        with again:
            if again.identity != reached.identity:
                return Refusal(Reason.MOVED_WHILE_WRITTEN, "its directory was replaced meanwhile")
        return None

    def _at_once(self, path: RelPath) -> Reached | None:
        """Reach a path whose directories are all open to the user, in one call; None where it takes more."""
        holder, slash, name = path.raw.rpartition(b"/")
        if not slash:
            return None
        try:
            descriptor = open_below(self._root, holder)
        except OSError:  # a name at a time tells which one it was, and why
            return None
        if descriptor is None:
            return None
        status = os.fstat(descriptor)
        if status.st_dev == self._device and status.st_mode & self._needed == self._needed:
            return Reached(descriptor, name, identity_of(status))
        os.close(descriptor)
        return None

    @property
    def _needed(self) -> int:
        """What a directory must let its owner do in it."""
        return _CHANGE if self.changes else _PASS

    def is_mount(self, path: RelPath) -> bool:
        """Whether the path is a mount point, as far as the kernel's table told when the tree was opened."""
        return path.raw in self._mounts

    def own_mode(self, status: os.stat_result) -> int:
        """Return the permission bits a directory has by itself, also while it is opened up."""
        opened = self._opened.get(identity_of(status))
        return stat.S_IMODE(status.st_mode) if opened is None else opened.mode

    def open_up(self, reached: Reached, path: RelPath) -> None:
        """Open the directory at a reached name to its owner: to be moved, or looked into. May raise OSError."""
        descriptor = open_name(*reached.place)
        try:
            self._open_up(descriptor, path.raw, _ALL if self.changes else _LOOK)
        finally:
            os.close(descriptor)

    def settle_mode(self, status: os.stat_result) -> None:
        """Forget that a directory was opened up: it has another mode by now, or is gone."""
        opened = self._opened.pop(identity_of(status), None)
        if opened is not None:
            os.close(opened.descriptor)
            self._forget(opened.note)

    def adopt(self, descriptor: int, mode: int, note: bytes) -> bool:
        """Take over a directory that somebody opened up and noted, if it has the mode for the moment still.

        May raise OSError.
        """
        status = os.fstat(descriptor)
        identity = identity_of(status)
        if not stat.S_ISDIR(status.st_mode) or stat.S_IMODE(status.st_mode) != mode | _ALL or identity in self._opened:
            return False
        self._opened[identity] = _Opened(os.dup(descriptor), mode, note)
        return True

    def open_root(self) -> None:
        """Open the root itself to its owner, so that things can be made in it. May raise OSError."""
        self._open_up(self._root, b"", _CHANGE)

    def close_below(self) -> None:
        """Give every directory below the root that was opened up its mode back. May raise OSError."""
        root = identity_of(os.fstat(self._root))
        for identity in [item for item in self._opened if item != root]:
            self._opened.move_to_end(identity, last=False)
            self._close_oldest()
        if root in self._opened:
            self._forget(self._opened[root].note)

    def close_root(self) -> None:
        """Give the root its mode back, when nothing of docket's stands in it any more. May raise OSError."""
        while self._opened:
            self._close_oldest()

    def abandon(self) -> None:
        """Give the descriptors back and change nothing more."""
        for opened in self._opened.values():
            os.close(opened.descriptor)
        self._opened.clear()

    def _refused(self, path: RelPath) -> Refusal | None:
        try:
            RelPath.parse(path.raw)
        except InvalidDocumentError as error:
            return Refusal(Reason.NOT_A_PATH, error.detail)
        if path.parts[0].startswith(STAGING_PREFIX):
            return Refusal(Reason.EXCLUDED, f"{path} lies where docket keeps what it is about to put in place")
        return None

    def _enter(self, parent: int, name: bytes, path: bytes) -> int | Refusal:
        if path in self._mounts:
            return Refusal(Reason.OTHER_FILE_SYSTEM, f"{visible(path)} is a mount point")
        for _ in range(_ATTEMPTS):
            try:
                entered = open_inside(parent, name)
            except PermissionError:
                if not self._open_unreadable(parent, name, path):
                    raise
                continue
            except OSError as error:
                if error.errno == errno.EAGAIN:  # something was renamed at this moment
                    continue
                return self._no_directory(error, parent, name, path)
            if os.fstat(entered).st_dev == self._device:
                return entered
            os.close(entered)
            return Refusal(Reason.OTHER_FILE_SYSTEM, f"{visible(path)} is on another file system")
        return Refusal(Reason.CHANGED_WHILE_READ, f"{visible(path)} is renamed again and again")

    def _no_directory(self, error: OSError, parent: int, name: bytes, path: bytes) -> Refusal:
        shown = visible(path)
        match error.errno:
            case errno.ENOENT:
                return Refusal(Reason.NOT_FOUND, f"the directory {shown} does not exist")
            case errno.EXDEV:
                return Refusal(Reason.OTHER_FILE_SYSTEM, f"{shown} is a mount point")
            case errno.ELOOP | errno.ENOTDIR:
                if _is_link(parent, name):
                    return Refusal(Reason.IS_A_SYMLINK, f"{shown} is a symbolic link, and none is followed")
                return Refusal(Reason.NOT_A_DIRECTORY, f"{shown} is no directory")
            case _:
                return failure(error, "enter", RelPath(path))

    def _open_unreadable(self, parent: int, name: bytes, path: bytes) -> bool:
        descriptor = open_name(parent, name)
        try:
            return self._open_up(descriptor, path, _ALL)
        finally:
            os.close(descriptor)

    def _open_up(self, descriptor: int, path: bytes, needed: int) -> bool:
        """Let the owner into a directory that is the user's own; say whether it was closed."""
        status = os.fstat(descriptor)
        identity, mode = identity_of(status), stat.S_IMODE(status.st_mode)
        if identity in self._opened:
            self._opened.move_to_end(identity)
        if not stat.S_ISDIR(status.st_mode) or mode & needed == needed:
            return False
        user = os.geteuid()
        if user == 0 or status.st_uid != user or status.st_dev != self._device:
            return False
        while len(self._opened) >= MAX_OPENED:
            self._close_oldest()
        # The root can only be noted once something can be made in it.
        note = self._note(path, mode) if path else b""
        held = -1
        try:
            held = os.dup(descriptor)
            self._calls.chmod(held, mode | _ALL)
        except OSError:
            if held >= 0:
                os.close(held)
            self._forget(note)
            raise
        self._opened[identity] = _Opened(held, mode, note)
        if not path:
            self._opened[identity] = replace(self._opened[identity], note=self._note(path, mode))
        return True

    def _close_oldest(self) -> None:
        _, opened = self._opened.popitem(last=False)
        try:
            with suppress(FileNotFoundError):
                self._calls.chmod(opened.descriptor, opened.mode)
        finally:
            os.close(opened.descriptor)
        self._forget(opened.note)


def _is_link(parent: int, name: bytes) -> bool:
    with suppress(OSError):
        return stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    return False
