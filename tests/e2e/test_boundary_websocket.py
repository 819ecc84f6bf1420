"""The Responses API over a WebSocket, over real sockets; the `websockets` package is client and upstream."""

from __future__ import annotations

import hashlib
import json
import socket as sockets
import struct
import threading

import pytest
from websockets.exceptions import ConnectionClosed, ConnectionClosedError, InvalidStatus
from websockets.sync.client import connect

from boundary_rig.raw_upstream import RawUpstream, hard_close, whole
from boundary_rig.rig import TOKEN, boundary, caps
from boundary_rig.sockets import (
    MODEL,
    SocketUpstream,
    answering,
    completed,
    create,
    created,
    delta,
    error,
    socket_to,
    until_broken,
    until_end,
)
from docket.formats.amount import Usd
from docket.formats.run.policy import Policy
from docket.formats.run.policy_reach import ModelsPolicy
from docket.formats.run.policy_spending import CapsPolicy, OnBreach

# 1000 x 1.75 + 50 x 14 = 2450 micro-dollars.
ONE_CALL = "0.002450"


def denying(**members):
    return Policy(caps=CapsPolicy(on_breach=OnBreach.DENY, **members))


def test_a_turn_passes_unchanged_and_is_metered(tmp_path):
    said = (created("resp_1"), delta("héllo"), completed("resp_1"))
    with SocketUpstream(answering(said)) as upstream, boundary(tmp_path, upstream.url, name="openai") as rig:
        with socket_to(rig, additional_headers={"Authorization": "Bearer key", "OpenAI-Beta": "x"}) as socket:
            socket.send(create())
            heard = [socket.recv(timeout=20) for _ in said]
        (request,), (response,) = rig.data("model.request"), rig.data("model.response")
        others = rig.data("x-docket.other")
    assert tuple(heard) == said
    assert upstream.paths == ["/v1/responses"]
    assert upstream.heads[0]["authorization"] == "Bearer key"
    assert upstream.heads[0]["openai-beta"] == "x"
    assert "sec-websocket-extensions" not in upstream.heads[0]
    assert TOKEN not in json.dumps(upstream.heads)
    assert (request["method"], request["path"], request["streaming"]) == ("GET", "/openai/v1/responses", True)
    assert request["request_sha256"] == hashlib.sha256(create().encode()).hexdigest()
    assert request["body_bytes"] == len(create())
    assert response["response_sha256"] == hashlib.sha256("".join(said).encode()).hexdigest()
    assert response["response_bytes"] == len("".join(said).encode())
    assert (response["cost_usd"], response["outcome"], response["status"]) == (ONE_CALL, "complete", 200)
    assert [other["status"] for other in others] == [101]


def test_a_fragmented_message_with_pings_between_is_one_call_and_the_pings_pass_at_once(tmp_path):
    text = create(input="x" * 1000)
    pieces = (text[:10], text[10:500], text[500:])
    got = []

    def handle(socket):
        got.append(socket.recv())
        for message in (created("resp_1"), completed("resp_1")):
            socket.send([message[:7], message[7:20], message[20:]])
        socket.recv()

    with SocketUpstream(handle) as upstream, boundary(tmp_path, upstream.url, name="openai") as rig:
        with socket_to(rig) as socket:

            def fragments():
                for piece in pieces:
                    # The pong comes although the message before it is held until it is whole.
                    assert socket.ping().wait(20)
                    yield piece

            socket.send(fragments())
            assert [item["type"] for item in until_end(socket)] == ["response.created", "response.completed"]
        (request,) = rig.data("model.request")
    assert got == [text]
    assert request["request_sha256"] == hashlib.sha256(text.encode()).hexdigest()


