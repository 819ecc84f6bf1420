"""The payloads of what reached the boundary and is no model call (spec/ledger.md, Vocabulary)."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from docket.formats.dataclass import dataclass
from docket.formats.ledger.payload_codec import Payload


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherExchange(Payload):
    """A request that is not billed and passed through: model lists, token counting, HEAD."""

    TYPE: ClassVar[str] = "x-docket.other"
    provider: str
    method: str
    path: str
    status: int
    response_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NetDenied(Payload):
    """Requests turned away at the door (no token, wrong host), or refused a destination through the proxy; counted.

    `kind` is `tunnel` or `request` for the proxy's; `host` and `port` name the destination.
    """

    TYPE: ClassVar[str] = "net.denied"
    reason: str
    kind: str
    count: int
    host: str | None = None
    port: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetAllowed(Payload):
    """A destination that was let through the proxy, before anything of it passes. `tunnel` is its number, from 1.

    `kind` is `tunnel` or `request`; `address` is the one connected to first, where the host is a name.
    """

    TYPE: ClassVar[str] = "net.allowed"
    tunnel: int
    kind: str
    host: str
    port: int
    address: str | None = None
    method: str | None = None


class NetOutcome(StrEnum):
    """How what went through the proxy ended."""

    CLOSED = "closed"
    AGENT_RESET = "agent_reset"
    HOST_RESET = "host_reset"
    CUT = "cut"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True, kw_only=True)
class NetClosed(Payload):
    """How a destination let through ended: bytes of the agent's, bytes of the host's; `status` of a plain reply."""

    TYPE: ClassVar[str] = "x-docket.net-closed"
    tunnel: int
    outcome: NetOutcome
    status: int | None = None
    sent_bytes: int
    received_bytes: int
    duration_ms: int
