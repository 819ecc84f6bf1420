"""The opening of a WebSocket: which request asks for one that is metered, and both heads of it (RFC 6455, 4).

Rules:
1. `GET …/responses` that upgrades to a WebSocket is metered; every other upgrade is refused, and clients fall back.
2. The handshake goes on as it is, key and version untouched, but for the offer of extensions: compressed frames could
   not be read. An answer that agrees on one all the same is broken.
"""

from __future__ import annotations

from docket.formats.dataclass import dataclass
from docket.rules.boundary.access import Entered
from docket.rules.boundary.forwarding import address_of, reply_downstream, request_upstream
from docket.rules.boundary.http1 import NO_BODY, RequestHead, ResponseHead, elements, request_framing, values
from docket.rules.boundary.protocol import Connect
from docket.rules.boundary.refusing import Asked
from docket.rules.boundary.weighed import Weighed
from docket.rules.providers.interface import EndpointKind, Wire
from docket.rules.providers.registry import Provider

_EXTENSIONS = b"sec-websocket-extensions"
_SWITCH = ((b"Connection", b"Upgrade"), (b"Upgrade", b"websocket"))
_METERED = "openai-responses"


@dataclass(frozen=True, slots=True)
class Upgrading:
    """A handshake that passes on; `wire` is what the messages behind it speak."""

    asked: Asked
    provider: Provider
    wire: Wire
    entered: Entered
    head: RequestHead

    def weighed(self) -> Weighed:
        """Return what a message of the socket is weighed as."""
        return Weighed(provider=self.provider, wire=self.wire, head=self.head, entered=self.entered)


def metered_upgrade(asked: Asked, provider: Provider, entered: Entered, head: RequestHead) -> Upgrading | None:
    """Return the handshake of a socket that can be metered, None for any other upgrade."""
    wanted = elements(head.headers, b"upgrade") == ["websocket"] and head.method == "GET" and head.minor == 1
    if not wanted or request_framing(head) != NO_BODY or not values(head.headers, b"sec-websocket-key"):
        return None
    endpoint = provider.classify("POST", entered.rest)
    if endpoint.kind is not EndpointKind.BILLED or endpoint.wire is None or endpoint.wire.name != _METERED:
        return None
    return Upgrading(asked, provider, endpoint.wire, entered, head)


def handshake_upstream(upgrading: Upgrading) -> Connect:
    """Return the handshake for the upstream."""
    address = address_of(upgrading.provider, upgrading.entered.rest)
    head = request_upstream(upgrading.head, address, NO_BODY)
    kept = tuple(field for field in head.headers if field[0].lower() not in (_EXTENSIONS, b"content-length"))
    return Connect(
        address.origin,
        RequestHead(method="GET", target=head.target, headers=(*kept, *_SWITCH)),
        b"",
        upgrade=True,
    )


def is_switch(head: ResponseHead) -> bool:
    """Whether a 101 is one to a WebSocket without extensions."""
    return (
        elements(head.headers, b"upgrade") == ["websocket"]
        and "upgrade" in elements(head.headers, b"connection")
        and not values(head.headers, _EXTENSIONS)
    )


def accepted(head: ResponseHead) -> ResponseHead:
    """Return the 101 that the agent gets."""
    passed = reply_downstream(head)
    return ResponseHead(status=101, reason=head.reason, headers=(*passed.headers, *_SWITCH))
