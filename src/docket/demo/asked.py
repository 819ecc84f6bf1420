"""Reading what a client asks of the scripted provider: which wire format, which model, streamed or not.

A path counts by its end, so a base URL may carry any prefix; Gemini's says which model and whether to stream. A body
that is not JSON is a value, not an error: `InvalidAsk` says what to answer.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any
from urllib.parse import parse_qs, unquote

from docket.formats.dataclass import dataclass, replace


class Wire(StrEnum):
    """The wire formats the scripted provider speaks."""

    MESSAGES = "anthropic-messages"
    CHAT = "openai-chat"
    RESPONSES = "openai-responses"
    GEMINI = "gemini"


_STREAMING = ":streamGenerateContent"
_CODE_ASSIST = "/v1internal:"
_BILLED = (
    ("/messages", Wire.MESSAGES),
    ("/chat/completions", Wire.CHAT),
    ("/responses", Wire.RESPONSES),
    (":generateContent", Wire.GEMINI),
    (_STREAMING, Wire.GEMINI),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One model call as it states itself.

    `include_usage` is Chat's stream option; `as_array` and `wrapped` are Gemini's stream without `alt=sse` and
    Code Assist's envelope. `stream_id` is a socket's lane, `previous` the response that is gone on
    from; `warms` asks for no output.
    """

    wire: Wire
    model: str = "scripted-model"
    streaming: bool = False
    include_usage: bool = False
    offers_tools: bool = False
    as_array: bool = False
    wrapped: bool = False
    stream_id: str | None = None
    previous: str | None = None
    warms: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidAsk:
    """A model call whose body cannot be read."""

    wire: Wire
    detail: str


def wire_of(method: str, path: str) -> Wire | None:
    """Return the wire format of a model call, or None for any other request; `path` has no query."""
    if method != "POST":
        return None
    return next((wire for ending, wire in _BILLED if path.endswith(ending)), None)


def read_ask(wire: Wire, body: bytes, target: str = "") -> Asked | InvalidAsk:
    """Read a model call's body, and of Gemini's its target (path and query)."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        return InvalidAsk(wire=wire, detail=f"the body is not JSON: {type(error).__name__}")
    if not isinstance(value, dict):
        return InvalidAsk(wire=wire, detail="the body is not an object")
    if wire is Wire.GEMINI:
        return _read_gemini(value, target)
    model = value.get("model")
    if not isinstance(model, str):
        return InvalidAsk(wire=wire, detail="the body names no model")
    return Asked(
        wire=wire,
        model=model,
        streaming=value.get("stream") is True,
        include_usage=_includes_usage(value),
        offers_tools=_offers_tools(value),
    )


def read_message(payload: bytes) -> Asked | InvalidAsk | None:
    """Read a message of a WebSocket of the Responses API; None where it asks for no response."""
    asked = read_ask(Wire.RESPONSES, payload)
    if isinstance(asked, InvalidAsk):
        return asked
    value = json.loads(payload)
    if value.get("type") != "response.create":
        return None
    lane, previous = value.get("stream_id"), value.get("previous_response_id")
    return replace(
        asked,
        streaming=True,
        stream_id=lane if isinstance(lane, str) else None,
        previous=previous if isinstance(previous, str) else None,
        warms=value.get("generate") is False,
    )


def _read_gemini(value: dict[str, Any], target: str) -> Asked | InvalidAsk:
    path, _, query = target.partition("?")
    wrapped = _CODE_ASSIST in path
    named = value.get("model") if wrapped else unquote(path.rpartition("/")[2].rpartition(":")[0])
    if not isinstance(named, str) or not named:
        return InvalidAsk(wire=Wire.GEMINI, detail="neither the path nor the body names a model")
    request = value.get("request") if wrapped else value
    streaming = path.endswith(_STREAMING)
    return Asked(
        wire=Wire.GEMINI,
        model=named,
        streaming=streaming,
        offers_tools=isinstance(request, dict) and bool(request.get("tools")),
        as_array=streaming and parse_qs(query).get("alt") != ["sse"],
        wrapped=wrapped,
    )


def _includes_usage(value: dict[str, Any]) -> bool:
    options = value.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def _offers_tools(value: dict[str, Any]) -> bool:
    if value.get("tools"):
        return True
    items = value.get("input")
    if not isinstance(items, list):
        return False
    return any(isinstance(item, dict) and item.get("type") == "additional_tools" for item in items)
