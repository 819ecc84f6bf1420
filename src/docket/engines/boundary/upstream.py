"""One connection to an upstream: a request written, its reply read into events.

Rules:
1. A connection carries one exchange at a time and is used again only after a whole reply and a whole request.
2. Reading stops while more than `_MAX_QUEUED_BYTES` wait to be passed on, so memory does not follow a reply's size.
3. A reply that ends before its framing says so is `UpstreamFailed`, never `UpstreamEnded`.
4. A connection that was switched is bytes without framing: the end of one side leaves the other open, where the
   transport can, and a connection that is given up is reset.

Opening and keeping connections is `pool`'s.
"""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
import struct
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from docket.errors import DocketError, InvalidDocumentError
from docket.formats.reason import Reason
from docket.rules.boundary.http1 import (
    LAST_CHUNK,
    UNTIL_CLOSE,
    BodyReader,
    ResponseHead,
    encode_chunk,
    encode_request,
    head_end,
    idle_seconds,
    keeps_alive,
    parse_response,
    response_framing,
)
from docket.rules.boundary.protocol import (
    Connect,
    Event,
    UpstreamChunk,
    UpstreamEnded,
    UpstreamFailed,
    UpstreamHead,
    UpstreamWhole,
)

_MAX_QUEUED_BYTES = 1024 * 1024
_HARD_CLOSE = struct.pack("ii", 1, 0)


