import pytest

from docket.errors import InvalidDocumentError
from docket.formats.reason import Reason
from docket.rules.boundary.http1 import (
    MAX_HEAD_BYTES,
    NO_BODY,
    UNTIL_CLOSE,
    BodyReader,
    Framing,
    RequestHead,
    ResponseHead,
    elements,
    encode_chunk,
    encode_request,
    encode_response,
    end_to_end,
    head_end,
    idle_seconds,
    joined,
    keeps_alive,
    parse_request,
    parse_response,
    request_framing,
    response_framing,
    values,
)

REQUEST = b"POST /a%2Fb?c=%20 HTTP/1.1\r\nHost: x\r\nX-Two: 1\r\nx-two:\t2 \r\nX-Odd: \xe9\r\n\r\n"


def test_a_request_head_keeps_its_bytes():
    head = parse_request(REQUEST)
    assert (head.method, head.target, head.minor) == ("POST", "/a%2Fb?c=%20", 1)
    assert tuple(head.headers) == ((b"Host", b"x"), (b"X-Two", b"1"), (b"x-two", b"2"), (b"X-Odd", b"\xe9"))
    assert values(head.headers, b"x-two") == [b"1", b"2"]
    assert values(tuple(head.headers), b"x-two") == [b"1", b"2"]
    assert joined(head.headers, b"x-two") == "1, 2"
    assert joined(head.headers, b"absent") == ""
    assert encode_request(head) == (
        b"POST /a%2Fb?c=%20 HTTP/1.1\r\nHost: x\r\nX-Two: 1\r\nx-two: 2\r\nX-Odd: \xe9\r\n\r\n"
    )


def test_a_response_head_keeps_its_bytes():
    head = parse_response(b"HTTP/1.0 529 Over \xfc loaded\r\nA: b\r\n\r\n")
    assert (head.status, head.reason, head.minor) == (529, b"Over \xfc loaded", 0)
    assert encode_response(head) == b"HTTP/1.1 529 Over \xfc loaded\r\nA: b\r\n\r\n"
    assert parse_response(b"HTTP/1.1 204\r\n\r\n") == ResponseHead(status=204, headers=())


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/2.0\r\n\r\n",
        b"GET  / HTTP/1.1\r\n\r\n",
        b"GET /a b HTTP/1.1\r\n\r\n",
        b"G\x00T / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nA : b\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: b\nB: c\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: \x00\r\n\r\n",
        b"GET / HTTP/1.1\r\n: b\r\n\r\n",
    ],
)
def test_what_is_no_request_is_refused(head):
    with pytest.raises(InvalidDocumentError) as caught:
        parse_request(head)
    assert caught.value.reason == Reason.MALFORMED_MESSAGE


@pytest.mark.parametrize("head", [b"HTTP/1.1 99 x\r\n\r\n", b"HTTP/2 200 OK\r\n\r\n", b"ICY 200 OK\r\n\r\n"])
def test_what_is_no_response_is_refused(head):
    with pytest.raises(InvalidDocumentError):
        parse_response(head)


def test_the_end_of_a_head_is_found_wherever_it_is_cut():
    for at in range(len(REQUEST)):
        assert head_end(REQUEST[:at]) == -1
        assert head_end(bytearray(REQUEST), at) == len(REQUEST)
    with pytest.raises(InvalidDocumentError, match="longer than"):
        head_end(b"a" * (MAX_HEAD_BYTES + 1))
    with pytest.raises(InvalidDocumentError, match="longer than"):
        head_end(b"a" * (MAX_HEAD_BYTES + 1) + b"\r\n\r\n")


def request(*headers: tuple[bytes, bytes], minor: int = 1) -> RequestHead:
    return RequestHead(method="POST", target="/", minor=minor, headers=headers)


def test_framing_of_requests():
    assert request_framing(request()) == NO_BODY
    assert request_framing(request((b"Content-Length", b"12"))) == Framing(length=12)
    assert request_framing(request((b"Content-Length", b"5"), (b"content-length", b"5, 5"))) == Framing(length=5)
    assert request_framing(request((b"Transfer-Encoding", b"Chunked"))) == Framing(chunked=True)


@pytest.mark.parametrize(
    "headers",
    [
        ((b"Content-Length", b"5"), (b"Content-Length", b"6")),
        ((b"Content-Length", b"+5"),),
        ((b"Content-Length", b""),),
        ((b"Content-Length", b"9" * 19),),
        ((b"Content-Length", b"5"), (b"Transfer-Encoding", b"chunked")),
        ((b"Transfer-Encoding", b"gzip, chunked"),),
        ((b"Transfer-Encoding", b"chunked, chunked"),),
        ((b"Transfer-Encoding", b"identity"),),
    ],
)
def test_framing_that_could_be_read_two_ways_is_refused(headers):
    with pytest.raises(InvalidDocumentError):
        request_framing(request(*headers))


