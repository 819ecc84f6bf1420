"""Gemini's Interactions: `POST /v1beta/interactions` (ai.google.dev, Interactions).

Rules:
1. Usage stands in the interaction, whole or in the event that ends it; cached tokens are inside the input, thoughts
   and what tools brought in beside the totals.
2. One that runs in the background has not ended: its usage comes when it is fetched, and is booked once by its id.
3. Searches are what `grounding_tool_count` says.
"""

from __future__ import annotations

from docket.rules.providers.body import BodyMeter, OpaqueMeter, is_opaque
from docket.rules.providers.counts import count
from docket.rules.providers.gemini_usage import INTERACTIONS, GoogleUsage
from docket.rules.providers.interface import (
    NO_TARGET,
    Fields,
    Hidden,
    Meter,
    Reading,
    Refusal,
    RefusalReply,
    RequestFacts,
    RequestTarget,
    model_members,
)
from docket.rules.providers.json_scan import JsonMap, as_items, as_map, as_text
from docket.rules.providers.refusal import google_refusal
from docket.rules.providers.request import fingerprint, flag, largest, may_name, parse_request, unreadable_request
from docket.rules.providers.text import error_of, text_bytes
from docket.rules.providers.told import BILLED_APART, ToldState

_READ = ("id", "model", "agent", "service_tier", "status", "usage", "error")
_BODY = tuple((name,) for name in _READ)
_EVENTS = (("event_type",), ("error",), ("delta",), *(("interaction", name) for name in _READ))
_RUNNING = ("queued", "in_progress")
_ENDS = ("interaction.completed", "interaction.cancelled")
_APART = ("google_maps", "retrieval")


class GeminiInteractions:
    """The Interactions wire format."""

    name = "gemini-interactions"

    def read_request(self, body: bytes, target: RequestTarget = NO_TARGET) -> RequestFacts:  # noqa: ARG002 - the body says all
        """Read a decoded request body; an agent stands for its model where no model is named."""
        request = parse_request(body)
        if request is None:
            return unreadable_request(body)
        parsed = request.members
        model, raw = model_members(parsed.get("model") or parsed.get("agent"))
        config = as_map(parsed.get("generation_config"))
        return RequestFacts(
            model=model,
            model_raw=raw,
            streaming=flag(parsed.get("stream")),
            max_output_tokens=largest(config, "max_output_tokens"),
            hidden=_hidden(parsed, body),
            fingerprint=fingerprint(body, parsed),
            service_tier=as_text(parsed.get("service_tier")),
            previous_response_id=as_text(parsed.get("previous_interaction_id")),
            ambiguous=request.ambiguous,
        )

    def meter(self, content_type: str, *, streaming: bool, headers: Fields = ()) -> Meter:  # noqa: ARG002 - the first byte tells
        """Return a meter for one reply."""
        return OpaqueMeter() if is_opaque(content_type) else BodyMeter(InteractionState(), events=_EVENTS, body=_BODY)

    def refusal(self, refusal: Refusal) -> RefusalReply:
        """Return an error object as the API sends it."""
        return google_refusal(refusal)


class InteractionState(ToldState):
    """What a reply has said so far."""

    __slots__ = ("_apart", "_searches", "_usage")

    def __init__(self) -> None:
        super().__init__()
        self._usage = GoogleUsage(INTERACTIONS)
        self._searches = 0
        self._apart = False

    def event(self, event: JsonMap) -> None:
        """Take one event."""
        kind = event.get("event_type") or event.get("type")
        if kind == "step.delta":
            self._show(as_map(event.get("delta")))
        elif kind == "error":
            self._error = error_of(event.get("error") or event)
        self._interaction(as_map(event.get("interaction")))
        self._terminal = self._terminal or kind in _ENDS

    def body(self, body: JsonMap) -> None:
        """Take a whole interaction."""
        self._interaction(body)
        for step in as_items(body.get("steps")) or as_items(body.get("outputs")):
            members = as_map(step)
            self._show(members)
            for part in as_items(members.get("content")):
                self._show(as_map(part))
        self._terminal = body.get("status") not in _RUNNING

    def reading(self) -> Reading:
        """Return what has been understood."""
        note = self._usage.note() or (BILLED_APART if self._apart else None)
        return self._reading(self._usage.total(self._searches), note, final=self._terminal)

    def _interaction(self, interaction: JsonMap) -> None:
        self._model = interaction.get("agent") or self._model
        self._take_told(interaction)
        usage = as_map(interaction.get("usage"))
        self._usage.merge(usage)
        for item in as_items(usage.get("grounding_tool_count")):
            self._grounding(as_map(item))

    def _grounding(self, item: JsonMap) -> None:
        used = count(item.get("count")) or 0
        if item.get("type") == "google_search":
            self._searches = max(self._searches, used)
        elif item.get("type") in _APART and used:
            self._apart = True

    def _show(self, part: JsonMap) -> None:
        for name in ("text", "arguments", "partial_arguments", "name"):
            self.visible_output_bytes += text_bytes(part.get(name))
        self.visible_output_bytes += text_bytes(as_map(part.get("content")).get("text"))


def _hidden(parsed: JsonMap, body: bytes) -> tuple[Hidden, ...]:
    found = [Hidden.REASONING]
    if not flag(parsed.get("stream")):
        found.append(Hidden.NON_STREAMING)
    if parsed.get("agent") or any(as_map(tool).get("type") != "function" for tool in as_items(parsed.get("tools"))):
        found.append(Hidden.SERVER_TOOLS)
    if parsed.get("previous_interaction_id") or parsed.get("cached_content") or parsed.get("continuation_token"):
        found.append(Hidden.STORED_HISTORY)
    if may_name(body, b'"uri"'):
        found.append(Hidden.REMOTE_INPUT)
    if flag(parsed.get("background")):
        found.append(Hidden.BACKGROUND)
    return tuple(found)
