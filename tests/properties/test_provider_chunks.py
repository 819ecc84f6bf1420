"""However bytes are cut, and whatever they are, the reading is the same and nothing is raised."""

from __future__ import annotations

import gzip
import json
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docket.rules.providers import endpoints
from docket.rules.providers.encoding import decoding
from docket.rules.providers.endpoints import GEMINI, OLLAMA
from docket.rules.providers.interface import Reading, Wire
from docket.rules.providers.json_scan import MemberScan
from docket.rules.providers.json_values import JsonValues
from docket.rules.providers.sse import EventStream
from docket.rules.providers.usage_chunk import UsageChunkFilter

WIRES = tuple(endpoints.WIRES.values())

COUNTS = st.one_of(st.integers(-2, 50), st.none(), st.sampled_from(["x", 1.5, True, 10**15]))
USAGE = st.dictionaries(
    st.sampled_from(
        ["input_tokens", "output_tokens", "prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens",
         "cache_read_input_tokens", "cache_creation_input_tokens"]
    ),
    COUNTS,
)  # fmt: skip
TYPES = st.sampled_from(
    ["message_start", "message_delta", "message_stop", "content_block_delta", "response.created", "response.completed",
     "response.output_text.delta", "response.output_item.done", "error", "ping", "", 5, None]
)  # fmt: skip
TEXTS = st.text(max_size=6)
GOOGLE_USAGE = st.dictionaries(
    st.sampled_from(
        ["promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "toolUsePromptTokenCount", "totalTokenCount",
         "cachedContentTokenCount", "total_input_tokens", "total_output_tokens", "total_tokens", "trafficType"]
    ),
    COUNTS,
)  # fmt: skip
JSON_LEAVES = st.one_of(COUNTS, TEXTS, st.booleans(), USAGE)
JSON_VALUES = st.recursive(
    JSON_LEAVES, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)  # fmt: skip
