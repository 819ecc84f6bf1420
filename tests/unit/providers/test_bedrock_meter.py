"""Bedrock replies, typed after the API reference of Converse, ConverseStream and InvokeModel."""

from __future__ import annotations

import json

import pytest

from aws_frames import chunk, event, exception, frame
from docket.formats.run.usage import Usage
from docket.rules.providers.endpoints import BEDROCK_CONVERSE, BEDROCK_INVOKE
from docket.rules.providers.interface import Fields, Meter, Reading, StreamError

FRAMED = "application/vnd.amazon.eventstream"


def converse(body: bytes, content_type: str = FRAMED) -> Meter:
    meter = BEDROCK_CONVERSE.meter(content_type, streaming=content_type == FRAMED)
    meter.feed(body)
    return meter


def invoke(body: bytes, content_type: str = FRAMED, headers: Fields = ()) -> Meter:
    meter = BEDROCK_INVOKE.meter(content_type, streaming=content_type == FRAMED, headers=headers)
    meter.feed(body)
    return meter


def converse_usage(**usage: object) -> Usage | None:
    return converse(json.dumps({"output": {}, "usage": usage}).encode(), "application/json").reading().usage


CONVERSE_STREAM = (
    event("messageStart", {"role": "assistant", "p": "abcd"})
    + event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "Hm."}}})
    + event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"reasoningContent": {"signature": "c2ln"}}})
    + event("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"text": "Hello, wörld"}})
    + event(
        "contentBlockStart", {"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "tooluse_1", "name": "ls"}}}
    )
    + event("contentBlockDelta", {"contentBlockIndex": 2, "delta": {"toolUse": {"input": '{"path":"."}'}}})
    + event("contentBlockStop", {"contentBlockIndex": 2})
    + event("messageStop", {"stopReason": "tool_use"})
)
METADATA = event(
    "metadata",
    {
        "usage": {"inputTokens": 125, "outputTokens": 60, "totalTokens": 3185, "cacheReadInputTokens": 2000,
                  "cacheWriteInputTokens": 1000,
                  "cacheDetails": [{"ttl": "1h", "inputTokens": 700}, {"ttl": "5m", "inputTokens": 300}]},
        "metrics": {"latencyMs": 1275},
        "performanceConfig": {"latency": "optimized"},
        "serviceTier": {"type": "priority"},
    },
)  # fmt: skip


def test_a_converse_stream() -> None:
    meter = converse(CONVERSE_STREAM + METADATA)
    assert meter.reading() == Reading(
        usage=Usage(
            input_tokens=3125,
            cached_input_tokens=2000,
            cache_write_5m_tokens=300,
            cache_write_1h_tokens=700,
            output_tokens=60,
        ),
        usage_final=True,
        service_tier="priority",
        speed="optimized",
        terminal=True,
        tool_use_ids=("tooluse_1",),
    )
    assert meter.visible_output_bytes == len("Hm.") + len("Hello, wörld".encode()) + len("ls") + len('{"path":"."}')


def test_a_converse_stream_without_its_metadata_reports_nothing() -> None:
    meter = converse(CONVERSE_STREAM)
    assert meter.reading() == Reading(broken_off=True, tool_use_ids=("tooluse_1",))
    assert meter.visible_output_bytes == 30


CONVERSE = {
    "output": {
        "message": {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "Hm."}}},
                {"text": "Hello"},
                {"toolUse": {"toolUseId": "t", "name": "ls", "input": {"path": "."}}},
            ],
        }
    },
    "stopReason": "end_turn",
    "usage": {"inputTokens": 125, "outputTokens": 60, "totalTokens": 185},
    "metrics": {"latencyMs": 1175},
}


def test_a_converse_reply() -> None:
    meter = converse(json.dumps(CONVERSE).encode(), "application/json")
    assert meter.reading() == Reading(
        usage=Usage(input_tokens=125, output_tokens=60), usage_final=True, terminal=True, tool_use_ids=("t",)
    )
    assert meter.visible_output_bytes == len("Hm.") + len("Hello") + len("ls") + len('{"path": "."}')


def test_a_router_says_which_model_it_chose() -> None:
    body = {**CONVERSE, "trace": {"promptRouter": {"invokedModelId": "arn:aws:bedrock:us-east-1::x/us.amazon.nova"}}}
    reading = converse(json.dumps(body).encode(), "application/json").reading()
    assert reading.model == "arn:aws:bedrock:us-east-1::x/us.amazon.nova"


def test_disjoint_buckets_are_added_up() -> None:
    usage = converse_usage(
        inputTokens=3, outputTokens=392, totalTokens=2256, cacheReadInputTokens=0, cacheWriteInputTokens=1861
    )
    assert usage == Usage(input_tokens=1864, cache_write_tokens=1861, output_tokens=392)


