"""Messages replies, typed as Anthropic's documentation shows them."""

from __future__ import annotations

import json

import pytest

from docket.formats.run.usage import Usage, UsagePart
from docket.rules.providers.anthropic import AnthropicMessages
from docket.rules.providers.interface import Reading, StreamError

# The streaming example of the Messages documentation, with a cache in play.
HELLO = b"""event: message_start
data: {"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","content":[],\
"model":"claude-opus-4-8","stop_reason":null,"usage":{"input_tokens":6,"cache_creation_input_tokens":159217,\
"cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":159217,"ephemeral_1h_input_tokens":0},\
"output_tokens":1,"service_tier":"standard","inference_geo":"global"}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Gr\\u00fc\xc3\x9f"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},\
"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"output_tokens":2745}}

event: message_stop
data: {"type":"message_stop"}

"""


def read(body: bytes, content_type: str = "text/event-stream") -> Reading:
    meter = AnthropicMessages().meter(content_type, streaming=True)
    meter.feed(body)
    return meter.reading()


def events(*values: object) -> bytes:
    return b"".join(b"data: " + json.dumps(value).encode() + b"\n\n" for value in values)


def start(**usage: object) -> dict[str, object]:
    return {"type": "message_start", "message": {"id": "msg_1", "model": "claude-opus-4-8", "usage": usage}}


def delta(**usage: object) -> dict[str, object]:
    return {"type": "message_delta", "delta": {}, "usage": usage}


STOP = {"type": "message_stop"}


def test_a_stream_is_read_to_its_end() -> None:
    meter = AnthropicMessages().meter("text/event-stream", streaming=True)
    meter.feed(HELLO)
    assert meter.reading() == Reading(
        usage=Usage(input_tokens=159223, cache_write_5m_tokens=159217, output_tokens=2745),
        usage_final=True,
        model="claude-opus-4-8",
        service_tier="standard",
        inference_geo="global",
        response_id="msg_01",
        terminal=True,
    )
    # G, r, then u-umlaut and sharp s of two bytes each.
    assert meter.visible_output_bytes == 6


def test_input_is_not_counted_twice() -> None:
    # Reported by modelbus one-api-pro: both events carry the input; it was 27, read from the cache 100, output 47.
    reading = read(
        events(
            start(input_tokens=27, cache_read_input_tokens=100, output_tokens=1),
            delta(input_tokens=27, cache_read_input_tokens=100, output_tokens=47),
            STOP,
        )
    )
    assert reading.usage == Usage(input_tokens=127, cached_input_tokens=100, output_tokens=47)


def test_a_zero_in_the_delta_does_not_erase_the_start() -> None:
    reading = read(events(start(input_tokens=50, output_tokens=1), delta(input_tokens=0, output_tokens=9), STOP))
    assert reading.usage == Usage(input_tokens=50, output_tokens=9)


def test_a_zero_in_the_start_does_not_hide_the_delta() -> None:
    reading = read(events(start(input_tokens=0, output_tokens=0), delta(input_tokens=50, output_tokens=9), STOP))
    assert reading.usage == Usage(input_tokens=50, output_tokens=9)


def test_null_members_change_nothing() -> None:
    reading = read(
        events(
            start(input_tokens=5, cache_read_input_tokens=7, output_tokens=1),
            delta(input_tokens=None, cache_read_input_tokens=None, output_tokens=2, server_tool_use=None),
        )
    )
    assert reading.usage == Usage(input_tokens=12, cached_input_tokens=7, output_tokens=2)


def test_the_output_is_cumulative_and_the_last_delta_counts() -> None:
    reading = read(events(start(input_tokens=1, output_tokens=1), delta(output_tokens=10), delta(output_tokens=25)))
    assert reading.usage == Usage(input_tokens=1, output_tokens=25)


