"""True cost over real sockets: what the provider reported, times prices typed here, to the micro-dollar."""

from __future__ import annotations

import gzip
import json
import zlib

import brotli
import pytest
import zstandard

from boundary_rig.raw_upstream import RawUpstream, chunk, chunked_head, whole
from boundary_rig.replies import messages_events, messages_json, messages_request
from boundary_rig.rig import boundary

CODINGS = {
    "": lambda data: data,
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
# 100 in at 3, 50 out at 15 dollars per million: 300 + 750 micro-dollars.
PLAIN_COST = "0.001050"


def serve(body: bytes, *, kind: str, coding: str, streamed: bool):
    data = CODINGS[coding](body)
    extra = f"Content-Encoding: {coding}\r\n" if coding else ""

    def handler(request, sock):
        if streamed:
            sock.sendall(chunked_head(kind=kind, extra=extra))
            for at in range(0, len(data), 37):
                sock.sendall(chunk(data[at : at + 37]))
            sock.sendall(b"0\r\n\r\n")
        else:
            sock.sendall(whole(data, kind=kind, extra=extra))
        return True

    return handler


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("streamed", [False, True])
def test_anthropic_cost_is_exact(tmp_path, coding, streamed):
    body = b"".join(messages_events()) if streamed else messages_json()
    kind = "text/event-stream" if streamed else "application/json"
    with (
        RawUpstream(serve(body, kind=kind, coding=coding, streamed=streamed)) as upstream,
        boundary(tmp_path, upstream.url) as rig,
    ):
        status, headers, got = rig.post(messages_request(stream=streamed), headers={"Accept-Encoding": coding})
        state = rig.boundary.snapshot()
        (response,) = rig.data("model.response")
    assert status == 200
    assert got == CODINGS[coding](body)
    assert headers.get("content-encoding") == (coding or None)
    assert response["cost_usd"] == PLAIN_COST == str(state.spent)
    assert response["usage"] == {"input_tokens": 100, "cached_input_tokens": 0, "output_tokens": 50}
    assert response["usage_source"] == "reported"
    assert response["response_bytes"] == len(got)


def test_anthropic_caches_are_priced_apart(tmp_path):
    # Disjoint buckets: 10 fresh at 3, 1000 read at 0.30, 200 written for 5 m at 3.75, 100 for 1 h at 6, 20 out at 15:
    # 30 + 300 + 750 + 600 + 300 micro-dollars.
    usage = {
        "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 300,
        "cache_creation": {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 100},
    }
    body = messages_json(10, 20, **usage)
    with (
        RawUpstream(serve(body, kind="application/json", coding="", streamed=False)) as upstream,
        boundary(tmp_path, upstream.url) as rig,
    ):
        rig.post(messages_request())
        (response,) = rig.data("model.response")
        rows = rig.data("x-docket.price")
    assert response["cost_usd"] == "0.001980"
    assert response["usage"]["input_tokens"] == 1310
    assert sum(int(part["cost_usd"].replace(".", "")) for part in response["components"]) == 1980
    assert len(rows) == len(response["components"])
    assert response["components"][-1]["model"] == "claude-sonnet-4-5"


CHAT_USAGE = {
    "prompt_tokens": 1000,
    "completion_tokens": 100,
    "total_tokens": 1100,
    "prompt_tokens_details": {"cached_tokens": 400},
    "completion_tokens_details": {"reasoning_tokens": 60},
}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("coding", ["", "gzip"])
def test_chat_cost_is_exact(tmp_path, streamed, coding):
    # gpt-4o: 600 fresh at 2.50, 400 cached at 1.25, 100 out at 10: 1500 + 500 + 1000 micro-dollars.
    if streamed:
        pieces = [
            {"id": "c", "model": "gpt-4o", "choices": [{"index": 0, "delta": {"content": "hi"}}], "usage": None},
            {"id": "c", "model": "gpt-4o", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            {"id": "c", "model": "gpt-4o", "choices": [], "usage": CHAT_USAGE},
        ]
        body = b"".join(b"data: " + json.dumps(piece).encode() + b"\n\n" for piece in pieces) + b"data: [DONE]\n\n"
    else:
        choice = {"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}
        body = json.dumps({"id": "c", "model": "gpt-4o", "choices": [choice], "usage": CHAT_USAGE}).encode()
    kind = "text/event-stream" if streamed else "application/json"
    request = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}], "stream": streamed}
    if streamed:
        request["stream_options"] = {"include_usage": True}
    with (
        RawUpstream(serve(body, kind=kind, coding=coding, streamed=streamed)) as upstream,
        boundary(tmp_path, upstream.url, name="openai") as rig,
    ):
        status, _, got = rig.post(json.dumps(request).encode(), "/openai/v1/chat/completions")
        (response,) = rig.data("model.response")
    assert (status, got) == (200, CODINGS[coding](body))
    assert response["cost_usd"] == "0.003000"
    assert response["usage"]["cached_input_tokens"] == 400
    assert response["usage"]["reasoning_tokens"] == 60


@pytest.mark.parametrize("streamed", [False, True])
def test_responses_cost_is_exact(tmp_path, streamed):
    # gpt-4o: 1600 fresh at 2.50, 400 cached at 1.25, 50 out at 10: 4000 + 500 + 500 micro-dollars.
    usage = {
        "input_tokens": 2000,
        "input_tokens_details": {"cached_tokens": 400},
        "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 20},
        "total_tokens": 2050,
    }
    answer = {"id": "resp_1", "object": "response", "model": "gpt-4o", "status": "completed", "output": []}
    if streamed:
        events = [
            ("response.created", {"type": "response.created", "response": {**answer, "status": "in_progress"}}),
            ("response.output_text.delta", {"type": "response.output_text.delta", "delta": "hi"}),
            ("response.completed", {"type": "response.completed", "response": {**answer, "usage": usage}}),
        ]
        body = b"".join(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode() for name, data in events)
    else:
        body = json.dumps({**answer, "usage": usage}).encode()
    kind = "text/event-stream" if streamed else "application/json"
    request = json.dumps({"model": "gpt-4o", "input": "hi", "stream": streamed}).encode()
    with (
        RawUpstream(serve(body, kind=kind, coding="", streamed=streamed)) as upstream,
        boundary(tmp_path, upstream.url, name="openai") as rig,
    ):
        status, _, got = rig.post(request, "/openai/v1/responses")
        (response,) = rig.data("model.response")
        (asked,) = rig.data("model.request")
    assert (status, got) == (200, body)
    assert response["cost_usd"] == "0.005000"
    assert asked["wire"] == "openai-responses"


def test_costs_add_up_without_drift(tmp_path):
    # 207 micro-dollars each: 19 in at 3 and 10 out at 15.
    with (
        RawUpstream(serve(messages_json(19, 10), kind="application/json", coding="", streamed=False)) as upstream,
        boundary(tmp_path, upstream.url) as rig,
    ):
        connection = rig.connect()
        for _ in range(200):
            connection.request("POST", "/t0kenT0ken-t0ken_T0ken/anthropic/v1/messages", messages_request())
            connection.getresponse().read()
        connection.close()
        assert str(rig.boundary.snapshot().spent) == "0.041400"
        responses = rig.data("model.response")
    assert responses[-1]["cumulative_cost_usd"] == "0.041400"
    assert [item["call"] for item in responses] == list(range(1, 201))
