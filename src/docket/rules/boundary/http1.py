"""HTTP/1.1 messages out of bytes and into bytes, for both sides of the boundary (RFC 9110, RFC 9112).

Rules:
1. Header names and values stay the bytes they were, in their order, repeated ones repeated.
2. A message whose framing two readers could take differently is refused: Content-Length beside
   Transfer-Encoding, differing lengths, codings other than a final `chunked`, bare CR, folded lines, blanks before
   a colon.
3. Bounded: a head has at most `MAX_HEAD_BYTES`; a body is handed on as it comes and never kept here.
4. A body that ends before its framing says so is broken, never complete.

It moves no bytes: `engines.boundary` owns the sockets.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

from docket.errors import InvalidDocumentError
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason

MAX_HEAD_BYTES = 256 * 1024
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"

Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]

_REQUEST_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([!-~\x80-\xff]+) HTTP/1\.([01])")
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: ([\t -~\x80-\xff]*))?")
_FIELD = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]++):[ \t]*+([\t -~\x80-\xff]*+)\r\n")
_FIELDS = re.compile(rb"(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]++:[\t -~\x80-\xff]*+\r\n)*+\r\n")
_CHUNK_SIZE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[\t -~\x80-\xff]*)?")
_MAX_CHUNK_LINE = 4096

HOP_BY_HOP = frozenset(
    (
        b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te",
        b"trailer", b"transfer-encoding", b"upgrade",
    )
)  # fmt: skip


def _malformed(detail: str) -> InvalidDocumentError:
    return InvalidDocumentError(Reason.MALFORMED_MESSAGE, detail)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHead:
    """A request line and its headers; `minor` is the digit after `HTTP/1.`."""

    method: str
    target: str
    minor: int = 1
    headers: Headers = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseHead:
    """A status line and its headers."""

    status: int
    reason: bytes = b""
    minor: int = 1
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Framing:
    """How a body ends: after `length` bytes, by its chunks, or (both unset) with the connection."""

    length: int | None = None
    chunked: bool = False


NO_BODY = Framing(length=0)
UNTIL_CLOSE = Framing()


def head_end(buffer: bytes | bytearray, start: int = 0) -> int:
    """Return where the head in `buffer` ends (after its empty line), or -1 while it is incomplete."""
    at = buffer.find(b"\r\n\r\n", max(0, start - 3))
    if at < 0:
        if len(buffer) > MAX_HEAD_BYTES:
            raise _malformed(f"a head is longer than {MAX_HEAD_BYTES} bytes")
        return -1
    if at > MAX_HEAD_BYTES:
        raise _malformed(f"a head is longer than {MAX_HEAD_BYTES} bytes")
    return at + 4


def parse_request(head: bytes) -> RequestHead:
    """Read a whole head, its empty line included; InvalidDocumentError (MALFORMED_MESSAGE) if it is none."""
    first, _, rest = head.partition(b"\r\n")
    match = _REQUEST_LINE.fullmatch(first)
    if match is None:
        raise _malformed("the request line is not METHOD TARGET HTTP/1.1")
    method, target, minor = match.groups()
    return RequestHead(
        method=method.decode("ascii"), target=target.decode("latin-1"), minor=int(minor), headers=_fields(rest)
    )


def parse_response(head: bytes) -> ResponseHead:
    """Read a whole response head, its empty line included."""
    first, _, rest = head.partition(b"\r\n")
    match = _STATUS_LINE.fullmatch(first)
    if match is None:
        raise _malformed("the status line is not HTTP/1.1 STATUS REASON")
    minor, status, reason = match.groups()
    return ResponseHead(status=int(status), reason=reason or b"", minor=int(minor), headers=_fields(rest))


class ParsedHeaders(tuple[tuple[bytes, bytes], ...]):  # noqa: SLOT001 - a tuple that carries more has a __dict__
    """The headers of a message that was read, with their values by lower-case name."""

    by_name: dict[bytes, list[bytes]]


def _fields(block: bytes) -> Headers:
    """Read field lines, each with its end, and the empty line after them."""
    fields: list[tuple[bytes, bytes]] = _FIELD.findall(block)
    # What the search has skipped is no field line, nor is a piece of one that it has found.
    if _FIELDS.fullmatch(block) is None:
        raise _malformed(f"the header line {_first_wrong(block)[:40]!r} is not NAME: VALUE")
    if b" \r\n" in block or b"\t\r\n" in block:
        fields = [(name, value.rstrip(b" \t")) for name, value in fields]
    by_name = dict[bytes, list[bytes]]()
    for name, value in fields:
        key = name.lower()
        if key in by_name:
            by_name[key].append(value)
        else:
            by_name[key] = [value]
    headers = ParsedHeaders(fields)
    headers.by_name = by_name
    return headers


def _first_wrong(block: bytes) -> bytes:
    return next((line for line in block[:-4].split(b"\r\n") if _FIELD.fullmatch(line + b"\r\n") is None), b"")


def values(headers: Headers, name: bytes) -> list[bytes]:
    """Return every value of the header `name` (lower case), in order."""
    if type(headers) is ParsedHeaders:
        return headers.by_name.get(name, [])
    return [value for key, value in headers if key.lower() == name]


def joined(headers: Headers, name: bytes) -> str:
    """Return the values of a header joined by commas, as text; empty where it is absent."""
    return b", ".join(values(headers, name)).decode("latin-1")


def elements(headers: Headers, name: bytes) -> list[str]:
    """Return the elements of a comma-separated header, lower-cased, without blanks."""
    found = values(headers, name)
    if not found:
        return []
    text = b", ".join(found).decode("latin-1").lower()
    return [part for item in text.split(",") if (part := item.strip())]


def _length(headers: Headers) -> int | None:
    found = values(headers, b"content-length")
    if not found:
        return None
    text = found[0]
    if len(found) > 1 or not text.isdigit():
        stated = {part.strip() for value in found for part in value.split(b",")}
        text = stated.pop()
        if stated:
            raise _malformed("the Content-Length is not one number")
    if not text.isdigit() or len(text) > 18:
        raise _malformed("the Content-Length is not one number")
    return int(text)


def _framing(headers: Headers, absent: Framing) -> Framing:
    codings, length = elements(headers, b"transfer-encoding"), _length(headers)
    if not codings:
        return absent if length is None else Framing(length)
    if length is not None:
        raise _malformed("a message states both Content-Length and Transfer-Encoding")
    if codings != ["chunked"]:
        raise _malformed("a transfer coding other than chunked is not read")
    return Framing(chunked=True)


def request_framing(head: RequestHead) -> Framing:
    """Return how a request's body ends; a request that states nothing has none."""
    framing = _framing(head.headers, NO_BODY)
    if framing.chunked and head.minor == 0:
        raise _malformed("an HTTP/1.0 message cannot be chunked")
    return framing


