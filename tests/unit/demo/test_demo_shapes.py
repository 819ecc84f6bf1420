"""Turns in each provider's documented shapes. Expected values are written out by hand from the API references."""

from __future__ import annotations

import json

import pytest

from docket.demo import chat, messages, responses
from docket.demo.answer import NUMBER
from docket.demo.asked import Asked, InvalidAsk, Wire, read_ask, wire_of
from docket.demo.script import Failure, Filler, Pace, Tokens, ToolCall, Turn

TOKENS = Tokens(fresh=10, cache_read=100, cache_write_5m=5, cache_write_1h=7, output=20, reasoning=3)
TURN = Turn(
    text="abcdef",
    tool_calls=(ToolCall(name="edit", arguments={"path": "a"}), ToolCall(name="run")),
    tokens=TOKENS,
    pace=Pace(text_chars=4),
)
WIRES = {Wire.MESSAGES: messages.answer, Wire.CHAT: chat.answer, Wire.RESPONSES: responses.answer}


def ask(wire, **members):
    return Asked(wire=wire, model="m-1", **members)


def body_of(answer):
    return b"".join(answer.pieces)


def events_of(answer):
    named = []
    for block in body_of(answer).decode().split("\n\n")[:-1]:
        lines = block.split("\n")
        name = lines[0].removeprefix("event: ") if lines[0].startswith("event: ") else None
        data = lines[-1].removeprefix("data: ")
        named.append((name, data if data == "[DONE]" else json.loads(data)))
    return named


class TestMessages:
    def test_json(self):
        answer = messages.answer(TURN, ask(Wire.MESSAGES))
        body = body_of(answer)
        assert (answer.status, answer.content_type, answer.body_bytes) == (200, "application/json", len(body))
        assert json.loads(body) == {
            "id": f"msg_{NUMBER}",
            "type": "message",
            "role": "assistant",
            "model": "m-1",
            "content": [
                {"type": "text", "text": "abcdef"},
                {"type": "tool_use", "id": f"toolu_{NUMBER}00", "name": "edit", "input": {"path": "a"}},
                {"type": "tool_use", "id": f"toolu_{NUMBER}01", "name": "run", "input": {}},
            ],
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {
                "input_tokens": 10,
                "cache_creation_input_tokens": 12,
                "cache_read_input_tokens": 100,
                "cache_creation": {"ephemeral_5m_input_tokens": 5, "ephemeral_1h_input_tokens": 7},
                "output_tokens": 20,
                "output_tokens_details": {"thinking_tokens": 3},
                "service_tier": "standard",
            },
        }

    def test_stream_has_the_documented_events_in_order(self):
        events = events_of(messages.answer(TURN, ask(Wire.MESSAGES, streaming=True)))
        assert all(name == data["type"] for name, data in events)
        assert [name for name, _ in events] == [
            "message_start", "ping",
            "content_block_start", "content_block_delta", "content_block_delta", "content_block_stop",
            "content_block_start", *["content_block_delta"] * 3, "content_block_stop",
            "content_block_start", "content_block_delta", "content_block_stop",
            "message_delta", "message_stop",
        ]  # fmt: skip

    def test_stream_splits_cache_writes_only_at_its_start_and_counts_up_to_its_end(self):
        events = events_of(messages.answer(TURN, ask(Wire.MESSAGES, streaming=True)))
        start, delta = events[0][1]["message"]["usage"], events[-2][1]
        assert start["cache_creation"] == {"ephemeral_5m_input_tokens": 5, "ephemeral_1h_input_tokens": 7}
        assert start["output_tokens"] == 1
        assert "cache_creation" not in delta["usage"]
        assert delta["usage"]["output_tokens"] == 20
        assert delta["usage"]["input_tokens"] == 10
        assert delta["delta"] == {"stop_reason": "tool_use", "stop_sequence": None}

    def test_stream_deltas_add_up(self):
        events = events_of(messages.answer(TURN, ask(Wire.MESSAGES, streaming=True)))
        deltas = [data for name, data in events if name == "content_block_delta"]
        assert "".join(d["delta"].get("text", "") for d in deltas) == "abcdef"
        assert "".join(d["delta"]["partial_json"] for d in deltas if d["index"] == 1) == '{"path":"a"}'

    def test_error(self):
        failure = Failure(status=529, code="overloaded_error", message="busy")
        answer = messages.answer(Turn(failure=failure), ask(Wire.MESSAGES, streaming=True))
        assert answer.status == 529
        body = json.loads(body_of(answer))
        assert body["type"] == "error"
        assert body["error"] == {"type": "overloaded_error", "message": "busy"}

    def test_error_in_a_stream(self):
        failure = Failure(code="overloaded_error", message="busy", in_band=True)
        answer = messages.answer(Turn(failure=failure), ask(Wire.MESSAGES, streaming=True))
        assert answer.status == 200
        ((name, data),) = events_of(answer)
        assert (name, data["error"]["type"]) == ("error", "overloaded_error")

    def test_without_usage(self):
        events = events_of(messages.answer(Turn(text="x", tokens=None), ask(Wire.MESSAGES, streaming=True)))
        assert events[0][1]["message"]["usage"] == {}
        assert events[-2][1]["usage"] == {}

    def test_a_limit_reached_says_so(self):
        body = body_of(messages.answer(Turn(text="x", truncated=True), ask(Wire.MESSAGES)))
        assert json.loads(body)["stop_reason"] == "max_tokens"
        assert json.loads(body)["usage"]["output_tokens"] == 0


