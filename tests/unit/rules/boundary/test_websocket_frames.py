"""Frames, by the examples of RFC 6455, 5.7, and by what its sections 5.2 to 5.5, 7.4.1 and 8.1 forbid."""

from __future__ import annotations

import struct

import pytest

from docket.rules.boundary.frames import (
    CloseCode,
    Fault,
    FrameReader,
    Opcode,
    close_frame,
    encode_frame,
)

HELLO = b"Hello"
# (frame, whether it is masked, opcode, payload), as the RFC prints them.
EXAMPLES = [
    (bytes.fromhex("8105 48656c6c6f"), False, Opcode.TEXT, HELLO),
    (bytes.fromhex("8185 37fa213d 7f9f4d5158"), True, Opcode.TEXT, HELLO),
    (bytes.fromhex("0103 48656c 8002 6c6f"), False, Opcode.TEXT, HELLO),
    (bytes.fromhex("8905 48656c6c6f"), False, Opcode.PING, HELLO),
    (bytes.fromhex("8a85 37fa213d 7f9f4d5158"), True, Opcode.PONG, HELLO),
    (bytes.fromhex("827e0100") + b"b" * 256, False, Opcode.BINARY, b"b" * 256),
    (bytes.fromhex("827f0000000000010000") + b"b" * 65536, False, Opcode.BINARY, b"b" * 65536),
]


def read(data, *, masked=False, size=None):
    reader = FrameReader(masked=masked)
    pieces = []
    step = size or len(data) or 1
    for start in range(0, len(data), step):
        pieces += reader.feed(data[start : start + step])
    return reader, pieces


@pytest.mark.parametrize(("data", "masked", "opcode", "payload"), EXAMPLES)
@pytest.mark.parametrize("size", [None, 1, 3])
def test_the_examples_of_the_rfc(data, masked, opcode, payload, size):
    reader, pieces = read(data, masked=masked, size=size)
    assert reader.fault is None
    assert b"".join(piece.raw for piece in pieces) == data
    assert b"".join(piece.payload for piece in pieces) == payload
    assert {piece.opcode for piece in pieces} == {opcode}
    assert [piece.closes for piece in pieces][-1:] == [True]
    assert sum(piece.closes for piece in pieces) == 1
    assert sum(piece.opens for piece in pieces) == 1
    assert reader.between_messages


def test_an_empty_message_is_one():
    reader, (piece,) = read(b"\x81\x00")
    assert (piece.payload, piece.opens, piece.closes) == (b"", True, True)
    assert reader.between_messages


def test_a_control_frame_stands_between_the_parts_of_a_message():
    ping = bytes.fromhex("8900")
    _, pieces = read(bytes.fromhex("0103 48656c") + ping + bytes.fromhex("8002 6c6f"))
    assert [(piece.opcode, piece.opens, piece.closes) for piece in pieces] == [
        (Opcode.TEXT, True, False),
        (Opcode.PING, True, True),
        (Opcode.TEXT, False, True),
    ]
    assert [piece.is_control for piece in pieces] == [False, True, False]


def test_a_character_may_be_cut_by_frames_but_not_left_open():
    euro = "€".encode()
    cut = b"\x01\x01" + euro[:1] + b"\x80\x02" + euro[1:]
    reader, pieces = read(cut)
    assert reader.fault is None
    assert b"".join(piece.payload for piece in pieces) == euro
    reader, _ = read(b"\x81\x02" + euro[:2])
    assert reader.fault == Fault(CloseCode.NOT_UTF8, "a text message is not UTF-8")


def test_no_other_message_may_stand_inside_one():
    reader, _ = read(b"\x01\x01a")
    assert not reader.between_messages
    reader, _ = read(b"\x81\x05a")
    assert not reader.between_messages
    reader, _ = read(b"\x81")
    assert not reader.between_messages


@pytest.mark.parametrize(
    ("data", "masked", "words"),
    [
        (b"\x81\x01a", True, "not masked"),
        (b"\x81\x81\0\0\0\0a", False, "is masked"),
        (b"\xc1\x00", False, "reserved bit"),
        (b"\xa1\x00", False, "reserved bit"),
        (b"\x91\x00", False, "reserved bit"),
        (b"\x83\x00", False, "opcode 3"),
        (b"\x8b\x00", False, "opcode 11"),
        (b"\x09\x00", False, "control frame"),
        (b"\x89\x7e\x00\x80", False, "control frame"),
        (b"\x80\x00", False, "continues nothing"),
        (b"\x01\x00\x81\x00", False, "inside another"),
        (b"\x81\x7e\x00\x7d", False, "shortest form"),
        (b"\x81\x7f" + struct.pack(">Q", 65535), False, "shortest form"),
        (b"\x81\x7f" + struct.pack(">Q", 1 << 63), False, "shortest form"),
        (b"\x88\x01a", False, "no code"),
        (b"\x88\x02\x03\xed", False, "no code"),  # 1005
        (b"\x88\x02\x03\xe7", False, "no code"),  # 999
        (b"\x88\x02\x07\xd0", False, "no code"),  # 2000
        (b"\x88\x02\x03\xe8\x81\x00", False, "behind a close"),
    ],
)
@pytest.mark.parametrize("size", [None, 1])
def test_what_the_rfc_forbids_is_a_fault(data, masked, words, size):
    reader, _ = read(data, masked=masked, size=size)
    assert reader.fault is not None
    assert reader.fault.code is CloseCode.PROTOCOL_ERROR
    assert words in reader.fault.detail
    assert reader.feed(b"\x81\x00") == []


@pytest.mark.parametrize("code", [1000, 1003, 1011, 1014, 3000, 4999])
def test_a_close_may_carry_these_codes_and_a_reason(code):
    payload = struct.pack(">H", code) + "já".encode()
    reader, pieces = read(encode_frame(Opcode.CLOSE, payload))
    assert reader.fault is None
    assert reader.closed
    assert pieces[-1].payload == payload


def test_a_close_may_be_empty_and_its_reason_is_text():
    assert read(b"\x88\x00")[0].closed
    reader, _ = read(b"\x88\x03\x03\xe8\xff")
    assert reader.fault is not None
    assert reader.fault.code is CloseCode.NOT_UTF8


@pytest.mark.parametrize("size", [0, 125, 126, 65535, 65536])
def test_what_is_encoded_is_read_back(size):
    frame = encode_frame(Opcode.TEXT, b"x" * size)
    reader, pieces = read(frame)
    assert reader.fault is None
    assert b"".join(piece.payload for piece in pieces) == b"x" * size
    assert len(frame) == size + (2 if size < 126 else 4 if size < 65536 else 10)


def test_a_fault_is_told_in_a_close():
    reader, (piece,) = read(close_frame(Fault(CloseCode.NOT_UTF8, "it is " + "x" * 200)))
    assert reader.fault is None
    assert piece.payload[:2] == struct.pack(">H", 1007)
    assert len(piece.payload) <= 125


def test_what_came_before_a_fault_is_handed_on():
    reader, pieces = read(b"\x81\x01a\x83\x00")
    assert [piece.payload for piece in pieces] == [b"a"]
    assert reader.fault is not None
