"""Asking for the usage chunk, and taking it out again."""

from __future__ import annotations

import json

import pytest

from docket.rules.providers.usage_chunk import UsageChunkFilter, inject_usage

A = b'data: {"id":"c","choices":[{"delta":{"content":"a"}}],"usage":null}'
EXTRA = b'data: {"id":"c","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}'
DONE = b"data: [DONE]"


def filtered(stream: bytes, step: int = 1 << 20) -> bytes:
    chunk_filter = UsageChunkFilter()
    out = b"".join(chunk_filter.feed(stream[at : at + step]) for at in range(0, len(stream), step))
    return out + chunk_filter.finish()


def test_one_member_is_added_and_every_other_byte_stays() -> None:
    body = b' {\n  "model": "gpt-4.1", "temperature": 0.70, "messages": ["\\ud800"],"stream" : true }\n'
    injected = inject_usage(body)
    assert injected == b' {"stream_options":{"include_usage":true},' + body[2:]
    assert json.loads(injected)["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize(
    "body",
    [
        b'{"stream":false}', b'{"model":"x"}', b'{"stream":true,"stream_options":{"include_usage":false}}',
        b'{"stream":true,"stream_options":null}', b'{"stream":"true"}', b"", b"[]", b"not json",
    ],
)  # fmt: skip
def test_what_stays_as_it_is(body: bytes) -> None:
    assert inject_usage(body) is None


@pytest.mark.parametrize("step", [1, 2, 3, 5, 1000])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_exactly_the_extra_chunk_is_taken_out(end: bytes, step: int) -> None:
    blank = end + end
    stream = A + blank + b": ping" + blank + EXTRA + blank + DONE + blank
    assert filtered(stream, step) == A + blank + b": ping" + blank + DONE + blank


@pytest.mark.parametrize("step", [1, 4, 1000])
@pytest.mark.parametrize(
    "stream",
    [
        # Usage beside content, Azure's first chunk, usage null, no choices at all, junk.
        b'data: {"choices":[{"delta":{}}],"usage":{"prompt_tokens":1}}\n\n',
        b'data: {"choices":[],"prompt_filter_results":[]}\n\n',
        b'data: {"choices":[],"usage":null}\n\n',
        b'data: {"usage":{"prompt_tokens":1}}\n\n',
        b'data: {"choices":{},"usage":{"prompt_tokens":1}}\n\n',
        b'data: "usage"\n\n',
        b': "usage"\n\n',
        b'data: {"usage\n\n\n\r\r\n\n',
        b"\n\n\n",
        b"",
        b"no event at all",
        b'{"choices":[],"usage":{"prompt_tokens":1}}',
    ],
)
def test_everything_else_passes(stream: bytes, step: int) -> None:
    assert filtered(stream, step) == stream


def test_an_extra_chunk_that_was_not_ended_is_taken_out_too() -> None:
    assert filtered(A + b"\n\n" + EXTRA) == A + b"\n\n"


def test_an_event_passes_when_its_blank_line_does() -> None:
    chunk_filter = UsageChunkFilter()
    assert chunk_filter.feed(A) == b""
    assert chunk_filter.feed(b"\r\n\r\n") == A + b"\r\n\r\n"
    assert chunk_filter.feed(A + b"\r\r") == A + b"\r\r"
    # The line feed may have belonged to the carriage return before it.
    assert chunk_filter.feed(b"\n" + EXTRA + b"\r\r") == b"\n"
    assert chunk_filter.feed(b"\n") == b""
    assert chunk_filter.feed(b"") == b""
    assert chunk_filter.finish() == b""


@pytest.mark.parametrize("step", [999, 70_000, 1 << 20])
def test_an_event_too_long_to_be_the_chunk_is_not_held_back(step: int) -> None:
    chunk_filter = UsageChunkFilter()
    long = b'data: {"choices":[{"delta":{"content":"' + b"x" * 70_000
    assert chunk_filter.feed(long) == long
    assert chunk_filter.feed(b"y\r") == b"y\r"
    assert chunk_filter.feed(b'\n"}}]}') == b'\n"}}]}'
    assert chunk_filter.feed(b"\n\n" + EXTRA + b"\n\n") == b"\n\n"
    stream = long + b"\n\n" + EXTRA + b"\n\n" + DONE + b"\n\n"
    assert filtered(stream, step) == long + b"\n\n" + DONE + b"\n\n"
