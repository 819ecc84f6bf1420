"""Every wire and stream form through the boundary, whole and broken in every way that networks break.

Right each time: the bytes at the agent are the upstream's, a failure is passed on as one, the event says what was used
and what it cost, and nothing stays held.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.client
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import brotli
import pytest
import zstandard

from boundary_rig.raw_upstream import RawUpstream, chunk, chunked_head, hard_close
from boundary_rig.rig import TOKEN, Rig, boundary, caps
from boundary_rig.wire_forms import FORMS, JSON, Form
from docket.formats.amount import Usd

EACH_FORM = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
STREAMS = pytest.mark.parametrize("form", [form for form in FORMS if form.kind != JSON], ids=lambda form: form.name)
LAST = b"0\r\n\r\n"
Handler = Callable[[Any, socket.socket], bool]


def call_bytes(form: Form) -> bytes:
    head = f"POST /{TOKEN}{form.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(form.request)}\r\n\r\n".encode() + form.request


@contextlib.contextmanager
def served(tmp_path: Any, form: Form, handler: Handler) -> Iterator[tuple[Rig, RawUpstream]]:
    """The form's provider at an upstream of this handler, under a cap that a call does not come near."""
    with (
        RawUpstream(handler) as upstream,
        boundary(tmp_path, upstream.url, name=form.provider, policy=caps(max_usd=Usd.parse("50"))) as rig,
    ):
        yield rig, upstream


def writing(*parts: bytes, keep: bool = True) -> Handler:
    def handler(request: Any, sock: socket.socket) -> bool:
        for part in parts:
            sock.sendall(part)
        return keep

    return handler


def asked(rig: Rig, form: Form) -> tuple[int, http.client.HTTPMessage, bytes]:
    connection = rig.connect()
    try:
        connection.request("POST", f"/{TOKEN}{form.path}", form.request, {"Content-Type": "application/json"})
        reply = connection.getresponse()
        return reply.status, reply.headers, reply.read()
    finally:
        connection.close()


def content(data: bytes) -> bytes:
    """Return what chunks carry, of a last one that is cut too."""
    found, at = b"", 0
    while (line_end := data.find(b"\r\n", at)) >= 0:
        size = int(data[at:line_end], 16)
        found += data[line_end + 2 : line_end + 2 + size]
        at = line_end + 2 + size + 2
    return found


def read_through(sock: socket.socket, wanted: bytes) -> bytes:
    """Read a reply until its content is `wanted`; return the content."""
    sock.settimeout(20)
    got = b""
    while True:
        head, mark, rest = got.partition(b"\r\n\r\n")
        if mark and (rest if b"hunked" not in head else content(rest)) == wanted:
            return wanted
        data = sock.recv(65536)
        assert data, (got, wanted)
        got += data


def read_to_reset(sock: socket.socket) -> bytes:
    """Read a reply that must end in a reset; return its content."""
    sock.settimeout(20)
    got = b""
    while True:
        try:
            data = sock.recv(65536)
        except ConnectionResetError:
            break
        assert data, f"a clean end after {got!r}"
        got += data
    head, _, rest = got.partition(b"\r\n\r\n")
    return content(rest) if b"hunked" in head else rest


def settled(rig: Rig) -> Any:
    """Return the figures once no call is in flight."""
    until = time.monotonic() + 20
    while (state := rig.boundary.snapshot()).in_flight or not state.admitted:
        assert time.monotonic() < until, state
        time.sleep(0.005)
    return state


def check(rig: Rig, figures: tuple[int, int, str, str], outcome: str, passed: bytes) -> None:
    """Check the one response's event, and that the account agrees with it."""
    state = settled(rig)
    (event,) = rig.data("model.response")
    input_tokens, output_tokens, cost, source = figures
    assert (event["outcome"], event["usage_source"], event["cost_usd"]) == (outcome, source, cost), event
    assert (event["usage"]["input_tokens"], event["usage"]["output_tokens"]) == (input_tokens, output_tokens)
    assert (event["response_bytes"], event["response_sha256"]) == (len(passed), hashlib.sha256(passed).hexdigest())
    assert (state.spent, state.in_flight, rig.end.state.in_flight) == (Usd.parse(cost), 0, 0)


