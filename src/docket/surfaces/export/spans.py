"""The spans of a run: its model calls and tools, made of the ledger's events by the semantic conventions for GenAI.

Rules (docs/reference/exports.md):
1. A call is a span `OPERATION MODEL` from its request to its settlement; a tool `execute_tool NAME` from its call to
   its result. What docket refused never left it, and is an event of the root, as are caps, violations and cache hits.
2. `gen_ai.usage.input_tokens` is the whole input, with what was read from a cache and written to one.
3. No message, argument, result or text of an error is told: names, counts, sizes, digests and codes only.
4. Records of other writers name their calls by no number: a reply's span then begins its latency before it ended.
5. What is open at the end of the record has no reply or no result there, and is told as that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter

from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.dataclass import dataclass, field
from docket.formats.ledger.event import Event
from docket.formats.lenient import integer_of, object_of, text_of
from docket.rules.spending.components import WRITES
from docket.surfaces.export.otlp_values import Clock, Instant, Kind, Span, attributes, before

MAX_ROOT_EVENTS = 1000
NO_REPLY, NO_RESULT, TOOL_FAILED = "no_reply_recorded", "no_result_recorded", "tool_failed"

# What the conventions call the providers that docket calls otherwise.
PROVIDERS: Mapping[str, str] = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "code-assist": "gcp.gen_ai",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex": "gcp.vertex_ai",
    "xai": "x_ai",
}


# By the end of its path, what a call is in the conventions' words; any other is a chat.
_OPERATIONS = (
    ("/chat/completions", "chat"),
    ("/completions", "text_completion"),
    ("/embeddings", "embeddings"),
    ("/api/embed", "embeddings"),
    (":embedContent", "embeddings"),
    (":batchEmbedContents", "embeddings"),
)


def provider_name(name: str) -> str:
    """Return a provider's name as the conventions have it."""
    return PROVIDERS.get(name, name)


@dataclass(frozen=True, slots=True)
class _Begun:
    seq: int
    at: Instant
    data: JsonObject


@dataclass(slots=True)
class SpanBook:
    """Takes events in order and yields spans as they end; `root_events` gathers what the root tells, up to a bound."""

    clock: Clock
    calls: dict[int, _Begun] = field(default_factory=dict)
    tools: dict[tuple[str, str], deque[_Begun]] = field(default_factory=dict)
    root_events: list[JsonValue] = field(default_factory=list)
    dropped_events: int = 0

    def take(self, event: Event) -> Iterator[Span]:
        """Take the next event; yield the span that it ended, if it did."""
        at = self.clock.at(event.ts)
        taker = _TAKERS.get(event.type)
        if taker is not None:
            yield from taker(self, _Begun(event.seq, at, event.data), event)

    def rest(self, ended: Instant) -> Iterator[Span]:
        """Yield the spans of what was open when the record ended, in their order."""
        spans = [(begun.seq, _call(begun, None, ended, NO_REPLY)) for begun in self.calls.values()]
        open_tools = (begun for queue in self.tools.values() for begun in queue)
        spans += [(begun.seq, _tool(begun, None, begun.at, NO_RESULT)) for begun in open_tools]
        yield from (span for _, span in sorted(spans, key=itemgetter(0)))

    def request(self, new: _Begun, _: Event) -> Iterator[Span]:
        """Take a call that was sent."""
        call = new.data.get("call")
        if isinstance(call, int):
            if call in self.calls:  # another writer may number calls as it likes
                yield _call(self.calls[call], None, new.at, NO_REPLY)
            self.calls[call] = new

    def settled(self, new: _Begun, event: Event) -> Iterator[Span]:
        """Take a reply or an error."""
        call = new.data.get("call")
        begun = self.calls.pop(call, None) if isinstance(call, int) else None
        if begun is None:
            begun = _Begun(new.seq, before(new.at, integer_of(new.data.get("latency_ms"))), {})
        yield _call(begun, new, new.at, _failure(event), event.hash)

    def tool_begun(self, new: _Begun, _: Event) -> Iterator[Span]:
        """Take a tool that was used."""
        self.tools.setdefault(_tool_key(new.data), deque()).append(new)
        yield from ()

    def tool_ended(self, new: _Begun, _: Event) -> Iterator[Span]:
        """Take a tool's result."""
        key = _tool_key(new.data)
        queue = self.tools.get(key)
        if queue:
            begun = queue.popleft()
            if not queue:
                del self.tools[key]
        else:
            begun = _Begun(new.seq, before(new.at, integer_of(new.data.get("duration_ms"))), new.data)
        yield _tool(begun, new, new.at, TOOL_FAILED if new.data.get("ok") is False else None)

    def told(self, new: _Begun, event: Event) -> Iterator[Span]:
        """Take something that is an event of the root."""
        name, members = _ROOT_EVENTS[event.type]
        if len(self.root_events) == MAX_ROOT_EVENTS:
            self.dropped_events += 1
        else:
            values = {attribute: _plain(new.data.get(member)) for attribute, member in members.items()}
            provider = text_of(new.data.get("provider"))
            named = {"gen_ai.provider.name": provider_name(provider) or None, "docket.seq": new.seq}
            self.root_events.append(
                {"timeUnixNano": str(new.at.ns), "name": name, "attributes": attributes({**values, **named})}
            )
        yield from ()


