"""The payloads of what reached the boundary and is no model call (spec/ledger.md, Vocabulary)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

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
    """Requests turned away at the door (no token, wrong host), counted and not told one by one."""

    TYPE: ClassVar[str] = "net.denied"
    reason: str
    kind: str
    count: int