EVENTS = st.fixed_dictionaries(
    {},
    optional={
        "type": TYPES,
        "usage": st.one_of(USAGE, JSON_VALUES),
        "message": st.one_of(st.fixed_dictionaries({}, optional={"usage": USAGE, "model": TEXTS}), JSON_VALUES),
        "response": st.one_of(
            st.fixed_dictionaries({}, optional={"usage": USAGE, "model": TEXTS, "output": JSON_VALUES}), JSON_VALUES
        ),
        "delta": st.one_of(TEXTS, st.fixed_dictionaries({"text": TEXTS}), JSON_VALUES),
        "choices": st.one_of(
            st.lists(st.fixed_dictionaries({}, optional={"delta": JSON_VALUES, "message": JSON_VALUES}), max_size=2),
            JSON_VALUES,
        ),
        "candidates": st.one_of(
            st.lists(
                st.fixed_dictionaries(
                    {},
                    optional={
                        "index": COUNTS,
                        "finishReason": st.sampled_from(["STOP", "", None]),
                        "content": st.fixed_dictionaries({"parts": st.lists(st.fixed_dictionaries({"text": TEXTS}))}),
                        "groundingMetadata": st.fixed_dictionaries({"webSearchQueries": st.lists(TEXTS, max_size=2)}),
                    },
                ),
                max_size=2,
            ),
            JSON_VALUES,
        ),
        "usageMetadata": st.one_of(GOOGLE_USAGE, JSON_VALUES),
        "interaction": st.one_of(st.fixed_dictionaries({}, optional={"usage": GOOGLE_USAGE, "id": TEXTS}), JSON_VALUES),
        "event_type": st.sampled_from(["step.delta", "interaction.completed", "error", None]),
        "prompt_eval_count": COUNTS,
        "eval_count": COUNTS,
        "done": st.sampled_from([True, False, None, "yes"]),
        "item": JSON_VALUES,
        "error": JSON_VALUES,
        "content": JSON_VALUES,
        "output": JSON_VALUES,
        "tool_usage": JSON_VALUES,
        "model": JSON_VALUES,
        "id": JSON_VALUES,
        "service_tier": JSON_VALUES,
    },
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


def line(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode("utf-8", "surrogatepass")


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    end = draw(ENDS)
    blocks = draw(
        st.lists(
            st.one_of(
                EVENTS.map(line),
                JSON_VALUES.map(line),
                st.sampled_from([b"data: [DONE]", b": note", b"event: x", b"data:", b"", b"\xef\xbb\xbf"]),
                st.binary(max_size=12),
            ),
            max_size=6,
        )
    )
    return b"".join(block + end * draw(st.integers(0, 3)) for block in blocks)


CUTS = st.lists(st.integers(1, 40), max_size=12)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    found, at = [], 0
    for size in cuts:
        found.append(data[at : at + size])
        at += size
    return [*found, data[at:]]


def read(wire: Wire, chunks: list[bytes]) -> tuple[Reading, int]:
    meter = wire.meter("text/event-stream", streaming=True)
    for chunk in chunks:
        meter.feed(chunk)
    return meter.reading(), meter.visible_output_bytes


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
@settings(max_examples=40, deadline=None)
@given(data=streams(), cuts=CUTS)
def test_a_stream_reads_the_same_however_it_is_cut(wire: Wire, data: bytes, cuts: list[int]) -> None:
    whole = read(wire, [data])
    assert read(wire, pieces(data, cuts)) == whole
    assert read(wire, [data[at : at + 1] for at in range(len(data))]) == whole


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
@settings(max_examples=40, deadline=None)
@given(value=EVENTS, junk=st.binary(max_size=8), cuts=CUTS)
def test_a_body_reads_the_same_however_it_is_cut(wire: Wire, value: object, junk: bytes, cuts: list[int]) -> None:
    data = json.dumps(value).encode() + junk
    assert read(wire, pieces(data, cuts)) == read(wire, [data])


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
@settings(max_examples=40, deadline=None)
@given(data=streams(), cuts=CUTS)
def test_asking_in_between_changes_nothing(wire: Wire, data: bytes, cuts: list[int]) -> None:
    meter = wire.meter("text/event-stream", streaming=True)
    for chunk in pieces(data, cuts):
        meter.feed(chunk)
        meter.reading()
    assert (meter.reading(), meter.visible_output_bytes) == read(wire, [data])


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
@settings(max_examples=40, deadline=None)
@given(body=st.one_of(st.binary(max_size=60), EVENTS.map(lambda value: json.dumps(value).encode())))
def test_a_request_never_raises(wire: Wire, body: bytes) -> None:
    facts = wire.read_request(body)
    assert len(facts.fingerprint) == 16


@settings(max_examples=120, deadline=None)
@given(data=streams(), cuts=CUTS)
def test_events_are_the_same_however_they_are_cut(data: bytes, cuts: list[int]) -> None:
    whole, cut = EventStream(), EventStream()
    expected = whole.feed(data)
    found = [event for chunk in pieces(data, cuts) for event in cut.feed(chunk)]
    assert (found, cut.pending()) == (expected, whole.pending())


@settings(max_examples=120, deadline=None)
@given(data=streams(), cuts=CUTS)
def test_the_filter_passes_the_same_however_it_is_cut(data: bytes, cuts: list[int]) -> None:
    def run(chunks: list[bytes]) -> bytes:
        chunk_filter = UsageChunkFilter()
        return b"".join(chunk_filter.feed(chunk) for chunk in chunks) + chunk_filter.finish()

    assert run(pieces(data, cuts)) == run([data])


def lookup(value: object, path: tuple[str, ...]) -> object:
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return ()
        value = value[name]
    return value


PATHS = (("usage",), ("model",), ("response", "usage"), ("a", "b", "c"))


@settings(max_examples=120, deadline=None)
@given(
    value=st.dictionaries(
        st.sampled_from(["usage", "model", "response", "a", 'q"\\', "\u00fc"]),
        st.one_of(
            JSON_VALUES,
            st.dictionaries(
                st.sampled_from(["usage", "b"]),
                st.one_of(JSON_VALUES, st.dictionaries(st.sampled_from("bc"), JSON_VALUES)),
            ),
        ),
    ),
    cuts=CUTS,
    indent=st.sampled_from([None, 1]),
)
def test_a_scan_finds_what_a_parser_finds(value: dict[str, object], cuts: list[int], indent: int | None) -> None:
    data = json.dumps(value, indent=indent).encode()
    scan = MemberScan(PATHS)
    for chunk in pieces(data, cuts):
        scan.feed(chunk)
    found = scan.result()
    parsed = json.loads(data)
    for path in PATHS:
        assert lookup(found, path) == lookup(parsed, path)


@settings(max_examples=40, deadline=None)
@given(data=st.binary(max_size=200), cuts=CUTS, name=st.sampled_from(["gzip", "deflate", "br", "zstd"]))
def test_codings_never_raise(data: bytes, cuts: list[int], name: str) -> None:
    from docket.rules.providers.encoding import decoder

    for encoded in (data, gzip.compress(data)[: len(data)]):
        chain = decoder(name)
        assert chain is not None
        for chunk in pieces(encoded, cuts):
            chain.feed(chunk, lambda _: None)


@st.composite
def values(draw: st.DrawFn) -> bytes:
    """A stream of JSON values: an array in pieces or one value a line, with blanks and junk in between."""
    found = draw(st.lists(st.one_of(EVENTS, JSON_VALUES), max_size=5))
    texts = [json.dumps(value, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass") for value in found]
    if draw(st.booleans()):
        return (
            b"["
            + draw(st.sampled_from([b",", b",\r\n", b" ,\n"])).join(texts)
            + draw(st.sampled_from([b"]", b"", b"]x{"]))
        )
    ends = draw(st.sampled_from([b"\n", b"\r\n", b"\n\n", b'\n"oops\n']))
    return b"".join(text + ends for text in texts) + draw(st.binary(max_size=6))


@pytest.mark.parametrize("wire", [GEMINI, OLLAMA], ids=lambda wire: wire.name)
@settings(max_examples=120, deadline=None)
@given(data=values(), cuts=CUTS)
def test_a_stream_of_values_reads_the_same_however_it_is_cut(wire: Wire, data: bytes, cuts: list[int]) -> None:
    whole = read(wire, [data])
    assert read(wire, pieces(data, cuts)) == whole
    assert read(wire, [data[at : at + 1] for at in range(len(data))]) == whole


@settings(max_examples=150, deadline=None)
@given(data=st.one_of(values(), st.binary(max_size=40)), cuts=CUTS)
def test_values_are_cut_the_same_however_the_bytes_are(data: bytes, cuts: list[int]) -> None:
    def cut(chunks: list[bytes]) -> list[object]:
        stream = JsonValues()
        return [value for chunk in chunks for value in stream.feed(chunk)]

    assert cut(pieces(data, cuts)) == cut([data]) == cut([data[at : at + 1] for at in range(len(data))])


@settings(max_examples=40, deadline=None)
@given(found=st.lists(EVENTS, max_size=4), separator=st.sampled_from([b",", b",\r\n", b"\n,\n"]))
def test_the_values_of_an_array_are_those_a_whole_reader_finds(found: list[object], separator: bytes) -> None:
    data = b"[" + separator.join(json.dumps(value).encode() for value in found) + b"]"
    cut = JsonValues().feed(data)
    assert [json.loads(value) for value in cut if isinstance(value, bytes)] == json.loads(data)


@pytest.mark.parametrize("wire", [GEMINI, OLLAMA], ids=lambda wire: wire.name)
@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "deflate"])
@settings(max_examples=15, deadline=None)
@given(data=values(), cuts=CUTS)
def test_a_coded_stream_of_values_reads_as_the_plain_one(wire: Wire, coding: str, data: bytes, cuts: list[int]) -> None:
    meter = decoding(wire.meter("application/json", streaming=True), coding)
    for piece in pieces(coded(coding, data), cuts):
        meter.feed(piece)
    assert (meter.reading(), meter.visible_output_bytes) == read(wire, [data])


def coded(coding: str, data: bytes) -> bytes:
    if coding == "gzip":
        return gzip.compress(data)
    if coding == "deflate":
        return zlib.compress(data)
    if coding == "br":
        return bytes(pytest.importorskip("brotli").compress(data))
    return bytes(pytest.importorskip("zstandard").ZstdCompressor().compress(data))
