"""A golden ledger with a response cache and kept responses, every figure worked out by hand."""

from __future__ import annotations

import hashlib
from pathlib import Path

from docket.formats.canonical import JsonValue
from docket.formats.digest import Digest
from docket.formats.ledger.cache_events import CEILING_EVENT, CacheHit, CacheMark, ComponentsHit, Origin
from docket.formats.ledger.event import Event
from docket.formats.ledger.model_events import ModelResponse
from docket.formats.ledger.session_events import Note
from docket.formats.ledger.tree_events import Phase
from docket.formats.run.usage import Usage
from golden_ledgers.build import (
    POLICY,
    SOME_DIGEST,
    LedgerBuilder,
    closed,
    component,
    policy,
    price,
    request,
    response,
    snapshot,
    spawn,
    start,
)

CACHE_POLICY: dict[str, JsonValue] = {
    **POLICY,
    "cache": {"enabled": True, "ttl_seconds": "300", "max_entries": 256, "max_hits": 3},
    "evidence": {"record_responses": True, "record_response_max_bytes": 65536},
}


WHOLE = b'{"id":"chatcmpl-1","choices":[]}'
BEGINNING = b"event: message_start"


def digest(body: bytes) -> Digest:
    """The SHA-256 of a body."""
    return Digest(hashlib.sha256(body).hexdigest())


def path_of(body: bytes) -> str:
    """Where a body of this run is kept, from the folder above its ledger's."""
    return f"responses/0123456789ab/{digest(body)}.bin"


def write_bodies(root: Path) -> None:
    """Put the kept bodies under the folder above the ledger's."""
    for body in (WHOLE, BEGINNING):
        path = root / path_of(body)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)


def plain_reply() -> ModelResponse:
    """A stored reply that is one row, its body kept whole."""
    return response(
        1,
        "openai",
        "gpt-5",
        usage=Usage(input_tokens=2000, cached_input_tokens=800, output_tokens=300, reasoning_tokens=200),
        components=(component("gpt-5", 2000, 800, 300, "0.004600"),),  # 1200x1.25 + 800x.125 + 300x10
        cost="0.004600",
        cumulative="0.004600",
        cache=CacheMark(key="0a" * 32, stored=True),
        response_retained=True,
        response_bytes=len(WHOLE),
        response_sha256=digest(WHOLE),
        response_path=path_of(WHOLE),
        response_stored_bytes=len(WHOLE),
        response_stored_sha256=digest(WHOLE),
        response_truncated=False,
    )


def several_reply() -> ModelResponse:
    """A stored reply of two components, of which the first bytes are kept."""
    return response(
        2,
        "anthropic",
        "claude-sonnet-4-5",
        usage=Usage(input_tokens=5000, output_tokens=100, cache_write_5m_tokens=4000),
        components=(
            component("claude-sonnet-4-5+cache-write-5m", 4000, 0, 0, "0.015000"),  # 4000 x 3.75
            component("claude-sonnet-4-5", 1000, 0, 100, "0.004500"),  # 1000x3 + 100x15
        ),
        cost="0.019500",
        cumulative="0.024100",
        cache=CacheMark(key="0b" * 32, stored=True),
        response_retained=True,
        response_path=path_of(BEGINNING),
        response_stored_bytes=len(BEGINNING),
        response_stored_sha256=digest(BEGINNING),
        response_truncated=True,
    )


def repeated(reply: ModelResponse, origin: Event, kind: type[CacheHit] = CacheHit, **changes: object) -> CacheHit:
    """A hit of a stored reply."""
    assert reply.cache is not None
    members: dict[str, object] = {
        "provider": reply.provider,
        "model": reply.components[-1].model,
        "key": reply.cache.key,
        "origin": Origin(seq=origin.seq, hash=origin.hash),
        "method": "POST",
        "path": "/v1/messages",
        "request_sha256": SOME_DIGEST,
        "body_bytes": 120,
        "fingerprint": "00ff00ff00ff00ff",
        "status": reply.status,
        "streaming": reply.streaming,
        "usage": reply.usage,
        "usage_source": reply.usage_source,
        "avoided_cost_usd": reply.cost_usd,
        "response_bytes": reply.response_bytes,
        "response_sha256": reply.response_sha256,
        "age_ms": 1500,
    }
    return kind(**{**members, **changes})  # type: ignore[arg-type]


def opened_with_cache() -> LedgerBuilder:
    """A ledger up to the agent's start, under a policy with a cache and kept responses."""
    ledger = LedgerBuilder()
    for payload in (start(), policy(CACHE_POLICY), snapshot(Phase.BEFORE, 2), spawn()):
        ledger.add(payload)
    ledger.add(price("gpt-5", "1.25", "0.125", "10.00"))
    ledger.add(request(1, "openai", "gpt-5", "openai-chat"))
    return ledger


def cached() -> LedgerBuilder:
    """Two replies that are given again, one of one row and one of two, to the ceiling of hits; one is not stored."""
    ledger = opened_with_cache()
    first = ledger.add(plain_reply())
    ledger.add(repeated(plain_reply(), first))
    ledger.add(price("claude-sonnet-4-5", "3.00", "0.30", "15.00"))
    ledger.add(price("claude-sonnet-4-5+cache-write-5m", "3.75", "3.75", "0.00"))
    ledger.add(request(2, "anthropic", "claude-sonnet-4-5"))
    second = ledger.add(several_reply())
    ledger.add(repeated(plain_reply(), first))
    ledger.add(repeated(several_reply(), second, ComponentsHit))
    ledger.add(Note(code="cache-ceiling", message="the cache has answered 3 calls", event=CEILING_EVENT))
    ledger.add(request(3, "openai", "gpt-5", "openai-chat"))
    ledger.add(
        response(
            3,
            "openai",
            "gpt-5",
            usage=Usage(input_tokens=100, output_tokens=10),
            components=(component("gpt-5", 100, 0, 10, "0.000225"),),  # 100x1.25 + 10x10
            cost="0.000225",
            cumulative="0.024325",
            cache=CacheMark(key="0c" * 32, stored=False, reason="no-store"),
            response_retained=False,
            response_note="no-space: no space is left on the disk",
        )
    )
    return closed(ledger, "0.024325")