CHAT_USAGE = {
    "prompt_tokens": 122,
    "completion_tokens": 20,
    "total_tokens": 142,
    "prompt_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 12, "audio_tokens": 0},
    "completion_tokens_details": {
        "reasoning_tokens": 3,
        "audio_tokens": 0,
        "accepted_prediction_tokens": 0,
        "rejected_prediction_tokens": 0,
    },
}


class TestChat:
    def test_json(self):
        body = json.loads(body_of(chat.answer(TURN, ask(Wire.CHAT))))
        assert body["object"] == "chat.completion"
        assert body["usage"] == CHAT_USAGE
        (choice,) = body["choices"]
        assert choice["finish_reason"] == "tool_calls"
        assert choice["message"]["content"] == "abcdef"
        assert choice["message"]["tool_calls"][0] == {
            "id": f"call_{NUMBER}00",
            "type": "function",
            "function": {"name": "edit", "arguments": '{"path":"a"}'},
        }

    def test_stream_without_usage_asked_reports_none(self):
        events = events_of(chat.answer(TURN, ask(Wire.CHAT, streaming=True)))
        assert events[-1] == (None, "[DONE]")
        assert all("usage" not in data for _, data in events[:-1])
        assert events[-2][1]["choices"][0]["finish_reason"] == "tool_calls"

    def test_stream_with_usage_asked_ends_in_a_chunk_without_choices(self):
        events = events_of(chat.answer(TURN, ask(Wire.CHAT, streaming=True, include_usage=True)))
        assert events[-1] == (None, "[DONE]")
        assert events[-2][1]["choices"] == []
        assert events[-2][1]["usage"] == CHAT_USAGE
        assert all(data["usage"] is None for _, data in events[:-2])

    def test_stream_deltas_add_up(self):
        events = events_of(chat.answer(TURN, ask(Wire.CHAT, streaming=True)))
        deltas = [data["choices"][0]["delta"] for _, data in events[:-1]]
        assert deltas[0]["role"] == "assistant"
        assert "".join(delta.get("content") or "" for delta in deltas) == "abcdef"
        calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
        first = [call["function"]["arguments"] for call in calls if call["index"] == 0]
        assert "".join(first) == '{"path":"a"}'
        assert [call["id"] for call in calls if "id" in call] == [f"call_{NUMBER}00", f"call_{NUMBER}01"]

    def test_error(self):
        failure = Failure(status=429, code="insufficient_quota", message="no money")
        answer = chat.answer(Turn(failure=failure), ask(Wire.CHAT))
        assert answer.status == 429
        error = {"message": "no money", "type": "invalid_request_error", "param": None, "code": "insufficient_quota"}
        assert json.loads(body_of(answer)) == {"error": error}

    def test_error_in_a_stream_has_no_done(self):
        answer = chat.answer(Turn(failure=Failure(in_band=True)), ask(Wire.CHAT, streaming=True))
        assert [data["error"]["type"] for _, data in events_of(answer)] == ["server_error"]

    def test_tier_and_model_served(self):
        turn = Turn(text="x", model="m-1-2026", service_tier="priority", truncated=True, tokens=None)
        body = json.loads(body_of(chat.answer(turn, ask(Wire.CHAT))))
        assert (body["model"], body["service_tier"]) == ("m-1-2026", "priority")
        assert body["choices"][0]["finish_reason"] == "length"
        assert "usage" not in body


RESPONSES_USAGE = {
    "input_tokens": 122,
    "input_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 12},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 3},
    "total_tokens": 142,
}


