"""Chat Completions replies, typed as OpenAI's documentation and compatible servers send them."""

from __future__ import annotations

import json

import pytest

from docket.formats.run.usage import Usage
from docket.rules.providers.interface import Meter, Reading, StreamError
from docket.rules.providers.openai_chat import OpenAiChat

STREAM = b"""data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-5.2-2025-12-11",\
"service_tier":"default","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],\
"usage":null,"obfuscation":"x9"}

data: {"id":"chatcmpl-1","model":"gpt-5.2-2025-12-11","choices":[{"index":0,"delta":{"content":"Hello"},\
"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","model":"gpt-5.2-2025-12-11","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],\
"usage":null}

data: {"id":"chatcmpl-1","model":"gpt-5.2-2025-12-11","choices":[],"usage":{"prompt_tokens":2006,\
"completion_tokens":300,"total_tokens":2306,"prompt_tokens_details":{"cached_tokens":1920,"audio_tokens":0},\
"completion_tokens_details":{"reasoning_tokens":256,"audio_tokens":0,"accepted_prediction_tokens":0,\
"rejected_prediction_tokens":0}}}

data: [DONE]

"""


def meter_of(body: bytes) -> Meter:
    meter = OpenAiChat().meter("text/event-stream; charset=utf-8", streaming=True)
    meter.feed(body)
    return meter


def read(body: bytes) -> Reading:
    return meter_of(body).reading()


def chunk(**members: object) -> bytes:
    return b"data: " + json.dumps(members).encode() + b"\n\n"


def usage_of(**usage: object) -> Usage | None:
    return read(chunk(choices=[], usage=usage)).usage


def test_a_stream_with_its_usage_chunk() -> None:
    meter = meter_of(STREAM)
    assert meter.reading() == Reading(
        usage=Usage(input_tokens=2006, cached_input_tokens=1920, output_tokens=300, reasoning_tokens=256),
        usage_final=True,
        model="gpt-5.2-2025-12-11",
        service_tier="default",
        response_id="chatcmpl-1",
        terminal=True,
    )
    assert meter.visible_output_bytes == 5


def test_a_stream_without_usage_has_none() -> None:
    meter = meter_of(
        chunk(choices=[{"delta": {"content": "abc", "reasoning_content": "de", "refusal": "f"}}])
        + chunk(choices=[{"delta": {"tool_calls": [{"index": 0, "function": {"name": "ls", "arguments": '{"p":1}'}}]}}])
        + chunk(choices=[{"delta": {"function_call": {"name": "x", "arguments": ""}}}])
        + b"data: [DONE]\n\n"
    )
    assert (meter.reading().usage, meter.reading().terminal) == (None, True)
    assert meter.visible_output_bytes == 6 + 9 + 1


def test_usage_inside_the_last_content_chunk() -> None:
    reading = read(chunk(choices=[{"delta": {"content": "a"}}], usage={"prompt_tokens": 3, "completion_tokens": 1}))
    assert reading.usage == Usage(input_tokens=3, output_tokens=1)


def test_usage_on_every_chunk_is_cumulative() -> None:
    reading = read(
        b"".join(
            chunk(choices=[{"delta": {"content": "a"}}], usage={"prompt_tokens": 9, "completion_tokens": at})
            for at in (1, 2, 3)
        )
    )
    assert reading.usage == Usage(input_tokens=9, output_tokens=3)


def test_an_explicit_zero_then_an_abort_is_a_zero() -> None:
    reading = read(chunk(usage={"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}) + b'data: {"cho')
    assert (reading.usage, reading.usage_final) == (Usage(), True)


def test_written_cache_tokens_are_a_part_of_the_prompt() -> None:
    assert usage_of(
        prompt_tokens=2600,
        completion_tokens=5,
        prompt_tokens_details={"cached_tokens": 2000, "cache_write_tokens": 400},
    ) == Usage(input_tokens=2600, cached_input_tokens=2000, cache_write_tokens=400, output_tokens=5)


def test_audio_is_a_part_of_both_sides() -> None:
    assert usage_of(
        prompt_tokens=100,
        completion_tokens=50,
        prompt_tokens_details={"audio_tokens": 40},
        completion_tokens_details={"audio_tokens": 30},
    ) == Usage(input_tokens=100, output_tokens=50, audio_input_tokens=40, audio_output_tokens=30)


def test_rejected_predictions_are_inside_the_completion() -> None:
    assert usage_of(
        prompt_tokens=1,
        completion_tokens=50,
        total_tokens=51,
        completion_tokens_details={"rejected_prediction_tokens": 20, "reasoning_tokens": 20},
    ) == Usage(input_tokens=1, output_tokens=50, reasoning_tokens=20)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        # A server whose completion leaves the reasoning out: 100 + 20 + 80 reasoning = 200.
        (
            {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 200}
            | {"completion_tokens_details": {"reasoning_tokens": 80}},
            Usage(input_tokens=100, output_tokens=100, reasoning_tokens=80),
        ),
        # A server whose prompt leaves the cached part out: 10 + 5 + 90 cached = 105.
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 105}
            | {"prompt_tokens_details": {"cached_tokens": 90}},
            Usage(input_tokens=100, cached_input_tokens=90, output_tokens=5),
        ),
        # The total is the sum: the cached part is inside.
        (
            {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
            | {"prompt_tokens_details": {"cached_tokens": 90}},
            Usage(input_tokens=100, cached_input_tokens=90, output_tokens=5),
        ),
        # DeepSeek's and Moonshot's spellings.
        (
            {"prompt_tokens": 100, "completion_tokens": 5, "prompt_cache_hit_tokens": 64},
            Usage(input_tokens=100, cached_input_tokens=64, output_tokens=5),
        ),
        (
            {"prompt_tokens": 100, "completion_tokens": 5, "cached_tokens": 64},
            Usage(input_tokens=100, cached_input_tokens=64, output_tokens=5),
        ),
        # More cached than there is prompt, and no total to tell why: the larger figure is kept.
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 90}},
            Usage(input_tokens=90, cached_input_tokens=90, output_tokens=5),
        ),
    ],
)
def test_totals_that_differ_between_servers(usage: dict[str, object], expected: Usage) -> None:
    assert usage_of(**usage) == expected


