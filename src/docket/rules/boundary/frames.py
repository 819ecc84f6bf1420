"""WebSocket frames out of one side's bytes, and docket's own frames into bytes (RFC 6455, 5).

Rules:
1. The bytes stay as they came: a piece carries its part of the stream beside the payload that was read from it.
2. The same bytes give the same content however they are cut; a frame is handed on as it comes and never kept here.
3. What the RFC forbids is a fault: a mask on the wrong side, reserved bits or opcodes, control frames that are cut or
   long, a continuation of nothing, a length in more bytes than it needs, text that is no UTF-8, a close code that
   nobody may send, anything behind a close. What came before a fault is handed on; nothing behind it is read.

It knows nothing of messages' content, and no extension: none is ever agreed on.
"""

from __future__ import annotations

import codecs
import struct
from enum import IntEnum

from docket.formats.dataclass import dataclass

MAX_CONTROL_BYTES = 125


class Opcode(IntEnum):
    """What a frame is."""

    CONTINUATION = 0x0
    TEXT = 0x1
    BINARY = 0x2
    CLOSE = 0x8
    PING = 0x9
    PONG = 0xA


class CloseCode(IntEnum):
    """The codes docket sends (RFC 6455, 7.4.1)."""

    PROTOCOL_ERROR = 1002
    NOT_UTF8 = 1007


