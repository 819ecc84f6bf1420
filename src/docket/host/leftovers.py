"""What an apply that died left in a tree: recognised, judged by the plan it belongs to, and removed or put back.

Rules:
1. Only an unlocked staging directory of this user, with a plan that can be read, is touched; anything else is told.
2. What an apply had only built is removed. What it displaced is removed if it is what its plan expected there, and
   was promised to nobody; else it is put back, if the path still holds what took its place.
   Where a journal belongs to it, recovery alone says what becomes of it: only that of the plan `owned` is cleared.
3. A directory that was opened to its owner gets its mode back, if it still has the one it was given for the moment.
4. What can be neither removed nor put back stays, and the leftover says so.

A forged staging directory can at worst have its own things removed, and modes set that the plan's own user may set.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
from contextlib import suppress
from enum import StrEnum

from docket.errors import DocketError, InvalidDocumentError
from docket.formats.dataclass import dataclass
from docket.formats.relpath import RelPath
from docket.formats.tree.plan import Plan, Step, decode_plan
from docket.formats.visible import visible
from docket.host.confined import ConfinedTree
from docket.host.looking import Found, has_entries, look, unmet
from docket.host.reaching import STAGING_PREFIX, Refusal
from docket.host.staging import JOURNAL, KEPT, NEW_SUFFIX, OPENED_PREFIX, OWN_FILES, PLAN, Staging
from docket.host.tree_calls import open_inside, open_name

_ITEM = re.compile(rb"(0|[1-9][0-9]{0,9})\.(0|[1-9][0-9]{0,19})(\.aside)?")
_OWN_MODE = 0o700
_NOTE = re.compile(rb"([0-7]{1,4}) (.*)", re.DOTALL)


class LeftoverState(StrEnum):
    """What became of a leftover; `foreign` is what merely has such a name, `interrupted` a commit's."""

    REMOVED = "removed"
    KEPT = "kept"
    IN_USE = "in-use"
    FOREIGN = "foreign"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """A staging directory that was found. `plan` is the digest of its plan, `detail` why something in it was kept.

    Of an interrupted commit, `detail` says whose it is: the transaction and the folder that has its journal.
    """

    name: bytes
    state: LeftoverState
    plan: str | None = None
    detail: str | None = None


def leftover_names(tree: ConfinedTree) -> tuple[bytes, ...]:
    """Return the names in the root that an apply may have left, live ones too."""
    names = (os.fsencode(name) for name in os.listdir(tree.descriptor))  # noqa: PTH208 - by descriptor
    return tuple(sorted(name for name in names if name.startswith(STAGING_PREFIX)))


def sweep(tree: ConfinedTree, owned: str | None = None) -> tuple[Leftover, ...]:
    """Clear away what dead applies left in the tree; may be killed and run again. May raise OSError.

    `owned` is the digest of a journal's plan of which nothing was put in place yet.
    """
    return tuple(_swept(tree, name, owned) for name in leftover_names(tree))


def interrupted(tree: ConfinedTree) -> tuple[Leftover, ...]:
    """Return the leftovers of commits, live ones' too, and change nothing."""
    found = []
    for name in leftover_names(tree):
        with suppress(OSError):
            descriptor = open_inside(tree.descriptor, name)
            staging = Staging(tree.descriptor, descriptor, name, tree.calls, durable=False)
            try:
                detail = visible(staging.read(JOURNAL))
                found.append(Leftover(name=name, state=LeftoverState.INTERRUPTED, detail=detail))
            finally:
                staging.close()
    return tuple(found)


def _swept(tree: ConfinedTree, name: bytes, owned: str | None) -> Leftover:
    staging = Staging.open(tree.descriptor, name, tree.calls, durable=tree.durable)
    if staging is None:
        held = _is_held(tree.descriptor, name)
        return Leftover(name=name, state=LeftoverState.IN_USE if held else LeftoverState.FOREIGN)
    root = _OpenRoot(tree)
    try:
        plan = _plan(staging)
        if isinstance(plan, str):
            return Leftover(name=name, state=LeftoverState.KEPT, detail=plan)
        digest = None if plan is None else plan.digest
        if plan is not None and digest != owned and JOURNAL in staging.names():
            detail = visible(staging.read(JOURNAL))
            return Leftover(name=name, state=LeftoverState.INTERRUPTED, plan=digest, detail=detail)
        if digest is not None and digest == owned and _has_displaced(staging):
            detail = "its journal says that nothing was put in place, and something was displaced"
            return Leftover(name=name, state=LeftoverState.KEPT, plan=digest, detail=detail)
        tree.ways.begin(staging.note_opened, staging.drop)
        kept = _Sweep(tree, staging, plan, root).run() if plan is not None else []
        tree.ways.close_below()
        if not kept and staging.remove():
            return Leftover(name=name, state=LeftoverState.REMOVED, plan=digest)
        detail = "; ".join(kept) or "it holds things that are not docket's"
        return Leftover(name=name, state=LeftoverState.KEPT, plan=digest, detail=detail)
    finally:
        staging.close()
        root.close()


def _has_displaced(staging: Staging) -> bool:
    for name in staging.names():
        item = _ITEM.fullmatch(name)
        if item is not None:
            status = os.stat(name, dir_fd=staging.descriptor, follow_symlinks=False)
            if status.st_ino != int(item[2]):
                return True
    return False


