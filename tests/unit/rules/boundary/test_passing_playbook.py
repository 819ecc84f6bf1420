"""Requests that are not weighed: passed through, and booked late where their reply reports usage."""

from __future__ import annotations

import json

import pytest

from boundary_rig.playbook import Stage, names
from boundary_rig.rig import TOKEN, caps
from docket.formats.amount import Usd
from docket.formats.ledger.model_events import ModelDenied, ModelRequest, ModelResponse, Outcome
from docket.formats.ledger.network_events import NetDenied, OtherExchange
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.rules.boundary.http1 import RequestHead
from docket.rules.boundary.protocol import (
    BodyChunk,
    BodyEnded,
    ClientGone,
    CloseUpstream,
    Connect,
    EndUpstream,
    EvidenceFailed,
    HeadArrived,
    Needs,
    Reset,
    Retry,
    SendClient,
    SendUpstream,
    Stopping,
    UpstreamChunk,
    UpstreamEnded,
    UpstreamFailed,
)

LENGTH = (b"Content-Length", b"5")
JSON = (b"Content-Type", b"application/json")
USAGE = b'{"model":"gpt-4o","usage":{"prompt_tokens":1000,"completion_tokens":100}}'
BOOKED = ["Record(model.request)", "Released", "Record(x-docket.price)", "Record(model.response)"]


def test_both_bodies_stream():
    play = Stage().play()
    (connect,) = play.head("/anthropic/v1/files?x=1", "POST", "Transfer-Encoding: chunked")
    assert isinstance(connect, Connect)
    assert (connect.body, connect.chunked, connect.head.target) == (None, True, "/base/v1/files?x=1")
    assert play.exchange.needs == Needs(body=True, upstream=True)
    assert play.feed(BodyChunk(b"abc")) == [SendUpstream(b"abc")]
    assert play.feed(BodyEnded()) == [EndUpstream()]
    assert play.exchange.needs == Needs(upstream=True)
    assert names(play.reply(201, LENGTH)) == ["StartClient"]
    assert play.feed(UpstreamChunk(b"hello")) == [SendClient(b"hello")]
    assert play.feed(Retry()) == []
    assert names(play.feed(UpstreamEnded())) == ["Record(x-docket.other)", "Finish"]
    (other,) = play.payloads(OtherExchange)
    assert (other.method, other.path, other.status, other.response_bytes) == ("POST", "/anthropic/v1/files", 201, 5)
    assert play.stage.desk.state().calls == 0


def test_a_request_without_a_body_is_whole_at_once():
    (connect,) = Stage().play().head("/anthropic/v1/models", "GET")
    assert connect.body == b""


def test_ends_that_are_no_ends():
    gone = Stage().play()
    gone.head("/anthropic/v1/models", "GET")
    assert names(gone.feed(ClientGone())) == ["CloseUpstream", "Record(x-docket.other)", "Reset"]
    assert gone.payloads(OtherExchange)[0].status == 499
    stopped = Stage().play()
    stopped.head("/anthropic/v1/models", "GET")
    stopped.reply(200, LENGTH)
    assert names(stopped.feed(Stopping())) == ["CloseUpstream", "Record(x-docket.other)", "Reset"]
    broken = Stage().play()
    broken.head("/anthropic/v1/models", "GET")
    broken.reply(200, LENGTH)
    assert names(broken.feed(UpstreamFailed(Reason.UPSTREAM_BROKEN, "x", sent=True))) == [
        "Record(x-docket.other)", "Reset",
    ]  # fmt: skip
    nobody = Stage().play()
    nobody.head("/anthropic/v1/models", "GET")
    commands = nobody.feed(UpstreamFailed(Reason.UPSTREAM_UNREACHABLE, "x", sent=False))
    assert names(commands) == ["Record(x-docket.other)", "Refuse", "Finish"]
    assert nobody.payloads(OtherExchange)[0].status == 502


def unknown(policy: Policy | None = None):
    play = Stage(policy, provider="openai").play()
    play.head("/openai/v1/brand-new", "POST", "Content-Length: 18")
    play.feed(BodyChunk(b'{"model":'))
    play.feed(BodyChunk(b'"gpt-4o"}'))
    play.feed(BodyEnded())
    return play


def test_a_reply_that_reports_usage_is_a_call():
    play = unknown()
    play.clock = 5
    play.reply(200, JSON)
    play.feed(UpstreamChunk(USAGE[:20]))
    play.feed(UpstreamChunk(USAGE[20:]))
    assert names(play.feed(UpstreamEnded())) == [*BOOKED, "Await(DURABLE)", "Finish"]
    (request,), (response,) = play.payloads(ModelRequest), play.payloads(ModelResponse)
    assert (request.call, request.model, request.body_bytes) == (1, "gpt-4o", 18)
    assert (response.call, response.cost_usd, response.outcome) == (1, Usd(3500), Outcome.COMPLETE)
    assert response.latency_ms == 5
    assert play.stage.desk.state().in_flight == 0


