"""Answers that go on at their provider after their call has ended.

Rules:
1. What was asked for in the background may be billed after the reply has said that it is queued, or was left by the
   agent. Until its usage was read, in the reply or when it is fetched, the call's hold stays.
2. What is fetched is booked late, under the response's own id; only that gives the hold back.
"""

from __future__ import annotations

from docket.formats.run.usage import UsageSource
from docket.rules.boundary.admission import Desk, Effects
from docket.rules.boundary.billing import Bill, Call
from docket.rules.providers.interface import Hidden


def settled(desk: Desk, call: Call, billed: Bill, response_id: str | None) -> Effects:
    """Settle a call at its bill; return what follows."""
    reported = billed.source is UsageSource.REPORTED
    if not reported and call.prices.weighed and Hidden.BACKGROUND in call.facts.hidden:
        return desk.settle_onward(call.number, billed.tally, response_id)
    return desk.settle(call.number, billed.tally, whole=reported)
