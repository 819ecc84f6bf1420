"""The boundary's way to its pools: a thread of its own asks and books, so that no call waits on a disk but its own.

Rules:
1. The boundary's thread only hands messages over; answers come back to it through its loop.
2. What was taken is booked before anything is asked, the latest sums alone: they are since the run's start, so nothing
   is lost by leaving the older ones out.
3. A question that gets too little has the dead taken out of the pool and is put again. Where holds of other runs are
   in the way, and the call may wait, it is put again every `_AGAIN_SECONDS` until its patience is over.
4. Every question is answered: what goes wrong is an answer too.
5. What is given back was meant of the grant that the boundary knew: where another is on its way to it, nothing is.
6. What could not be booked is tried again with the next message and at the end.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress

from docket.engines.pools.entry import PoolEntry
from docket.errors import DocketError
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.formats.run.pool import PoolAnswer, PoolAsk, Taken, day_of
from docket.rules.boundary.pool_desk import Failure, PoolDesk
from docket.stores.pools.port import PoolStore

_AGAIN_SECONDS = 0.05
# Less than a call waits by default, so that what lies idle here is there in time for a call that waits elsewhere.
_REST_SECONDS = 1.0


@dataclass(slots=True)
class _Ask:
    pool: str
    ask: PoolAsk
    until: float
    told: bool = False


@dataclass(frozen=True, slots=True)
class _Book:
    pool: str
    taken: Taken
    granted_micros: int | None
    heard: int


@dataclass(frozen=True, slots=True)
class _Stop:
    taken: Mapping[str, Taken]


class StoreLine:
    """The line of one run; as `rules.boundary.pool_desk.PoolLine`. `attach` begins it."""

    def __init__(self, entry: PoolEntry, loop: asyncio.AbstractEventLoop, *, patience_ms: int) -> None:
        self.problems: tuple[str, ...] = ()
        self._entry, self._loop, self._patience_seconds = entry, loop, patience_ms / 1000
        self._messages: queue.SimpleQueue[_Ask | _Book | _Stop] = queue.SimpleQueue()
        self._desk: PoolDesk | None = None
        self._release: Callable[[], None] = _nobody
        self._rest: asyncio.TimerHandle | None = None
        self._unbooked: dict[str, Taken] = {}
        self._waiting: list[_Ask] = []
        self._heard: Counter[str] = Counter()
        self._said: Counter[str] = Counter()
        self._thread = threading.Thread(target=self._main, name="docket-pools", daemon=True)

    def attach(self, desk: PoolDesk, release: Callable[[], None]) -> None:
        """Say who is answered, and what lets waiting calls try again."""
        self._desk, self._release = desk, release
        self._thread.start()

    # ---- the boundary's thread

    def ask(self, pool: str, ask: PoolAsk, *, patient: bool) -> None:
        """Hand a question over."""
        self._messages.put(_Ask(pool, ask, time.monotonic() + (self._patience_seconds if patient else 0)))

    def book(self, pool: str, taken: Taken, granted_micros: int | None = None) -> None:
        """Hand a booking over."""
        self._messages.put(_Book(pool, taken, granted_micros, self._heard[pool]))

    def rest_later(self) -> None:
        """Have what is granted and not used given back after a rest."""
        if self._rest is not None:
            self._rest.cancel()
        if self._desk is not None:
            self._rest = self._loop.call_later(_REST_SECONDS, self._desk.rest)

    def stop(self) -> None:
        """Settle everything, leave the pools, and return once that is done or has failed (`problems`)."""
        if self._rest is not None:
            self._rest.cancel()
        if self._desk is not None:
            self._messages.put(_Stop(self._desk.taken()))
            self._thread.join()

    def _told(self, pool: str, answer: PoolAnswer | Failure) -> None:
        if self._desk is None:
            return
        self._heard[pool] += 1
        if isinstance(answer, Failure):
            self._desk.failed(pool, answer)
        else:
            self._desk.answered(pool, answer)
        # Whoever asked may be gone by now, and would never take it.
        self.rest_later()
        self._release()

    def _told_to_wait(self, pool: str) -> None:
        if self._desk is not None:
            self._desk.waiting(pool)

    # ---- the line's own thread

    def _main(self) -> None:
        store: PoolStore | None = None
        stop: _Stop | None = None
        while stop is None:
            taken = self._next()
            stop = next((message for message in taken if isinstance(message, _Stop)), None)
            asks = [*self._waiting, *(message for message in taken if isinstance(message, _Ask))]
            self._waiting = []
            try:
                store = store or self._entry.open_store()
                self._book(store, [message for message in taken if isinstance(message, _Book)])
                for ask in asks:
                    self._put(store, ask)
            except Exception as error:  # noqa: BLE001 - whoever waits for an answer must get one
                for ask in asks:
                    self._tell(ask.pool, _failure(error))
        try:
            self.problems = self._entry.leave(stop.taken, store)
        finally:
            if store is not None:
                store.close()

    def _next(self) -> list[_Ask | _Book | _Stop]:
        """Return what has come, at least one message unless a question waits to be put again."""
        taken = []
        with suppress(queue.Empty):
            taken.append(self._messages.get(timeout=_AGAIN_SECONDS if self._waiting else None))
            while True:
                taken.append(self._messages.get_nowait())
        return taken

    def _book(self, store: PoolStore, bookings: list[_Book]) -> None:
        self._unbooked.update({message.pool: message.taken for message in bookings})
        for pool, taken in tuple(self._unbooked.items()):
            with suppress(DocketError):
                store.settle(pool, self._entry.run_id, taken, day_of(self._entry.clock.now()))
                del self._unbooked[pool]
        for message in bookings:
            if message.granted_micros is not None and message.heard == self._said[message.pool]:
                with suppress(DocketError):
                    store.give_back(message.pool, self._entry.run_id, message.granted_micros)

    def _put(self, store: PoolStore, ask: _Ask) -> None:
        try:
            answer = self._reserve(store, ask)
            if answer.granted_micros < ask.ask.need_micros:
                self._entry.reap(store, ask.pool)
                answer = self._reserve(store, ask)
        except Exception as error:  # noqa: BLE001 - whoever waits for an answer must get one
            self._tell(ask.pool, _failure(error))
            return
        if answer.granted_micros < ask.ask.least_micros and _may_change(answer, ask) and time.monotonic() < ask.until:
            self._waiting.append(ask)
            if not ask.told:
                ask.told = True
                self._call(self._told_to_wait, ask.pool)
        else:
            self._tell(ask.pool, answer)

    def _reserve(self, store: PoolStore, ask: _Ask) -> PoolAnswer:
        return store.reserve(ask.pool, self._entry.run_id, ask.ask, day_of(self._entry.clock.now()))

    def _tell(self, pool: str, answer: PoolAnswer | Failure) -> None:
        self._said[pool] += 1
        self._call(self._told, pool, answer)

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        with suppress(RuntimeError):  # the loop has ended, and nobody waits any more
            self._loop.call_soon_threadsafe(function, *arguments)


def _may_change(answer: PoolAnswer, ask: _Ask) -> bool:
    """Whether a release by another run could give the call its least."""
    left = answer.left_micros
    return left is None or ask.ask.least_micros - answer.granted_micros <= left


def _failure(error: Exception) -> Failure:
    if isinstance(error, DocketError):
        return Failure(error.detail, passing=error.reason == Reason.LOCKED)
    return Failure(f"a fault of docket's own ({type(error).__name__})", passing=False)


def _nobody() -> None:
    """Let nobody try again."""
