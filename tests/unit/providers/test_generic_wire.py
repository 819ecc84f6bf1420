"""Replies of endpoints whose wire nobody named."""

from __future__ import annotations

import json

import pytest

from docket.formats.run.usage import Usage
from docket.rules.providers.endpoints import ANY_WIRE
from docket.rules.providers.interface import Reading, RequestFacts, RequestTarget


def read(value: object, *, stream: bool = False) -> Reading:
    meter = ANY_WIRE.meter("", streaming=stream)
    data = json.dumps(value).encode()
    meter.feed(b"data: " + data + b"\n\ndata: [DONE]\n\n" if stream else data)
    return meter.reading()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"object": "list", "usage": {"prompt_tokens": 8, "total_tokens": 8}}, Usage(input_tokens=8)),
        (
            {"id": "cmpl-1", "choices": [{"text": "a"}], "usage": {"prompt_tokens": 5, "completion_tokens": 7}},
            Usage(input_tokens=5, output_tokens=7),
        ),
        (
            {"created": 1, "data": [], "usage": {"input_tokens": 50, "output_tokens": 50, "total_tokens": 100}},
            Usage(input_tokens=50, output_tokens=50),
        ),
        (
            {"type": "message", "usage": {"input_tokens": 1, "cache_read_input_tokens": 9, "output_tokens": 2}},
            Usage(input_tokens=10, cached_input_tokens=9, output_tokens=2),
        ),
        ({"object": "response.compaction", "usage": {"input_tokens": 3, "output_tokens": 4}},
         Usage(input_tokens=3, output_tokens=4)),
        (
            {"usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4, "thoughtsTokenCount": 5}},
            Usage(input_tokens=3, output_tokens=9, reasoning_tokens=5),
        ),
        # What is stored and only described again has used nothing.
        ({"name": "cachedContents/c", "usageMetadata": {"totalTokenCount": 5000}}, None),
        ({"ok": True}, None),
    ],
)  # fmt: skip
def test_every_known_form_of_usage(body: object, expected: Usage | None) -> None:
    assert read(body).usage == expected


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"choices": [], "usage": {"prompt_tokens": 5}}, Usage(input_tokens=5)),
        ({"type": "response.completed", "response": {"usage": {"input_tokens": 6}}}, Usage(input_tokens=6)),
        (
            {"type": "message_start", "message": {"usage": {"input_tokens": 7, "output_tokens": 1}}},
            Usage(input_tokens=7, output_tokens=1),
        ),
        ({"usageMetadata": {"promptTokenCount": 8}}, Usage(input_tokens=8)),
    ],
)
def test_every_known_form_of_a_stream(event: object, expected: Usage) -> None:
    reading = read(event, stream=True)
    assert reading.usage == expected
    assert reading.terminal


def test_the_first_form_decides() -> None:
    meter = ANY_WIRE.meter("", streaming=True)
    meter.feed(b'data: {"usage":{"prompt_tokens":5}}\n\ndata: {"usage":{"input_tokens":9}}\n\ndata: {"us')
    assert meter.reading().usage == Usage(input_tokens=5)
    assert meter.visible_output_bytes == 0


def test_a_request_is_read_as_far_as_all_agree() -> None:
    facts = ANY_WIRE.read_request(b'{"model":"text-embedding-3-small","input":"x"}')
    assert facts.model == "text-embedding-3-small"


def test_a_model_that_the_body_does_not_name_the_path_may() -> None:
    target = RequestTarget(path="/v1beta/models/gemini-x:newVerb?key=k")
    assert ANY_WIRE.read_request(b"{}", target).model == "gemini-x"
    assert ANY_WIRE.read_request(b'{"model":"m"}', target).model == "m"
    assert ANY_WIRE.read_request(b"{}").model is None


def test_a_binary_reply_is_only_counted() -> None:
    assert ANY_WIRE.meter("audio/mpeg", streaming=False).reading().note is not None


FORM = (
    b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav\r\n\r\nRIFF\r\n'
    b'--x\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n--x--\r\n'
)


def of_form(body: bytes) -> RequestFacts:
    headers = ((b"Content-Type", b"multipart/form-data; boundary=x"),)
    return ANY_WIRE.read_request(body, RequestTarget(path="/v1/audio/transcriptions", headers=headers))


def test_a_form_names_its_model_in_a_field() -> None:
    assert of_form(FORM).model == "whisper-1"
    assert of_form(FORM).ambiguous is None
    assert of_form(b"--x--\r\n").model is None
    twice = FORM.replace(b"RIFF", b'--x\r\nContent-Disposition: form-data; name="model"\r\n\r\nother\r\n')
    assert of_form(twice).ambiguous is not None


def test_embeddings_have_no_output() -> None:
    target = RequestTarget(path="/v1/embeddings")
    assert ANY_WIRE.read_request(b'{"model":"text-embedding-3-small"}', target).max_output_tokens == 0