def test_calls_on_two_lanes_are_settled_each_with_its_own_usage(tmp_path):
    def handle(socket):
        for _ in range(3):
            socket.recv()
        for message in (
            created("resp_a", stream_id="a"),
            created("resp_b", stream_id="b"),
            delta("one", stream_id="b"),
            delta("two", stream_id="a"),
            completed("resp_b", 100, 1, stream_id="b"),
            completed("resp_a", 200, 2, stream_id="a"),
            created("resp_c", stream_id="a"),
            completed("resp_c", 300, 3, stream_id="a"),
        ):
            socket.send(message)
        socket.recv()

    with SocketUpstream(handle) as upstream, boundary(tmp_path, upstream.url, name="openai") as rig:
        with socket_to(rig) as socket:
            for lane in ("a", "b", "a"):
                socket.send(create(stream_id=lane))
            for _ in range(8):
                socket.recv(timeout=20)
        responses = rig.data("model.response")
    # In micro-dollars: 100 x 1.75 + 1 x 14 = 189, 200 x 1.75 + 28 = 378, 300 x 1.75 + 42 = 567.
    assert [(item["call"], item["cost_usd"]) for item in responses] == [
        (2, "0.000189"), (1, "0.000378"), (3, "0.000567"),
    ]  # fmt: skip


def test_a_refused_call_never_reaches_the_upstream_and_the_socket_stays(tmp_path):
    seen = []

    def handle(socket):
        for message in socket:
            seen.append(json.loads(message)["model"])
            for answer in (created("resp_1"), completed("resp_1")):
                socket.send(answer)

    policy = Policy(models=ModelsPolicy(deny=("*-pro",)))
    with SocketUpstream(handle) as upstream, boundary(tmp_path, upstream.url, name="openai", policy=policy) as rig:
        with socket_to(rig) as socket:
            socket.send(create(model="gpt-5-pro", stream_id="s"))
            (refusal,) = until_end(socket)
            socket.send(create())
            assert until_end(socket)[-1]["type"] == "response.completed"
        (denied,) = rig.data("model.denied")
        assert len(rig.data("model.request")) == 1
    assert seen == [MODEL]
    assert (refusal["type"], refusal["status"], refusal["stream_id"]) == ("error", 400, "s")
    assert refusal["error"]["code"] == "model_policy"
    assert "the policy denies the model gpt-5-pro" in refusal["error"]["message"]
    assert (denied["reason"], denied["status"], denied["path"]) == ("model_policy", 400, "/openai/v1/responses")


def test_a_cap_that_has_been_reached_is_told_as_the_end_of_the_quota(tmp_path):
    with (
        SocketUpstream(answering((created("resp_1"), completed("resp_1")))) as upstream,
        boundary(tmp_path, upstream.url, name="openai", policy=caps(max_model_calls=1)) as rig,
    ):
        with socket_to(rig) as socket:
            socket.send(create())
            until_end(socket)
            socket.send(create())
            (refusal,) = until_end(socket)
        assert [item["cap"] for item in rig.data("cap.exceeded")] == ["max_model_calls"]
        assert [breach.cap for breach in rig.breaches] == ["max_model_calls"]
    assert (refusal["status"], refusal["error"]["code"]) == (400, "insufficient_quota")
    assert "--max-calls" in refusal["error"]["message"]


def test_a_message_that_may_bill_and_cannot_be_read_is_refused_under_a_cap_and_passes_without(tmp_path):
    odd = ("{", "[]", '{"type":"response.append"}', '{"type":"response.cancel","type":"response.create"}', '{"Type":1}')
    got = []

    def handle(socket):
        got.extend(socket)

    with SocketUpstream(handle) as upstream:
        (tmp_path / "a").mkdir()
        with boundary(tmp_path / "a", upstream.url, name="openai", policy=denying(max_usd=Usd(10**6))) as rig:
            with socket_to(rig) as socket:
                for message in odd:
                    socket.send(message)
                    assert until_end(socket)[0]["error"]["code"] in ("body_unreadable", "unknown_endpoint")
                socket.send('{"type":"response.cancel"}')
            assert len(rig.data("model.denied")) == len(odd)
            assert rig.data("model.request") == []
        assert got == ['{"type":"response.cancel"}']
        got.clear()
        (tmp_path / "b").mkdir()
        with boundary(tmp_path / "b", upstream.url, name="openai") as rig, socket_to(rig) as socket:
            for message in odd:
                socket.send(message)
        assert got == list(odd)


