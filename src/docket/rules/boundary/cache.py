"""The response cache of a run: whole replies, given again to a request that is the same.

Rules:
1. It is off unless the policy switches it on, lives in memory and ends with its run.
2. Stored is a reply of status 200 that came to its end, told so by its own last event, without an error, that the
   agent got whole, that no `no-store` forbids and that is no larger than the policy lets it be.
3. A hit gives the bytes of the reply and the headers that describe them. It is evidence and no call: it names the
   event of the reply, which is durable before the reply can be given again, and moves no cap and no total.
4. Two equal requests at once both go to the provider: one that waited would get nothing until the other has all.
5. The least recently used entries leave first; an entry past its lifetime is none; past the ceiling of hits
   everything goes to the provider again.
"""

from __future__ import annotations

from collections import OrderedDict

from docket.formats.dataclass import dataclass
from docket.formats.ledger.cache_events import CEILING_EVENT, CacheHit, CacheMark, ComponentsHit, Origin
from docket.formats.ledger.model_events import ModelResponse
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.session_events import Note
from docket.formats.run.policy_modes import CachePolicy
from docket.rules.boundary.admission import Desk
from docket.rules.boundary.cache_key import cache_key
from docket.rules.boundary.gates import Answer, Ended, GateAnswer, Go
from docket.rules.boundary.http1 import Headers, ResponseHead, elements
from docket.rules.boundary.keeping import ReplyEnd
from docket.rules.boundary.protocol import Await, Finish, Mark, Placed, Record, Refuse
from docket.rules.boundary.weighed import Weighed

CACHE_HEADER = (b"x-docket-cache", b"hit")
HTTP_OK = 200
_NS = 1_000_000_000
_MS = 1_000_000
# The headers that describe the bytes, and those by which the reply is known; the others speak of a moment.
_REPEATED = frozenset(
    (
        b"content-type", b"content-encoding", b"content-language", b"content-disposition", b"request-id",
        b"x-request-id", b"apim-request-id", b"x-amzn-requestid", b"openai-model", b"openai-version",
    )
)  # fmt: skip
_REPEATED_PREFIX = b"x-amzn-bedrock-"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReply:
    """A stored reply; it may be given again once `placed` knows its event."""

    placed: Placed
    stored_at_ns: int
    headers: Headers
    body: bytes
    response: ModelResponse


