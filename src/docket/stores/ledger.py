"""The ledger of a run: one writer, many appenders, group commit.

Rules (spec/ledger.md):
1. One thread writes. It takes everything that was appended meanwhile as one batch: one write, then every `written`
   is resolved, one sync, then every `durable` is.
2. An error of the disk fails the batch and everything behind it, cuts the file to the last durable byte and closes
   admission for good (`failure`); only `append_final` still writes, into space that was reserved for it.
3. The ceilings refuse ordinary events and never a control event: the record must be able to say why a run stopped.
4. A ledger is created where nothing stood, never through a symbolic link, and held under a lock.
5. The hash of every durable event stays in memory, and `recheck` compares the file with it.

It does not know what an event means. Reading and quarantine are `stores.ledger_reader`, exported here too.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from docket.errors import DocketError, UnavailableError
from docket.formats.dataclass import dataclass, field
from docket.formats.digest import Digest
from docket.formats.ledger.event import Draft, Event
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.session_events import EvidenceGap, PolicyViolation, ProcExit, SessionEnd
from docket.formats.ledger.spending_events import CapExceeded, CapWarning
from docket.formats.reason import Reason
from docket.host.clock import Clock
from docket.host.disk import Folder
from docket.host.durable import displace, publish_copy
from docket.stores.appended import Appended, mark_durable, mark_failed, mark_written
from docket.stores.awaited import Awaited
from docket.stores.chain_file import Foreseen
from docket.stores.ledger_opening import LedgerOptions, OpenedLedger, begin, go_on
from docket.stores.ledger_reader import LOCK_SUFFIX, Recheck, compare, quarantine_torn_tail, read_ledger

CONTROL_TYPES = frozenset(
    cls.TYPE for cls in (CapExceeded, CapWarning, EvidenceGap, PolicyViolation, ProcExit, SessionEnd)
)

_BATCH_EVENTS = 2048
_BATCH_BYTES = 8 * 1024 * 1024
_LINE_OVERHEAD_BYTES = 280  # the members around `data`, with room for a long seq


@dataclass(slots=True)
class _Final:
    drafts: list[Draft]
    now: str | None = None
    done: Awaited[tuple[Event, ...]] = field(default_factory=Awaited)


class LedgerWriter:
    """The one writer of a ledger file; every method may be called from any thread but its own."""

    def __init__(self, opened: OpenedLedger, clock: Clock) -> None:
        """Start the writer's thread; use `create` or `resume`."""
        self.path = opened.chain.file.path
        self._opened, self._chain, self._options = opened, opened.chain, opened.options
        self._clock = clock
        self._listener: Callable[[], None] | None = None
        self._lock = threading.Lock()
        self._bell = threading.Lock()
        self._bell.acquire()
        self._sleeping = False
        self._queue: deque[Appended] = deque()
        self._last: Appended | None = None
        self._final: _Final | None = None
        self._refusal: DocketError | None = None
        self._failure: DocketError | None = None
        self._closing = False
        self._admitted_events, self._admitted_bytes = len(self._chain.hashes), self._chain.size_bytes
        bounds = self._options.max_events, self._options.max_bytes, self._options.min_free_bytes
        self._is_bounded = bounds != (None, None, 0)
        self._is_short = False
        self._overflow: DocketError | None = None
        self._lost_events = 0
        self._failed_seq: int | None = None
        self._thread = threading.Thread(target=self._run, name="docket-ledger", daemon=True)
        self._thread.start()

    @classmethod
    def create(cls, path: Path, *, clock: Clock, options: LedgerOptions | None = None) -> LedgerWriter:
        """Begin a ledger where nothing stands; UnavailableError (ALREADY_EXISTS, LOCKED, IS_A_SYMLINK, NO_SPACE …)."""
        return cls(begin(path, options or LedgerOptions()), clock)

    @classmethod
    def resume(cls, path: Path, *, clock: Clock, options: LedgerOptions | None = None) -> LedgerWriter:
        """Continue a ledger that its writer left without an end.

        InvalidDocumentError where it is damaged (LEDGER_DAMAGED), torn (TORN_TAIL) or ended (LEDGER_CLOSED).
        """
        return cls(go_on(path, options or LedgerOptions()), clock)

    def append(self, payload: Payload, *, control: bool = False, first: Callable[[], None] | None = None) -> Appended:
        """Queue an event; control events (by type, or as asked) pass the ceilings.

        `first` is called from the writer's thread before the event is written, and may not raise: what the event
        speaks of is durable before the event is.
        A payload without a canonical form raises InvalidDocumentError; a ledger that is closed, full or failed is
        told by the futures (LEDGER_CLOSED, LEDGER_FULL, or the failure's own reason).
        """
        return self._admit(payload.draft(), control=control or payload.TYPE in CONTROL_TYPES, first=first)

    def _admit(self, drafted: Draft, *, control: bool, first: Callable[[], None] | None = None) -> Appended:
        with self._lock:
            refusal = self._refusal
            if refusal is None and self._is_bounded:
                refusal = self._over_ceiling(drafted, exempt=control)
            if refusal is not None:
                self._lost_events += 1
                self._note_overflow(refusal)
                return Appended(drafted, self._lock, refusal)
            item = self._last = Appended(drafted, self._lock, first=first)
            self._queue.append(item)
            ring, self._sleeping = self._sleeping, False
        if ring:
            self._bell.release()
        return item

    def foresee(self, payloads: Sequence[Payload]) -> Foreseen:
        """Close admission and return what `append_final` will make of the ledger; raise a failure that there was."""
        with self._lock:
            self._refusal = self._refusal or self._no_more()
        self.flush()
        return self._chain.foresee([payload.draft() for payload in payloads], self._clock.now())

    def append_final(self, payloads: Sequence[Payload], *, now: str | None = None) -> tuple[Event, ...]:
        """Close admission and write the last events durably, into the reserve if the disk is full.

        Works after a failure too; UnavailableError if not even this can be written. It may be tried again with less,
        and called again with more. `now` is the instant for which they were foreseen.
        """
        final = _Final([payload.draft() for payload in payloads], now)
        with self._lock:
            if self._closing or self._final is not None:
                raise self._no_more()
            self._refusal = self._refusal or self._no_more()
            self._final = final
            ring, self._sleeping = self._sleeping, False
        if ring:
            self._bell.release()
        return final.done.result()

    def flush(self) -> None:
        """Return when everything appended so far is durable; raise the failure if there was one."""
        with self._lock:
            last = self._last
        if last is not None:
            last.durable.result()

    def recheck(self) -> Recheck:
        """Read the file again and compare it with memory; call it when nothing is being appended, before `close`.

        A difference is evidence that something else wrote, cut or replaced the file.
        """
        with suppress(DocketError):
            self.flush()
        try:
            with self._options.disk.folder(self.path.parent) as folder:
                found = folder.identity(self.path.name)
                if found is not None and found == self._chain.file.identity():
                    return compare(folder, self.path.name, self._chain.hashes, self._chain.file_sha256)
        except UnavailableError as error:
            return Recheck(0, Reason.VANISHED, error.detail)
        return Recheck(0, Reason.VANISHED, f"{self.path} is gone or something else stands in its place")

    def reinstate(self) -> Path | None:
        """Have the ledger stand under its name again, as it was written, if it does not.

        To be called after `append_final`. What stood there instead is moved aside, and its new path returned.
        """
        name = self.path.name
        with self._options.disk.folder(self.path.parent, create=True) as folder:
            found = folder.identity(name)
            if found is not None and self._stands(folder):
                return None
            aside = None if found is None else self.path.with_name(displace(folder, name))
            publish_copy(folder, name, self._chain.intact_copy(), overwrite=False)
            return aside

    def copy_into(self, folder: Folder) -> None:
        """Put the ledger, as it was written, into another folder: its own may be out of reach.

        To be called after `append_final`. ALREADY_EXISTS if something stands under its name there.
        """
        publish_copy(folder, self.path.name, self._chain.intact_copy(), overwrite=False)

    def _stands(self, folder: Folder) -> bool:
        name = self.path.name
        if folder.identity(name) != self._chain.file.identity():
            return False
        return compare(folder, name, self._chain.hashes, self._chain.file_sha256).first_difference is None

    def listen(self, listener: Callable[[], None] | None) -> None:
        """Have `listener` called from the writer's thread after each stage that a whole batch has reached.

        An event loop is then woken once for many appends, and finds in their `stage` which they are. The listener
        must return at once and may not raise.
        """
        self._listener = listener

    def close(self) -> None:
        """Wait for what was appended, then give back file, unused space and lock; a second call does nothing."""
        with self._lock:
            if self._closing:
                return
            self._closing = True
            self._refusal = self._refusal or self._no_more()
            ring, self._sleeping = self._sleeping, False
        if ring:
            self._bell.release()
        self._thread.join()
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def failure(self) -> DocketError | None:
        """The disk's refusal that closed admission, if any."""
        return self._failure

    @property
    def overflow(self) -> DocketError | None:
        """The first refusal by a ceiling, or for want of free space, if any; control events still pass."""
        return self._overflow

    @property
    def failed_seq(self) -> int | None:
        """The number the first event that failed would have had."""
        return self._failed_seq

    @property
    def lost_events(self) -> int:
        """How many appended events are not in the ledger: refused, or failed with their batch."""
        return self._lost_events

    @property
    def is_full(self) -> bool:
        """Whether a ceiling, or want of free space, refuses ordinary events now."""
        return self._is_short or self._at_ceiling(0)

    @property
    def hashes(self) -> tuple[Digest, ...]:
        """The hashes of all durable events, in order."""
        return tuple(self._chain.hashes)

    def hashes_from(self, seq: int) -> list[Digest]:
        """Return the hashes of the durable events from number `seq` on."""
        return self._chain.hashes[seq:]

    @property
    def durable_events(self) -> int:
        """How many events are durable."""
        return len(self._chain.hashes)

    @property
    def head(self) -> Digest:
        """The hash of the last durable event; GENESIS before the first."""
        return self._chain.head

    @property
    def file_sha256(self) -> Digest:
        """The SHA-256 of the durable bytes."""
        return self._chain.file_sha256

    @property
    def size_bytes(self) -> int:
        """How many bytes are durable."""
        return self._chain.size_bytes

    def _over_ceiling(self, drafted: Draft, *, exempt: bool) -> DocketError | None:
        size = len(drafted.encoded) + len(drafted.type) + _LINE_OVERHEAD_BYTES
        if not exempt and self._at_ceiling(size):
            return UnavailableError(Reason.LEDGER_FULL, f"{self.path} has reached the size it may grow to")
        if not exempt and self._is_short:
            return UnavailableError(Reason.NO_SPACE, f"the disk of {self.path} is short of the space it must keep")
        self._admitted_events += 1
        self._admitted_bytes += size
        return None

    def _at_ceiling(self, size: int) -> bool:
        events, limit = self._options.max_events, self._options.max_bytes
        if events is not None and self._admitted_events >= events:
            return True
        return limit is not None and self._admitted_bytes + size > limit

    def _no_more(self) -> UnavailableError:
        return UnavailableError(Reason.LEDGER_CLOSED, f"{self.path} takes no more events")

    def _run(self) -> None:
        while True:
            batch, final = self._take()
            if batch:
                self._commit(batch)
            elif final is not None:
                self._commit_final(final)
            else:
                return

    def _take(self) -> tuple[list[Appended], _Final | None]:
        """Wait for work; an empty batch and no final one mean that the ledger is to be closed."""
        while True:
            with self._lock:
                if self._queue or self._final is not None or self._closing:
                    return self._next_batch(), self._final
                self._sleeping = True
            self._bell.acquire()

    def _next_batch(self) -> list[Appended]:
        batch: list[Appended] = []
        size = 0
        while self._queue and len(batch) < _BATCH_EVENTS and size < _BATCH_BYTES:
            item = self._queue.popleft()
            size += len(item.draft.encoded)
            batch.append(item)
        return batch

    def _commit(self, batch: list[Appended]) -> None:
        try:
            for item in batch:
                if item.first is not None:
                    item.first()
            events = self._chain.write([item.draft for item in batch], self._clock.now())
            mark_written(batch, events, self._lock)
            self._tell()
            self._chain.sync()
        except Exception as error:  # noqa: BLE001 - a fault of any kind must not leave appenders waiting for ever
            self._fail(batch, _as_failure(error))
        else:
            mark_durable(batch, self._lock)
            self._is_short = self._is_short or self._looks_short()
            self._tell()

    def _note_overflow(self, refusal: DocketError) -> None:
        if self._refusal is None and self._overflow is None:
            self._overflow = refusal
            if self._options.on_overflow is not None:
                self._options.on_overflow(refusal)

    def _looks_short(self) -> bool:
        free = self._chain.file.free_bytes() if self._options.min_free_bytes else None
        return free is not None and free < self._options.min_free_bytes

    def _fail(self, batch: list[Appended], failure: DocketError) -> None:
        with suppress(DocketError):
            self._chain.roll_back()
        with self._lock:
            lost = [*batch, *self._queue]
            self._queue.clear()
            self._failure = self._refusal = failure
            self._failed_seq = len(self._chain.hashes)
            self._lost_events += len(lost)
        mark_failed(lost, failure, self._lock)
        self._tell()
        if self._options.on_failure is not None:
            with suppress(Exception):  # whatever it does, the writer must live to write the end
                self._options.on_failure(failure)

    def _tell(self) -> None:
        listener = self._listener
        if listener is not None:
            listener()

    def _commit_final(self, final: _Final) -> None:
        try:
            self._chain.roll_back()
            events = self._chain.write(final.drafts, final.now or self._clock.now(), final=True)
            self._chain.sync()
        except Exception as error:  # noqa: BLE001 - as above
            with suppress(DocketError):
                self._chain.roll_back()
            self._final = None
            final.done.set_exception(_as_failure(error))
        else:
            self._final = None
            final.done.set_result(tuple(events))


def _as_failure(error: Exception) -> DocketError:
    return error if isinstance(error, DocketError) else UnavailableError(Reason.WRITE_FAILED, f"{error!r}")


__all__ = ["CONTROL_TYPES", "LOCK_SUFFIX", "LedgerOptions", "LedgerWriter", "Recheck", "quarantine_torn_tail",
           "read_ledger"]  # fmt: skip
