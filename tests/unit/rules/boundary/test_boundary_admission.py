import json

import pytest

from docket.formats.amount import Usd
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_reach import ModelsPolicy
from docket.formats.run.policy_spending import Admission, BudgetPolicy, CapsPolicy
from docket.rules.agents.interface import RefusalStyle
from docket.rules.boundary.admission import Admitted, Desk, Held, Refused, advice
from docket.rules.boundary.asking import model_refused
from docket.rules.boundary.refusing import Asked, not_found, plain_text, refuse
from docket.rules.providers.endpoints import ANTHROPIC_MESSAGES, GEMINI, OPENAI_RESPONSES
from docket.rules.spending.caps import Tally
from docket.rules.spending.reservation import Claim
from docket.rules.spending.scope import Crossing


def claim(likely: int, worst: int | None = None, *, hidden: bool = False) -> Claim:
    return Claim(likely=Tally(likely, 10, 1), worst=Tally(worst or likely, 20, 1), hidden=hidden)


def desk(**members: object) -> Desk:
    return Desk(Policy(caps=CapsPolicy(**members)))


def test_calls_are_numbered_in_the_order_they_are_admitted():
    one = desk(max_model_calls=2)
    assert one.ask(claim(1)) == Admitted(1)
    assert one.ask(claim(1)) == Admitted(2)
    assert one.ask(claim(1)) == Held()
    one.release(1)
    assert one.ask(claim(1)) == Admitted(3)


@pytest.mark.parametrize(
    ("members", "asked", "words"),
    [
        (
            {"max_usd": Usd.parse("0.01")},
            claim(20_000),
            ["max_usd of 0.01 US dollars", "0.00 used", "needs about 0.02"],
        ),
        ({"max_tokens": 5}, claim(1), ["max_tokens of 5 tokens", "0 used", "needs about 10"]),
        ({"max_model_calls": 0}, claim(1), ["max_model_calls of 0 model calls", "0 used"]),
    ],
)
def test_a_refusal_names_cap_use_and_need(members, asked, words):
    refused = desk(**members).ask(asked)
    assert isinstance(refused, Refused)
    for word in words:
        assert word in refused.detail


def test_strict_says_what_a_call_may_cost_and_what_is_held():
    policy = Policy(caps=CapsPolicy(max_usd=Usd.parse("0.10")), budget=BudgetPolicy(admission=Admission.STRICT))
    one = Desk(policy)
    assert one.ask(claim(1000, 60_000)) == Admitted(1)
    refused = one.ask(claim(1000, 60_000), last=True)
    assert isinstance(refused, Refused)
    assert refused.passing
    assert "0.06 held by 1 running" in refused.detail
    assert "may cost up to 0.06" in refused.detail


def test_exceeded_is_said_once_a_cap_and_closes_when_it_kills():
    one = desk(max_usd=Usd.parse("1"), max_model_calls=1)
    effects = one.exceeded(Crossing(Reason.MAX_USD), "because")
    assert [event.cap for event in effects.events] == ["max_usd"]
    assert one.exceeded(Crossing(Reason.MAX_USD), "again").events == ()
    assert one.exceeded(Crossing(Reason.MAX_USD), "again").breach is None
    other = one.exceeded(Crossing(Reason.MAX_MODEL_CALLS), "too")
    assert [event.cap for event in other.events] == ["max_model_calls"]
    assert one.breach is not None
    assert one.breach.cap is Reason.MAX_USD
    refused = one.ask(claim(1))
    assert isinstance(refused, Refused)
    assert (refused.reason, refused.cap, refused.detail) == (Reason.MAX_USD, Reason.MAX_USD, "because")


def test_settling_warns_once_and_exceeds_each_crossed_cap():
    one = desk(max_usd=Usd(1000), max_tokens=100)
    one.ask(claim(10))
    effects = one.settle(1, Tally(850, 10, 1), whole=True)
    assert [(event.TYPE, event.cap) for event in effects.events] == [("cap.warning", "max_usd")]
    assert effects.breach is None
    one.ask(claim(10))
    effects = one.settle(2, Tally(151, 200, 1), whole=True)
    assert [(event.TYPE, event.cap) for event in effects.events] == [
        ("cap.warning", "max_tokens"), ("cap.exceeded", "max_usd"), ("cap.exceeded", "max_tokens"),
    ]  # fmt: skip
    assert effects.breach is not None
    assert effects.breach.cap is Reason.MAX_USD
    assert one.budget().overshoot_usd == Usd(1)
    state = one.state()
    assert (state.calls, state.spent, state.tokens, state.in_flight) == (2, Usd(1001), 210, 0)


def test_advancing_names_a_cap_only_when_something_changed():
    one = desk(max_usd=Usd(1000))
    one.ask(claim(10))
    assert one.advance(1, Tally(10, 10, 1)) is None
    assert one.advance(1, Tally(1000, 10, 1)) is None
    assert one.advance(1, Tally(1001, 10, 1)) == Crossing(Reason.MAX_USD)


