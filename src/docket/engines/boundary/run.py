"""A serving boundary's life: its thread and loop, the socket it takes over, its end.

Rules:
1. It serves in a thread of its own; nothing of it runs before `begin` or after `stop`.
2. `stop` settles what is in flight with an event each, then records what is left to say: turned-away requests and
   how the budget held. It waits for news, never by the clock, and for at most `_STOP_SECONDS`.
3. A breach is told to the supervisor once what was sent to the agent has left; `refuse_further` stops admission at
   once, from any thread.
"""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

from docket.engines.boundary.bell import LedgerBell
from docket.engines.boundary.client import ClientConnection
from docket.engines.boundary.pool import Pool
from docket.engines.boundary.pool_line import StoreLine
from docket.engines.boundary.request import BACKLOG, BoundaryEnd, BoundaryRequest, BoundaryWorld
from docket.engines.boundary.room import Room
from docket.engines.boundary.serving import Serving
from docket.engines.boundary.unawaited import Unawaited
from docket.errors import DocketError, UnavailableError
from docket.formats.ledger.session_events import Note
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import OnBreach
from docket.rules.boundary.access import TurnawayCounter
from docket.rules.boundary.admission import Desk
from docket.rules.boundary.assertions import AssertionDesk
from docket.rules.boundary.billing import Prices
from docket.rules.boundary.cache import ResponseCache
from docket.rules.boundary.gate_order import gates_under
from docket.rules.boundary.pool_desk import PoolDesk
from docket.rules.boundary.protocol import Breach
from docket.rules.boundary.state import BoundaryState
from docket.rules.boundary.terms import Shared, Terms

_READ_BYTES = 256 * 1024
_STOP_SECONDS = 10.0
_ALLOCATIONS_BEFORE_COLLECTION = 50_000
T = TypeVar("T")