def test_cached_tokens_inside_the_input_are_not_added_again() -> None:
    usage = converse_usage(inputTokens=2600, outputTokens=100, totalTokens=2700, cacheReadInputTokens=2000)
    assert usage == Usage(input_tokens=2600, cached_input_tokens=2000, output_tokens=100)


def test_an_input_with_no_room_for_the_cached_tokens_does_not_hold_them() -> None:
    usage = converse_usage(inputTokens=4, outputTokens=10, totalTokens=14, cacheReadInputTokens=2000)
    assert usage == Usage(input_tokens=2004, cached_input_tokens=2000, output_tokens=10)


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        ([], {"cache_write_tokens": 100}),
        ([{"ttl": "1h", "inputTokens": 60}], {"cache_write_1h_tokens": 100}),
        (
            [{"ttl": "1h", "inputTokens": 60}, {"ttl": "5m", "inputTokens": 30}],
            {"cache_write_1h_tokens": 60, "cache_write_5m_tokens": 30, "cache_write_tokens": 10},
        ),
        ([{"ttl": "1h", "inputTokens": 60}, {"ttl": "1h", "inputTokens": 40}], {"cache_write_1h_tokens": 100}),
        ([{"ttl": "1d", "inputTokens": 60}, 5, {"ttl": "5m", "inputTokens": "x"}], {"cache_write_tokens": 100}),
    ],
)
def test_lifetimes_of_what_was_written(details: object, expected: dict[str, int]) -> None:
    usage = converse_usage(inputTokens=1, outputTokens=1, cacheWriteInputTokens=100, cacheDetails=details)
    assert usage == Usage(input_tokens=101, output_tokens=1, **expected)


def test_details_alone_are_what_was_written() -> None:
    usage = converse_usage(inputTokens=1, outputTokens=1, cacheDetails=[{"ttl": "5m", "inputTokens": 7}])
    assert usage == Usage(input_tokens=8, cache_write_5m_tokens=7, output_tokens=1)


def test_a_count_that_is_none_is_told() -> None:
    reading = converse(b'{"usage":{"inputTokens":"many","outputTokens":1}}', "application/json").reading()
    assert (reading.usage, reading.note) == (None, "usage: the input is not a count")


def test_an_exception_after_200_before_any_output() -> None:
    reading = converse(exception("throttlingException", {"message": "Too many tokens"})).reading()
    assert reading == Reading(error=StreamError(type="throttlingException", message="Too many tokens"), broken_off=True)


def test_an_exception_in_the_middle_keeps_what_was_seen() -> None:
    body = CONVERSE_STREAM + exception(
        "modelStreamErrorException", {"message": "m", "originalStatusCode": 500, "originalMessage": "the model broke"}
    )
    meter = converse(body)
    assert meter.reading().error == StreamError(type="modelStreamErrorException", message="the model broke")
    assert meter.visible_output_bytes == 30


def test_an_error_that_nobody_modelled() -> None:
    headers = {":message-type": "error", ":error-code": "InternalFailure", ":error-message": "no"}
    assert converse(frame(headers, b"")).reading().error == StreamError(type="InternalFailure", message="no")
    bare = converse(frame({":message-type": "exception"}, b"[]")).reading().error
    assert bare == StreamError(type="exception", message="")


@pytest.mark.parametrize("read", [converse, invoke])
def test_an_error_as_json(read: object) -> None:
    meter = read(b'{"message":"The provided model identifier is invalid."}', "application/json")  # type: ignore[operator]
    reading = meter.reading()
    assert reading.error == StreamError(type="error", message="The provided model identifier is invalid.")
    assert reading.usage is None


def test_an_event_that_is_no_object_is_passed_over() -> None:
    assert converse(frame({":event-type": "metadata"}, b"[1]")).reading() == Reading(broken_off=True)
    assert invoke(frame({":event-type": "chunk"}, b"[1]")).reading().note == "a part of the reply could not be read"


@pytest.mark.parametrize("native", ["!", "W10=", 5, "a"])
def test_a_chunk_that_holds_no_event(native: object) -> None:
    reading = invoke(event("chunk", {"bytes": native})).reading()
    assert reading == Reading(note="a part of the reply could not be read", broken_off=True)


def test_a_spoiled_frame_is_told() -> None:
    spoiled = bytearray(CONVERSE_STREAM)
    spoiled[-1] ^= 1
    reading = converse(bytes(spoiled) + METADATA).reading()
    assert reading.note == "a part of the reply did not pass its checksum and was not read"
    assert reading.usage is not None