# ---- whole


FRAMINGS = {
    "chunked": lambda form: (chunked_head(kind=form.kind), *map(chunk, form.pieces), LAST),
    "by-length": lambda form: (
        f"HTTP/1.1 200 OK\r\nContent-Type: {form.kind}\r\nContent-Length: {len(form.body)}\r\n\r\n".encode(),
        *form.pieces,
    ),
    "extensions-and-trailers": lambda form: (
        chunked_head(kind=form.kind),
        *[b'%x ; a="b";c\r\n%s\r\n' % (len(piece), piece) for piece in form.pieces],
        b"000;last\r\nX-Trailer: 1\r\nx-more: 2\r\n\r\n",
    ),
    "one-byte-chunks": lambda form: (
        chunked_head(kind=form.kind),
        b"".join(chunk(form.body[at : at + 1]) for at in range(len(form.body))),
        LAST,
    ),
    "after-1xx": lambda form: (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + chunked_head(kind=form.kind),
        *map(chunk, form.pieces),
        LAST,
    ),
}


@EACH_FORM
@pytest.mark.parametrize("framing", FRAMINGS)
def test_whole(tmp_path, form, framing):
    with served(tmp_path, form, writing(*FRAMINGS[framing](form))) as (rig, upstream):
        status, headers, got = asked(rig, form)
        assert (status, got, headers["content-type"]) == (200, form.body, form.kind)
        assert upstream.requests[0].body == form.request
        check(rig, form.whole, "complete", form.body)


@EACH_FORM
@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_whole_with_the_end_of_its_connection(tmp_path, form, version):
    head = f"HTTP/{version} 200 OK\r\nContent-Type: {form.kind}\r\n\r\n".encode()
    with served(tmp_path, form, writing(head, *form.pieces, keep=False)) as (rig, _):
        status, _, got = asked(rig, form)
        assert (status, got) == (200, form.body)
        check(rig, form.whole, "complete", form.body)


def _flushed(compress: Callable[[bytes], bytes], flush: Callable[[], bytes], end: Callable[[], bytes], form: Form):
    return [*(compress(piece) + flush() for piece in form.pieces), end()]


def coded(coding: str, form: Form) -> list[bytes]:
    """Return the form's pieces, each flushed by itself, as servers do."""
    if coding == "gzip":
        packer = zlib.compressobj(wbits=31)
        return _flushed(packer.compress, lambda: packer.flush(zlib.Z_SYNC_FLUSH), packer.flush, form)
    if coding == "deflate":
        packer = zlib.compressobj()
        return _flushed(packer.compress, lambda: packer.flush(zlib.Z_SYNC_FLUSH), packer.flush, form)
    if coding == "br":
        brotling = brotli.Compressor()
        return _flushed(brotling.process, brotling.flush, brotling.finish, form)
    frame = zstandard.ZstdCompressor().compressobj()
    block = lambda: frame.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)  # noqa: E731
    return _flushed(frame.compress, block, frame.flush, form)


@EACH_FORM
@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
@pytest.mark.parametrize("in_bytes", [False, True], ids=["in-pieces", "byte-by-byte"])
def test_in_a_content_coding(tmp_path, form, coding, in_bytes):
    pieces = coded(coding, form)
    body = b"".join(pieces)
    if in_bytes:
        pieces = [body[at : at + 1] for at in range(len(body))]
    head = chunked_head(kind=form.kind, extra=f"Content-Encoding: {coding}\r\n")
    with served(tmp_path, form, writing(head, *map(chunk, pieces), LAST)) as (rig, _):
        _, headers, got = asked(rig, form)
        assert (got, headers["content-encoding"]) == (body, coding)
        check(rig, form.whole, "complete", body)


@EACH_FORM
def test_twice_in_gzip(tmp_path, form):
    body = gzip.compress(gzip.compress(form.body))
    head = chunked_head(kind=form.kind, extra="Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n")
    with served(tmp_path, form, writing(head, chunk(body), LAST)) as (rig, _):
        assert asked(rig, form)[2] == body
        check(rig, form.whole, "complete", body)


