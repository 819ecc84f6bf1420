"""What a ledger may say of faults, breakers and pace."""

from dataclasses import replace

import pytest

from docket.formats.ledger.resilience_events import BreakerChange, BreakerState, FaultInjected, FaultPlanned, Paced
from docket.rules.checks.drills import DrillOrder
from golden_ledgers import samples
from golden_ledgers.build import policy, request

PLAN = FaultPlanned(seed=3, spec=("status=503@calls=1", "slow=64@calls=2-"))
FIRST = FaultInjected(call=1, kind="status", detail="HTTP 503 in place of the upstream's answer", asked=False)
OPENED = BreakerChange(provider="p", upstream="u", state=BreakerState.OPEN, failures=3, cooldown_ms=2000)
HALF = replace(OPENED, state=BreakerState.HALF_OPEN, cooldown_ms=0)
SHUT = replace(OPENED, state=BreakerState.CLOSED, failures=0, cooldown_ms=0)


def call(number):
    return request(number, "openai", "gpt-5", "openai-chat")


def under(**resilience):
    return policy({"name": "p", "resilience": resilience})


def told(*payloads):
    """What is wrong with the last of them, where nothing is with the others."""
    order = DrillOrder()
    faults = [order.take(payload) for payload in payloads]
    assert faults[:-1] == [None] * (len(payloads) - 1)
    return faults[-1]


@pytest.mark.parametrize("sample", [samples.drilled, samples.busy])
def test_whole_ledgers_hold(sample):
    from docket.formats.ledger.vocabulary import read_payload

    assert told(*(read_payload(event) for event in sample().events)) is None


@pytest.mark.parametrize(
    ("payloads", "wrong"),
    [
        ((PLAN, call(1), FIRST), None),
        ((PLAN, PLAN), "a plan of faults stands once, before any call"),
        ((call(1), PLAN), "a plan of faults stands once, before any call"),
        ((replace(PLAN, spec=("dorp",)),), "no fault is called 'dorp'; did you mean 'drop'?"),
        ((replace(PLAN, spec=("drop ",)),), "its rules are not written as they are read"),
        ((call(1), FIRST), "a fault stands without a plan of faults"),
        ((PLAN, FIRST), "a fault stands behind the request of its call"),
        ((PLAN, call(1), call(2), FIRST), "a fault stands behind the request of its call"),
        ((PLAN, call(1), FIRST, FIRST), "a fault stands behind the request of its call"),
        ((PLAN, call(1), replace(FIRST, kind="drop")), f"the plan gives call 1 {FIRST.detail}"),
        ((PLAN, call(1), replace(FIRST, asked=True)), f"the plan gives call 1 {FIRST.detail}"),
        ((PLAN, call(1), replace(FIRST, detail="")), f"the plan gives call 1 {FIRST.detail}"),
        ((replace(PLAN, spec=("drop@calls=9",)), call(1), FIRST), "the plan gives call 1 no fault"),
    ],
)
def test_faults_are_those_of_the_plan(payloads, wrong):
    assert told(*payloads) == wrong


BREAKER = under(breaker_threshold=3, breaker_cooldown_seconds=2, breaker_max_cooldown_seconds=4)


@pytest.mark.parametrize(
    ("payloads", "wrong"),
    [
        ((BREAKER, OPENED, HALF, replace(OPENED, failures=4, cooldown_ms=4000), HALF, SHUT, OPENED), None),
        ((OPENED, replace(OPENED, upstream="other"), HALF), None),
        ((SHUT,), "the breaker was closed and is closed"),
        ((HALF,), "the breaker was closed and is half_open"),
        ((OPENED, OPENED), "the breaker was open and is open"),
        ((OPENED, SHUT), "the breaker was open and is closed"),
        ((OPENED, HALF, HALF), "the breaker was half_open and is half_open"),
        ((OPENED, replace(HALF, cooldown_ms=1)), "a pause stands where the breaker is not open"),
        ((BREAKER, replace(OPENED, failures=2)), "it opened after 2 failures, the policy has 3"),
        ((BREAKER, replace(OPENED, cooldown_ms=1999)), "its pause is 1999 ms, the policy has 2 to 4 s"),
        ((BREAKER, replace(OPENED, cooldown_ms=4001)), "its pause is 4001 ms, the policy has 2 to 4 s"),
        ((under(breaker_cooldown_seconds=9), OPENED), None),
    ],
)
def test_a_breaker_goes_by_its_states_and_the_policy(payloads, wrong):
    assert told(*payloads) == wrong


PACED = Paced(provider="p", model="m", waited_ms=1)


@pytest.mark.parametrize(
    ("before", "wrong"),
    [
        (under(max_calls_per_minute=3, max_calls_per_second=None), None),
        (under(max_calls_per_second="0.5"), None),
        (under(), "a call waited its turn, and the policy paces none"),
        (policy({"name": "p"}), "a call waited its turn, and the policy paces none"),
    ],
)
def test_a_call_waits_only_where_the_policy_paces(before, wrong):
    assert told(before, PACED) == wrong
