"""OpenAI Responses: `POST /responses` (platform.openai.com, Responses and Streaming events).

Rules:
1. The totals hold their parts: tokens read from the cache and written to it are inside the input.
2. Usage stands in the event that ends a response: completed, incomplete, failed or cancelled.
3. Searches are what `tool_usage` counts as billable, else the search calls among the output items; the containers that
   code ran in are counted there, each once.
4. A response that is only queued has not ended: its usage comes when it is fetched.
"""

from __future__ import annotations

from math import ceil, isfinite
from typing import NamedTuple

from docket.formats.run.usage import Usage
from docket.rules.providers.body import BodyMeter, OpaqueMeter, copied, is_opaque
from docket.rules.providers.counts import Counts, count, unreadable_note, upstream_cost
from docket.rules.providers.interface import (
    NO_TARGET,
    Fields,
    Meter,
    Reading,
    Refusal,
    RefusalReply,
    RequestFacts,
    RequestTarget,
)
from docket.rules.providers.json_scan import JsonMap, as_items, as_map, as_text
from docket.rules.providers.openai_request import of_deployment, read_responses_request
from docket.rules.providers.refusal import openai_refusal
from docket.rules.providers.text import error_of, text_bytes
from docket.rules.providers.told import BILLED_APART, ToldState

_MEMBERS = ("id", "model", "service_tier", "status", "usage", "tool_usage", "error", "object")
BODY = tuple((name,) for name in _MEMBERS)
EVENTS = (("type",), ("code",), ("message",), ("usage",), *(("response", name) for name in _MEMBERS))
_TOP = ("input_tokens", "output_tokens")
_INPUT = ("cached_tokens", "cache_write_tokens", "audio_tokens", "image_tokens")
_LIFETIMES = ("ttl_30m_tokens", "ttl_12h_tokens")
_OUTPUT = ("reasoning_tokens", "audio_tokens", "image_tokens")
_RUNNING = ("queued", "in_progress")
# Streams of the endpoints for images and audio end in an event that carries its usage itself.
_WHOLE_EVENTS = ("transcript.text.done", "image_generation.completed", "image_edit.completed", "speech.audio.done")
_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


class HostedCalls(NamedTuple):
    """Uses of the provider's own tools, counted in the output; `containers` are those that code ran in."""

    web_searches: int = 0
    file_searches: int = 0
    containers: frozenset[str] = frozenset()


class OpenAiResponses:
    """The Responses wire format."""

    name = "openai-responses"

    def read_request(self, body: bytes, target: RequestTarget = NO_TARGET) -> RequestFacts:
        """Read a decoded request body, and the deployment in the path where Azure has it."""
        return of_deployment(read_responses_request(body), target)

    def meter(self, content_type: str, *, streaming: bool, headers: Fields = ()) -> Meter:  # noqa: ARG002 - the first byte tells
        """Return a meter for one reply."""
        return OpaqueMeter() if is_opaque(content_type) else BodyMeter(ResponsesState(), events=EVENTS, body=BODY)

    def refusal(self, refusal: Refusal) -> RefusalReply:
        """Return an error object."""
        return openai_refusal(refusal)


class ResponsesState(ToldState):
    """What a Responses reply has said so far."""

    __slots__ = ("_apart", "_items", "_usage")

    def __init__(self) -> None:
        super().__init__()
        self._usage = ResponsesUsage()
        self._items = HostedCalls()
        self._apart = False

    def event(self, event: JsonMap) -> None:
        """Take one event."""
        kind = event.get("type")
        if not isinstance(kind, str):
            kind = ""
        if kind.endswith(".delta"):
            if isinstance(event.get("delta"), str):
                self.visible_output_bytes += text_bytes(event["delta"])
        elif kind == "response.output_item.added":
            self._asks_for(as_map(event.get("item")).get("call_id"))
        elif kind == "response.output_item.done":
            self._count(event.get("item"))
        elif kind == "error":
            self._error = error_of(event.get("error") or event)
        elif kind in _WHOLE_EVENTS:
            self._usage.merge(as_map(event.get("usage")), {})
            self._terminal = True
        elif isinstance(event.get("response"), dict):
            self._response(event["response"])
            if kind in _ENDS:
                self._terminal = True
                if self._items == HostedCalls():
                    self._count_all(event["response"])

    def body(self, body: JsonMap) -> None:
        """Take a whole reply."""
        self._response(body)
        self._count_all(body)
        for item in as_items(body.get("output")):
            members = as_map(item)
            for part in (*as_items(members.get("content")), *as_items(members.get("summary")), members):
                for name in ("text", "refusal", "arguments", "input"):
                    self.visible_output_bytes += text_bytes(as_map(part).get(name))
        self._terminal = body.get("status") not in _RUNNING

    def reading(self) -> Reading:
        """Return what has been understood."""
        note = self._usage.note() or (BILLED_APART if self._apart else None)
        return self._reading(self._usage.total(self._items), note, upstream_cost_usd=self._usage.upstream_cost_usd)

    def _response(self, response: JsonMap) -> None:
        self._take_told(response)
        self._usage.merge(as_map(response.get("usage")), as_map(response.get("tool_usage")))
        tools = as_map(response.get("tool_usage"))
        self._apart = self._apart or any(_any_count(tools[name]) for name in tools if name != "web_search")

    def _count_all(self, response: JsonMap) -> None:
        for item in as_items(response.get("output")):
            self._count(item)

    def _count(self, item: object) -> None:
        members = as_map(item)
        items = self._items
        self._asks_for(members.get("call_id"))
        if members.get("type") == "web_search_call":
            searched = as_map(members.get("action")).get("type") in (None, "search")
            self._items = items._replace(web_searches=items.web_searches + searched)
        elif members.get("type") == "file_search_call":
            self._items = items._replace(file_searches=items.file_searches + 1)
        elif members.get("type") == "code_interpreter_call":
            # A container is billed once, however often the model uses it.
            container = as_text(members.get("container_id") or members.get("id")) or ""
            self._items = items._replace(containers=items.containers | {container})
        elif members.get("type") == "image_generation_call":
            self._apart = True