def test_groq_and_moonshot_put_usage_elsewhere() -> None:
    counts = {"prompt_tokens": 4, "completion_tokens": 2}
    assert read(chunk(choices=[], x_groq={"usage": counts})).usage == Usage(input_tokens=4, output_tokens=2)
    assert read(chunk(choices=[{"delta": {}, "usage": counts}])).usage == Usage(input_tokens=4, output_tokens=2)


def test_a_json_reply_with_two_choices() -> None:
    meter = OpenAiChat().meter("application/json", streaming=False)
    meter.feed(
        json.dumps(
            {
                "id": "chatcmpl-2",
                "model": "gpt-4.1",
                "service_tier": "flex",
                "choices": [{"message": {"content": "abc"}}, {"message": {"content": "de"}}],
                "usage": {"prompt_tokens": 7, "completion_tokens": 2},
            }
        ).encode()
    )
    reading = meter.reading()
    assert reading == Reading(
        usage=Usage(input_tokens=7, output_tokens=2),
        usage_final=True,
        model="gpt-4.1",
        service_tier="flex",
        response_id="chatcmpl-2",
        terminal=True,
    )
    assert meter.visible_output_bytes == 5


def test_azure_begins_with_a_chunk_without_choices() -> None:
    reading = read(
        chunk(choices=[], model="", prompt_filter_results=[{"prompt_index": 0}])
        + chunk(choices=[{"delta": {"content": "a"}}], model="gpt-4o-2024-11-20")
    )
    assert (reading.model, reading.usage) == ("gpt-4o-2024-11-20", None)


def test_comments_between_events_are_nothing() -> None:
    reading = read(b": OPENROUTER PROCESSING\n\n" + chunk(usage={"prompt_tokens": 1, "completion_tokens": 1}))
    assert reading.usage == Usage(input_tokens=1, output_tokens=1)


def test_an_error_in_the_middle_of_a_stream() -> None:
    reading = read(chunk(error={"code": "insufficient_quota", "type": "billing", "message": "You ran out"}))
    assert reading.error == StreamError(type="insufficient_quota", message="You ran out")


def test_a_count_that_is_none_voids_the_usage() -> None:
    reading = read(chunk(usage={"prompt_tokens": 1.5, "completion_tokens": 1}))
    assert (reading.usage, reading.note) == (None, "usage.prompt_tokens is not a count")


def test_an_integral_float_is_a_count() -> None:
    assert usage_of(prompt_tokens=12.0, completion_tokens=3.0) == Usage(input_tokens=12, output_tokens=3)


@pytest.mark.parametrize("value", [True, -1, "7", [], {}, 10**12, float("inf"), float("nan")])
def test_what_is_no_count(value: object) -> None:
    assert usage_of(prompt_tokens=value, completion_tokens=1) is None


def test_legacy_completions_show_text() -> None:
    assert meter_of(chunk(choices=[{"text": "abcd", "index": 0}])).visible_output_bytes == 4


def test_a_binary_reply_is_not_read() -> None:
    assert OpenAiChat().meter("audio/mpeg", streaming=False).reading().note is not None


def test_every_choice_that_began_and_finished_ends_a_stream_without_its_mark() -> None:
    def said(index: object, reason: str | None) -> bytes:
        return chunk(choices=[{"index": index, "delta": {"content": "a"}, "finish_reason": reason}])

    assert not read(said(0, None)).terminal
    assert read(said(0, None) + said(0, "stop")).terminal
    assert not read(said(0, "stop") + said(1, None)).terminal
    assert read(said(0, "stop") + said(1, None) + said(1, "length")).terminal
    # A place that is none counts as the first, so that many of them need no memory.
    assert read(said(-1, None) + said("x", None) + said(10**9, "stop")).terminal
    assert not read(chunk(choices=[])).terminal
