"""Caps, refusals and the life of a boundary over real sockets."""

from __future__ import annotations

import contextlib
import functools
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from boundary_rig.raw_upstream import RawUpstream, chunk, chunked_head, whole
from boundary_rig.replies import messages_events, messages_json, messages_request
from boundary_rig.rig import TOKEN, boundary, caps
from docket.errors import UnavailableError
from docket.formats.amount import Usd
from docket.formats.ledger.payload_codec import Payload
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_reach import ModelsPolicy
from docket.formats.run.policy_spending import Admission, BudgetPolicy, CapsPolicy

PATH = f"/{TOKEN}/anthropic/v1/messages"


def ok(request, sock):
    sock.sendall(whole(messages_json()))
    return True


def usd(text: str, **members):
    return caps(max_usd=Usd.parse(text), **members)


def drain(sock: socket.socket, into: bytearray) -> None:
    while piece := sock.recv(65536):
        into += piece


def post_all(rig, count: int, body: bytes = messages_request()) -> list[int]:
    with ThreadPoolExecutor(count) as pool:
        return [status for status, _, _ in pool.map(lambda _: rig.post(body), range(count))]


def test_of_32_concurrent_calls_under_a_cap_of_one_exactly_one_is_forwarded(tmp_path):
    def slow(request, sock):
        time.sleep(0.2)
        return ok(request, sock)

    with RawUpstream(slow) as upstream, boundary(tmp_path, upstream.url, policy=caps(max_model_calls=1)) as rig:
        statuses = post_all(rig, 32)
        assert len(upstream.requests) == 1
        exceeded = rig.data("cap.exceeded")
        denied = rig.data("model.denied")
        assert rig.boundary.snapshot().breach is not None
    assert sorted(statuses) == [200] + [400] * 31
    assert len(exceeded) == 1
    assert (exceeded[0]["cap"], exceeded[0]["limit"], exceeded[0]["action"]) == ("max_model_calls", "1", "kill")
    assert [item["reason"] for item in denied] == ["max_model_calls"] * 31
    assert len(rig.breaches) == 1


def test_a_call_that_waits_takes_the_place_of_one_that_failed(tmp_path):
    def first_fails(request, sock):
        time.sleep(0.2)
        if len(upstream.requests) == 1:
            sock.sendall(whole(b"{}", status="503 Service Unavailable"))
            return True
        return ok(request, sock)

    with RawUpstream(first_fails) as upstream, boundary(tmp_path, upstream.url, policy=caps(max_model_calls=1)) as rig:
        first = threading.Thread(target=rig.post, args=(messages_request(),))
        first.start()
        upstream.wait_for(1)
        assert rig.post(messages_request())[0] == 200
        first.join()


def test_parallel_calls_never_spend_past_the_cap(tmp_path):
    # 80 000 bytes are about 20 000 tokens at 3, and 2 600 come out at 15: 0.060 + 0.039 dollars a call.
    def slow(request, sock):
        time.sleep(0.2)
        sock.sendall(whole(messages_json(20_000, 2_600)))
        return True

    body = messages_request(max_tokens=6000, messages=[{"role": "user", "content": "x" * 79_800}])
    with RawUpstream(slow) as upstream, boundary(tmp_path, upstream.url, policy=usd("0.50")) as rig:
        statuses = post_all(rig, 8, body)
        assert rig.boundary.snapshot().spent == Usd.parse("0.495")
        assert statuses.count(200) == len(upstream.requests) == 5
        assert len(rig.data("cap.exceeded")) == 1


def test_a_refusal_says_why_in_the_protocols_shape(tmp_path):
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url, policy=usd("0.001100")) as rig:
        assert rig.post(messages_request())[0] == 200
        status, headers, body = rig.post(messages_request())
        answer = json.loads(body)
        events = [item.type for item in rig.events()]
        (exceeded,) = rig.data("cap.exceeded")
        (denied,) = rig.data("model.denied")
    assert status == 400
    assert headers["x-should-retry"] == "false"
    assert answer["type"] == "error"
    message = answer["error"]["message"]
    for part in ("DKT-20260101-ABCDEF", "max_usd", "0.001050", "0.001100", "--max-usd"):
        assert part in message
    assert exceeded["used"] == "0.001050"
    assert denied["status"] == 400
    assert events[-3:] == ["model.denied", "cap.exceeded", "x-docket.budget"]
    assert [breach.cap for breach in rig.breaches] == [Reason.MAX_USD]


def test_cheap_work_is_not_refused_for_what_it_could_ask_for(tmp_path):
    # A cent; the call costs 0.0003 and names no bound that would fit.
    with (
        RawUpstream(lambda r, s: bool(s.sendall(whole(messages_json(50, 10))) is None)) as upstream,
        boundary(tmp_path, upstream.url, policy=usd("0.01")) as rig,
    ):
        for _ in range(5):
            assert rig.post(messages_request(max_tokens=64_000))[0] == 200
        assert str(rig.boundary.snapshot().spent) == "0.001500"
        (budget,) = rig.data("x-docket.budget")
    assert budget["overshoot_usd"] == "0.00"
    assert Usd.parse(budget["bound_usd"]) > Usd.parse("0.90")
    assert budget["peak_held_usd"] == "0.01"