def response_framing(head: ResponseHead, method: str) -> Framing:
    """Return how the body of the reply to a `method` request ends."""
    if method == "HEAD" or head.status in (204, 304) or head.status < 200:
        return NO_BODY
    if method == "CONNECT" and head.status < 300:
        return NO_BODY
    return _framing(head.headers, UNTIL_CLOSE)


def keeps_alive(head: RequestHead | ResponseHead) -> bool:
    """Whether the connection may carry another message after this one."""
    wanted = elements(head.headers, b"connection")
    return "keep-alive" in wanted if head.minor == 0 else "close" not in wanted


def idle_seconds(head: ResponseHead) -> int | None:
    """Return how long a server says it keeps an idle connection (`Keep-Alive: timeout=5`), None if it does not say."""
    for item in elements(head.headers, b"keep-alive"):
        name, _, value = item.partition("=")
        if name.strip() == "timeout" and value.strip().isdigit():
            return int(value.strip()[:9])
    return None


def end_to_end(headers: Headers, *, also: tuple[bytes, ...] = ()) -> Headers:
    """Return the headers that go on: without the hop-by-hop ones, those Connection names, and `also`."""
    dropped = _hop_by_hop_and(also)
    wanted = elements(headers, b"connection")
    if wanted:
        # A length is framing: a message that names it as hop-by-hop would lose its end.
        dropped = dropped.union({item.encode("latin-1") for item in wanted} - {b"content-length"})
    return tuple([field for field in headers if field[0].lower() not in dropped])


