"""The one confined writer: what changes a person's tree, and nothing outside of it.

Rules (docs/adr/0019):
1. The root is opened once; everything is reached from that descriptor (host.reaching), and the root's path must go on
   leading to it.
2. A step is done only where its precondition holds when looked at, and again of what was displaced (host.placing).
3. What is put in place was built whole beside it, in a hidden directory of the root (host.staging): content, digest
   checked, owner, attributes, mode, time, and, in a durable tree, synced.
4. Nothing is let go of before the directories that were changed are synced (`sync`, then `settle`).
5. No OSError leaves a step: it becomes an `Outcome` with its reason, and the path is as it was.

It does not know the order of steps and where content comes from; engines.apply does, and is the only importer.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Self, TypeVar

from docket.errors import DocketError
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.plan import (
    Link,
    MakeDirectory,
    MakeSymlink,
    Outcome,
    Remove,
    RootIdentity,
    SetMode,
    Step,
    StepStatus,
    WriteFile,
    Xattr,
)
from docket.host.filling import Content, dress, fill
from docket.host.looking import Found, attributes, core_is_done, has_entries, look, unmet
from docket.host.placing import Built, Placed, Placer
from docket.host.reaching import Reached, Refusal, Ways, failure, unable
from docket.host.staging import NEW_SUFFIX, Staging
from docket.host.tree import file_key, identity_of, kind_of, open_root, root_identity, status_at
from docket.host.tree_calls import SYSTEM_CALLS, TreeCalls, open_name

T = TypeVar("T")

MAX_TOUCHED = 64
_ENOUGH_TO_WORK = 0o700
_NOTHING_BELOW = (Reason.NOT_FOUND, Reason.NOT_A_DIRECTORY)


class ConfinedTree:
    """An open tree that may be changed. `durable` False leaves every sync out, for a tree that nobody would miss."""

    def __init__(self, root: bytes, *, durable: bool = True, calls: TreeCalls = SYSTEM_CALLS) -> None:
        self.path = root
        self.durable = durable
        self.calls = calls
        self.descriptor = open_root(root)
        self.identity: RootIdentity = identity_of(os.fstat(self.descriptor))
        self.ways = Ways(self.descriptor, calls)
        self._staging: Staging | None = None
        self._placer: Placer | None = None
        self._document, self._keeps = b"", False
        self._touched: dict[tuple[int, int], int] = {}
        self._notes: dict[RelPath, bytes] = {}
        self._exchanges = True
        self.trouble: str | None = None

    def begin(self, document: bytes, *, keeps: bool) -> None:
        """Say whose steps follow: the plan's document, and whether what they displace is promised to somebody."""
        self._document, self._keeps = document, keeps
        self.ways.note = lambda path, mode: self._stage().note_opened(path, mode)
        self.ways.forget = self._forget_note

    @property
    def exchanges(self) -> bool:
        """False once it showed that names cannot be exchanged here (host.placing, rule 5)."""
        return self._exchanges and (self._placer is None or self._placer.exchanges)

    def examine(self, step: Step) -> Outcome | Found | None:
        """Return what stands at the step's path if the step can be done, else its outcome."""
        examined = self._guarded(step, "look at", lambda reached: self._examined(step, reached))
        if isinstance(step, Remove) and isinstance(examined, Refusal) and examined.reason in _NOTHING_BELOW:
            return Outcome(path=step.path, status=StepStatus.ALREADY)
        return examined.outcome(step.path) if isinstance(examined, Refusal) else examined

    def build(self, number: int, step: Step, content: Content | None, found: Found | None) -> Built | Outcome:
        """Make what the step puts in place, beside it; `found` is what stands there."""
        try:
            built = self._built(number, step, content, found)
        except OSError as error:
            built = failure(error, "write", step.path)
        except DocketError as error:
            built = unable(error, f"the content of {step.path} cannot be had")
        if not isinstance(built, Refusal):
            return built
        with suppress(OSError):
            self._stage().drop(_new_name(number))
        return built.outcome(step.path)

    def place(self, built: Built) -> Placed | Outcome:
        """Do the step, its precondition looked at again."""
        step = built.step
        placed: Placed | Outcome | Refusal = self._guarded(step, "change", lambda reached: self._placed(built, reached))
        if isinstance(placed, Placed):
            return placed
        self.discard(built)
        return placed.outcome(step.path) if isinstance(placed, Refusal) else placed

    def displaced(self, placed: Placed) -> int | None:
        """Open the file that a step displaced, for reading; None where it displaced none. May raise OSError."""
        if not placed.displaced or placed.before is None or placed.before.state.size is None:
            return None
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        return os.open(placed.built.staged, flags, dir_fd=self._stage().descriptor)

    def undo(self, placed: Placed) -> Refusal | None:
        """Put back what the step displaced; a refusal says why not."""
        return self._place_maker().undo(placed)

    def settle(self, placed: Placed) -> Refusal | None:
        """Let go of what the step displaced, after `sync`."""
        return self._place_maker().settle(placed)

    def finish(self, placed: Placed) -> Refusal | None:
        """Give a directory its last mode and time, when everything in it is done."""
        refused = self._place_maker().finish(placed)
        if refused is not None:  # its note stays, so that a later run closes it
            self._notes.pop(placed.step.path, None)
        return refused

    def discard(self, built: Built) -> None:
        """Remove what was built and is not put in place."""
        with suppress(OSError):
            self._place_maker().discard(built)

    def sync(self) -> None:
        """Return when every name changed so far would survive a power cut. May raise OSError."""
        try:
            for descriptor in self._touched.values():
                self.calls.sync(descriptor)
            if self._staging is not None:
                self._staging.sync()
        finally:
            self._forget_touched()

    def end(self) -> None:
        """Close what was opened up and remove the staging directory, if nothing is left in it. May raise OSError."""
        self.ways.close_below()
        self._exchanges = self.exchanges
        if self._staging is not None:
            for note in self._notes.values():
                self._staging.drop(note)
            self._notes.clear()
            staging, self._staging, self._placer = self._staging, None, None
            try:
                staging.remove()
            finally:
                staging.close()
                self.ways.close_root()
            if self.durable:
                self.calls.sync(self.descriptor)

    def close(self) -> None:
        """Give every descriptor back; nothing more is changed."""
        self.ways.abandon()
        self._forget_touched()
        if self._staging is not None:
            self._staging.close()
            self._staging = None
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def touch(self, reached: Reached) -> None:
        """Remember a directory that must be synced."""
        if not self.durable or reached.identity in self._touched:
            return
        if len(self._touched) >= MAX_TOUCHED:
            self.sync()
        self._touched[reached.identity] = os.dup(reached.descriptor)

    def _forget_touched(self) -> None:
        for descriptor in self._touched.values():
            os.close(descriptor)
        self._touched.clear()

    def _forget_note(self, note: bytes) -> None:
        if self._staging is not None:
            self._staging.drop(note)

    def _stage(self) -> Staging:
        if self._staging is None:
            self.ways.open_root()
        # Opening the root may have noted it, and so have made the staging directory already.
        if self._staging is None:
            self._staging = Staging.create(
                self.descriptor, self._document, self.calls, durable=self.durable, keeps=self._keeps
            )
        return self._staging

    def _place_maker(self) -> Placer:
        if self._placer is None:
            self._placer = Placer(self.ways, self._stage(), self.calls, self.touch)
        return self._placer

    def _guarded(self, step: Step, action: str, work: Callable[[Reached], T | Refusal]) -> T | Refusal:
        if root_identity(self.path) != self.identity:
            return Refusal(Reason.ROOT_REPLACED, "another directory stands at the root's path by now")
        reached = self.ways.reach(step.path)
        if isinstance(reached, Refusal):
            return reached
        with reached:
            try:
                return work(reached)
            except OSError as error:
                return failure(error, action, step.path)

    def _examined(self, step: Step, reached: Reached) -> Outcome | Refusal | Found | None:
        if self.ways.is_mount(step.path):
            return Refusal(Reason.OTHER_FILE_SYSTEM, "it is a mount point")
        found = look(*reached.place, self.ways.own_mode)
        if isinstance(found, Refusal):
            return found
        if found is not None and found.status.st_dev != self.identity[0]:
            return Refusal(Reason.OTHER_FILE_SYSTEM, "it is on another file system")
        refused = unmet(step, found)
        if self._is_done(step, reached, found, otherwise=refused is not None):
            return Outcome(path=step.path, status=StepStatus.ALREADY)
        return refused or self._obstacle(step, reached, found) or found

    def _is_done(self, step: Step, reached: Reached, found: Found | None, *, otherwise: bool) -> bool:
        """Whether nothing is left to do; `otherwise` where only times and attributes could be left, and not for us."""
        if isinstance(step, Remove) or found is None:
            return isinstance(step, Remove) and found is None
        if isinstance(step, Link):
            return identity_of(found.status) == self._identity_at(step.to)
        return core_is_done(step, found) and (otherwise or not self._rest_differs(step, reached, found))

    def _rest_differs(self, step: Step, reached: Reached, found: Found) -> bool:
        mtime_ns = getattr(step, "mtime_ns", None)
        if mtime_ns is not None and mtime_ns != found.status.st_mtime_ns:
            return True
        wanted = step.xattrs if isinstance(step, WriteFile) else None
        return wanted is not None and wanted != attributes(*reached.place)

    def _obstacle(self, step: Step, reached: Reached, found: Found | None) -> Refusal | None:
        if found is None:
            return Refusal(Reason.NOT_FOUND, "nothing stands there") if isinstance(step, SetMode) else None
        if isinstance(step, SetMode) and found.state.size is None:
            return Refusal(Reason.NOT_A_FILE, f"a {found.kind} stands there, whose mode this step does not set")
        if isinstance(step, Remove) and found.is_directory != (step.kind == "directory"):
            return Refusal(Reason.CHANGED_SINCE, f"a {step.kind} was to be removed, and a {found.kind} stands there")
        if found.is_directory and not isinstance(step, MakeDirectory):
            self.ways.open_up(reached, step.path)
            if has_entries(*reached.place):
                return Refusal(Reason.NOT_EMPTY, "a directory that is not empty stands there")
        return None

    def _identity_at(self, path: RelPath) -> tuple[int, int] | None:
        reached = self.ways.reach(path)
        if isinstance(reached, Refusal):
            return None
        with reached, suppress(OSError):
            return identity_of(os.stat(reached.name, dir_fd=reached.descriptor, follow_symlinks=False))
        return None

    def _placed(self, built: Built, reached: Reached) -> Placed | Outcome | Refusal:
        found = self._seen_again(built, reached) or self._examined(built.step, reached)
        if found is not None and not isinstance(found, Found):
            return found
        return self._place_maker().place(built, reached, found)

    def _seen_again(self, built: Built, reached: Reached) -> Found | None:
        """Return what was seen, if it shows no change: a full look follows when it is displaced."""
        status = status_at(*reached.place)
        seen = built.seen
        unchanged = (
            seen is not None and isinstance(status, os.stat_result) and file_key(status) == file_key(seen.status)
        )
        return seen if unchanged else None

    def _built(self, number: int, step: Step, content: Content | None, found: Found | None) -> Built | Refusal:
        name = _new_name(number)
        alters = found is not None and self._stays(step, found)
        if alters or isinstance(step, SetMode | Remove):
            return Built(number=number, step=step, staged=b"%d.0" % number, seen=found)
        detail = ""
        match step:
            case WriteFile():
                made = self._file(name, step, content, found)
                if isinstance(made, Refusal):
                    return made
                detail = made
            case MakeDirectory():
                if step.mode & _ENOUGH_TO_WORK != _ENOUGH_TO_WORK:
                    self._notes[step.path] = self._stage().note_opened(step.path.raw, step.mode)
                self.calls.make_directory(self._stage().descriptor, name)
                self._set_mode(name, step.mode | _ENOUGH_TO_WORK)
            case MakeSymlink():
                self.calls.make_symlink(step.target, self._stage().descriptor, name)
                if step.mtime_ns is not None:
                    self.calls.set_mtime((self._stage().descriptor, name), step.mtime_ns)
            case Link():
                refused = self._linked(name, step)
                if refused is not None:
                    return refused
            case _:
                raise AssertionError(step)
        return replace(self._named(number, step, detail), seen=found)

    def _stays(self, step: Step, found: Found) -> bool:
        """Whether what stands there is altered rather than replaced."""
        if isinstance(step, MakeDirectory):
            return found.is_directory
        if not isinstance(step, WriteFile) or not core_is_done(step, found):
            return False
        reached = self.ways.reach(step.path)
        if isinstance(reached, Refusal):
            return False
        with reached:
            return step.xattrs is None or step.xattrs == attributes(*reached.place)

    def _named(self, number: int, step: Step, detail: str) -> Built:
        staging = self._stage().descriptor
        inode = os.stat(_new_name(number), dir_fd=staging, follow_symlinks=False).st_ino
        staged = b"%d.%d" % (number, inode)
        self.calls.rename((staging, _new_name(number)), (staging, staged))
        return Built(number=number, step=step, staged=staged, inode=inode, detail=detail)

    def _file(self, name: bytes, step: WriteFile, content: Content | None, found: Found | None) -> str | Refusal:
        if content is None:
            return Refusal(Reason.CONTENT_MISSING, f"no store has the content {step.content.sha256}", failed=True)
        before = found if found is not None and found.state.size is not None else None
        carried: tuple[Xattr, ...] = ()
        if before is not None and step.xattrs is None:
            reached = self.ways.reach(step.path)
            if not isinstance(reached, Refusal):
                with reached:
                    carried = attributes(*reached.place)
        descriptor = self.calls.make_file(self._stage().descriptor, name)
        try:
            refused = fill(self.calls, descriptor, step, content)
            if refused is not None:
                return refused
            detail = dress(self.calls, descriptor, step, before, carried)
            if self.durable:
                self.calls.sync(descriptor)
            return detail
        finally:
            os.close(descriptor)

    def _set_mode(self, name: bytes, mode: int) -> None:
        descriptor = open_name(self._stage().descriptor, name)
        try:
            self.calls.chmod(descriptor, mode)
        finally:
            os.close(descriptor)

    def _linked(self, name: bytes, step: Link) -> Refusal | None:
        reached = self.ways.reach(step.to)
        if isinstance(reached, Refusal):
            return reached
        staging = self._stage().descriptor
        with reached:
            seen = os.stat(reached.name, dir_fd=reached.descriptor, follow_symlinks=False)
            if kind_of(seen.st_mode) != "file":
                return Refusal(Reason.NOT_A_FILE, f"{step.to} is no file, and only files are linked")
            self.calls.link(reached.place, (staging, name))
        made = os.stat(name, dir_fd=staging, follow_symlinks=False)
        if identity_of(made) != identity_of(seen):
            return Refusal(Reason.CHANGED_SINCE, f"another thing was put at {step.to} meanwhile")
        return None


def _new_name(number: int) -> bytes:
    return b"%d%s" % (number, NEW_SUFFIX)
