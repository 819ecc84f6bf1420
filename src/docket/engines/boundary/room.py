"""What the exchanges of a boundary share: the record, the clock, the pool, and the bell of the ledger's thread.

Rules:
1. All of it belongs to the loop's one thread.
2. A call that waits for admission is woken in the order in which it began to wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from docket.engines.boundary.bell import LedgerBell
from docket.engines.boundary.pool import Pool
from docket.engines.boundary.request import Hooks, Ledger, Responses
from docket.formats.dataclass import dataclass, field, replace
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
    hooks: Hooks | None = None
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
