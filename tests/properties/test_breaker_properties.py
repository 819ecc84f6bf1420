"""The breaker in any order of calls and ends: one trial at a time, each call counted once, a course that verifies."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from boundary_rig.gate_calls import call
from docket.formats.ledger.model_events import Outcome
from docket.formats.ledger.resilience_events import BreakerState
from docket.formats.reason import Reason
from docket.formats.run.policy_spending import ResiliencePolicy
from docket.rules.boundary.admission import Refused
from docket.rules.boundary.breaker import Breaker
from docket.rules.boundary.gates import Ended, Go
from docket.rules.checks.drills import DrillOrder
from golden_ledgers.build import policy

S = 1_000_000_000
ENDS = st.sampled_from(
    [
        Ended(status=200, outcome=Outcome.COMPLETE),
        Ended(status=529, outcome=Outcome.COMPLETE),
        Ended(status=404, outcome=Outcome.COMPLETE),
        Ended(status=None, outcome=None, reason=Reason.UPSTREAM_UNREACHABLE, sent=False),
        Ended(status=200, outcome=Outcome.UPSTREAM_BROKEN, reason=Reason.UPSTREAM_BROKEN),
        Ended(status=None, outcome=Outcome.CLIENT_GONE),
    ]
)
STEPS = st.lists(
    st.one_of(
        st.just(("ask",)),
        st.tuples(st.just("pass"), st.integers(0, 40)),
        st.tuples(st.just("end"), st.integers(0, 9), ENDS, st.booleans()),
        st.tuples(st.just("withdraw"), st.integers(0, 9)),
    ),
    max_size=60,
)


@given(STEPS, st.integers(1, 3), st.integers(0, 10), st.integers(0, 30))
def test_whatever_happens_one_trial_goes_at_a_time_and_the_course_verifies(steps, threshold, shortest, more):
    limits = ResiliencePolicy(
        breaker_threshold=threshold,
        breaker_cooldown_seconds=shortest,
        breaker_max_cooldown_seconds=shortest + more,
    )
    gate, order, now = Breaker(limits), DrillOrder(), 0
    order.take(policy({"name": "p", "resilience": limits.document()}))
    state, until, flying, trials = BreakerState.CLOSED, 0, [], 0

    def note(events):
        nonlocal state, until
        for event in events:
            assert order.take(event) is None
            state = event.state
            until = now + event.cooldown_ms * 1_000_000 if state is BreakerState.OPEN else until

    for step in steps:
        match step:
            case ("pass", seconds):
                now += seconds * S
            case ("ask",):
                weighed = call()
                answer = gate.ask(weighed, now)
                before = state
                if isinstance(answer, Refused):
                    assert before is not BreakerState.CLOSED
                    assert answer.retry_after_seconds >= 1
                    assert now < until or trials
                    continue
                assert isinstance(answer, Go)
                note(answer.record)
                is_trial = before is not BreakerState.CLOSED
                assert not is_trial or (trials == 0 and now >= until)
                trials += is_trial
                flying.append((weighed, is_trial))
            case ("end", index, ended, headed) if flying:
                weighed, is_trial = flying.pop(index % len(flying))
                if headed and ended.status is not None:
                    note(gate.begun(weighed, ended.status, now))
                note(gate.ended(weighed, ended, now))
                trials -= is_trial
            case ("withdraw", index) if flying:
                weighed, is_trial = flying.pop(index % len(flying))
                note(gate.withdrawn(weighed, now))
                trials -= is_trial
            case _:
                pass
        assert trials <= 1
