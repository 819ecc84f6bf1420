"""What an appender holds while its event is on the way to the disk.

An `Appended` goes from queued to written to durable, or to failed; `stage` says where it is. The writer moves whole
batches at once. What is awaited is made only for those who ask: an event loop that is woken once for a batch
(`LedgerWriter.listen`) looks at the stages itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from docket.errors import DocketError
from docket.formats.digest import Digest
from docket.formats.ledger.event import Draft, Event
from docket.stores.awaited import Awaited

QUEUED, WRITTEN, DURABLE, FAILED = range(4)


class Appended:
    """One event on its way; both futures hold the sealed event, or the DocketError that stopped it.

    `outcome` is None while `stage` is QUEUED, then the event, and the error once it is FAILED. Stages only grow.
    """

    __slots__ = ("_durable", "_lock", "_written", "draft", "first", "outcome", "stage")

    def __init__(
        self,
        draft: Draft,
        lock: threading.Lock,
        refusal: DocketError | None = None,
        first: Callable[[], None] | None = None,
    ) -> None:
        """Begin as queued, or as failed for `refusal`; `first` is done before it is written."""
        self.draft = draft
        self.first = first
        self.outcome: Event | DocketError | None = refusal
        self.stage = QUEUED if refusal is None else FAILED
        self._lock = lock
        self._written: Awaited[Event] | None = None
        self._durable: Awaited[Event] | None = None

    @property
    def written(self) -> Awaited[Event]:
        """Done when the operating system has the event: it survives a killed docket."""
        with self._lock:
            if self._written is None:
                self._written = self._future(WRITTEN)
            return self._written

    @property
    def durable(self) -> Awaited[Event]:
        """Done when the event would survive a power cut."""
        with self._lock:
            if self._durable is None:
                self._durable = self._future(DURABLE)
            return self._durable

    def _future(self, stage: int) -> Awaited[Event]:
        future: Awaited[Event] = Awaited()
        if self.stage >= stage:
            _resolve(future, self.outcome)
        return future


def place_of(appended: Appended) -> tuple[int, Digest] | None:
    """Return (seq, hash) of an event that is durable, None before."""
    event = appended.outcome
    return (event.seq, event.hash) if appended.stage == DURABLE and isinstance(event, Event) else None


def mark_written(batch: Sequence[Appended], events: Sequence[Event], lock: threading.Lock) -> None:
    """Move a batch whose bytes the operating system has taken."""
    with lock:
        for item, event in zip(batch, events, strict=True):
            item.outcome = event
            item.stage = WRITTEN
        watched = [(item._written, item.outcome) for item in batch if item._written is not None]
    for future, outcome in watched:
        _resolve(future, outcome)


def mark_durable(batch: Sequence[Appended], lock: threading.Lock) -> None:
    """Move a batch that has been synced."""
    with lock:
        for item in batch:
            item.stage = DURABLE
        watched = [(item._durable, item.outcome) for item in batch if item._durable is not None]
    for future, outcome in watched:
        _resolve(future, outcome)


def mark_failed(batch: Sequence[Appended], error: DocketError, lock: threading.Lock) -> None:
    """Fail every stage of a batch that is not done yet; what had been written has been cut off again."""
    with lock:
        for item in batch:
            item.outcome = error
            item.stage = FAILED
        watched = [future for item in batch for future in (item._written, item._durable) if future is not None]
    for future in watched:
        if not future.done():
            future.set_exception(error)


def _resolve(future: Awaited[Event], outcome: Event | DocketError | None) -> None:
    if isinstance(outcome, Event):
        future.set_result(outcome)
    elif outcome is not None:
        future.set_exception(outcome)