def _is_held(root: int, name: bytes) -> bool:
    """Whether a live apply of this user's holds a staging directory: a thing that has such a name stops nobody."""
    try:
        descriptor = open_inside(root, name)
    except OSError:
        return False
    try:
        status = os.fstat(descriptor)
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) != _OWN_MODE:
            return False
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


class _OpenRoot:
    """The root, open to its owner while something is removed from it; `mode` is the one it gets in the end."""

    def __init__(self, tree: ConfinedTree) -> None:
        self._tree = tree
        status = os.fstat(tree.descriptor)
        self.mode = stat.S_IMODE(status.st_mode)
        if self.mode & 0o300 != 0o300 and 0 != os.geteuid() == status.st_uid:
            tree.calls.chmod(tree.descriptor, self.mode | 0o700)

    def close(self) -> None:
        if stat.S_IMODE(os.fstat(self._tree.descriptor).st_mode) != self.mode:
            self._tree.calls.chmod(self._tree.descriptor, self.mode)


def _plan(staging: Staging) -> Plan | str | None:
    """Return the plan; None where none was written yet, so that nothing was done; what is wrong with it else."""
    names = set(staging.names())
    try:
        return decode_plan(staging.read(PLAN))
    except (OSError, InvalidDocumentError) as error:
        if names <= OWN_FILES:  # it died while the plan was written, before the first step
            return None
        return f"its plan cannot be read: {error.detail if isinstance(error, DocketError) else error.strerror}"


class _Sweep:
    def __init__(self, tree: ConfinedTree, staging: Staging, plan: Plan, root: _OpenRoot) -> None:
        self._root = root
        self._tree = tree
        self._staging = staging
        self._plan = plan
        self._kept: list[str] = []

    def run(self) -> list[str]:
        """Clear the staging directory; return what had to stay, in words."""
        names = self._staging.names()
        promised = KEPT in names
        for name in names:
            item = _ITEM.fullmatch(name)
            if name.endswith(NEW_SUFFIX):
                self._drop(name)
            elif item is not None:
                self._judge(name, int(item[1]), int(item[2]), promised=promised)
        for name in reversed(names):
            if name.startswith(OPENED_PREFIX):
                self._close(name)
        if self._tree.durable:
            self._tree.sync()
        return self._kept

    def _judge(self, name: bytes, number: int, inode: int, *, promised: bool) -> None:
        place = (self._staging.descriptor, name)
        status = os.stat(name, dir_fd=self._staging.descriptor, follow_symlinks=False)
        if status.st_ino == inode:
            self._drop(name)
            return
        if number >= len(self._plan):
            self._kept.append(f"{visible(name)} belongs to no step")
            return
        step = self._plan.steps[number]
        if not self._is_expected(step, place, status):
            if not self._returned(step.path, place, inode):
                self._kept.append(f"what was saved at {step.path} is kept as {visible(name)}")
        elif promised and not stat.S_ISDIR(status.st_mode):
            self._kept.append(f"what stood at {step.path} is kept as {visible(name)}")
        else:
            self._drop(name)

    def _is_expected(self, step: Step, place: tuple[int, bytes], status: os.stat_result) -> bool:
        if stat.S_ISDIR(status.st_mode):  # its mode may be the one it was given for the moment
            return not has_entries(*place)
        found = look(*place, self._tree.ways.own_mode)
        return isinstance(found, Found) and unmet(step, found) is None

    def _returned(self, path: RelPath, place: tuple[int, bytes], inode: int) -> bool:
        """Put a thing back in the place from which it was displaced, if that holds what took it, or nothing."""
        reached = self._tree.ways.reach(path)
        if isinstance(reached, Refusal):
            return False
        with reached:
            self._tree.touch(reached)
            try:
                now = os.stat(reached.name, dir_fd=reached.descriptor, follow_symlinks=False)
            except FileNotFoundError:
                with suppress(OSError):
                    self._tree.calls.rename_new(place, reached.place)
                    return True
                return False
            if now.st_ino != inode or stat.S_ISDIR(now.st_mode):
                return False
            with suppress(OSError):
                self._tree.calls.exchange(place, reached.place)
                self._drop(place[1])
                return True
            return False

    def _drop(self, name: bytes) -> None:
        status = os.stat(name, dir_fd=self._staging.descriptor, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            self._tree.calls.remove_directory(self._staging.descriptor, name)
        else:
            self._tree.calls.unlink(self._staging.descriptor, name)

    def _close(self, name: bytes) -> None:
        note = _NOTE.fullmatch(self._staging.read(name))
        if note is not None:
            mode = int(note[1], 8) & 0o7777
            if note[2]:
                self._restore_mode(note[2], mode, from_mode=mode | 0o700)
            elif self._root.mode in (mode, mode | 0o700):
                self._root.mode = mode
        self._staging.drop(name)

    def _restore_mode(self, path: bytes, mode: int, *, from_mode: int) -> None:
        with suppress(OSError):
            descriptor = self._open(path)
            if descriptor is None:
                return
            try:
                status = os.fstat(descriptor)
                if stat.S_ISDIR(status.st_mode) and stat.S_IMODE(status.st_mode) == from_mode:
                    self._tree.calls.chmod(descriptor, mode)
            finally:
                os.close(descriptor)

    def _open(self, path: bytes) -> int | None:
        reached = self._tree.ways.reach(RelPath(path))
        if isinstance(reached, Refusal):
            return None
        with reached:
            return open_name(*reached.place)