class Server:
    """A boundary that serves; every method may be called from any thread but its own."""

    def __init__(self, request: BoundaryRequest, world: BoundaryWorld, listening: socket.socket) -> None:
        """Prepare it; `begin` takes the socket over and serves."""
        self._request, self._world, self._listening = request, world, listening
        self._closed: tuple[Reason, str] | None = None
        self._started: Future[None] = Future()
        self._ended: BoundaryEnd | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._room: Room | None = None
        self._serving: set[Serving] = set()
        self._empty: asyncio.Event | None = None
        self._line: StoreLine | None = None
        self._thread = threading.Thread(target=self._main, name="docket-boundary", daemon=True)

    def refuse_further(self, reason: Reason, detail: str) -> None:
        """Admit no more calls; those in flight go on. Returns when it holds."""

        def close() -> None:
            room = self._here()
            room.shared.desk.close(reason, detail)
            room.release()

        self._on_loop(close)

    def snapshot(self) -> BoundaryState:
        """Return the figures of the moment."""
        return self._here().shared.desk.state()

    def stop(self) -> BoundaryEnd:
        """End it and return how it ended; a second call returns the same."""
        if self._ended is None and self._loop is not None and self._stop is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        if self._ended is None:
            raise UnavailableError(Reason.IO_ERROR, "the boundary ended without settling its calls")
        return self._ended

    def begin(self, closed: tuple[Reason, str] | None) -> None:
        """Start the thread and return when it serves; `closed` says why admission is closed already, if it is."""
        self._closed = closed
        self._thread.start()
        self._started.result()

    def _here(self) -> Room:
        assert self._room is not None  # noqa: S101 - begin() returns only once it is there
        return self._room

    def _on_loop(self, action: Callable[[], T]) -> T | None:
        done: Future[T] = Future()

        def act() -> None:
            try:
                done.set_result(action())
            except BaseException as error:  # noqa: BLE001 - whoever waits must hear of any fault
                done.set_exception(error)

        if self._loop is None or self._ended is not None:
            return None
        try:
            self._loop.call_soon_threadsafe(act)
        except RuntimeError:
            return None
        return done.result()

    # ---- the boundary's own thread

    def _main(self) -> None:
        # A call leaves no cycles behind, so looking for them after every few hundred allocations, as the default is,
        # finds nothing and takes a seventh of the time of a call.
        thresholds = gc.get_threshold()
        gc.set_threshold(_ALLOCATIONS_BEFORE_COLLECTION, *thresholds[1:])
        try:
            with asyncio.Runner() as runner:
                runner.run(self._live())
        except BaseException as error:  # noqa: BLE001 - whoever waits for the start must hear of any fault
            if not self._started.done():
                self._started.set_exception(error)
        finally:
            gc.set_threshold(*thresholds)

    async def _live(self) -> None:
        loop = asyncio.get_running_loop()
        self._loop, self._stop = loop, asyncio.Event()
        loop.set_default_executor(Unawaited())
        room = memoryview(bytearray(_READ_BYTES))
        self._room = self._furnish(loop, room)
        if self._closed is not None:
            self._room.shared.desk.close(*self._closed)
        server = await loop.create_server(
            lambda: ClientConnection(self._arrived, room), sock=self._listening, backlog=BACKLOG
        )
        self._started.set_result(None)
        await self._stop.wait()
        server.close()
        await self._settle(self._room)

    def _furnish(self, loop: asyncio.AbstractEventLoop, room: memoryview) -> Room:
        request, world = self._request, self._world
        terms = Terms(
            policy=request.policy,
            docket_number=request.docket_number,
            token=request.token,
            providers={provider.name: provider for provider in request.providers},
            prices=Prices.under(request.policy, world.book),
            refusal=request.refusal,
            tolerates_usage_injection=request.tolerates_usage_injection,
            faults=request.faults,
            session_token=request.session_token,
            agent_headers=request.agent_headers,
            http_proxy=request.http_proxy,
        )
        bell = LedgerBell(loop)
        world.ledger.listen(bell.ring)
        line = None
        if world.pools is not None:
            line = StoreLine(world.pools, loop, patience_ms=request.policy.caps.admission_wait_ms)
        desk = Desk(request.policy, pool_desk(request.policy, world, line))
        furnished = Room(
            terms=terms,
            shared=_shared(request, desk),
            ledger=world.ledger,
            clock=world.clock,
            pool=Pool(world.environ, room),
            bell=bell,
            loop=loop,
            on_breach=self._breach,
            responses=world.responses,
            ledger_facts=world.ledger_facts,
            hooks=world.hooks,
        )
        if line is not None and desk.pools is not None:
            line.attach(desk.pools, furnished.release)
            self._line = line
        return furnished

    def _breach(self, breach: Breach) -> None:
        if breach.action is OnBreach.KILL and self._world.on_breach is not None:
            self._world.on_breach(breach)

    def _arrived(self, client: ClientConnection) -> Callable[[], None]:
        serving = Serving(client, self._here(), self._left)
        self._serving.add(serving)
        return serving.step

    def _left(self, serving: Serving) -> None:
        self._serving.discard(serving)
        if not self._serving and self._empty is not None:
            self._empty.set()

    async def _settle(self, room: Room) -> None:
        self._empty = asyncio.Event()
        room.stopping = True
        room.shared.desk.close(Reason.RUN_ENDING, "the run is ending")
        for serving in tuple(self._serving):
            serving.step()
        if self._serving:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), _STOP_SECONDS)
        room.pool.close()
        room.ledger.listen(None)
        room.bell.close()
        room.shared.desk.finish()
        budget = room.shared.desk.budget()
        with suppress(DocketError):
            for event in (*room.shared.door.rest(), *room.shared.denials.rest()):
                room.ledger.append(event)
            room.ledger.append(budget)
        self._leave_pools(room)
        self._ended = BoundaryEnd(state=room.shared.desk.state(), budget=budget, turned_away=room.shared.door.total)

    def _leave_pools(self, room: Room) -> None:
        if self._line is None or room.shared.desk.pools is None:
            return
        # What is recorded can be settled by others; so it is recorded first. A pool is left without a record too.
        with suppress(DocketError):
            for use in room.shared.desk.pools.uses():
                room.ledger.append(use)
        self._line.stop()
        with suppress(DocketError):
            for problem in self._line.problems:
                room.ledger.append(Note(code="pool-not-settled", message=problem))


def pool_desk(policy: Policy, world: BoundaryWorld, line: StoreLine | None) -> PoolDesk | None:
    """Return the desk of the run's pools, None where it has none."""
    if world.pools is None or line is None:
        return None
    return PoolDesk(world.pools.limits, policy.budget.admission, line)


def _shared(request: BoundaryRequest, desk: Desk) -> Shared:
    policy = request.policy
    cache = ResponseCache(policy.cache, request.token.encode(), desk) if policy.cache.enabled else None
    kept = policy.evidence
    return Shared(
        desk=desk,
        door=TurnawayCounter(),
        gates=gates_under(policy, cache),
        cache=cache,
        retain_bytes=kept.record_response_max_bytes if kept.record_responses else None,
        assertions=AssertionDesk.under(policy),
    )
