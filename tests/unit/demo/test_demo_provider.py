"""The scripted provider over real sockets: raw bytes, and the standard library's own HTTP client."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import zlib

import pytest

from docket.demo.provider import Limits, ScriptedProvider, main
from docket.demo.replies import Exchange
from docket.demo.script import Cut, Failure, Filler, Pace, Script, Tokens, ToolCall, Turn, encode_script

BODY = b'{"model":"m-1","stream":false}'
STREAM = b'{"model":"m-1","stream":true}'


def one(turn, **arguments):
    return ScriptedProvider(Script(turns=(turn,)), limits=Limits(max_seconds=30), **arguments)


def post(provider, path="/v1/messages", body=BODY, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", provider.port, timeout=10)
    try:
        connection.request("POST", path, body, headers or {})
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


def raw(provider, data):
    """Send bytes, return all that comes until the server closes."""
    with socket.create_connection(("127.0.0.1", provider.port), timeout=10) as peer:
        peer.sendall(data)
        received = b""
        while more := peer.recv(65536):
            received += more
        return received


def request_bytes(body, *extra):
    head = [f"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}", *extra]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def test_it_listens_on_the_loopback_alone():
    with one(Turn(text="x")) as provider:
        assert provider.url == f"http://127.0.0.1:{provider.port}"
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.2", provider.port), timeout=5)


def test_turns_follow_the_order_of_calls_and_the_last_one_stays():
    script = Script(turns=(Turn(text="one"), Turn(text="two")))
    with ScriptedProvider(script) as provider:
        texts = [json.loads(post(provider)[1])["content"][0]["text"] for _ in range(4)]
    assert texts == ["one", "two", "two", "two"]
    assert [exchange.turn for exchange in provider.calls] == [0, 1, 1, 1]


def test_a_call_without_tools_gets_the_side_turn_and_moves_nothing():
    script = Script(turns=(Turn(text="main"),), side=Turn(text="side"))
    with ScriptedProvider(script) as provider:
        side = json.loads(post(provider)[1])["content"][0]["text"]
        main_ = json.loads(post(provider, body=b'{"model":"m","tools":[{"name":"t"}]}')[1])["content"][0]["text"]
    assert (side, main_) == ("side", "main")


def test_every_call_has_identifiers_of_its_own():
    turn = Turn(tool_calls=(ToolCall(name="t"), ToolCall(name="t")))
    with one(turn) as provider:
        answers = [json.loads(post(provider)[1]) for _ in range(2)]
    ids = [block["id"] for answer in answers for block in answer["content"]]
    assert len(set(ids)) == 4
    assert answers[0]["id"] != answers[1]["id"]


def test_a_stream_is_chunked_and_ends():
    with one(Turn(text="hello")) as provider:
        received = raw(provider, request_bytes(STREAM, "Connection: close"))
    head, _, body = received.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"transfer-encoding: chunked" in head
    assert b"request-id: req_000000001" in head
    assert body.endswith(b"}\n\n\r\n0\r\n\r\n")
    assert body.count(b"event: ") == 7


def test_one_connection_carries_many_calls_and_pipelined_ones_are_answered_in_order():
    with one(Turn(text="x")) as provider:
        received = raw(provider, request_bytes(BODY) * 3 + request_bytes(BODY, "Connection: close"))
    assert received.count(b"HTTP/1.1 200 OK") == 4
    assert [received.find(b"msg_00000000%d" % n) for n in (1, 2, 3, 4)] == sorted(
        received.find(b"msg_00000000%d" % n) for n in (1, 2, 3, 4)
    )


def test_records_hold_digests_of_both_bodies_and_no_credential():
    with one(Turn(text="x")) as provider:
        _, body = post(provider, "/p/v1/messages?beta=true", BODY, {"x-api-key": "secret-key", "X-Other": "seen"})
    (exchange,) = provider.calls
    assert exchange.request_sha256 == hashlib.sha256(BODY).hexdigest()
    assert (exchange.request_bytes, exchange.body) == (len(BODY), None)
    assert exchange.response_sha256 == hashlib.sha256(body).hexdigest()
    assert (exchange.response_bytes, exchange.status, exchange.ended) == (len(body), 200, "complete")
    assert exchange.target == "/p/v1/messages?beta=true"
    headers = dict(exchange.headers)
    assert headers["x-api-key"] == "sha256:" + hashlib.sha256(b"secret-key").hexdigest()
    assert headers["x-other"] == "seen"


def test_bodies_are_kept_where_asked_for():
    with one(Turn(text="x"), keep_bodies=True) as provider:
        post(provider)
    assert provider.calls[0].body == BODY


def test_free_endpoints_move_no_script_and_are_no_calls():
    with one(Turn(text="x")) as provider:
        connection = http.client.HTTPConnection("127.0.0.1", provider.port, timeout=10)
        seen = []
        for method, path, headers in (
            ("GET", "/v1/models", {}),
            ("GET", "/v1/models", {"anthropic-version": "2023-06-01"}),
            ("HEAD", "/v1/models", {}),
            ("HEAD", "/", {}),
            ("GET", "/nothing", {}),
            ("POST", "/v1/messages/count_tokens", {}),
            ("POST", "/v1/responses/input_tokens", {}),
            ("GET", "/v1/responses", {"Connection": "Upgrade", "Upgrade": "websocket"}),
        ):
            connection.request(method, path, b"x" * 40 if method == "POST" else None, headers)
            response = connection.getresponse()
            data = response.read()
            seen.append((response.status, json.loads(data) if data else None))
        connection.close()
    assert [status for status, _ in seen] == [200, 200, 200, 404, 404, 200, 200, 426]
    assert seen[0][1]["object"] == "list"
    assert seen[1][1]["has_more"] is False
    assert seen[2][1] is None
    assert seen[4][1]["error"]["type"] == "not_found_error"
    assert seen[5][1] == {"input_tokens": 10}
    assert seen[6][1]["input_tokens"] == 10
    assert len(provider.exchanges) == 8
    assert provider.calls == ()


def test_the_test_routes_tell_and_are_not_recorded():
    with one(Turn(text="x")) as provider:
        post(provider)
        connection = http.client.HTTPConnection("127.0.0.1", provider.port, timeout=10)
        connection.request("GET", "/_scripted/requests")
        told = json.loads(connection.getresponse().read())
        connection.request("GET", "/_scripted/nothing")
        unknown = connection.getresponse()
        unknown.read()
        connection.request("POST", "/_scripted/stop")
        assert connection.getresponse().status == 200
        connection.close()
        assert provider.wait(10)
    assert (told["requests"], told["calls"], unknown.status) == (1, 1, 404)
    assert told["exchanges"][0]["model"] == "m-1"
    assert told["exchanges"][0]["wire"] == "anthropic-messages"


def test_each_gated_write_waits_for_its_release():
    turn = Turn(text="abcd", pace=Pace(gated=True, text_chars=1))
    with one(turn) as provider, socket.create_connection(("127.0.0.1", provider.port), timeout=10) as peer:
        peer.sendall(request_bytes(STREAM))
        # message_start, ping, block start, four deltas, block stop, message_delta, message_stop
        names = [b"message_start", b"ping", b"content_block_start", *[b"content_block_delta"] * 4]
        received = b""
        for name in names:
            before = received
            provider.release()
            while received.count(b"event: ") == before.count(b"event: ") or not received.endswith(b"\r\n"):
                received += peer.recv(65536)
            assert received.count(b"event: ") == before.count(b"event: ") + 1
            assert b"event: " + name in received[len(before) :]
        provider.release(10)
        while not received.endswith(b"0\r\n\r\n"):
            received += peer.recv(65536)


def test_release_by_route():
    with one(Turn(text="x", pace=Pace(gated=True))) as provider:
        threading.Thread(target=lambda: post(provider, path="/_scripted/release?count=1", body=b"")).start()
        response, _ = post(provider)
    assert response.status == 200


def test_a_failure_has_its_status_and_headers():
    turn = Turn(failure=Failure(status=429, code="rate_limit_error", message="slow down"), headers={"retry-after": "7"})
    with one(turn) as provider:
        response, body = post(provider, body=STREAM)
    assert (response.status, response.getheader("retry-after")) == (429, "7")
    assert json.loads(body)["error"] == {"type": "rate_limit_error", "message": "slow down"}


@pytest.mark.parametrize(
    ("coding", "decode"), [("gzip", gzip.decompress), ("deflate", zlib.decompress)], ids=["gzip", "deflate"]
)
@pytest.mark.parametrize("body", [BODY, STREAM], ids=["json", "stream"])
def test_a_coding_the_client_accepts(coding, decode, body):
    with one(Turn(text="hello", coding=coding)) as provider:
        response, data = post(provider, body=body, headers={"Accept-Encoding": f"x, {coding}"})
        plain, plain_data = post(provider, body=body, headers={"Accept-Encoding": "identity"})
    assert response.getheader("content-encoding") == coding
    assert plain.getheader("content-encoding") is None
    assert decode(data).replace(b"000000001", b"000000002") == plain_data
    assert provider.calls[0].response_sha256 == hashlib.sha256(data).hexdigest()


def test_a_cut_before_the_head_resets():
    with one(Turn(text="x", cut=Cut())) as provider:
        with pytest.raises(ConnectionResetError):
            raw(provider, request_bytes(BODY))
        assert provider.calls[0].ended == "cut"


def test_a_cut_in_the_middle_sends_just_so_many_bytes_and_resets():
    with one(Turn(text="x" * 500, cut=Cut(after_bytes=300))) as provider:
        received = b""
        with socket.create_connection(("127.0.0.1", provider.port), timeout=10) as peer:
            peer.sendall(request_bytes(STREAM))
            reset = False
            while not reset:
                try:
                    received += peer.recv(65536)
                except ConnectionResetError:
                    reset = True
        assert (provider.calls[0].response_bytes, provider.calls[0].ended) == (300, "cut")
    assert b"message_start" in received
    assert b"0\r\n\r\n" not in received


def test_a_clean_cut_ends_the_body_without_its_last_event():
    with one(Turn(text="x" * 500, cut=Cut(after_bytes=300, clean=True))) as provider:
        received = raw(provider, request_bytes(STREAM))
    assert received.endswith(b"0\r\n\r\n")
    assert b"message_stop" not in received


def test_a_cut_past_the_end_is_none():
    with one(Turn(text="x", cut=Cut(after_bytes=10**6))) as provider:
        response, body = post(provider)
    assert json.loads(body)["content"][0]["text"] == "x"
    assert response.status == 200


def test_writes_of_one_byte_make_the_same_body():
    with one(Turn(text="grüße", pace=Pace(write_bytes=1, pause_ms=0))) as provider:
        _, body = post(provider)
    assert json.loads(body)["content"][0]["text"] == "grüße"


def test_a_delayed_and_paused_answer_is_the_same_answer():
    with one(Turn(text="x", pace=Pace(delay_ms=5, pause_ms=1))) as provider:
        _, body = post(provider, body=STREAM)
    assert body.count(b"event: ") == 7


def test_a_large_stream_is_whole_and_is_not_held_in_memory():
    size = 64 * 1024 * 1024
    with one(Turn(filler=Filler(total_bytes=size))) as provider:
        connection = http.client.HTTPConnection("127.0.0.1", provider.port, timeout=30)
        connection.request("POST", "/v1/messages", STREAM)
        response, digest, length = connection.getresponse(), hashlib.sha256(), 0
        with open("/proc/self/statm") as statm:
            before = int(statm.read().split()[1])
        while piece := response.read(1 << 20):
            digest.update(piece)
            length += len(piece)
        with open("/proc/self/statm") as statm:
            grown = (int(statm.read().split()[1]) - before) * os.sysconf("SC_PAGE_SIZE")
        connection.close()
        deadline = time.monotonic() + 10
        while not provider.calls[0].ended and time.monotonic() < deadline:
            time.sleep(0.01)
    assert length > size
    assert provider.calls[0].response_sha256 == digest.hexdigest()
    assert grown < 24 * 1024 * 1024


def test_a_reader_that_falls_behind_gets_everything_in_the_end():
    size = 16 * 1024 * 1024
    with one(Turn(filler=Filler(total_bytes=size, delta_bytes=1 << 20))) as provider:
        connection = http.client.HTTPConnection("127.0.0.1", provider.port, timeout=30)
        connection.request("POST", "/v1/messages", STREAM)
        response = connection.getresponse()
        # Answered while the first one waits for its reader.
        post(provider, "/v1/messages/count_tokens", b"x")
        received = response.read()
        connection.close()
    assert received.count(b"f") >= size


def test_a_client_that_leaves_is_noticed():
    with one(Turn(text="x", pace=Pace(gated=True))) as provider:
        peer = socket.create_connection(("127.0.0.1", provider.port), timeout=10)
        peer.sendall(request_bytes(STREAM))
        while not provider.calls:
            time.sleep(0.01)
        peer.close()
        deadline = time.monotonic() + 10
        while not provider.calls[0].ended and time.monotonic() < deadline:
            time.sleep(0.01)
    assert provider.calls[0].ended == "client-gone"


def test_a_client_that_waits_gets_100_continue():
    with one(Turn(text="x")) as provider, socket.create_connection(("127.0.0.1", provider.port), timeout=10) as peer:
        head, _, body = request_bytes(BODY, "Expect: 100-continue", "Connection: close").partition(b"\r\n\r\n")
        peer.sendall(head + b"\r\n\r\n")
        assert peer.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        peer.sendall(body)
        received = b""
        while more := peer.recv(65536):
            received += more
    assert received.startswith(b"HTTP/1.1 200 OK")


def test_a_body_that_is_not_json_gets_the_providers_own_400():
    with one(Turn(text="x")) as provider:
        response, body = post(provider, body=b"{")
        chat, chat_body = post(provider, "/v1/chat/completions", b"[]")
    assert (response.status, json.loads(body)["error"]["type"]) == (400, "invalid_request_error")
    assert (chat.status, json.loads(chat_body)["error"]["message"]) == (400, "the body is not an object")


def test_bytes_that_are_no_request_get_400_and_the_end():
    with one(Turn(text="x")) as provider:
        assert raw(provider, b"\x16\x03\x01\x02\x00\r\n\r\n").startswith(b"HTTP/1.1 400 ")
        assert raw(provider, request_bytes(BODY) * 100).count(b"HTTP/1.1 400 ") == 1


def test_256_connections_at_once():
    with one(Turn(text="x")) as provider:
        peers = [socket.create_connection(("127.0.0.1", provider.port), timeout=10) for _ in range(256)]
        for peer in peers:
            peer.sendall(request_bytes(BODY, "Connection: close"))
        for peer in peers:
            received = b""
            while more := peer.recv(65536):
                received += more
            assert received.startswith(b"HTTP/1.1 200 OK")
            peer.close()
    assert len(provider.calls) == 256


def test_it_stops_by_itself_after_its_requests():
    limits = Limits(max_requests=2, max_seconds=30)
    with ScriptedProvider(Script(turns=(Turn(text="x", pace=Pace(delay_ms=20)),)), limits=limits) as provider:
        statuses = [post(provider)[0].status for _ in range(2)]
        assert provider.wait(10)
    assert statuses == [200, 200]


def test_it_stops_by_itself_after_its_time_whatever_is_going_on():
    limits = Limits(max_seconds=0.2)
    with ScriptedProvider(Script(turns=(Turn(text="x", pace=Pace(gated=True)),)), limits=limits) as provider:
        with socket.create_connection(("127.0.0.1", provider.port), timeout=10) as peer:
            peer.sendall(request_bytes(BODY))
            assert provider.wait(10)
        provider.release()


def test_only_the_last_records_are_kept():
    limits = Limits(max_records=2, max_seconds=30)
    with ScriptedProvider(Script(turns=(Turn(text="x"),)), limits=limits) as provider:
        for _ in range(3):
            post(provider)
    assert [exchange.call for exchange in provider.calls] == [2, 3]


def test_stopping_what_was_never_started_frees_the_port():
    provider = one(Turn(text="x"))
    provider.release()
    provider.stop()
    with socket.create_server(("127.0.0.1", provider.port)):
        pass


def test_a_record_as_json_has_no_body():
    exchange = Exchange(number=1, method="GET", target="/", headers=(), request_bytes=0, request_sha256="", body=b"x")
    assert "body" not in exchange.to_json()
    assert json.dumps(exchange.to_json())


class TestProgram:
    def test_it_serves_and_ends_on_sigterm(self, tmp_path):
        script, port_file = tmp_path / "script.json", tmp_path / "port"
        script.write_bytes(encode_script(Script(turns=(Turn(text="hi", tokens=Tokens(output=1)),))))
        command = [sys.executable, "-m", "docket.demo.provider", "--script", str(script), "--port-file", str(port_file)]
        with subprocess.Popen([*command, "--max-seconds", "60"]) as process:
            deadline = time.monotonic() + 20
            while not port_file.exists() and time.monotonic() < deadline:
                time.sleep(0.02)
            connection = http.client.HTTPConnection("127.0.0.1", int(port_file.read_text()), timeout=10)
            connection.request("POST", "/v1/chat/completions", BODY)
            assert json.loads(connection.getresponse().read())["choices"][0]["message"]["content"] == "hi"
            connection.close()
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0

    @pytest.mark.parametrize("content", [b'{"turns": []}', None])
    def test_a_script_that_cannot_be_used_is_a_sentence(self, tmp_path, capsys, content):
        script = tmp_path / "script.json"
        if content is not None:
            script.write_bytes(content)
        assert main(["--script", str(script), "--port-file", str(tmp_path / "port")]) == 2
        assert capsys.readouterr().err.startswith("docket.demo.provider: ")
