"""What goes out through the proxy: a tunnel of bytes, or one plain request, each on the record before it goes.

Rules:
1. A name is resolved once, every address of it is looked at, and the connection goes to an address that was looked at:
   a second look-up could say something else. Where the environment names a proxy for it, that proxy gets the name; what
   the name resolves to here is looked at all the same.
2. `net.allowed` is durable before a byte passes; how it ended, and how many bytes passed each way, follows at the end.
3. A tunnel's sides end by themselves; a reset of one is a reset of the other. A plain request's reply that breaks off
   is passed on as broken.
"""

from __future__ import annotations

from enum import StrEnum

from docket.formats.ledger.network_events import NetAllowed, NetClosed, NetOutcome
from docket.rules.boundary.forwarding import reply_downstream, request_upstream
from docket.rules.boundary.http1 import ResponseHead, request_framing
from docket.rules.boundary.protocol import (
    DIRECT,
    Await,
    BodyChunk,
    BodyEnded,
    ClientGone,
    CloseUpstream,
    Command,
    Connect,
    Dial,
    Dialed,
    EndClient,
    EndUpstream,
    Event,
    Finish,
    Mark,
    Needs,
    Record,
    Reset,
    Resolve,
    Resolved,
    SendClient,
    SendUpstream,
    StartClient,
    Stopping,
    SwitchClient,
    UpstreamChunk,
    UpstreamEnded,
    UpstreamFailed,
    UpstreamHead,
)
from docket.rules.boundary.proxy_door import TUNNEL, Barred, Outbound, turned_back
from docket.rules.boundary.reach import Unreachable, address_refused
from docket.rules.boundary.refusing import plain_text
from docket.rules.boundary.terms import Shared, Terms

_MS = 1_000_000
_ESTABLISHED = ResponseHead(status=200, reason=b"Connection established")


class _Side(StrEnum):
    AGENT = "agent"
    HOST = "host"


