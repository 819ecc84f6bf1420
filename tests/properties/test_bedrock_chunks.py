"""Frames read the same however they are cut, compressed or followed by junk, and whatever they hold."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from aws_frames import chunk, event, exception, frame, sealed
from docket.formats.run.usage import Usage
from docket.rules.providers.encoding import decoding
from docket.rules.providers.endpoints import BEDROCK_CONVERSE, BEDROCK_INVOKE
from docket.rules.providers.eventstream import FrameStream
from docket.rules.providers.interface import Reading, RequestTarget, Wire

FRAMED = "application/vnd.amazon.eventstream"
WIRES = (BEDROCK_CONVERSE, BEDROCK_INVOKE)
COUNTS = st.one_of(st.integers(-2, 50), st.none(), st.sampled_from(["x", 1.5, True, 10**15]))
USAGE = st.dictionaries(
    st.sampled_from(["inputTokens", "outputTokens", "totalTokens", "cacheReadInputTokens", "cacheWriteInputTokens",
                     "cacheDetails", "input_tokens", "output_tokens", "inputTokenCount", "outputTokenCount"]),
    st.one_of(COUNTS, st.lists(st.fixed_dictionaries({"ttl": st.sampled_from(["5m", "1h", 3]), "inputTokens": COUNTS}),
                               max_size=3)),
)  # fmt: skip
VALUES = st.one_of(COUNTS, st.text(max_size=6), USAGE, st.lists(USAGE, max_size=2))
OBJECTS = st.dictionaries(
    st.sampled_from(["usage", "delta", "start", "message", "type", "text", "amazon-bedrock-invocationMetrics",
                     "metadata", "choices", "generation", "trace", "results", "bytes", "error"]),
    VALUES, max_size=4,
)  # fmt: skip
FRAMES = st.one_of(
    st.builds(
        event, st.sampled_from(["metadata", "contentBlockDelta", "contentBlockStart", "messageStop", "x"]), OBJECTS
    ),
    st.builds(chunk, st.one_of(OBJECTS, VALUES)),
    st.builds(exception, st.sampled_from(["throttlingException", ""]), st.one_of(OBJECTS, VALUES)),
    st.builds(frame, st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2), st.binary(max_size=12)),
    st.builds(sealed, st.binary(max_size=10), st.binary(max_size=10)),
)
BODIES = st.lists(st.one_of(FRAMES, FRAMES, FRAMES, st.binary(max_size=20)), max_size=5).map(b"".join)
CUTS = st.lists(st.integers(1, 60), max_size=12)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    found, at = [], 0
    for size in cuts:
        found.append(data[at : at + size])
        at += size
    return [*found, data[at:]]


def read(wire: Wire, chunks: list[bytes], coding: str = "") -> tuple[Reading, int]:
    meter = decoding(wire.meter(FRAMED, streaming=True), coding)
    for piece in chunks:
        meter.feed(piece)
    return meter.reading(), meter.visible_output_bytes


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
@settings(max_examples=100, deadline=None)
@given(data=BODIES, cuts=CUTS)
def test_a_framed_reply_reads_the_same_however_it_is_cut(wire: Wire, data: bytes, cuts: list[int]) -> None:
    whole = read(wire, [data])
    assert read(wire, pieces(data, cuts)) == whole
    assert read(wire, [data[at : at + 1] for at in range(len(data))]) == whole


@settings(max_examples=100, deadline=None)
@given(data=BODIES, cuts=CUTS)
def test_frames_are_the_same_however_they_are_cut(data: bytes, cuts: list[int]) -> None:
    whole, cut = FrameStream(), FrameStream()
    expected = whole.feed(data)
    found = [item for piece in pieces(data, cuts) for item in cut.feed(piece)]
    assert (found, cut.spoiled, cut.ended) == (expected, whole.spoiled, whole.ended)


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
@settings(max_examples=60, deadline=None)
@given(body=st.one_of(st.binary(max_size=60), OBJECTS.map(lambda value: json.dumps(value).encode())), path=st.text())
def test_a_framed_request_never_raises(wire: Wire, body: bytes, path: str) -> None:
    assert len(wire.read_request(body, RequestTarget(path=path)).fingerprint) == 16


USED = {"usage": {"inputTokens": 30, "outputTokens": 7, "totalTokens": 137, "cacheReadInputTokens": 100}}
CONVERSE = event("contentBlockDelta", {"delta": {"text": "héllo"}, "contentBlockIndex": 0}) + event("metadata", USED)
INVOKE = (
    chunk({"type": "message_start", "message": {"usage": {"input_tokens": 30, "cache_read_input_tokens": 100}}})
    + chunk({"type": "content_block_delta", "delta": {"text": "héllo"}})
    + chunk({"type": "message_delta", "usage": {"output_tokens": 7}})
)
CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "identity": bytes,
    "gzip": gzip.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize(("wire", "body"), [(BEDROCK_CONVERSE, CONVERSE), (BEDROCK_INVOKE, INVOKE)])
@settings(max_examples=30, deadline=None)
@given(cuts=CUTS, junk=st.binary(max_size=30))
def test_codings_cuts_and_junk_change_no_count(
    coding: str, wire: Wire, body: bytes, cuts: list[int], junk: bytes
) -> None:
    data = CODINGS[coding](body + junk)
    expected = Usage(input_tokens=130, cached_input_tokens=100, output_tokens=7)
    for chunks in ([data], pieces(data, cuts), [data[at : at + 1] for at in range(len(data))]):
        reading, visible = read(wire, chunks, coding)
        assert (reading.usage, reading.usage_final, visible) == (expected, True, 6)
