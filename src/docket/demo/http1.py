"""HTTP/1.1 as a server needs it: requests out of bytes, and response heads and chunks into bytes.

Rules (RFC 9112):
1. Incremental: bytes come in any pieces; requests come out whole, in order, pipelined ones too.
2. A body has a Content-Length or the chunked coding, never both; anything unclear is a `BadRequestError`.
3. HTTP/1.1 alone: no client of a provider speaks 1.0, and 1.0 has no framing for streams.
4. Bounded: a head has at most `MAX_HEAD_BYTES`, a body at most `max_body_bytes`.

It touches no socket: `demo.provider` moves the bytes.
"""

from __future__ import annotations

import re
from http import HTTPStatus

from docket.demo.answer import Answer
from docket.formats.dataclass import dataclass

MAX_HEAD_BYTES = 64 * 1024
CHUNKS_END = b"0\r\n\r\n"
_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_SIZE_LINE = re.compile(rb"([0-9a-fA-F]{1,8})(?:;[^\r\n]*)?")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")


class BadRequestError(Exception):
    """The bytes are no request; the connection cannot be used further."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A whole request; `headers` has lower-case names in the order they came."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    def header(self, name: str) -> str:
        """Return the values of a header joined by commas, empty where it is absent."""
        return ", ".join(value for key, value in self.headers if key == name)

    @property
    def keeps_alive(self) -> bool:
        """Whether the connection may carry another request."""
        return "close" not in self.header("connection").lower()


class RequestParser:
    """Bytes in, requests out. `expects_continue` is set while a client waits for permission to send a body."""

    def __init__(self, *, max_body_bytes: int) -> None:
        self.expects_continue = False
        self._max_body_bytes = max_body_bytes
        self._buffer = bytearray()
        self._head: Request | None = None
        self._length: int | None = None
        self._chunks = bytearray()

    def feed(self, data: bytes) -> list[Request]:
        """Take bytes; return the requests they complete. Raise BadRequestError."""
        self._buffer += data
        requests = []
        while (request := self._next()) is not None:
            requests.append(request)
        return requests

    def _next(self) -> Request | None:
        if self._head is None and not self._read_head():
            return None
        head = self._head
        if head is None:
            return None
        body = self._chunked_body() if self._length is None else self._sized_body(self._length)
        if body is None:
            return None
        self._head = None
        self.expects_continue = False
        return Request(method=head.method, target=head.target, headers=head.headers, body=body)

    def _read_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end > MAX_HEAD_BYTES or (end < 0 and len(self._buffer) > MAX_HEAD_BYTES):
            raise BadRequestError("the request head is too large")
        if end < 0:
            return False
        text = self._buffer[:end].decode("latin-1").lstrip("\r\n")
        del self._buffer[: end + 4]
        head = _parse_head(text)
        self._length = _body_length(head, self._max_body_bytes)
        self._head = head
        self._chunks.clear()
        self.expects_continue = head.header("expect").lower() == "100-continue"
        return True

    def _sized_body(self, length: int) -> bytes | None:
        if len(self._buffer) < length:
            return None
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        return body

    def _chunked_body(self) -> bytes | None:
        while (end := self._buffer.find(b"\r\n")) >= 0:
            match = _SIZE_LINE.fullmatch(self._buffer[:end])
            if match is None:
                raise BadRequestError("a chunk has no size")
            size = int(match.group(1), 16)
            if len(self._chunks) + size > self._max_body_bytes:
                raise BadRequestError("the body is too large")
            if size == 0:
                return self._trailer(end)
            if len(self._buffer) < end + 2 + size + 2:
                return None
            self._chunks += self._buffer[end + 2 : end + 2 + size]
            if self._buffer[end + 2 + size : end + 4 + size] != b"\r\n":
                raise BadRequestError("a chunk is longer than its size")
            del self._buffer[: end + 4 + size]
        if len(self._buffer) > MAX_HEAD_BYTES:
            raise BadRequestError("a chunk has no size")
        return None

    def _trailer(self, size_end: int) -> bytes | None:
        # The last chunk's own line break may begin the blank line that ends an empty trailer.
        end = self._buffer.find(b"\r\n\r\n", size_end)
        if end < 0:
            if len(self._buffer) > MAX_HEAD_BYTES:
                raise BadRequestError("the trailer is too large")
            return None
        del self._buffer[: end + 4]
        return bytes(self._chunks)


def response_head(answer: Answer, *, length: int | None, keep_alive: bool, coding: str = "identity") -> bytes:
    """Return a response's head; `length` None means the chunked coding."""
    phrase = _PHRASES.get(answer.status, "Status")
    lines = [f"HTTP/1.1 {answer.status} {phrase}", f"content-type: {answer.content_type}"]
    lines += [f"{name}: {value}" for name, value in answer.headers]
    if coding != "identity":
        lines += [f"content-encoding: {coding}", "vary: accept-encoding"]
    lines.append("transfer-encoding: chunked" if length is None else f"content-length: {length}")
    if not keep_alive:
        lines.append("connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


def chunk(data: bytes) -> bytes:
    """Return `data` as one chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def _parse_head(text: str) -> Request:
    first, *rest = text.split("\r\n")
    parts = first.split(" ")
    if len(parts) != 3 or parts[2] != "HTTP/1.1" or not _TOKEN.fullmatch(parts[0]):
        raise BadRequestError("the request line is not METHOD TARGET HTTP/1.1")
    headers = []
    for line in rest:
        name, colon, value = line.partition(":")
        if not colon or not _TOKEN.fullmatch(name):
            raise BadRequestError("a header line is not NAME: VALUE")
        headers.append((name.lower(), value.strip(" \t")))
    return Request(method=parts[0], target=parts[1], headers=tuple(headers))


def _body_length(head: Request, max_body_bytes: int) -> int | None:
    lengths = [value for name, value in head.headers if name == "content-length"]
    coding = head.header("transfer-encoding").lower()
    if coding:
        if lengths or coding != "chunked":
            raise BadRequestError("the body's framing is unclear")
        return None
    if not lengths:
        return 0
    if len(set(lengths)) != 1 or not re.fullmatch("[0-9]{1,12}", lengths[0]):
        raise BadRequestError("the Content-Length is not one number")
    if int(lengths[0]) > max_body_bytes:
        raise BadRequestError("the body is too large")
    return int(lengths[0])