class TestResponses:
    def test_json(self):
        body = json.loads(body_of(responses.answer(TURN, ask(Wire.RESPONSES))))
        assert (body["object"], body["status"], body["usage"]) == ("response", "completed", RESPONSES_USAGE)
        assert [item["type"] for item in body["output"]] == ["message", "function_call", "function_call"]
        assert body["output"][0]["content"][0]["text"] == "abcdef"
        assert body["output"][1]["call_id"] == f"call_{NUMBER}00"
        assert body["output"][1]["arguments"] == '{"path":"a"}'

    def test_stream_has_the_documented_events_in_order(self):
        turn = Turn(text="abcdef", tool_calls=(ToolCall(name="edit"), ToolCall(name="patch", text="p")), tokens=TOKENS)
        events = events_of(responses.answer(turn, ask(Wire.RESPONSES, streaming=True)))
        assert all(name == data["type"] for name, data in events)
        assert [data["sequence_number"] for _, data in events] == list(range(len(events)))
        assert [name.removeprefix("response.") for name, _ in events] == [
            "created", "in_progress",
            "output_item.added", "content_part.added", "output_text.delta", "output_text.done", "content_part.done",
            "output_item.done",
            "output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done",
            "output_item.added", "custom_tool_call_input.delta", "custom_tool_call_input.done", "output_item.done",
            "completed",
        ]  # fmt: skip

    def test_usage_stands_in_the_last_event_alone(self):
        events = events_of(responses.answer(TURN, ask(Wire.RESPONSES, streaming=True)))
        assert events[0][1]["response"]["usage"] is None
        assert events[-1][1]["response"]["usage"] == RESPONSES_USAGE

    def test_a_limit_reached_ends_incomplete(self):
        events = events_of(responses.answer(Turn(text="x", truncated=True), ask(Wire.RESPONSES, streaming=True)))
        name, data = events[-1]
        assert name == "response.incomplete"
        assert data["response"]["incomplete_details"] == {"reason": "max_output_tokens"}

    def test_failure_in_a_stream(self):
        turn = Turn(failure=Failure(code="insufficient_quota", message="no money", in_band=True))
        name, data = events_of(responses.answer(turn, ask(Wire.RESPONSES, streaming=True)))[-1]
        assert name == "response.failed"
        assert data["response"]["error"] == {"code": "insufficient_quota", "message": "no money"}
        assert data["response"]["usage"] is None

    def test_error(self):
        answer = responses.answer(Turn(failure=Failure(status=402, code="c", message="m")), ask(Wire.RESPONSES))
        assert answer.status == 402
        assert json.loads(body_of(answer))["error"]["message"] == "m"

    def test_without_usage(self):
        body = json.loads(body_of(responses.answer(Turn(text="x", tokens=None), ask(Wire.RESPONSES))))
        assert body["usage"] is None


@pytest.mark.parametrize("wire", list(WIRES))
def test_filler_is_text_of_exactly_its_size_in_json(wire):
    answer = WIRES[wire](Turn(text="a", filler=Filler(total_bytes=100_001, delta_bytes=1000)), ask(wire))
    body = body_of(answer)
    assert len(body) == answer.body_bytes
    assert body.count(b"f" * 100_001) == 1
    assert json.loads(body)


@pytest.mark.parametrize("wire", list(WIRES))
def test_filler_is_streamed_in_deltas(wire):
    answer = WIRES[wire](Turn(filler=Filler(total_bytes=2500, delta_bytes=1000)), ask(wire, streaming=True))
    assert [piece.count(b"f" * 100) for piece in answer.pieces if b"fff" in piece] == [10, 10, 5]


@pytest.mark.parametrize("wire", list(WIRES))
def test_half_a_surrogate_pair_in_the_model_comes_back_as_its_escape(wire):
    body = body_of(WIRES[wire](Turn(text="x"), Asked(wire=wire, model="m\ud800")))
    assert b'"m\\ud800"' in body


@pytest.mark.parametrize("wire", list(WIRES))
def test_extra_usage_members_are_added(wire):
    body = json.loads(body_of(WIRES[wire](Turn(extra_usage={"speed": "fast"}), ask(wire))))
    assert body["usage"]["speed"] == "fast"


@pytest.mark.parametrize(
    ("method", "path", "wire"),
    [
        ("POST", "/v1/messages", Wire.MESSAGES),
        ("POST", "/some/prefix/v1/messages", Wire.MESSAGES),
        ("POST", "/v1/chat/completions", Wire.CHAT),
        ("POST", "/v1/responses", Wire.RESPONSES),
        ("POST", "/v1/messages/count_tokens", None),
        ("GET", "/v1/responses", None),
        ("POST", "/v1/embeddings", None),
    ],
)
def test_wire_by_path(method, path, wire):
    assert wire_of(method, path) is wire


def test_reading_a_call():
    body = b'{"model":"m","stream":true,"stream_options":{"include_usage":true},"tools":[{}],"temperature":0.7}'
    assert read_ask(Wire.CHAT, body) == Asked(
        wire=Wire.CHAT, model="m", streaming=True, include_usage=True, offers_tools=True
    )
    assert read_ask(Wire.CHAT, b'{"model":"m","stream":1,"stream_options":[],"tools":[]}') == ask(Wire.CHAT).__class__(
        wire=Wire.CHAT, model="m"
    )


def test_tools_among_the_input_items_count():
    body = b'{"model":"m","input":[{"type":"additional_tools","tools":[]}]}'
    assert read_ask(Wire.RESPONSES, body) == Asked(wire=Wire.RESPONSES, model="m", offers_tools=True)
    assert read_ask(Wire.RESPONSES, b'{"model":"m","input":["x"]}') == Asked(wire=Wire.RESPONSES, model="m")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{}", b'{"model":1}', b"\xff\xfe", b"[" * 100_000])
def test_a_body_that_cannot_be_read_is_a_value(body):
    assert isinstance(read_ask(Wire.CHAT, body), InvalidAsk)
