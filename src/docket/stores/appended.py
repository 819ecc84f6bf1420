"""What an appender holds while its event is on the way to the disk.

An `Appended` goes from queued to written to durable, or to failed. The writer moves whole batches at once; futures
are made only for the stages somebody asked about, because most appends are watched for one of the two or none.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future

from docket.errors import DocketError
from docket.formats.ledger.event import Draft, Event


class Appended:
    """One event on its way; both futures hold the sealed event, or the DocketError that stopped it."""

    __slots__ = ("_durable", "_is_durable", "_lock", "_outcome", "_written", "draft")

    def __init__(self, draft: Draft, lock: threading.Lock) -> None:
        self.draft = draft
        self._lock = lock
        self._outcome: Event | DocketError | None = None
        self._is_durable = False
        self._written: Future[Event] | None = None
        self._durable: Future[Event] | None = None

    @property
    def is_durable(self) -> bool:
        """Whether the event would survive a power cut already; asking makes no future."""
        return self._is_durable

    @property
    def written(self) -> Future[Event]:
        """Done when the operating system has the event: it survives a killed docket."""
        with self._lock:
            if self._written is None:
                self._written = Future()
                if self._outcome is not None:
                    _resolve(self._written, self._outcome)
            return self._written

    @property
    def durable(self) -> Future[Event]:
        """Done when the event would survive a power cut."""
        with self._lock:
            if self._durable is None:
                self._durable = Future()
                if self._is_durable or isinstance(self._outcome, DocketError):
                    _resolve(self._durable, self._outcome)
            return self._durable


def refused(draft: Draft, lock: threading.Lock, error: DocketError) -> Appended:
    """Return an Appended that was never admitted."""
    item = Appended(draft, lock)
    item._outcome = error
    return item


def mark_written(batch: Sequence[Appended], events: Sequence[Event], lock: threading.Lock) -> bool:
    """Resolve `written` of a batch whose bytes the operating system has taken; True if anybody waited."""
    with lock:
        for item, event in zip(batch, events, strict=True):
            item._outcome = event
        watched = [(item._written, item._outcome) for item in batch if item._written is not None]
    for future, outcome in watched:
        _resolve(future, outcome)
    return bool(watched)


def mark_durable(batch: Sequence[Appended], lock: threading.Lock) -> bool:
    """Resolve `durable` of a batch that has been synced; True if anybody waited."""
    with lock:
        for item in batch:
            item._is_durable = True
        watched = [(item._durable, item._outcome) for item in batch if item._durable is not None]
    for future, outcome in watched:
        _resolve(future, outcome)
    return bool(watched)


def mark_failed(batch: Sequence[Appended], error: DocketError, lock: threading.Lock) -> None:
    """Fail every stage of a batch that is not done yet; what had been written has been cut off again."""
    with lock:
        for item in batch:
            item._outcome = error
        watched = [future for item in batch for future in (item._written, item._durable) if future is not None]
    for future in watched:
        if not future.done():
            future.set_exception(error)


def _resolve(future: Future[Event], outcome: Event | DocketError | None) -> None:
    if isinstance(outcome, Event):
        future.set_result(outcome)
    else:
        future.set_exception(outcome)