def _whole_seconds(value: object) -> int:
    """Return seconds begun, 0 for what is no length."""
    if not isinstance(value, (int, float)) or not isfinite(value) or value < 0:
        return 0
    return count(ceil(value)) or 0


def _any_count(value: object) -> bool:
    return any(count(number) for number in as_map(value).values())


class ResponsesUsage:
    """Usage of one response."""

    __slots__ = ("_input", "_lifetimes", "_output", "_searches", "_seconds", "_top", "upstream_cost_usd")

    def __init__(self) -> None:
        self.upstream_cost_usd: str | None = None
        self._seconds = 0
        self._top, self._input, self._output = Counts(), Counts(), Counts()
        self._lifetimes, self._searches = Counts(), Counts()

    def copy(self) -> ResponsesUsage:
        """Return an independent copy."""
        return copied(self, "_input", "_lifetimes", "_output", "_searches", "_top")

    def merge(self, usage: JsonMap, tool_usage: JsonMap) -> None:
        """Take the usage and the hosted tools' usage of a response."""
        self.upstream_cost_usd = upstream_cost(usage) or self.upstream_cost_usd
        self._top.merge(usage, _TOP)
        # Transcriptions spell the member without its plural.
        details = as_map(usage.get("input_tokens_details") or usage.get("input_token_details"))
        if usage.get("type") == "duration":
            self._top.merge({"input_tokens": 0, "output_tokens": 0}, _TOP)
            self._seconds = _whole_seconds(usage.get("seconds"))
        self._input.merge(details, _INPUT)
        self._lifetimes.merge(as_map(details.get("cache_write_tokens_details")), _LIFETIMES)
        self._output.merge(as_map(usage.get("output_tokens_details")), _OUTPUT)
        self._searches.merge(as_map(tool_usage.get("web_search")), ("num_requests",))

    def total(self, items: HostedCalls) -> Usage | None:
        """Return the usage, None while the input is not known."""
        if "input_tokens" not in self._top.known or self._top.unreadable:
            return None
        cached, written = self._input.get("cached_tokens"), self._input.get("cache_write_tokens")
        half_hour, half_day = (self._lifetimes.get(name) for name in _LIFETIMES)
        written = max(written, half_hour + half_day)
        output = self._top.get("output_tokens")
        return Usage(
            input_tokens=max(self._top.get("input_tokens"), cached + written),
            cached_input_tokens=cached,
            cache_write_tokens=written - half_hour - half_day,
            cache_write_30m_tokens=half_hour,
            cache_write_12h_tokens=half_day,
            output_tokens=output,
            reasoning_tokens=min(self._output.get("reasoning_tokens"), output),
            audio_input_tokens=self._input.get("audio_tokens"),
            audio_output_tokens=min(self._output.get("audio_tokens"), output),
            image_input_tokens=self._input.get("image_tokens"),
            image_output_tokens=min(self._output.get("image_tokens"), output),
            web_searches=self._searches.known.get("num_requests", items.web_searches),
            file_searches=items.file_searches,
            code_sessions=len(items.containers),
            audio_seconds=self._seconds,
        )

    def note(self) -> str | None:
        """Return what could not be read, in words."""
        return unreadable_note(self._top, self._input, self._output, self._lifetimes)
