"""Slow sides, silent sides, and ends at awkward moments, over real sockets."""

from __future__ import annotations

import contextlib
import gc
import json
import socket
import threading
import time

import pytest

from boundary_rig.raw_upstream import RawUpstream, chunk, chunked_head, whole
from boundary_rig.replies import messages_events, messages_json, messages_request
from boundary_rig.rig import BOOK, TOKEN, boundary
from docket.engines.boundary import BoundaryRequest, BoundaryWorld, start
from docket.errors import UnavailableError
from docket.formats.run.policy import Policy
from docket.host.clock import SystemClock
from docket.rules.providers.registry import with_upstream

PATH = f"/{TOKEN}/anthropic/v1/messages"


def post_bytes(body: bytes, path: str = PATH) -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def until(condition, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


def settled(value, quiet: float = 0.5):
    """The value once it has not changed for a while."""
    last, since = value(), time.monotonic()
    while time.monotonic() - since < quiet:
        time.sleep(0.02)
        if value() != last:
            last, since = value(), time.monotonic()
    return last


def test_an_agent_that_reads_slowly_slows_the_upstream_down(tmp_path):
    events = messages_events(texts=("w" * 100_000,))
    piece, end = events[2], events[-1]
    sent = [0]

    def handler(request, sock):
        sock.sendall(chunked_head())
        for _ in range(600):
            sock.sendall(chunk(piece))
            sent[0] += len(piece)
        sock.sendall(chunk(end) + b"0\r\n\r\n")
        return True

    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url) as rig:
        connection = rig.connect()
        connection.request("POST", PATH, messages_request(stream=True))
        # What stands in between is bounded by buffers, not by the reply's 60 MB.
        assert settled(lambda: sent[0]) < 30_000_000
        assert connection.getresponse().read() == piece * 600 + end
        connection.close()


def test_an_upstream_that_reads_slowly_slows_the_agent_down(tmp_path):
    go = threading.Event()
    server = socket.create_server(("127.0.0.1", 0))
    got = [0]

    def serve():
        sock, _ = server.accept()
        go.wait(30)
        while got[0] < 60_000_000:
            got[0] += len(sock.recv(1 << 20))
        sock.sendall(whole(b"{}"))
        sock.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    sent = [0]

    def send(sock):
        for _ in range(600):
            sock.sendall(b"z" * 100_000)
            sent[0] += 100_000

    with boundary(tmp_path, f"http://127.0.0.1:{server.getsockname()[1]}") as rig, rig.raw() as sock:
        head = f"POST /{TOKEN}/anthropic/v1/files HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 60000000\r\n\r\n"
        sock.sendall(head.encode())
        sender = threading.Thread(target=send, args=(sock,), daemon=True)
        sender.start()
        assert settled(lambda: sent[0]) < 30_000_000
        go.set()
        assert sock.recv(65536).startswith(b"HTTP/1.1 200 ")
        sender.join(20)
        thread.join(20)
        assert got[0] > 60_000_000
    server.close()


