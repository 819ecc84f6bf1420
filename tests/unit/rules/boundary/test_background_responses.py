"""A response made in the background is billed where nobody hears of it: its call's hold stays until it is booked.

gpt-5.2-codex in micro-dollars a token: 1.75 in, 14 out, twice that where its processing is a priority one, which a
request that says nothing of it may get; four micro-dollars for rounding.
"""

from __future__ import annotations

import json

import pytest

from boundary_rig.playbook import Play, Stage
from docket.formats.amount import Usd
from docket.formats.ledger.model_events import ModelDenied, ModelRequest, ModelResponse
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import Admission, BudgetPolicy, CapsPolicy
from docket.formats.run.sub_budgets import SubBudget
from docket.rules.boundary.protocol import (
    BodyEnded,
    ClientGone,
    Connect,
    Tick,
    UpstreamChunk,
    UpstreamEnded,
    UpstreamFailed,
)
from docket.rules.spending.caps import NOTHING

PATH = "/openai/v1/responses"
MODEL = "gpt-5.2-codex"
BODY = json.dumps({"model": MODEL, "input": "hello", "background": True, "max_output_tokens": 1000}).encode()
WORST = -(-len(BODY) * 35 // 10) + 28_000 + 4
# 100 in and 900 out.
COST = 175 + 12_600


def stage(cap=10**6, admission=Admission.METERED, **caps) -> Stage:
    limits = CapsPolicy(max_usd=None if cap is None else Usd(cap), **caps)
    return Stage(Policy(budget=BudgetPolicy(admission=admission), caps=limits), provider="openai")


def response(number: int, status: str, usage: object) -> bytes:
    return json.dumps(
        {"id": f"resp_{number}", "object": "response", "status": status, "model": MODEL, "usage": usage, "output": []}
    ).encode()


def answered(play: Play, reply: bytes) -> None:
    play.reply(200, (b"content-type", b"application/json"), (b"content-length", b"%d" % len(reply)))
    play.feed(UpstreamChunk(reply))
    play.feed(UpstreamEnded())


def queued(one: Stage, number: int) -> Play:
    play = one.play()
    play.post(BODY, PATH)
    if any(isinstance(item, Connect) for item in play.all):
        answered(play, response(number, "queued", None))
    return play


def fetched(one: Stage, number: int, status: str = "completed") -> Play:
    usage = {"input_tokens": 100, "output_tokens": 900, "total_tokens": 1000} if status == "completed" else None
    play = one.play()
    play.head(f"{PATH}/resp_{number}", "GET")
    play.feed(BodyEnded())
    answered(play, response(number, status, usage))
    return play


@pytest.mark.parametrize("admission", [Admission.METERED, Admission.STRICT])
def test_what_is_queued_holds_its_worst_case_until_it_is_fetched(admission):
    one = stage(admission=admission)
    play = queued(one, 1)
    assert play.payloads(ModelResponse)[0].cost_usd == Usd(0)
    assert (one.desk.account.held.micros, one.desk.account.unknown) == (WORST, NOTHING)
    assert one.desk.account.held.calls == 0
    assert one.desk.state().in_flight == 0
    assert fetched(one, 1, "in_progress").payloads(ModelResponse) == []
    assert one.desk.account.held.micros == WORST
    assert [item.cost_usd for item in fetched(one, 1).payloads(ModelResponse)] == [Usd(COST)]
    assert (one.desk.account.used.micros, one.desk.account.held) == (COST, NOTHING)
    assert fetched(one, 1).payloads(ModelResponse) == []
    assert one.desk.account.used.micros == COST


def test_a_cap_lets_no_more_be_queued_than_it_could_pay():
    one = stage(3 * WORST + COST, Admission.STRICT)
    assert [len(queued(one, number).payloads(ModelRequest)) for number in range(3)] == [1, 1, 1]
    fourth = queued(one, 3)
    assert fourth.all == []
    fourth.clock = 60_000
    fourth.feed(Tick())
    # It fits once one of them has been fetched, so it is no end.
    (denied,) = fourth.payloads(ModelDenied)
    assert (denied.reason, denied.status) == (Reason.MAX_USD, 429)
    assert one.desk.closed is None
    fetched(one, 0)
    assert len(queued(one, 4).payloads(ModelRequest)) == 1
    one.desk.finish()
    assert one.desk.account.used.micros == 3 * WORST + COST


def test_metered_squeezes_the_last_one_into_what_is_left():
    one = stage(2 * WORST + 5000)
    for number in range(5):
        play = queued(one, number)
        play.clock = 60_000
        play.feed(Tick())
        if play.payloads(ModelRequest):
            answered(play, response(number, "queued", None))
        assert one.desk.account.held.micros == min((number + 1) * WORST, 2 * WORST + 5000)
    assert one.desk.budget().bound_usd == Usd(WORST - 5000)
    assert one.desk.state().admitted == 3


def test_what_was_never_fetched_may_have_been_billed():
    one = stage()
    queued(one, 1)
    queued(one, 2)
    fetched(one, 2)
    one.desk.finish()
    assert one.desk.account.unknown.micros == WORST
    assert one.desk.account.spent.micros == COST
    assert one.desk.account.holds == {}
    one.desk.finish()
    assert one.desk.account.unknown.micros == WORST


def test_under_ceiling_it_is_in_flight_until_it_is_fetched():
    one = stage(WORST // 2, Admission.CEILING)
    queued(one, 1)
    second = queued(one, 2)
    assert second.all == []
    second.clock = 60_000
    second.feed(Tick())
    assert second.payloads(ModelDenied)[0].status == 429
    assert one.desk.budget().bound_usd == Usd(WORST - WORST // 2)
    fetched(one, 1)
    assert one.desk.account.held == NOTHING
    # COST lies below the cap of WORST / 2, so one more may go.
    assert len(queued(one, 3).payloads(ModelRequest)) == 1


def test_a_stream_that_the_agent_leaves_goes_on():
    one = stage()
    play = one.play()
    play.post(BODY[:-1] + b', "stream": true}', PATH)
    worst = one.desk.account.worst.micros
    play.reply(200, (b"content-type", b"text/event-stream"))
    head = {"type": "response.created", "response": json.loads(response(1, "in_progress", None))}
    play.feed(UpstreamChunk(f"event: response.created\ndata: {json.dumps(head)}\n\n".encode()))
    play.feed(ClientGone())
    assert one.desk.account.held.micros == worst > 28_000
    assert [item.cost_usd for item in fetched(one, 1).payloads(ModelResponse)] == [Usd(COST)]
    assert (one.desk.account.used.micros, one.desk.account.held) == (COST, NOTHING)


def test_a_call_that_was_left_before_its_answer_goes_on_without_a_name():
    one = stage()
    play = one.play()
    play.post(BODY, PATH)
    play.feed(ClientGone())
    (event,) = play.payloads(ModelResponse)
    assert one.desk.account.held.micros == WORST - event.cost_usd.micros
    one.desk.finish()
    assert one.desk.account.used.micros == WORST


def test_sub_budgets_hold_it_too():
    one = stage(None, per_model=(SubBudget(pattern="gpt-*", max_usd=Usd(2 * WORST + COST)),))
    for number in range(2):
        assert len(queued(one, number).payloads(ModelRequest)) == 1
    assert queued(one, 2).all == []
    fetched(one, 0)
    # A request that fetches names no model; the reply does.
    assert one.desk.budget().scopes[0].spent_usd == Usd(COST)
    assert len(queued(one, 3).payloads(ModelRequest)) == 1
    assert queued(one, 4).all == []


def test_a_reply_with_usage_and_an_upstream_that_fails_leave_nothing_behind():
    one = stage()
    play = one.play()
    play.post(BODY, PATH)
    answered(play, response(1, "completed", {"input_tokens": 100, "output_tokens": 900, "total_tokens": 1000}))
    assert (one.desk.account.used.micros, one.desk.account.held) == (COST, NOTHING)
    unsent = one.play()
    unsent.post(BODY, PATH)
    unsent.feed(UpstreamFailed(Reason.UPSTREAM_UNREACHABLE, "x", sent=False))
    assert (one.desk.account.used.micros, one.desk.account.held) == (COST, NOTHING)


def test_without_a_limit_nothing_is_held():
    one = stage(None)
    queued(one, 1)
    assert one.desk.account.holds == {}
