"""A request that is not billed, passed through as it comes and recorded as `x-docket.other`.

Rules:
1. Both bodies stream; nothing is kept.
2. One event at the end, however it ends; it carries the path without its query. Where the reply reports usage, the
   events of a call take its place (`late`).
3. An upstream that breaks off a reply is passed on as broken.
"""

from __future__ import annotations

from docket.formats.ledger.model_events import Outcome
from docket.formats.ledger.network_events import OtherExchange
from docket.formats.reason import Reason
from docket.rules.agents.interface import RefusalStyle
from docket.rules.boundary.admission import Refused
from docket.rules.boundary.forwarding import reply_downstream
from docket.rules.boundary.http1 import RequestHead
from docket.rules.boundary.late import LateBooking
from docket.rules.boundary.protocol import (
    Await,
    BodyChunk,
    BodyEnded,
    Breach,
    ClientGone,
    CloseUpstream,
    Command,
    EndUpstream,
    Event,
    Finish,
    Mark,
    Needs,
    Record,
    Reset,
    SendClient,
    SendUpstream,
    StartClient,
    Stopping,
    UpstreamChunk,
    UpstreamEnded,
    UpstreamFailed,
    UpstreamHead,
)
from docket.rules.boundary.refusing import Asked, refuse

_GONE_STATUS = 499


class Passing:
    """One request that passes through."""

    def __init__(
        self, head: RequestHead, asked: Asked, style: RefusalStyle, docket_number: str, late: LateBooking
    ) -> None:
        self.needs = Needs(body=True, upstream=True)
        self.deadline_ns: int | None = None
        self._method = head.method
        self._asked = asked
        self._style = style
        self._docket_number = docket_number
        self._status: int | None = None
        self._bytes = 0
        self._late = late

    @property
    def started(self) -> bool:
        """Whether the agent has got the head of a reply."""
        return self._status is not None

    def unrecorded(self, now_ns: int) -> None:
        """Take the news that the ledger takes nothing more; a request that passes holds nothing."""

    def receive(self, event: Event, now_ns: int) -> list[Command]:
        """Take one event; return what is to be done."""
        match event:
            case BodyChunk(data):
                self._late.sent(data, now_ns)
                return [SendUpstream(data)]
            case BodyEnded():
                self.needs = Needs(upstream=True)
                return [EndUpstream()]
            case UpstreamHead(head, framing):
                self._status = head.status
                self._late.begin(head, framing, now_ns)
                return [StartClient(reply_downstream(head), framing)]
            case UpstreamChunk(data):
                self._bytes += len(data)
                self._late.take(data, now_ns)
                return [SendClient(data)]
            case UpstreamEnded():
                told, breach = self._told(Outcome.COMPLETE, now_ns)
                return [*told, Finish(), *breach]
            case UpstreamFailed(reason, detail, _):
                return self._failed(reason, detail, now_ns)
            case ClientGone() | Stopping():
                gone = isinstance(event, ClientGone)
                told, breach = self._told(Outcome.CLIENT_GONE if gone else Outcome.CUT, now_ns)
                return [CloseUpstream(), *told, Reset(), *breach]
            case _:
                return []

    def _failed(self, reason: Reason, detail: str, now_ns: int) -> list[Command]:
        if self._status is not None:
            told, breach = self._told(Outcome.UPSTREAM_BROKEN, now_ns)
            return [*told, Reset(), *breach]
        answer, _ = refuse(Refused(reason=reason, detail=detail), self._asked, self._style, self._docket_number)
        self._bytes = len(answer.body)
        return [self._other(answer.head.status), answer, Finish()]

    def _told(self, outcome: Outcome, now_ns: int) -> tuple[list[Command], list[Breach]]:
        booked = self._late.settle(outcome, now_ns)
        if booked is None:
            return [self._other(self._status or _GONE_STATUS)], []
        return [*booked[0], Await(Mark.DURABLE)], booked[1]

    def _other(self, status: int) -> Record:
        return Record(
            OtherExchange(
                provider=self._asked.provider,
                method=self._method,
                path=self._asked.path,
                status=status,
                response_bytes=self._bytes,
            )
        )