@EACH_FORM
def test_with_junk_after_its_end(tmp_path, form):
    parts = (chunked_head(kind=form.kind), *map(chunk, form.pieces), chunk(form.junk), LAST)
    with served(tmp_path, form, writing(*parts)) as (rig, _):
        assert asked(rig, form)[2] == form.body + form.junk
        check(rig, form.whole, "complete", form.body + form.junk)


@EACH_FORM
def test_under_a_content_type_that_lies(tmp_path, form):
    kind = "text/event-stream" if form.kind == JSON else JSON
    with served(tmp_path, form, writing(chunked_head(kind=kind), *map(chunk, form.pieces), LAST)) as (rig, _):
        assert asked(rig, form)[2] == form.body
        check(rig, form.whole, "complete", form.body)


# ---- broken by the agent


def waiting(form: Form, gone: threading.Event, *parts: bytes) -> Handler:
    """Write, then wait until the other side goes."""

    def handler(request: Any, sock: socket.socket) -> bool:
        for part in parts:
            sock.sendall(part)
        sock.settimeout(20)
        with contextlib.suppress(ConnectionError):
            assert sock.recv(1) == b""
        gone.set()
        return False

    return handler


def middle(form: Form) -> tuple[bytes, ...]:
    return (chunked_head(kind=form.kind), *map(chunk, form.pieces[: form.middle]))


@EACH_FORM
def test_the_agent_leaves_in_the_middle(tmp_path, form):
    gone = threading.Event()
    with served(tmp_path, form, waiting(form, gone, *middle(form))) as (rig, _):
        with rig.raw() as sock:
            sock.sendall(call_bytes(form))
            read_through(sock, form.begun)
        assert gone.wait(20), "the upstream was not told"
        check(rig, form.part, "client_gone", form.begun)


@EACH_FORM
def test_the_agent_resets_in_the_middle(tmp_path, form):
    gone = threading.Event()
    with served(tmp_path, form, waiting(form, gone, *middle(form))) as (rig, _):
        sock = rig.raw()
        sock.sendall(call_bytes(form))
        read_through(sock, form.begun)
        hard_close(sock)
        assert gone.wait(20), "the upstream was not told"
        check(rig, form.part, "client_gone", form.begun)


@EACH_FORM
@pytest.mark.parametrize("headed", [False, True], ids=["no-answer", "head-alone"])
def test_the_agent_gives_up_an_upstream_that_hangs(tmp_path, form, headed):
    gone = threading.Event()
    parts = (chunked_head(kind=form.kind),) if headed else ()
    with served(tmp_path, form, waiting(form, gone, *parts)) as (rig, upstream):
        with rig.raw() as sock:
            sock.sendall(call_bytes(form))
            upstream.wait_for(1)
            if headed:
                assert sock.recv(65536).startswith(b"HTTP/1.1 200 ")
        assert gone.wait(20), "the upstream was not told"
        check(rig, (100, 0, form.unanswered, "estimated"), "client_gone", b"")


@EACH_FORM
def test_the_agent_leaves_after_the_last_event(tmp_path, form):
    gone = threading.Event()
    parts = (chunked_head(kind=form.kind), *map(chunk, form.pieces))
    with served(tmp_path, form, waiting(form, gone, *parts)) as (rig, _):
        with rig.raw() as sock:
            sock.sendall(call_bytes(form))
            read_through(sock, form.body)
        assert gone.wait(20)
        check(rig, form.whole, "complete", form.body)


# ---- broken by the end of the run


@EACH_FORM
def test_the_run_ends_in_the_middle(tmp_path, form):
    gone = threading.Event()
    with served(tmp_path, form, waiting(form, gone, *middle(form))) as (rig, _):
        with rig.raw() as sock:
            sock.sendall(call_bytes(form))
            read_through(sock, form.begun)
            rig.stop()
            assert read_to_reset(sock) == b""
        assert gone.wait(20)
        (event,) = rig.data("model.response")
        assert (event["outcome"], event["usage_source"], event["cost_usd"]) == ("cut", form.part[3], form.part[2])
        assert rig.end.state.in_flight == 0