def test_model_rules_ignore_case_and_deny_wins():
    policy = Policy(models=ModelsPolicy(allow=("Claude-*",), deny=("*OPUS*",)))
    assert model_refused("CLAUDE-sonnet", policy) is None
    assert "models.deny has *OPUS*" in model_refused("claude-opus-4", policy)
    assert "models.allow" in model_refused("gpt-4o", policy)
    assert model_refused("gpt-4o", Policy()) is None


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        (Refused(reason=Reason.MAX_USD, detail="d", cap=Reason.MAX_USD), "--max-usd"),
        (Refused(reason=Reason.MAX_WALL_SECONDS, detail="d", cap=Reason.MAX_WALL_SECONDS), "--max-minutes"),
        (Refused(reason=Reason.MAX_USD, detail="d", cap=Reason.MAX_USD, passing=True), "may fit"),
        (Refused(reason=Reason.UNKNOWN_MODEL, detail="d"), "--prices FILE"),
        (Refused(reason=Reason.UNKNOWN_MODEL, detail="d"), 'budget.unknown_models = "assume"'),
        (Refused(reason=Reason.RUN_ENDING, detail="d"), ""),
    ],
)
def test_advice(refused, words):
    assert words in advice(refused)
    assert bool(advice(refused)) is bool(words)


# ---- the answer


ASKED = Asked(provider="anthropic", path="/anthropic/v1/messages", wire=ANTHROPIC_MESSAGES, model="m", streaming=True)


def test_the_recipe_sets_the_status_of_a_final_refusal():
    refused = Refused(reason=Reason.MAX_USD, detail="spent", cap=Reason.MAX_USD)
    answer, event = refuse(refused, ASKED, RefusalStyle(status=401), "DKT-1")
    assert (answer.head.status, answer.head.reason, event.status) == (401, b"Unauthorized", 401)
    assert dict(answer.head.headers)[b"x-should-retry"] == b"false"
    body = json.loads(answer.body)
    assert body["error"]["message"].startswith("docket DKT-1: spent. Run again")
    assert (event.cap, event.reason, event.detail) == ("max_usd", "max_usd", "spent")


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        (Reason.UNKNOWN_PROVIDER, 404), (Reason.UPGRADE_REFUSED, 426), (Reason.UPSTREAM_UNREACHABLE, 502),
        (Reason.UPSTREAM_BROKEN, 502), (Reason.TOO_LARGE, 413), (Reason.MODEL_POLICY, 400),
    ],
)  # fmt: skip
def test_some_reasons_have_a_status_of_their_own(reason, status):
    plain = Asked(provider="x", path="/x")
    answer, _ = refuse(Refused(reason=reason, detail="d"), plain, RefusalStyle(), "DKT-1")
    assert answer.head.status == status
    assert json.loads(answer.body)["error"]["code"] == reason
    assert dict(answer.head.headers)[b"x-docket-number"] == b"DKT-1"


def test_digits_that_an_agent_misreads_are_in_nothing_it_reads():
    misread = ("429", "500", "502", "503", "504", "524")
    style = RefusalStyle(misread=misread)
    detail = "0.036500 used of 0.0504290, and 5240 calls of m-0502"
    refused = Refused(reason=Reason.MAX_USD, detail=detail, cap="max_usd")
    for wire in (None, ANTHROPIC_MESSAGES, OPENAI_RESPONSES):
        asked = Asked(provider="x", path="/x", wire=wire)
        answer, event = refuse(refused, asked, style, "DKT-20260429-500524")
        assert not any(digits.encode() in answer.body for digits in misread)
        body = json.loads(answer.body)
        message = body["error"]["message"]
        assert not any(digits in message for digits in misread)
        assert "docket DKT-202604_29-5_005_24: 0.0365_00 used of 0.05_04_290, and 5_240 calls of m-05_02" in message
        # The record, and what a program reads of the body, are as they were.
        assert event.detail == detail
        assert wire is None or body["docket"]["docket_number"] == "DKT-20260429-500524"
        plain, _ = refuse(refused, asked, RefusalStyle(), "DKT-20260429-500524")
        assert b"0.036500 used" in plain.body


def test_a_fault_that_passes_is_put_as_it_is():
    style = RefusalStyle(misread=("502",))
    refused = Refused(reason=Reason.UPSTREAM_UNREACHABLE, detail="no answer")
    answer, _ = refuse(refused, Asked(provider="x", path="/x", wire=GEMINI), style, "DKT-1")
    assert json.loads(answer.body)["error"]["code"] == 502


def test_plain_answers():
    assert not_found().head.status == 404
    answer = plain_text(418, "tea\n")
    assert (answer.head.reason, answer.body) == (b"", b"tea\n")
