"""Bytes and headers through a real boundary over real sockets, against an upstream written for these tests."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.client
import json
import resource
import socket
import threading
import time

import pytest

from boundary_rig.raw_upstream import RawUpstream, chunk, chunked_head, hard_close, whole
from boundary_rig.replies import messages_events, messages_json, messages_request
from boundary_rig.rig import TOKEN, boundary, caps
from docket.formats.amount import Usd

PATH = f"/{TOKEN}/anthropic/v1/messages"


def ok(request, sock):
    sock.sendall(whole(messages_json()))
    return True


def read_head(sock: socket.socket) -> tuple[bytes, bytes]:
    buffer = b""
    while b"\r\n\r\n" not in buffer:
        data = sock.recv(65536)
        assert data, buffer
        buffer += data
    head, _, rest = buffer.partition(b"\r\n\r\n")
    return head, rest


def read_until_closed(sock: socket.socket) -> bytes:
    data = b""
    while piece := sock.recv(65536):
        data += piece
    return data


def request_bytes(body: bytes, *extra: str, path: str = PATH, host: str = "127.0.0.1") -> bytes:
    lines = [f"POST {path} HTTP/1.1", f"Host: {host}", f"Content-Length: {len(body)}", *extra]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


@pytest.mark.parametrize(
    "body",
    [
        b'{"model":"claude-sonnet-4-5","temperature":0.7,"max_tokens":5,"messages":[]}',
        b'{"model":"claude-sonnet-4-5","max_tokens":5,"messages":[{"role":"user","content":"\\ud800"}]}',
        b' {\n\t"max_tokens" : 1e1 ,\r\n "model":"claude-sonnet-4-5", "model":"claude-sonnet-4-5","messages":[ ] }  ',
        b"not json at all \x00\xff",
        b"",
    ],
)
def test_request_bodies_pass_byte_for_byte(tmp_path, body):
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url) as rig:
        status, _, got = rig.post(body)
        (asked,) = rig.data("model.request")
        assert (status, got) == (200, messages_json())
        assert upstream.requests[0].body == body
        assert asked["request_sha256"] == hashlib.sha256(body).hexdigest()
        assert asked["body_bytes"] == len(body)


def test_headers_pass_both_ways_and_hop_by_hop_ones_do_not(tmp_path):
    extra = (
        "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nrequest-id: req_9\r\nX-Odd:  \xe9 \r\n"
        "Connection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nRetry-After: 7\r\n"
    )

    def handler(request, sock):
        sock.sendall(whole(messages_json(), extra=extra))
        return True

    sent = (
        "X-Api-Key: secret", "anthropic-beta: a", "anthropic-beta: b", "X-STRANGE-case: \xfc", "TE: trailers",
        "Connection: X-Private, keep-alive", "X-Private: 1", "Proxy-Authorization: Basic eA==", "Upgrade: h2c",
        "Accept-Encoding: gzip, lzma;q=0.5",
    )  # fmt: skip
    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url) as rig:
        with rig.raw() as sock:
            sock.sendall(request_bytes(messages_request(), *sent))
            head, _rest = read_head(sock)
        (response,) = rig.data("model.response")
        forwarded = upstream.requests[0]
    lines = head.split(b"\r\n")
    assert lines[0] == b"HTTP/1.1 200 OK"
    assert [line for line in lines if line.startswith(b"Set-Cookie")] == [b"Set-Cookie: a=1", b"Set-Cookie: b=2"]
    assert b"X-Odd: \xe9" in lines
    assert b"Retry-After: 7" in lines
    assert not any(line.lower().startswith((b"x-hop", b"keep-alive", b"server", b"date")) for line in lines)
    assert forwarded.values("anthropic-beta") == ["a", "b"]
    assert b"X-STRANGE-case: \xfc" in forwarded.head.split(b"\r\n")
    assert forwarded.values("x-api-key") == ["secret"]
    assert forwarded.values("host") == [f"127.0.0.1:{upstream.port}"]
    assert forwarded.values("accept-encoding") == ["gzip"]
    for name in ("te", "x-private", "proxy-authorization", "upgrade", "connection"):
        assert forwarded.values(name) == []
    assert response["provider_request_id"] == "req_9"


def test_the_token_and_credentials_are_in_no_record(tmp_path):
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url) as rig:
        rig.post(messages_request(), "/anthropic/v1/messages?key=secret-1", {"Authorization": "Bearer secret-2"})
        with rig.raw() as sock:
            sock.sendall(b"GET /secret-3 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert read_head(sock)[0].startswith(b"HTTP/1.1 404 ")
        rig.stop()
        text = rig.ledger.path.read_text()
        assert "?key=secret-1" in upstream.requests[0].line
    assert TOKEN not in text
    assert "secret" not in text


def test_a_key_that_a_provider_repeats_in_its_error_is_not_recorded(tmp_path):
    def repeats(request, sock):
        words = f"wrong key {request.values('x-api-key')[0]} at {request.line.split()[1]}"
        sock.sendall(whole(json.dumps({"error": {"message": words}}).encode(), status="401 Unauthorized"))
        return True

    with RawUpstream(repeats) as upstream, boundary(tmp_path, upstream.url) as rig:
        path, key = "/anthropic/v1/messages?key=secret-01", {"X-Api-Key": "secret-02"}
        status, _, answer = rig.post(messages_request(), path, key)
        assert (status, b"secret-02" in answer) == (401, True)
        rig.stop()
        (error,) = rig.data("model.error")
        assert error["error"] == "wrong key … at /v1/messages?key=…"
        assert "secret" not in rig.ledger.path.read_text()


def test_each_chunk_arrives_before_the_upstream_sends_the_next(tmp_path):
    events = messages_events(texts=("one", "two", "three"))
    arrived = threading.Semaphore(0)

    def handler(request, sock):
        sock.sendall(chunked_head())
        for event in events:
            sock.sendall(chunk(event))
            assert arrived.acquire(timeout=10), "the piece before this one has not arrived"
        sock.sendall(b"0\r\n\r\n")
        return True

    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url) as rig:
        with rig.raw() as sock:
            sock.sendall(request_bytes(messages_request(stream=True)))
            head, body = read_head(sock)
            for event in events:
                expected = chunk(event)
                while len(body) < len(expected):
                    body += sock.recv(65536)
                assert body[: len(expected)] == expected
                body = body[len(expected) :]
                arrived.release()
            while not body.endswith(b"0\r\n\r\n"):
                body += sock.recv(65536)
        (response,) = rig.data("model.response")
    assert b"Transfer-Encoding: chunked" in head
    assert response["outcome"] == "complete"


def test_a_large_stream_is_identical_and_memory_flat(tmp_path):
    piece = messages_events(texts=("w" * 60_000,))[2]
    events = messages_events(texts=())
    count = 50_000_000 // len(piece) + 1
    digest = hashlib.sha256(events[0] + events[1] + piece * count + b"".join(events[2:]))

    def handler(request, sock):
        sock.sendall(chunked_head())
        for event in (*events[:2], *[piece] * count, *events[2:]):
            sock.sendall(chunk(event))
        sock.sendall(b"0\r\n\r\n")
        return True

    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url) as rig:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        connection = rig.connect()
        connection.request("POST", PATH, messages_request(stream=True))
        reply = connection.getresponse()
        got, size = hashlib.sha256(), 0
        while data := reply.read(65536):
            got.update(data)
            size += len(data)
        connection.close()
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        (response,) = rig.data("model.response")
    assert size > 50_000_000
    assert got.hexdigest() == digest.hexdigest() == response["response_sha256"]
    assert response["response_bytes"] == size
    assert grown < 40_000, f"{grown} KiB more"


def test_a_large_request_and_a_chunked_one(tmp_path):
    body = messages_request(messages=[{"role": "user", "content": "x" * 52_000_000}])
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url) as rig:
        assert rig.post(body)[0] == 200
        assert upstream.requests[0].body == body
        small = messages_request()
        with rig.raw() as sock:
            sock.sendall(f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
            for at in range(0, len(small), 7):
                sock.sendall(chunk(small[at : at + 7]))
            sock.sendall(b"0\r\nX-Trailer: 1\r\n\r\n")
            assert read_head(sock)[0].startswith(b"HTTP/1.1 200 ")
        assert upstream.requests[1].body == small
        assert upstream.requests[1].values("content-length") == []
        assert upstream.requests[1].values("transfer-encoding") == ["chunked"]


def test_expect_100_continue_is_answered_before_the_body_is_sent(tmp_path):
    body = messages_request()
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url) as rig:
        with rig.raw() as sock:
            sock.sendall(request_bytes(b"", "Expect: 100-continue").replace(b"Length: 0", b"Length: %d" % len(body)))
            assert read_head(sock) == (b"HTTP/1.1 100 Continue", b"")
            sock.sendall(body)
            assert read_head(sock)[0].startswith(b"HTTP/1.1 200 ")
        assert upstream.requests[0].values("expect") == []
        assert upstream.requests[0].body == body


def test_connections_are_used_again_on_both_sides(tmp_path):
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url) as rig:
        with rig.raw() as sock:
            for _ in range(5):
                sock.sendall(request_bytes(messages_request()))
                _head, rest = read_head(sock)
                while len(rest) < len(messages_json()):
                    rest += sock.recv(65536)
            sock.sendall(request_bytes(messages_request()) * 3)
            got = b""
            while got.count(messages_json()) < 3:
                got += sock.recv(65536)
        assert upstream.connections == 1
        assert len(upstream.requests) == 8


def test_an_idle_connection_that_the_upstream_closed_is_replaced(tmp_path):
    closed = threading.Event()

    def handler(request, sock):
        sock.sendall(whole(messages_json()))
        if request.connection == 1:
            sock.close()
            closed.set()
            return False
        return True

    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url) as rig:
        for _ in range(3):
            assert rig.post(messages_request())[0] == 200
            assert closed.wait(10)
        assert upstream.connections == 2
        assert len(upstream.requests) == 3


def test_an_idle_connection_is_not_kept_to_the_end_of_its_stated_time(tmp_path):
    def handler(request, sock):
        sock.sendall(whole(messages_json(), extra="Keep-Alive: timeout=1\r\n"))
        return True

    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url) as rig:
        for _ in range(3):
            assert rig.post(messages_request())[0] == 200
        assert upstream.connections == 3


def test_a_request_that_was_sent_is_never_sent_twice(tmp_path):
    def handler(request, sock):
        if len(upstream.requests) == 1:
            sock.sendall(whole(messages_json()))
            return True
        return False

    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url) as rig:
        assert rig.post(messages_request())[0] == 200
        status, _headers, body = rig.post(messages_request())
        assert status == 502
        assert json.loads(body)["type"] == "error"
        assert len(upstream.requests) == 2
        (error,) = rig.data("model.error")
    assert error["reason"] == "upstream_broken"
    assert error["call"] == 2


def test_an_upstream_that_breaks_mid_stream_resets_the_client(tmp_path):
    events = messages_events(texts=("some words",))

    def handler(request, sock):
        sock.sendall(chunked_head() + chunk(events[0]) + chunk(events[1]) + chunk(events[2]))
        arrived.wait(10)
        hard_close(sock)
        return False

    arrived = threading.Event()
    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url) as rig:
        with rig.raw() as sock:
            sock.sendall(request_bytes(messages_request(stream=True)))
            got = b""
            while b"some words" not in got:
                got += sock.recv(65536)
            arrived.set()
            with pytest.raises(ConnectionResetError):
                read_until_closed(sock)
        (response,) = rig.data("model.response")
    assert response["outcome"] == "upstream_broken"
    assert response["usage_source"] == "estimated"
    # The input was reported (100); ten letters were shown, which is three tokens.
    assert response["usage"] == {"input_tokens": 100, "cached_input_tokens": 0, "output_tokens": 3}


def test_a_stream_that_ends_with_its_connection_and_without_its_last_event_is_broken(tmp_path):
    def handler(request, sock):
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + messages_events()[0])
        return False

    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url) as rig:
        with rig.raw() as sock:
            sock.sendall(request_bytes(messages_request(stream=True)))
            with pytest.raises(ConnectionResetError):
                read_until_closed(sock)
        (response,) = rig.data("model.response")
    assert response["outcome"] == "upstream_broken"


def test_a_body_shorter_than_its_length_is_broken(tmp_path):
    def handler(request, sock):
        sock.sendall(whole(messages_json())[:-20])
        return False

    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url) as rig:
        connection = rig.connect()
        connection.request("POST", PATH, messages_request())
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            connection.getresponse().read()
        connection.close()
        (response,) = rig.data("model.response")
    assert response["outcome"] == "upstream_broken"


def test_a_client_that_goes_away_cancels_the_upstream_and_is_billed_for_what_was_seen(tmp_path):
    events = messages_events(texts=("twelve chars",) * 10)
    gone = threading.Event()

    def handler(request, sock):
        sock.sendall(chunked_head())
        for event in events[:7]:
            sock.sendall(chunk(event))
        with contextlib.suppress(ConnectionError):
            assert sock.recv(1) == b""
        gone.set()
        return False

    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url) as rig:
        with rig.raw() as sock:
            sock.sendall(request_bytes(messages_request(stream=True)))
            got = b""
            while got.count(b"twelve chars") < 5:
                got += sock.recv(65536)
        assert gone.wait(10)
        (response,) = rig.data("model.response")
        assert rig.end.state.in_flight == 0
    assert response["outcome"] == "client_gone"
    assert response["usage_source"] == "estimated"
    # 100 in was reported; five times twelve letters are 60 bytes, 15 tokens: 300 + 225 micro-dollars.
    assert response["usage"]["output_tokens"] == 15
    assert response["cost_usd"] == "0.000525"


def test_a_client_that_leaves_after_the_last_event_is_billed_as_reported(tmp_path):
    def handler(request, sock):
        sock.sendall(chunked_head() + b"".join(chunk(event) for event in messages_events()))
        with contextlib.suppress(ConnectionError):
            sock.recv(1)
        return False

    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url) as rig:
        with rig.raw() as sock:
            sock.sendall(request_bytes(messages_request(stream=True)))
            got = b""
            while b"message_stop" not in got:
                got += sock.recv(65536)
        deadline = time.monotonic() + 10
        while rig.boundary.snapshot().calls == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        (response,) = rig.data("model.response")
    assert (response["outcome"], response["usage_source"]) == ("complete", "reported")
    assert response["cost_usd"] == "0.001050"


def test_a_slow_upstream_is_waited_for(tmp_path):
    def handler(request, sock):
        time.sleep(0.3)
        sock.sendall(whole(messages_json())[:20])
        time.sleep(0.3)
        sock.sendall(whole(messages_json())[20:])
        return True

    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url) as rig:
        assert rig.post(messages_request())[2] == messages_json()
        (response,) = rig.data("model.response")
    assert response["latency_ms"] >= 600


def test_errors_pass_on_with_their_headers_and_cost_nothing(tmp_path):
    body = json.dumps({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}).encode()

    def handler(request, sock):
        sock.sendall(whole(body, status="529 Overloaded", extra="retry-after: 3\r\nx-should-retry: true\r\n"))
        return True

    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url) as rig:
        status, headers, got = rig.post(messages_request())
        (error,) = rig.data("model.error")
        assert rig.end.state.calls == 0
    assert (status, got) == (529, body)
    assert (headers["retry-after"], headers["x-should-retry"]) == ("3", "true")
    assert (error["status"], error["error"], error["reason"]) == (529, "busy", "upstream_status")


def test_an_unreachable_upstream_is_a_502_in_the_protocols_shape(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with boundary(tmp_path, f"http://127.0.0.1:{port}") as rig:
        status, _, body = rig.post(messages_request())
        (error,) = rig.data("model.error")
        assert rig.end.state.in_flight == 0
    assert status == 502
    assert "cannot be reached" in json.loads(body)["error"]["message"]
    assert error["reason"] == "upstream_unreachable"


def test_a_free_endpoint_that_bills_is_booked_and_a_method_in_disguise_refused(tmp_path):
    def handler(request, sock):
        body = b'{"model":"claude-sonnet-4-5","usage":{"input_tokens":1000,"output_tokens":100}}'
        sock.sendall(whole(gzip.compress(body), extra="Content-Encoding: gzip\r\n"))
        return True

    policy = caps(max_usd=Usd.parse("1"))
    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url, policy=policy) as rig:
        connection = rig.connect()
        for headers in ({}, {"X-HTTP-Method-Override": "POST"}):
            connection.request("GET", f"/{TOKEN}/anthropic/v1/messages", headers=headers)
            reply = connection.getresponse()
            reply.read()
            assert reply.status == (400 if headers else 200)
        connection.close()
        (response,), (denied,) = rig.data("model.response"), rig.data("model.denied")
        assert rig.end.state.spent == Usd.parse("0.0045")
        assert len(upstream.requests) == 1
    assert (response["cost_usd"], response["usage"]["input_tokens"]) == ("0.004500", 1000)
    assert denied["reason"] == "unknown_endpoint"


def test_free_endpoints_pass_and_are_no_calls(tmp_path):
    def handler(request, sock):
        if request.line.startswith("HEAD"):
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
        else:
            sock.sendall(whole(b'{"input_tokens":3}'))
        return True

    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url) as rig:
        connection = rig.connect()
        for method, path, body in (
            ("GET", "/v1/models?limit=2", None),
            ("HEAD", "/v1/models", None),
            ("POST", "/v1/messages/count_tokens", b"{}"),
        ):
            connection.request(method, f"/{TOKEN}/anthropic{path}", body)
            reply = connection.getresponse()
            assert (reply.status, reply.read()) == (200, b"" if method == "HEAD" else b'{"input_tokens":3}')
        connection.close()
        others = rig.data("x-docket.other")
        assert rig.end.state.calls == 0
        assert [request.line for request in upstream.requests] == [
            "GET /v1/models?limit=2 HTTP/1.1", "HEAD /v1/models HTTP/1.1", "POST /v1/messages/count_tokens HTTP/1.1",
        ]  # fmt: skip
    assert [(item["method"], item["path"], item["status"]) for item in others] == [
        ("GET", "/anthropic/v1/models", 200),
        ("HEAD", "/anthropic/v1/models", 200),
        ("POST", "/anthropic/v1/messages/count_tokens", 200),
    ]


def test_an_upload_streams_through(tmp_path):
    size = 30_000_000

    def stored(request, sock):
        sock.sendall(whole(b'{"id":"file_1"}'))
        return True

    with RawUpstream(stored) as upstream, boundary(tmp_path, upstream.url) as rig:
        with rig.raw() as sock:
            head = f"POST /{TOKEN}/anthropic/v1/files HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {size}\r\n\r\n"
            sock.sendall(head.encode())
            for _ in range(size // 1_000_000):
                sock.sendall(b"z" * 1_000_000)
            assert read_head(sock)[0].startswith(b"HTTP/1.1 200 ")
        assert upstream.requests[0].body == b"z" * size
        assert rig.data("model.request") == []


def test_an_upstream_prefix_is_joined_without_doubling(tmp_path):
    with RawUpstream(ok) as upstream, boundary(tmp_path, f"{upstream.url}/x/y/") as rig:
        rig.post(messages_request(), "/anthropic/v1/messages?beta=true")
        rig.post(messages_request(), "//anthropic//v1/messages")
        assert [request.line.split(" ")[1] for request in upstream.requests] == [
            "/x/y/v1/messages?beta=true",
            "/x/y/v1/messages",
        ]


def test_http_1_0_clients_get_a_reply_that_ends_with_the_connection(tmp_path):
    def handler(request, sock):
        sock.sendall(chunked_head() + b"".join(chunk(event) for event in messages_events()) + b"0\r\n\r\n")
        return True

    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url) as rig:
        with rig.raw() as sock:
            body = messages_request(stream=True)
            sock.sendall(request_bytes(body).replace(b"HTTP/1.1", b"HTTP/1.0"))
            got = read_until_closed(sock)
        assert got.partition(b"\r\n\r\n")[2] == b"".join(messages_events())
