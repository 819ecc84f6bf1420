"""What the exchanges of a boundary share: the record, the clock, the pool, and the bell of the ledger's thread.

Rules:
1. All of it belongs to the loop's one thread, but for `LedgerBell.ring`, which any thread may call.
2. A call that waits for admission is woken in the order in which it began to wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from docket.engines.boundary.pool import Pool
from docket.engines.boundary.request import Ledger, Responses
from docket.formats.ledger.model_events import ModelResponse
from docket.formats.reason import Reason
from docket.host.clock import Clock
from docket.rules.boundary.protocol import Breach, Record
from docket.rules.boundary.state import LedgerFacts
from docket.rules.boundary.tally import Tally
from docket.rules.boundary.terms import Shared, Terms
from docket.stores.appended import Appended, place_of
from docket.stores.responses import KeptResponse, NotKept

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
    responses: Responses | None = None
    ledger_facts: Callable[[], LedgerFacts] | None = None
    tally: Tally = field(default_factory=Tally)
    stopping: bool = False
    waiting: list[Drive] = field(default_factory=list)

    def record(self, command: Record) -> Appended:
        """Append an event, after the body that it speaks of; DocketError where it has no form."""
        payload, first = command.payload, None
        if command.body is not None and self.responses is not None and isinstance(payload, ModelResponse):
            kept = self.responses.keep(command.body)
            if isinstance(kept, NotKept):
                payload = replace(payload, response_retained=False, response_note=f"{kept.reason}: {kept.detail}")
                self._fail_fast(kept)
            else:
                payload, first = _with_body(payload, kept), kept.sync
        self.tally.take(payload)
        appended = self.ledger.append(payload) if first is None else self.ledger.append(payload, first=first)
        if command.placed is not None:
            command.placed.look = partial(place_of, appended)
        return appended

    def _fail_fast(self, kept: NotKept) -> None:
        if self.terms.policy.resilience.fail_fast_evidence:
            self.shared.desk.close(Reason.EVIDENCE_FAILED, f"a response could not be kept: {kept.detail}")
            self.release()

    def release(self) -> None:
        """Let every exchange that waits for admission try again, the longest waiting first."""
        for drive in self.waiting:
            self.loop.call_soon(drive.retry)


def _with_body(payload: ModelResponse, kept: KeptResponse) -> ModelResponse:
    return replace(
        payload,
        response_retained=True,
        response_path=kept.path,
        response_stored_bytes=kept.size_bytes,
        response_stored_sha256=kept.sha256,
        response_truncated=kept.size_bytes < payload.response_bytes,
    )