class UpstreamConnection(asyncio.BufferedProtocol):
    """One connection; `wake` is called whenever something new can be had from it. `room` as `ClientConnection`'s."""

    def __init__(self, room: memoryview, *, switched: bool = False) -> None:
        """Prepare for a connection; `switched`: it is bytes without framing from its first one on."""
        self._read_room = room
        self.can_write = True
        self.idle_until = 0.0
        self.stated_idle_seconds: int | None = None
        self.wake: Callable[[], None] = wake_nobody
        self._transport: asyncio.Transport | None = None
        self._poll: select.poll | None = None
        self._events: deque[Event] = deque()
        self._queued_bytes = 0
        self._paused = False
        self._closed = False
        self._method = ""
        self._chunked = False
        self._expecting = False
        self._request_whole = True
        self._keeps = True
        self._upgrade = False
        self.switched = False
        self._buffer = bytearray()
        self._body: BodyReader | None = None
        if switched:
            self._expecting = True
            self._switch()

    # ---- the exchange's side

    def send(self, connect: Connect, wake: Callable[[], None]) -> None:
        """Begin an exchange: write the head, and the body where it is whole."""
        self.wake, self._method, self._chunked = wake, connect.head.method, connect.chunked
        self._expecting, self._body, self._keeps, self._upgrade = True, None, True, connect.upgrade
        self._request_whole = connect.body is not None
        head = encode_request(connect.head)
        if connect.body is None:
            self._write(head)
        elif connect.chunked:
            self._write(head + (encode_chunk(connect.body) if connect.body else b"") + LAST_CHUNK)
        elif len(connect.body) < _MAX_QUEUED_BYTES:
            self._write(head + connect.body)
        else:
            self._write(head)
            self._write(connect.body)

    def begin_bytes(self, wake: Callable[[], None]) -> None:
        """Begin with a connection that was made to be bytes without framing; some may have come already."""
        self.wake = wake

    def send_body(self, data: bytes) -> None:
        """Write the next piece of the body."""
        if data:
            self._write(encode_chunk(data) if self._chunked else data)

    def end_body(self) -> None:
        """Say that the body is whole."""
        if not self._request_whole and self._chunked:
            self._write(LAST_CHUNK)
        self._request_whole = True
        if self.switched and self._transport is not None and not self._closed and self._transport.can_write_eof():
            # A reset that the loop has not told of yet.
            with suppress(OSError):
                self._transport.write_eof()

    def next_event(self, *, whole: bool = False) -> Event | None:
        """Return the next thing the upstream said, None if there is none; `whole`: as one event what came at once."""
        if not self._events:
            return None
        event = self._events.popleft()
        if whole and isinstance(event, UpstreamHead) and event.framing.length is not None:
            return self._at_once(event)
        if isinstance(event, UpstreamChunk):
            self._queued_bytes -= len(event.data)
            if self._paused and self._queued_bytes <= _MAX_QUEUED_BYTES // 2 and self._transport is not None:
                self._paused = False
                self._transport.resume_reading()
        return event

    def _at_once(self, begun: UpstreamHead) -> Event:
        """Return the reply that begins so, as far as it goes to its end already."""
        if not self._events or not isinstance(self._events[-1], UpstreamEnded):
            return begun
        pieces: list[bytes] = []
        while isinstance(event := self.next_event(), UpstreamChunk):
            pieces.append(event.data)
        return UpstreamWhole(begun.head, begun.framing, b"".join(pieces))

    @property
    def transport(self) -> asyncio.Transport:
        """The transport of a connection that was made."""
        assert self._transport is not None  # noqa: S101 - asyncio calls connection_made before it hands us out
        return self._transport

    @property
    def reusable(self) -> bool:
        """Whether another exchange may follow: both sides were whole, and neither wants to close."""
        return self._request_whole and self._keeps and not self._expecting and not self._closed and self.can_write

    def is_fresh(self) -> bool:
        """Look at an idle connection without a wait: False once the upstream has closed it or spoken out of turn."""
        transport = self._transport
        if transport is None or self._closed or transport.is_closing():
            return False
        if self._poll is None:
            self._poll = select.poll()
            self._poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
        return not self._poll.poll(0)

    def abort(self) -> None:
        """Drop the connection; one that was switched is reset, for a plain end would mean something."""
        self.wake = wake_nobody
        self._events.clear()
        if self._transport is not None:
            if self.switched:
                with suppress(OSError):
                    self._transport.get_extra_info("socket").setsockopt(
                        socket.SOL_SOCKET, socket.SO_LINGER, _HARD_CLOSE
                    )
            self._transport.abort()

    def close(self) -> None:
        """Close the connection once what was written has left."""
        self.wake = wake_nobody
        self._events.clear()
        if self._transport is not None:
            self._transport.close()

    def _write(self, data: bytes) -> None:
        if self._transport is not None and not self._closed:
            self._transport.write(data)

    # ---- the loop's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - asyncio's own type for a stream
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - there is one
        """Return the room to read into."""
        return self._read_room

    def buffer_updated(self, nbytes: int) -> None:
        """Read what has come."""
        if not self._expecting:
            self._keeps = False
            if self._transport is not None:
                self._transport.abort()
            return
        try:
            self._read(bytes(self._read_room[:nbytes]))
        except InvalidDocumentError as error:
            self._fail(f"the upstream's reply is no HTTP/1.1: {error.detail}")
        self.wake()

    def eof_received(self) -> bool | None:
        """Take the end of the upstream's side."""
        self._ended("the upstream closed the connection before its reply was whole")
        # TLS has no end of one side alone.
        return self.switched and self._transport is not None and self._transport.get_extra_info("sslcontext") is None

    def connection_lost(self, exc: Exception | None) -> None:
        """Take the loss of the connection."""
        self._closed = True
        if self.switched and exc is not None:
            self._expecting = True  # the end of the other side is no end of this one
            self._fail(f"the connection to the upstream broke: {in_words(exc)}")
            return
        self._ended(
            "the upstream closed the connection before its reply was whole"
            if exc is None
            else f"the connection to the upstream broke: {in_words(exc)}"
        )

    def pause_writing(self) -> None:
        """Note that the upstream takes bytes slower than they come."""
        self.can_write = False

    def resume_writing(self) -> None:
        """Note that it keeps up again."""
        self.can_write = True
        self.wake()

    def _read(self, data: bytes) -> None:
        if self._body is None:
            data = self._heads(data)
            if self._body is None:
                return
        content = self._body.feed(data)
        if content:
            self._push(content)
        if self._body.ended:
            if self._body.leftover:
                self._keeps = False
            self._whole()

    def _heads(self, data: bytes) -> bytes:
        """Take the final head out of what has come, informational ones before it too; return what follows it."""
        if self._buffer:
            self._buffer += data
            if head_end(self._buffer) < 0:
                return b""
            data = bytes(self._buffer)
            self._buffer.clear()
        while True:
            end = head_end(data)
            if end < 0:
                self._buffer += data
                return b""
            head, data = parse_response(data[:end]), data[end:]
            if head.status == 101 and not self._upgrade:
                raise InvalidDocumentError(Reason.MALFORMED_MESSAGE, "it switches protocols unasked")
            if self._upgrade and (head.status == 101 or (self._method == "CONNECT" and 200 <= head.status < 300)):
                self._switch()
                self._events.append(UpstreamHead(head, UNTIL_CLOSE))
            elif head.status >= 200:
                self._begin(head)
            if self._body is not None:
                return data

    def _switch(self) -> None:
        self.switched, self._keeps, self._request_whole = True, False, False
        self._body = BodyReader(UNTIL_CLOSE)

    def _begin(self, head: ResponseHead) -> None:
        framing = response_framing(head, self._method)
        self._keeps = keeps_alive(head) and (framing.chunked or framing.length is not None)
        self.stated_idle_seconds = idle_seconds(head)
        self._body = BodyReader(framing)
        self._events.append(UpstreamHead(head, framing))

    def _push(self, content: bytes) -> None:
        self._events.append(UpstreamChunk(content))
        self._queued_bytes += len(content)
        if self._queued_bytes > _MAX_QUEUED_BYTES and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def _whole(self) -> None:
        self._expecting = False
        self._events.append(UpstreamEnded())

    def _ended(self, detail: str) -> None:
        self._keeps = False
        if not self._expecting:
            return
        if self._body is not None and self._body.end_of_stream():
            self._whole()
            self.wake()
        else:
            self._fail(detail)

    def _fail(self, detail: str) -> None:
        self._expecting = self._keeps = False
        self._events.append(UpstreamFailed(Reason.UPSTREAM_BROKEN, detail, sent=True))
        if self._transport is not None:
            self._transport.abort()
        self.wake()


def wake_nobody() -> None:
    """Wake nobody."""


def in_words(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, DocketError):
        return error.detail
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
