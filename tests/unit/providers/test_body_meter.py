"""One body, told apart by its first byte."""

from __future__ import annotations

import json
import tracemalloc

from docket.formats.run.usage import Usage
from docket.rules.providers.anthropic import AnthropicMessages
from docket.rules.providers.body import MAX_JSON_BYTES, OpaqueMeter
from docket.rules.providers.interface import Meter, Reading
from docket.rules.providers.openai_chat import OpenAiChat
from docket.rules.providers.openai_responses import OpenAiResponses

REPLY = {"model": "gpt-5", "choices": [{"message": {"content": "abc"}}], "usage": {"prompt_tokens": 3}}


def chat(*chunks: bytes, content_type: str = "application/json") -> Meter:
    meter = OpenAiChat().meter(content_type, streaming=False)
    for chunk in chunks:
        meter.feed(chunk)
    return meter


def test_nothing_yet() -> None:
    meter = chat(b"", b"\xef\xbb\xbf", b" \r\n")
    assert (meter.reading(), meter.visible_output_bytes) == (Reading(), 0)


def test_the_content_type_is_not_believed() -> None:
    stream = b'data: {"usage":{"prompt_tokens":3}}\n\n'
    assert chat(stream).reading().usage == Usage(input_tokens=3)
    assert chat(json.dumps(REPLY).encode(), content_type="text/event-stream").reading().model == "gpt-5"


def test_a_body_is_read_whatever_stands_around_it() -> None:
    body = json.dumps(REPLY).encode()
    assert chat(b"\xef\xbb\xbf\n" + body + b"\n\ntrailing junk").reading().usage == Usage(input_tokens=3)


def test_a_body_that_is_an_array_gives_its_last_object() -> None:
    body = json.dumps([{"usage": {"prompt_tokens": 1}}, REPLY]).encode()
    assert chat(body).reading().usage == Usage(input_tokens=3)
    assert chat(b"[]").reading() == Reading()
    assert chat(b"[5]").reading() == Reading()


def test_a_body_cut_short_counts_all_its_bytes_as_output() -> None:
    meter = chat(b'{"choices":[{"message":{"content":"abc')
    assert (meter.reading(), meter.visible_output_bytes) == (Reading(broken_off=True), 38)
    meter.feed(b'"}}]')
    assert meter.visible_output_bytes == 42
    meter.feed(b"}")
    assert meter.visible_output_bytes == 3


def test_a_body_of_nothing_but_brackets_counts_its_bytes() -> None:
    assert chat(b"{]").visible_output_bytes == 2


def test_a_body_too_long_to_hold_still_gives_its_usage() -> None:
    body = json.dumps({**REPLY, "padding": "x" * MAX_JSON_BYTES, "id": "late"}).encode()
    meter = chat(body[:10], body[10:], b" ")
    assert meter.reading().usage == Usage(input_tokens=3)
    assert (meter.reading().model, meter.reading().response_id) == ("gpt-5", "late")
    assert meter.visible_output_bytes == len(body) + 1
    meter.feed(b" ")
    assert meter.reading().usage == Usage(input_tokens=3)


def test_the_end_of_a_response_too_long_to_hold_still_gives_its_usage() -> None:
    meter = OpenAiResponses().meter("text/event-stream", streaming=True)
    output = [{"type": "image_generation_call", "result": "QUJD" * MAX_JSON_BYTES}]
    event = {
        "type": "response.completed",
        "response": {"id": "r", "output": output, "model": "m", "usage": {"input_tokens": 1, "output_tokens": 2}},
    }
    data = b"data: " + json.dumps(event).encode()
    for at in range(0, len(data), 65536):
        meter.feed(data[at : at + 65536])
    before = meter.reading()
    meter.feed(b"\n\n")
    assert before == meter.reading()
    assert meter.reading().usage == Usage(input_tokens=1, output_tokens=2)
    assert meter.reading().terminal


