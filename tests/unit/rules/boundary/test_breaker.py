"""The breaker: what counts as a failure, when it opens, the one trial, the pause that doubles."""

import pytest

from boundary_rig.gate_calls import call
from boundary_rig.playbook import Stage
from boundary_rig.replies import messages_request
from docket.formats.ledger.model_events import ModelDenied, Outcome
from docket.formats.ledger.resilience_events import BreakerChange, BreakerState
from docket.formats.reason import Reason
from docket.formats.run.policy_spending import ResiliencePolicy
from docket.rules.boundary.admission import Refused
from docket.rules.boundary.breaker import Breaker, failed
from docket.rules.boundary.gates import Ended, Go
from docket.rules.boundary.protocol import Refuse, UpstreamFailed

S = 1_000_000_000
POLICY = ResiliencePolicy(breaker_threshold=2, breaker_cooldown_seconds=30, breaker_max_cooldown_seconds=100)
BROKEN = Ended(status=None, outcome=None, reason=Reason.UPSTREAM_UNREACHABLE, sent=False)
WELL = Ended(status=200, outcome=Outcome.COMPLETE)
OPEN, HALF_OPEN, CLOSED = BreakerState.OPEN, BreakerState.HALF_OPEN, BreakerState.CLOSED


def status(number):
    return Ended(status=number, outcome=Outcome.COMPLETE)


def change(state, failures, cooldown=0):
    return BreakerChange(
        provider="anthropic",
        upstream="https://one.example:443",
        state=state,
        failures=failures,
        cooldown_ms=cooldown * 1000,
    )


def sent(gate, now_ns=0, **members):
    weighed = call(**members)
    assert isinstance(gate.ask(weighed, now_ns), Go)
    return weighed


def opened(policy=POLICY):
    """A breaker that two failures have opened at the instant 0."""
    gate = Breaker(policy)
    for _ in range(2):
        gate.ended(sent(gate), BROKEN, 0)
    return gate


@pytest.mark.parametrize(
    ("ended", "counts"),
    [
        (BROKEN, True),
        (Ended(status=200, outcome=Outcome.UPSTREAM_BROKEN, reason=Reason.UPSTREAM_BROKEN), True),
        (status(500), True),
        (status(503), True),
        (status(529), True),
        (Ended(status=502, outcome=Outcome.CLIENT_GONE), True),
        (WELL, False),
        (status(400), False),
        (status(404), False),
        (status(429), False),
        (Ended(status=200, outcome=Outcome.CLIENT_GONE), False),
        (Ended(status=None, outcome=Outcome.CLIENT_GONE), None),
        (Ended(status=None, outcome=None, reason=Reason.CLIENT_GONE, sent=False), None),
        (Ended(status=None, outcome=None, reason=Reason.EVIDENCE_FAILED), None),
        (Ended(status=200, outcome=Outcome.COMPLETE, reason=Reason.UPSTREAM_ERROR_EVENT), None),
    ],
)
def test_what_counts(ended, counts):
    assert failed(ended) is counts


def test_failures_in_a_row_open_it_and_an_answer_in_between_starts_the_row_anew():
    gate = Breaker(POLICY)
    assert gate.ended(sent(gate), status(529), 0) == ()
    assert gate.ended(sent(gate), status(404), 0) == ()
    assert gate.ended(sent(gate), BROKEN, 0) == ()
    assert gate.ended(sent(gate), Ended(status=None, outcome=Outcome.CLIENT_GONE), 0) == ()
    assert gate.ended(sent(gate), BROKEN, 0) == (change(OPEN, 2, 30),)


def test_while_it_is_open_calls_are_refused_with_the_seconds_that_are_left():
    gate = opened()
    assert gate.ask(call(), 1) == Refused(
        reason=Reason.CIRCUIT_OPEN,
        detail="anthropic has failed 2 times in a row; it is tried again in 30 s",
        retry_after_seconds=30,
    )
    assert gate.ask(call(), 29 * S).retry_after_seconds == 1
    assert gate.ask(call(), 30 * S) == Go((change(HALF_OPEN, 2),))


