"""What a ledger of docket's own must show of its response cache (spec/receipt.md, Response cache).

Rules:
1. The cache works only where the policy has one; every reply then says whether it was stored, and why not.
2. Stored is a whole reply of status 200 alone.
3. A hit names an earlier reply that was stored under the hit's key, and repeats its figures; its type tells whether
   one usage row says them.
4. There are no more hits than the policy lets there be, none of a reply past its lifetime, and the ceiling is remarked
   upon exactly when it is reached.
5. A hit avoids what its reply cost.
"""

from __future__ import annotations

import re
from decimal import Decimal

from docket.formats.canonical import JsonObject, object_at
from docket.formats.dataclass import dataclass, field
from docket.formats.digest import Digest
from docket.formats.ledger.cache_events import CEILING_EVENT, CacheHit, ComponentsHit
from docket.formats.ledger.event import Event
from docket.formats.ledger.model_events import ModelResponse, Outcome
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.session_events import Note, PolicyApplied
from docket.formats.shown import shown

_OK = 200
_SECONDS = re.compile(r"(0|[1-9][0-9]{0,9})(\.[0-9]{1,6})?")
# What a hit repeats of its reply, member for member.
_REPEATED = (
    "provider", "status", "streaming", "usage", "usage_source", "response_bytes", "response_sha256",
)  # fmt: skip


@dataclass(slots=True)
class HitOrigins:
    """Rules 1 to 4; memory is proportional to the replies that were stored."""

    enabled: bool = False
    max_hits: int = 0
    ttl_ms: Decimal = Decimal(0)
    hits: int = 0
    stored: dict[int, tuple[Digest, ModelResponse]] = field(default_factory=dict)

    def take(self, event: Event, payload: Payload | None) -> str | None:
        """Return what is wrong with the next event, or None."""
        if isinstance(payload, PolicyApplied):
            self._policy(object_at(payload.document, "cache"))
        elif isinstance(payload, ModelResponse):
            return self._reply(event, payload)
        elif isinstance(payload, CacheHit):
            self.hits += 1
            return self._allowed(payload) or self._repeats(payload)
        elif isinstance(payload, Note) and payload.event == CEILING_EVENT:
            return self._ceiling(payload)
        return None

    def _ceiling(self, note: Note) -> str | None:
        if note.reported_by is not None:
            return "the agent may not say that the ceiling is reached"
        return None if 0 < self.max_hits == self.hits else f"the policy's ceiling is not reached by {self.hits} hits"

    def _policy(self, section: JsonObject) -> None:
        self.enabled = section.get("enabled") is True
        most = section.get("max_hits")
        self.max_hits = most if type(most) is int else 0
        seconds = section.get("ttl_seconds")
        is_number = type(seconds) is int or (isinstance(seconds, str) and _SECONDS.fullmatch(seconds) is not None)
        self.ttl_ms = Decimal(str(seconds)) * 1000 if is_number else Decimal(0)

    def _reply(self, event: Event, payload: ModelResponse) -> str | None:
        mark = payload.cache
        if mark is None:
            return None
        if not self.enabled:
            return "cache stands in it, the policy has none"
        if not mark.stored:
            return "cache.reason is missing" if mark.reason is None else None
        if mark.key is None or mark.reason is not None:
            return "a reply that was stored has a key and no reason"
        if payload.status != _OK or payload.outcome is not Outcome.COMPLETE:
            return "it was stored and is no whole reply of status 200"
        if payload.components:
            self.stored[event.seq] = (event.hash, payload)
        return None

    def _allowed(self, hit: CacheHit) -> str | None:
        if not self.enabled:
            return "the policy has no cache"
        if 0 < self.max_hits < self.hits:
            return f"the policy lets the cache answer {self.max_hits} calls, this is hit {self.hits}"
        if 0 < self.ttl_ms < hit.age_ms:
            return f"its reply is {hit.age_ms} ms old, past the policy's lifetime"
        return None

    def _repeats(self, hit: CacheHit) -> str | None:
        found = self.stored.get(hit.origin.seq)
        if found is None or found[0] != hit.origin.hash:
            return f"event {hit.origin.seq} is no earlier reply that was stored"
        reply = found[1]
        if reply.cache is None or reply.cache.key != hit.key:
            return f"key is not that of event {hit.origin.seq}"
        if hit.model != reply.components[-1].model:
            return f"model is {shown(hit.model)}, event {hit.origin.seq} was priced as another"
        if reply.is_one_row is isinstance(hit, ComponentsHit):
            return f"its type does not fit the {len(reply.components)} components of event {hit.origin.seq}"
        for name in _REPEATED:
            if getattr(hit, name) != getattr(reply, name):
                return f"{name} is not that of event {hit.origin.seq}"
        return None


@dataclass(slots=True)
class HitSavings:
    """Rule 5."""

    replies: dict[int, ModelResponse] = field(default_factory=dict)

    def take(self, event: Event, payload: Payload | None) -> str | None:
        """Return what is wrong with the next event, or None."""
        if isinstance(payload, ModelResponse) and payload.cache is not None:
            self.replies[event.seq] = payload
        elif isinstance(payload, CacheHit):
            reply = self.replies.get(payload.origin.seq)
            if reply is not None and reply.cost_usd != payload.avoided_cost_usd:
                return (
                    f"avoided_cost_usd is {payload.avoided_cost_usd}, event {payload.origin.seq} cost {reply.cost_usd}"
                )
        return None