def test_writes_of_one_hour_are_told_from_those_of_five_minutes() -> None:
    reading = read(
        events(
            start(
                input_tokens=0,
                cache_creation_input_tokens=344139,
                cache_creation={"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 344139},
                output_tokens=0,
            ),
            delta(output_tokens=0),
        )
    )
    assert reading.usage == Usage(input_tokens=344139, cache_write_1h_tokens=344139)


@pytest.mark.parametrize(
    ("split", "total", "expected"),
    [
        ({}, 30, {"cache_write_tokens": 30}),
        ({"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 0}, 30, {"cache_write_5m_tokens": 30}),
        ({"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 10}, 30, {"cache_write_1h_tokens": 30}),
        (
            {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 5},
            30,
            {"cache_write_5m_tokens": 25, "cache_write_1h_tokens": 5},
        ),
        (
            {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
            0,
            {"cache_write_5m_tokens": 10, "cache_write_1h_tokens": 20},
        ),
    ],
)
def test_writes_beyond_the_split_live_as_long_as_it_says(
    split: dict[str, int], total: int, expected: dict[str, int]
) -> None:
    reading = read(
        events(start(input_tokens=1, cache_creation_input_tokens=total, cache_creation=split, output_tokens=0))
    )
    assert reading.usage == Usage(input_tokens=31, **expected)


def test_tier_speed_and_geography_stand_in_the_start_alone() -> None:
    reading = read(
        events(
            start(input_tokens=1, output_tokens=1, service_tier="priority", speed="fast", inference_geo="us"),
            delta(output_tokens=2),
            STOP,
        )
    )
    assert (reading.service_tier, reading.speed, reading.inference_geo) == ("priority", "fast", "us")


def test_thinking_is_inside_the_output_and_searches_are_counted() -> None:
    reading = read(
        events(
            start(input_tokens=1, output_tokens=1),
            delta(
                output_tokens=90,
                output_tokens_details={"thinking_tokens": 60},
                server_tool_use={"web_search_requests": 2, "web_fetch_requests": 4},
            ),
        )
    )
    assert reading.usage == Usage(input_tokens=1, output_tokens=90, reasoning_tokens=60, web_searches=2)


def test_compaction_is_added_to_the_top_level() -> None:
    # The documentation's example: the top level lacks what the compaction used.
    reading = read(
        events(
            start(input_tokens=23000, output_tokens=1),
            delta(
                output_tokens=1000,
                iterations=[
                    {"type": "compaction", "input_tokens": 180000, "output_tokens": 3500},
                    {"type": "message", "input_tokens": 23000, "output_tokens": 1000},
                ],
            ),
            STOP,
        )
    )
    assert reading.usage == Usage(input_tokens=203000, output_tokens=4500)
    assert reading.parts == (
        UsagePart(model="claude-opus-4-8", usage=Usage(input_tokens=180000, output_tokens=3500)),
        UsagePart(model="claude-opus-4-8", usage=Usage(input_tokens=23000, output_tokens=1000)),
    )


def test_an_attempt_that_was_declined_after_output_is_billed_at_its_own_model() -> None:
    reading = read(
        events(
            start(input_tokens=0, cache_read_input_tokens=560186, output_tokens=1),
            delta(
                output_tokens=130,
                iterations=[
                    {
                        "type": "message",
                        "model": "claude-fable-5",
                        "input_tokens": 0,
                        "cache_read_input_tokens": 560186,
                        "output_tokens": 299,
                    },
                    {
                        "type": "fallback_message",
                        "model": "claude-opus-4-8",
                        "input_tokens": 0,
                        "cache_read_input_tokens": 560186,
                        "output_tokens": 130,
                    },
                ],
            ),
        )
    )
    cached = {"input_tokens": 560186, "cached_input_tokens": 560186}
    assert reading.parts == (
        UsagePart(model="claude-fable-5", usage=Usage(**cached, output_tokens=299)),
        UsagePart(model="claude-opus-4-8", usage=Usage(**cached, output_tokens=130)),
    )
    assert reading.usage == Usage(input_tokens=1120372, cached_input_tokens=1120372, output_tokens=429)


def test_an_attempt_that_was_declined_before_output_costs_nothing() -> None:
    reading = read(
        events(
            start(input_tokens=412, output_tokens=1),
            delta(
                output_tokens=264,
                iterations=[
                    {"type": "message", "model": "claude-fable-5", "input_tokens": 412, "output_tokens": 0},
                    {"type": "fallback_message", "model": "claude-opus-4-8", "input_tokens": 412, "output_tokens": 264},
                ],
            ),
        )
    )
    assert reading.usage == Usage(input_tokens=412, output_tokens=264)
    assert reading.parts == ()


def test_an_advisor_is_billed_at_its_own_model_and_searches_stand_with_the_last_part() -> None:
    reading = read(
        events(
            start(input_tokens=100, output_tokens=1),
            delta(
                output_tokens=50,
                server_tool_use={"web_search_requests": 1},
                iterations=[
                    {"type": "message", "input_tokens": 40, "output_tokens": 20},
                    {"type": "advisor_message", "model": "claude-opus-5", "input_tokens": 900, "output_tokens": 300},
                    {"type": "message", "input_tokens": 60, "output_tokens": 30},
                ],
            ),
        )
    )
    assert [part.model for part in reading.parts] == ["claude-opus-4-8", "claude-opus-5", "claude-opus-4-8"]
    assert reading.parts[-1].usage == Usage(input_tokens=60, output_tokens=30, web_searches=1)
    assert reading.usage == Usage(input_tokens=1000, output_tokens=350, web_searches=1)


def test_a_single_iteration_at_another_model_is_a_part() -> None:
    reading = read(
        events(
            start(input_tokens=10, output_tokens=1),
            delta(
                output_tokens=5,
                iterations=[{"type": "message", "model": "claude-opus-5", "input_tokens": 10, "output_tokens": 5}],
            ),
        )
    )
    assert reading.parts == (UsagePart(model="claude-opus-5", usage=Usage(input_tokens=10, output_tokens=5)),)


def test_iterations_that_lack_attempts_only_add_what_the_top_level_lacks() -> None:
    reading = read(
        events(
            start(input_tokens=1000, output_tokens=1),
            delta(
                output_tokens=500,
                iterations=[
                    {"type": "compaction", "input_tokens": 7000, "output_tokens": 70},
                    {"type": "message", "input_tokens": 10, "output_tokens": 5},
                    {"type": 7, "output_tokens": "many"},
                    {"type": "message"},
                    "junk",
                ],
            ),
        )
    )
    assert reading.usage == Usage(input_tokens=8000, output_tokens=570)


def test_iterations_take_their_lifetime_from_the_whole_reply() -> None:
    reading = read(
        events(
            start(
                input_tokens=1,
                cache_creation_input_tokens=100,
                cache_creation={"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 100},
                output_tokens=1,
            ),
            delta(
                output_tokens=2,
                iterations=[
                    {"type": 3, "input_tokens": 1, "cache_creation_input_tokens": 100, "output_tokens": 2},
                ],
            ),
        )
    )
    assert reading.usage == Usage(input_tokens=101, cache_write_1h_tokens=100, output_tokens=2)


def test_a_stream_cut_after_its_start_has_an_exact_input_and_no_final_output() -> None:
    reading = read(HELLO[: HELLO.index(b"event: content_block_stop")])
    assert reading.usage == Usage(input_tokens=159223, cache_write_5m_tokens=159217, output_tokens=1)
    assert (reading.usage_final, reading.terminal) == (False, False)


def test_a_json_reply() -> None:
    body = {
        "id": "msg_2",
        "type": "message",
        "model": "claude-haiku-4-5-20251001",
        "content": [
            {"type": "thinking", "thinking": "hmm", "signature": "c2ln"},
            {"type": "text", "text": "Hi"},
            {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls"}},
        ],
        "usage": {"input_tokens": 10, "output_tokens": 20},
    }
    meter = AnthropicMessages().meter("application/json", streaming=False)
    meter.feed(json.dumps(body).encode())
    reading = meter.reading()
    assert (reading.usage, reading.usage_final, reading.terminal) == (
        Usage(input_tokens=10, output_tokens=20), True, True,
    )  # fmt: skip
    assert (reading.model, reading.response_id) == ("claude-haiku-4-5-20251001", "msg_2")
    # 3 of thinking, 2 of text, 4 of the tool's name, 17 of {"command": "ls"}.
    assert meter.visible_output_bytes == 26


def test_tool_arguments_and_thinking_are_shown_output() -> None:
    meter = AnthropicMessages().meter("text/event-stream", streaming=True)
    meter.feed(
        events(
            {"type": "content_block_start", "content_block": {"type": "tool_use", "name": "read", "input": {}}},
            {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": '{"a":1}'}},
            {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "abc"}},
            {"type": "content_block_delta", "delta": {"type": "signature_delta", "signature": "xxxxxxxx"}},
        )
    )
    assert meter.visible_output_bytes == 4 + 7 + 3


def test_an_error_after_status_200() -> None:
    reading = read(
        b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    )
    assert reading.error == StreamError(type="overloaded_error", message="Overloaded")
    assert reading.usage is None


def test_an_error_as_json_under_the_type_of_a_stream() -> None:
    reading = read(b'{"type":"error","error":{"type":"invalid_request_error","message":"no"},"request_id":"req_1"}')
    assert reading.error == StreamError(type="invalid_request_error", message="no")
    assert reading.terminal


def test_an_error_object_without_a_type() -> None:
    assert read(b'{"error":{"message":"no"}}').error == StreamError(type="error", message="no")
    assert read(b'data: {"error":"plain words"}\n\n').error == StreamError(type="error", message="plain words")
    assert read(b'data: {"error":null,"type":"error"}\n\n').error == StreamError(type="error", message="")


def test_a_count_that_is_none_voids_the_usage_and_says_so() -> None:
    reading = read(events(start(input_tokens=-5, output_tokens=1)))
    assert (reading.usage, reading.note) == (None, "usage.input_tokens is not a count")


def test_a_detail_that_is_no_count_leaves_the_totals() -> None:
    reading = read(events(start(input_tokens=5, output_tokens=1, output_tokens_details={"thinking_tokens": "x"})))
    assert reading.usage == Usage(input_tokens=5, output_tokens=1)
    assert reading.note == "usage.thinking_tokens is not a count"


def test_an_output_alone_is_no_usage() -> None:
    assert read(events(delta(output_tokens=5))).usage is None


def test_an_explicit_zero_is_a_zero() -> None:
    reading = read(events(start(input_tokens=0, output_tokens=0), delta(output_tokens=0)))
    assert (reading.usage, reading.usage_final) == (Usage(), True)


def test_done_from_a_compatible_server_ends_the_stream() -> None:
    assert read(b"data: [DONE]\n\n").terminal


def test_a_model_with_half_a_surrogate_pair_keeps_its_bytes() -> None:
    reading = read(b'data: {"type":"message_start","message":{"model":"m\\ud800"}}\n\n')
    assert (reading.model, reading.model_raw) == ("m\\ud800", b"m\xed\xa0\x80")


def test_an_image_is_counted_and_not_read() -> None:
    meter = AnthropicMessages().meter("image/png", streaming=False)
    meter.feed(b'{"usage":{"input_tokens":1}}')
    assert meter.visible_output_bytes == 28
    assert meter.reading() == Reading(note="the reply is not text; its usage cannot be read")
