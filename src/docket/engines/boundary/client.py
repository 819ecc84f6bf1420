"""The agent's side: one connection, its requests one after another.

Rules:
1. Loopback TCP without delay; bytes are read as far as the exchange takes them, then reading stops.
2. `100 Continue` is sent once, when the body is wanted and none of it has come.
3. A reply that must not be taken for whole ends in a reset, never in a close.
4. Once switched the connection is bytes without framing, and each side ends by itself.

What comes after what on a connection is `serving`'s.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from docket.rules.boundary.http1 import (
    CONTINUE,
    LAST_CHUNK,
    UNTIL_CLOSE,
    BodyReader,
    Framing,
    RequestHead,
    ResponseHead,
    elements,
    encode_chunk,
    encode_response,
    head_end,
    keeps_alive,
    parse_request,
    request_framing,
)
from docket.rules.boundary.protocol import BodyChunk, BodyEnded, Event, Refuse

_MAX_UNREAD_BYTES = 1024 * 1024
_HARD_CLOSE = struct.pack("ii", 1, 0)


class ClientConnection(asyncio.BufferedProtocol):
    """One connection of the agent. `wake` is called when anything changes; `gone` says that the agent closed it."""

    def __init__(self, arrived: Callable[[ClientConnection], Callable[[], None]], room: memoryview) -> None:
        """Prepare for a connection; `arrived` is told of it and returns what is to be called on every change.

        `room` is what the loop reads into, the same for all connections: making it for each read takes longer than
        the read.
        """
        self._read_room = room
        self.gone = False
        self.can_write = True
        self.wake: Callable[[], None] = _nobody
        self._arrived = arrived
        self._transport: asyncio.Transport | None = None
        self._unread: deque[bytes] = deque()
        self._unread_bytes = 0
        self._paused = False
        self._buffer = bytearray()
        self._body: BodyReader | None = None
        self._expects = False
        self._keep = True
        self._method = ""
        self._minor = 1
        self._chunks = False
        self._switched = self._half_closed = False
        self._out: list[bytes] = []

    # ---- the loop's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport and tell of it."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - asyncio's own type for a stream
        self._transport = transport
        self.wake = self._arrived(self)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - there is one
        """Return the room to read into."""
        return self._read_room

    def buffer_updated(self, nbytes: int) -> None:
        """Keep what has come until the exchange takes it."""
        data = bytes(self._read_room[:nbytes])
        self._unread.append(data)
        self._unread_bytes += len(data)
        if self._unread_bytes > _MAX_UNREAD_BYTES and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        self.wake()

    def eof_received(self) -> bool:
        """Take the end of the agent's side for its going away, unless both sides end by themselves."""
        if self._switched:
            self._half_closed = True
        else:
            self.gone = True
        self.wake()
        return True

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - gone is gone
        """Note the loss."""
        self.gone = True
        self._transport = None
        self.wake()

    def pause_writing(self) -> None:
        """Note that the agent takes bytes slower than they come."""
        self.can_write = False

    def resume_writing(self) -> None:
        """Note that it keeps up again."""
        self.can_write = True
        self.wake()

    # ---- requests

    def next_head(self) -> RequestHead | None:
        """Return the next request's head, None while it is incomplete; InvalidDocumentError if it is none."""
        taken = self._take_head()
        if taken is None:
            return None
        head, rest = parse_request(taken[0]), taken[1]
        self._body = BodyReader(request_framing(head))
        self._method, self._minor = head.method, head.minor
        self._keep = keeps_alive(head) and head.minor == 1
        self._expects = "100-continue" in elements(head.headers, b"expect")
        if rest:
            self._unread.appendleft(rest)
            self._unread_bytes += len(rest)
        return head

    def _take_head(self) -> tuple[bytes, bytes] | None:
        """Return the bytes of a head, and what has come behind it."""
        scanned = len(self._buffer)
        if not scanned and len(self._unread) == 1:
            # A head mostly comes at once: then nothing is copied but itself and what follows it.
            data = self._pop()
            begin = _blank_lines(data)
            end = head_end(data, begin)
            if end >= 0:
                return data[begin:end], data[end:]
            self._buffer += data
        while self._unread:
            self._buffer += self._pop()
        if not scanned:
            del self._buffer[: _blank_lines(self._buffer)]
        end = head_end(self._buffer, scanned)
        if end < 0:
            return None
        head, rest = bytes(self._buffer[:end]), bytes(self._buffer[end:])
        self._buffer.clear()
        return head, rest

    def next_body(self) -> Event | None:
        """Return the next piece of the body, its end, or None if nothing new has come."""
        body = self._body
        if body is None:
            return None
        while not body.ended:
            if not self._unread:
                if self._expects:
                    self._expects = False
                    self._out.append(CONTINUE)
                    self.flush()
                if not self._half_closed:
                    return None
                body.end_of_stream()
                break
            content = body.feed(self._pop())
            if content:
                self._expects = False
                return BodyChunk(content)
        self._leave_body(body)
        return BodyEnded()

    def _leave_body(self, body: BodyReader) -> None:
        self._body = None
        if body.leftover:
            self._unread.appendleft(body.leftover)
            self._unread_bytes += len(body.leftover)

    def _pop(self) -> bytes:
        data = self._unread.popleft()
        self._unread_bytes -= len(data)
        if self._paused and self._unread_bytes <= _MAX_UNREAD_BYTES // 2 and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return data

    # ---- replies

    def refuse(self, refuse: Refuse) -> None:
        """Write a whole reply of docket's own."""
        head = refuse.head
        length = (b"Content-Length", b"%d" % len(refuse.body))
        self._start(ResponseHead(status=head.status, reason=head.reason, headers=(*head.headers, length)))
        self._chunks = False
        if self._method != "HEAD":
            self._out.append(refuse.body)

    def turn_away(self, refuse: Refuse) -> None:
        """Answer bytes that are no request, and take no more."""
        self._keep = False
        self.refuse(refuse)
        self.flush()

    def start(self, head: ResponseHead, framing: Framing) -> None:
        """Write the head of a reply that is passed on."""
        self._chunks = False
        if framing.length is None:
            self._chunks = self._minor == 1
            if self._chunks:
                coded = (*head.headers, (b"Transfer-Encoding", b"chunked"))
                head = ResponseHead(status=head.status, reason=head.reason, headers=coded)
            else:
                self._keep = False
        self._start(head)

    def switch(self, head: ResponseHead) -> None:
        """Write a head after which the connection is bytes without framing."""
        self._switched, self._keep, self._chunks = True, False, False
        self._body = BodyReader(UNTIL_CLOSE)
        self._out.append(encode_response(head))
        self.flush()

    def end_output(self) -> None:
        """Say that nothing more is written; what the agent sends is still read."""
        self.flush()
        if self._transport is not None and not self.gone:
            # A reset that the loop has not told of yet.
            with suppress(OSError):
                self._transport.write_eof()

    def send(self, data: bytes) -> None:
        """Write the next piece of a reply's body."""
        self._out.append(encode_chunk(data) if self._chunks else data)

    def finish(self) -> None:
        """End a whole reply."""
        if self._chunks:
            self._out.append(LAST_CHUNK)
        self.flush()

    def flush(self) -> None:
        """Hand what was written to the transport."""
        if not self._out:
            return
        out, self._out = self._out, []
        if self._transport is not None:
            self._transport.write(out[0] if len(out) == 1 else b"".join(out))

    def reset(self) -> None:
        """Break the connection so that the agent sees an error, not an end."""
        self._out.clear()
        self._keep = False
        transport, self._transport = self._transport, None
        if transport is not None:
            with suppress(OSError):
                transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _HARD_CLOSE)
            transport.abort()

    def close(self) -> None:
        """Close the connection once what was written has left."""
        self.flush()
        transport, self._transport = self._transport, None
        self.wake = _nobody
        if transport is not None:
            transport.close()

    @property
    def keeps_alive(self) -> bool:
        """Whether another request may follow the one that has been answered."""
        return self._keep and self._transport is not None and not self.gone

    @property
    def has_unread_body(self) -> bool:
        """Whether the agent is still sending the body of the request that has been answered."""
        unread = self._body is not None and not self._body.ended and not self._expects
        return unread and not self.gone and not self._switched

    def end_request(self) -> None:
        """Go on to the next request; a body that was not read to its end leaves no next one."""
        if self._body is not None:
            self._keep = self._keep and self._body.ended
            self._leave_body(self._body)

    def _start(self, head: ResponseHead) -> None:
        if not self._keep or (self._body is not None and not self._body.ended):
            self._keep = False
            closing = (*head.headers, (b"Connection", b"close"))
            head = ResponseHead(status=head.status, reason=head.reason, headers=closing)
        self._out.append(encode_response(head))


def _blank_lines(buffer: bytes | bytearray) -> int:
    """Return how many bytes of empty lines stand before a request (RFC 9112, 2.2)."""
    at = 0
    while buffer[at : at + 2] == b"\r\n":
        at += 2
    return at


def _nobody() -> None:
    """Wake nobody."""
