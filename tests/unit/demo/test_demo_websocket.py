"""The scripted provider over a WebSocket, with the `websockets` package as its client."""

from __future__ import annotations

import json

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from docket.demo.provider import ScriptedProvider
from docket.demo.script import Cut, Failure, Script, Tokens, Turn, encode_script, parse_script


def asked(**members):
    return json.dumps({"type": "response.create", "model": "m", **members})


def opened(provider, path="/v1/responses"):
    return connect(f"ws://127.0.0.1:{provider.port}{path}", proxy=None, compression=None)


def heard(socket, count=1):
    """Return the messages up to the end of `count` responses."""
    found = []
    while count:
        found.append(json.loads(socket.recv(timeout=20)))
        count -= found[-1]["type"] in ("response.completed", "response.failed", "response.incomplete", "error")
    return found


def test_turns_are_answered_in_order_and_go_on_from_one_another():
    turns = (
        Turn(text="one", tokens=Tokens(fresh=5, output=1)),
        Turn(text="two", tokens=Tokens(cache_read=6, output=2)),
    )
    with ScriptedProvider(Script(turns=turns, websocket=True)) as provider, opened(provider) as socket:
        socket.send(asked(generate=False))
        warmed = heard(socket)[-1]["response"]
        assert (warmed["output"], warmed["usage"]["input_tokens"]) == ([], 0)
        socket.send(asked(previous_response_id=warmed["id"]))
        first = heard(socket)
        assert first[-1]["response"]["previous_response_id"] == warmed["id"]
        assert first[-1]["response"]["usage"]["input_tokens"] == 5
        socket.send(asked())
        assert heard(socket)[-1]["response"]["usage"]["total_tokens"] == 8
        assert socket.ping().wait(20)
        assert [(exchange.turn, exchange.status) for exchange in provider.calls] == [(None, 200), (0, 200), (1, 200)]
        assert provider.exchanges[0].status == 101


def test_lanes_are_answered_side_by_side():
    with (
        ScriptedProvider(Script(turns=(Turn(text="x" * 200),), websocket=True)) as provider,
        opened(provider) as socket,
    ):
        for lane in ("a", "b", "a"):
            socket.send(asked(stream_id=lane))
        found = heard(socket, 3)
    assert {item["stream_id"] for item in found} == {"a", "b"}
    assert len({item["response"]["id"] for item in found if item["type"] == "response.completed"}) == 3


def test_failures_cuts_and_what_cannot_be_read():
    turns = (
        Turn(failure=Failure(status=429, code="insufficient_quota", message="spent")),
        Turn(failure=Failure(status=503, code="overloaded", message="later")),
        Turn(failure=Failure(code="c", in_band=True)),
        Turn(text="x", cut=Cut(after_bytes=10)),
    )
    with ScriptedProvider(Script(turns=turns, websocket=True)) as provider, opened(provider) as socket:
        for status, kind in ((429, "invalid_request_error"), (503, "server_error")):
            socket.send(asked())
            (failed,) = heard(socket)
            assert (failed["status"], failed["error"]["type"]) == (status, kind)
        socket.send(asked())
        assert heard(socket)[-1]["type"] == "response.failed"
        socket.send("{")
        assert heard(socket)[0]["status"] == 400
        socket.send(json.dumps({"type": "response.cancel", "model": "m"}))
        socket.send(asked())
        with pytest.raises(ConnectionClosed):
            heard(socket)


def test_a_close_is_answered_and_no_frame_ends_it():
    with ScriptedProvider(Script(turns=(Turn(),), websocket=True)) as provider:
        with opened(provider) as socket:
            socket.close(1000, "bye")
        assert socket.close_code == 1000
        with opened(provider) as socket:
            socket.socket.sendall(b"\xff\xff\xff")
            with pytest.raises(ConnectionClosed):
                socket.recv(timeout=20)


def test_it_is_spoken_where_the_script_says_so_and_at_one_path_alone():
    with ScriptedProvider(Script(turns=(Turn(),))) as provider, pytest.raises(InvalidStatus) as refused:
        opened(provider)
    assert refused.value.response.status_code == 426
    with ScriptedProvider(Script(turns=(Turn(),), websocket=True)) as provider, pytest.raises(InvalidStatus) as refused:
        opened(provider, "/v1/realtime")
    assert refused.value.response.status_code == 426


def test_the_scripts_file_says_it():
    script = Script(turns=(Turn(),), websocket=True)
    assert parse_script(encode_script(script)) == script
