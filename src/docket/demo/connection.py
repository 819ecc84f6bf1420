"""One client connection of the scripted provider: requests in, paced answers out.

Rules:
1. An answer that nothing delays is written in one piece from a rendering kept for the next caller who asks alike.
2. Otherwise every piece is written as it is due; a slow reader stops the writer, so memory stays flat.
3. A cut resets the connection (no FIN), unless the script says that it ends cleanly.
"""

from __future__ import annotations

import asyncio
import hashlib
import socket
import struct
import zlib
from collections import deque
from collections.abc import Iterable, Iterator

from docket.demo.answer import NUMBER, NUMBER_DIGITS, json_answer
from docket.demo.http1 import CHUNKS_END, BadRequestError, Request, RequestParser, chunk, response_head
from docket.demo.replies import Replies, Reply
from docket.demo.script import Pace, Turn
from docket.demo.talk import SocketTalk, messages_of
from docket.formats.dataclass import dataclass, field
from docket.rules.boundary.frames import Opcode, encode_frame

MAX_WAITING = 64
_MARK = NUMBER.encode()
_RESET = struct.pack("ii", 1, 0)
# Bytes that are still on their way when the reset goes out are lost to the reader; loopback needs a moment.
_BEFORE_RESET_SECONDS = 0.05


@dataclass(slots=True, kw_only=True)
class ServerState:
    """What the connections of one server share; touched by the server's own thread alone."""

    replies: Replies
    max_body_bytes: int
    max_requests: int
    stop: asyncio.Event  # drop everything now
    full: asyncio.Event  # no more requests, finish what was begun
    gate: asyncio.Semaphore
    connections: set[Connection] = field(default_factory=set)
    renderings: dict[object, tuple[bytes, bytes]] = field(default_factory=dict)