def test_strict_refuses_what_could_cross(tmp_path):
    strict = BudgetPolicy(admission=Admission.STRICT)
    policy = Policy(caps=CapsPolicy(max_usd=Usd.parse("0.01")), budget=strict)
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url, policy=policy) as rig:
        assert rig.post(messages_request(max_tokens=64_000))[0] == 400
        assert len(upstream.requests) == 0
        assert rig.data("x-docket.budget")[0]["spent_usd"] == "0.00"


def test_equality_with_the_cap_is_within_it(tmp_path):
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url, policy=usd("0.002100")) as rig:
        assert [rig.post(messages_request())[0] for _ in range(2)] == [200, 200]
        assert rig.boundary.snapshot().breach is None
        assert rig.post(messages_request())[0] == 400
        assert rig.data("cap.exceeded")[0]["used"] == "0.002100"


def test_a_stream_that_would_carry_the_run_across_is_cut(tmp_path):
    events = messages_events(10, 100_000, texts=("w" * 4000,) * 50)
    stopped = threading.Event()

    def handler(request, sock):
        sock.sendall(chunked_head())
        try:
            for event in events:
                sock.sendall(chunk(event))
                time.sleep(0.005)
            sock.sendall(b"0\r\n\r\n")
        except ConnectionError:
            stopped.set()
        return False

    # 4000 letters are about 1000 tokens, 0.015 dollars: the fourth piece crosses five cents.
    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url, policy=usd("0.05")) as rig:
        with rig.raw() as sock:
            body = messages_request(stream=True, max_tokens=60_000)
            head = f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
            sock.sendall(head.encode() + body)
            got = bytearray()
            with pytest.raises(ConnectionResetError):
                drain(sock, got)
        assert stopped.wait(10)
        (response,) = rig.data("model.response")
        (exceeded,) = rig.data("cap.exceeded")
        (budget,) = rig.data("x-docket.budget")
    assert response["outcome"] == "cut"
    assert got.count(b"wwww" * 1000) == 3
    assert Usd.parse(response["cost_usd"]) <= Usd.parse("0.065")
    assert Usd.parse(budget["overshoot_usd"]) <= Usd.parse(budget["bound_usd"])
    assert exceeded["cap"] == "max_usd"
    assert [breach.cap for breach in rig.breaches] == [Reason.MAX_USD]


def test_warnings_come_once(tmp_path):
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url, policy=caps(max_model_calls=5)) as rig:
        for _ in range(5):
            assert rig.post(messages_request())[0] == 200
        (warning,) = rig.data("cap.warning")
    assert (warning["cap"], warning["used"], warning["limit"], warning["used_pct"]) == (
        "max_model_calls", "4", "5", "80.0",
    )  # fmt: skip


def test_unknown_models_and_denied_ones_are_refused_before_sending(tmp_path):
    policy = Policy(caps=CapsPolicy(max_usd=Usd.parse("5")), models=ModelsPolicy(deny=("*opus*",)))
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url, policy=policy) as rig:
        assert rig.post(messages_request(model="claude-sonet-4-5"))[0] == 400
        assert rig.post(messages_request(model="Claude-OPUS-4-1"))[0] == 400
        assert rig.post(b"{}")[0] == 400
        twice = b'{"model":"claude-opus-4-1","model":"claude-sonnet-4-5","max_tokens":9}'
        status, _, body = rig.post(twice)
        assert (status, json.loads(body)["type"]) == (400, "error")
        assert 'the request names "model" more than once' in json.loads(body)["error"]["message"]
        assert upstream.requests == []
        assert [item["reason"] for item in rig.data("model.denied")] == [
            "unknown_model", "model_policy", "body_unreadable", "body_unreadable",
        ]  # fmt: skip
        assert rig.breaches == []


def test_unknown_endpoints_are_refused_under_a_dollar_cap_and_pass_without(tmp_path):
    with RawUpstream(ok) as upstream:
        with boundary(tmp_path, upstream.url, policy=usd("5")) as rig:
            assert rig.post(b"{}", "/anthropic/v1/new-thing")[0] == 400
            assert rig.data("model.denied")[0]["reason"] == "unknown_endpoint"
        assert upstream.requests == []
    (tmp_path / "ledger.jsonl").unlink()
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url) as rig:
        assert rig.post(b"{}", "/anthropic/v1/new-thing")[0] == 200


def test_unknown_providers_and_paths_up_the_tree_are_refused(tmp_path):
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url) as rig:
        status, _, body = rig.post(messages_request(), "/nobody/v1/messages")
        assert (status, json.loads(body)["error"]["code"]) == (404, "unknown_provider")
        assert rig.post(messages_request(), "/anthropic/v1/models/%2e%2e/messages")[0] == 400
        assert upstream.requests == []