@EACH_FORM
def test_the_run_ends_before_an_answer(tmp_path, form):
    gone = threading.Event()
    with served(tmp_path, form, waiting(form, gone)) as (rig, upstream):
        with rig.raw() as sock:
            sock.sendall(call_bytes(form))
            upstream.wait_for(1)
            rig.stop()
            assert read_to_reset(sock) == b""
        (event,) = rig.data("model.response")
        assert (event["outcome"], event["cost_usd"]) == ("cut", form.unanswered)
        assert rig.end.state.in_flight == 0


# ---- broken by the upstream


def breaking(form: Form, seen: threading.Event, *parts: bytes, reset: bool) -> Handler:
    """Write, wait until the agent has it, then break the connection off."""

    def handler(request: Any, sock: socket.socket) -> bool:
        for part in parts:
            sock.sendall(part)
        seen.wait(20)
        if reset:
            hard_close(sock)
        return False

    return handler


def broken_call(rig: Rig, form: Form, seen: threading.Event) -> None:
    with rig.raw() as sock:
        sock.sendall(call_bytes(form))
        read_through(sock, form.begun)
        seen.set()
        assert read_to_reset(sock) == b""


def broken(rig: Rig, form: Form, seen: threading.Event) -> None:
    broken_call(rig, form, seen)
    check(rig, form.part, "upstream_broken", form.begun)


@EACH_FORM
@pytest.mark.parametrize("reset", [True, False], ids=["reset", "end"])
def test_the_upstream_breaks_in_the_middle_of_chunks(tmp_path, form, reset):
    seen = threading.Event()
    with served(tmp_path, form, breaking(form, seen, *middle(form), reset=reset)) as (rig, _):
        broken(rig, form, seen)


@EACH_FORM
def test_the_upstream_ends_before_its_length(tmp_path, form):
    seen = threading.Event()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {form.kind}\r\nContent-Length: {len(form.body)}\r\n\r\n".encode()
    with served(tmp_path, form, breaking(form, seen, head, form.begun, reset=False)) as (rig, _):
        broken(rig, form, seen)


@EACH_FORM
@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_the_upstream_ends_without_the_last_event(tmp_path, form, version):
    seen = threading.Event()
    head = f"HTTP/{version} 200 OK\r\nContent-Type: {form.kind}\r\n\r\n".encode()
    with served(tmp_path, form, breaking(form, seen, head, form.begun, reset=False)) as (rig, _):
        broken(rig, form, seen)


@STREAMS
def test_a_gateway_ends_the_chunks_in_order_without_the_last_event(tmp_path, form):
    seen = threading.Event()
    parts = (*middle(form), LAST)

    def handler(request: Any, sock: socket.socket) -> bool:
        for part in parts[:-1]:
            sock.sendall(part)
        seen.wait(20)
        sock.sendall(parts[-1])
        return True

    with served(tmp_path, form, handler) as (rig, _):
        broken(rig, form, seen)


@STREAMS
def test_the_upstream_ends_without_the_last_event_under_another_content_type(tmp_path, form):
    for kind in (form.kind.title(), f" {form.kind}; charset=utf-8", JSON):
        seen = threading.Event()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n".encode()
        folder = tmp_path / str(len(kind))
        folder.mkdir()
        with served(folder, form, breaking(form, seen, head, form.begun, reset=False)) as (rig, _):
            broken(rig, form, seen)


@EACH_FORM
@pytest.mark.parametrize("bad", [b"zz\r\n", b"5\nhello\r\n", b"3\r\nhello\r\n", b"-1\r\n", b"fffffffffffffffff\r\n"])
def test_the_upstream_sends_chunks_that_are_none(tmp_path, form, bad):
    seen = threading.Event()

    def handler(request: Any, sock: socket.socket) -> bool:
        for part in middle(form):
            sock.sendall(part)
        seen.wait(20)
        sock.sendall(bad)
        sock.settimeout(20)
        with contextlib.suppress(ConnectionError):
            sock.recv(1)
        return False

    with served(tmp_path, form, handler) as (rig, _), rig.raw() as sock:
        sock.sendall(call_bytes(form))
        read_through(sock, form.begun)
        seen.set()
        rest = read_to_reset(sock)
        assert rest in (b"", b"hel")
        state = settled(rig)
        (event,) = rig.data("model.response")
        assert (event["outcome"], event["response_bytes"]) == ("upstream_broken", len(form.begun) + len(rest))
        assert state.spent == Usd.parse(event["cost_usd"]) == rig.end.state.spent


