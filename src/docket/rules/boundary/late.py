"""Requests that pass without being weighed and turn out to be billed: booked late, from what their reply reports.

Rules:
1. A reply is booked when it reports usage, and only then, wherever it came from: an endpoint that is free, or that
   nobody knows, is believed no further than its reply. What has used nothing yet may be asked for again.
2. A reply that carries the id of one that has been booked is not booked again: a stored response may be fetched. An
   id in a reply of no known format counts at its own path alone: a file of the agent's making could carry any.
3. Request and response are recorded together, the request's digest over the bytes as they were sent; its model and
   fingerprint come from its first `_MAX_KEPT_BYTES`.
"""

from __future__ import annotations

import hashlib

from docket.formats.dataclass import dataclass, replace
from docket.formats.digest import Digest
from docket.formats.ledger.model_events import ModelRequest, Outcome
from docket.rules.boundary.admission import Desk
from docket.rules.boundary.billing import Call, Prices, Quote, base64_of
from docket.rules.boundary.http1 import Framing, RequestHead, ResponseHead
from docket.rules.boundary.keeping import ReplyCopy
from docket.rules.boundary.protocol import Breach, Command, Record
from docket.rules.boundary.reply import ModelReply
from docket.rules.providers.endpoints import ANY_WIRE, BATCH_RESULTS
from docket.rules.providers.interface import NO_TARGET, RequestFacts, RequestTarget, Wire
from docket.rules.providers.registry import Provider
from docket.rules.spending.caps import Tally
from docket.rules.spending.meter import InputEstimate
from docket.rules.spending.reservation import Claim, Hold
from docket.rules.spending.scope import MAIN_AGENT, Whose

_MAX_KEPT_BYTES = 1024 * 1024
_ONE_CALL = Tally(calls=1)
_NO_CLAIM = Claim(likely=_ONE_CALL, worst=_ONE_CALL, hidden=False)
_NO_HOLD = Hold(firm=_ONE_CALL, held=_ONE_CALL, worst=_ONE_CALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unweighed:
    """A request that passes though it may be billed.

    `path` is the recorded one, `target` what was asked for, `at` the instant it came.
    """

    provider: Provider
    wire: Wire
    prices: Prices
    head: RequestHead
    path: str
    at: str
    target: RequestTarget = NO_TARGET
    agent: str = MAIN_AGENT


class LateBooking:
    """One passing request under observation."""

    def __init__(self, request: Unweighed, desk: Desk, retain_bytes: int | None = None) -> None:
        """Begin; `retain_bytes` is how much of the reply is kept beside the ledger, None for nothing."""
        self._request, self._desk, self._retain_bytes = request, desk, retain_bytes
        self._kept = bytearray()
        self._digest = hashlib.sha256()
        self._body_bytes = 0
        self._facts = RequestFacts()
        self._sent_at_ns: int | None = None
        self._reply: ModelReply | None = None

    def sent(self, data: bytes, now_ns: int) -> None:
        """Take the next bytes of the request."""
        self._sent_at_ns = now_ns if self._sent_at_ns is None else self._sent_at_ns
        self._digest.update(data)
        self._body_bytes += len(data)
        if len(self._kept) < _MAX_KEPT_BYTES:
            self._kept += data[: _MAX_KEPT_BYTES - len(self._kept)]

    def begin(self, head: ResponseHead, framing: Framing, now_ns: int) -> None:
        """Take the reply's head."""
        self._facts = self._request.wire.read_request(bytes(self._kept), self._request.target)
        call = Call(
            number=0,
            provider=self._request.provider,
            wire=self._request.wire,
            facts=self._facts,
            model=self._facts.model or "unknown",
            body_bytes=self._body_bytes,
            at=self._request.at,
            quote=Quote(_NO_CLAIM, InputEstimate(0)),
            prices=self._request.prices,
        )
        self._reply = ModelReply(call, self._desk, now_ns if self._sent_at_ns is None else self._sent_at_ns)
        if self._retain_bytes is not None:
            self._reply.copy = ReplyCopy(stores=None, store_bytes=0, retain_bytes=self._retain_bytes)
        if self._request.wire in (ANY_WIRE, BATCH_RESULTS):
            self._reply.id_place = self._request.path
        self._reply.begin(head, framing)

    def take(self, data: bytes, now_ns: int) -> None:
        """Take the next bytes of the reply."""
        assert self._reply is not None  # noqa: S101 - a body follows its head
        self._reply.observe(data, now_ns)

    def settle(self, outcome: Outcome, now_ns: int) -> tuple[list[Command], list[Breach]] | None:
        """Return what is recorded, None where nothing is billed."""
        reply = self._reply
        if reply is None or not reply.reports_usage():
            return None
        agent = self._request.agent
        # What is fetched names no model itself; its reply does.
        model = self._facts.model or reply.served_model or reply.call.model
        call = self._desk.take_unasked(_NO_HOLD, Whose(model, agent))
        reply.call = replace(reply.call, number=call)
        request = ModelRequest(
            call=call,
            provider=self._request.provider.name,
            wire=self._request.wire.name,
            model=reply.call.model,
            model_b64=base64_of(self._facts.model_raw),
            method=self._request.head.method,
            path=self._request.path,
            streaming=self._facts.streaming,
            fingerprint=self._facts.fingerprint,
            request_sha256=Digest(self._digest.hexdigest()),
            body_bytes=self._body_bytes,
            agent_id=None if agent == MAIN_AGENT else agent,
        )
        commands, breach = reply.settle(outcome, now_ns)
        return [Record(request), *commands], breach
