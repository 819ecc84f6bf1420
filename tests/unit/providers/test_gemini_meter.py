"""Gemini's replies, typed by hand after its API reference: what they used, and when that is known."""

from __future__ import annotations

import gzip
import json

import pytest

from docket.formats.run.usage import Usage, UsageSource
from docket.rules.providers.encoding import decoding
from docket.rules.providers.endpoints import GEMINI
from docket.rules.providers.estimate import settle
from docket.rules.providers.interface import Meter, Reading

FIRST = (
    b'{"candidates":[{"content":{"parts":[{"text":"Gr\xc3\xbc"}]},"index":0}],'
    b'"usageMetadata":{"promptTokenCount":100,"totalTokenCount":100}}'
)
LAST = (
    b'{"candidates":[{"content":{"parts":[{"text":"\xc3\x9fe"}]},"finishReason":"STOP","index":0}],"usageMetadata":'
    b'{"promptTokenCount":100,"cachedContentTokenCount":60,"candidatesTokenCount":5,"thoughtsTokenCount":343,'
    b'"toolUsePromptTokenCount":20,"totalTokenCount":468,"promptTokensDetails":[{"modality":"TEXT","tokenCount":70},'
    b'{"modality":"AUDIO","tokenCount":30}],"toolUsePromptTokensDetails":[{"modality":"AUDIO","tokenCount":2}]},'
    b'"modelVersion":"gemini-2.5-pro","responseId":"r-1"}'
)
USED = Usage(input_tokens=120, cached_input_tokens=60, output_tokens=348, reasoning_tokens=343, audio_input_tokens=32)
SSE = b"data: " + FIRST + b"\r\n\r\ndata: " + LAST + b"\r\n\r\n"
ARRAY = b"[" + FIRST + b"\r\n,\r\n" + LAST + b"\r\n]\r\n"


def meter_of(data: bytes, content_type: str = "application/json", *, streaming: bool = True) -> Meter:
    meter = GEMINI.meter(content_type, streaming=streaming)
    meter.feed(data)
    return meter


def reading_of(value: object, **options: bool) -> Reading:
    return meter_of(json.dumps(value).encode(), **options).reading()


def used(usage: dict[str, object], **members: object) -> Usage | None:
    return reading_of({"candidates": [{"finishReason": "STOP"}], "usageMetadata": usage, **members}).usage


@pytest.mark.parametrize(
    "data", [SSE, ARRAY, LAST, SSE + b"junk", ARRAY + b' {"usageMetadata":{"promptTokenCount":1}}']
)
def test_the_last_counts_are_the_calls(data: bytes) -> None:
    reading = meter_of(data).reading()
    assert reading.usage == USED
    assert (reading.usage_final, reading.terminal) == (True, True)
    assert (reading.model, reading.response_id) == ("gemini-2.5-pro", "r-1")


@pytest.mark.parametrize("data", [SSE, ARRAY])
@pytest.mark.parametrize("coding", ["", "gzip"])
def test_byte_by_byte(data: bytes, coding: str) -> None:
    meter = decoding(GEMINI.meter("text/event-stream", streaming=True), coding)
    sent = gzip.compress(data) if coding else data
    for at in range(len(sent)):
        meter.feed(sent[at : at + 1])
    assert meter.reading().usage == USED
    assert meter.visible_output_bytes == len("Grüße".encode())


@pytest.mark.parametrize("data", [b"data: " + FIRST + b"\r\n\r\n", b"[" + FIRST, b"[" + FIRST + b",\r\n" + LAST[:90]])
def test_an_aborted_stream_keeps_the_exact_input_and_estimates_the_output(data: bytes) -> None:
    meter = meter_of(data)
    assert (meter.reading().usage_final, meter.reading().terminal) == (False, False)
    settled = settle(meter.reading(), 4000, meter.visible_output_bytes)
    assert settled.source is UsageSource.ESTIMATED
    # Four bytes were shown.
    assert settled.usage == Usage(input_tokens=100, output_tokens=1)


def test_an_aborted_stream_counts_thoughts_that_were_reported() -> None:
    meter = meter_of(b'[{"usageMetadata":{"promptTokenCount":9,"thoughtsTokenCount":50,"totalTokenCount":59}},')
    settled = settle(meter.reading(), 4000, meter.visible_output_bytes)
    assert settled.usage == Usage(input_tokens=9, output_tokens=50, reasoning_tokens=50)


def test_traffic_alone_is_no_usage() -> None:
    assert reading_of({"usageMetadata": {"trafficType": "ON_DEMAND"}}).usage is None


def test_an_explicit_zero_is_a_zero() -> None:
    assert used({"promptTokenCount": 0, "candidatesTokenCount": 0, "totalTokenCount": 0}) == Usage()