@EACH_FORM
def test_the_upstream_takes_the_request_and_closes(tmp_path, form):
    with served(tmp_path, form, writing(keep=False)) as (rig, upstream):
        assert asked(rig, form)[0] == 502
        assert len(upstream.requests) == 1
        (error,) = rig.data("model.error")
        assert (error["reason"], rig.data("model.response")) == ("upstream_broken", [])
        assert (rig.end.state.spent, rig.end.state.in_flight) == (Usd(0), 0)


@EACH_FORM
def test_an_error_that_ends_with_its_connection(tmp_path, form):
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {form.kind}\r\n\r\n".encode()
    with served(tmp_path, form, writing(head, form.early, keep=False)) as (rig, _):
        assert asked(rig, form)[2] == form.early
        (error,) = rig.data("model.error")
        assert (error["reason"], error["error"], rig.end.state.spent) == ("upstream_error_event", "busy", Usd(0))


@EACH_FORM
@pytest.mark.parametrize("end", [LAST, b""], ids=["ended", "broken-off"])
def test_an_error_instead_of_output_after_status_200(tmp_path, form, end):
    parts = (chunked_head(kind=form.kind), chunk(form.early), end)
    with served(tmp_path, form, writing(*parts, keep=bool(end))) as (rig, _):
        with contextlib.suppress(http.client.HTTPException, ConnectionError):
            assert asked(rig, form)[2] == form.early
        state = settled(rig)
        (error,) = rig.data("model.error")
        assert error["reason"] == ("upstream_error_event" if end else "upstream_broken")
        assert (error["error"] == "busy") is bool(end)
        assert (rig.data("model.response"), state.spent, state.in_flight) == ([], Usd(0), 0)


@STREAMS
def test_an_error_after_output(tmp_path, form):
    passed = form.begun + form.early
    parts = (*middle(form), chunk(form.early), LAST)
    with served(tmp_path, form, writing(*parts)) as (rig, _):
        assert asked(rig, form)[2] == passed
        check(rig, form.part, "complete", passed)


# ---- the cap afterwards


# Forms whose calls hide nothing of what they bill, so that a call is let go by what it is likely to cost.
OPEN = [form for form in FORMS if form.kind != JSON and form.provider in ("anthropic", "openai", "bedrock")]


@pytest.mark.parametrize("form", [form for form in OPEN if "responses" not in form.name], ids=lambda form: form.name)
def test_what_was_used_before_a_break_counts_against_the_cap(tmp_path, form):
    seen = threading.Event()
    with (
        RawUpstream(breaking(form, seen, *middle(form), reset=True)) as upstream,
        boundary(tmp_path, upstream.url, name=form.provider, policy=caps(max_usd=Usd.parse(form.part[2]))) as rig,
    ):
        broken_call(rig, form, seen)
        assert settled(rig).breach is None
        assert asked(rig, form)[0] == 400
        assert len(upstream.requests) == 1
        (denied,) = rig.data("model.denied")
        assert (denied["reason"], rig.end.state.spent) == ("max_usd", Usd.parse(form.part[2]))


@EACH_FORM
def test_a_call_that_broke_is_a_call(tmp_path, form):
    seen = threading.Event()
    with (
        RawUpstream(breaking(form, seen, *middle(form), reset=True)) as upstream,
        boundary(tmp_path, upstream.url, name=form.provider, policy=caps(max_model_calls=1)) as rig,
    ):
        broken_call(rig, form, seen)
        state = settled(rig)
        assert (state.spent, state.tokens) == (Usd.parse(form.part[2]), form.part[0] + form.part[1])
        assert (state.calls, state.in_flight) == (1, 0)
        assert asked(rig, form)[0] == 400
        assert len(upstream.requests) == 1
        (denied,) = rig.data("model.denied")
        assert denied["reason"] == "max_model_calls"
