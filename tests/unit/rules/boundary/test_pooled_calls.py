"""Calls on a pool, on the machine: they wait for its answer, and whatever becomes of them is told to it."""

from __future__ import annotations

import json

from boundary_rig.playbook import Play, Stage
from boundary_rig.replies import messages_events, messages_json, messages_request
from docket.formats.amount import Usd
from docket.formats.ledger.model_events import ModelDenied, ModelRequest, ModelResponse, Outcome
from docket.formats.ledger.spending_events import CapExceeded, PoolEntered
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import Admission, BudgetPolicy, CapsPolicy, OnBreach
from docket.formats.run.pool import Period, PoolAnswer, PoolAsk, PoolLimits, Taken
from docket.rules.boundary.pool_desk import Failure, PoolDesk
from docket.rules.boundary.protocol import (
    Breach,
    Retry,
    Stopping,
    Tick,
    UpstreamChunk,
    UpstreamEnded,
    UpstreamFailed,
)

LIMITS = PoolLimits(weekly_usd=Usd(1_000_000))
CALL = 1050


class Line:
    def __init__(self) -> None:
        self.asked: list[PoolAsk] = []
        self.booked: list[Taken] = []

    def ask(self, pool: str, ask: PoolAsk, *, patient: bool) -> None:
        self.asked.append(ask)

    def book(self, pool: str, taken: Taken, granted_micros: int | None = None) -> None:
        self.booked.append(taken)

    def rest_later(self) -> None:
        """Nothing rests here."""


class Pooled:
    """A stage on a pool whose answers the test gives."""

    def __init__(
        self,
        admission: Admission = Admission.METERED,
        *,
        lower: bool = False,
        provider: str = "anthropic",
        **caps: object,
    ) -> None:
        budget = BudgetPolicy(admission=admission, pools=("team",), lower_max_tokens=lower)
        self.stage = Stage(Policy(budget=budget, caps=CapsPolicy(**caps)), provider=provider)
        self.line = Line()
        self.pool = PoolDesk({"team": LIMITS}, admission, self.line)
        self.stage.desk.pools = self.pool
        self.plays: list[Play] = []

    def post(self, **members: object) -> Play:
        play = self.stage.play()
        self.plays.append(play)
        play.post(messages_request(**members))
        return play

    def give(self, granted: int, taken: int = 0, limits: PoolLimits = LIMITS) -> None:
        answer = PoolAnswer(
            granted_micros=granted, limits=limits, tightest=Period.WEEKLY, limit_micros=1_000_000, taken_micros=taken
        )
        self.pool.answered("team", answer)
        self.again()

    def again(self) -> None:
        for play in self.plays:
            play.feed(Retry())


def ended(play: Play) -> None:
    play.reply(200, (b"Content-Type", b"application/json"))
    play.feed(UpstreamChunk(messages_json()))
    play.feed(UpstreamEnded())


def test_a_call_waits_for_the_pools_answer_whatever_its_own_patience():
    one = Pooled(admission_wait_ms=0)
    play = one.post()
    assert play.exchange.needs.release
    # It was asked for the last time already: no deadline is left that would come again and again.
    assert play.exchange.deadline_ns is None
    one.give(900_000)
    (request,) = play.payloads(ModelRequest)
    # In one piece: it is held at its worst case, 1000 tokens out among them.
    assert request.held_usd is not None
    assert request.held_usd.micros == len(messages_request()) * 6 + 1000 * 15 + 4
    ended(play)
    assert play.payloads(ModelResponse)[0].cost_usd == Usd(CALL)
    assert one.line.booked == [Taken(CALL, 0)]


def test_the_wait_ends_with_a_refusal_for_the_moment():
    one = Pooled()
    play = one.post()
    play.feed(Tick())
    assert play.exchange.needs.release
    one.give(0, taken=5)
    (denied,) = play.payloads(ModelDenied)
    assert (denied.reason, denied.cap, denied.status) == ("pool_weekly_usd", "pool_weekly_usd", 429)
    assert not play.payloads(CapExceeded)


def test_a_pool_that_is_used_up_ends_the_run_as_the_policy_says():
    one = Pooled(on_breach=OnBreach.DENY)
    play = one.post()
    one.give(0, taken=1_000_000)
    (exceeded,) = play.payloads(CapExceeded)
    assert (exceeded.cap, exceeded.scope, exceeded.scope_name) == ("pool_weekly_usd", "pool", "team")
    assert (exceeded.limit, exceeded.used, exceeded.action) == ("1.00", "1.00", "deny")
    (breach,) = [item for item in play.all if isinstance(item, Breach)]
    assert (breach.cap, breach.action) == (Reason.POOL_WEEKLY, OnBreach.DENY)
    killing = Pooled()
    killing.post()
    killing.give(0, taken=1_000_000)
    later = killing.post()
    assert later.payloads(ModelDenied)[0].reason == "pool_weekly_usd"
    assert not later.payloads(CapExceeded)


