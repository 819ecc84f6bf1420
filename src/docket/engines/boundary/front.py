"""The boundary as its supervisor holds it: it listens at once, and loads what serves with the first connection.

Rules:
1. `start` returns once the port is there; connections that come before the server is loaded wait in its queue.
2. A run whose agent makes no call never loads the server, and its record says the same as if it had.
3. Every method may be called from any thread but the boundary's own.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from docket.engines.boundary.request import BACKLOG, BoundaryEnd, BoundaryRequest, BoundaryWorld
from docket.errors import DocketError
from docket.formats.amount import ZERO
from docket.formats.ledger.session_events import Note
from docket.formats.ledger.spending_events import Budget, PoolUse
from docket.formats.reason import Reason
from docket.host.listening import Listening
from docket.rules.boundary.state import BoundaryState

if TYPE_CHECKING:
    from docket.engines.boundary.run import Server
    from docket.engines.pools.entry import PoolEntry


class Boundary:
    """A boundary that has been started."""

    def __init__(self, request: BoundaryRequest, world: BoundaryWorld) -> None:
        """Listen; UnavailableError if that cannot be. `start` begins to wait."""
        self._request, self._world = request, world
        self._listening = Listening(request.port, BACKLOG)
        self._lock = threading.Lock()
        self._server: Server | None = None
        self._fault: BaseException | None = None
        self._closed: tuple[Reason, str] | None = None
        self._ended: BoundaryEnd | None = None
        self._thread = threading.Thread(target=self._await_first, name="docket-boundary-front", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._listening.port

    @property
    def base_url(self) -> str:
        """The address agents are given, without a slash at its end; providers stand below it."""
        return f"http://127.0.0.1:{self.port}/{self._request.token}"

    @property
    def session_url(self) -> str | None:
        """The address for what the agent says of itself, None where there is none."""
        token = self._request.session_token
        return None if token is None else f"http://127.0.0.1:{self.port}/{token}/docket"

    def refuse_further(self, reason: Reason, detail: str) -> None:
        """Admit no more calls; those in flight go on. Returns when it holds."""
        with self._lock:
            self._closed = (reason, detail)
            server = self._server
        if server is not None:
            server.refuse_further(reason, detail)

    def snapshot(self) -> BoundaryState:
        """Return the figures of the moment."""
        with self._lock:
            server = self._server
        return BoundaryState() if server is None else server.snapshot()

    def stop(self) -> BoundaryEnd:
        """End it, record what is left to say, and return how it ended; a second call returns the same."""
        if self._ended is not None:
            return self._ended
        self._listening.end_wait()
        self._thread.join()
        self._listening.close_wait()
        if self._fault is not None:
            self._listening.socket.close()
            raise self._fault
        if self._server is not None:
            self._ended = self._server.stop()
        else:
            self._listening.socket.close()
            self._ended = self._end_unused()
        return self._ended

    def _await_first(self) -> None:
        """Load the server and hand the socket over once somebody has connected."""
        if not self._listening.wait_for_connection():
            return
        try:
            from docket.engines.boundary.run import Server  # noqa: PLC0415 - the load that is put off

            # Under the lock, so that whoever closes admission meanwhile closes it for the server too.
            with self._lock:
                server = Server(self._request, self._world, self._listening.socket)
                server.begin(self._closed)
                self._server = server
        except BaseException as fault:  # noqa: BLE001 - `stop` tells it, on the supervisor's own thread
            self._fault = fault

    def _end_unused(self) -> BoundaryEnd:
        policy = self._request.policy
        budget = Budget(
            admission=policy.budget.admission,
            cap_usd=policy.caps.max_usd,
            spent_usd=ZERO,
            overshoot_usd=ZERO,
            bound_usd=ZERO,
            peak_held_usd=ZERO,
        )
        with suppress(DocketError):
            self._world.ledger.append(budget)
        if self._world.pools is not None:
            self._leave_pools(self._world.pools)
        return BoundaryEnd(state=BoundaryState(), budget=budget, turned_away=0)

    def _leave_pools(self, pools: PoolEntry) -> None:
        with suppress(DocketError):
            for name in sorted(pools.limits):
                use = PoolUse(pool=name, spent_usd=ZERO, unknown_usd=ZERO, overshoot_usd=ZERO, bound_usd=ZERO)
                self._world.ledger.append(use)
        problems = pools.leave({})
        with suppress(DocketError):
            for problem in problems:
                self._world.ledger.append(Note(code="pool-not-settled", message=problem))


def start(request: BoundaryRequest, world: BoundaryWorld) -> Boundary:
    """Start a boundary and return it once it listens; UnavailableError if it cannot."""
    return Boundary(request, world)