@pytest.fixture
def silent():
    """A server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_an_agent_that_leaves_while_the_upstream_is_not_yet_reached(tmp_path, silent):
    with boundary(tmp_path, f"https://127.0.0.1:{silent}") as rig:
        with rig.raw() as sock:
            sock.sendall(post_bytes(messages_request()))
            until(lambda: rig.boundary.snapshot().in_flight == 1)
        until(lambda: rig.boundary.snapshot().in_flight == 0)
        (error,) = rig.data("model.error")
    assert (error["reason"], error["status"]) == ("client_gone", 499)


def test_stop_does_not_wait_for_an_upstream_that_is_not_reached(tmp_path, silent):
    with boundary(tmp_path, f"https://127.0.0.1:{silent}") as rig, rig.raw() as sock:
        sock.sendall(post_bytes(messages_request()))
        until(lambda: rig.boundary.snapshot().in_flight == 1)
        started = time.monotonic()
        assert rig.stop().state.in_flight == 0
        assert time.monotonic() - started < 5
        assert len(rig.data("model.request")) == 1
        assert [item["reason"] for item in rig.data("model.error")] == ["run_ending"]


def test_stop_refuses_who_waits(tmp_path, silent):
    from boundary_rig.rig import caps

    with boundary(
        tmp_path, f"http://127.0.0.1:{silent}", policy=caps(max_model_calls=1, admission_wait_ms=60_000)
    ) as rig:
        first, second = rig.raw(), rig.raw()
        for sock in (first, second):
            sock.sendall(post_bytes(messages_request()))
            until(lambda: rig.boundary.snapshot().in_flight == 1)
        time.sleep(0.05)
        rig.stop()
        assert len(rig.data("model.request")) == 1
        for sock in (first, second):
            with contextlib.suppress(ConnectionResetError):
                sock.recv(100)
            sock.close()


def test_a_port_that_is_taken_is_said_so(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        class NoLedger:
            def listen(self, listener):
                pass

        request = BoundaryRequest(
            policy=Policy(), token="t", docket_number="D", port=port,
            providers=(with_upstream("anthropic", "http://127.0.0.1:1"),),
        )  # fmt: skip
        with pytest.raises(UnavailableError, match=f"port {port}"):
            start(request, BoundaryWorld(ledger=NoLedger(), clock=SystemClock(), book=BOOK))


def test_a_reply_before_the_request_is_whole_is_not_lost(tmp_path):
    with (
        RawUpstream(lambda request, sock: False) as upstream,
        boundary(tmp_path, upstream.url) as rig,
        rig.raw() as sock,
    ):
        head = f"POST /{TOKEN}/nobody/x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5000000\r\n\r\n"
        sock.sendall(head.encode())
        time.sleep(0.1)
        for _ in range(50):
            sock.sendall(b"z" * 100_000)
        got = b""
        while piece := sock.recv(65536):
            got += piece
        assert got.startswith(b"HTTP/1.1 404 ")
        assert b"Connection: close" in got
        assert json.loads(got.partition(b"\r\n\r\n")[2])["error"]["code"] == "unknown_provider"


def test_an_upstream_that_answers_early_and_keeps_the_connection(tmp_path):
    def handler(request, sock):
        sock.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + whole(messages_json()))
        return True

    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url) as rig:
        for _ in range(2):
            assert rig.post(messages_request())[0::2] == (200, messages_json())
        assert upstream.connections == 1


@pytest.mark.parametrize(
    "reply",
    [
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
    ],
)
def test_an_upstream_that_speaks_no_http(tmp_path, reply):
    def handler(request, sock):
        sock.sendall(reply)
        time.sleep(0.2)
        return False

    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url) as rig:
        status, _, body = rig.post(messages_request())
        (error,) = rig.data("model.error")
    assert status == 502
    assert "no HTTP/1.1" in json.loads(body)["error"]["message"]
    assert error["reason"] == "upstream_broken"


def test_a_fault_of_dockets_own_ends_one_exchange_alone(tmp_path, monkeypatch):
    from docket.engines.boundary.upstream import UpstreamConnection

    with (
        RawUpstream(lambda r, s: s.sendall(whole(messages_json())) is None) as upstream,
        boundary(tmp_path, upstream.url) as rig,
    ):
        good = UpstreamConnection.send

        def fails(self, connect, wake):
            monkeypatch.setattr(UpstreamConnection, "send", good)
            raise RuntimeError("a fault")

        monkeypatch.setattr(UpstreamConnection, "send", fails)
        with rig.raw() as sock:
            sock.sendall(post_bytes(messages_request()))
            with pytest.raises(ConnectionResetError):
                sock.recv(100)
        assert rig.post(messages_request())[0] == 200
        assert [item["code"] for item in rig.data("note")] == ["boundary-fault"]
        assert rig.end.state.in_flight == 0
        assert len(rig.data("model.request")) == len(rig.data("model.response")) == 2


def test_calls_leave_no_cycles_behind(tmp_path):
    def handler(request, sock):
        streamed = b'"stream": true' in request.body
        body = b"".join(chunk(event) for event in messages_events())
        sock.sendall(chunked_head() + body + b"0\r\n\r\n" if streamed else whole(messages_json()))
        return True

    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url) as rig:
        connection = rig.connect()

        def calls():
            for number in range(20):
                connection.request("POST", PATH, messages_request(stream=number % 2 == 0))
                connection.getresponse().read()

        calls()
        gc.collect()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            calls()
            gc.collect()
            found = {type(item).__qualname__ for item in gc.garbage if type(item).__module__.startswith("docket")}
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
        connection.close()
    assert found == set()
