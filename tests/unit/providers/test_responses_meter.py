"""Responses replies, typed as OpenAI's documentation shows them."""

from __future__ import annotations

import json

import pytest

from docket.formats.run.usage import Usage
from docket.rules.providers.interface import Meter, Reading, StreamError
from docket.rules.providers.openai_responses import OpenAiResponses

# OpenAI's own worked example of cache writes: 2600 = 2000 read + 400 written + 200 fresh.
USAGE = {
    "input_tokens": 2600,
    "input_tokens_details": {"cached_tokens": 2000, "cache_write_tokens": 400},
    "output_tokens": 300,
    "output_tokens_details": {"reasoning_tokens": 128},
    "total_tokens": 2900,
}


def meter_of(*values: object) -> Meter:
    meter = OpenAiResponses().meter("text/event-stream", streaming=True)
    for value in values:
        kind = value["type"] if isinstance(value, dict) else ""
        meter.feed(b"event: " + kind.encode() + b"\ndata: " + json.dumps(value).encode() + b"\n\n")
    return meter


def response(**members: object) -> dict[str, object]:
    return {"id": "resp_1", "object": "response", "model": "gpt-5.4-2026-03-05", "status": "completed", **members}


def ended(kind: str = "completed", **members: object) -> dict[str, object]:
    return {"type": f"response.{kind}", "sequence_number": 9, "response": response(**members)}


CREATED = {
    "type": "response.created",
    "sequence_number": 0,
    "response": response(status="in_progress", usage=None, service_tier="auto"),
}


def test_a_stream_is_read_to_its_end() -> None:
    meter = meter_of(
        CREATED,
        {"type": "response.output_text.delta", "delta": "Hel", "obfuscation": "zz"},
        {"type": "response.function_call_arguments.delta", "delta": '{"a"'},
        {"type": "response.reasoning_summary_text.delta", "delta": "ok"},
        ended(usage=USAGE, service_tier="default"),
    )
    assert meter.reading() == Reading(
        usage=Usage(
            input_tokens=2600,
            cached_input_tokens=2000,
            cache_write_tokens=400,
            output_tokens=300,
            reasoning_tokens=128,
        ),
        usage_final=True,
        model="gpt-5.4-2026-03-05",
        service_tier="default",
        response_id="resp_1",
        terminal=True,
    )
    assert meter.visible_output_bytes == 3 + 4 + 2


@pytest.mark.parametrize("kind", ["completed", "incomplete", "failed", "cancelled"])
def test_every_end_carries_usage(kind: str) -> None:
    reading = meter_of(CREATED, ended(kind, usage=USAGE)).reading()
    assert reading.terminal
    assert reading.usage is not None
    assert reading.usage.total_tokens == 2900


def test_a_stream_that_has_only_begun() -> None:
    reading = meter_of(CREATED).reading()
    assert (reading.usage, reading.terminal, reading.model) == (None, False, "gpt-5.4-2026-03-05")


def test_writes_by_lifetime() -> None:
    details = {
        "cached_tokens": 0,
        "cache_write_tokens": 400,
        "cache_write_tokens_details": {"ttl_30m_tokens": 300, "ttl_12h_tokens": 60},
    }
    reading = meter_of(ended(usage={**USAGE, "input_tokens_details": details})).reading()
    assert reading.usage == Usage(
        input_tokens=2600,
        cache_write_tokens=40,
        cache_write_30m_tokens=300,
        cache_write_12h_tokens=60,
        output_tokens=300,
        reasoning_tokens=128,
    )


def test_parts_beyond_the_whole_raise_the_whole() -> None:
    details = {"cached_tokens": 10, "cache_write_tokens_details": {"ttl_30m_tokens": 5}}
    reading = meter_of(ended(usage={"input_tokens": 1, "input_tokens_details": details})).reading()
    assert reading.usage == Usage(input_tokens=15, cached_input_tokens=10, cache_write_30m_tokens=5)


def test_only_billable_searches_are_counted() -> None:
    # Offered and used three times, billed twice.
    calls = [{"type": "web_search_call", "action": {"type": "search"}}] * 3
    reading = meter_of(
        *({"type": "response.output_item.done", "item": call} for call in calls),
        ended(usage=USAGE, output=calls, tool_usage={"web_search": {"num_requests": 2}}),
    ).reading()
    assert reading.usage is not None
    assert reading.usage.web_searches == 2


def test_searches_are_counted_from_the_output_where_nobody_says() -> None:
    calls = [
        {"type": "web_search_call", "action": {"type": "search", "query": "x"}},
        {"type": "web_search_call", "action": {"type": "open_page"}},
        {"type": "web_search_call"},
        {"type": "file_search_call"},
        {"type": "message"},
    ]
    streamed = meter_of(
        *({"type": "response.output_item.done", "item": call} for call in calls), ended(usage=USAGE, output=calls)
    ).reading()
    at_the_end = meter_of(ended(usage=USAGE, output=calls)).reading()
    assert streamed == at_the_end
    assert streamed.usage is not None
    assert (streamed.usage.web_searches, streamed.usage.file_searches) == (2, 1)


def test_a_tool_that_was_merely_offered_costs_nothing() -> None:
    reading = meter_of(ended(usage=USAGE, tools=[{"type": "web_search"}], output=[])).reading()
    assert reading.usage is not None
    assert reading.usage.web_searches == 0


@pytest.mark.parametrize(
    "members",
    [
        {"tool_usage": {"image_gen": {"input_tokens": 5}, "web_search": {"num_requests": 0}}},
        {"output": [{"type": "image_generation_call"}]},
    ],
)
def test_tools_that_are_billed_apart_are_named(members: dict[str, object]) -> None:
    note = meter_of(ended(usage=USAGE, **members)).reading().note
    assert note == "hosted tools were used that are billed apart and are not counted here"