def test_a_websocket_that_is_not_metered_is_told_to_use_plain_http(tmp_path):
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url, name="openai") as rig:
        with rig.raw() as sock:
            sock.sendall(
                f"GET /{TOKEN}/openai/v1/realtime HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\n"
                "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n\r\n".encode()
            )
            assert sock.recv(65536).startswith(b"HTTP/1.1 426 Upgrade Required\r\n")
        assert upstream.requests == []
        assert rig.data("x-docket.other")[0]["status"] == 426


@pytest.mark.parametrize(
    ("first", "host", "status"),
    [
        ("GET /wrong/anthropic/v1/models", "127.0.0.1", b"404"),
        (f"GET /{TOKEN[:-1]}/anthropic/v1/models", "127.0.0.1", b"404"),
        ("GET /", "127.0.0.1", b"404"),
        (f"GET /{TOKEN}/anthropic/v1/models", "evil.example", b"404"),
        (f"GET /{TOKEN}/anthropic/v1/models", "127.0.0.1\r\nOrigin: https://evil.example", b"404"),
        (f"GET /{TOKEN}/anthropic/v1/models", "127.0.0.1\r\nOrigin: null", b"404"),
        ("CONNECT api.anthropic.com:443", "api.anthropic.com:443", b"405"),
        ("GET http://api.anthropic.com/v1/models", "api.anthropic.com", b"405"),
        ("GET /x HTTP/1.1\r\nBroken header", "127.0.0.1", b"400"),
        (
            f"POST /{TOKEN}/anthropic/v1/messages",
            "127.0.0.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked",
            b"400",
        ),
    ],
)
def test_who_may_not_come_in(tmp_path, first, host, status):
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url) as rig:
        with rig.raw() as sock:
            sock.sendall(f"{first} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            assert sock.recv(65536).split(b" ")[1] == status
        assert upstream.requests == []
        assert len(rig.data("net.denied")) == 1


def test_turned_away_requests_are_counted_in_few_events(tmp_path):
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url) as rig:
        with rig.raw() as sock:
            for _ in range(50):
                sock.sendall(b"GET /guess HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            got = b""
            while got.count(b"not found") < 50:
                got += sock.recv(65536)
        assert rig.stop().turned_away == 50
        assert [item["count"] for item in rig.data("net.denied")] == [1, 49]


def test_256_simultaneous_connections_meet_no_reset(tmp_path):
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url) as rig:
        sockets = [socket.socket() for _ in range(256)]
        for sock in sockets:
            sock.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                sock.connect(("127.0.0.1", rig.port))
        body = messages_request()
        head = f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        for sock in sockets:
            sock.settimeout(60)
            sock.sendall(head + body)
        for sock in sockets:
            got = b""
            while messages_json() not in got:
                piece = sock.recv(65536)
                assert piece, got
                got += piece
            sock.close()
        assert rig.stop().state.calls == 256


def test_stop_settles_what_is_in_flight(tmp_path):
    held = threading.Event()

    def handler(request, sock):
        sock.sendall(chunked_head() + chunk(messages_events()[0]))
        held.wait(20)
        return False

    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url) as rig:
        with rig.raw() as sock:
            body = messages_request(stream=True)
            head = f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            sock.sendall(head + body)
            got = b""
            while b"message_start" not in got:
                got += sock.recv(65536)
            started = time.monotonic()
            end = rig.stop()
            assert time.monotonic() - started < 5
            with pytest.raises(ConnectionResetError):
                sock.recv(65536)
        held.set()
        assert end.state.in_flight == 0
        assert len(rig.data("model.request")) == len(rig.data("model.response")) == 1
        assert rig.boundary.stop() is end
        assert rig.data("model.response")[0]["outcome"] == "cut"


def test_refuse_further_stops_admission_at_once(tmp_path):
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url) as rig:
        rig.boundary.refuse_further(Reason.MAX_WALL_SECONDS, "the run has lasted 60 seconds")
        status, _, body = rig.post(messages_request())
        assert status == 400
        assert "60 seconds" in json.loads(body)["error"]["message"]
        assert upstream.requests == []
        rig.stop()
        rig.boundary.refuse_further(Reason.RUN_ENDING, "late")


class FailingLedger:
    """A ledger whose disk fails after some events."""

    def __init__(self, ledger, good: int):
        self.ledger, self.good = ledger, good

    def append(self, payload: Payload):
        if self.good <= 0:
            raise UnavailableError(Reason.NO_SPACE, "the disk is full")
        self.good -= 1
        return self.ledger.append(payload)

    def listen(self, listener):
        self.ledger.listen(listener)


@pytest.mark.parametrize(("good", "sent"), [(0, 0), (1, 1)])
def test_without_a_record_nothing_is_admitted(tmp_path, good, sent):
    recorder = functools.partial(FailingLedger, good=good)
    with RawUpstream(ok) as upstream, boundary(tmp_path, upstream.url, recorder=recorder) as rig:
        if sent:
            with rig.raw() as sock:
                body = messages_request()
                head = f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                sock.sendall(head + body)
                with pytest.raises(ConnectionResetError):
                    drain(sock, bytearray())
        status, _, body = rig.post(messages_request())
        assert status == 400
        assert "the disk is full" in json.loads(body)["error"]["message"]
        assert len(upstream.requests) == sent
        assert rig.boundary.snapshot().in_flight == 0
