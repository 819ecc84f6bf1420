"""Pacing: the spans a policy means, whose turn it is, who is told to come back, what is given back."""

from decimal import Decimal

import pytest

from boundary_rig.gate_calls import call
from boundary_rig.playbook import Stage
from boundary_rig.replies import messages_request
from docket.formats.ledger.model_events import ModelDenied, ModelRequest, Outcome
from docket.formats.ledger.resilience_events import Paced
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_modes import CachePolicy
from docket.formats.run.policy_spending import CapsPolicy, ResiliencePolicy
from docket.rules.agents.interface import RefusalStyle
from docket.rules.boundary.admission import Desk, Refused
from docket.rules.boundary.breaker import Breaker
from docket.rules.boundary.cache import ResponseCache
from docket.rules.boundary.gate_order import gates_under
from docket.rules.boundary.gates import Ended, Go, Pause
from docket.rules.boundary.pacing import Course, Pacing, Span, spans_of
from docket.rules.boundary.protocol import ClientGone, Refuse, Released, Retry, Tick
from docket.rules.boundary.refusing import Asked, refuse
from docket.rules.boundary.repeats import RepeatGuard

S = 1_000_000_000


def told(wait_ns):
    seconds = -(-wait_ns // S)
    return Refused(
        reason=Reason.RATE_LIMITED,
        detail=f"the policy lets no further call go for another {seconds} s",
        retry_after_seconds=seconds,
    )


def paced(waited_ms):
    return Go((Paced(provider="anthropic", model="a-model", waited_ms=waited_ms),))


@pytest.mark.parametrize(
    ("minute", "second", "spans"),
    [
        (None, None, ()),
        (60, None, (Span(60, 60 * S),)),
        (None, Decimal(5), (Span(5, S),)),
        (None, Decimal("2.5"), (Span(2, 800_000_000),)),
        (None, Decimal("0.5"), (Span(1, 2 * S),)),
        (None, Decimal("0.3"), (Span(1, 3_333_333_334),)),
        (7, Decimal(1), (Span(7, 60 * S), Span(1, S))),
    ],
)
def test_what_a_policy_means(minute, second, spans):
    assert spans_of(ResiliencePolicy(max_calls_per_minute=minute, max_calls_per_second=second)) == spans


def test_which_gates_a_policy_puts_before_its_calls_and_in_which_order():
    everything = Policy(caps=CapsPolicy(max_repeats=1), resilience=ResiliencePolicy(max_calls_per_minute=1))
    cache = ResponseCache(CachePolicy(enabled=True), b"key", Desk(everything))
    assert [type(gate) for gate in gates_under(everything, cache)] == [RepeatGuard, ResponseCache, Pacing, Breaker]
    assert [type(gate) for gate in gates_under(Policy())] == [Breaker]


def test_a_refusal_without_a_protocol_says_when_to_come_back_too():
    refused = Refused(reason=Reason.RATE_LIMITED, detail="later", retry_after_seconds=9)
    answer, _ = refuse(refused, Asked(provider="x", path="/x"), RefusalStyle(), "DKT-1")
    headers = dict(answer.head.headers)
    assert (answer.head.status, headers[b"retry-after"]) == (429, b"9")
    assert b"x-should-retry" not in headers


def test_the_window_slides_to_the_nanosecond():
    gate = Pacing((Span(2, 60 * S),), 0)
    assert gate.ask(call(), 0) == Go()
    assert gate.ask(call(), 10 * S) == Go()
    assert gate.ask(call(), 60 * S - 1) == told(1)
    assert gate.ask(call(), 60 * S) == Go()
    assert gate.ask(call(), 60 * S) == told(10 * S)
    assert gate.ask(call(), 70 * S) == Go()


def test_whoever_waits_goes_in_the_order_of_asking():
    gate = Pacing((Span(1, 10 * S),), 100 * S)
    first, second, third = call(), call(), call()
    assert gate.ask(call(), 0) == Go()
    assert gate.ask(first, 1 * S) == Pause(10 * S, heeds_release=True)
    assert gate.ask(second, 2 * S) == Pause(20 * S, heeds_release=True)
    # The second's timer rings first: it is not its turn.
    assert gate.ask(second, 10 * S) == Pause(20 * S, heeds_release=True)
    assert gate.ask(third, 10 * S) == Pause(30 * S, heeds_release=True)
    assert gate.ask(first, 11 * S) == paced(10_000)
    # The first went a second late, so the others go a second later.
    assert gate.ask(second, 20 * S) == Pause(21 * S, heeds_release=True)
    assert gate.ask(second, 21 * S) == paced(19_000)


def test_a_wait_beyond_the_bound_is_refused_at_once_with_the_seconds_it_would_take():
    gate = Pacing((Span(1, 60 * S),), 45 * S)
    assert gate.ask(call(), 0) == Go()
    assert gate.ask(call(), 10 * S + 1) == told(50 * S - 1)
    assert gate.ask(call(), 15 * S) == Pause(60 * S, heeds_release=True)


def test_a_call_held_up_past_its_bound_is_refused_then():
    gate = Pacing((Span(1, 10 * S),), 10 * S)
    one, other = call(), call()
    assert gate.ask(one, 0) == Go()
    assert gate.ask(other, 0) == Pause(10 * S, heeds_release=True)
    late = call()
    assert gate.ask(late, 1 * S) == told(19 * S)
    gate.withdrawn(one, 2 * S)
    assert gate.ask(late, 2 * S) == Pause(12 * S, heeds_release=True)
    assert gate.ask(other, 9 * S) == paced(9_000)
    assert gate.ask(late, 12 * S) == told(7 * S)
    # It is out of the line: the next one has nobody before it.
    assert gate.ask(call(), 12 * S) == Pause(19 * S, heeds_release=True)


@pytest.mark.parametrize("unsent", [True, False])
def test_what_is_not_sent_gives_its_place_back(unsent):
    gate = Pacing((Span(1, 10 * S),), 100 * S)
    one, two = call(), call()
    gate.ask(one, 0)
    gate.ask(two, 0)
    if unsent:
        gate.withdrawn(one, 1)
    else:
        gate.ended(one, Ended(status=None, outcome=None, reason=Reason.UPSTREAM_UNREACHABLE, sent=False), 1)
    assert gate.ask(two, 1) == paced(0)


def test_what_was_sent_keeps_its_place_however_it_ended():
    gate = Pacing((Span(1, 10 * S),), 0)
    one = call()
    gate.ask(one, 0)
    assert gate.begun(one, 200, 1) == ()
    gate.ended(one, Ended(status=500, outcome=Outcome.COMPLETE), 1)
    gate.withdrawn(one, 1)
    assert gate.ask(call(), 1) == told(10 * S - 1)


def test_a_place_that_is_forgotten_already_is_given_back_without_harm():
    course = Course((Span(1, 10),))
    course.take(0)
    course.take(20)
    course.give_back(0)
    course.give_back(5)
    assert course.next_after(0, 20) == 30
    assert Course(()).next_after(3, 7) == 7


def test_a_call_that_leaves_the_line_lets_those_behind_it_move_up():
    stage = Stage(gates=(Pacing((Span(1, 10 * S),), 100 * S),))
    stage.play().post(messages_request())
    second, third = stage.play(), stage.play()
    second.post(messages_request())
    third.post(messages_request())
    assert (second.exchange.deadline_ns, third.exchange.deadline_ns) == (10 * S, 20 * S)
    assert Released() in second.feed(ClientGone())
    third.clock = 1
    third.feed(Retry())
    assert third.exchange.deadline_ns == 10 * S
    third.clock = 10_000
    third.feed(Tick())
    assert len(third.payloads(ModelRequest)) == 1
    assert [event.waited_ms for event in third.payloads(Paced)] == [10_000]


def test_the_agent_is_told_429_and_when_to_come_back():
    stage = Stage(gates=(Pacing((Span(1, 60 * S),), 0),))
    stage.play().post(messages_request())
    play = stage.play()
    play.clock = 500
    (answer,) = [item for item in play.post(messages_request()) if isinstance(item, Refuse)]
    headers = dict(answer.head.headers)
    assert (answer.head.status, headers[b"retry-after"]) == (429, b"60")
    assert b"x-should-retry" not in headers
    assert b'"type":"rate_limit_error"' in answer.body
    assert [(event.reason, event.status, event.cap) for event in play.payloads(ModelDenied)] == [
        ("rate_limited", 429, None)
    ]