def test_a_background_response_is_refused_and_binary_is_read_as_text_is(tmp_path):
    with (
        SocketUpstream(answering((created("resp_1"), completed("resp_1")))) as upstream,
        boundary(tmp_path, upstream.url, name="openai") as rig,
    ):
        with socket_to(rig) as socket:
            socket.send(create(background=True))
            assert "background" in until_end(socket)[0]["error"]["message"]
            socket.send(create().encode(), text=False)
            assert until_end(socket)[-1]["type"] == "response.completed"
        assert len(rig.data("model.response")) == 1


def test_what_a_response_holds_is_expected_of_the_call_that_goes_on_from_it(tmp_path):
    turns = (
        (created("resp_1"), completed("resp_1", 9000, 1000)),
        (created("resp_2"), completed("resp_2", 100, 10, cached=10000)),
    )
    policy = denying(max_tokens=10_060)
    with (
        SocketUpstream(answering(*turns)) as upstream,
        boundary(tmp_path, upstream.url, name="openai", policy=policy) as rig,
    ):
        with socket_to(rig) as socket:
            socket.send(create(reasoning={"effort": "none"}))
            until_end(socket)
            # The body is some 130 bytes: at 4 bytes a token it would fit. What it goes on from does not: 10,000 are
            # spent, and it reads 10,000 again.
            socket.send(create(previous_response_id="resp_1"))
            (refusal,) = until_end(socket)
        assert len(rig.data("model.request")) == 1
    assert refusal["error"]["code"] == "insufficient_quota"
    assert "max_tokens" in refusal["error"]["message"]


def test_a_stream_that_would_cross_the_cap_is_cut_by_a_reset(tmp_path):
    def handle(socket):
        socket.recv()
        socket.send(created("resp_1"))
        for _ in range(10_000):
            socket.send(delta("x" * 400))

    # 100 tokens a message at 14 micro-dollars: some seven messages of 1400 fit.
    policy = denying(max_usd=Usd(10_000))
    with SocketUpstream(handle) as upstream, boundary(tmp_path, upstream.url, name="openai", policy=policy) as rig:
        with socket_to(rig) as socket:
            socket.send(create(reasoning={"effort": "none"}))
            with pytest.raises(ConnectionClosedError):
                until_broken(socket)
        (response,) = rig.data("model.response")
        assert rig.end.budget.overshoot_usd.micros <= rig.end.budget.bound_usd.micros
    assert response["outcome"] == "cut"
    assert response["usage_source"] == "estimated"


@pytest.mark.parametrize("status", [401, 404, 426, 503])
def test_a_refused_handshake_is_passed_as_it_is(tmp_path, status):
    def refuse(request, sock):
        sock.sendall(whole(b'{"error":"no"}', status=f"{status} No", extra="Retry-After: 7\r\n"))
        return True

    with RawUpstream(refuse) as upstream, boundary(tmp_path, upstream.url, name="openai") as rig:
        with pytest.raises(InvalidStatus) as refused, socket_to(rig):
            pass
        (other,) = rig.data("x-docket.other")
    assert refused.value.response.status_code == status
    assert refused.value.response.body == b'{"error":"no"}'
    assert refused.value.response.headers["Retry-After"] == "7"
    assert other["status"] == status


def test_an_upstream_that_cannot_be_reached_is_a_502(tmp_path):
    with (
        boundary(tmp_path, "http://127.0.0.1:1", name="openai") as rig,
        pytest.raises(InvalidStatus) as refused,
        socket_to(rig),
    ):
        pass
    assert refused.value.response.status_code == 502


@pytest.mark.parametrize(
    ("path", "options"), [("/openai/v1/realtime", {}), ("/anthropic/v1/messages", {}), ("/openai/v1/models", {})]
)
def test_every_other_upgrade_is_answered_426(tmp_path, path, options):
    with SocketUpstream(answering()) as upstream, boundary(tmp_path, upstream.url, name=path.split("/")[1]) as rig:
        with pytest.raises(InvalidStatus) as refused, socket_to(rig, path, **options):
            pass
        assert upstream.heads == []
    assert refused.value.response.status_code == 426


def test_without_the_token_there_is_no_socket(tmp_path):
    with SocketUpstream(answering()) as upstream, boundary(tmp_path, upstream.url, name="openai") as rig:
        with pytest.raises(InvalidStatus) as refused:
            connect(f"ws://127.0.0.1:{rig.port}/wrong/openai/v1/responses", proxy=None)
        assert upstream.heads == []
    assert refused.value.response.status_code == 404