class Egress:
    """One request to the proxy that may go on, from its look-up to its end."""

    def __init__(self, asked: Outbound, terms: Terms, shared: Shared, now_ns: int) -> None:
        self.needs = Needs()
        self.deadline_ns: int | None = None
        self.started = False
        self._asked, self._terms, self._shared, self._began_ns = asked, terms, shared, now_ns
        self._number: int | None = None
        self._addresses: list[str] = []
        self._through_proxy = False
        self._sent_bytes = self._received_bytes = 0
        self._status: int | None = None
        self._ended: set[_Side] = set()

    def begin(self, now_ns: int) -> list[Command]:
        """Look the destination up; an address that may not be reached is refused before."""
        where = self._asked.destination
        if where.address is not None and (refused := self._refused_address(where.host)) is not None:
            return self._bar(refused, now_ns)
        scheme = "https" if self._asked.kind == TUNNEL else "http"
        return [Resolve(scheme, where.host, where.port)]

    def unrecorded(self, now_ns: int) -> None:
        """Take the news that the ledger takes nothing more; nothing is held here."""

    def receive(self, event: Event, now_ns: int) -> list[Command]:
        """Take one event; return what is to be done."""
        match event:
            case Resolved(addresses, through_proxy):
                return self._resolved(addresses, now_ns, through_proxy=through_proxy)
            case UpstreamFailed(_, detail, _):
                return self._failed(detail, now_ns)
            case ClientGone() | Stopping():
                gone = isinstance(event, ClientGone)
                return self._broken(NetOutcome.AGENT_RESET if gone else NetOutcome.CUT, now_ns)
            case Dialed():
                self.started = True
                self.needs = Needs(body=True, upstream=True)
                return [Await(Mark.DURABLE), SwitchClient(_ESTABLISHED)]
            case BodyChunk(data):
                self._sent_bytes += len(data)
                return [SendUpstream(data)]
            case UpstreamHead(head, framing):
                self.started, self._status = True, head.status
                return [Await(Mark.DURABLE), StartClient(reply_downstream(head), framing)]
            case UpstreamChunk(data):
                self._received_bytes += len(data)
                return [SendClient(data)]
            case BodyEnded() | UpstreamEnded():
                return self._ends(_Side.AGENT if isinstance(event, BodyEnded) else _Side.HOST, now_ns)
            case _:
                return []

    # ---- the way there

    def _resolved(self, addresses: tuple[str, ...], now_ns: int, *, through_proxy: bool) -> list[Command]:
        for address in addresses:
            refused = self._refused_address(address)
            if refused is not None:
                return self._bar(refused, now_ns)
        where = self._asked.destination
        self._through_proxy = through_proxy
        self._addresses = [where.host] if through_proxy else list(addresses)
        commands = self._allowed(None if through_proxy or not addresses else addresses[0])
        if not self._addresses:
            return [*commands, *self._failed(f"{where.host} has no address", now_ns)]
        return [*commands, self._next()]

    def _refused_address(self, address: str) -> Unreachable | None:
        return address_refused(self._asked.destination, address, self._terms.policy.egress.allow)

    def _allowed(self, address: str | None) -> list[Command]:
        self._number = self._shared.next_tunnel()
        where = self._asked.destination
        event = NetAllowed(
            tunnel=self._number,
            kind=self._asked.kind,
            host=where.host,
            port=where.port,
            address=None if address == where.host else address,
            method=None if self._asked.address is None else self._asked.head.method,
        )
        return [Record(event), Await(Mark.WRITTEN)]

    def _next(self) -> Command:
        """Connect to the next address that was looked at."""
        asked, host = self._asked, self._addresses.pop(0)
        if asked.address is None:
            return Dial(host, asked.destination.port, through_proxy=self._through_proxy)
        framing = request_framing(asked.head)
        self.needs = Needs(body=True, upstream=True)
        head = request_upstream(asked.head, asked.address, framing)
        whole = b"" if framing.length == 0 else None
        scheme = "http" if self._through_proxy else DIRECT
        return Connect((scheme, host, asked.destination.port), head, whole, chunked=framing.chunked)

    def _bar(self, unreachable: Unreachable, now_ns: int) -> list[Command]:
        barred = Barred(self._asked.kind, self._asked.destination, unreachable)
        return turned_back(barred, self._terms, self._shared, now_ns)

    def _failed(self, detail: str, now_ns: int) -> list[Command]:
        if self.started:
            return self._broken(NetOutcome.HOST_RESET, now_ns)
        if self._addresses and not self._sent_bytes:
            return [self._next()]
        closed = [] if self._number is None else [self._closed(NetOutcome.UNREACHABLE, now_ns)]
        answer = plain_text(502, f"docket {self._terms.docket_number}: {detail}\n")
        return [*closed, CloseUpstream(), answer, Finish()]

    # ---- the end

    def _ends(self, side: _Side, now_ns: int) -> list[Command]:
        self._ended.add(side)
        if self._asked.kind != TUNNEL:
            if side is _Side.AGENT:
                self.needs = Needs(upstream=True)
                return [EndUpstream()]
            return [self._closed(NetOutcome.CLOSED, now_ns), Finish()]
        passed_on: Command = EndUpstream() if side is _Side.AGENT else EndClient()
        if len(self._ended) < len(_Side):
            return [passed_on]
        return [passed_on, self._closed(NetOutcome.CLOSED, now_ns), Finish()]

    def _broken(self, outcome: NetOutcome, now_ns: int) -> list[Command]:
        closed = [] if self._number is None else [self._closed(outcome, now_ns)]
        return [CloseUpstream(), *closed, Reset()]

    def _closed(self, outcome: NetOutcome, now_ns: int) -> Record:
        assert self._number is not None  # noqa: S101 - what was not allowed is not closed
        return Record(
            NetClosed(
                tunnel=self._number,
                outcome=outcome,
                status=self._status,
                sent_bytes=self._sent_bytes,
                received_bytes=self._received_bytes,
                duration_ms=(now_ns - self._began_ns) // _MS,
            )
        )
