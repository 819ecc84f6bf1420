"""What the exchanges of a boundary share: the record, the clock, the pool, and the bell of the ledger's thread.

Rules:
1. All of it belongs to the loop's one thread, but for `LedgerBell.ring`, which any thread may call.
2. A call that waits for admission is woken in the order in which it began to wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from docket.engines.boundary.pool import Pool
from docket.engines.boundary.request import Ledger
from docket.host.clock import Clock
from docket.rules.boundary.protocol import Breach
from docket.rules.boundary.terms import Shared, Terms
from docket.stores.appended import Appended

if TYPE_CHECKING:
    from docket.engines.boundary.drive import Drive


class LedgerBell:
    """Brings news from the ledger's thread to the loop: once for many events, and only what somebody waits for."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: dict[Callable[[], None], tuple[Appended, int]] = {}
        self._posted = False

    def has_reached(self, event: Appended, stage: int, wake: Callable[[], None]) -> bool:
        """Say whether an event has come to a stage, or failed; if not, `wake` is called once it has."""
        # It stands in the list before the stage is looked at: whatever is reached after that look rings.
        self._waiting[wake] = (event, stage)
        if event.stage < stage:
            return False
        del self._waiting[wake]
        return True

    def ring(self) -> None:
        """Take news; called from any thread."""
        # The list is copied in one step, for the loop goes on changing it. A turn of the loop for nothing, when events
        # are written that are waited for to be durable, costs more than the look.
        if not self._posted and any(event.stage >= stage for event, stage in list(self._waiting.values())):
            self._posted = True
            # A loop that has been closed has nobody left to wake.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._posted = False
        for wake in [wake for wake, (event, stage) in self._waiting.items() if event.stage >= stage]:
            wake()


@dataclass(slots=True, kw_only=True)
class Room:
    """What all exchanges of a boundary share."""

    terms: Terms
    shared: Shared
    ledger: Ledger
    clock: Clock
    pool: Pool
    bell: LedgerBell
    loop: asyncio.AbstractEventLoop
    on_breach: Callable[[Breach], None]
    stopping: bool = False
    waiting: list[Drive] = field(default_factory=list)

    def release(self) -> None:
        """Let every exchange that waits for admission try again, the longest waiting first."""
        for drive in self.waiting:
            self.loop.call_soon(drive.retry)
