"""Content codings, undone piece by piece for meters (RFC 9110, 8.4).

Rules:
1. Decoding is incremental and its memory bounded: at most 64 KiB are handed on at a time, whatever the ratio.
2. The codings are gzip, deflate (with or without its zlib wrapper), br and zstd; a list is undone from its end.
3. Bytes that do not decode end the decoding and are remembered; nothing is raised.
4. What a coding may grow to is bounded, by `MOST_GROWTH` times what came and some more, at each coding of a list: a
   few kilobytes could stand for more than a day's work. The bound falls at the same byte however the bytes are cut.

The bytes that pass to the agent are never these: they go on as they came.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, Protocol

from docket.formats.dataclass import replace
from docket.rules.providers.interface import Meter, Reading

PIECE_BYTES = 64 * 1024
MOST_GROWTH = 64
FREE_BYTES = 32 * 1024 * 1024
_MAX_CODINGS = 4
# The bound is reckoned anew at every multiple of this many bytes of what came.
_STRIDE_BYTES = 16 * 1024
# The largest window that the coding may use over HTTP (RFC 9659); a larger one is memory that a few bytes ask for.
_ZSTD_WINDOW_BYTES = 8 * 1024 * 1024
# A zstd block of a few bytes can stand for 128 KiB: short slices bound what one call can return.
_SLICE_BYTES = 256
_GZIP_BITS = zlib.MAX_WBITS | 16

Sink = Callable[[bytes], object]


class Decoder(Protocol):
    """Undoes one content coding, or a list of them."""

    @property
    def failed(self) -> bool:
        """Whether bytes were met that do not decode."""
        ...

    def feed(self, data: bytes, sink: Sink) -> None:
        """Decode the next bytes and hand the result to `sink` in pieces."""
        ...


class _Growth(NamedTuple):
    """How many bytes may come out of a coding: `free` ones, and `times` those that came."""

    free: int = FREE_BYTES
    times: int = MOST_GROWTH


_USUAL = _Growth()


def decoder(content_encoding: str, growth: _Growth = _USUAL) -> Decoder | None:
    """Return a decoder for a Content-Encoding field, None if it names a coding that is not known."""
    names = [name.strip().lower() for name in content_encoding.split(",")]
    codings = [name for name in names if name not in ("", "identity")]
    if len(codings) > _MAX_CODINGS or any(name not in _CODINGS for name in codings):
        return None
    return _Chain(tuple(_CODINGS[name]() for name in reversed(codings)), growth)


def decode_body(content_encoding: str, body: bytes, limit_bytes: int) -> bytes | None:
    """Return a whole body decoded, None if its coding is unknown, it does not decode, or it exceeds the limit."""
    chain = decoder(content_encoding, _Growth(limit_bytes + 1, 0))
    if chain is None:
        return None
    pieces = bytearray()

    for at in range(0, len(body), PIECE_BYTES):
        chain.feed(body[at : at + PIECE_BYTES], pieces.extend)
        if chain.failed or len(pieces) > limit_bytes:
            return None
    return bytes(pieces)


class DecodingMeter:
    """A meter that is fed what came over the wire."""

    __slots__ = ("_decoder", "_meter")

    def __init__(self, meter: Meter, undone: Decoder) -> None:
        self._meter = meter
        self._decoder = undone

    def feed(self, data: bytes) -> None:
        """Take the next encoded bytes."""
        self._decoder.feed(data, self._meter.feed)

    @property
    def visible_output_bytes(self) -> int:
        """UTF-8 bytes of model output seen so far."""
        return self._meter.visible_output_bytes

    def reading(self) -> Reading:
        """Return what has been read so far."""
        reading = self._meter.reading()
        if not self._decoder.failed:
            return reading
        # Whether the rest is there is not known here; the reply is not to be taken for broken by what was not read.
        note = reading.note or "the reply's content coding could not be undone to its end"
        return replace(reading, note=note, broken_off=False)


class UnknownCodingMeter:
    """The meter of a body in a coding that is not known: it counts bytes and reads nothing."""

    __slots__ = ("_bytes", "_coding")

    def __init__(self, coding: str) -> None:
        self._coding = coding[:64]
        self._bytes = 0

    def feed(self, data: bytes) -> None:
        """Count the bytes."""
        self._bytes += len(data)

    @property
    def visible_output_bytes(self) -> int:
        """All bytes of the body."""
        return self._bytes

    def reading(self) -> Reading:
        """Return that nothing can be read."""
        return Reading(note=f"the reply's content coding {self._coding!r} is not known")


def decoding(meter: Meter, content_encoding: str) -> Meter:
    """Return a meter that undoes the coding before it reads; without a coding the meter itself."""
    chain = decoder(content_encoding)
    if chain is None:
        return UnknownCodingMeter(content_encoding)
    return meter if isinstance(chain, _Chain) and not chain.stages else DecodingMeter(meter, chain)


class _TooMuchError(Exception):
    """More came out of a coding than is undone."""


class _Chain:
    __slots__ = ("_came_bytes", "_grown_bytes", "_growth", "_overrun", "stages")

    def __init__(self, stages: tuple[Decoder, ...], growth: _Growth) -> None:
        self.stages = stages
        self._growth = growth
        self._came_bytes = 0
        self._grown_bytes = [0] * len(stages)
        self._overrun = False

    @property
    def failed(self) -> bool:
        return self._overrun or any(stage.failed for stage in self.stages)

    def feed(self, data: bytes, sink: Sink) -> None:
        at = 0
        while at < len(data) and not self._overrun:
            size = _STRIDE_BYTES - self._came_bytes % _STRIDE_BYTES
            piece = data[at : at + size]
            at += len(piece)
            try:
                self._feed(piece, sink)
            except _TooMuchError:
                self._overrun = True
            self._came_bytes += len(piece)

    def _feed(self, piece: bytes, sink: Sink) -> None:
        stride = self._came_bytes // _STRIDE_BYTES + 1
        most_bytes = self._growth.free + self._growth.times * stride * _STRIDE_BYTES
        for number, stage in reversed(list(enumerate(self.stages))):
            sink = _into(stage, self._bounded(number, most_bytes, sink))
        sink(piece)

    def _bounded(self, number: int, most_bytes: int, sink: Sink) -> Sink:
        def take(piece: bytes) -> None:
            left_bytes = most_bytes - self._grown_bytes[number]
            self._grown_bytes[number] += len(piece)
            if len(piece) <= left_bytes:
                sink(piece)
                return
            if left_bytes > 0:
                sink(piece[:left_bytes])
            raise _TooMuchError

        return take


def _into(stage: Decoder, sink: Sink) -> Sink:
    return lambda piece: stage.feed(piece, sink)


class _Gzip:
    """gzip: members may follow one another; what follows a whole member and is none is padding (RFC 1952, 2.2)."""

    __slots__ = ("_ended", "_inner", "failed")

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(_GZIP_BITS)
        self._ended = False
        self.failed = False

    def feed(self, data: bytes, sink: Sink) -> None:
        while data and not self.failed:
            if self._inner.eof:
                self._ended = True
                self._inner = zlib.decompressobj(_GZIP_BITS)
            try:
                data = _inflate(self._inner, data, sink)
            except zlib.error:
                if self._ended:
                    return
                self.failed = True


class _Deflate:
    """deflate: the zlib format, whose wrapper some servers leave out; its first two bytes tell (RFC 1950, 2.2)."""

    __slots__ = ("_head", "_inner", "failed")

    def __init__(self) -> None:
        self._head = b""
        self._inner: zlib._Decompress | None = None
        self.failed = False

    def feed(self, data: bytes, sink: Sink) -> None:
        if self._inner is None:
            self._head += data
            if len(self._head) < 2:
                return
            data, wrapped = self._head, self._head[0] & 15 == 8 and int.from_bytes(self._head[:2], "big") % 31 == 0
            self._inner = zlib.decompressobj(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)
        while data and not self.failed and not self._inner.eof:
            try:
                data = _inflate(self._inner, data, sink)
            except zlib.error:
                self.failed = True


def _inflate(inner: zlib._Decompress, data: bytes, sink: Sink) -> bytes:
    """Hand on all that the input gives, piece by piece; return what follows the end of the stream."""
    while True:
        before = inner.copy()
        try:
            piece = inner.decompress(data, PIECE_BYTES)
        except zlib.error:
            _to_the_fault(before, data, sink)
            raise
        if piece:
            sink(piece)
        if inner.eof:
            return inner.unused_data
        data = inner.unconsumed_tail
        if not data and len(piece) < PIECE_BYTES:
            return b""


def _to_the_fault(inner: zlib._Decompress, data: bytes, sink: Sink) -> None:
    """Hand on what comes before the byte that does not decode, which the library drops with it."""
    left = [data[at : at + 1] for at in reversed(range(len(data)))]
    with suppress(zlib.error):
        while left:  # pragma: no branch - one of them is the fault
            _cut(inner.decompress(left.pop()), sink)


class _Brotli:
    __slots__ = ("_error", "_inner", "failed")

    def __init__(self) -> None:
        import brotli  # type: ignore[import-untyped]  # noqa: PLC0415 - most runs never meet the coding

        self._inner = brotli.Decompressor()
        self._error = brotli.error
        self.failed = False

    def feed(self, data: bytes, sink: Sink) -> None:
        # What a call gives before a fault is dropped with it: short slices leave little to drop.
        for at in range(0, len(data), _SLICE_BYTES):
            self._feed(data[at : at + _SLICE_BYTES], sink)

    def _feed(self, data: bytes, sink: Sink) -> None:
        while not self.failed and not self._inner.is_finished():
            try:
                piece = self._inner.process(data, output_buffer_limit=PIECE_BYTES)
            except self._error:
                self.failed = True
                return
            if not piece:
                return
            # The limit is a soft one, and the decompressor says it can accept more while it still holds output.
            _cut(piece, sink)
            data = b""


def _cut(piece: bytes, sink: Sink) -> None:
    for at in range(0, len(piece), PIECE_BYTES):
        sink(piece[at : at + PIECE_BYTES])


class _Zstd:
    __slots__ = ("_error", "_fresh", "_inner", "failed")

    def __init__(self) -> None:
        import zstandard  # noqa: PLC0415 - most runs never meet the coding

        self._fresh = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES).decompressobj
        self._inner = self._fresh()
        self._error = zstandard.ZstdError
        self.failed = False

    def feed(self, data: bytes, sink: Sink) -> None:
        for at in range(0, len(data), _SLICE_BYTES):
            rest = data[at : at + _SLICE_BYTES]
            while rest and not self.failed:
                rest = self._step(rest, sink)

    def _step(self, data: bytes, sink: Sink) -> bytes:
        try:
            piece = self._inner.decompress(data)
        except self._error:
            self.failed = True
            return b""
        _cut(piece, sink)
        if not self._inner.eof:
            return b""
        rest: bytes = self._inner.unused_data
        self._inner = self._fresh()
        return rest


_CODINGS: dict[str, Callable[[], Decoder]] = {
    "gzip": _Gzip,
    "x-gzip": _Gzip,
    "deflate": _Deflate,
    "br": _Brotli,
    "zstd": _Zstd,
}