def test_hosted_tools_that_did_nothing_are_not_named() -> None:
    tools = {"image_gen": {"input_tokens": 0}, "other": None}
    assert meter_of(ended(usage=USAGE, tool_usage=tools)).reading().note is None


def test_a_json_reply() -> None:
    meter = OpenAiResponses().meter("application/json", streaming=False)
    output = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "why"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "Hello"}]},
        {"type": "function_call", "name": "ls", "arguments": "{}"},
    ]
    meter.feed(json.dumps(response(usage=USAGE, output=output, service_tier="priority")).encode())
    reading = meter.reading()
    assert (reading.terminal, reading.usage_final, reading.service_tier) == (True, True, "priority")
    assert meter.visible_output_bytes == 3 + 5 + 2


def test_a_background_response_is_not_at_its_end() -> None:
    meter = OpenAiResponses().meter("application/json", streaming=False)
    meter.feed(json.dumps(response(status="queued", usage=None)).encode())
    reading = meter.reading()
    assert (reading.terminal, reading.usage, reading.response_id) == (False, None, "resp_1")


def test_a_compaction_reply_is_billed() -> None:
    meter = OpenAiResponses().meter("application/json", streaming=False)
    meter.feed(b'{"id":"cmp_1","object":"response.compaction","usage":{"input_tokens":139,"output_tokens":438}}')
    assert meter.reading().usage == Usage(input_tokens=139, output_tokens=438)


def test_errors_in_a_stream() -> None:
    bare = meter_of({"type": "error", "code": "server_error", "message": "sorry", "param": None}).reading()
    assert bare.error == StreamError(type="server_error", message="sorry")
    wrapped = meter_of({"type": "error", "error": {"type": "too_many", "message": "no"}}).reading()
    assert wrapped.error == StreamError(type="too_many", message="no")
    failed = meter_of(ended("failed", error={"code": "rate_limit_exceeded", "message": "slow"})).reading()
    assert failed.error == StreamError(type="rate_limit_exceeded", message="slow")


def test_events_without_a_usable_type_are_ignored() -> None:
    meter = OpenAiResponses().meter("text/event-stream", streaming=True)
    meter.feed(b'data: {"type":7,"delta":"x"}\n\ndata: {"type":"response.x.delta","delta":{"a":1}}\n\ndata: 5\n\n')
    assert (meter.visible_output_bytes, meter.reading()) == (0, Reading(broken_off=True))


def test_done_from_a_compatible_server_ends_the_stream() -> None:
    meter = OpenAiResponses().meter("", streaming=True)
    meter.feed(b"data: [DONE]\n\n")
    assert meter.reading().terminal


def test_a_count_that_is_none_voids_the_usage() -> None:
    reading = meter_of(ended(usage={"input_tokens": "many", "output_tokens": 1})).reading()
    assert (reading.usage, reading.note) == (None, "usage.input_tokens is not a count")


def test_a_binary_reply_is_not_read() -> None:
    assert OpenAiResponses().meter("application/octet-stream", streaming=False).reading().note is not None


def test_containers_are_counted_once_each() -> None:
    calls = [
        {"type": "code_interpreter_call", "id": "ci_1", "container_id": "cntr_1"},
        {"type": "code_interpreter_call", "id": "ci_2", "container_id": "cntr_1"},
        {"type": "code_interpreter_call", "id": "ci_3"},
    ]
    usage = meter_of(ended(usage=USAGE, output=calls)).reading().usage
    assert usage is not None
    assert usage.code_sessions == 2


def test_images_have_tokens_of_their_own() -> None:
    body = {
        "created": 1,
        "data": [{"b64_json": "aGk="}],
        "usage": {
            "total_tokens": 4510, "input_tokens": 350, "output_tokens": 4160,
            "input_tokens_details": {"text_tokens": 50, "image_tokens": 300},
        },
    }  # fmt: skip
    meter = OpenAiResponses().meter("application/json", streaming=False)
    meter.feed(json.dumps(body).encode())
    assert meter.reading().usage == Usage(input_tokens=350, image_input_tokens=300, output_tokens=4160)


def test_a_stream_of_an_image_ends_in_its_usage() -> None:
    usage = {"input_tokens": 50, "output_tokens": 4160, "output_tokens_details": {"image_tokens": 4160}}
    event = {"type": "image_generation.completed", "b64_json": "aGk=", "usage": usage}
    reading = meter_of(event).reading()
    assert reading.usage == Usage(input_tokens=50, output_tokens=4160, image_output_tokens=4160)
    assert reading.terminal


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (
            {"type": "tokens", "input_tokens": 14, "input_token_details": {"text_tokens": 0, "audio_tokens": 14},
             "output_tokens": 101, "total_tokens": 115},
            Usage(input_tokens=14, audio_input_tokens=14, output_tokens=101),
        ),
        ({"type": "duration", "seconds": 9}, Usage(audio_seconds=9)),
        ({"type": "duration", "seconds": 9.2}, Usage(audio_seconds=10)),
        ({"type": "duration", "seconds": "9"}, Usage()),
        ({"type": "duration", "seconds": -1}, Usage()),
        ({"type": "duration", "seconds": 1e300}, Usage()),
    ],
)  # fmt: skip
def test_transcriptions_by_tokens_and_by_the_second(usage: object, expected: Usage) -> None:
    meter = OpenAiResponses().meter("application/json", streaming=False)
    meter.feed(json.dumps({"text": "hi", "usage": usage}).encode())
    assert meter.reading().usage == expected
    assert meter_of({"type": "transcript.text.done", "text": "hi", "usage": usage}).reading().usage == expected
