"""Anthropic Messages: `POST /v1/messages` (platform.claude.com, Messages and Streaming).

Rules:
1. The input buckets are disjoint: fresh, written to the cache, read from it; the input is their sum.
2. `message_start` and `message_delta` are merged member by member: a later count wins, a 0 never erases.
3. Tier, speed, geography and the split of cache writes by lifetime stand in `message_start` alone.
4. `iterations` hold what the top level lacks: compaction, advisors, attempts before a fallback. They are summed,
   each at its own model; an attempt that was declined before it produced output is not billed.
"""

from __future__ import annotations

from docket.formats.dataclass import replace
from docket.rules.providers.anthropic_request import read_request
from docket.rules.providers.anthropic_usage import AnthropicUsage
from docket.rules.providers.body import BodyMeter, OpaqueMeter, is_opaque
from docket.rules.providers.counts import count
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
from docket.rules.providers.json_scan import JsonMap, as_items, as_map
from docket.rules.providers.refusal import members, reply
from docket.rules.providers.text import error_of, text_bytes
from docket.rules.providers.told import ToldState

_BODY = (("type",), ("id",), ("model",), ("usage",), ("error",))
EVENTS = (("type",), ("message", "id"), ("message", "model"), ("message", "usage"), ("usage",), ("error",))
_SHOWN = ("text", "thinking", "partial_json", "content", "data")
_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
}


class AnthropicMessages:
    """The Messages wire format."""

    name = "anthropic-messages"

    def read_request(self, body: bytes, target: RequestTarget = NO_TARGET) -> RequestFacts:  # noqa: ARG002 - the body says all
        """Read a decoded request body."""
        return read_request(body)

    def meter(self, content_type: str, *, streaming: bool, headers: Fields = ()) -> Meter:  # noqa: ARG002 - the first byte tells
        """Return a meter for one reply."""
        return OpaqueMeter() if is_opaque(content_type) else BodyMeter(MessagesState(), events=EVENTS, body=_BODY)

    def refusal(self, refusal: Refusal) -> RefusalReply:
        """Return an error object as the API sends it."""
        kind = _ERROR_TYPES.get(refusal.status, "api_error")
        error = {"type": kind, "message": refusal.message}
        return reply(refusal, {"type": "error", "error": error, "docket": members(refusal)})


class MessagesState(ToldState):
    """What a Messages reply has said so far."""

    __slots__ = ("_final", "_usage")

    def __init__(self) -> None:
        super().__init__()
        self._usage = AnthropicUsage()
        self._final = False

    def event(self, event: JsonMap) -> None:
        """Take one event."""
        kind = event.get("type")
        if kind == "content_block_delta":
            self._show(as_map(event.get("delta")))
        elif kind == "content_block_start":
            self._show(as_map(event.get("content_block")))
        elif kind == "message_start":
            self._message(as_map(event.get("message")))
        elif kind == "message_delta":
            usage = as_map(event.get("usage"))
            self._usage.merge(usage)
            # Without a count of the output the one at the beginning is still the only one.
            self._final = self._final or count(usage.get("output_tokens")) is not None
        elif kind == "message_stop":
            self._terminal = True
        elif kind == "error" or "error" in event:
            self._error = error_of(event.get("error"))

    def body(self, body: JsonMap) -> None:
        """Take a whole reply."""
        if body.get("type") == "error" or ("error" in body and "usage" not in body):
            self._error = error_of(body.get("error"))
        else:
            self._message(body)
            for block in as_items(body.get("content")):
                self._show(as_map(block))
            self._final = True
        self._terminal = True

    def reading(self) -> Reading:
        """Return what has been understood."""
        usage = self._usage
        reading = self._reading(
            usage.total(), usage.note(), final=self._final, upstream_cost_usd=usage.upstream_cost_usd
        )
        return replace(
            reading,
            parts=usage.parts(reading.model),
            service_tier=usage.service_tier,
            speed=usage.speed,
            inference_geo=usage.inference_geo,
        )

    def _message(self, message: JsonMap) -> None:
        self._model, self._id = message.get("model"), message.get("id")
        self._usage.start(as_map(message.get("usage")))

    def _show(self, block: JsonMap) -> None:
        for name in _SHOWN:
            shown = block.get(name)
            if shown:
                self.visible_output_bytes += text_bytes(shown)
        if block.get("type") == "tool_use":
            self._asks_for(block.get("id"))
        if block.get("type") in ("tool_use", "server_tool_use"):
            self.visible_output_bytes += text_bytes(block.get("name")) + text_bytes(block.get("input"))
