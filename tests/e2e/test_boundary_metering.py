"""What is metered beyond the plain call: asked-for usage chunks, endpoints nobody knows, background responses."""

from __future__ import annotations

import hashlib
import json

from boundary_rig.raw_upstream import RawUpstream, chunk, chunked_head, whole
from boundary_rig.rig import TOKEN, boundary, caps
from docket.formats.amount import Usd
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import BudgetPolicy, CapsPolicy

USAGE = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
# gpt-4o: 1000 at 2.50 and 100 at 10 dollars per million.
COST = "0.003500"
PIECES = [
    b'data: {"id":"c","model":"gpt-4o","choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n',
    b'data: {"id":"c","model":"gpt-4o","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
]
EXTRA = b'data: {"id":"c","model":"gpt-4o","choices":[],"usage":' + json.dumps(USAGE).encode() + b"}\n\n"
DONE = b"data: [DONE]\n\n"
CHAT = b'{ "model":"gpt-4o", "temperature":0.7, "stream":true, "messages":[{"role":"user","content":"hi"}]}'


def chat_stream(request, sock):
    asked = json.loads(request.body).get("stream_options", {}).get("include_usage")
    sock.sendall(chunked_head())
    for piece in (*PIECES, *([EXTRA] if asked else []), DONE):
        sock.sendall(chunk(piece))
    sock.sendall(b"0\r\n\r\n")
    return True


def test_usage_is_asked_for_and_taken_out_where_the_agent_tolerates_it(tmp_path):
    with (
        RawUpstream(chat_stream) as upstream,
        boundary(tmp_path, upstream.url, name="openai", tolerates_usage_injection=True) as rig,
    ):
        _, _, got = rig.post(CHAT, "/openai/v1/chat/completions", {"Accept-Encoding": "gzip"})
        (asked,) = rig.data("model.request")
        (response,) = rig.data("model.response")
        sent = upstream.requests[0]
    assert got == b"".join(PIECES) + DONE
    assert response["cost_usd"] == COST
    assert response["response_sha256"] == hashlib.sha256(got).hexdigest()
    assert asked["request_sha256"] == hashlib.sha256(CHAT).hexdigest()
    assert asked["forwarded_sha256"] == hashlib.sha256(sent.body).hexdigest()
    assert asked["altered"] == ["stream_options.include_usage"]
    assert sent.values("accept-encoding") == ["identity"]
    assert sent.body.replace(b'"stream_options":{"include_usage":true},', b"") == CHAT


def test_a_relay_that_objects_to_the_question_gets_the_request_as_it_was(tmp_path):
    def relay(request, sock):
        if b"stream_options" in request.body:
            sock.sendall(whole(b'{"detail":"extra field stream_options"}', status="422 Unprocessable Entity"))
            return True
        return chat_stream(request, sock)

    with (
        RawUpstream(relay) as upstream,
        boundary(tmp_path, upstream.url, name="openai", tolerates_usage_injection=True) as rig,
    ):
        for _ in range(2):
            status, _, got = rig.post(CHAT, "/openai/v1/chat/completions")
            assert (status, got) == (200, b"".join(PIECES) + DONE)
        assert [request.body == CHAT for request in upstream.requests] == [False, True, True]
        assert upstream.connections == 1
        assert [item["code"] for item in rig.data("note")] == ["usage-not-asked-for"]
        assert len(rig.data("model.response")) == 2


def test_usage_is_estimated_where_it_may_not_be_asked_for(tmp_path):
    with RawUpstream(chat_stream) as upstream, boundary(tmp_path, upstream.url, name="openai") as rig:
        _, _, got = rig.post(CHAT, "/openai/v1/chat/completions")
        (response,) = rig.data("model.response")
        assert upstream.requests[0].body == CHAT
    assert got == b"".join(PIECES) + DONE
    assert response["usage_source"] == "estimated"
    assert response["usage"]["input_tokens"] == -(-len(CHAT) // 4)
    assert response["usage"]["output_tokens"] == 1
    assert response["usage_note"]


def test_an_endpoint_nobody_knows_is_booked_when_its_reply_reports_usage(tmp_path):
    body = json.dumps({"model": "gpt-4o", "data": [], "usage": USAGE}).encode()

    def handler(request, sock):
        sock.sendall(whole(body if request.line.startswith("POST /v1/brand-new") else b'{"ok":true}'))
        return True

    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url, name="openai") as rig:
        rig.post(b'{"model":"gpt-4o","input":"x"}', "/openai/v1/brand-new")
        rig.post(b'{"model":"gpt-4o","input":"x"}', "/openai/v1/another")
        types = [item.type for item in rig.events()]
        (asked,) = rig.data("model.request")
        (response,) = rig.data("model.response")
    assert types[:4] == ["model.request", "x-docket.price", "model.response", "x-docket.other"]
    assert response["cost_usd"] == COST
    assert asked["request_sha256"] == hashlib.sha256(b'{"model":"gpt-4o","input":"x"}').hexdigest()
    assert asked["path"] == "/openai/v1/brand-new"


def test_an_endpoint_the_policy_lists_passes_under_a_cap_and_counts_against_it(tmp_path):
    body = json.dumps({"model": "gpt-4o", "usage": USAGE}).encode()
    policy = Policy(
        caps=CapsPolicy(max_usd=Usd.parse("0.003")), budget=BudgetPolicy(pass_endpoints=("openai/v1/brand-*",))
    )
    with (
        RawUpstream(lambda request, sock: sock.sendall(whole(body)) is None) as upstream,
        boundary(tmp_path, upstream.url, name="openai", policy=policy) as rig,
    ):
        assert rig.post(b'{"model":"gpt-4o"}', "/openai/v1/brand-new")[0] == 200
        assert rig.data("cap.exceeded")[0]["used"] == COST
    assert [str(breach.cap) for breach in rig.breaches] == ["max_usd"]


def test_a_background_response_is_booked_once_when_it_is_fetched(tmp_path):
    usage = {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100}
    queued = {"id": "resp_7", "object": "response", "model": "gpt-4o", "status": "queued", "output": []}

    def handler(request, sock):
        done = request.line.startswith("GET")
        sock.sendall(
            whole(json.dumps({**queued, **({"status": "completed", "usage": usage} if done else {})}).encode())
        )
        return True

    with (
        RawUpstream(handler) as upstream,
        boundary(tmp_path, upstream.url, name="openai", policy=caps(max_usd=Usd.parse("5"))) as rig,
    ):
        rig.post(b'{"model":"gpt-4o","input":"x","background":true}', "/openai/v1/responses")
        assert rig.boundary.snapshot().spent == Usd(0)
        connection = rig.connect()
        for _ in range(3):
            connection.request("GET", f"/{TOKEN}/openai/v1/responses/resp_7")
            connection.getresponse().read()
        connection.close()
        assert str(rig.boundary.snapshot().spent) == COST
        assert [item["cost_usd"] for item in rig.data("model.response")] == ["0.00", COST]