_ROOT_EVENTS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "model.denied": (
        "docket.call_refused",
        {"gen_ai.request.model": "model", "docket.reason": "reason", "docket.cap": "cap",
         "http.response.status_code": "status"},
    ),
    "model.cache_hit": (
        "docket.cache_hit", {"gen_ai.response.model": "model", "docket.cost.avoided_usd": "avoided_cost_usd"},
    ),
    "x-docket.cache-hit": (
        "docket.cache_hit", {"gen_ai.response.model": "model", "docket.cost.avoided_usd": "avoided_cost_usd"},
    ),
    "cap.warning": ("docket.cap_warning", {"docket.cap": "cap", "docket.cap.used_pct": "used_pct"}),
    "cap.exceeded": ("docket.cap_exceeded", {"docket.cap": "cap", "docket.cap.action": "action"}),
    "policy.violation": ("docket.policy_violation", {"docket.policy.rule": "rule"}),
}  # fmt: skip
_TAKERS: Mapping[str, Callable[[SpanBook, _Begun, Event], Iterator[Span]]] = {
    "model.request": SpanBook.request,
    "model.response": SpanBook.settled,
    "model.error": SpanBook.settled,
    "tool.call": SpanBook.tool_begun,
    "tool.result": SpanBook.tool_ended,
    **dict.fromkeys(_ROOT_EVENTS, SpanBook.told),
}


def _operation(path: str) -> str:
    bare = path.partition("?")[0].rstrip("/")
    return next((name for end, name in _OPERATIONS if bare.endswith(end)), "chat")


def _failure(settled: Event) -> str | None:
    """Return the `error.type` of a call that failed: docket's reason, or how the reply ended where not as it should."""
    if settled.type == "model.error":
        return text_of(settled.data.get("reason")) or text_of(settled.data.get("code")) or "_OTHER"
    outcome = text_of(settled.data.get("outcome")) or "complete"
    return None if outcome == "complete" else outcome


def _call(begun: _Begun, settled: _Begun | None, ended: Instant, error: str | None, hash_: str | None = None) -> Span:
    asked, reply = begun.data, {} if settled is None else settled.data
    model = text_of(asked.get("model")) or text_of(reply.get("requested_model")) or text_of(reply.get("model"))
    provider = text_of(reply.get("provider")) or text_of(asked.get("provider"))
    operation = _operation(text_of(asked.get("path")))
    return Span(
        seq=begun.seq,
        name=f"{operation} {model}".rstrip(),
        kind=Kind.CLIENT,
        began=begun.at,
        ended=ended,
        error=error,
        attributes={
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": provider_name(provider) or None,
            "gen_ai.request.model": model or None,
            "gen_ai.response.model": (text_of(reply.get("model")) or None) if "usage" in reply else None,
            **usage_attributes(object_of(reply.get("usage"))),
            "http.response.status_code": _plain(reply.get("status")),
            "docket.call": _plain(asked.get("call", reply.get("call"))),
            "docket.seq": None if settled is None else settled.seq,
            "docket.event.hash": hash_,
            "docket.cost.usd": text_of(reply.get("cost_usd")) or None,
            "docket.usage.source": text_of(reply.get("usage_source")) or None,
            "docket.latency_ms": _plain(reply.get("latency_ms")),
            "docket.first_byte_ms": _plain(reply.get("first_byte_ms")),
            "docket.streaming": _plain(asked.get("streaming", reply.get("streaming"))),
            "docket.agent.id": text_of(asked.get("agent_id")) or None,
            "docket.reported_by": text_of(reply.get("reported_by")) or None,
        },
    )


def usage_attributes(usage: JsonObject) -> dict[str, JsonValue]:
    """Return the counts of a usage by the conventions; parts that are zero are left out."""
    if not usage:
        return {}
    written = sum(integer_of(usage.get(name)) for name in WRITES.values())
    return {
        "gen_ai.usage.input_tokens": integer_of(usage.get("input_tokens")),
        "gen_ai.usage.output_tokens": integer_of(usage.get("output_tokens")),
        "gen_ai.usage.cache_read.input_tokens": integer_of(usage.get("cached_input_tokens")) or None,
        "gen_ai.usage.cache_creation.input_tokens": written or None,
        "gen_ai.usage.reasoning.output_tokens": integer_of(usage.get("reasoning_tokens")) or None,
    }


def _tool(begun: _Begun, result: _Begun | None, ended: Instant, error: str | None) -> Span:
    data, outcome = begun.data, {} if result is None else result.data
    name = text_of(data.get("name"))
    return Span(
        seq=begun.seq,
        name=f"execute_tool {name}".rstrip(),
        kind=Kind.INTERNAL,
        began=begun.at,
        ended=ended,
        error=error,
        attributes={
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name or None,
            "gen_ai.tool.call.id": text_of(data.get("id")) or None,
            "docket.window.id": text_of(object_of(data.get("window")).get("window_id")) or None,
            "docket.tool.input_bytes": _plain(data.get("input_bytes")),
            "docket.tool.result_bytes": _plain(outcome.get("result_bytes")),
            "docket.reported_by": text_of(data.get("reported_by")) or None,
            "docket.seq": None if result is None else result.seq,
        },
    )


def _tool_key(data: JsonObject) -> tuple[str, str]:
    """Return what joins a tool's call to its result: the window, else the id, else the name."""
    window = text_of(data.get("window_id")) or text_of(object_of(data.get("window")).get("window_id"))
    if window:
        return "window", window
    own = text_of(data.get("id"))
    return ("id", own) if own else ("name", text_of(data.get("name")))


def _plain(value: JsonValue) -> JsonValue:
    return value if isinstance(value, (str, int)) else None
