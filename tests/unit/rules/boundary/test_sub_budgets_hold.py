"""Budgets within the run's: of the models of a pattern and of each agent, on the machine.

A call of `messages_json(1000, 100)` costs 1000 x 3 + 100 x 15 = 4500 micro-dollars under sonnet.
"""

from __future__ import annotations

import pytest

from boundary_rig.playbook import Stage
from boundary_rig.replies import messages_events, messages_json, messages_request
from docket.formats.amount import Usd
from docket.formats.ledger.model_events import ModelDenied, ModelRequest, ModelResponse, Outcome
from docket.formats.ledger.spending_events import CapExceeded, CapWarning, ScopeUse
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import Admission, BudgetPolicy, CapsPolicy, OnBreach
from docket.formats.run.sub_budgets import SubBudget
from docket.rules.boundary.admission import advice
from docket.rules.boundary.protocol import BodyChunk, BodyEnded, Breach, UpstreamChunk, UpstreamEnded
from docket.rules.boundary.sub_accounts import SubAccounts
from docket.rules.spending.caps import Tally
from docket.rules.spending.reservation import Claim
from docket.rules.spending.scope import Scope, ScopeKind, Whose

HEADERS = {"agent_headers": ("x-agent-id", "x-other-id")}
OPUS = "claude-opus-4-5"
CALL = 4500


def stage(admission: Admission = Admission.METERED, **caps: object) -> Stage:
    policy = Policy(budget=BudgetPolicy(admission=admission), caps=CapsPolicy(**{"max_usd": Usd(10**7), **caps}))
    return Stage(policy, **HEADERS)


def called(one: Stage, *headers: str, answer: bool = True, **members: object):
    play = one.play()
    play.post(messages_request(**members), "/anthropic/v1/messages", *headers)
    if answer and play.exchange.needs.upstream:
        play.reply(200, (b"Content-Type", b"application/json"))
        play.feed(UpstreamChunk(messages_json(1000, 100)))
        play.feed(UpstreamEnded())
    return play


def test_a_model_that_has_used_its_budget_is_refused_and_no_other():
    one = stage(per_model=(SubBudget(pattern="*SONNET*", max_usd=Usd(CALL)),))
    assert called(one).payloads(ModelResponse)
    play = called(one)
    (denied,), (exceeded,) = play.payloads(ModelDenied), play.payloads(CapExceeded)
    assert (denied.reason, denied.cap, denied.status) == ("max_usd", "max_usd", 400)
    assert "the cap max_usd of model *SONNET* (0.004500 US dollars) leaves no room" in denied.detail
    assert (exceeded.scope, exceeded.scope_name, exceeded.limit) == ("model", "*SONNET*", "0.004500")
    assert (exceeded.used, exceeded.action) == ("0.004500", "deny")
    # It is no breach of the run: nothing is stopped, and other models go on.
    assert not [item for item in play.all if isinstance(item, Breach)]
    assert one.desk.state().breach is None
    assert called(one, model=OPUS).payloads(ModelResponse)
    assert called(one).payloads(CapExceeded) == []


def test_a_policy_may_let_it_end_the_run():
    one = stage(per_model=(SubBudget(pattern="*", max_model_calls=1),), on_sub_breach=OnBreach.KILL)
    called(one)
    play = called(one)
    (breach,) = [item for item in play.all if isinstance(item, Breach)]
    assert (breach.cap, breach.action) == (Reason.MAX_MODEL_CALLS, OnBreach.KILL)
    later = called(one, model=OPUS)
    assert later.payloads(ModelDenied)[0].reason == "max_model_calls"
    assert later.payloads(CapExceeded) == []


def test_each_agent_has_the_amount_for_itself():
    one = stage(per_agent=(SubBudget(pattern="sub:*", max_model_calls=1),))
    for name in ("a1", "a2"):
        (request,) = called(one, f"X-Agent-Id: {name}").payloads(ModelRequest)
        assert request.agent_id == f"sub:{name}"
        (exceeded,) = called(one, f"X-Agent-Id: {name}").payloads(CapExceeded)
        assert (exceeded.scope, exceeded.scope_name) == ("agent", f"sub:{name}")
    for _ in range(3):
        (request,) = called(one).payloads(ModelRequest)
        assert request.agent_id is None


def test_the_first_header_that_stands_names_the_agent():
    one = stage(per_agent=(SubBudget(pattern="sub:*", max_model_calls=1),))
    (request,) = called(one, "X-Other-Id: b", "X-Agent-Id: a\xe9 ").payloads(ModelRequest)
    assert request.agent_id == "sub:a\\xe9"
    (request,) = called(one, "X-Other-Id: b", "X-Agent-Id:").payloads(ModelRequest)
    assert request.agent_id == "sub:b"


def test_warnings_name_their_budget():
    one = stage(per_model=(SubBudget(pattern="*", max_usd=Usd(5000)),))
    (warning,) = called(one).payloads(CapWarning)
    assert (warning.scope, warning.scope_name, warning.used_pct, warning.limit) == ("model", "*", "90.0", "0.005000")


def test_a_stream_is_cut_at_the_budget_of_its_model():
    one = stage(per_model=(SubBudget(pattern="*", max_usd=Usd(20_000)),))
    play = called(one, answer=False, stream=True, max_tokens=60_000)
    play.reply(200, (b"Content-Type", b"text/event-stream"))
    for piece in messages_events(100, 9000, texts=("w" * 4000,) * 9):
        if not play.exchange.done:
            play.feed(UpstreamChunk(piece))
    (response,), (exceeded,) = play.payloads(ModelResponse), play.payloads(CapExceeded)
    assert response.outcome is Outcome.CUT
    assert exceeded.scope == "model"
    assert "the cap max_usd of model * (0.02 US dollars) was crossed" in exceeded.detail