def test_junk_after_the_last_frame_changes_nothing() -> None:
    assert (
        converse(CONVERSE_STREAM + METADATA + b"\r\n<html>").reading() == converse(CONVERSE_STREAM + METADATA).reading()
    )


CLAUDE = (
    chunk(
        {"type": "message_start", "message": {"id": "msg_bdrk_1", "model": "claude-sonnet-4-5-20250929",
         "usage": {"input_tokens": 3, "cache_creation_input_tokens": 1000, "cache_read_input_tokens": 7,
                   "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 1000},
                   "output_tokens": 1}}}
    )
    + chunk({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "abcd"}})
)  # fmt: skip
CLAUDE_END = chunk(
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 12}}
) + chunk(
    {"type": "message_stop", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 3, "outputTokenCount": 12,
     "invocationLatency": 900, "firstByteLatency": 300, "cacheReadInputTokenCount": 7,
     "cacheWriteInputTokenCount": 1000}}
)  # fmt: skip
CLAUDE_USAGE = Usage(input_tokens=1010, cached_input_tokens=7, cache_write_1h_tokens=1000, output_tokens=12)


def test_an_invoke_stream_of_claude_keeps_the_lifetimes_the_service_does_not_count() -> None:
    meter = invoke(CLAUDE + CLAUDE_END)
    assert meter.reading() == Reading(
        usage=CLAUDE_USAGE,
        usage_final=True,
        model="claude-sonnet-4-5-20250929",
        response_id="msg_bdrk_1",
        terminal=True,
    )
    assert meter.visible_output_bytes == 4


def test_the_services_output_completes_a_stream_whose_model_said_too_little() -> None:
    metrics = {"amazon-bedrock-invocationMetrics": {"inputTokenCount": 3, "outputTokenCount": 9}}
    reading = invoke(CLAUDE + chunk(metrics)).reading()
    assert reading.usage == Usage(input_tokens=1010, cached_input_tokens=7, cache_write_1h_tokens=1000, output_tokens=9)
    assert (reading.usage_final, reading.terminal) == (True, True)


def test_an_invoke_stream_that_breaks_off() -> None:
    reading = invoke(CLAUDE + exception("modelTimeoutException", {"message": "late"})).reading()
    assert reading.usage == Usage(input_tokens=1010, cached_input_tokens=7, cache_write_1h_tokens=1000, output_tokens=1)
    assert (reading.usage_final, reading.terminal) == (False, False)
    assert reading.error == StreamError(type="modelTimeoutException", message="late")


def test_an_invoke_stream_of_llama_is_counted_by_the_service() -> None:
    body = chunk({"generation": "Hel", "prompt_token_count": 20, "generation_token_count": 1}) + chunk(
        {"generation": "lo", "prompt_token_count": None, "generation_token_count": 2, "stop_reason": "stop",
         "amazon-bedrock-invocationMetrics": {"inputTokenCount": 20, "outputTokenCount": 2}}
    )  # fmt: skip
    meter = invoke(body)
    assert meter.reading() == Reading(usage=Usage(input_tokens=20, output_tokens=2), usage_final=True, terminal=True)
    assert meter.visible_output_bytes == 5


def test_an_invoke_stream_that_begins_with_its_input_alone() -> None:
    reading = invoke(chunk({"outputText": "He", "inputTextTokenCount": 5})).reading()
    assert (reading.usage, reading.usage_final) == (Usage(input_tokens=5), False)


def test_an_invoke_stream_of_nova() -> None:
    body = (
        chunk({"messageStart": {"role": "assistant"}})
        + chunk({"contentBlockDelta": {"delta": {"text": "Hi"}, "contentBlockIndex": 0}})
        + chunk({"messageStop": {"stopReason": "end_turn"}})
        + chunk(
            {"metadata": {"usage": {"inputTokens": 9, "outputTokens": 4, "totalTokens": 13,
                                    "cacheReadInputTokenCount": 0, "cacheWriteInputTokenCount": 0}},
             "amazon-bedrock-invocationMetrics": {"inputTokenCount": 9, "outputTokenCount": 4}}
        )
    )  # fmt: skip
    meter = invoke(body)
    assert meter.reading() == Reading(usage=Usage(input_tokens=9, output_tokens=4), usage_final=True, terminal=True)
    assert meter.visible_output_bytes == 2