_KNOWN = frozenset(int(code) for code in Opcode)
_FORBIDDEN_CODES = (1004, 1005, 1006, 1015)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of one frame. `opcode` is that of its message; `raw` are its bytes on the wire, `payload` unmasked.

    `opens`: the frame begins a message, or is a control frame. `closes`: the piece is the last one of a message.
    """

    opcode: Opcode
    raw: bytes
    payload: bytes
    opens: bool
    closes: bool

    @property
    def is_control(self) -> bool:
        """Whether it is a ping, a pong or a close."""
        return self.opcode >= Opcode.CLOSE


@dataclass(frozen=True, slots=True)
class Fault:
    """Bytes that are no frame: the code to close with, and the sentence."""

    code: CloseCode
    detail: str


@dataclass(slots=True)
class _Frame:
    opcode: Opcode
    control: bool
    final: bool
    left: int
    mask: bytes
    opens: bool
    at: int = 0


class FrameReader:
    """Reads one side. `masked` says whether its frames must be; `fault` is set for good at the first one."""

    def __init__(self, *, masked: bool) -> None:
        self.fault: Fault | None = None
        self.closed = False
        self._masked = masked
        self._head = bytearray()
        self._frame: _Frame | None = None
        self._message: Opcode | None = None
        self._text = codecs.getincrementaldecoder("utf-8")()
        self._control = bytearray()

    @property
    def between_messages(self) -> bool:
        """Whether another frame may stand here, of whatever kind."""
        return self._frame is None and not self._head and self._message is None

    def feed(self, data: bytes) -> list[Piece]:
        """Return what these bytes hold, in order; after a fault, what came before it."""
        pieces: list[Piece] = []
        at = 0
        while at < len(data) and self.fault is None:
            if self.closed:
                self._wrong("there are bytes behind a close")
                break
            begun = at
            if self._frame is None:
                at = self._read_head(data, at)
                if self._frame is None:
                    break
            frame = self._frame
            payload = self._unmasked(frame, data[at : at + frame.left])
            at += len(payload)
            frame.left -= len(payload)
            head, self._head = bytes(self._head), bytearray()
            # The bytes of the head that came now stand in `_head` as well.
            raw = head + data[at - len(payload) : at] if head else data[begun:at]
            piece = self._piece(frame, raw, payload)
            if self.fault is None:
                pieces.append(piece)
        return pieces

    def _piece(self, frame: _Frame, raw: bytes, payload: bytes) -> Piece:
        over = frame.left == 0
        closes = over and frame.final
        opens, frame.opens = frame.opens, False
        if frame.control:
            self._control += payload
            if over:
                self._end_control(frame)
        elif frame.opcode is Opcode.TEXT:
            self._check_text(payload, final=closes)
        if over:
            self._frame = None
            if not frame.control:
                self._message = None if frame.final else frame.opcode
        return Piece(frame.opcode, raw, payload, opens, closes)

    def _read_head(self, data: bytes, at: int) -> int:
        head = self._head
        while (wanted := _head_bytes(head)) > len(head):
            taken = data[at : at + wanted - len(head)]
            if not taken:
                return at
            head += taken
            at += len(taken)
            if len(head) >= 2 and not self._allowed(head[0], head[1]):
                return at
        length, start = head[1] & 0x7F, 2
        if length >= 126:
            start = 4 if length == 126 else 10
            least, (length,) = (126, struct.unpack(">H", head[2:4])) if start == 4 else (
                1 << 16, struct.unpack(">Q", head[2:10])
            )  # fmt: skip
            if length < least or length >= 1 << 63:
                self._wrong("a length is not in its shortest form")
                return at
        mask = bytes(head[start : start + 4])
        control = bool(head[0] & 0x08)
        opcode = Opcode(head[0] & 0x0F)
        opens = opcode is not Opcode.CONTINUATION
        if not opens:
            opcode = self._message or opcode
        self._frame = _Frame(opcode, control, bool(head[0] & 0x80), length, mask, opens)
        return at

    def _allowed(self, first: int, second: int) -> bool:
        opcode, final = first & 0x0F, first & 0x80
        if first & 0x70:
            self._wrong("a reserved bit is set, and no extension was agreed on")
        elif opcode not in _KNOWN:
            self._wrong(f"the opcode {opcode} is not defined")
        elif bool(second & 0x80) is not self._masked:
            self._wrong("a frame is not masked" if self._masked else "a frame is masked")
        elif opcode >= Opcode.CLOSE and (not final or second & 0x7F > MAX_CONTROL_BYTES):
            self._wrong("a control frame is cut or too long")
        elif opcode == Opcode.CONTINUATION and self._message is None:
            self._wrong("a continuation continues nothing")
        elif opcode in (Opcode.TEXT, Opcode.BINARY) and self._message is not None:
            self._wrong("a message begins inside another")
        return self.fault is None

    def _unmasked(self, frame: _Frame, data: bytes) -> bytes:
        if not frame.mask or not data:
            return data
        turn = frame.at % 4
        frame.at += len(data)
        mask = (frame.mask[turn:] + frame.mask[:turn]) * (len(data) // 4 + 1)
        return masked_with(mask[: len(data)], data)

    def _check_text(self, payload: bytes, *, final: bool) -> None:
        try:
            self._text.decode(payload, final)
        except UnicodeDecodeError:
            self.fault = Fault(CloseCode.NOT_UTF8, "a text message is not UTF-8")

    def _end_control(self, frame: _Frame) -> None:
        payload = bytes(self._control)
        self._control.clear()
        if frame.opcode is not Opcode.CLOSE:
            return
        self.closed = True
        if len(payload) == 1 or (payload and not _may_be_sent(int.from_bytes(payload[:2]))):
            self._wrong("a close has no code that may be sent")
        try:
            payload[2:].decode("utf-8")
        except UnicodeDecodeError:
            self.fault = Fault(CloseCode.NOT_UTF8, "the reason of a close is not UTF-8")

    def _wrong(self, detail: str) -> None:
        self.fault = Fault(CloseCode.PROTOCOL_ERROR, detail)


def encode_frame(opcode: Opcode, payload: bytes) -> bytes:
    """Return one whole frame as a server sends it."""
    first = 0x80 | opcode
    if len(payload) < 126:
        return struct.pack(">BB", first, len(payload)) + payload
    if len(payload) < 1 << 16:
        return struct.pack(">BBH", first, 126, len(payload)) + payload
    return struct.pack(">BBQ", first, 127, len(payload)) + payload


def close_frame(fault: Fault) -> bytes:
    """Return the frame that tells of a fault."""
    return encode_frame(Opcode.CLOSE, struct.pack(">H", fault.code) + fault.detail.encode()[:120])


def masked_with(mask: bytes, data: bytes) -> bytes:
    """Return `data` with a mask of its own length over it; over it again, the data come back."""
    return (int.from_bytes(mask) ^ int.from_bytes(data)).to_bytes(len(data))


def _head_bytes(head: bytearray) -> int:
    """Return how many bytes the head has, as far as its beginning tells."""
    if len(head) < 2:
        return 2
    length = head[1] & 0x7F
    return 2 + {126: 2, 127: 8}.get(length, 0) + (4 if head[1] & 0x80 else 0)


def _may_be_sent(code: int) -> bool:
    return (1000 <= code <= 1014 and code not in _FORBIDDEN_CODES) or 3000 <= code <= 4999