class Connection(asyncio.Protocol):
    """The protocol of one accepted socket."""

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._parser = RequestParser(max_body_bytes=state.max_body_bytes)
        self._waiting: deque[Request] = deque()
        self._writable = asyncio.Event()
        self._writable.set()
        self._task: asyncio.Task[None] | None = None
        self._transport: asyncio.Transport | None = None
        self._permitted = False
        self._talk: SocketTalk | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport; small writes leave at once."""
        if isinstance(transport, asyncio.Transport):
            self._transport = transport
            self._socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._state.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and what was being written to it."""
        del exc
        self._state.connections.discard(self)
        self._transport = None
        self._writable.set()
        if self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        """The reader is slow: hold the writer."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """The reader has caught up."""
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        """Take bytes, answer the requests they complete."""
        if self._talk is not None:
            self._hear(self._talk, data)
            return
        try:
            requests = self._parser.feed(data)
        except BadRequestError as error:
            self._refuse(str(error))
            return
        if self._parser.expects_continue and not self._permitted:
            self._permitted = True
            self._write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if requests:
            self._permitted = False
            self._waiting.extend(requests)
            if len(self._waiting) > MAX_WAITING:
                self._refuse("too many requests at once")
                return
            self._serve()

    def abort(self) -> None:
        """Drop the connection now."""
        if self._task is not None:
            self._task.cancel()
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """Close the connection once what was written has left."""
        if self._transport is not None:
            self._transport.close()

    @property
    def task(self) -> asyncio.Task[None] | None:
        """The answer being written, if one is."""
        return self._task

    def _serve(self) -> None:
        while self._waiting and self._task is None and self._transport is not None and not self._state.full.is_set():
            request = self._waiting.popleft()
            if self._state.replies.switches(request):
                self._talk = SocketTalk(request, self._state.replies)
                self._write(self._talk.opening())
                return
            reply = self._state.replies.reply(request)
            self._obey(reply)
            if request.method == "HEAD" or reply.turn is None or reply.turn.immediate:
                self._write_whole(request, reply)
            else:
                self._task = asyncio.get_running_loop().create_task(self._write_paced(request, reply, reply.turn))
                self._task.add_done_callback(self._written)
            if self._state.replies.requests >= self._state.max_requests:
                self._state.full.set()
                return

    def _hear(self, talk: SocketTalk, data: bytes) -> None:
        at_once, ends = talk.take(data)
        self._write(at_once)
        if ends:
            self.close()
        else:
            self._go_on_talking(talk)

    def _go_on_talking(self, talk: SocketTalk) -> None:
        if self._task is None and talk.asked and self._transport is not None:
            self._task = asyncio.get_running_loop().create_task(self._talk_on(talk))
            self._task.add_done_callback(self._written)

    async def _talk_on(self, talk: SocketTalk) -> None:
        """Answer what was asked on a socket; lanes take turns, one message each."""
        answering: dict[str | None, tuple[Reply, Iterator[bytes]]] = {}
        while talk.asked or answering:
            for reply in talk.due(tuple(answering)):
                answering[reply.lane] = (reply, messages_of(reply))
            for lane, (reply, pieces) in tuple(answering.items()):
                turn = reply.turn or Turn()
                await self._due(turn.pace)
                message = next(pieces, None)
                cut = turn.cut is not None and reply.exchange.response_bytes >= (turn.cut.after_bytes or 0)
                if cut:
                    await asyncio.sleep(_BEFORE_RESET_SECONDS)
                    self._reset()
                    return
                if message is None:
                    del answering[lane]
                    reply.exchange.ended = "complete"
                else:
                    self._write(encode_frame(Opcode.TEXT, message))
                    reply.exchange.response_bytes += len(message)

    def _written(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled():
            task.result()
        if self._talk is not None:
            self._go_on_talking(self._talk)
        self._serve()

    def _obey(self, reply: Reply) -> None:
        for _ in range(reply.release):
            self._state.gate.release()
        if reply.stops:
            self._state.stop.set()

    def _write_whole(self, request: Request, reply: Reply) -> None:
        framed, body = self._rendering(request, reply)
        number = _number(reply)
        body = body.replace(_MARK, number)
        self._write(framed.replace(_MARK, number))
        _settle(reply, len(body), hashlib.sha256(body).hexdigest(), "complete")
        if not request.keeps_alive:
            self.close()

    def _rendering(self, request: Request, reply: Reply) -> tuple[bytes, bytes]:
        """Return the bytes for the socket and the body in them, the call's number still a mark."""
        chunked = reply.answer.body_bytes is None
        key = (reply.exchange.asked, reply.exchange.turn, chunked, request.keeps_alive)
        known = self._state.renderings.get(key) if reply.turn is not None else None
        if known is not None:
            return known
        pieces = list(reply.answer.pieces)
        body = b"".join(pieces)
        length = None if chunked else len(body)
        head = response_head(reply.answer, length=length, keep_alive=request.keeps_alive)
        framed = head + (b"".join(chunk(piece) for piece in pieces) + CHUNKS_END if chunked else body)
        if request.method == "HEAD":
            return head, b""
        if reply.turn is not None and len(self._state.renderings) < 256:
            self._state.renderings[key] = (framed, body)
        return framed, body

    async def _write_paced(self, request: Request, reply: Reply, turn: Turn) -> None:
        coding = turn.coding if turn.coding in request.header("accept-encoding") else "identity"
        # A coded body's length is unknown before it is coded, so that it is chunked like a stream.
        length = reply.answer.body_bytes if coding == "identity" else None
        written, digest = 0, hashlib.sha256()
        try:
            await asyncio.sleep(turn.pace.delay_ms / 1000)
            if turn.cut is not None and turn.cut.after_bytes is None:
                self._reset()
                _settle(reply, 0, digest.hexdigest(), "cut")
                return
            keep_alive = request.keeps_alive
            head = response_head(reply.answer, length=length, keep_alive=keep_alive, coding=coding)
            self._write(head.replace(_MARK, _number(reply)))
            for piece in _paced_pieces(_numbered(reply), turn, coding):
                await self._due(turn.pace)
                self._write(chunk(piece) if length is None else piece)
                written += len(piece)
                digest.update(piece)
            if _is_cut(turn, written):
                await self._cut(clean=turn.cut is not None and turn.cut.clean, chunked=length is None)
            else:
                self._write(CHUNKS_END if length is None else b"")
                if not keep_alive:
                    self.close()
            _settle(reply, written, digest.hexdigest(), "cut" if _is_cut(turn, written) else "complete")
        except asyncio.CancelledError:
            _settle(reply, written, digest.hexdigest(), "client-gone")
            raise

    async def _due(self, pace: Pace) -> None:
        if pace.gated:
            await self._state.gate.acquire()
        if pace.pause_ms:
            await asyncio.sleep(pace.pause_ms / 1000)
        if self._writable.is_set():
            # A writer that never waits would starve every other connection.
            await asyncio.sleep(0)
        else:
            await self._writable.wait()

    async def _cut(self, *, clean: bool, chunked: bool) -> None:
        if clean:
            self._write(CHUNKS_END if chunked else b"")
            self.close()
            return
        await asyncio.sleep(_BEFORE_RESET_SECONDS)
        self._reset()

    def _refuse(self, detail: str) -> None:
        answer = json_answer(400, {"error": {"type": "invalid_request_error", "message": detail}})
        self._write(response_head(answer, length=answer.body_bytes, keep_alive=False) + b"".join(answer.pieces))
        self.close()

    def _reset(self) -> None:
        if self._transport is not None:
            self._socket().setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self._transport.abort()

    def _socket(self) -> socket.socket:
        found = None if self._transport is None else self._transport.get_extra_info("socket")
        if found is None:
            raise ConnectionResetError("the connection is gone")
        return found  # type: ignore[no-any-return]

    def _write(self, data: bytes) -> None:
        if self._transport is not None and data:
            self._transport.write(data)


