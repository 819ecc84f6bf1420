"""The one confined writer: what changes a person's tree, and nothing outside of it.

Rules (docs/adr/0019):
1. The root is opened once; everything is reached from that descriptor (host.reaching), and the root's path must go on
   leading to it. A directory on the way is the same one throughout (host.holders).
2. A step is done only where its precondition holds when looked at, and again of what was displaced (host.placing).
3. What is put in place was built whole beside it, in a hidden directory of the root (host.building), and in a durable
   tree its content was synced (`harden`).
4. Nothing is let go of before the directories that were changed are synced (`sync`, then `settle`).
5. No OSError leaves a step: it becomes an `Outcome` with its reason, and the path is as it was. Where a path could not
   be put back and a journal tells of it, the hidden directory stays, so that whoever looks finds that it is not over.

It does not know the order of steps and where content comes from; engines.apply does, and is the only importer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self, TypeVar

from docket.errors import DocketError
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.plain import PlainFile
from docket.formats.tree.plan import Plan, RootIdentity
from docket.formats.tree.steps import MakeDirectory, Outcome, Remove, Step, StepStatus
from docket.formats.visible import visible
from docket.formats.workspace.journal import StagingIdentity
from docket.host.building import Builder
from docket.host.copying import Copier, Made, Stopped
from docket.host.direct import DirectMaker
from docket.host.examining import Examiner
from docket.host.filling import Content
from docket.host.finishing import Finished, Finisher
from docket.host.holders import Holders
from docket.host.looking import Found, look
from docket.host.placing import Built, Placed, Placer
from docket.host.reaching import Reached, Refusal, Ways, failure, unable
from docket.host.resuming import adopt, even_out, reopen
from docket.host.staging import JOURNAL, KEPT, PLAN, Staging
from docket.host.syncing import Syncing
from docket.host.tree import file_key, identity_of, open_root, root_identity, status_at
from docket.host.tree_calls import SYSTEM_CALLS, TreeCalls

T = TypeVar("T")

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
        self.holders = Holders()
        self._syncing = Syncing(self.descriptor, calls)
        self._examiner = Examiner(self.ways, self.identity[0])
        self._builder = Builder(self.ways, calls, self._stage)
        self._finisher = Finisher(self.ways, calls, self.touch)
        self._direct = DirectMaker(self.ways, calls)
        self._staging: Staging | None = None
        self._placer: Placer | None = None
        self._files: dict[bytes, bytes] = {}
        self._exchanges = True
        self._is_torn = False
        self.trouble: str | None = None

    def begin(self, plan: Plan, *, keeps: bool, journal: bytes | None = None) -> None:
        """Say whose steps follow, and whether what they displace is promised to somebody.

        `journal` says whose journal tells of them, where one does: nobody else clears up what they leave.
        """
        self._files = {PLAN: plan.document, **({KEPT: b""} if keeps else {})}
        if journal is not None:
            self._files[JOURNAL] = journal
        self._expect(plan.steps)

    def resume(self, staging: StagingIdentity, steps: Sequence[Step], *, looks: bool = False) -> Refusal | None:
        """Go on where an apply of these steps died, with the directory that it left; a refusal says why not.

        `looks`: nothing is to be changed. May raise OSError.
        """
        self._files = {JOURNAL: b""}
        opened = reopen(self.descriptor, staging, self.calls, durable=self.durable)
        if isinstance(opened, Refusal):
            return opened
        self._staging = opened
        if not looks:
            self._expect(steps)
            even_out(opened, self.ways, self.calls, steps)
            self.adopt()
        return None

    def adopt(self) -> None:
        """Take over, as this apply's own, the directories that were opened up before. May raise OSError."""
        self._builder.notes.update(adopt(self._stage(), self.ways))

    def _expect(self, steps: Sequence[Step]) -> None:
        timed = {step.path for step in steps if isinstance(step, MakeDirectory) and step.mtime_ns is not None}
        holders = {step.path.parent for step in steps} if timed else set()
        self._examiner.passed = frozenset(path for path in timed if path in holders)
        self.ways.begin(lambda path, mode: self._stage().note_opened(path, mode), self._forget_note)

    @property
    def exchanges(self) -> bool:
        """False once it showed that names cannot be exchanged here (host.placing, rule 5)."""
        return self._exchanges and (self._placer is None or self._placer.exchanges)

    def examine(self, step: Step, *, anew: bool = False) -> Outcome | Found | None:
        """Return what stands at the step's path if the step can be done, else its outcome (host.examining)."""
        examined = self._guarded(step.path, "look at", lambda reached: self._examiner.examine(step, reached, anew=anew))
        if isinstance(step, Remove) and isinstance(examined, Refusal) and examined.reason in _NOTHING_BELOW:
            return Outcome(path=step.path, status=StepStatus.ALREADY)
        return examined.outcome(step.path) if isinstance(examined, Refusal) else examined

    def stands(self, step: Step) -> Found | None:
        """Return what stands at the step's path, None for nothing, or where it cannot be told."""
        found = self._guarded(step.path, "look at", lambda reached: look(*reached.place, self.ways.own_mode))
        return found if isinstance(found, Found) else None

    def build(
        self, number: int, step: Step, content: Content | None, found: Found | None, source: Built | None = None
    ) -> Built | Outcome:
        """Make what the step puts in place, beside it; `found` is what stands there (host.building)."""
        built: Built | Refusal
        try:
            built = self._builder.build(number, step, content, found, source)
        except OSError as error:
            built = failure(error, "write", step.path)
        except DocketError as error:
            built = unable(error, f"the content of {step.path} cannot be had")
        if not isinstance(built, Refusal):
            return built
        with suppress(OSError):
            self._builder.drop(number)
        return built.outcome(step.path)

    def make(self, number: int, step: Step, content: Content | None) -> Placed | Outcome | None:
        """Do a step at once where its name is free (host.direct); None where it takes the longer way."""
        try:
            made = self._guarded(step.path, "write", lambda reached: self._direct.make(number, step, content, reached))
        except DocketError as error:
            made = unable(error, f"the content of {step.path} cannot be had")
        return made.outcome(step.path) if isinstance(made, Refusal) else made

    def copy(self, files: Sequence[PlainFile], copier: Copier) -> Made | Stopped:
        """Make files of one directory, in a tree that is not durable and where nothing stands yet (host.copying)."""
        path = RelPath(files[0][0])

        def work(reached: Reached) -> Made | Stopped | Refusal:
            made = copier.copy(files, reached)
            if isinstance(made, Stopped):
                return made
            moved = self.ways.moved(path, reached)
            if moved is None:
                return made
            copier.unmake(made, reached.descriptor)
            return moved

        done: Made | Stopped | Refusal = self._guarded(path, "write", work)
        return Stopped(path, done) if isinstance(done, Refusal) else done

    def harden(self, built: Sequence[Built]) -> dict[int, Outcome]:
        """Make the contents of what was built durable; what cannot be is discarded, and told by its number."""
        waiting = {item.staged: item for item in built if item.unsynced}
        if not self.durable or not waiting:
            return {}
        undone = {}
        for name, error in self._syncing.contents(self._stage().descriptor, tuple(waiting)).items():
            item = waiting[name]
            self.discard(item)
            undone[item.number] = failure(error, "write", item.step.path).outcome(item.step.path)
        return undone

    def place(self, built: Built) -> Placed | Outcome:
        """Do the step, its precondition looked at again."""
        step = built.step
        placed: Placed | Outcome | Refusal = self._guarded(
            step.path, "change", lambda reached: self._placed(built, reached)
        )
        if isinstance(placed, Placed):
            return placed
        self._is_torn |= isinstance(placed, Refusal) and placed.reason is Reason.LEFT_ASIDE
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
        try:
            placer = self._place_maker()
        except OSError as error:
            self._is_torn = True
            return failure(error, "put back", placed.step.path)
        refused = placer.undo(placed)
        self._is_torn |= refused is not None and refused.reason is not Reason.CHANGED_SINCE  # that is another's by now
        return refused

    def settle(self, placed: Placed) -> Refusal | None:
        """Let go of what the step displaced, after `sync`."""
        return self._place_maker().settle(placed) if placed.displaced else None

    def finish(self, placed: Placed) -> Finished | Refusal:
        """Give a directory its last mode and time, when everything in it is done."""
        finished = self._finisher.finish(placed)
        if isinstance(finished, Refusal):  # its note stays, so that a later run closes it
            self._builder.notes.pop(placed.step.path, None)
        return finished

    def discard(self, built: Built) -> None:
        """Remove what was built and is not put in place."""
        with suppress(OSError):
            self._place_maker().discard(built)

    def staging(self) -> StagingIdentity:
        """Return the directory in which things stand aside, made now if there is none. May raise OSError."""
        stage = self._stage()
        device, inode = identity_of(os.fstat(stage.descriptor))
        return StagingIdentity(name=os.fsdecode(stage.name), device=device, inode=inode)

    @property
    def aside(self) -> Staging | None:
        """What stands aside, None where nothing does."""
        return self._staging

    def sync(self) -> None:
        """Return when every name changed so far would survive a power cut. May raise OSError."""
        if self.durable:
            self._syncing.names(None if self._staging is None else self._staging.descriptor)

    def end(self) -> str | None:
        """Close what was opened up and remove the staging directory; return its name where something is left in it.

        May raise OSError.
        """
        left = None
        self.ways.close_below()
        self._exchanges = self.exchanges
        if self._staging is None:
            self.ways.close_root()
        else:
            for note in self._builder.notes.values():
                self._staging.drop(note)
            self._builder.notes.clear()
            staging, self._staging, self._placer = self._staging, None, None
            try:
                stays = self._is_torn and JOURNAL in self._files
                left = visible(staging.name) if stays or not staging.remove() else None
            finally:
                staging.close()
                self.ways.close_root()
            if self.durable:
                self.calls.sync(self.descriptor)
        return left

    def close(self) -> None:
        """Give every descriptor back; nothing more is changed, but that what was opened to look is closed again."""
        if not self.ways.changes:
            with suppress(OSError):
                self.ways.close_root()
        self.ways.abandon()
        self.holders.close()
        self._syncing.forget()
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
        if self.durable:
            self._syncing.touch(reached)

    def _forget_note(self, note: bytes) -> None:
        if self._staging is not None:
            self._staging.drop(note)

    def _stage(self) -> Staging:
        if self._staging is None:
            self.ways.open_root()
        # Opening the root may have noted it, and so have made the staging directory already.
        if self._staging is None:
            self._staging = Staging.create(self.descriptor, self._files, self.calls, durable=self.durable)
        return self._staging

    def _place_maker(self) -> Placer:
        if self._placer is None:
            self._placer = Placer((self.ways, self.holders), self._stage(), self.calls, self.touch)
            self._placer.aside = JOURNAL in self._files
        return self._placer

    def _guarded(self, path: RelPath, action: str, work: Callable[[Reached], T | Refusal]) -> T | Refusal:
        if root_identity(self.path) != self.identity:
            return Refusal(Reason.ROOT_REPLACED, "another directory stands at the root's path by now")
        reached = self.ways.reach(path)
        if isinstance(reached, Refusal):
            return reached
        with reached:
            try:
                return self.holders.refused(path, reached) or work(reached)
            except OSError as error:
                return failure(error, action, path)

    def _placed(self, built: Built, reached: Reached) -> Placed | Outcome | Refusal:
        found = self._seen_again(built, reached) or self._examiner.examine(built.step, reached)
        if found is not None and not isinstance(found, Found):
            return found
        if self.durable:
            self.holders.hold(reached)
        return self._place_maker().place(built, reached, found)

    def _seen_again(self, built: Built, reached: Reached) -> Found | None:
        """Return what was seen, if it shows no change: a full look follows when it is displaced."""
        status = status_at(*reached.place)
        seen = built.seen
        unchanged = (
            seen is not None and isinstance(status, os.stat_result) and file_key(status) == file_key(seen.status)
        )
        return seen if unchanged else None
