"""Interactions, typed by hand after Google's API reference."""

from __future__ import annotations

import json

import pytest

from docket.formats.reason import Reason
from docket.formats.run.usage import Usage
from docket.rules.providers.endpoints import GEMINI_INTERACTIONS
from docket.rules.providers.interface import Hidden, Reading, Refusal

USAGE = {
    "total_input_tokens": 100,
    "total_cached_tokens": 40,
    "total_tool_use_tokens": 10,
    "total_output_tokens": 20,
    "total_thought_tokens": 30,
    "total_tokens": 160,
    "input_tokens_by_modality": [{"modality": "audio", "tokens": 15}],
    "grounding_tool_count": [{"type": "google_search", "count": 2}],
}
USED = Usage(
    input_tokens=110,
    cached_input_tokens=40,
    output_tokens=50,
    reasoning_tokens=30,
    audio_input_tokens=15,
    web_searches=2,
)
WHOLE = {"id": "i-1", "model": "gemini-3-flash-preview", "status": "completed", "service_tier": "flex", "usage": USAGE}


def events(*values: object) -> bytes:
    return b"".join(b"data: " + json.dumps(value).encode() + b"\n\n" for value in values)


def read(data: bytes) -> tuple[Reading, int]:
    meter = GEMINI_INTERACTIONS.meter("", streaming=True)
    meter.feed(data)
    return meter.reading(), meter.visible_output_bytes


def test_a_whole_interaction() -> None:
    steps = [
        {"type": "model_output", "content": [{"type": "text", "text": "four"}]},
        {"type": "function_call", "name": "run", "arguments": {"a": 1}},
    ]
    reading, shown = read(json.dumps({**WHOLE, "steps": steps}).encode())
    assert (reading.usage, reading.usage_final, reading.terminal) == (USED, True, True)
    assert (reading.model, reading.response_id, reading.service_tier) == ("gemini-3-flash-preview", "i-1", "flex")
    assert shown == 4 + 3 + len('{"a": 1}')


def test_a_stream() -> None:
    opening = events(
        {"event_type": "interaction.created", "interaction": {"id": "i-1", "model": "m"}},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "four"}},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "thought_summary", "content": {"text": "hm"}}},
    )
    reading, shown = read(opening)
    assert (reading.usage, reading.terminal, reading.response_id, shown) == (None, False, "i-1", 6)
    reading, _ = read(opening + events({"event_type": "interaction.completed", "interaction": WHOLE}))
    assert (reading.usage, reading.terminal) == (USED, True)
    assert read(opening + b"data: [DONE]\n\n")[0].terminal


def test_one_that_runs_in_the_background_has_not_ended() -> None:
    reading, _ = read(b'{"id":"i-1","status":"in_progress","usage":{"total_input_tokens":5}}')
    assert (reading.usage, reading.usage_final, reading.terminal) == (Usage(input_tokens=5), False, False)


@pytest.mark.parametrize(
    "data",
    [
        events({"event_type": "error", "error": {"code": "quota", "message": "no"}}),
        events({"event_type": "error", "code": "quota", "message": "no"}),
        b'{"status":"failed","error":{"code":"quota","message":"no"}}',
    ],
)
def test_errors(data: bytes) -> None:
    error = read(data)[0].error
    assert error is not None
    assert (error.type, error.message) == ("quota", "no")


def test_tools_billed_apart_are_said_to_be() -> None:
    usage = {**USAGE, "grounding_tool_count": [{"type": "google_maps", "count": 1}, {"type": "other", "count": 1}]}
    reading, _ = read(json.dumps({**WHOLE, "usage": usage}).encode())
    assert "billed apart" in str(reading.note)
    none = {**USAGE, "grounding_tool_count": [{"type": "google_maps", "count": 0}]}
    assert read(json.dumps({**WHOLE, "usage": none}).encode())[0].note is None


@pytest.mark.parametrize(
    ("members", "wanted"),
    [
        ({"model": "m", "stream": True}, {"model": "m", "streaming": True, "hidden": (Hidden.REASONING,)}),
        ({"agent": "deep-research", "stream": True}, {"model": "deep-research"}),
        ({"generation_config": {"max_output_tokens": 7}}, {"max_output_tokens": 7}),
        ({"stream": True, "previous_interaction_id": "i-0"},
         {"hidden": (Hidden.REASONING, Hidden.STORED_HISTORY), "previous_response_id": "i-0"}),
        ({"stream": True, "tools": [{"type": "function"}]}, {"hidden": (Hidden.REASONING,)}),
        ({"stream": True, "tools": [{"type": "google_search"}]}, {"hidden": (Hidden.REASONING, Hidden.SERVER_TOOLS)}),
        ({"stream": True, "input": [{"type": "image", "uri": "gs://x"}]},
         {"hidden": (Hidden.REASONING, Hidden.REMOTE_INPUT)}),
        ({"background": True}, {"hidden": (Hidden.REASONING, Hidden.NON_STREAMING, Hidden.BACKGROUND)}),
        ({"service_tier": "flex"}, {"service_tier": "flex"}),
    ],
)  # fmt: skip
def test_requests(members: dict[str, object], wanted: dict[str, object]) -> None:
    facts = GEMINI_INTERACTIONS.read_request(json.dumps(members).encode())
    assert {name: getattr(facts, name) for name in wanted} == wanted


def test_what_cannot_be_read() -> None:
    assert GEMINI_INTERACTIONS.read_request(b"x").hidden == (Hidden.UNREADABLE,)
    assert GEMINI_INTERACTIONS.meter("audio/wav", streaming=False).reading().note is not None


def test_the_refusal_is_googles() -> None:
    refused = GEMINI_INTERACTIONS.refusal(Refusal(reason=Reason.MAX_USD, message="no", docket_number="d"))
    assert json.loads(refused.body)["error"]["status"] == "FAILED_PRECONDITION"
