"""Frames that another implementation wrote, cut anywhere: `websockets` makes them, docket reads them."""

from __future__ import annotations

from itertools import pairwise

import websockets.frames
from hypothesis import given, settings
from hypothesis import strategies as st

from docket.rules.boundary.frames import FrameReader, Opcode, encode_frame

CONTROLS = st.builds(
    lambda opcode, data: (opcode, data, True), st.sampled_from([Opcode.PING, Opcode.PONG]), st.binary(max_size=125)
)


@st.composite
def messages(draw):
    """One message as (opcode, payload, last) frames, with control frames between them."""
    text = draw(st.booleans())
    payload = draw(st.text(max_size=300)).encode() if text else draw(st.binary(max_size=70_000))
    cuts = sorted(draw(st.lists(st.integers(0, len(payload)), max_size=3)))
    bounds = [0, *cuts, len(payload)]
    frames = []
    for number, (start, end) in enumerate(pairwise(bounds)):
        opcode = (Opcode.TEXT if text else Opcode.BINARY) if number == 0 else Opcode.CONTINUATION
        frames += [(opcode, payload[start:end], number == len(bounds) - 2)]
        frames += draw(st.lists(CONTROLS, max_size=1))
    return frames, payload


@settings(max_examples=80, deadline=None)
@given(st.lists(messages(), max_size=3), st.booleans(), st.integers(1, 4000))
def test_every_frame_is_read_as_it_was_written_however_it_is_cut(sent, masked, step):
    wire = b"".join(
        websockets.frames.Frame(websockets.frames.Opcode(opcode), data, fin=last).serialize(mask=masked)
        for frames, _ in sent
        for opcode, data, last in frames
    )
    reader = FrameReader(masked=masked)
    pieces = [piece for start in range(0, len(wire), step) for piece in reader.feed(wire[start : start + step])]
    assert reader.fault is None
    assert b"".join(piece.raw for piece in pieces) == wire
    data = [piece for piece in pieces if not piece.is_control]
    assert b"".join(piece.payload for piece in data) == b"".join(payload for _, payload in sent)
    assert sum(piece.closes for piece in data) == len(sent)
    controls = b"".join(piece.payload for piece in pieces if piece.is_control)
    assert controls == b"".join(body for frames, _ in sent for opcode, body, _ in frames if opcode >= Opcode.CLOSE)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=400), st.booleans(), st.integers(1, 50))
def test_no_bytes_raise_and_none_is_handed_on_twice(wire, masked, step):
    reader = FrameReader(masked=masked)
    pieces = [piece for start in range(0, len(wire), step) for piece in reader.feed(wire[start : start + step])]
    assert wire.startswith(b"".join(piece.raw for piece in pieces))


@given(st.sampled_from([Opcode.TEXT, Opcode.BINARY, Opcode.PING]), st.binary(max_size=120))
def test_docket_writes_the_frames_that_others_write(opcode, payload):
    assert encode_frame(opcode, payload) == websockets.frames.Frame(
        websockets.frames.Opcode(opcode), payload
    ).serialize(mask=False)