def test_strict_holds_the_worst_case_in_each_budget():
    worst = len(messages_request(max_tokens=100)) * 6 + 100 * 15 + 4
    one = stage(Admission.STRICT, per_model=(SubBudget(pattern="*", max_usd=Usd(2 * worst - 1)),))
    first = called(one, answer=False, max_tokens=100)
    assert first.payloads(ModelRequest)[0].held_usd == Usd(worst)
    second = called(one, answer=False, max_tokens=100)
    assert second.exchange.needs.release


def test_what_cannot_be_helped_is_said_before_what_a_wait_may():
    one = stage(per_agent=(SubBudget(pattern="*", max_model_calls=0),), max_model_calls=1)
    called(one, answer=False)
    (denied,) = called(one).payloads(ModelDenied)
    assert "of agent main (0 model calls)" in denied.detail


def test_the_end_tells_how_each_held():
    one = stage(
        per_model=(SubBudget(pattern="*sonnet*", max_usd=Usd(9000)),),
        per_agent=(SubBudget(pattern="*", max_tokens=5000), SubBudget(pattern="main", max_tokens=4000)),
    )
    called(one)
    scopes = one.desk.budget().scopes
    assert scopes == (
        ScopeUse(
            scope="agent", name="main", cap_tokens=4000, spent_usd=Usd(CALL), tokens=1100, calls=1, bound_usd=Usd(0)
        ),
        ScopeUse(
            scope="model", name="*sonnet*", cap_usd=Usd(9000), spent_usd=Usd(CALL), tokens=1100, calls=1,
            bound_usd=scopes[1].bound_usd,
        ),
    )  # fmt: skip
    assert called(stage()).stage.desk.budget().scopes is None


def test_advice_says_what_else_can_be_done():
    one = stage(per_model=(SubBudget(pattern="*", max_model_calls=0),))
    refused = one.desk.ask(_claim(), whose=Whose("m"))
    assert "Other models may go on; --max-usd-per-model or caps.per_model" in advice(refused)
    two = stage(per_agent=(SubBudget(pattern="*", max_model_calls=0),))
    assert "Other agents may go on; --max-usd-per-agent" in advice(two.desk.ask(_claim(), whose=Whose("m")))


@pytest.mark.parametrize("admission", list(Admission))
def test_a_late_booking_counts_in_the_budgets_too(admission):
    one = Stage(
        Policy(
            budget=BudgetPolicy(admission=admission),
            caps=CapsPolicy(max_usd=Usd(10**7), per_model=(SubBudget(pattern="*sonnet*", max_usd=Usd(10)),)),
        ),
        **HEADERS,
    )
    play = one.play()
    body = messages_request()
    play.head("/anthropic/v1/messages/count_tokens", "POST", f"Content-Length: {len(body)}", "X-Agent-Id: a")
    play.feed(BodyChunk(body))
    play.feed(BodyEnded())
    play.reply(200, (b"Content-Type", b"application/json"))
    play.feed(UpstreamChunk(messages_json(1000, 100)))
    play.feed(UpstreamEnded())
    (request,) = play.payloads(ModelRequest)
    assert request.agent_id == "sub:a"
    assert one.desk.budget().scopes is not None
    assert [use.spent_usd for use in one.desk.budget().scopes] == [Usd(CALL)]
    assert play.payloads(CapExceeded)[0].scope == "model"


def test_an_agent_that_invents_names_gains_nothing():
    policy = Policy(caps=CapsPolicy(per_agent=(SubBudget(pattern="sub:*", max_model_calls=1),)))
    accounts = SubAccounts(policy)
    for number in range(2000):
        accounts.of(Whose("m", f"sub:{number}"))
    assert len(accounts.accounts) == 1025
    assert accounts.of(Whose("m", "sub:more")) == (Scope(ScopeKind.AGENT, "sub:*"),)
    assert accounts.of(Whose("m", "sub:7")) == (Scope(ScopeKind.AGENT, "sub:7"),)


def test_invented_names_do_not_set_other_agents_free():
    budgets = (SubBudget(pattern="main", max_model_calls=2), SubBudget(pattern="sub:rev*", max_model_calls=1))
    accounts = SubAccounts(Policy(caps=CapsPolicy(per_agent=budgets)))
    for number in range(2000):
        assert accounts.of(Whose("m", f"sub:{number}")) == ()
    assert accounts.of(Whose("m", "sub:review")) == (Scope(ScopeKind.AGENT, "sub:review"),)
    for number in range(2000):
        accounts.of(Whose("m", f"sub:rev{number}"))
    shared = Scope(ScopeKind.AGENT, "sub:rev*")
    assert accounts.of(Whose("m", "sub:revenge")) == (shared,)
    assert accounts.accounts[shared].caps.calls == 1
    main = Scope(ScopeKind.AGENT, "main")
    assert accounts.of(Whose("m", "main")) == (main,)
    assert accounts.accounts[main].caps.calls == 2


def test_who_shares_an_account_counts_under_every_pattern_that_matches():
    budgets = (SubBudget(pattern="*", max_tokens=9), SubBudget(pattern="sub:*", max_model_calls=1))
    accounts = SubAccounts(Policy(caps=CapsPolicy(per_agent=budgets)))
    for number in range(1024):
        accounts.of(Whose("m", f"sub:{number}"))
    assert [str(scope) for scope in accounts.of(Whose("m", "sub:more"))] == ["agent *", "agent sub:*"]
    assert len(accounts.accounts) == 1026


def _claim():
    return Claim(likely=Tally(1, 1, 1), worst=Tally(1, 1, 1), hidden=False)
