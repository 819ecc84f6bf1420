"""How a case is written down, and the envelopes that replies of one provider share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

JSON, SSE, FRAMES = "application/json", "text/event-stream", "application/vnd.amazon.eventstream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One reply; `tokens` are (input, of it read from a cache, of it written to one, output).

    `model` is the one that the request names, None for a reply that is fetched; `headers` are the reply's own.
    """

    provider: str
    form: str
    path: str
    body: bytes
    model: str | None
    content_type: str
    tokens: tuple[int, int, int, int]
    cost: str
    how: str
    method: str = "POST"
    headers: tuple[tuple[bytes, bytes], ...] = ()
    assumed: bool = False
    estimated: bool = False


def as_json(value: object) -> bytes:
    return json.dumps(value).encode()


def sse(*values: object, done: bool = False) -> bytes:
    lines = b"".join(b"data: " + as_json(value) + b"\n\n" for value in values)
    return lines + (b"data: [DONE]\n\n" if done else b"")


def named_events(*values: Mapping[str, object]) -> bytes:
    return b"".join(f"event: {value['type']}\ndata: ".encode() + as_json(value) + b"\n\n" for value in values)


def websocket(*values: object) -> bytes:
    """Server frames as they stand on the wire (RFC 6455, 5.2): one text frame a message, unmasked."""
    frames = []
    for value in values:
        payload = as_json(value)
        size = bytes([len(payload)]) if len(payload) < 126 else b"\x7e" + len(payload).to_bytes(2, "big")
        frames.append(b"\x81" + size + payload)
    return b"".join(frames)


def message(model: str, usage: dict[str, object]) -> dict[str, object]:
    return {
        "id": "msg_013Zva2CMHLNnXjNJJKqJ2EF",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": "Hi! My name is Claude."}],
        "stop_reason": "end_turn",
        "usage": usage,
    }


def chat(model: str, usage: object, **members: object) -> dict[str, object]:
    return {
        "id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello!"}, "finish_reason": "stop"}],
        "usage": usage,
        **members,
    }


def part(model: str, text: str | None, **members: object) -> dict[str, object]:
    choices = [] if text is None else [{"index": 0, "delta": {"content": text}, "finish_reason": None}]
    return {"id": "chatcmpl-123", "object": "chat.completion.chunk", "model": model, "choices": choices, **members}