@pytest.mark.parametrize(
    ("usage", "wanted"),
    [
        # Thoughts inside the candidates: the total says so.
        (
            {"promptTokenCount": 10, "candidatesTokenCount": 50, "thoughtsTokenCount": 30, "totalTokenCount": 60},
            Usage(input_tokens=10, output_tokens=50, reasoning_tokens=30),
        ),
        # What tools brought in is inside the prompt.
        (
            {"promptTokenCount": 30, "toolUsePromptTokenCount": 20, "candidatesTokenCount": 5, "totalTokenCount": 35},
            Usage(input_tokens=30, output_tokens=5),
        ),
        # Both.
        (
            {"promptTokenCount": 30, "toolUsePromptTokenCount": 20, "candidatesTokenCount": 9, "thoughtsTokenCount": 4,
             "totalTokenCount": 39},
            Usage(input_tokens=30, output_tokens=9, reasoning_tokens=4),
        ),
        # Thoughts that nobody names are the rest of the total.
        (
            {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 40},
            Usage(input_tokens=10, output_tokens=30, reasoning_tokens=25),
        ),
        # A total that fits nothing changes nothing.
        (
            {"promptTokenCount": 10, "candidatesTokenCount": 5, "thoughtsTokenCount": 3, "totalTokenCount": 11},
            Usage(input_tokens=10, output_tokens=8, reasoning_tokens=3),
        ),
        # A count of nothing is left out; the total tells what went in.
        ({"candidatesTokenCount": 4, "totalTokenCount": 4}, Usage(output_tokens=4)),
        ({"totalTokenCount": 4096}, Usage(input_tokens=4096)),
        # Cached tokens are a part of the prompt, whatever is said.
        ({"promptTokenCount": 3, "cachedContentTokenCount": 9}, Usage(input_tokens=9, cached_input_tokens=9)),
        (
            {"promptTokenCount": 3, "candidatesTokenCount": 8,
             "candidatesTokensDetails": [{"modality": "audio", "tokenCount": 6}, {"modality": 1}, "x"]},
            Usage(input_tokens=3, output_tokens=8, audio_output_tokens=6),
        ),
        (
            {"promptTokenCount": 300, "candidatesTokenCount": 1300,
             "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 42}, {"modality": "IMAGE", "tokenCount": 258}],
             "candidatesTokensDetails": [{"modality": "IMAGE", "tokenCount": 1290}]},
            Usage(input_tokens=300, output_tokens=1300, image_input_tokens=258, image_output_tokens=1290),
        ),
        # No more than what was given or shown is of any kind.
        (
            {"promptTokenCount": 5, "candidatesTokenCount": 7,
             "promptTokensDetails": [{"modality": "AUDIO", "tokenCount": 9}, {"modality": "IMAGE", "tokenCount": 9}],
             "candidatesTokensDetails": [{"modality": "AUDIO", "tokenCount": 3},
                                         {"modality": "IMAGE", "tokenCount": 9}]},
            Usage(input_tokens=5, output_tokens=7, audio_input_tokens=5, audio_output_tokens=3, image_output_tokens=4),
        ),
    ],
)  # fmt: skip
def test_counts(usage: dict[str, object], wanted: Usage) -> None:
    assert used(usage) == wanted


@pytest.mark.parametrize("name", ["promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount"])
def test_a_count_that_is_none_is_no_usage_and_said(name: str) -> None:
    reading = reading_of({"usageMetadata": {"promptTokenCount": 4, "totalTokenCount": 4, name: "many"}})
    assert reading.usage is None
    assert reading.note == f"usage.{name} is not a count"


@pytest.mark.parametrize(
    ("usage", "tier"),
    [
        ({"trafficType": "ON_DEMAND"}, "standard"),
        ({"trafficType": "ON_DEMAND_PRIORITY"}, "priority"),
        ({"trafficType": "ON_DEMAND_FLEX"}, "flex"),
        ({"trafficType": "ON_DEMAND_OFFPEAK"}, "offpeak"),
        ({"trafficType": "PROVISIONED_THROUGHPUT"}, "provisioned_throughput"),
        ({"trafficType": "TRAFFIC_TYPE_UNSPECIFIED"}, None),
        ({"serviceTier": "FLEX"}, "flex"),
        ({"serviceTier": "unspecified"}, None),
        ({"serviceTier": 3, "trafficType": 3}, None),
        ({}, None),
    ],
)
def test_the_served_tier(usage: dict[str, object], tier: str | None) -> None:
    assert reading_of({"usageMetadata": {"promptTokenCount": 1, **usage}}).service_tier == tier


def test_every_candidate_has_to_finish() -> None:
    head = b'[{"candidates":[{"index":0,"finishReason":"STOP"},{"index":1}],"usageMetadata":{"promptTokenCount":1}}'
    meter = meter_of(head)
    assert not meter.reading().terminal
    meter.feed(b',{"candidates":[{"index":1,"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1}}]')
    assert meter.reading().terminal
    assert meter.reading().usage_final


def test_output_after_the_last_counts_is_estimated() -> None:
    meter = meter_of(
        b'[{"candidates":[{"index":0}],"usageMetadata":{"promptTokenCount":7}},'
        b'{"candidates":[{"content":{"parts":[{"text":"abcdefgh"}]},"finishReason":"STOP"}]}]'
    )
    assert meter.reading().terminal
    assert not meter.reading().usage_final
    assert settle(meter.reading(), 0, meter.visible_output_bytes).usage == Usage(input_tokens=7, output_tokens=2)


