"""A request that is not billed, passed through as it comes and recorded as `x-docket.other`.

Rules:
1. Both bodies stream; nothing is kept.
2. One event at the end, however it ends; it carries the path without its query.
3. An upstream that breaks off a reply is passed on as broken.
"""

from __future__ import annotations

from docket.formats.ledger.payloads import OtherExchange
from docket.formats.reason import Reason
from docket.rules.agents.interface import RefusalStyle
from docket.rules.boundary.admission import Refused
from docket.rules.boundary.forwarding import reply_downstream
from docket.rules.boundary.http1 import RequestHead
from docket.rules.boundary.protocol import (
    BodyChunk,
    BodyEnded,
    ClientGone,
    CloseUpstream,
    Command,
    EndUpstream,
    Event,
    Finish,
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

    def __init__(self, head: RequestHead, asked: Asked, style: RefusalStyle, docket_number: str) -> None:
        self.needs = Needs(body=True, upstream=True)
        self._method = head.method
        self._asked = asked
        self._style = style
        self._docket_number = docket_number
        self._status: int | None = None
        self._bytes = 0

    @property
    def started(self) -> bool:
        """Whether the agent has got the head of a reply."""
        return self._status is not None

    def receive(self, event: Event) -> list[Command]:
        """Take one event; return what is to be done."""
        match event:
            case BodyChunk(data):
                return [SendUpstream(data)]
            case BodyEnded():
                self.needs = Needs(upstream=True)
                return [EndUpstream()]
            case UpstreamHead(head, framing):
                self._status = head.status
                return [StartClient(reply_downstream(head), framing)]
            case UpstreamChunk(data):
                self._bytes += len(data)
                return [SendClient(data)]
            case UpstreamEnded():
                return [self._told(self._status or 0), Finish()]
            case UpstreamFailed(reason, detail, _):
                return self._failed(reason, detail)
            case ClientGone() | Stopping():
                return [CloseUpstream(), self._told(self._status or _GONE_STATUS), Reset()]
            case _:
                return []

    def _failed(self, reason: Reason, detail: str) -> list[Command]:
        if self._status is not None:
            return [self._told(self._status), Reset()]
        answer, _ = refuse(Refused(reason=reason, detail=detail), self._asked, self._style, self._docket_number)
        self._bytes = len(answer.body)
        return [self._told(answer.head.status), answer, Finish()]

    def _told(self, status: int) -> Record:
        return Record(
            OtherExchange(
                provider=self._asked.provider,
                method=self._method,
                path=self._asked.path,
                status=status,
                response_bytes=self._bytes,
            )
        )
