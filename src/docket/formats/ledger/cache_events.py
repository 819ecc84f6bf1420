"""The payloads of the response cache (spec/ledger.md, Vocabulary).

A hit is evidence, not a call: it names the event of the reply it repeats, and moves no cap and no total. A reply
priced by more than one component cannot be told by the public format's three token counts, so a hit of such a reply
has a type of docket's own; its members are the same.
"""

from __future__ import annotations

from typing import ClassVar

from docket.formats.amount import Usd
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.payload_codec import Payload
from docket.formats.run.usage import Usage, UsageSource

CEILING_EVENT = "cache.hits_ceiling_reached"
"""What other readers of the public format know the note by that says that the hit ceiling was reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheMark:
    """What the cache made of a reply; `reason` is why it was not stored.

    `key` is 64 hexadecimal digits, absent where the request is none that could be repeated.
    """

    stored: bool
    key: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The `model.response` that a hit repeats."""

    seq: int
    hash: Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheHit(Payload):
    """A call answered with the bytes of an earlier reply; `model` is the base component's, `usage` the reply's.

    `request_sha256` is of the request that was answered, `age_ms` how long ago the reply had ended.
    """

    TYPE: ClassVar[str] = "model.cache_hit"
    provider: str
    model: str
    key: str
    origin: Origin
    method: str
    path: str
    request_sha256: Digest
    body_bytes: int
    fingerprint: str
    status: int
    streaming: bool
    usage: Usage
    usage_source: UsageSource
    avoided_cost_usd: Usd
    response_bytes: int
    response_sha256: Digest
    age_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentsHit(CacheHit):
    """A hit of a reply that was priced by several components."""

    TYPE: ClassVar[str] = "x-docket.cache-hit"