class ResponseCache:
    """A gate that answers what was answered before; it lives on the boundary's one thread."""

    def __init__(self, policy: CachePolicy, secret: bytes, desk: Desk) -> None:
        """Begin empty; `secret` keys the keys, `desk` says whether the run still admits calls."""
        self.hits = 0
        self._policy = policy
        self._ttl_ns = int(policy.ttl_seconds * _NS)
        self._secret = secret
        self._desk = desk
        self._entries: OrderedDict[str, StoredReply] = OrderedDict()
        self._size_bytes = 0

    # ---- the gate

    def ask(self, weighed: Weighed, now_ns: int) -> GateAnswer:
        """Answer a request whose reply is at hand."""
        if weighed.on_socket:  # a reply of HTTP is no answer there, nor a message of it one to HTTP
            return Go()
        key = weighed.cache_key = cache_key(weighed, self._secret)
        entry = None if key is None or self._desk.closed is not None else self._found(key, now_ns)
        if key is None or entry is None or self._is_at_ceiling:
            return Go()
        origin = entry.placed.look()
        if origin is None:
            return Go()
        self.hits += 1
        self._entries.move_to_end(key)
        hit = _hit(key, entry, weighed, now_ns, Origin(seq=origin[0], hash=origin[1]))
        events = [hit, *self._ceiling()]
        head = ResponseHead(status=HTTP_OK, reason=b"OK", headers=(*entry.headers, CACHE_HEADER))
        return Answer((*map(Record, events), Await(Mark.DURABLE), Refuse(head, entry.body), Finish()))

    def begun(self, _weighed: Weighed, _status: int, _now_ns: int) -> tuple[Payload, ...]:
        """Take no notice: a head says nothing about the reply's end."""
        return ()

    def withdrawn(self, _weighed: Weighed, _now_ns: int) -> tuple[Payload, ...]:
        """Take no notice: a request is only looked up."""
        return ()

    def ended(self, _weighed: Weighed, _ended: Ended, _now_ns: int) -> tuple[Payload, ...]:
        """Take no notice: what becomes of a reply is decided with its event."""
        return ()

    @property
    def max_response_bytes(self) -> int:
        """The size of the largest reply that may be stored."""
        return min(self._policy.max_response_bytes, self._policy.max_bytes)

    @property
    def _is_at_ceiling(self) -> bool:
        return 0 < self._policy.max_hits <= self.hits

    def _ceiling(self) -> list[Payload]:
        if not self._is_at_ceiling:
            return []
        sentence = f"the cache has answered {self.hits} calls, as many as the policy lets it; further ones are sent"
        return [Note(code="cache-ceiling", message=sentence, event=CEILING_EVENT)]

    def _found(self, key: str, now_ns: int) -> StoredReply | None:
        entry = self._entries.get(key)
        if entry is not None and 0 < self._ttl_ns <= now_ns - entry.stored_at_ns:
            self._drop(key)
            return None
        return entry

    # ---- replies

    def why_not(self, end: ReplyEnd, body: bytes | None) -> str | None:
        """Return why a reply may not be given again, None if it may."""
        head, reading = end.head, end.reading
        if head is None or head.status != HTTP_OK:
            return "status"
        if reading.error is not None:
            return "error-event"
        if not end.whole or not reading.terminal:
            return "not-whole"
        if "no-store" in elements(head.headers, b"cache-control"):
            return "no-store"
        return "too-large" if body is None else None

    def put(self, key: str, entry: StoredReply) -> None:
        """Keep a reply under its key, in place of what stood there."""
        self._drop(key)
        self._entries[key] = entry
        self._size_bytes += len(entry.body)
        while len(self._entries) > self._policy.max_entries or self._size_bytes > self._policy.max_bytes:
            self._drop(next(iter(self._entries)))

    def _drop(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._size_bytes -= len(entry.body)


class StoresUnder:
    """Stores one reply under the key of its request, if it has one."""

    def __init__(self, cache: ResponseCache, key: str | None) -> None:
        self._cache, self._key = cache, key

    def judged(self, end: ReplyEnd, body: bytes | None) -> CacheMark:
        """Say whether the reply is stored, or why not."""
        if self._key is None:
            return CacheMark(stored=False, reason="not-repeatable")
        reason = self._cache.why_not(end, body)
        return CacheMark(key=self._key, stored=reason is None, reason=reason)

    def store(self, response: ModelResponse, end: ReplyEnd, body: bytes, placed: Placed) -> None:
        """Hand the reply to the cache."""
        assert self._key is not None and end.head is not None  # noqa: S101,PT018 - else it was judged as not stored
        headers = tuple((name, value) for name, value in end.head.headers if _is_repeated(name.lower()))
        entry = StoredReply(placed=placed, stored_at_ns=end.at_ns, headers=headers, body=body, response=response)
        self._cache.put(self._key, entry)


def _is_repeated(name: bytes) -> bool:
    return name in _REPEATED or name.startswith(_REPEATED_PREFIX)


def _hit(key: str, entry: StoredReply, weighed: Weighed, now_ns: int, origin: Origin) -> CacheHit:
    response = entry.response
    kind = CacheHit if response.is_one_row else ComponentsHit
    return kind(
        provider=response.provider,
        model=response.components[-1].model,
        key=key,
        origin=origin,
        method=weighed.head.method,
        path=weighed.entered.recorded_path,
        request_sha256=weighed.request_sha256,
        body_bytes=len(weighed.body),
        fingerprint=weighed.facts.fingerprint,
        status=response.status,
        streaming=response.streaming,
        usage=response.usage,
        usage_source=response.usage_source,
        avoided_cost_usd=response.cost_usd,
        response_bytes=response.response_bytes,
        response_sha256=response.response_sha256,
        age_ms=(now_ns - entry.stored_at_ns) // _MS,
    )
