"""The binary event stream of AWS services (`application/vnd.amazon.eventstream`) as bytes: frames, and nothing else.

A frame is a prelude (total length and length of the headers, 32 bits each, big-endian, and the CRC-32 of these eight
bytes), the headers, the payload, and the CRC-32 of all before it.

Rules:
1. The same bytes give the same frames however they are cut.
2. A payload is handed on whole up to 1 MiB; a longer one is read by a `MemberScan` as it passes.
3. A frame whose checksum is wrong is left out and counted: its length was right, so what follows is read on. Bytes
   that cannot begin a frame end the reading, for nobody could say where the next one begins.
4. Of the headers the texts are kept; the others are stepped over.

What the frames of a service mean is its wire's.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum, auto

from docket.formats.dataclass import dataclass
from docket.rules.providers.json_scan import MemberScan

CONTENT_TYPE = "application/vnd.amazon.eventstream"
MAX_PAYLOAD_BYTES = 1024 * 1024
PRELUDE_BYTES = 12
CRC_BYTES = 4
MAX_HEADER_BYTES = 128 * 1024
MAX_FRAME_BYTES = 24 * 1024 * 1024
# Bytes of a header's value by its type; text and bytes carry a length of their own, truth values have none.
_FIXED_BYTES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
_BYTES, _TEXT = 6, 7


class _Part(Enum):
    PRELUDE = auto()
    HEADERS = auto()
    PAYLOAD = auto()
    CHECK = auto()


@dataclass(frozen=True, slots=True)
class Frame:
    """One message: its text headers, and its payload or what a scan kept of it."""

    headers: Mapping[str, str]
    payload: bytes | MemberScan


class FrameStream:
    """Cuts a body into frames; `spoiled` counts those whose checksum was wrong, `ended` says that no more are read."""

    __slots__ = (
        "_crc", "_headers", "_held", "_left_bytes", "_part", "_payload", "_payload_bytes", "_scan", "_wanted", "ended",
        "spoiled",
    )  # fmt: skip

    def __init__(self, wanted: Iterable[tuple[str, ...]] = ()) -> None:
        self._wanted = tuple(wanted)
        self._held = bytearray()
        self._part = _Part.PRELUDE
        self._left_bytes = PRELUDE_BYTES
        self._crc = 0
        self._headers = self._payload = b""
        self._payload_bytes = 0
        self._scan: MemberScan | None = None
        self.spoiled = 0
        self.ended = False

    def feed(self, data: bytes) -> list[Frame]:
        """Return every frame that these bytes complete."""
        frames: list[Frame] = []
        at = 0
        while at < len(data) and not self.ended:
            piece = data[at : at + self._left_bytes]
            at += len(piece)
            self._left_bytes -= len(piece)
            self._take(piece)
            # A part of no bytes is over as soon as it begins.
            while not self._left_bytes and not self.ended:
                frames += self._next()
        return frames

    def _take(self, piece: bytes) -> None:
        if self._part is not _Part.CHECK:
            self._crc = zlib.crc32(piece, self._crc)
        if self._scan is not None and self._part is _Part.PAYLOAD:
            self._scan.feed(piece)
        else:
            self._held += piece

    def _next(self) -> Iterator[Frame]:
        """Go from a part that is whole to the next one."""
        held = bytes(self._held)
        self._held.clear()
        if self._part is _Part.PRELUDE:
            self._begin(held)
        elif self._part is _Part.HEADERS:
            self._headers = held
            self._scan = MemberScan(self._wanted) if self._payload_bytes > MAX_PAYLOAD_BYTES else None
            self._part, self._left_bytes = _Part.PAYLOAD, self._payload_bytes
        elif self._part is _Part.PAYLOAD:
            self._payload = held
            self._part, self._left_bytes = _Part.CHECK, CRC_BYTES
        else:
            if int.from_bytes(held, "big") == self._crc:
                yield Frame(_texts(self._headers), self._payload if self._scan is None else self._scan)
            else:
                self.spoiled += 1
            self._part, self._left_bytes, self._crc, self._scan = _Part.PRELUDE, PRELUDE_BYTES, 0, None

    def _begin(self, prelude: bytes) -> None:
        total_bytes, header_bytes, check = (int.from_bytes(prelude[at : at + 4], "big") for at in (0, 4, 8))
        self._payload_bytes = total_bytes - PRELUDE_BYTES - header_bytes - CRC_BYTES
        fits = header_bytes <= MAX_HEADER_BYTES and 0 <= self._payload_bytes <= MAX_FRAME_BYTES
        self.ended = not fits or check != zlib.crc32(prelude[:8])
        self._part, self._left_bytes = _Part.HEADERS, header_bytes


def _texts(data: bytes) -> dict[str, str]:
    """Return the text headers, as far as they can be read."""
    found: dict[str, str] = {}
    at = 0
    while at < len(data):
        name_at, name_end = at + 1, at + 1 + data[at]
        kind = data[name_end : name_end + 1]
        at = name_end + 1
        if not kind:
            break
        size = _FIXED_BYTES.get(kind[0])
        if size is None:
            if kind[0] not in (_BYTES, _TEXT):
                break
            size = int.from_bytes(data[at : at + 2], "big")
            at += 2
        if kind[0] == _TEXT:
            found[data[name_at:name_end].decode("utf-8", "replace")] = data[at : at + size].decode("utf-8", "replace")
        at += size
    return found
