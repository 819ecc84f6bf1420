"""Whatever calls do beside each other, each admission keeps its word. The model here knows what the provider bills and
what a call could cost at most; it never looks at what the product counts.

Prices in micro-dollars a token: input 3, at its dearest 6 (an hour's cache write), output 15; four micro-dollars of a
call are rounding. A request's bytes are a token each at most.
"""

from __future__ import annotations

import contextlib
import http.client
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from boundary_rig.playbook import Play, Stage
from boundary_rig.raw_upstream import RawUpstream, chunk, chunked_head, whole
from boundary_rig.replies import messages_events, messages_json, messages_request
from boundary_rig.rig import boundary
from docket.formats.amount import Usd
from docket.formats.ledger.model_events import ModelDenied, ModelResponse
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import Admission, BudgetPolicy, CapsPolicy, OnBreach
from docket.formats.run.sub_budgets import SubBudget
from docket.rules.boundary.protocol import (
    ClientGone,
    Retry,
    Stopping,
    Tick,
    UpstreamChunk,
    UpstreamEnded,
    UpstreamFailed,
)

DEAREST_INPUT, INPUT, OUTPUT, ROUNDING = 6, 3, 15, 4
CAP = 20_000


ENDS = ("whole", "whole", "silence", "part", "gone", "stopped", "error", "refused")


def policy(admission: Admission, cap_micros: int = CAP, **caps: object) -> Policy:
    return Policy(
        budget=BudgetPolicy(admission=admission),
        caps=CapsPolicy(max_usd=Usd(cap_micros), on_breach=OnBreach.DENY, **caps),
    )


def body_of(size_bytes: int, max_tokens: int, *, streaming: bool) -> bytes:
    content = [{"role": "user", "content": "x" * size_bytes}]
    return messages_request(messages=content, max_tokens=max_tokens, stream=streaming)


@dataclass(eq=False)
class Call:
    """One call as its provider knows it."""

    play: Play
    body: bytes
    max_tokens: int
    streaming: bool
    sent: bool = False
    over: bool = False
    billed_micros: int = 0

    @property
    def worst_micros(self) -> int:
        return len(self.body) * DEAREST_INPUT + self.max_tokens * OUTPUT + ROUNDING


@dataclass
class Truth:
    """What all calls came to: `at_most` counts what was aborted at the most that it can have cost."""

    cap_micros: int
    calls: list[Call] = field(default_factory=list)
    bound_micros: int = 0

    def billed(self) -> int:
        return sum(call.billed_micros for call in self.calls)

    def take_down(self) -> None:
        for call in self.calls:
            if not call.sent and call.play.exchange.needs.upstream:
                call.sent = True
                at_most = sum(each.worst_micros if each.sent else 0 for each in self.calls)
                self.bound_micros = max(self.bound_micros, at_most - self.cap_micros)


