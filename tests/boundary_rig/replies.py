"""Bodies as providers send them, typed by hand, with what they cost at prices typed beside them.

Anthropic claude-sonnet-4-5: 3 in, 0.30 cache read, 3.75 / 6 cache writes (5 m / 1 h), 15 out, dollars per million.
"""

from __future__ import annotations

import json

SONNET = "claude-sonnet-4-5"


def messages_request(**members: object) -> bytes:
    body = {"model": SONNET, "max_tokens": 1000, "messages": [{"role": "user", "content": "hello"}]}
    return json.dumps({**body, **members}).encode()


def messages_json(input_tokens: int = 100, output_tokens: int = 50, **usage: object) -> bytes:
    return json.dumps(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": SONNET,
            "content": [{"type": "text", "text": "hi"}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": input_tokens, "output_tokens": output_tokens, **usage},
        }
    ).encode()


def event(name: str, data: dict[str, object]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


def messages_events(input_tokens: int = 100, output_tokens: int = 50, texts: tuple[str, ...] = ("hi",)) -> list[bytes]:
    """message_start, one delta per text, message_delta, message_stop."""
    start = {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": SONNET,
            "content": [],
            "usage": {"input_tokens": input_tokens, "output_tokens": 1},
        },
    }
    deltas = [
        event(
            "content_block_delta",
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        )
        for text in texts
    ]
    return [
        event("message_start", start),
        event(
            "content_block_start",
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        ),
        *deltas,
        event("content_block_stop", {"type": "content_block_stop", "index": 0}),
        event(
            "message_delta",
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn"},
                "usage": {"output_tokens": output_tokens},
            },
        ),
        event("message_stop", {"type": "message_stop"}),
    ]