def test_old_clients_send_no_chunks():
    with pytest.raises(InvalidDocumentError):
        request_framing(request((b"Transfer-Encoding", b"chunked"), minor=0))


@pytest.mark.parametrize(
    ("method", "status", "headers", "framing"),
    [
        ("GET", 200, ((b"Content-Length", b"3"),), Framing(length=3)),
        ("HEAD", 200, ((b"Content-Length", b"3"),), NO_BODY),
        ("GET", 204, (), NO_BODY),
        ("GET", 304, ((b"Content-Length", b"3"),), NO_BODY),
        ("GET", 100, (), NO_BODY),
        ("CONNECT", 200, (), NO_BODY),
        ("CONNECT", 403, (), UNTIL_CLOSE),
        ("GET", 200, (), UNTIL_CLOSE),
        ("GET", 200, ((b"Transfer-Encoding", b"chunked"),), Framing(chunked=True)),
    ],
)
def test_framing_of_replies(method, status, headers, framing):
    assert response_framing(ResponseHead(status=status, headers=headers), method) == framing


def test_keep_alive():
    assert keeps_alive(request())
    assert not keeps_alive(request((b"Connection", b"Close")))
    assert not keeps_alive(request(minor=0))
    assert keeps_alive(request((b"Connection", b"keep-alive"), minor=0))
    assert elements(((b"Connection", b" A ,, b"),), b"connection") == ["a", "b"]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(b"timeout=5, max=100", 5), (b"max=3,Timeout = 12", 12), (b"timeout=x", None), (b"timeout", None), (b"", None)],
)
def test_how_long_an_idle_connection_is_kept(value, seconds):
    assert idle_seconds(ResponseHead(status=200, headers=((b"Keep-Alive", value),))) == seconds


def test_hop_by_hop_headers_end_here():
    headers = (
        (b"Connection", b"X-Mine, content-length"), (b"X-Mine", b"1"), (b"Content-Length", b"2"), (b"TE", b"trailers"),
        (b"Upgrade", b"h2c"), (b"Keep", b"yes"), (b"Host", b"h"),
    )  # fmt: skip
    assert end_to_end(headers, also=(b"host",)) == ((b"Content-Length", b"2"), (b"Keep", b"yes"))
    assert end_to_end(((b"A", b"b"),)) == ((b"A", b"b"),)


def read(framing: Framing, *pieces: bytes) -> tuple[bytes, BodyReader]:
    reader = BodyReader(framing)
    return b"".join(reader.feed(piece) for piece in pieces), reader


def test_bodies_of_a_length():
    content, reader = read(Framing(length=5), b"ab", b"cdeXYZ", b"more")
    assert (content, reader.ended, reader.leftover) == (b"abcde", True, b"XYZmore")
    content, reader = read(Framing(length=5), b"ab")
    assert (content, reader.ended, reader.end_of_stream()) == (b"ab", False, False)
    content, reader = read(NO_BODY, b"next")
    assert (content, reader.ended, reader.leftover) == (b"", True, b"next")


def test_bodies_that_end_with_the_connection():
    content, reader = read(UNTIL_CLOSE, b"ab", b"c")
    assert (content, reader.ended) == (b"abc", False)
    assert reader.end_of_stream()


CHUNKS = b"4;ext=1\r\nabcd\r\n0A \r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nnext"


@pytest.mark.parametrize("size", [1, 2, 3, 7, len(CHUNKS)])
def test_chunked_bodies_however_they_are_cut(size):
    pieces = [CHUNKS[at : at + size] for at in range(0, len(CHUNKS), size)]
    content, reader = read(Framing(chunked=True), *pieces)
    assert (content, reader.ended, reader.leftover) == (b"abcd0123456789", True, b"next")
    assert reader.end_of_stream()


def test_a_chunk_is_encoded_with_its_size():
    assert encode_chunk(b"x" * 26) == b"1a\r\n" + b"x" * 26 + b"\r\n"


@pytest.mark.parametrize(
    "data",
    [
        b"zz\r\n",
        b"-1\r\n",
        b"\r\n",
        b"4\nabcd\r\n",
        b"4\r\nabcdX\r\n",
        b"4\r\nabcdefgh\r\n",
        b"f" * 16 + b"\r\n",
        b"1;" + b"x" * 5000,
        b"1;" + b"x" * 5000 + b"\r\n",
    ],
)
def test_what_are_no_chunks_is_refused(data):
    with pytest.raises(InvalidDocumentError):
        BodyReader(Framing(chunked=True)).feed(data)


def test_a_chunked_body_that_stops_is_not_whole():
    assert not read(Framing(chunked=True), b"4\r\nabcd\r\n0\r\n")[1].end_of_stream()