def test_an_invoke_stream_of_an_openai_model() -> None:
    body = chunk({"id": "c1", "model": "openai.gpt-oss-120b-1:0", "choices": [{"delta": {"content": "Hi"}}]}) + chunk(
        {"id": "c1", "choices": [], "usage": {"prompt_tokens": 70, "completion_tokens": 10, "total_tokens": 80},
         "amazon-bedrock-invocationMetrics": {"inputTokenCount": 70, "outputTokenCount": 10}}
    )  # fmt: skip
    reading = invoke(body).reading()
    assert reading.usage == Usage(input_tokens=70, output_tokens=10)
    assert (reading.model, reading.usage_final, reading.terminal) == ("openai.gpt-oss-120b-1:0", True, True)


def test_an_invoke_reply_of_claude() -> None:
    body = {"id": "msg_bdrk_2", "type": "message", "model": "claude-sonnet-4-5-20250929",
            "content": [{"type": "text", "text": "abcd"}],
            "usage": {"input_tokens": 3, "output_tokens": 5}}  # fmt: skip
    headers = ((b"X-Amzn-Bedrock-Input-Token-Count", b"3"), (b"X-Amzn-Bedrock-Output-Token-Count", b"5"),
               (b"X-Amzn-Bedrock-Service-Tier", b"flex"),
               (b"X-Amzn-Bedrock-PerformanceConfig-Latency", b"optimized"))  # fmt: skip
    assert invoke(json.dumps(body).encode(), "application/json", headers).reading() == Reading(
        usage=Usage(input_tokens=3, output_tokens=5),
        usage_final=True,
        model="claude-sonnet-4-5-20250929",
        service_tier="flex",
        speed="optimized",
        response_id="msg_bdrk_2",
        terminal=True,
    )


def test_the_head_of_a_reply_counts_where_its_body_does_not() -> None:
    headers = ((b"x-amzn-bedrock-input-token-count", b"11"), (b"x-amzn-bedrock-output-token-count", b"6"),
               (b"x-amzn-bedrock-cache-read-input-token-count", b"100"),
               (b"x-amzn-bedrock-cache-write-input-token-count", b"20"))  # fmt: skip
    meter = invoke(b'{"outputs":[{"text":"Hello","stop_reason":"stop"}]}', "application/json", headers)
    assert meter.reading().usage == Usage(
        input_tokens=131, cached_input_tokens=100, cache_write_tokens=20, output_tokens=6
    )
    assert meter.reading().usage_final
    assert meter.visible_output_bytes == 5


def test_an_embedding_is_counted_in_the_head_alone() -> None:
    headers = ((b"x-amzn-bedrock-input-token-count", b"8"), (b"x-amzn-bedrock-output-token-count", b"0"))
    reading = invoke(b'{"embedding":[0.1,0.2]}', "application/json", headers).reading()
    assert (reading.usage, reading.usage_final) == (Usage(input_tokens=8), True)


def test_an_embedding_that_counts_itself_gives_nothing_out() -> None:
    reading = invoke(b'{"embedding":[0.1,0.2],"inputTextTokenCount":8}', "application/json", ()).reading()
    assert (reading.usage, reading.usage_final) == (Usage(input_tokens=8), True)
    reading = invoke(b'{"embeddingsByType":{"binary":[0,1]},"inputTextTokenCount":8}', "application/json", ()).reading()
    assert (reading.usage, reading.usage_final) == (Usage(input_tokens=8), True)


def test_a_head_that_counts_nonsense() -> None:
    reading = invoke(b"{}", "application/json", ((b"x-amzn-bedrock-input-token-count", b"-1"),)).reading()
    assert (reading.usage, reading.note) == (None, "usage: the input is not a count")


def test_an_invoke_reply_of_titan() -> None:
    body = b'{"inputTextTokenCount":5,"results":[{"tokenCount":3,"outputText":"Hey","completionReason":"FINISH"}]}'
    meter = invoke(body, "application/json")
    assert meter.reading().usage == Usage(input_tokens=5, output_tokens=3)
    assert meter.visible_output_bytes == 3


def test_an_image_has_no_usage_that_could_be_read() -> None:
    reading = invoke(b"\x89PNG", "image/png").reading()
    assert reading.note == "the reply is not text; its usage cannot be read"


def test_events_as_text_are_read_too() -> None:
    body = (
        b'data: {"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":1}}}\n\ndata: [DONE]\n\n'
    )
    reading = invoke(body).reading()
    assert reading.usage == Usage(input_tokens=3, output_tokens=1)
    assert converse(
        b'data: {"metadata":{"usage":{"inputTokens":1,"outputTokens":2}}}\n\ndata: [DONE]\n\n'
    ).reading() == (Reading(usage=Usage(input_tokens=1, output_tokens=2), usage_final=True, terminal=True))


def test_nothing_is_nothing() -> None:
    assert converse(b"").reading() == Reading()
    assert invoke(b"").visible_output_bytes == 0