def test_a_late_booking_can_cross_a_cap():
    policy = Policy(caps=caps(max_usd=Usd(3499)).caps, budget=Policy().budget.__class__(pass_endpoints=("openai/*",)))
    play = unknown(policy)
    play.reply(200, JSON)
    play.feed(UpstreamChunk(USAGE))
    commands = names(play.feed(UpstreamEnded()))
    assert "Record(cap.exceeded)" in commands
    assert commands[-2:] == ["Finish", "Breach"]
    budget = play.stage.desk.budget()
    assert budget.overshoot_usd == budget.bound_usd == Usd(1)


def test_a_large_request_is_read_from_its_beginning_alone():
    play = Stage(provider="openai").play()
    play.head("/openai/v1/brand-new", "POST", "Transfer-Encoding: chunked")
    piece = b"x" * 700_000
    for _ in range(3):
        assert play.feed(BodyChunk(piece)) == [SendUpstream(piece)]
    play.feed(BodyEnded())
    play.reply(200, JSON)
    play.feed(UpstreamChunk(USAGE))
    play.feed(UpstreamEnded())
    (request,) = play.payloads(ModelRequest)
    assert (request.model, request.body_bytes) == ("unknown", 2_100_000)


def test_a_fetched_response_is_booked_once():
    stage = Stage(provider="openai")
    answer = {"id": "resp_1", "object": "response", "model": "gpt-4o", "status": "completed"}
    body = json.dumps({**answer, "usage": {"input_tokens": 1000, "output_tokens": 100}}).encode()
    counts = []
    for _ in range(2):
        play = stage.play()
        play.head("/openai/v1/responses/resp_1", "GET")
        play.reply(200, JSON)
        play.feed(UpstreamChunk(body))
        play.feed(UpstreamEnded())
        counts.append(len(play.payloads(ModelResponse)))
    assert counts == [1, 0]
    for number in range(5000):
        stage.desk.booked(f"other-{number}")
    assert not stage.desk.has_booked("resp_1")
    stage.desk.booked(None)
    assert not stage.desk.has_booked(None)


CHAT = b'{"id":"chat_1","model":"gpt-4o","usage":{"prompt_tokens":1000,"completion_tokens":100}}'
MESSAGE = (
    b'{"id":"msg_1","type":"message","model":"claude-sonnet-4-5",'
    b'"usage":{"input_tokens":1000,"cache_read_input_tokens":0,"output_tokens":100}}'
)
STREAM = b'data: {"model":"gpt-4o","choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":100}}\n\n'


def passed(stage: Stage, method: str, path: str, answer: bytes, *headers: str, status: int = 200):
    play = stage.play()
    play.head(path, method, *headers)
    play.reply(status, JSON)
    play.feed(UpstreamChunk(answer))
    play.feed(UpstreamEnded())
    return play


@pytest.mark.parametrize(
    ("method", "path", "answer", "micros"),
    [
        ("GET", "/openai/v1/chat/completions", CHAT, 3500),
        ("GET", "/openai/v1/models", USAGE, 3500),
        ("GET", "/openai/v1/anything", STREAM, 3500),
        ("POST", "/openai/v1/moderations", CHAT, 3500),
        ("POST", "/openai/v1/files", CHAT, 3500),
        ("DELETE", "/openai/v1/files/f_1", CHAT, 3500),
        ("GET", "/openai/v1/files/f_1/content", MESSAGE, 1000 * 3 + 100 * 15),
    ],
)
def test_a_free_endpoint_whose_reply_reports_usage_is_a_call(method, path, answer, micros):
    stage = Stage(caps(max_usd=Usd(10**6)), provider="openai")
    play = passed(stage, method, path, answer)
    (request,), (response,) = play.payloads(ModelRequest), play.payloads(ModelResponse)
    assert (request.method, request.path, request.call) == (method, path, 1)
    assert response.cost_usd == response.cumulative_cost_usd == Usd(micros)
    assert stage.desk.state().spent == Usd(micros)
    assert play.payloads(OtherExchange) == []


@pytest.mark.parametrize(
    ("method", "path", "answer"),
    [
        ("POST", "/openai/v1/messages/count_tokens", b'{"input_tokens":2095}'),
        ("POST", "/openai/v1/responses/input_tokens", b'{"object":"response.input_tokens","input_tokens":11}'),
        ("GET", "/openai/v1/models", b'{"object":"list","data":[{"id":"gpt-4o","usage":{"prompt_tokens":9}}]}'),
        ("GET", "/openai/v1/batches/b_1", b'{"id":"b_1","usage":{"input_tokens":0,"output_tokens":0}}'),
        ("GET", "/openai/v1/files/f_1/content", b"usage: 5\n"),
        ("GET", "/openai/v1/quota", b'{"usage":17}'),
        ("GET", "/openai/v1/quota", b'{"usage":{"total":17}}'),
    ],
)
def test_a_free_reply_without_a_calls_usage_is_none(method, path, answer):
    play = passed(Stage(provider="openai"), method, path, answer)
    assert [item.path for item in play.payloads(OtherExchange)] == [path]
    assert play.payloads(ModelResponse) == []
    assert play.stage.desk.state().calls == 0


