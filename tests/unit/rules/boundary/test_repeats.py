"""Loop detection: what counts as the same request, what counts as a repeat, what a loop comes to."""

import json

import pytest

from boundary_rig.gate_calls import call
from boundary_rig.playbook import Stage
from boundary_rig.replies import messages_json
from docket.formats.ledger.model_events import ModelDenied, Outcome
from docket.formats.ledger.spending_events import CapExceeded
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import CapsPolicy, OnBreach
from docket.rules.boundary import repeats
from docket.rules.boundary.admission import Refused
from docket.rules.boundary.gate_order import gates_under
from docket.rules.boundary.gates import Ended, Go
from docket.rules.boundary.protocol import Breach, Refuse, UpstreamChunk, UpstreamEnded
from docket.rules.boundary.repeats import RepeatGuard

WELL = Ended(status=200, outcome=Outcome.COMPLETE)


def answered(gate, ended=WELL, **members):
    weighed = call(**members)
    assert gate.ask(weighed, 0) == Go()
    assert gate.begun(weighed, 200, 0) == ()
    assert gate.ended(weighed, ended, 0) == ()


def test_so_many_repeats_pass_and_the_next_one_is_a_loop():
    gate = RepeatGuard(2)
    for _ in range(3):
        answered(gate)
    assert gate.ask(call(), 0) == Refused(
        reason=Reason.MAX_REPEATS,
        detail="the agent has sent this very request 3 times already; caps.max_repeats lets 2 repeats pass",
        cap=Reason.MAX_REPEATS,
        used="3",
        limit="2",
    )


def test_no_repeat_at_all_may_be_asked_for():
    gate = RepeatGuard(0)
    answered(gate)
    assert "request once already" in gate.ask(call(), 0).detail


@pytest.mark.parametrize("other", [{"fingerprint": "0" * 16}, {"provider": "openai"}, {"path": "/v1/other"}])
def test_another_request_is_another_row(other):
    gate = RepeatGuard(0)
    answered(gate)
    answered(gate, **other)
    assert isinstance(gate.ask(call(path="/v1/messages?beta=true"), 0), Refused)


@pytest.mark.parametrize(
    "ended",
    [
        Ended(status=529, outcome=Outcome.COMPLETE),
        Ended(status=429, outcome=Outcome.COMPLETE),
        Ended(status=200, outcome=Outcome.CLIENT_GONE),
        Ended(status=200, outcome=Outcome.UPSTREAM_BROKEN, reason=Reason.UPSTREAM_BROKEN),
        Ended(status=200, outcome=Outcome.COMPLETE, reason=Reason.UPSTREAM_ERROR_EVENT),
        Ended(status=None, outcome=None, reason=Reason.UPSTREAM_UNREACHABLE, sent=False),
    ],
)
def test_what_is_asked_again_after_an_error_is_no_repeat(ended):
    gate = RepeatGuard(0)
    for _ in range(5):
        answered(gate, ended)
    answered(gate)


def test_many_at_once_do_not_pass_together_and_one_that_is_taken_back_makes_room():
    gate = RepeatGuard(1)
    first, second = call(), call()
    assert (gate.ask(first, 0), gate.ask(second, 0)) == (Go(), Go())
    assert isinstance(gate.ask(call(), 0), Refused)
    gate.withdrawn(second, 0)
    assert gate.ask(call(), 0) == Go()


def test_what_is_remembered_is_bounded_and_nothing_in_flight_is_forgotten(monkeypatch):
    monkeypatch.setattr(repeats, "MAX_REMEMBERED", 2)
    gate = RepeatGuard(0)
    flying = call(fingerprint="a")
    gate.ask(flying, 0)
    answered(gate, fingerprint="b")
    answered(gate, fingerprint="c")
    answered(gate, fingerprint="d")
    assert isinstance(gate.ask(call(fingerprint="a"), 0), Refused)
    answered(gate, fingerprint="b")
    gate.withdrawn(call(fingerprint="never asked"), 0)
    # Where everything is in flight, nothing can be forgotten.
    for fingerprint in ("x", "y", "z"):
        gate.ask(call(fingerprint=fingerprint), 0)
    assert isinstance(gate.ask(call(fingerprint="x"), 0), Refused)


def body(marker, **members):
    return json.dumps(
        {
            "model": "claude-sonnet-4-6",
            "max_tokens": 64,
            "system": [
                {"type": "text", "text": f"x-anthropic-billing-header: cc_version=1; cch={marker};"},
                {"type": "text", "text": "You write code."},
            ],
            "messages": [{"role": "user", "content": "hello"}],
            "metadata": {"user_id": f"user-{marker}"},
            **members,
        }
    ).encode()


def ask(stage, data):
    play = stage.play()
    commands = play.post(data)
    if any(isinstance(item, Refuse) for item in commands):
        return play, commands
    reply = messages_json()
    play.reply(200, (b"content-type", b"application/json"), (b"content-length", str(len(reply)).encode()))
    play.feed(UpstreamChunk(reply))
    play.feed(UpstreamEnded())
    return play, None


@pytest.mark.parametrize("on_breach", list(OnBreach))
def test_a_loop_is_seen_through_the_line_that_changes_with_every_request_and_ends_as_a_cap_does(on_breach):
    policy = Policy(caps=CapsPolicy(max_repeats=1, on_breach=on_breach))
    stage = Stage(policy, gates=gates_under(policy))
    assert ask(stage, body("one"))[1] is None
    assert ask(stage, body("two", stream=False))[1] is None
    play, commands = ask(stage, body("three"))
    (answer,) = [item for item in commands if isinstance(item, Refuse)]
    assert (answer.head.status, dict(answer.head.headers)[b"x-docket-reason"]) == (400, b"max_repeats")
    assert b"--max-repeats" in answer.body
    assert [(event.reason, event.cap) for event in play.payloads(ModelDenied)] == [("max_repeats", "max_repeats")]
    assert [(event.limit, event.used, event.action) for event in play.payloads(CapExceeded)] == [
        ("1", "2", str(on_breach))
    ]
    assert [item.action for item in commands if isinstance(item, Breach)] == [on_breach]
    # What is not the loop goes on where the cap only denies.
    assert (ask(stage, body("four", max_tokens=65))[1] is None) == (on_breach is OnBreach.DENY)