def test_a_blocked_prompt_ends_the_reply() -> None:
    reading = meter_of(
        b'data: {"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":7}}\n\n'
    ).reading()
    assert (reading.terminal, reading.usage) == (True, Usage(input_tokens=7))


def test_the_mark_of_compatible_servers_ends_a_stream() -> None:
    meter = meter_of(b'data: {"candidates":[{"index":0}],"usageMetadata":{"promptTokenCount":7}}\n\ndata: [DONE]\n\n')
    assert meter.reading().terminal


def test_code_assist_wraps_its_responses() -> None:
    wrapped = b'{"response":' + LAST + b',"traceId":"t"}'
    for data in (wrapped, b"data: " + wrapped + b"\n\n", b"[" + wrapped + b"]"):
        assert meter_of(data).reading().usage == USED


@pytest.mark.parametrize(
    ("model", "searches"), [("gemini-2.5-flash", 1), ("gemini-3-pro-preview", 3), ("gemini-10-flash", 3)]
)
def test_grounding_is_billed_by_the_prompt_or_by_the_query(model: str, searches: int) -> None:
    queries = {"webSearchQueries": ["a", "b"]}
    value = {
        "candidates": [
            {"index": 0, "finishReason": "STOP", "groundingMetadata": queries},
            {"index": 1, "finishReason": "STOP", "groundingMetadata": {"webSearchQueries": ["c"]}},
        ],
        "usageMetadata": {"promptTokenCount": 5},
        "modelVersion": model,
    }
    reading = reading_of(value)
    assert reading.usage == Usage(input_tokens=5, web_searches=searches)
    assert "free daily quota" in str(reading.note)


def test_a_grounding_that_is_told_twice_is_one() -> None:
    chunk = {"candidates": [{"index": 0, "finishReason": "STOP", "groundingMetadata": {"webSearchQueries": ["a"]}}]}
    last = {**chunk, "usageMetadata": {"promptTokenCount": 5}, "modelVersion": "gemini-3-pro-preview"}
    assert reading_of([chunk, last]).usage == Usage(input_tokens=5, web_searches=1)


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        ({"text": "été"}, 5),
        ({"text": "thinking", "thought": True}, 8),
        ({"functionCall": {"name": "run", "args": {"a": 1}}}, 3 + len('{"a": 1}')),
        ({"executableCode": {"language": "PYTHON", "code": "1+1"}}, 3),
        ({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}}, 1),
        ({"inlineData": {"mimeType": "image/png", "data": "A" * 9000}}, 5160),
        # A second of sound is 64,000 characters and 25 tokens.
        ({"inlineData": {"mimeType": "audio/L16", "data": "A" * 64_000}}, 400),
        ("x", 0),
    ],
)
def test_what_counts_as_shown(part: object, shown: int) -> None:
    meter = meter_of(json.dumps([{"candidates": [{"content": {"parts": [part]}}]}]).encode())
    assert meter.visible_output_bytes == shown


@pytest.mark.parametrize(
    "data",
    [
        b'{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}',
        b'[{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}]',
        b'data: {"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}\n\n',
        b'{"response":{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}}',
    ],
)
def test_errors(data: bytes) -> None:
    reading = meter_of(data).reading()
    assert reading.error is not None
    assert (reading.error.type, reading.error.message, reading.usage) == ("RESOURCE_EXHAUSTED", "quota", None)


def test_stored_content_is_counted_as_input_and_its_storage_is_said_not_to_be() -> None:
    reading = reading_of(
        {"name": "cachedContents/c1", "model": "models/gemini-2.5-pro", "usageMetadata": {"totalTokenCount": 5000}}
    )
    assert (reading.usage, reading.model) == (Usage(input_tokens=5000), "gemini-2.5-pro")
    assert "billed by the hour" in str(reading.note)


def test_an_embedding_reports_nothing_and_shows_nothing() -> None:
    meter = meter_of(b'{"embedding":{"values":[0.1,0.2]}}', streaming=False)
    assert (meter.reading().usage, meter.visible_output_bytes) == (None, 0)


def test_a_long_reply_keeps_its_counts() -> None:
    picture = b'{"candidates":[{"content":{"parts":[{"inlineData":{"data":"' + b"A" * 2_000_000 + b'"}}]}}],'
    tail = b'"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":1290},"modelVersion":"models/m"}'
    whole = meter_of(picture + tail, streaming=False).reading()
    assert (whole.usage, whole.usage_final) == (Usage(input_tokens=3, output_tokens=1290), True)
    assert whole.model == "m"
    assert meter_of(b"[" + picture + tail + b"]").reading().usage == Usage(input_tokens=3, output_tokens=1290)
    assert meter_of(b"[" + picture + tail[:-1]).reading().usage == Usage(input_tokens=3, output_tokens=1290)


def test_a_reply_that_is_no_text() -> None:
    assert meter_of(b"\x00", "image/png").reading().note is not None
