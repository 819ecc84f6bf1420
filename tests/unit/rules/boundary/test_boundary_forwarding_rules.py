import pytest

from docket.rules.boundary.forwarding import (
    Address,
    asks_for_upgrade,
    has_dot_segment,
    reply_downstream,
    reply_of_new_length,
    request_altered,
    request_upstream,
)
from docket.rules.boundary.http1 import NO_BODY, Framing, RequestHead, ResponseHead


@pytest.mark.parametrize(
    ("url", "origin", "authority", "target"),
    [
        ("https://api.example/v1/x?a=b", ("https", "api.example", 443), "api.example", "/v1/x?a=b"),
        ("http://api.example:8080/%2F//y", ("http", "api.example", 8080), "api.example:8080", "/%2F//y"),
        ("https://api.example:443/", ("https", "api.example", 443), "api.example", "/"),
        ("http://[::1]:9/a", ("http", "::1", 9), "[::1]:9", "/a"),
        ("http://[::1]/a", ("http", "::1", 80), "[::1]", "/a"),
    ],
)
def test_addresses(url, origin, authority, target):
    assert Address.parse(url) == Address(origin, authority, target)


ADDRESS = Address.parse("https://api.example/v1/x")


def forwarded(*headers: tuple[bytes, bytes], framing: Framing = NO_BODY) -> tuple[tuple[bytes, bytes], ...]:
    head = RequestHead(method="POST", target="/tok/p/v1/x", headers=((b"Host", b"127.0.0.1"), *headers))
    sent = request_upstream(head, ADDRESS, framing)
    assert (sent.method, sent.target, sent.headers[0]) == ("POST", "/v1/x", (b"Host", b"api.example"))
    return sent.headers[1:]


def test_headers_go_on_as_they_are():
    kept = ((b"X-A", b"1"), (b"x-a", b"2"), (b"Content-Length", b"5"), (b"Accept-Encoding", b"gzip;q=1, Br"))
    assert forwarded(*kept, framing=Framing(length=5)) == kept


def test_what_is_dockets_is_replaced():
    sent = forwarded((b"Expect", b"100-continue"), (b"Transfer-Encoding", b"chunked"), framing=Framing(chunked=True))
    assert sent == ((b"Transfer-Encoding", b"chunked"),)


@pytest.mark.parametrize(
    ("offered", "asked"),
    [
        (b"gzip, lzma", b"gzip"),
        (b"lzma;q=1.0, zstd;q=0.5", b"zstd;q=0.5"),
        (b"*", b"gzip, deflate, br, zstd"),
        (b"*;q=0", b"gzip;q=0, deflate;q=0, br;q=0, zstd;q=0"),
        (b"lzma", b"identity"),
    ],
)
def test_codings_are_narrowed_to_those_that_can_be_read(offered, asked):
    assert forwarded((b"Accept-Encoding", offered)) == ((b"Accept-Encoding", asked),)


def test_an_altered_request_has_its_own_length_and_asks_for_no_coding():
    sent = ((b"Host", b"h"), (b"Content-Length", b"5"), (b"Accept-Encoding", b"br"), (b"A", b"b"))
    head = RequestHead(method="POST", target="/", headers=sent)
    assert request_altered(head, ADDRESS, 44).headers == (
        (b"Host", b"api.example"), (b"A", b"b"), (b"Accept-Encoding", b"identity"), (b"Content-Length", b"44"),
    )  # fmt: skip


def test_replies_keep_their_end_to_end_headers():
    head = ResponseHead(
        status=200, reason=b"Fine", headers=((b"Connection", b"close"), (b"A", b"b"), (b"Content-Length", b"3"))
    )
    assert reply_downstream(head) == ResponseHead(
        status=200, reason=b"Fine", headers=((b"A", b"b"), (b"Content-Length", b"3"))
    )
    assert reply_of_new_length(head).headers == ((b"A", b"b"),)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/v1/messages", False), ("/v1/..", True), ("/./x", True), ("/%2E%2e/x", True), ("/a/..%2Fb", True),
        ("/a/..%5cb", True), ("/a\\..\\b", True), ("/..a/b..", False), ("/v1/x.y", False),
    ],
)  # fmt: skip
def test_dot_segments_however_spelt(path, found):
    assert has_dot_segment(path) is found


def test_upgrades():
    def head(*headers):
        return RequestHead(method="GET", target="/", headers=headers)

    assert asks_for_upgrade(head((b"Connection", b"keep-alive, Upgrade"), (b"Upgrade", b"websocket")))
    assert not asks_for_upgrade(head((b"Connection", b"upgrade")))
    assert not asks_for_upgrade(head((b"Upgrade", b"websocket")))
