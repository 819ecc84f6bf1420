"""The ids of the tool uses that a reply asks for: the wire's own, in their order, bounded, and nothing beside them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from docket.rules.providers.anthropic import AnthropicMessages
from docket.rules.providers.gemini import Gemini
from docket.rules.providers.interface import MAX_TOOL_USE_CHARACTERS, MAX_TOOL_USES
from docket.rules.providers.openai_chat import OpenAiChat
from docket.rules.providers.openai_responses import OpenAiResponses


def events(*values: object) -> bytes:
    return b"".join(b"data: " + json.dumps(value).encode() + b"\n\n" for value in values)


def asked(wire: Any, body: bytes) -> tuple[str, ...]:
    meter = wire.meter("text/event-stream", streaming=True)
    meter.feed(body)
    return meter.reading().tool_use_ids


def block(index: int, **content: object) -> dict[str, object]:
    return {"type": "content_block_start", "index": index, "content_block": content}


def test_messages_in_a_stream_and_whole() -> None:
    tools = [
        {"type": "text", "text": ""},
        {"type": "tool_use", "id": "toolu_2", "name": "Bash", "input": {}},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
        {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "x"}},
    ]
    stream = events(*(block(at, **tool) for at, tool in enumerate(tools)))
    assert asked(AnthropicMessages(), stream) == ("toolu_2", "toolu_1")
    assert asked(AnthropicMessages(), json.dumps({"type": "message", "content": tools}).encode()) == (
        "toolu_2",
        "toolu_1",
    )


def test_chat_in_a_stream_and_whole() -> None:
    first = {"index": 0, "id": "call_a", "function": {"name": "sh", "arguments": ""}}
    more = {"index": 0, "function": {"arguments": "{}"}}
    second = {"index": 1, "id": "call_b", "function": {"name": "sh", "arguments": "{}"}}
    chunks = [{"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]} for call in (first, more, second)]
    assert asked(OpenAiChat(), events(*chunks)) == ("call_a", "call_b")
    whole = {"choices": [{"index": 0, "message": {"tool_calls": [first, second]}}]}
    assert asked(OpenAiChat(), json.dumps(whole).encode()) == ("call_a", "call_b")


def test_responses_in_a_stream_and_whole() -> None:
    items = [
        {"type": "reasoning", "id": "rs_1"},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "shell", "arguments": "{}"},
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_2", "name": "apply_patch", "input": "x"},
    ]
    stream = [{"type": f"response.output_item.{when}", "item": item} for item in items for when in ("added", "done")]
    assert asked(OpenAiResponses(), events(*stream)) == ("call_1", "call_2")
    assert asked(OpenAiResponses(), json.dumps({"output": items}).encode()) == ("call_1", "call_2")


def test_gemini_names_some() -> None:
    parts = [{"functionCall": {"name": "sh", "args": {}}}, {"functionCall": {"id": "f1", "name": "sh", "args": {}}}]
    reply = {"candidates": [{"content": {"parts": parts}}]}
    assert asked(Gemini(), json.dumps(reply).encode()) == ("f1",)


@pytest.mark.parametrize(
    "tool_use_id", [None, 5, "", {"id": "x"}, "x" * (MAX_TOOL_USE_CHARACTERS + 1), "a\nb", "\ud800"]
)
def test_what_is_no_id_is_left_out(tool_use_id: object) -> None:
    stream = events(block(0, type="tool_use", id=tool_use_id), block(1, type="tool_use", id="toolu_1"))
    assert asked(AnthropicMessages(), stream) == ("toolu_1",)


def test_only_so_many_are_kept_and_each_once() -> None:
    ids = [f"toolu_{number % 200}" for number in range(300)]
    stream = events(*(block(at, type="tool_use", id=tool_use_id) for at, tool_use_id in enumerate(ids)))
    assert asked(AnthropicMessages(), stream) == tuple(ids[:MAX_TOOL_USES])