def test_an_id_in_a_file_books_nothing_elsewhere():
    stage = Stage(provider="openai")
    small = b'{"id":"resp_1","model":"gpt-4o","usage":{"input_tokens":1,"output_tokens":0}}'
    large = b'{"id":"resp_1","model":"gpt-4o","status":"completed","usage":{"input_tokens":1000,"output_tokens":100}}'
    counts = [
        len(passed(stage, "GET", path, answer).payloads(ModelResponse))
        for path, answer in (
            ("/openai/v1/files/f_1/content", small),
            ("/openai/v1/files/f_1/content", small),
            ("/openai/v1/responses/resp_1", large),
            ("/openai/v1/responses/resp_1", large),
            ("/openai/v1/files/f_2/content", large),
        )
    ]
    assert counts == [1, 0, 1, 0, 0]


@pytest.mark.parametrize("name", ["X-HTTP-Method-Override", "x-method-override", "X-Http-Method"])
@pytest.mark.parametrize(("method", "path"), [("GET", "/openai/v1/chat/completions"), ("POST", "/openai/v1/files")])
def test_a_method_in_disguise_is_an_unknown_endpoint(name, method, path):
    play = Stage(caps(max_usd=Usd(10**6)), provider="openai").play()
    assert names(play.head(path, method, f"{name}: POST"))[-2:] == ["Refuse", "Finish"]
    assert play.payloads(ModelDenied)[0].reason == Reason.UNKNOWN_ENDPOINT
    free = passed(Stage(provider="openai"), method, path, USAGE, f"{name}: POST")
    assert len(free.payloads(ModelResponse)) == 1


@pytest.mark.parametrize(
    ("path", "header"),
    [
        ("/openai/v1/files?_method=POST", None),
        ("/openai/v1/files?a=b&%5Fmethod=post", None),
        ("/gemini/v1beta/models?%24httpMethod=POST", None),
        ("/openai/v1/files", "X_HTTP_Method_Override: POST"),
        ("/openai/v1/files", "X-Original-URL: /v1/responses"),
        ("/openai/v1/files", "X-Rewrite-URL: /v1/responses"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "DELETE", "HEAD"])
def test_a_method_or_a_path_in_another_disguise(method, path, header):
    play = Stage(caps(max_usd=Usd(10**6)), provider=path.split("/")[1]).play()
    assert names(play.head(path, method, *([header] if header else [])))[-2:] == ["Refuse", "Finish"]


@pytest.mark.parametrize("framing", ["Content-Length: 5", "Transfer-Encoding: chunked"])
def test_a_get_with_a_body_where_a_post_is_billed_is_an_unknown_endpoint(framing):
    stage = Stage(caps(max_usd=Usd(10**6)), provider="openai")
    assert names(stage.play().head("/openai/v1/chat/completions", "GET", framing))[-2:] == ["Refuse", "Finish"]
    assert names(stage.play().head("/openai/v1/images/generations", "GET", framing))[-2:] == ["Refuse", "Finish"]
    assert names(stage.play().head("/openai/v1/models", "GET", framing)) == ["Connect"]
    assert names(stage.play().head("/openai/v1/chat/completions", "GET", "Content-Length: 0")) == ["Connect"]


def test_a_failed_record_breaks_a_reply_that_has_begun():
    play = Stage().play()
    play.head("/anthropic/v1/models", "GET")
    play.reply(200, LENGTH)
    assert names(play.feed(EvidenceFailed("full"))) == ["CloseUpstream", "Released", "Reset"]
    unanswered = Stage().play()
    unanswered.head("/anthropic/v1/models", "GET")
    assert names(unanswered.feed(EvidenceFailed("full"))) == ["Released", "Refuse", "Finish"]


def test_who_is_turned_away_is_told_little():
    stage = Stage()
    for target, host, commands, status in (
        ("/guess/anthropic", b"127.0.0.1", ["Record(net.denied)", "Refuse", "Finish"], 404),
        ("/guess/anthropic", b"127.0.0.1", ["Refuse", "Finish"], 404),
        (f"/{TOKEN}/anthropic", b"evil.example", ["Record(net.denied)", "Refuse", "Finish"], 404),
        ("http://x/", b"x", ["Record(net.denied)", "Refuse", "Finish"], 405),
    ):
        play = stage.play()
        head = RequestHead(method="GET", target=target, headers=((b"Host", host),))
        found = play.feed(HeadArrived(head, "2026-01-01T00:00:00.000Z"))
        assert names(found) == commands
        assert found[-2].head.status == status
    assert all(isinstance(item, NetDenied) for item in play.payloads(NetDenied))


def test_what_follows_the_end_is_ignored():
    play = Stage().play()
    play.head("/anthropic/v1/models", "GET")
    assert play.feed(ClientGone())[0] == CloseUpstream()
    assert play.feed(ClientGone()) == []
    assert isinstance(play.all[-1], Reset)
