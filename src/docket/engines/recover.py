"""Recovery: the receipts of runs that were killed, from their ledgers as they stand.

Rules (spec/ledger.md, Where it stands):
1. A run is dead when its ledger's lock is to be had, and the lock is held while anything of it is touched.
2. A receipt derives from what the ledger says and nothing else: an end that was not recorded is not invented. Nothing
   is signed here: nobody watched the ledger since. What the run had signed of this very ledger is kept.
3. A ledger that gives no receipt stays as it is. A torn tail is put aside, and named.
4. Whatever step this is killed at, doing it again ends in the same receipt; the lock file goes last, so that a session
   is found again until all is done.
5. One recovery at a time works on a project.

It says nothing to a person (`surfaces.cli.commands.recover`) and never looks at the tree that the run worked in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path

from docket.engines.recover_prepared import DeadRun, adopt_reserve, find_prepared
from docket.engines.verify import decode_receipt
from docket.errors import DocketError, InvalidDocumentError, UnavailableError
from docket.formats.canonical import JsonObject, encode_document
from docket.formats.dataclass import dataclass, field, replace
from docket.formats.reason import Reason
from docket.host.clock import Clock
from docket.host.disk import SYSTEM_DISK, Disk
from docket.host.locks import FileLock, is_held
from docket.rules.proof.prepared import Prepared
from docket.rules.receipt.assemble import receipt_from_ledger
from docket.rules.receipt.proof import announces_a_key, previous_of, tells_of_checkpoints, unsigned_end
from docket.stores.checkpoint_file import checkpoints_path, mend_checkpoints
from docket.stores.layout import RECEIPTS, Layout, receipt_name
from docket.stores.ledger_reader import AcquireLock, Lock, cut_torn_tail, read_chunks
from docket.stores.live import live_path, remove_live_folder
from docket.stores.receipts import Publication, latest_number, publish
from docket.stores.run_numbers import put_previous
from docket.stores.unfinished import (
    Head,
    IsHeld,
    Traces,
    has_receipt,
    lock_path,
    read_head,
    remove_file,
    stands,
    sweep_files,
    temporaries,
    temporaries_of,
    traces,
)

RECOVERY_LOCK = "recover.lock"
RUN_PATIENCE_SECONDS = 0.1  # for a run's look whether a lock is held, not for a run
RECOVERY_PATIENCE_SECONDS = 10.0
_BLANK = "it was killed before anything was recorded or started"


class State(StrEnum):
    """What became of a session."""

    RECOVERED = "recovered"
    STILL_RUNNING = "still-running"
    NOTHING_TO_DO = "nothing-to-do"
    DAMAGED = "damaged"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one session.

    `receipt_path` is where its receipt stands (or would stand, in a dry run); `has_end` says whether the ledger has its
    session.end; `reason` is the code of what is damaged or not to be had. `removed` are files that went.
    """

    session_id: str
    state: State
    docket_number: str | None = None
    detail: str = ""
    reason: str | None = None
    receipt_path: Path | None = None
    has_end: bool | None = None
    torn_tail: Path | None = None
    removed: tuple[Path, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """One outcome a session, the oldest first; `strays` are removed files of dead runs that name no session."""

    outcomes: tuple[Outcome, ...]
    strays: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoverRequest:
    """Which sessions: one, by its id or docket number, or all; `dry_run` changes nothing and says what would be."""

    layout: Layout
    session: str | None = None
    dry_run: bool = False


def _acquire_run(path: Path) -> Lock:
    return FileLock.acquire(path, wait_seconds=RUN_PATIENCE_SECONDS)


def _acquire_recovery(path: Path) -> Lock:
    return FileLock.acquire(path, wait_seconds=RECOVERY_PATIENCE_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoverWorld:
    """The ports: clock, disk, locks, and what removes a run's live folder."""

    clock: Clock
    disk: Disk = SYSTEM_DISK
    acquire_run: AcquireLock = _acquire_run
    acquire_recovery: AcquireLock = _acquire_recovery
    is_held: IsHeld = is_held
    remove_live_folder: Callable[[Path], bool] = remove_live_folder


def recover(request: RecoverRequest, world: RecoverWorld) -> Recovery:
    """Give every dead run its receipt and remove what it left.

    UnavailableError where the session named is not there (NOT_FOUND), another recovery works here (LOCKED) or the state
    folder cannot be read.
    """
    found = traces(request.layout, disk=world.disk)
    chosen = _chosen(request, world, found)
    if request.dry_run:
        return Recovery(outcomes=tuple(_Case(request, world, found, one).foreseen() for one in chosen))
    if not chosen and not (stands(request.layout.state, world.disk) and temporaries(request.layout, world.disk)):
        return Recovery(outcomes=())
    with _alone(request.layout, world):
        # Seen before any lock is looked at: what stands here now and is a live run's has its lock held by then.
        seen = temporaries(request.layout, world.disk) if request.session is None else ()
        outcomes = tuple(_Case(request, world, found, one).settled() for one in chosen)
        return Recovery(outcomes=outcomes, strays=_sweep(request.layout, world, seen))


def _chosen(request: RecoverRequest, world: RecoverWorld, found: Traces) -> tuple[str, ...]:
    wanted = request.session
    if wanted is not None and wanted in found.sessions:
        return (wanted,)
    heads = {one: _head_or_none(request.layout.ledger_path(one), world.disk) for one in found.sessions}
    if wanted is not None:
        named = [one for one, head in heads.items() if head is not None and head.docket_number == wanted.upper()]
        if not named:
            detail = f"no run {wanted} stands in {request.layout.state}"
            raise UnavailableError(Reason.NOT_FOUND, detail, hint="docket runs lists them")
        return tuple(named)
    began = {one: "" if head is None else head.began_at for one, head in heads.items()}
    return tuple(sorted(found.sessions, key=lambda one: (began[one], one)))


def _head_or_none(path: Path, disk: Disk) -> Head | None:
    try:
        return read_head(path, disk=disk)
    except DocketError:
        return None


@contextmanager
def _alone(layout: Layout, world: RecoverWorld) -> Iterator[None]:
    try:
        lock = world.acquire_recovery(layout.state / RECOVERY_LOCK)
    except UnavailableError as error:
        if error.reason != Reason.LOCKED:
            raise
        detail = f"another recovery is at work: {error.detail}"
        raise UnavailableError(Reason.LOCKED, detail, hint="wait for it, then try again") from error
    try:
        yield
    finally:
        lock.release()


def _sweep(layout: Layout, world: RecoverWorld, seen: tuple[Path, ...]) -> tuple[Path, ...]:
    """Remove temporary files that no session could be named for, if no run at all is live."""
    left = [path for path in seen if stands(path, world.disk)]
    if not left or any(world.is_held(lock_path(layout, one)) for one in traces(layout, disk=world.disk).locks):
        return ()
    return sweep_files(left, world.disk)


@dataclass(slots=True)
class _Case:
    """One session under way: what has been found and done so far."""

    request: RecoverRequest
    world: RecoverWorld
    found: Traces
    session_id: str
    head: Head | None = None
    torn_tail: Path | None = None
    prepared: Prepared | None = None
    removed: list[Path] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def _layout(self) -> Layout:
        return self.request.layout

    @property
    def _ledger(self) -> Path:
        return self._layout.ledger_path(self.session_id)

    @property
    def _number(self) -> str | None:
        # A copy of another run's ledger must not lead to that run's files.
        return self.head.docket_number if self.head is not None and self.head.session_id == self.session_id else None

    def settled(self) -> Outcome:
        """Do all that is to be done."""
        try:
            if self._is_settled():
                return self._outcome(State.NOTHING_TO_DO)
            lock = self.world.acquire_run(lock_path(self._layout, self.session_id))
        except UnavailableError as error:
            if error.reason == Reason.LOCKED:
                return self._outcome(State.STILL_RUNNING, detail=error.detail)
            return self._refused(error)
        try:
            return self._under_lock()
        except DocketError as error:
            return self._refused(error)
        finally:
            lock.release()

    def foreseen(self) -> Outcome:
        """Say what `settled` would do, and do nothing."""
        try:
            if self._is_settled():
                return self._outcome(State.NOTHING_TO_DO)
            if self.world.is_held(lock_path(self._layout, self.session_id)):
                return self._outcome(State.STILL_RUNNING)
            self.removed += self._leftovers()
            if self._nothing_was_recorded():
                return self._outcome(State.NOTHING_TO_DO, detail=_BLANK)
            stood = self._stood()
            return self._told(self._derive(), self._dead.receipt_path, stood=stood)
        except DocketError as error:
            return self._refused(error)

    def _is_settled(self) -> bool:
        """Whether the run ended by itself, or a recovery did all of this before."""
        try:
            self.head = read_head(self._ledger, disk=self.world.disk)
        except DocketError:
            return False  # told with its reason once the lock is held
        if self.head is None or self.found.is_marked(self.session_id):
            return False
        return not self.head.is_ours or has_receipt(self._layout, self._number, disk=self.world.disk)

    def _under_lock(self) -> Outcome:
        try:
            receipt = None if self._nothing_was_recorded() else self._derive()
        except InvalidDocumentError:
            self._clean()
            raise
        if stands(self._ledger, self.world.disk):
            self.torn_tail = cut_torn_tail(self._ledger, self.world.clock.now(), disk=self.world.disk)
        if receipt is None:
            remove_file(self._ledger, self.world.disk)
            self._clean()
            return self._outcome(State.NOTHING_TO_DO, detail=_BLANK)
        stood = self._stood()
        self._mend_checkpoints(receipt)
        path = self._publish(receipt if self.prepared is None else self.prepared.receipt)
        self._give_back_space()
        self._clean()
        return self._told(receipt, path, stood=stood)

    def _nothing_was_recorded(self) -> bool:
        """Whether the run was killed before its first event, which is written before anything is started.

        A live folder is made after it: a ledger that is empty or gone beside one has lost what it held.
        """
        disk = self.world.disk
        if stands(live_path(self._layout, self.session_id), disk):
            return False
        return not stands(self._ledger, disk) or read_head(self._ledger, disk=disk) is None

    def _derive(self) -> JsonObject:
        disk = self.world.disk
        if not stands(self._ledger, disk):
            raise _damaged(f"{self._ledger} is gone, and its run had begun")
        self.head = read_head(self._ledger, disk=disk)
        if self.head is None:
            raise _damaged(f"{self._ledger} holds no event, and its run had begun")
        if not self.head.is_ours or self._number is None:
            raise _damaged(f"{self._ledger} does not begin with this session's start")
        return receipt_from_ledger(read_chunks(self._ledger, disk=disk))

    def _mend_checkpoints(self, receipt: JsonObject) -> None:
        """Leave the file of checkpoints as it should be, with what the run had signed of its receipt and of its end."""
        now, disk = self.world.clock.now(), self.world.disk
        self.prepared = find_prepared(self._dead, receipt, disk)
        note = unsigned_end(receipt) if self.prepared is None else self.prepared.note or None
        self.problems += mend_checkpoints(self._ledger, note, now, disk, told=tells_of_checkpoints(receipt))

    @property
    def _dead(self) -> DeadRun:
        return DeadRun(layout=self._layout, session_id=self.session_id, docket_number=str(self._number))

    def _stood(self) -> bool:
        return self._number is not None and stands(self._dead.receipt_path, self.world.disk)

    def _publish(self, receipt: JsonObject) -> Path:
        is_latest, data = self._is_latest(receipt), encode_document(receipt)
        published = publish(
            self._layout,
            Publication(
                docket_number=str(self._number),
                session_id=self.session_id,
                receipt=data,
                ledger_path=self._ledger,
                reserve=adopt_reserve(self._dead, data, self.world.disk),
                is_latest=is_latest,
            ),
            disk=self.world.disk,
        )
        self.problems += (problem.detail for problem in published.problems)
        if announces_a_key(receipt) and self.prepared is None:
            self.problems.append("a key was to vouch for it and does not: a recovery has none")
        if is_latest:
            with suppress(DocketError):  # a chain of runs that lacks a link is no reason to lose a receipt
                put_previous(self._layout, previous_of(receipt), disk=self.world.disk)
        return published.receipt_path

    def _is_latest(self, receipt: JsonObject) -> bool:
        """Whether no run that has its receipt ended later; who asks for the newest must not get an older one."""
        layout, disk = self._layout, self.world.disk
        number = latest_number(layout.state, disk)
        if number is None or number == self._number:
            return True
        try:
            data = b"".join(read_chunks(layout.state / RECEIPTS / receipt_name(number), disk=disk))
            created_at = decode_receipt(data).get("created_at")
        except DocketError:
            return True
        return not isinstance(created_at, str) or str(receipt["created_at"]) >= created_at

    def _give_back_space(self) -> None:
        """Free what the run had reserved beyond the ends of its ledger and its checkpoints."""
        with self.world.disk.folder(self._ledger.parent) as folder:
            for name in (self._ledger.name, checkpoints_path(self._ledger).name):
                if folder.identity(name) is not None:
                    with folder.open(name, writable=True) as file:
                        file.truncate(file.size())

    def _clean(self) -> None:
        live = live_path(self._layout, self.session_id)
        for path in self._leftovers():
            try:
                gone = self.world.remove_live_folder(path) if path == live else remove_file(path, self.world.disk)
            except DocketError as error:
                self.problems.append(error.detail)
                continue
            if gone:
                self.removed.append(path)
            elif path == live:
                self.problems.append(f"{path} cannot be removed")

    def _leftovers(self) -> list[Path]:
        disk, live = self.world.disk, live_path(self._layout, self.session_id)
        found = [live] if stands(live, disk) else []
        return found + list(temporaries_of(self._layout, self.session_id, self._number, disk))

    def _told(self, receipt: JsonObject, path: Path, *, stood: bool) -> Outcome:
        session = receipt["session"]
        has_end = isinstance(session, Mapping) and session.get("exit_code") is not None
        state = State.NOTHING_TO_DO if stood else State.RECOVERED
        return replace(self._outcome(state), receipt_path=path, has_end=has_end)

    def _refused(self, error: DocketError) -> Outcome:
        state = State.DAMAGED if isinstance(error, InvalidDocumentError) else State.UNAVAILABLE
        return self._outcome(state, detail=error.detail, reason=error.reason)

    def _outcome(self, state: State, *, detail: str = "", reason: str | None = None) -> Outcome:
        return Outcome(
            session_id=self.session_id,
            state=state,
            docket_number=self._number,
            detail=detail,
            reason=reason,
            torn_tail=self.torn_tail,
            removed=tuple(self.removed),
            problems=tuple(self.problems),
        )


def _damaged(detail: str) -> InvalidDocumentError:
    return InvalidDocumentError(Reason.LEDGER_DAMAGED, detail)