def test_what_becomes_of_a_call_is_told_to_the_pool():
    one = Pooled()
    first, second = one.post(), one.post()
    one.give(900_000)
    second.feed(UpstreamFailed(Reason.UPSTREAM_BROKEN, "x", sent=True))
    first.feed(UpstreamFailed(Reason.UPSTREAM_UNREACHABLE, "x", sent=False))
    # What it was likely to cost: its bytes at four a token and three micro-dollars each.
    likely = -(-len(messages_request()) // 4) * 3
    assert one.line.booked == [Taken(0, likely)]
    assert not one.stage.desk.account.holds
    assert one.pool.held_micros(1) == one.pool.held_micros(2) == 0


def test_a_call_that_stops_waiting_leaves_nothing():
    one = Pooled()
    play = one.post()
    play.feed(Stopping())
    one.give(900_000)
    assert not play.payloads(ModelRequest)
    assert one.pool.taken() == {"team": Taken()}


def test_a_pool_that_cannot_be_asked_is_no_cap():
    one = Pooled()
    play = one.post()
    one.pool.failed("team", Failure("the disk is full", passing=False))
    one.again()
    (denied,) = play.payloads(ModelDenied)
    assert (denied.reason, denied.cap, denied.status) == ("pool_unavailable", None, 400)
    assert not play.payloads(CapExceeded)


def test_a_stream_is_cut_where_the_pool_has_no_more_and_news_of_it_are_recorded():
    one = Pooled()
    play = one.post(stream=True)
    one.give(1000)
    play.reply(200, (b"Content-Type", b"text/event-stream"))
    pieces = messages_events(100, 9000, texts=("w" * 400,) * 9)
    play.feed(UpstreamChunk(pieces[0] + pieces[1]))
    one.give(1000, taken=999_000, limits=PoolLimits(weekly_usd=Usd(1_000_000), total_usd=Usd(7)))
    for piece in pieces[2:]:
        if not play.exchange.done:
            play.feed(UpstreamChunk(piece))
    (response,), (exceeded,), (news,) = (
        play.payloads(ModelResponse),
        play.payloads(CapExceeded),
        play.payloads(PoolEntered),
    )
    assert response.outcome is Outcome.CUT
    assert (exceeded.cap, exceeded.used, exceeded.limit) == ("pool_weekly_usd", "0.999000", "1.00")
    assert news.total_usd == Usd(7)
    assert "across the cap pool_weekly_usd of pool team and was cut" in exceeded.detail


def test_a_call_that_nobody_weighed_is_told_too():
    one = Pooled()
    play = one.stage.play()
    play.head("/anthropic/v1/models", "GET")
    ended(play)
    assert one.line.booked == [Taken(CALL, 0)]


def test_a_call_whose_limit_was_lowered_waits_for_the_pool_like_any_other():
    body = messages_request(max_tokens=9000)
    # A byte a token at 6 micro-dollars, 1000 tokens of output at 15, four for rounding.
    fits = len(body) * 6 + 15_000 + 4
    one = Pooled(Admission.STRICT, lower=True, max_usd=Usd(fits))
    play = one.post(max_tokens=9000)
    assert (play.payloads(ModelRequest), play.exchange.needs.release) == ([], True)
    assert [ask.need_micros for ask in one.line.asked] == [fits]
    one.give(fits)
    (event,) = play.payloads(ModelRequest)
    assert (event.altered, event.held_usd) == (("max_tokens",), Usd(fits))


def test_a_response_in_the_background_goes_on_holding_its_part_of_the_pool():
    one = Pooled(provider="openai")
    play = one.stage.play()
    asked = {"model": "gpt-5.2-codex", "input": "hello", "background": True, "max_output_tokens": 1000}
    body = json.dumps(asked).encode()
    play.post(body, "/openai/v1/responses")
    # At the prices of priority processing, twice 1.75 and 14.
    worst = -(-len(body) * 35 // 10) + 28_000 + 4
    one.give(worst)
    play.feed(Retry())
    play.reply(200, (b"content-type", b"application/json"))
    reply = {"id": "resp_1", "object": "response", "status": "queued", "model": "gpt-5.2-codex", "usage": None}
    play.feed(UpstreamChunk(json.dumps(reply).encode()))
    play.feed(UpstreamEnded())
    assert one.pool.taken() == {"team": Taken(0, 0)}
    one.stage.desk.finish()
    assert one.pool.taken() == {"team": Taken(0, worst)}
