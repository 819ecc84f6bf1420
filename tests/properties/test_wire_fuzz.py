"""Valid replies of every wire, mutated: nothing is raised, and the reading is the same however the bytes are cut.

No more is booked than the numbers in the bytes say.
"""

from __future__ import annotations

import re
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boundary_rig.wire_forms import FORMS, FRAMES, Form
from docket.rules.providers import registry
from docket.rules.providers.encoding import decoding
from docket.rules.providers.estimate import settle
from docket.rules.providers.interface import Meter, RequestTarget, Wire

EACH_FORM = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
NUMBER = re.compile(rb"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
# A frame is read as it was or not at all, its numbers may stand in base64, and it may have come more than once.
FRAMED_MOST = 20_000
PIECES = tuple(piece for form in FORMS for piece in form.pieces)
JUNK = st.one_of(
    st.binary(max_size=24),
    st.sampled_from(
        [b"\n", b"\n\n", b"\r", b"\r\n\r\n", b"data: ", b"data: [DONE]\n\n", b"{", b"}", b"[", b"]", b'"', b"\\", b",",
         b"null", b"1e999", b"-1", b"0", b'"usage":{}', b'"usage":null,',
         b"\xef\xbb\xbf", b"\xff", b"\\ud800", b"\0" * 16]
    ),
    st.sampled_from(PIECES),
)  # fmt: skip
PLACE = st.floats(0, 1, allow_nan=False)
OPERATIONS = st.one_of(
    st.tuples(st.just("cut"), PLACE, PLACE, st.just(b"")),
    st.tuples(st.just("again"), PLACE, PLACE, st.just(b"")),
    st.tuples(st.just("put"), PLACE, st.just(0.0), JUNK),
    st.tuples(st.just("flip"), PLACE, st.just(0.0), st.binary(min_size=1, max_size=1)),
    st.tuples(st.just("end"), PLACE, st.just(0.0), st.just(b"")),
)  # fmt: skip
MUTATIONS = st.lists(OPERATIONS, min_size=1, max_size=5)
CUTS = st.lists(st.integers(1, 300), max_size=8)


def mutated(data: bytes, mutations: list[tuple[str, float, float, bytes]]) -> bytes:
    for kind, first, second, piece in mutations:
        at, to = sorted((int(first * len(data)), int(second * len(data))))
        if kind == "cut":
            data = data[:at] + data[to:]
        elif kind == "again":
            data = data[:to] + data[at:to] + data[to:]
        elif kind == "put":
            at = int(first * len(data))
            data = data[:at] + piece + data[at:]
        elif kind == "flip":
            at = int(first * len(data))
            data = data[:at] + piece + data[at + 1 :]
        else:
            data = data[: int(first * len(data))]
    return data


def wire_of(form: Form) -> Wire:
    provider, _, rest = form.path[1:].partition("/")
    wire = registry.provider(provider).classify("POST", f"/{rest}").wire
    assert wire is not None
    return wire


def fed(meter: Meter, data: bytes, cuts: list[int]) -> Meter:
    at = 0
    for size in cuts:
        meter.feed(data[at : at + size])
        at += size
    meter.feed(data[at:])
    return meter


def numbers(data: bytes) -> float:
    """Return the sum of all numbers that stand in bytes: more no honest reader finds in them."""
    values = [float(match[0]) for match in NUMBER.finditer(data) if len(match[0]) < 300]
    # What is no count below a million millions is none at all.
    return sum(value for value in values if value < 10**12)


@EACH_FORM
@settings(max_examples=150, deadline=None)
@given(mutations=MUTATIONS, cuts=CUTS)
def test_a_mutated_reply(form: Form, mutations: list[tuple[str, float, float, bytes]], cuts: list[int]) -> None:
    data = mutated(form.body, mutations)
    wire = wire_of(form)
    meter = fed(wire.meter(form.kind, streaming=True), data, [])
    reading = meter.reading()
    pieces = fed(wire.meter(form.kind, streaming=True), data, cuts)
    assert (pieces.reading(), pieces.visible_output_bytes) == (reading, meter.visible_output_bytes)
    most = numbers(data) + (FRAMED_MOST if form.kind == FRAMES else 0)
    for usage in (reading.usage, *(part.usage for part in reading.parts)):
        if usage is not None:
            assert 0 <= usage.input_tokens <= most
            assert 0 <= usage.output_tokens <= most
            assert usage.cached_input_tokens <= usage.input_tokens
            assert usage.reasoning_tokens <= usage.output_tokens
    # Text may be shown in any piece, and of a body that cannot be read every byte counts: never more than came.
    if "ollama" not in form.name:
        assert 0 <= meter.visible_output_bytes <= len(data)
    settled = settle(reading, 400, meter.visible_output_bytes)
    assert settled.usage.output_tokens <= max(most, len(data))


@EACH_FORM
@settings(max_examples=40, deadline=None)
@given(mutations=MUTATIONS, packed=MUTATIONS, cuts=CUTS)
def test_a_mutated_reply_in_a_coding(
    form: Form,
    mutations: list[tuple[str, float, float, bytes]],
    packed: list[tuple[str, float, float, bytes]],
    cuts: list[int],
) -> None:
    data = mutated(zlib.compress(mutated(form.body, mutations)), packed)
    whole = fed(decoding(wire_of(form).meter(form.kind, streaming=True), "deflate"), data, [])
    pieces = fed(decoding(wire_of(form).meter(form.kind, streaming=True), "deflate"), data, cuts)
    assert pieces.reading() == whole.reading()
    assert pieces.visible_output_bytes == whole.visible_output_bytes


@EACH_FORM
@settings(max_examples=60, deadline=None)
@given(mutations=MUTATIONS)
def test_a_mutated_request(form: Form, mutations: list[tuple[str, float, float, bytes]]) -> None:
    target = RequestTarget(path="/" + form.path.split("/", 2)[2])
    facts = wire_of(form).read_request(mutated(form.request, mutations), target)
    assert len(facts.fingerprint) == 16
    assert facts.choices >= 1
    assert facts.max_output_tokens is None or facts.max_output_tokens >= 0