def test_an_upstream_that_agrees_on_an_extension_is_refused(tmp_path):
    def switch(request, sock):
        sock.sendall(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: x\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
        )
        return bool(sock.recv(1))

    with (
        RawUpstream(switch) as upstream,
        boundary(tmp_path, upstream.url, name="openai") as rig,
        pytest.raises(InvalidStatus) as refused,
        socket_to(rig),
    ):
        pass
    assert refused.value.response.status_code == 502


def test_errors_of_the_upstream_pass_and_end_their_call(tmp_path):
    limit = error(400, "websocket_connection_limit_reached", "the socket is 60 minutes old")
    failed = json.dumps(
        {
            "type": "response.failed",
            "response": {"id": "resp_1", "status": "failed", "error": {"code": "server_error", "message": "broken"}},
        }
    )
    with (
        SocketUpstream(answering((limit,), (created("resp_1"), failed))) as upstream,
        boundary(tmp_path, upstream.url, name="openai") as rig,
    ):
        with socket_to(rig) as socket:
            socket.send(create())
            assert socket.recv(timeout=20) == limit
            socket.send(create())
            until_end(socket)
        first, second = rig.data("model.error")
        assert rig.end.state.in_flight == 0
    assert (first["status"], first["error"]) == (400, "the socket is 60 minutes old")
    assert (second["reason"], second["error"]) == ("upstream_error_event", "broken")


@pytest.mark.parametrize("how", ["close", "reset", "fin", "mid-message"])
def test_an_upstream_that_breaks_settles_the_call_from_what_was_seen(tmp_path, how):
    def handle(socket):
        socket.recv()
        socket.send(created("resp_1"))
        socket.send(delta("x" * 400))
        raw = socket.socket
        if how == "close":
            socket.close(1011)
            return
        if how == "mid-message":
            half = delta("y" * 4000).encode()
            raw.sendall(b"\x81\x7e" + struct.pack(">H", len(half)) + half[:2000])
        if how == "reset":
            hard_close(raw)
        else:
            raw.shutdown(sockets.SHUT_RDWR)

    with SocketUpstream(handle) as upstream, boundary(tmp_path, upstream.url, name="openai") as rig:
        with socket_to(rig) as socket:
            socket.send(create())
            with pytest.raises(ConnectionClosed) as closed:
                until_broken(socket)
        (response,) = rig.data("model.response")
        assert rig.end.state.in_flight == 0
    if how == "close":
        assert closed.value.rcvd.code == 1011
    assert (response["outcome"], response["usage_source"]) == ("upstream_broken", "estimated")
    # 400 letters are 100 tokens; half a message says nothing that could be read.
    assert response["usage"]["output_tokens"] == 100


@pytest.mark.parametrize("polite", [True, False])
def test_an_agent_that_goes_away_settles_the_call_and_resets_the_upstream(tmp_path, polite):
    ended = threading.Event()

    def handle(socket):
        socket.recv()
        socket.send(created("resp_1"))
        socket.send(delta("x" * 400))
        with pytest.raises(ConnectionClosed):
            socket.recv()
        ended.set()

    with SocketUpstream(handle) as upstream, boundary(tmp_path, upstream.url, name="openai") as rig:
        with socket_to(rig) as socket:
            socket.send(create())
            socket.recv(timeout=20)
            socket.recv(timeout=20)
            if not polite:
                hard_close(socket.socket)
        assert ended.wait(20)
        (response,) = rig.data("model.response")
    assert response["outcome"] == "client_gone"
    assert response["usage"]["output_tokens"] == 100


