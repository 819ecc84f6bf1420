"""A reply of an endpoint whose wire nobody named: usage is read in whichever of the known forms it comes.

It exists so that a path the policy lets through is not free because it is new: embeddings, legacy completions,
compaction, and whatever providers add.
"""

from __future__ import annotations

import re

from docket.formats.dataclass import replace
from docket.rules.providers import anthropic, gemini, openai_chat, openai_responses
from docket.rules.providers.body import BodyMeter, OpaqueMeter, ReplyState, is_opaque
from docket.rules.providers.interface import (
    NO_TARGET,
    Fields,
    Meter,
    Reading,
    Refusal,
    RefusalReply,
    RequestFacts,
    RequestTarget,
    model_members,
)
from docket.rules.providers.json_scan import JsonMap, as_map
from docket.rules.providers.openai_request import read_chat_request
from docket.rules.providers.path_model import model_in_path
from docket.rules.providers.refusal import openai_refusal

BODY_MEMBERS = tuple(dict.fromkeys((*openai_chat.MEMBERS, *openai_responses.BODY, ("type",), *gemini.MEMBERS)))
_EVENTS = tuple(dict.fromkeys((*openai_chat.MEMBERS, *openai_responses.EVENTS, *anthropic.EVENTS, *gemini.MEMBERS)))
_FORM_MODEL = re.compile(rb'name="?model"?[^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n([^\r\n]{1,256})\r\n', re.IGNORECASE)
_MESSAGES_ONLY = ("cache_creation_input_tokens", "cache_read_input_tokens", "server_tool_use")


class AnyWire:
    """The wire format of an unknown endpoint."""

    name = "unknown"

    def read_request(self, body: bytes, target: RequestTarget = NO_TARGET) -> RequestFacts:
        """Read a decoded request body as far as all formats agree; a model it does not name the path may."""
        facts = read_chat_request(body)
        if target.field(b"content-type").lower().startswith("multipart/form-data"):
            facts = _of_form(facts, body)
        if target.bare_path.rstrip("/").endswith("/embeddings"):
            facts = replace(facts, max_output_tokens=0)
        if facts.model is not None:
            return facts
        model, raw = model_members(model_in_path(target.path))
        return facts if model is None else replace(facts, model=model, model_raw=raw)

    def meter(self, content_type: str, *, streaming: bool, headers: Fields = ()) -> Meter:  # noqa: ARG002 - the first byte tells
        """Return a meter for one reply."""
        return OpaqueMeter() if is_opaque(content_type) else BodyMeter(AnyState(), events=_EVENTS, body=BODY_MEMBERS)

    def refusal(self, refusal: Refusal) -> RefusalReply:
        """Return an error object in the form most clients read."""
        return openai_refusal(refusal)


def _of_form(facts: RequestFacts, body: bytes) -> RequestFacts:
    """Return the facts of a form (RFC 7578), as files are sent in: its field `model`, where there is one."""
    named = {match[1] for match in _FORM_MODEL.finditer(body)}
    if len(named) > 1:
        return replace(facts, ambiguous="the form names several models, so that it may be served otherwise than read")
    model, raw = model_members(named.pop().decode("utf-8", "surrogateescape")) if named else (None, None)
    return facts if model is None else replace(facts, model=model, model_raw=raw, note=None)


class AnyState:
    """The states of all formats side by side; the first form of usage that is seen decides."""

    __slots__ = ("_chosen", "_states")

    def __init__(self) -> None:
        self._states: tuple[ReplyState, ...] = (
            openai_chat.ChatState(),
            openai_responses.ResponsesState(),
            anthropic.MessagesState(),
            gemini.GeminiState(),
        )
        self._chosen: int | None = None

    @property
    def visible_output_bytes(self) -> int:
        """The most that any format takes for output."""
        return max(state.visible_output_bytes for state in self._states)

    def event(self, event: JsonMap) -> None:
        """Take one event."""
        self._choose(event)
        for state in self._states:
            state.event(event)

    def done(self) -> None:
        """Take the `[DONE]` mark."""
        for state in self._states:
            state.done()

    def body(self, body: JsonMap) -> None:
        """Take a whole JSON reply."""
        self._choose(body)
        for state in self._states:
            state.body(body)

    def reading(self) -> Reading:
        """Return the reading of the format that was recognised."""
        return self._states[self._chosen or 0].reading()

    def copy(self) -> AnyState:
        """Return an independent copy."""
        other = AnyState()
        other._states, other._chosen = tuple(state.copy() for state in self._states), self._chosen
        return other

    def _choose(self, value: JsonMap) -> None:
        if self._chosen is not None:
            return
        usage = as_map(value.get("usage"))
        if "promptTokenCount" in as_map(value.get("usageMetadata")):
            self._chosen = 3
        elif value.get("type") in ("message_start", "message") or any(name in usage for name in _MESSAGES_ONLY):
            self._chosen = 2
        elif "input_tokens" in usage or "response" in value:
            self._chosen = 1
        elif "prompt_tokens" in usage:
            self._chosen = 0
