"""What makes two requests the same: the key under which a reply is kept and found again.

Rules:
1. The key covers provider, method, path, query as it stands, every header that a server could heed, credentials
   among them, and the decoded body to the byte. It is an HMAC under the run's token, so that what it covers cannot
   be tried out against a record, and keys of two runs say nothing about one another.
2. Left out are headers that name an attempt, a trace or a connection, and in the body Claude Code's billing line and
   the names a provider is given of the person or conversation: they change from one attempt to the next, and no
   answer depends on them.
3. What is left out of a body is cut out of its bytes, and only where it stands there exactly once: a body is never
   written anew, and a text of the conversation's that looks the same is never cut.
4. A request whose answer depends on more than itself has no key: stored conversations, background work, tools and
   inputs at the provider's side, a body that two readers could read differently.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator

from docket.rules.boundary.http1 import RequestHead, end_to_end, joined
from docket.rules.boundary.weighed import MAX_DECODED_BYTES, Weighed
from docket.rules.providers.encoding import decode_body
from docket.rules.providers.interface import Hidden
from docket.rules.providers.json_scan import JsonMap, as_items, as_map
from docket.rules.providers.request import BILLING_LINE, MAX_PARSED_BYTES, parse_request

_DEPENDENT = frozenset(
    (Hidden.SERVER_TOOLS, Hidden.STORED_HISTORY, Hidden.REMOTE_INPUT, Hidden.BACKGROUND, Hidden.UNREADABLE)
)
# These connect the request to one attempt, one trace or one connection and never to its answer.
_UNHEEDED = frozenset(
    (
        b"host", b"content-length", b"content-encoding", b"expect", b"date", b"x-docket-token",
        b"idempotency-key", b"x-request-id", b"request-id", b"x-client-request-id", b"x-correlation-id",
        b"x-stainless-retry-count", b"x-stainless-timeout",
        b"traceparent", b"tracestate", b"baggage", b"b3", b"sentry-trace", b"x-amzn-trace-id", b"x-cloud-trace-context",
        b"session-id", b"session_id", b"thread-id", b"thread_id", b"x-claude-code-session-id", b"x-session-affinity",
        b"x-codex-window-id", b"x-codex-turn-metadata",
    )
)  # fmt: skip
_UNHEEDED_PREFIXES = (b"x-b3-", b"x-datadog-")
_STORED_UNLESS_TOLD = frozenset(("openai-responses", "gemini-interactions"))
_CHANGING = (("metadata", "user_id"), ("user",), ("safety_identifier",), ("prompt_cache_key",))
# No JSON text holds a NUL, so what stands in place of a cut part cannot be met anywhere else.
_CUT = b"\0"


def cache_key(weighed: Weighed, secret: bytes) -> str | None:
    """Return 64 hexadecimal digits that are equal for requests whose answer may be the same one; None for no key."""
    facts = weighed.facts
    if weighed.head.method != "POST":  # a turn on a socket is no reply that could be given whole
        return None
    if weighed.unreadable is not None or facts.ambiguous is not None or not _DEPENDENT.isdisjoint(facts.hidden):
        return None
    body = _plain(weighed)
    if len(body) > MAX_PARSED_BYTES:
        return None
    request = parse_request(body)
    if request is None or _is_stored(weighed.wire.name, request.members):
        return None
    parts = hmac.new(secret, digestmod=hashlib.sha256)
    for part in _parts(weighed, _without_changing(body, request.members)):
        parts.update(b"%d:" % len(part))
        parts.update(part)
    return parts.hexdigest()


def _plain(weighed: Weighed) -> bytes:
    coding = joined(weighed.head.headers, b"content-encoding").strip().lower()
    if coding in ("", "identity"):
        return weighed.body
    return decode_body(coding, weighed.body, MAX_DECODED_BYTES) or b""


def _is_stored(wire: str, members: JsonMap) -> bool:
    """Whether the provider keeps the exchange, so that a later call could go on from it."""
    return members.get("store") is not False if wire in _STORED_UNLESS_TOLD else bool(members.get("store"))


def _parts(weighed: Weighed, body: bytes) -> Iterator[bytes]:
    yield weighed.provider.name.encode()
    yield weighed.wire.name.encode()
    yield weighed.head.method.encode("latin-1")
    yield weighed.entered.rest.encode("latin-1")
    fields = list(_heeded(weighed.head))
    yield b"%d" % len(fields)
    for name, value in fields:
        yield name
        yield value
    yield body


def _heeded(head: RequestHead) -> Iterator[tuple[bytes, bytes]]:
    """Yield the fields that count, by name; lines of one name keep their order."""
    lines = [(name.lower(), value.strip()) for name, value in end_to_end(head.headers)]
    for name, value in sorted(lines, key=lambda line: line[0]):
        if name not in _UNHEEDED and not name.startswith(_UNHEEDED_PREFIXES):
            yield name, value


def _without_changing(body: bytes, members: JsonMap) -> bytes:
    for text in _changing(members):
        for spelt in {json.dumps(text, ensure_ascii=False), json.dumps(text)}:
            token = spelt.encode("utf-8", "surrogatepass")
            if body.count(token) == 1:
                body = body.replace(token, _CUT)
                break
    return body


def _changing(members: JsonMap) -> Iterator[str]:
    for block in as_items(members.get("system")):
        text = as_map(block).get("text")
        if isinstance(text, str) and text.lstrip().startswith(BILLING_LINE):
            yield text
    for path in _CHANGING:
        value: object = members
        for name in path:
            value = as_map(value).get(name)
        if isinstance(value, str):
            yield value
