"""What a call is expected to cost once a model has reported, and what it may cost at most all the same."""

from __future__ import annotations

import pytest

from boundary_rig.playbook import Play, Stage, names
from boundary_rig.replies import messages_json, messages_request
from boundary_rig.rig import caps
from docket.formats.amount import Usd
from docket.formats.ledger.model_events import ModelDenied, ModelResponse
from docket.formats.ledger.spending_events import CapExceeded
from docket.formats.run.policy_spending import OnBreach
from docket.formats.run.usage import UsageSource
from docket.rules.boundary.protocol import UpstreamChunk, UpstreamEnded

JSON = (b"Content-Type", b"application/json")
SSE = (b"Content-Type", b"text/event-stream")


def stage(cap: str, **terms: str) -> Stage:
    return Stage(caps(max_usd=Usd.parse(cap)), **terms)


def answered(on: Stage, body: bytes, *answer: int, **usage: object) -> Play:
    play = on.play()
    play.post(body)
    play.reply(200, JSON)
    play.feed(UpstreamChunk(messages_json(*answer, **usage)))
    play.feed(UpstreamEnded())
    return play


def test_what_the_last_call_had_in_the_cache_is_expected_from_there():
    on = stage("0.05")
    first = messages_request(messages=[{"role": "user", "content": "x" * 40_000}])
    # 8000 written at 3.75, 2000 fresh at 3 and 10 out at 15: 36 150 micro-dollars of 50 000.
    answered(on, first, 2000, 10, cache_creation_input_tokens=8000)
    assert on.desk.state().spent == Usd(36_150)
    grown = messages_request(messages=[{"role": "user", "content": "x" * 40_400}])
    play = on.play()
    assert "Connect" in names(play.post(grown))
    # 8000 read at 0.30, 2000 fresh at 3, and 400 bytes at 10 000 tokens for the first body.
    more = -(-400 * 10_000 // len(first))
    assert on.desk.account.firm.micros == 2400 + 6000 + 3 * more
    assert on.desk.account.firm.tokens == 10_000 + more
    # All that can come of it: every byte at 6, 1000 out at 15, and the rounding of rows.
    assert on.desk.budget().bound_usd == Usd(36_150 + len(grown) * 6 + 15_004 - 50_000)


def test_a_cache_that_has_expired_is_paid_within_the_bound_and_not_expected_again():
    on = stage("0.05")
    body = messages_request(messages=[{"role": "user", "content": "x" * 40_000}])
    answered(on, body, 0, 10, cache_creation_input_tokens=10_000)
    missed = answered(on, body, 10_000, 10)
    # 37 500 + 150, then 30 000 + 150 where 3000 were expected.
    assert missed.payloads(ModelResponse)[0].cumulative_cost_usd == Usd(67_800)
    budget = on.desk.budget()
    assert budget.overshoot_usd == Usd(17_800)
    assert budget.bound_usd == Usd(37_650 + len(body) * 6 + 15_004 - 50_000)
    again = stage("0.08")
    answered(again, body, 0, 10, cache_creation_input_tokens=10_000)
    answered(again, body, 10_000, 10)
    refused = again.play()
    assert "Refuse" in names(refused.post(body))
    assert "the call needs about 0.03" in refused.payloads(ModelDenied)[0].detail


def test_a_stream_that_reports_its_input_last_is_followed_at_what_is_expected():
    body = b'{"model":"gpt-4o","stream":true,"max_tokens":100,"messages":["%s"]}' % (b"x" * 40_000)
    usage = b'"usage":{"prompt_tokens":10000,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":9984}}'
    on = stage("0.05", provider="openai")
    for _ in range(2):
        play = on.play()
        play.post(body, "/openai/v1/chat/completions")
        expected = on.desk.account.firm.micros
        play.reply(200, SSE)
        play.feed(UpstreamChunk(b'data: {"model":"gpt-4o","choices":[{"index":0,"delta":{"content":"word"}}]}\n\n'))
        followed = on.desk.account.firm.micros
        play.feed(UpstreamChunk(b'data: {"model":"gpt-4o","choices":[],' + usage + b"}\n\ndata: [DONE]\n\n"))
        play.feed(UpstreamEnded())
    # 9984 read at 1.25 and 16 fresh at 2.50; one token of output at 10.
    assert (expected, followed) == (12_520, 12_530)


def test_a_reply_without_usage_is_billed_as_if_nothing_was_cached():
    on = stage("5")
    body = messages_request(messages=[{"role": "user", "content": "x" * 40_000}])
    answered(on, body, 0, 10, cache_creation_input_tokens=10_000)
    play = on.play()
    play.post(body)
    play.reply(200, JSON)
    play.feed(UpstreamChunk(b'{"type":"message","content":[]}'))
    play.feed(UpstreamEnded())
    (response,) = play.payloads(ModelResponse)
    assert (response.cost_usd, response.usage_source) == (Usd(30_000), UsageSource.ESTIMATED)


def test_a_long_body_without_reported_usage_is_booked_within_the_context_window():
    # 3 MB are 750 000 tokens by size; the model reads 200 000, at 3 dollars a million, and 2 bytes of it came back.
    play = Stage(caps(max_usd=Usd.parse("0.5"), on_breach=OnBreach.DENY)).play()
    play.post(messages_request(max_tokens=100, messages="x" * 3_000_000))
    assert play.payloads(ModelDenied)[0].detail.endswith("the call needs about 0.60")
    play = Stage().play()
    play.post(messages_request(max_tokens=100, messages="x" * 3_000_000))
    play.reply(200, JSON)
    play.feed(UpstreamChunk(b"{}"))
    play.feed(UpstreamEnded())
    (response,) = play.payloads(ModelResponse)
    assert (response.usage.input_tokens, response.usage_source) == (200_000, UsageSource.ESTIMATED)
    assert response.cost_usd == Usd(600_000)


@pytest.mark.parametrize(
    ("answer", "once"),
    [
        (
            b'{"id":"msg_1","content":[{"type":"text","text":"' + b"x" * 4000 + b'"}]}',
            "the call's use had been estimated",
        ),
        (messages_json(1000, 100), "the provider had reported what the call used"),
    ],
)
def test_a_crossing_says_who_counted(answer, once):
    play = Stage(caps(max_usd=Usd.parse("0.001"))).play()
    play.post(messages_request())
    play.reply(200, JSON)
    play.feed(UpstreamChunk(answer))
    play.feed(UpstreamEnded())
    (exceeded,) = play.payloads(CapExceeded)
    assert f" used once {once}" in exceeded.detail


@pytest.mark.parametrize("status", [400, 413, 500])
def test_a_long_body_that_was_refused_costs_nothing(status):
    play = Stage().play()
    play.post(b"z" * 3_000_000)
    play.reply(status, JSON)
    play.feed(UpstreamChunk(b"no"))
    play.feed(UpstreamEnded())
    assert play.payloads(ModelResponse) == []
    assert play.stage.desk.state().spent == Usd(0)
