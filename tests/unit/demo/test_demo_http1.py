"""Requests out of bytes, by RFC 9112."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docket.demo.answer import Answer, json_answer
from docket.demo.http1 import MAX_HEAD_BYTES, BadRequestError, Request, RequestParser, chunk, response_head

POST = b"POST /v1/messages?beta=true HTTP/1.1\r\nHost: x\r\nX-A:  one \r\nx-a: two\r\nContent-Length: 3\r\n\r\nabc"
CHUNKED = (
    b"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3\r\nabc\r\nA;ext=1\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n"
)
GET = b"GET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n"


def parser(limit=1000):
    return RequestParser(max_body_bytes=limit)


def test_a_sized_request():
    (request,) = parser().feed(POST)
    assert request == Request(
        method="POST",
        target="/v1/messages?beta=true",
        headers=(("host", "x"), ("x-a", "one"), ("x-a", "two"), ("content-length", "3")),
        body=b"abc",
    )
    assert request.path == "/v1/messages"
    assert request.header("x-a") == "one, two"
    assert request.keeps_alive


def test_a_chunked_request_with_extension_and_trailer():
    (request,) = parser().feed(CHUNKED)
    assert request.body == b"abc0123456789"


def test_pipelined_requests_come_out_in_order():
    requests = parser().feed(POST + CHUNKED + GET)
    assert [request.method + request.path for request in requests] == ["POST/v1/messages", "POST/a", "GET/v1/models"]
    assert not requests[2].keeps_alive


@given(st.lists(st.integers(0, len(POST + CHUNKED + GET)), max_size=12))
def test_the_pieces_they_come_in_make_no_difference(places):
    data, reader, requests, last = POST + CHUNKED + GET, parser(), [], 0
    for place in [*sorted(places), len(data)]:
        requests += reader.feed(data[last:place])
        last = place
    assert [request.body for request in requests] == [b"abc", b"abc0123456789", b""]


def test_a_client_that_waits_for_permission_is_seen_until_its_body_came():
    reader = parser()
    assert reader.feed(b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n") == []
    assert reader.expects_continue
    assert [request.body for request in reader.feed(b"ok")] == [b"ok"]
    assert not reader.expects_continue


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET /\r\n\r\n",
        b"G ET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nbad name : x\r\n\r\n",
        b"GET / HTTP/1.1\r\n folded: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
        b"GET / HTTP/1.1\r\nx: " + b"y" * (MAX_HEAD_BYTES + 10),
        b"GET / HTTP/1.1\r\nx: " + b"y" * (MAX_HEAD_BYTES + 10) + b"\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * (MAX_HEAD_BYTES + 10),
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nx: " + b"1" * (MAX_HEAD_BYTES + 10),
    ],
)
def test_what_is_unclear_or_too_large_is_refused(data):
    with pytest.raises(BadRequestError):
        parser().feed(data)


def test_response_heads():
    answer = json_answer(200, {"a": 1})
    assert response_head(answer, length=7, keep_alive=True) == (
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 7\r\n\r\n"
    )
    odd = Answer(status=529, content_type="text/plain", pieces=(), body_bytes=None, headers=(("x", "y"),))
    assert response_head(odd, length=None, keep_alive=False, coding="gzip") == (
        b"HTTP/1.1 529 Status\r\ncontent-type: text/plain\r\nx: y\r\n"
        b"content-encoding: gzip\r\nvary: accept-encoding\r\n"
        b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    )


def test_a_chunk_has_its_size_in_hexadecimal():
    assert chunk(b"0123456789abcdef!") == b"11\r\n0123456789abcdef!\r\n"
