"""Content codings, against the libraries that write them."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from functools import cache

import brotli
import pytest
import zstandard

from docket.formats.run.usage import Usage
from docket.rules.providers.encoding import (
    PIECE_BYTES,
    UnknownCodingMeter,
    decode_body,
    decoder,
    decoding,
)
from docket.rules.providers.interface import Reading
from docket.rules.providers.openai_chat import OpenAiChat

TEXT = b'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}\n\n' * 5000
CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "GZIP ": gzip.compress,
    "deflate": zlib.compress,
    "deflate, identity": lambda data: zlib.compress(data)[2:-4],
    "br": brotli.compress,
    "zstd": zstandard.compress,
    "gzip, br": lambda data: brotli.compress(gzip.compress(data)),
    "": bytes,
    "identity": bytes,
}


@pytest.mark.parametrize("step", [1, 2, 3, 1000, 1 << 20])
@pytest.mark.parametrize("coding", CODINGS)
def test_what_was_encoded_comes_back(coding: str, step: int) -> None:
    encoded = CODINGS[coding](TEXT)
    chain = decoder(coding)
    assert chain is not None
    pieces: list[bytes] = []
    for at in range(0, len(encoded), step):
        chain.feed(encoded[at : at + step], pieces.append)
    assert b"".join(pieces) == TEXT
    assert not chain.failed


@cache
def bomb_of(coding: str, mib: int) -> bytes:
    return CODINGS[coding](bytes(mib * 1024 * 1024))


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_bomb_is_handed_on_in_small_pieces(coding: str) -> None:
    total = 30 * 1024 * 1024
    bomb = bomb_of(coding, 30)
    chain = decoder(coding)
    assert chain is not None
    sizes: list[int] = []
    chain.feed(bomb, lambda piece: sizes.append(len(piece)))
    assert sum(sizes) == total
    assert max(sizes) <= PIECE_BYTES


# 32 MiB are free, and 64 times every 16 KiB that have come or begun: deflate's 1:1028 is over that in the third 16 KiB,
# 64 MiB in the other two codings fit into one.
@pytest.mark.parametrize(("coding", "most_mib"), [("gzip", 35), ("deflate", 35), ("br", 33), ("zstd", 33)])
@pytest.mark.parametrize("step", [7, 1000, 10**9])
def test_what_grows_without_bound_is_left_off_at_one_byte_however_it_is_cut(
    coding: str, most_mib: int, step: int
) -> None:
    bomb = bomb_of(coding, 64)
    chain = decoder(coding)
    assert chain is not None
    sizes: list[int] = []
    for at in range(0, len(bomb), step):
        chain.feed(bomb[at : at + step], lambda piece: sizes.append(len(piece)))
    assert (chain.failed, sum(sizes)) == (True, most_mib * 1024 * 1024)


def test_a_bomb_in_a_bomb_costs_no_more_than_one() -> None:
    bomb = gzip.compress(gzip.compress(gzip.compress(bytes(2**28))))
    assert len(bomb) < 2000
    chain = decoder("gzip, gzip, gzip")
    assert chain is not None
    sizes: list[int] = []
    chain.feed(bomb, lambda piece: sizes.append(len(piece)))
    chain.feed(bomb, lambda piece: sizes.append(len(piece)))
    # One stride: 32 MiB and 64 times 16 KiB.
    assert (chain.failed, sum(sizes)) == (True, 33 * 1024 * 1024)
    assert decode_body("gzip, gzip, gzip", bomb, 1000) is None


def test_a_window_larger_than_http_allows_is_not_opened() -> None:
    def framed(bits: int) -> bytes:
        settings = zstandard.ZstdCompressionParameters(window_log=bits)
        frame = zstandard.ZstdCompressor(compression_params=settings).compressobj()
        return frame.compress(b"x" * 100) + frame.flush()

    assert decode_body("zstd", framed(23), 1000) == b"x" * 100
    assert decode_body("zstd", framed(24), 1000) is None


def test_a_whole_piece_at_the_end_is_not_held_back() -> None:
    for coding in ("gzip", "deflate", "br", "zstd"):
        assert decode_body(coding, CODINGS[coding](bytes(PIECE_BYTES)), PIECE_BYTES) == bytes(PIECE_BYTES)


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_members_may_follow_one_another(coding: str) -> None:
    encoded = CODINGS[coding](b"one ") + CODINGS[coding](b"two")
    assert decode_body(coding, encoded, 100) == b"one two"


def test_padding_after_a_gzip_member_is_nothing() -> None:
    assert decode_body("gzip", gzip.compress(b"one") + bytes(512), 100) == b"one"
    assert decode_body("gzip", gzip.compress(b"one") + b"junk", 100) == b"one"


def test_what_follows_the_end_of_deflate_and_br_is_ignored() -> None:
    assert decode_body("deflate", zlib.compress(b"one") + b"junk", 100) == b"one"
    chain = decoder("br")
    assert chain is not None
    pieces: list[bytes] = []
    chain.feed(brotli.compress(b"one"), pieces.append)
    chain.feed(b"junk", pieces.append)
    assert (pieces, chain.failed) == ([b"one"], False)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
@pytest.mark.parametrize("data", [b"\xff" * 40, b"\x00" * 40, b"hello there, this is text"])
def test_what_does_not_decode_fails_quietly(coding: str, data: bytes) -> None:
    chain = decoder(coding)
    assert chain is not None
    chain.feed(data, lambda _: None)
    chain.feed(data, lambda _: None)
    assert chain.failed
    assert decode_body(coding, data, 1000) is None


def test_a_body_over_its_limit_is_refused() -> None:
    assert decode_body("gzip", gzip.compress(bytes(1001)), 1000) is None
    assert decode_body("gzip", gzip.compress(bytes(1000)), 1000) == bytes(1000)
    assert decode_body("zstd", zstandard.compress(bytes(10_000_000)), 1000) is None
    assert decode_body("", b"abc", 2) is None


@pytest.mark.parametrize("coding", ["compress", "gzip, nonsense", "gzip, gzip, gzip, gzip, gzip"])
def test_an_unknown_coding(coding: str) -> None:
    assert decoder(coding) is None
    assert decode_body(coding, b"abc", 100) is None
    meter = decoding(OpenAiChat().meter("application/json", streaming=False), coding)
    assert isinstance(meter, UnknownCodingMeter)
    meter.feed(b"abc")
    assert meter.visible_output_bytes == 3
    assert meter.reading() == Reading(note=f"the reply's content coding {coding!r} is not known")


@pytest.mark.parametrize("coding", CODINGS)
def test_a_meter_reads_through_the_coding(coding: str) -> None:
    meter = decoding(OpenAiChat().meter("text/event-stream", streaming=True), coding)
    encoded = CODINGS[coding](TEXT + b'data: {"choices":[{"delta":{"content":"four"}}]}\n\n')
    for at in range(0, len(encoded), 500):
        meter.feed(encoded[at : at + 500])
    assert meter.reading().usage == Usage(input_tokens=3, output_tokens=4)
    assert meter.visible_output_bytes == 4


def test_a_coding_that_breaks_leaves_what_was_read() -> None:
    encoded = bytearray(gzip.compress(TEXT, 0))
    encoded[-8:] = b"\xff" * 8
    meter = decoding(OpenAiChat().meter("text/event-stream", streaming=True), "gzip")
    meter.feed(bytes(encoded))
    reading = meter.reading()
    assert reading.usage == Usage(input_tokens=3, output_tokens=4)
    assert reading.note == "the reply's content coding could not be undone to its end"
    assert reading.broken_off is False


def test_without_a_coding_the_meter_is_the_same() -> None:
    meter = OpenAiChat().meter("", streaming=True)
    assert decoding(meter, "identity") is meter


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
def test_what_servers_send_is_decoded(name: str) -> None:
    assert decoder(name) is not None


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
@pytest.mark.parametrize("step", [1, 5, 1000, 10**9])
def test_what_stands_before_a_fault_is_handed_on_however_it_is_cut(coding: str, step: int) -> None:
    # A whole stream of stored blocks; the length of the second one is spoilt.
    packer = zlib.compressobj(0, wbits=31 if coding == "gzip" else 15)
    first = packer.compress(b"a" * 100) + packer.flush(zlib.Z_FULL_FLUSH)
    spoilt = first + b"\x00\x05\x00\x05\x00" + b"bbbbb" * 100
    chain = decoder(coding)
    assert chain is not None
    pieces: list[bytes] = []
    for at in range(0, len(spoilt), step):
        chain.feed(spoilt[at : at + step], pieces.append)
    assert (b"".join(pieces), chain.failed) == (b"a" * 100, True)