@lru_cache(maxsize=16)
def _hop_by_hop_and(also: tuple[bytes, ...]) -> frozenset[bytes]:
    return HOP_BY_HOP.union(also)


def encode_request(head: RequestHead) -> bytes:
    """Return the bytes of a request head."""
    return _encode(f"{head.method} {head.target} HTTP/1.1\r\n".encode("latin-1"), head.headers)


def encode_response(head: ResponseHead) -> bytes:
    """Return the bytes of a response head, always as HTTP/1.1."""
    return _encode(b"HTTP/1.1 %d %b\r\n" % (head.status, head.reason), head.headers)


def _encode(first: bytes, headers: Headers) -> bytes:
    lines = [first]
    for name, value in headers:
        lines += (name, b": ", value, b"\r\n")
    lines.append(b"\r\n")
    return b"".join(lines)


def encode_chunk(data: bytes) -> bytes:
    """Return `data`, which must not be empty, as one chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


class BodyReader:
    """Takes the bytes of one body as they come and hands its content on; `leftover` follows the body.

    `ended` is set once the framing says the body is whole. After that nothing more is taken.
    """

    def __init__(self, framing: Framing) -> None:
        self.framing = framing
        self.leftover = b""
        self._left = framing.length or 0
        self.ended = framing.length == 0
        self._line = b""
        self._in_trailer = False
        self._after_data = False

    def feed(self, data: bytes) -> bytes:
        """Return the content in `data`; InvalidDocumentError if the chunks are not chunks."""
        if self.ended:
            self.leftover += data
            return b""
        if self.framing.chunked:
            return self._chunks(data)
        if self.framing.length is None:
            return data
        if len(data) < self._left:
            self._left -= len(data)
            return data
        content, self.leftover, self.ended = data[: self._left], data[self._left :], True
        return content

    def end_of_stream(self) -> bool:
        """Say that the connection ended; return whether the body is whole."""
        if self.framing == UNTIL_CLOSE:
            self.ended = True
        return self.ended

    def _chunks(self, data: bytes) -> bytes:
        content: list[bytes] = []
        at = 0
        while at < len(data):
            if self._left:
                piece = data[at : at + self._left]
                content.append(piece)
                at += len(piece)
                self._left -= len(piece)
                self._after_data = self._left == 0
                continue
            newline = data.find(b"\n", at)
            if newline < 0:
                self._line += data[at:]
                self._bound_line()
                break
            line, self._line = self._line + data[at:newline], b""
            at = newline + 1
            self._read_line(line)
            if self.ended:
                self.leftover = data[at:]
                break
        return content[0] if len(content) == 1 else b"".join(content)

    def _bound_line(self) -> None:
        if len(self._line) > _MAX_CHUNK_LINE:
            raise _malformed("a line between chunks is too long")

    def _read_line(self, line: bytes) -> None:
        if not line.endswith(b"\r") or len(line) > _MAX_CHUNK_LINE:
            raise _malformed("a line between chunks does not end in CR LF")
        line = line[:-1]
        if self._after_data:
            if line:
                raise _malformed("a chunk is longer than it says")
            self._after_data = False
        elif self._in_trailer:
            self.ended = not line
        else:
            match = _CHUNK_SIZE.fullmatch(line)
            if match is None:
                raise _malformed(f"{line[:40]!r} is not a chunk size")
            self._left = int(match[1], 16)
            self._in_trailer = self._left == 0