def test_exactly_one_call_is_the_trial():
    gate = opened()
    trial = sent(gate, 30 * S)
    refused = gate.ask(call(), 31 * S)
    assert (refused.reason, refused.retry_after_seconds) == (Reason.CIRCUIT_OPEN, 1)
    assert gate.begun(call(), 200, 31 * S) == ()
    assert gate.begun(trial, 200, 31 * S) == (change(CLOSED, 1),)
    assert gate.ask(call(), 31 * S) == Go()
    assert gate.ended(trial, WELL, 32 * S) == ()
    # The row is over, and the pause is the short one again.
    assert gate.ended(sent(gate), BROKEN, 0) == ()
    assert gate.ended(sent(gate), BROKEN, 0) == (change(OPEN, 2, 30),)


def test_a_trial_that_breaks_off_after_its_head_opens_it_again_for_longer():
    gate = opened()
    trial = sent(gate, 30 * S)
    gate.begun(trial, 200, 31 * S)
    broken = Ended(status=200, outcome=Outcome.UPSTREAM_BROKEN, reason=Reason.UPSTREAM_BROKEN)
    assert gate.ended(trial, broken, 32 * S) == (change(OPEN, 2, 60),)


def test_the_pause_doubles_with_every_failed_trial_up_to_the_longest():
    gate, now = opened(), 0
    for failures, pause in ((3, 60), (4, 100), (5, 100)):
        now += 200 * S
        trial = sent(gate, now)
        assert gate.begun(trial, 503, now) == ()
        assert gate.ended(trial, status(503), now) == (change(OPEN, failures, pause),)
        assert gate.ask(call(), now + pause * S - 1).retry_after_seconds == 1


def test_a_trial_whose_head_was_never_seen_closes_it_by_ending_well():
    gate = opened()
    assert gate.ended(sent(gate, 30 * S), WELL, 31 * S) == (change(CLOSED, 0),)


@pytest.mark.parametrize("how", ["withdrawn", "says nothing"])
def test_a_trial_that_says_nothing_leaves_the_way_to_another(how):
    gate = opened()
    trial = sent(gate, 30 * S)
    if how == "withdrawn":
        assert gate.withdrawn(trial, 31 * S) == ()
    else:
        assert gate.ended(trial, Ended(status=None, outcome=Outcome.CLIENT_GONE), 31 * S) == ()
    # It is half open already: nothing new is recorded.
    assert gate.ask(call(), 31 * S) == Go()
    assert isinstance(gate.ask(call(), 31 * S), Refused)


def test_calls_sent_before_it_opened_change_nothing_when_they_end():
    gate = Breaker(POLICY)
    early, other = sent(gate), sent(gate)
    for _ in range(2):
        gate.ended(sent(gate), BROKEN, 0)
    assert gate.ended(early, WELL, 1) == ()
    assert gate.ended(other, BROKEN, 1) == ()
    assert gate.ask(call(), 2).retry_after_seconds == 30


def test_an_upstreams_trouble_is_its_own():
    gate = opened()
    assert gate.ask(call(url="https://two.example"), 1) == Go()
    assert gate.ask(call(provider="openai", url="https://one.example"), 1) == Go()


def test_no_pause_at_all_is_a_trial_at_once():
    gate = opened(ResiliencePolicy(breaker_threshold=2, breaker_cooldown_seconds=0, breaker_max_cooldown_seconds=0))
    assert gate.ask(call(), 0) == Go((change(HALF_OPEN, 2),))


def test_the_agent_gets_503_and_when_to_come_back_and_the_record_every_change():
    stage = Stage(gates=(Breaker(POLICY),))
    changes = []
    for _ in range(2):
        play = stage.play()
        play.post(messages_request())
        play.feed(UpstreamFailed(Reason.UPSTREAM_UNREACHABLE, "refused", sent=False))
        changes += [event.state for event in play.payloads(BreakerChange)]
    play = stage.play()
    (answer,) = [item for item in play.post(messages_request()) if isinstance(item, Refuse)]
    headers = dict(answer.head.headers)
    assert (answer.head.status, headers[b"retry-after"]) == (503, b"30")
    assert b"x-should-retry" not in headers
    assert [event.reason for event in play.payloads(ModelDenied)] == ["circuit_open"]
    trial = stage.play()
    trial.clock = 30_000
    trial.post(messages_request())
    changes += [event.state for event in trial.payloads(BreakerChange)]
    trial.reply(200, (b"content-type", b"application/json"), (b"content-length", b"9"))
    assert [*changes, *[event.state for event in trial.payloads(BreakerChange)][1:]] == [OPEN, HALF_OPEN, CLOSED]
