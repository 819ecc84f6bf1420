"""The binary event stream against its published vectors and against frames typed by hand."""

from __future__ import annotations

import json
import struct
import zlib

import pytest

from aws_frames import frame, sealed
from docket.rules.providers.eventstream import MAX_PAYLOAD_BYTES, Frame, FrameStream
from docket.rules.providers.json_scan import MemberScan

# The vectors of the AWS SDKs: an empty message, a payload without headers, one 32-bit header, one text header.
EMPTY = bytes.fromhex("000000100000000005c248eb7d98c8ff")
NO_HEADERS = bytes.fromhex("0000001d00000000fd528c5a7b27666f6f273a27626172277dc3653936")
INT_HEADER = bytes.fromhex("0000002d0000001041c424b80a6576656e742d74797065040000a00c7b27666f6f273a27626172277d36f480a0")
TEXT_HEADER = bytes.fromhex(
    "0000003d0000002007fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e"
    "7b27666f6f273a27626172277d8d9c08b1"
)


def frames_of(data: bytes) -> list[Frame]:
    return FrameStream().feed(data)


@pytest.mark.parametrize(
    ("data", "headers", "payload"),
    [
        (EMPTY, {}, b""),
        (NO_HEADERS, {}, b"{'foo':'bar'}"),
        (INT_HEADER, {}, b"{'foo':'bar'}"),
        (TEXT_HEADER, {"content-type": "application/json"}, b"{'foo':'bar'}"),
    ],
)
def test_published_vectors(data: bytes, headers: dict[str, str], payload: bytes) -> None:
    assert frames_of(data) == [Frame(headers, payload)]


def test_frames_follow_one_another_however_they_are_cut() -> None:
    data = TEXT_HEADER + EMPTY + NO_HEADERS
    expected = frames_of(data)
    stream = FrameStream()
    assert [item for at in range(len(data)) for item in stream.feed(data[at : at + 1])] == expected
    assert len(expected) == 3


def test_headers_of_every_type_are_stepped_over() -> None:
    values = [(0, b""), (1, b""), (2, b"\x01"), (3, b"\x00\x02"), (4, bytes(4)), (5, bytes(8)), (6, b"\x00\x02ab"),
              (8, bytes(8)), (9, bytes(16)), (7, b"\x00\x03yes")]  # fmt: skip
    fields = b"".join(b"\x01" + bytes([97 + kind, kind]) + value for kind, value in values)
    assert frames_of(sealed(fields, b"")) == [Frame({"h": "yes"}, b"")]


@pytest.mark.parametrize("fields", [b"\x05ab", b"\x01a", b"\x01a\x63rest"])
def test_headers_that_cannot_be_read_are_left_out(fields: bytes) -> None:
    assert frames_of(sealed(b"\x01k\x07\x00\x01v" + fields, b"x")) == [Frame({"k": "v"}, b"x")]


def test_a_frame_with_a_wrong_checksum_is_left_out_and_the_next_is_read() -> None:
    spoiled = bytearray(NO_HEADERS)
    spoiled[13] ^= 1
    stream = FrameStream()
    assert stream.feed(bytes(spoiled) + EMPTY) == [Frame({}, b"")]
    assert (stream.spoiled, stream.ended) == (1, False)


def prelude(total: int, headers: int) -> bytes:
    head = struct.pack(">II", total, headers)
    return head + struct.pack(">I", zlib.crc32(head))


@pytest.mark.parametrize(
    "beginning",
    [
        b"event: message\n",
        prelude(15, 0),
        prelude(20, 8),
        prelude(16 + 128 * 1024 + 1, 128 * 1024 + 1),
        prelude(16 + 24 * 1024 * 1024 + 1, 0),
    ],
)
def test_what_begins_no_frame_ends_the_reading(beginning: bytes) -> None:
    stream = FrameStream()
    assert stream.feed(EMPTY + beginning + EMPTY) == [Frame({}, b"")]
    assert stream.ended
    assert stream.feed(EMPTY) == []


def test_a_long_payload_is_scanned_as_it_passes() -> None:
    payload = json.dumps({"text": "x" * MAX_PAYLOAD_BYTES, "usage": {"inputTokens": 7}}).encode()
    data = frame({":event-type": "metadata"}, payload)
    stream = FrameStream((("usage",),))
    found = [item for at in range(0, len(data), 4096) for item in stream.feed(data[at : at + 4096])]
    assert [item.headers for item in found] == [{":event-type": "metadata"}]
    assert isinstance(found[0].payload, MemberScan)
    assert found[0].payload.result() == {"usage": {"inputTokens": 7}}


def test_a_long_payload_with_a_wrong_checksum_is_left_out() -> None:
    data = bytearray(frame({}, b" " * (MAX_PAYLOAD_BYTES + 1)))
    data[-1] ^= 1
    stream = FrameStream()
    assert stream.feed(bytes(data)) == []
    assert stream.spoiled == 1
    assert stream.feed(NO_HEADERS) == [Frame({}, b"{'foo':'bar'}")]