class AnyInterleaving(RuleBasedStateMachine):
    """Calls asked, answered, broken off, refused by their provider and given up in any order."""

    admission = Admission.STRICT

    def __init__(self) -> None:
        super().__init__()
        self.stage = Stage(policy(self.admission, per_model=(SubBudget(pattern="*", max_usd=Usd(CAP)),)))
        self.truth = Truth(CAP)

    def _running(self) -> list[Call]:
        return [call for call in self.truth.calls if call.sent and not call.over]

    def _released(self) -> None:
        for call in self.truth.calls:
            call.play.feed(Retry())
        self.truth.take_down()

    @rule(size=st.sampled_from([0, 300, 900]), max_tokens=st.sampled_from([1, 100, 300]), streaming=st.booleans())
    def ask(self, size: int, max_tokens: int, streaming: bool) -> None:
        body = body_of(size, max_tokens, streaming=streaming)
        call = Call(self.stage.play(), body, max_tokens, streaming)
        self.truth.calls.append(call)
        call.play.post(body)
        self.truth.take_down()

    @precondition(lambda self: self._running())
    @rule(data=st.data(), how=st.sampled_from(ENDS))
    def end(self, data: st.DataObject, how: str) -> None:
        call = data.draw(st.sampled_from(self._running()))
        used = data.draw(st.sampled_from([0, len(call.body) // 4, len(call.body)]))
        output = data.draw(st.sampled_from([1, call.max_tokens]))
        call.over = True
        # The provider bills what it did, whoever hears of it.
        call.billed_micros = 0 if how in ("error", "refused") else used * INPUT + output * OUTPUT
        play = call.play
        if how == "refused":
            play.feed(UpstreamFailed(Reason.UPSTREAM_UNREACHABLE, "x", sent=False))
        elif how == "silence":
            play.feed(UpstreamFailed(Reason.UPSTREAM_BROKEN, "x", sent=True))
        elif how == "error":
            play.reply(529, (b"Content-Type", b"application/json"))
            play.feed(UpstreamEnded())
        else:
            self._answer(call, used, output, how)
        self._released()

    def _answer(self, call: Call, used: int, output: int, how: str) -> None:
        play = call.play
        if not call.streaming:
            play.reply(200, (b"Content-Type", b"application/json"))
            pieces = [messages_json(used, output)]
        else:
            play.reply(200, (b"Content-Type", b"text/event-stream"))
            pieces = messages_events(used, output, texts=("w" * output, "w" * output))
        for piece in pieces if how == "whole" else pieces[: len(pieces) // 2]:
            if play.exchange.done:
                break
            play.feed(UpstreamChunk(piece))
        if not play.exchange.done:
            last = {"whole": UpstreamEnded(), "gone": ClientGone(), "stopped": Stopping()}
            play.feed(last.get(how, UpstreamFailed(Reason.UPSTREAM_BROKEN, "x", sent=True)))

    @rule()
    def the_wait_is_over(self) -> None:
        for call in self.truth.calls:
            if call.play.exchange.needs.release:
                call.play.feed(Tick())
        self.truth.take_down()

    @invariant()
    def the_cap_holds(self) -> None:
        settled = sum(one.cost_usd.micros for call in self.truth.calls for one in call.play.payloads(ModelResponse))
        if self.admission is Admission.STRICT:
            assert settled <= CAP
            # Nor does what the provider bills, although it does not tell it all.
            assert self.truth.billed() <= CAP
        else:
            assert settled <= CAP + max(0, self.truth.bound_micros)
            # What is stated covers it too, and is no more than what could have happened.
            stated = self.stage.desk.budget().bound_usd.micros
            assert settled - CAP <= stated <= max(0, self.truth.bound_micros)

    def teardown(self) -> None:
        for call in self.truth.calls:
            call.play.feed(Stopping())
        account = self.stage.desk.account
        assert not account.holds
        assert (account.held.micros, account.firm.micros, account.worst.micros) == (0, 0, 0)


class UnderMetered(AnyInterleaving):
    admission = Admission.METERED


class UnderCeiling(AnyInterleaving):
    admission = Admission.CEILING


BRIEF = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestUnderStrict = AnyInterleaving.TestCase
TestUnderStrict.settings = BRIEF
TestUnderMetered = UnderMetered.TestCase
TestUnderMetered.settings = BRIEF
TestUnderCeiling = UnderCeiling.TestCase
TestUnderCeiling.settings = BRIEF


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 400), st.integers(1, 60)), max_size=40), st.integers(0, 9000))
def test_ceiling_lets_calls_go_exactly_while_what_was_spent_lies_below_the_cap(steps, cap_micros):
    stage, spent, running = Stage(policy(Admission.CEILING, cap_micros)), 0, []
    for begins, tokens, output in steps:
        if begins or not running:
            play = stage.play()
            play.post(messages_request(max_tokens=60))
            assert bool(play.payloads(ModelDenied)) == (spent >= cap_micros)
            if not play.payloads(ModelDenied):
                running.append(play)
                at_most = spent + sum(400 * INPUT + 60 * OUTPUT for _ in running)
        else:
            play = running.pop(0)
            play.reply(200, (b"Content-Type", b"application/json"))
            play.feed(UpstreamChunk(messages_json(tokens, output)))
            play.feed(UpstreamEnded())
            spent += tokens * INPUT + output * OUTPUT
            assert spent <= max(at_most, cap_micros)


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_a_cent_never_refuses_a_call_that_really_costs_three_hundredths_of_one(begins):
    # 50 tokens in and 10 out are 300 micro-dollars; the request allows for 64 000 out, nearly a dollar.
    stage, running, begun = Stage(policy(Admission.METERED, 10_000)), [], 0
    for starts in begins:
        if starts and (begun + 1) * 300 <= 10_000:
            play = stage.play()
            play.post(messages_request(max_tokens=64_000, stream=True))
            assert not play.payloads(ModelDenied)
            assert play.exchange.needs.upstream
            running.append(play)
            begun += 1
        elif running:
            play = running.pop(0)
            play.reply(200, (b"Content-Type", b"text/event-stream"))
            for piece in messages_events(50, 10, texts=("w" * 40,)):
                play.feed(UpstreamChunk(piece))
            play.feed(UpstreamEnded())
            assert play.payloads(ModelResponse)[0].cost_usd == Usd(300)


@pytest.mark.parametrize("admission", list(Admission))
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_the_cap_holds_through_real_sockets(tmp_path_factory, admission, seed):
    chance, lock, billed = random.Random(seed), threading.Lock(), []
    cap_micros, worst = 30_000, []

    def answer(request, sock):
        with lock:
            how, used, output = chance.choice("wwwwbre"), chance.randint(0, 90), chance.randint(1, 100)
            cost = 0 if how == "e" else used * INPUT + output * OUTPUT
            billed.append(cost)
            worst.append(len(request.body) * DEAREST_INPUT + 100 * OUTPUT + ROUNDING)
        if how == "e":
            sock.sendall(whole(b"{}", status="529 Overloaded"))
            return True
        if b'"stream": true' not in request.body:
            reply = whole(messages_json(used, output))
            sock.sendall(reply if how != "b" else reply[: len(reply) // 2])
            return how != "b"
        events = messages_events(used, output, texts=("w" * output,) * 4)
        sock.sendall(chunked_head() + b"".join(map(chunk, events if how == "w" else events[:3])))
        if how != "w":
            return False
        sock.sendall(b"0\r\n\r\n")
        return True

    def agent(number):
        own = random.Random(seed + number)
        for _ in range(8):
            body = body_of(own.randint(0, 60), 100, streaming=own.random() < 0.5)
            # A reply that was cut short is the agent's lot here.
            with contextlib.suppress(OSError, http.client.HTTPException):
                rig.post(body)

    with (
        RawUpstream(answer) as upstream,
        boundary(tmp_path_factory.mktemp("run"), upstream.url, policy=policy(admission, cap_micros)) as rig,
    ):
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(agent, range(6)))
        settled = sum(Usd.parse(data["cost_usd"]).micros for data in rig.data("model.response"))
        (budget,) = rig.data("x-docket.budget")
    if admission is Admission.STRICT:
        assert settled <= cap_micros
        assert sum(billed) <= cap_micros
    else:
        # Six at once, each at its most, may cross together.
        assert settled <= cap_micros + 6 * max(worst)
        assert settled <= cap_micros + Usd.parse(budget["bound_usd"]).micros
