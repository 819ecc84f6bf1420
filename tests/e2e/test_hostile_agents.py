"""Agents that lie about their requests: framing, coding, paths, methods. Nothing billed passes unmetered."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import time
import zlib

import pytest

from boundary_rig.raw_upstream import RawUpstream, whole
from boundary_rig.replies import messages_json, messages_request
from boundary_rig.rig import TOKEN, boundary, caps
from boundary_rig.wire_forms import FORMS
from docket.formats.amount import Usd

PATH = f"/{TOKEN}/anthropic/v1/messages"
LINE = f"POST {PATH} HTTP/1.1\r\n".encode()
HOST = b"Host: 127.0.0.1\r\n"
BODY = messages_request()
LENGTH = b"Content-Length: %d\r\n" % len(BODY)


def ok(request, sock):
    sock.sendall(whole(messages_json()))
    return True


def exchanged(rig, data: bytes, *, ends: bool = False) -> bytes:
    """Send bytes and return all that comes until the other side closes, or half a second of nothing."""
    with rig.raw() as sock:
        sock.sendall(data)
        if ends:
            sock.shutdown(socket.SHUT_WR)
        sock.settimeout(0.5)
        got = b""
        with contextlib.suppress(TimeoutError, ConnectionResetError):
            while piece := sock.recv(65536):
                got += piece
        return got


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(LINE + HOST + LENGTH + b"Transfer-Encoding: chunked\r\n\r\n", id="length-and-chunks"),
        pytest.param(LINE + HOST + LENGTH + b"Content-Length: 5\r\n\r\n", id="two-lengths"),
        pytest.param(LINE + HOST + b"Content-Length: 5, 6\r\n\r\n", id="lengths-in-a-list"),
        pytest.param(LINE + HOST + b"Content-Length: +5\r\n\r\n", id="signed-length"),
        pytest.param(LINE + HOST + b"Content-Length: 0x5\r\n\r\n", id="hexadecimal-length"),
        pytest.param(LINE + HOST + b"Content-Length: 5 5\r\n\r\n", id="spaced-length"),
        pytest.param(LINE + HOST + b"Content-Length: " + "\u0665".encode() + b"\r\n\r\n", id="another-scripts-digit"),
        pytest.param(LINE + HOST + b"Content-Length : 5\r\n\r\n", id="blank-before-the-colon"),
        pytest.param(LINE + HOST + b"Transfer-Encoding: xchunked\r\n\r\n", id="unknown-coding"),
        pytest.param(LINE + HOST + b"Transfer-Encoding: chunked, identity\r\n\r\n", id="chunks-not-last"),
        pytest.param(
            LINE + HOST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", id="chunks-twice"
        ),
        pytest.param(LINE + HOST + b"Transfer-Encoding:\x0bchunked\r\n\r\n", id="control-in-a-value"),
        pytest.param(LINE + HOST + b"X: y\r\n " + LENGTH + b"\r\n", id="folded-line"),
        pytest.param(LINE + HOST + b"X: y\n" + LENGTH + b"\r\n", id="bare-lf"),
        pytest.param(LINE + HOST + b"X: y\r" + LENGTH + b"\r\n", id="bare-cr"),
        pytest.param(LINE + HOST + b"X: \0\r\n" + LENGTH + b"\r\n", id="nul"),
        pytest.param(LINE + HOST + b"NoColon\r\n" + LENGTH + b"\r\n", id="no-colon"),
        pytest.param(LINE + HOST + b": empty\r\n" + LENGTH + b"\r\n", id="empty-name"),
        pytest.param(LINE.replace(b"1.1", b"2.0") + HOST + LENGTH + b"\r\n", id="another-version"),
        pytest.param(LINE.replace(b" HTTP", b" x HTTP") + HOST + LENGTH + b"\r\n", id="blank-in-the-target"),
        pytest.param(LINE.replace(b"POST ", b"POST\t") + HOST + LENGTH + b"\r\n", id="tab-for-a-blank"),
        pytest.param(LINE + HOST + b"X: " + b"y" * 300_000 + b"\r\n" + LENGTH + b"\r\n", id="a-flood-of-a-value"),
        pytest.param(LINE + HOST + b"X: y\r\n" * 60_000 + LENGTH + b"\r\n", id="a-flood-of-lines"),
    ],
)
def test_a_head_that_two_readers_read_differently_reaches_nobody(tmp_path, head):
    smuggled = b"0\r\n\r\n" + LINE + HOST + LENGTH + b"\r\n" + BODY
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url) as rig:
        got = exchanged(rig, head + BODY + smuggled)
        assert not got or got.startswith(b"HTTP/1.1 400 ")
        assert got.count(b"HTTP/1.1 ") <= 1
        assert upstream.requests == []
        assert rig.post(BODY)[0] == 200
        assert rig.data("model.request")[0]["call"] == 1
        assert rig.end.state.in_flight == 0


@pytest.mark.parametrize(
    ("target", "host"),
    [
        (f"http://127.0.0.1{PATH}", b"127.0.0.1"),
        (f"http://api.anthropic.com{PATH}", b"127.0.0.1"),
        (PATH, b"api.anthropic.com"),
        (PATH, b"127.0.0.1\r\nHost: 127.0.0.1"),
        ("api.anthropic.com:443", b"127.0.0.1"),
        ("*", b"127.0.0.1"),
    ],
)
def test_a_target_or_a_host_of_another_form_reaches_nobody(tmp_path, target, host):
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url) as rig:
        got = exchanged(rig, f"POST {target} HTTP/1.1\r\nHost: ".encode() + host + b"\r\n" + LENGTH + b"\r\n" + BODY)
        assert got.startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 405 ", b"HTTP/1.1 400 "))
        assert (upstream.requests, rig.data("model.request")) == ([], [])


def test_requests_in_one_stream_are_weighed_one_by_one(tmp_path):
    one = LINE + HOST + LENGTH + b"\r\n" + BODY
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url, policy=caps(max_model_calls=3)) as rig:
        got = exchanged(rig, one * 10)
        assert (len(upstream.requests), got.count(b"HTTP/1.1 200 ")) == (3, 3)
        assert got.count(b"HTTP/1.1 400 ") == 7
        assert (rig.boundary.snapshot().calls, rig.boundary.snapshot().in_flight) == (3, 0)


def test_a_request_inside_the_body_of_another_is_a_body(tmp_path):
    inner = LINE + HOST + LENGTH + b"\r\n" + BODY
    outer = f"POST /{TOKEN}/anthropic/v1/files HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(inner)}\r\n\r\n"
    with (
        RawUpstream(lambda request, sock: sock.sendall(whole(b"{}")) is None) as upstream,
        boundary(tmp_path, upstream.url) as rig,
    ):
        exchanged(rig, outer.encode() + inner)
        assert [(request.line, request.body) for request in upstream.requests] == [("POST /v1/files HTTP/1.1", inner)]
        assert rig.data("model.request") == []


def test_one_length_said_twice_goes_on_as_one_reader_would_have_it(tmp_path):
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url) as rig:
        assert b" 200 " in exchanged(rig, LINE + HOST + LENGTH + LENGTH + b"\r\n" + BODY)
        assert upstream.requests[0].body == BODY
        assert set(upstream.requests[0].values("content-length")) == {str(len(BODY))}


def test_agents_that_dawdle_hold_nobody_up(tmp_path):
    """200 connections with half a head, half a body or nothing at all; a call goes through, and the end is not late."""
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url, policy=caps(max_usd=Usd.parse("1"))) as rig:
        slow = [rig.raw() for _ in range(200)]
        for at, sock in enumerate(slow):
            sock.sendall((b"", LINE, LINE + HOST + LENGTH + b"\r\n" + BODY[:10])[at % 3])
        assert rig.post(BODY)[0] == 200
        assert rig.boundary.snapshot().in_flight == 0
        began = time.monotonic()
        rig.stop()
        assert time.monotonic() - began < 20
        for sock in slow:
            sock.close()
        assert len(upstream.requests) == 1
        assert (rig.end.state.calls, rig.end.state.in_flight) == (1, 0)


@pytest.mark.parametrize("part", [b"", LINE, LINE + HOST + LENGTH + b"\r\n", LINE + HOST + LENGTH + b"\r\n" + BODY[:9]])
def test_an_agent_that_closes_its_side_too_early_costs_nothing(tmp_path, part):
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url, policy=caps(max_usd=Usd.parse("1"))) as rig:
        assert exchanged(rig, part, ends=True) == b""
        assert (upstream.requests, rig.data("model.request")) == ([], [])
        assert (rig.end.state.in_flight, rig.end.state.admitted) == (0, 0)


def bomb() -> bytes:
    return gzip.compress(gzip.compress(gzip.compress(bytes(2**28))))


# Made when they are asked for: a bomb takes a second, and the bytes of a gzip have the time in them.
LIES = {
    "no gzip": ("gzip", lambda: BODY),
    "no deflate": ("deflate", lambda: BODY),
    "no brotli": ("br", lambda: BODY),
    "no zstd": ("zstd", lambda: b" \r\n" + BODY),
    "a mark before no gzip": ("identity, gzip", lambda: b"\xef\xbb\xbf" + BODY),
    "a coding of nobody": ("x-nonsense", lambda: BODY),
    "half a gzip": ("gzip", lambda: gzip.compress(BODY)[:-20]),
    "one gzip for two": ("gzip, gzip", lambda: gzip.compress(BODY)),
    "three gzips for one": ("gzip", bomb),
    "a bomb": ("gzip, gzip, gzip", bomb),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_body_whose_coding_lies_is_refused_under_a_cap(tmp_path, lie):
    coding, body = LIES[lie][0], LIES[lie][1]()
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url, policy=caps(max_usd=Usd.parse("1"))) as rig:
        status, _, _ = rig.post(body, headers={"Content-Encoding": coding})
        assert (status, upstream.requests) == (400, [])
        (denied,) = rig.data("model.denied")
        assert denied["reason"] == "body_unreadable"


def test_a_body_in_two_codings_is_read_and_goes_on_as_it_is(tmp_path):
    body = zlib.compress(gzip.compress(BODY))
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url, policy=caps(max_usd=Usd.parse("1"))) as rig:
        assert rig.post(body, headers={"Content-Encoding": "gzip, deflate"})[0] == 200
        assert upstream.requests[0].body == body
        assert rig.data("model.request")[0]["model"] == "claude-sonnet-4-5"


# ---- what is billed, however it is asked for, on every wire


WIRES = [form for form in FORMS if form.provider != "ollama"]


@pytest.mark.parametrize("form", WIRES, ids=lambda form: form.name)
def test_no_spelling_of_a_path_reaches_the_upstream_unmetered_under_a_cap(tmp_path, form):
    path, mark, query = form.path.partition("?")
    provider, rest = path[1:].split("/", 1)
    last = rest.rpartition("/")[2]
    spelt = [
        f"/{provider}/{rest}/", f"/{provider}//{rest}", f"//{provider}/{rest}", f"/{provider}/{rest}//",
        f"/{provider}/{rest};x=y", f"/{provider}/{rest};/files", f"/{provider}/{rest}%3Fx", f"/{provider}/{rest}%23",
        f"/{provider}/{rest}%20", f"/{provider}/{rest}%00", f"/{provider}/{rest}.", f"/{provider}/{rest}/.",
        f"/{provider}/{rest}/../{last}", f"/{provider}/files/%2e%2e/{rest}", f"/{provider}/files/..;/{rest}",
        f"/{provider}/v1/files\\..\\{rest}", f"/{provider}/v1/files/..%2f{rest}", f"/{provider}/{rest}/files",
        f"/{provider}/{rest}/cancel", f"/{provider}/{rest.upper()}", f"/{provider}/{rest}%2Ffiles",
        f"/{provider}/{rest[:-1]}%{ord(rest[-1]):02x}", f"/{provider}/{rest}/count_tokens/x",
        f"/{provider}/{rest}#/files", f"/{provider}/v1/files/{rest}", f"/{provider}/v1/organizations/{rest}",
        f"/{provider.upper()}/{rest}", f"/%61{provider[1:]}/{rest}",
    ]  # fmt: skip

    # The form's own reply would be metered: only what passes unseen is a fault.
    def handler(request, sock):
        sock.sendall(whole(b"{}"))
        return True

    with (
        RawUpstream(handler) as upstream,
        boundary(tmp_path, upstream.url, name=form.provider, policy=caps(max_usd=Usd.parse("50"))) as rig,
    ):
        for one in spelt:
            head = f"POST /{TOKEN}{one}{mark}{query} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
            length = b"Content-Length: %d\r\n\r\n" % len(form.request)
            assert exchanged(rig, head.encode("latin-1") + length + form.request)
        asked, passed = len(rig.data("model.request")), rig.data("x-docket.other")
        assert (passed, len(upstream.requests)) == ([], asked)
        assert asked >= 3


@pytest.mark.parametrize("form", WIRES, ids=lambda form: form.name)
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "QUERY", "post", "POST "])
def test_no_other_method_reaches_the_upstream_with_the_body_of_a_call(tmp_path, form, method):
    with (
        RawUpstream(lambda request, sock: sock.sendall(whole(b"{}")) is None) as upstream,
        boundary(tmp_path, upstream.url, name=form.provider, policy=caps(max_usd=Usd.parse("50"))) as rig,
    ):
        head = (
            f"{method} /{TOKEN}{form.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(form.request)}\r\n\r\n"
        )
        assert exchanged(rig, head.encode() + form.request).startswith(b"HTTP/1.1 400 ")
        assert (upstream.requests, rig.data("model.request")) == ([], [])


TWICE = {
    "anthropic-json": ['"max_tokens": 500', '"max_tokens": 1, "max_tokens": 500'],
    "chat-events-with-usage": ['"max_tokens": 500', '"max_tokens": 500, "max\\u005ftokens": 1'],
    "responses-events": ['"input": "hi"', '"input": "hi", "Input": "ho"'],
    "gemini-events": ['"padding"', '"generationConfig": {"maxOutputTokens": 9, "maxOutputTokens": 1}, "padding"'],
    "vertex-claude-events": ['"padding"', '"thinking": {"budget_tokens": 9000, "budget_tokens": 1}, "padding"'],
    "converse": ['{"maxTokens": 500}', '{"maxTokens": 50000, "maxTokens": 1}'],
    "invoke-stream": ['"max_tokens": 500', '"max_tokens": 9000, "max_tokens": 1'],
    "openrouter-events": ['"model"', '"model": "x/free", "model"'],
}


@pytest.mark.parametrize("form", [form for form in FORMS if form.name in TWICE], ids=lambda form: form.name)
def test_a_name_that_stands_twice_is_refused_under_a_cap(tmp_path, form):
    body = form.request.decode().replace(*TWICE[form.name], 1).encode()
    assert body != form.request
    assert json.loads(body)
    with (
        RawUpstream(ok) as upstream,
        boundary(tmp_path, upstream.url, name=form.provider, policy=caps(max_usd=Usd.parse("50"))) as rig,
    ):
        assert rig.post(body, form.path)[0] == 400
        assert upstream.requests == []
        (denied,) = rig.data("model.denied")
        assert denied["reason"] == "body_unreadable"