@pytest.mark.parametrize(
    ("bytes_", "code"),
    [
        (b"\x81\x02{}", 1002),  # not masked
        (b"\xc1\x80\0\0\0\0", 1002),  # a reserved bit
        (b"\x83\x80\0\0\0\0", 1002),  # an opcode of nothing
        (b"\x80\x80\0\0\0\0", 1002),  # a continuation of nothing
        (b"\x09\x80\0\0\0\0", 1002),  # a ping in two parts
        (b"\x81\x81\0\0\0\0\xff", 1007),  # no UTF-8
        (b"\x81\xfe\x00\x05\0\0\0\0hello", 1002),  # a length that is longer than it needs to be
    ],
)
def test_an_agent_that_breaks_the_protocol_is_told_and_its_calls_are_settled(tmp_path, bytes_, code):
    def handle(socket):
        socket.recv()
        socket.send(created("resp_1"))
        with pytest.raises(ConnectionClosed):
            socket.recv()

    with SocketUpstream(handle) as upstream, boundary(tmp_path, upstream.url, name="openai") as rig:
        with socket_to(rig) as socket:
            socket.send(create())
            socket.recv(timeout=20)
            socket.socket.sendall(bytes_)
            with pytest.raises(ConnectionClosed) as closed:
                socket.recv(timeout=20)
        assert closed.value.rcvd.code == code
        (response,) = rig.data("model.response")
        (note,) = rig.data("note")
        assert rig.end.state.in_flight == 0
    assert response["outcome"] == "client_gone"
    assert note["code"] == "websocket-fault"


def test_an_upstream_that_breaks_the_protocol_is_a_broken_one(tmp_path):
    def handle(socket):
        socket.recv()
        socket.send(created("resp_1"))
        socket.socket.sendall(b"\x81\x82\0\0\0\0{}")  # a server never masks
        with pytest.raises(ConnectionClosed):
            socket.recv()

    with SocketUpstream(handle) as upstream, boundary(tmp_path, upstream.url, name="openai") as rig:
        with socket_to(rig) as socket:
            socket.send(create())
            with pytest.raises(ConnectionClosedError) as closed:
                until_broken(socket)
        assert closed.value.rcvd is None
        (response,) = rig.data("model.response")
    assert response["outcome"] == "upstream_broken"


def test_stopping_settles_what_is_in_flight(tmp_path):
    waiting = threading.Event()

    def handle(socket):
        socket.recv()
        socket.send(created("resp_1"))
        waiting.set()
        with pytest.raises(ConnectionClosed):
            socket.recv()

    with SocketUpstream(handle) as upstream, boundary(tmp_path, upstream.url, name="openai") as rig:
        with socket_to(rig) as socket:
            socket.send(create())
            assert waiting.wait(20)
            socket.recv(timeout=20)
            end = rig.stop()
        (response,) = rig.data("model.response")
    assert response["outcome"] == "cut"
    assert end.state.in_flight == 0


def test_forty_megabytes_each_way_pass_with_flat_memory(tmp_path):
    big = completed("resp_1", padding="p" * (40 * 1024 * 1024))
    got = []

    def handle(socket):
        got.append(hashlib.sha256(socket.recv().encode()).hexdigest())
        socket.send(created("resp_1"))
        socket.send(big)
        socket.recv()

    with SocketUpstream(handle, max_size=None) as upstream, boundary(tmp_path, upstream.url, name="openai") as rig:
        with socket_to(rig, max_size=None) as socket:
            asked = create(input="q" * (40 * 1024 * 1024))
            socket.send(asked)
            socket.recv(timeout=60)
            assert socket.recv(timeout=60) == big
        (response,) = rig.data("model.response")
    assert got == [hashlib.sha256(asked.encode()).hexdigest()]
    assert response["cost_usd"] == ONE_CALL
    assert response["response_sha256"] == hashlib.sha256((created("resp_1") + big).encode()).hexdigest()


def test_two_sockets_at_once_share_one_account(tmp_path):
    with (
        SocketUpstream(answering(*[(created(f"r{i}"), completed(f"r{i}")) for i in range(40)])) as upstream,
        boundary(tmp_path, upstream.url, name="openai", policy=denying(max_model_calls=25)) as rig,
    ):
        kinds = []

        def run():
            with socket_to(rig) as socket:
                for _ in range(20):
                    socket.send(create())
                    kinds.append(until_end(socket)[-1]["type"])

        threads = [threading.Thread(target=run) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert sorted(kinds) == ["error"] * 15 + ["response.completed"] * 25
        assert [item["call"] for item in rig.data("model.request")] == list(range(1, 26))
        assert rig.end.state.spent.micros == 25 * 2450
