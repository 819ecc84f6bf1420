"""The scripted provider's side of a WebSocket of the Responses API: messages in, the turns' events out.

Rules:
1. A ping is answered at once, a close too, and it ends the connection; what is no WebSocket ends it without a word.
2. The calls of a lane are answered one after another, lanes at the same time.
"""

from __future__ import annotations

import base64
import hashlib
from collections import deque
from collections.abc import Iterator

from docket.demo import responses
from docket.demo.answer import NUMBER, NUMBER_DIGITS
from docket.demo.asked import Asked, Wire
from docket.demo.http1 import Request
from docket.demo.replies import Replies, Reply
from docket.demo.script import Failure, Turn
from docket.rules.boundary.frames import FrameReader, Opcode, encode_frame

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class SocketTalk:
    """One socket; `asked` are the calls that have not begun to be answered."""

    def __init__(self, request: Request, replies: Replies) -> None:
        self.asked: deque[Reply] = deque()
        self._request = request
        self._replies = replies
        self._frames = FrameReader(masked=True)
        self._payload = bytearray()
        self._control = bytearray()

    def opening(self) -> bytes:
        """Return the answer to the handshake."""
        key = self._request.header("sec-websocket-key").encode("latin-1")
        accept = base64.b64encode(hashlib.sha1(key + _GUID).digest())  # noqa: S324 - RFC 6455, 4.2.2
        return (
            b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
            b"sec-websocket-accept: %b\r\nx-request-id: req_socket\r\n\r\n" % accept
        )

    def take(self, data: bytes) -> tuple[bytes, bool]:
        """Take bytes; return what is written at once, and whether the connection ends then."""
        out = bytearray()
        for piece in self._frames.feed(data):
            if not piece.is_control:
                self._payload += piece.payload
                if piece.closes:
                    self._message(bytes(self._payload))
                    self._payload.clear()
                continue
            self._control += piece.payload
            if piece.closes:
                if piece.opcode is not Opcode.PONG:
                    answer = Opcode.PONG if piece.opcode is Opcode.PING else Opcode.CLOSE
                    out += encode_frame(answer, bytes(self._control))
                self._control.clear()
        return bytes(out), self._frames.closed or self._frames.fault is not None

    def due(self, busy: tuple[str | None, ...]) -> list[Reply]:
        """Return the first call of every lane that is not busy."""
        taken: dict[str | None, Reply] = {}
        for reply in tuple(self.asked):
            if reply.lane not in busy and reply.lane not in taken:
                taken[reply.lane] = reply
                self.asked.remove(reply)
        return list(taken.values())

    def _message(self, payload: bytes) -> None:
        reply = self._replies.message_reply(self._request, payload)
        if reply is not None:
            self.asked.append(reply)


def messages_of(reply: Reply) -> Iterator[bytes]:
    """Yield the messages of a reply, its call's number in them."""
    asked = reply.exchange.asked or Asked(wire=Wire.RESPONSES, streaming=True)
    turn = reply.turn or Turn(failure=Failure(status=400, code="invalid_request_error", message="it cannot be read"))
    number = b"%0*d" % (NUMBER_DIGITS, reply.exchange.call or 0)
    for message in responses.messages(turn, asked):
        yield message.replace(NUMBER.encode(), number)