def _settle(reply: Reply, written: int, digest: str, ended: str) -> None:
    exchange = reply.exchange
    exchange.status = reply.answer.status
    exchange.response_bytes, exchange.response_sha256, exchange.ended = written, digest, ended


def _is_cut(turn: Turn, written: int) -> bool:
    return turn.cut is not None and turn.cut.after_bytes is not None and written >= turn.cut.after_bytes


def _number(reply: Reply) -> bytes:
    return b"%0*d" % (NUMBER_DIGITS, reply.exchange.call or 0)


def _numbered(reply: Reply) -> Iterator[bytes]:
    number = _number(reply)
    for piece in reply.answer.pieces:
        yield piece.replace(_MARK, number)


def _paced_pieces(pieces: Iterator[bytes], turn: Turn, coding: str) -> Iterator[bytes]:
    coded = pieces if coding == "identity" else _coded(pieces, coding)
    sized = coded if turn.pace.write_bytes is None else _sized(coded, turn.pace.write_bytes)
    return sized if turn.cut is None else _cut_short(sized, turn.cut.after_bytes or 0)


def _coded(pieces: Iterable[bytes], coding: str) -> Iterator[bytes]:
    # A flush after each piece, as servers of streams do: a reader sees every event when it is written.
    compressor = zlib.compressobj(wbits=31 if coding == "gzip" else 15)
    for piece in pieces:
        yield compressor.compress(piece) + compressor.flush(zlib.Z_SYNC_FLUSH)
    yield compressor.flush()


def _sized(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    for piece in pieces:
        for start in range(0, len(piece), max(size, 1)):
            yield piece[start : start + max(size, 1)]


def _cut_short(pieces: Iterable[bytes], limit: int) -> Iterator[bytes]:
    left = limit
    for piece in pieces:
        if left <= 0:
            return
        yield piece[:left]
        left -= len(piece)
