"""Requests to docket as a proxy: who may make them, and where they want to go.

Rules:
1. A CONNECT, or a request whose target is absolute, asks for the proxy. Where the run has none it is turned away.
2. The run's token is the password of the proxy's credentials; without it every request gets the same 407, whatever it
   asks for, and nothing is resolved or connected to.
3. What the policy does not let the run reach is refused before anything is resolved.
"""

from __future__ import annotations

import binascii
import hmac
from base64 import b64decode
from typing import TypeAlias

from docket.errors import InvalidDocumentError
from docket.formats.dataclass import dataclass
from docket.rules.boundary.destination import Destination, of_absolute, of_connect
from docket.rules.boundary.forwarding import Address
from docket.rules.boundary.http1 import RequestHead, ResponseHead, values
from docket.rules.boundary.protocol import Command, Finish, Record, Refuse
from docket.rules.boundary.reach import Unreachable, host_refused
from docket.rules.boundary.refusing import plain_text
from docket.rules.boundary.terms import Shared, Terms

TUNNEL, REQUEST = "tunnel", "request"
_CHALLENGE = (b"proxy-authenticate", b'Basic realm="docket"')


@dataclass(frozen=True, slots=True)
class Stranger:
    """A request to the proxy without its token."""


@dataclass(frozen=True, slots=True)
class Malformed:
    """A request to the proxy that names no destination."""

    detail: str


@dataclass(frozen=True, slots=True)
class Barred:
    """A request to the proxy for what the run may not reach."""

    kind: str
    destination: Destination
    unreachable: Unreachable


@dataclass(frozen=True, slots=True)
class Outbound:
    """A request to the proxy that may go on. `address` is where a plain request goes; a tunnel has none."""

    kind: str
    destination: Destination
    head: RequestHead
    address: Address | None = None


Asking: TypeAlias = "Stranger | Malformed | Barred | Outbound"


def asks_for_proxy(head: RequestHead) -> bool:
    """Whether a request is one to a proxy, by its form."""
    return head.method == "CONNECT" or not head.target.startswith("/")


def at_proxy(head: RequestHead, terms: Terms) -> Asking:
    """Return what a request to the proxy is."""
    if not _is_ours(head, terms.token):
        return Stranger()
    try:
        asked = _outbound(head)
    except InvalidDocumentError as error:
        return Malformed(error.detail)
    upstreams = (Address.parse(provider.upstream).origin for provider in terms.providers.values())
    own = (Destination(host, port) for _, host, port in upstreams)
    unreachable = host_refused(asked.destination, terms.policy.egress, own)
    return asked if unreachable is None else Barred(asked.kind, asked.destination, unreachable)


def challenge() -> Refuse:
    """Return what a request without the token gets."""
    answer = plain_text(407, "this proxy serves one run of docket, with its token\n")
    return Refuse(_with(answer.head, _CHALLENGE), answer.body)


def turned_back(barred: Barred, terms: Terms, shared: Shared, now_ns: int) -> list[Command]:
    """Return what records, where that is due, and answers a request for what the run may not reach."""
    event = shared.denials.count(barred.kind, barred.destination, barred.unreachable.reason, now_ns)
    told = [] if event is None else [Record(event)]
    return [*told, plain_text(403, f"docket {terms.docket_number}: {barred.unreachable.detail}\n"), Finish()]


def _outbound(head: RequestHead) -> Outbound:
    if head.method == "CONNECT":
        return Outbound(TUNNEL, of_connect(head.target), head)
    absolute = of_absolute(head.target)
    where = absolute.destination
    address = Address(("http", where.host, where.port), absolute.authority, absolute.target)
    return Outbound(REQUEST, where, head, address)


def _is_ours(head: RequestHead, token: str) -> bool:
    wanted = token.encode("ascii")
    return any(hmac.compare_digest(given, wanted) for given in map(_password, _credentials(head)))


def _credentials(head: RequestHead) -> list[bytes]:
    return values(head.headers, b"proxy-authorization")


def _password(value: bytes) -> bytes:
    scheme, _, coded = value.partition(b" ")
    if scheme.lower() != b"basic":
        return b""
    try:
        return b64decode(coded.strip(), validate=True).partition(b":")[2]
    except binascii.Error:
        return b""


def _with(head: ResponseHead, field: tuple[bytes, bytes]) -> ResponseHead:
    return ResponseHead(status=head.status, reason=head.reason, headers=(*head.headers, field))