def test_the_last_event_needs_no_blank_line() -> None:
    body = b'data: {"type":"message_start","message":{"usage":{"input_tokens":4,"output_tokens":0}}}'
    for end in (b"", b"\n", b"\n\n"):
        meter = AnthropicMessages().meter("text/event-stream", streaming=True)
        meter.feed(body + end)
        assert meter.reading().usage == Usage(input_tokens=4)
        # Asking changes nothing.
        assert meter.reading() == meter.reading()


def test_a_stream_of_50_megabytes_stays_flat() -> None:
    meter = AnthropicMessages().meter("text/event-stream", streaming=True)
    text = "z" * 4000
    event = json.dumps({"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}}).encode()
    block = (b"event: content_block_delta\ndata: " + event + b"\n\n") * 16
    meter.feed(block)
    tracemalloc.start()
    try:
        for _ in range(50 * 1024 * 1024 // len(block)):
            meter.feed(block)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 1024 * 1024
    assert meter.visible_output_bytes > 48 * 1024 * 1024


def test_one_line_of_50_megabytes_stays_flat() -> None:
    meter = OpenAiResponses().meter("text/event-stream", streaming=True)
    meter.feed(b'data: {"type":"response.completed","response":{"junk":"')
    piece = b"q" * 65536
    tracemalloc.start()
    try:
        for _ in range(800):
            meter.feed(piece)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    meter.feed(b'","usage":{"input_tokens":8,"output_tokens":9}}}\n\n')
    assert peak_bytes < 6 * 1024 * 1024
    assert meter.reading().usage == Usage(input_tokens=8, output_tokens=9)


def test_an_opaque_body_is_only_counted() -> None:
    meter = OpaqueMeter()
    meter.feed(b"\x00" * 7)
    assert meter.visible_output_bytes == 7
    assert meter.reading().usage is None


def test_a_long_body_that_is_cut_has_not_come_to_its_end() -> None:
    body = json.dumps({**REPLY, "padding": "x" * MAX_JSON_BYTES, "id": "late"}).encode()
    meter = chat(body[:-1])
    assert (meter.reading().terminal, meter.reading().broken_off) == (False, True)
    meter.feed(body[-1:])
    assert (meter.reading().terminal, meter.reading().broken_off) == (True, False)


def test_a_body_too_deep_to_parse_has_come_to_its_end_all_the_same() -> None:
    meter = chat(b'{"a":' * 5000 + b"1" + b"}" * 4999)
    assert meter.reading() == Reading(broken_off=True)
    meter.feed(b"}")
    assert meter.reading() == Reading()
    meter.feed(b" and junk")
    assert meter.reading() == Reading()


def test_events_without_the_last_one_have_not_come_to_their_end() -> None:
    assert chat(b'data: {"choices":[]}\n\n').reading().broken_off
    assert not chat(b'data: {"choices":[]}\n\ndata: [DONE]\n\n').reading().broken_off
    assert not chat(b"data: hello\n\n").reading().broken_off
    assert not chat(b"no events at all\n\ndata: [1]\n\n").reading().broken_off


def test_an_event_too_deep_to_parse_is_read_member_by_member() -> None:
    deep = b'{"x":' + b"[" * 5000 + b"]" * 5000 + b',"usage":{"prompt_tokens":3,"completion_tokens":4}}'
    assert chat(b"data: " + deep + b"\n\n").reading().usage == Usage(input_tokens=3, output_tokens=4)
    assert chat(deep).reading().usage == Usage(input_tokens=3, output_tokens=4)
    assert chat(b"data: " + deep[:-1] + b"\n\n").reading().usage is None


def test_a_body_that_is_asked_after_every_byte_reads_as_one_that_is_asked_once() -> None:
    body = json.dumps(REPLY).encode()
    meter = chat(b"")
    for at in range(len(body)):
        assert meter.reading().usage is None
        meter.feed(body[at : at + 1])
    assert meter.reading() == chat(body).reading()
    meter.feed(b" {")
    assert meter.reading() == chat(body).reading()
