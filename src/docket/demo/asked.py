"""Reading what a client asks of the scripted provider: which wire format, which model, streamed or not.

A path counts by its end, so a base URL may carry any prefix. A body that is not JSON is a value, not an error:
`InvalidAsk` says what to answer.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Wire(StrEnum):
    """The wire formats the scripted provider speaks."""

    MESSAGES = "anthropic-messages"
    CHAT = "openai-chat"
    RESPONSES = "openai-responses"


_BILLED = (("/messages", Wire.MESSAGES), ("/chat/completions", Wire.CHAT), ("/responses", Wire.RESPONSES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One model call as its body states it; `include_usage` is Chat's stream option."""

    wire: Wire
    model: str = "scripted-model"
    streaming: bool = False
    include_usage: bool = False
    offers_tools: bool = False


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


def read_ask(wire: Wire, body: bytes) -> Asked | InvalidAsk:
    """Read a model call's body."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        return InvalidAsk(wire=wire, detail=f"the body is not JSON: {type(error).__name__}")
    if not isinstance(value, dict):
        return InvalidAsk(wire=wire, detail="the body is not an object")
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
