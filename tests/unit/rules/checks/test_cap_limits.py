"""Budgets that several agents share: what the desk says of them is what a verifier makes of the calls."""

from __future__ import annotations

from dataclasses import replace

import pytest

from docket.formats.amount import Usd
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.session_events import EvidenceGap, PolicyApplied
from docket.formats.ledger.spending_events import CapExceeded
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import CapsPolicy
from docket.formats.run.sub_budgets import SubBudget
from docket.formats.run.usage import Usage
from docket.rules.boundary import sub_accounts
from docket.rules.boundary.admission import Admitted, Desk, Refused
from docket.rules.boundary.asking import exceeded_by
from docket.rules.checks.caps import CapLimits
from docket.rules.spending.caps import Tally
from docket.rules.spending.reservation import Claim
from docket.rules.spending.scope import Whose
from golden_ledgers.build import component, request, response

MODEL = "claude-sonnet-4-5"
USAGE = Usage(input_tokens=1000, output_tokens=200)
COST = Usd(6000)
CLAIM = Claim(likely=Tally(3000, 1000, 1), worst=Tally(6000, 1200, 1), hidden=False)


@pytest.fixture(autouse=True)
def one_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sub_accounts, "_MAX_AGENTS", 1)


def recorded(policy: Policy, agents: list[str]) -> tuple[Desk, list[Payload]]:
    """The record of one call by each of these agents, from a desk that admits and settles them."""
    desk = Desk(policy)
    events: list[Payload] = [PolicyApplied(name=policy.name, digest=policy.digest, document=policy.document())]
    for agent in agents:
        admitted = desk.ask(CLAIM, whose=Whose(MODEL, agent))
        assert isinstance(admitted, Admitted)
        events.append(replace(request(admitted.call, "anthropic", MODEL), agent_id=None if agent == "main" else agent))
        effects = desk.settle(admitted.call, Tally(COST.micros, 1200, 1), whole=True)
        spent = str(Usd(desk.account.spent.micros))
        parts = (component(MODEL, 1000, 0, 200, str(COST)),)
        events.append(
            response(admitted.call, "anthropic", MODEL, usage=USAGE, components=parts, cost=str(COST), cumulative=spent)
        )
        events += effects.events
    return desk, events


def faults(events: list[Payload]) -> list[str]:
    watch = CapLimits()
    return [fault for payload in events if (fault := watch.take(None, payload)) is not None]  # type: ignore[arg-type]


POLICY = Policy(
    caps=CapsPolicy(
        max_usd=Usd(10**6),
        per_agent=(
            SubBudget(pattern="*", max_usd=Usd(50_000)),
            SubBudget(pattern="main", max_model_calls=5),
            SubBudget(pattern="sub:b*", max_usd=Usd(20_000)),
        ),
    )
)


def test_what_is_shared_by_pattern_adds_up() -> None:
    desk, events = recorded(POLICY, ["sub:a", "sub:b1", "main", "sub:b2", "sub:c", "sub:a"])
    budget = desk.budget()
    told = {use.name: (use.spent_usd, use.calls, use.cap_usd) for use in budget.scopes or ()}
    assert told == {
        "sub:a": (Usd(12_000), 2, Usd(50_000)),
        "main": (Usd(6000), 1, Usd(50_000)),
        "*": (Usd(18_000), 3, Usd(50_000)),
        "sub:b*": (Usd(12_000), 2, Usd(20_000)),
    }
    assert faults([*events, budget]) == []


def test_what_is_shared_and_said_otherwise_is_found() -> None:
    desk, events = recorded(POLICY, ["sub:a", "sub:b1", "sub:b2"])
    budget = desk.budget()
    for name, change, words in (
        ("sub:b*", {"spent_usd": Usd(6000)}, 'agent "sub:b*" says 0.006000, its calls add up to 0.012000'),
        ("*", {"calls": 1}, 'agent "*" says 0.012000'),
        ("sub:b*", {"cap_usd": Usd(50_000)}, 'another max_usd of agent "sub:b*"'),
    ):
        scopes = tuple(replace(use, **change) if use.name == name else use for use in budget.scopes or ())  # type: ignore[arg-type]
        (fault,) = faults([*events, replace(budget, scopes=scopes)])
        assert words in fault


def test_behind_a_declared_gap_the_sums_need_not_be_borne_out() -> None:
    desk, events = recorded(POLICY, ["sub:a"])
    gap = EvidenceGap(first_failing_seq=9, unwritten_events=1, detail="full")
    scopes = tuple(replace(use, calls=7) for use in desk.budget().scopes or ())
    assert faults([*events, gap, replace(desk.budget(), scopes=scopes)]) == []


def test_a_shared_cap_that_is_exceeded_is_the_patterns() -> None:
    desk, events = recorded(POLICY, ["sub:a", "sub:b1", "sub:b2", "sub:b3"])
    refused = desk.ask(CLAIM, whose=Whose(MODEL, "sub:b4"))
    assert isinstance(refused, Refused)
    (exceeded,) = exceeded_by(refused, desk).events
    assert isinstance(exceeded, CapExceeded)
    assert (exceeded.scope_name, exceeded.limit) == ("sub:b*", "0.02")
    assert faults([*events, exceeded, desk.budget()]) == []
