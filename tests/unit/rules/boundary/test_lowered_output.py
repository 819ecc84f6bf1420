"""Under `strict` a call's own output limit is lowered until its worst case fits, if the policy lets that be done.

Prices of claude-sonnet-4-5 in micro-dollars a token: input at its dearest 6 (an hour's cache write), output 15; four
micro-dollars for rounding. A request's bytes are taken as a token each.
"""

from __future__ import annotations

import hashlib
import json

import pytest

from boundary_rig.playbook import Stage, names
from boundary_rig.replies import messages_request
from docket.formats.amount import Usd
from docket.formats.ledger.model_events import ModelDenied, ModelRequest
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import Admission, BudgetPolicy, CapsPolicy
from docket.formats.run.sub_budgets import SubBudget
from docket.rules.boundary.protocol import Connect, UpstreamEnded
from docket.rules.boundary.repeats import RepeatGuard
from docket.rules.providers.output_limit import lowered
from docket.rules.providers.request import fingerprint


def stage(cap_micros: int, *, lower: bool = True, admission: Admission = Admission.STRICT, **caps: object) -> Stage:
    budget = BudgetPolicy(admission=admission, lower_max_tokens=lower)
    return Stage(Policy(budget=budget, caps=CapsPolicy(max_usd=Usd(cap_micros), **caps)))


def sent(play) -> Connect:
    (connect,) = [item for item in play.all if isinstance(item, Connect)]
    return connect


def test_the_limit_becomes_the_largest_that_fits():
    body = messages_request(max_tokens=64_000)
    cap = len(body) * 6 + 15 * 1000 + 4
    play = stage(cap).play()
    play.post(body)
    (event,) = play.payloads(ModelRequest)
    forwarded = sent(play).body
    assert forwarded == body.replace(b"64000", b"1000")
    assert json.loads(forwarded)["max_tokens"] == 1000
    assert event.request_sha256 == hashlib.sha256(body).hexdigest()
    assert event.forwarded_sha256 == hashlib.sha256(forwarded).hexdigest()
    assert event.altered == ("max_tokens",)
    assert event.held_usd == Usd(cap)
    lengths = [value for name, value in sent(play).head.headers if name.lower() == b"content-length"]
    assert lengths == [b"%d" % len(forwarded)]


def test_a_micro_dollar_less_is_a_token_less():
    body = messages_request(max_tokens=64_000)
    play = stage(len(body) * 6 + 15 * 1000 + 3).play()
    play.post(body)
    assert json.loads(sent(play).body)["max_tokens"] == 999


def test_the_budget_of_a_model_is_fitted_too():
    body = messages_request(max_tokens=64_000)
    cap = len(body) * 6 + 15 * 500 + 4
    play = stage(10**9, per_model=(SubBudget(pattern="*sonnet*", max_usd=Usd(cap)),)).play()
    play.post(body)
    assert json.loads(sent(play).body)["max_tokens"] == 500


@pytest.mark.parametrize(
    ("members", "headers", "options"),
    [
        ({}, (), {"lower": False}),
        ({"thinking": {"type": "enabled", "budget_tokens": 2000}}, (), {}),
        ({}, ("Authorization: AWS4-HMAC-SHA256 x",), {}),
    ],
)
def test_where_it_may_not_or_cannot_be_the_call_is_refused(members, headers, options):
    body = messages_request(max_tokens=64_000, **members)
    play = stage(len(body) * 6 + 15 * 1000 + 4, **options).play()
    play.post(body, "/anthropic/v1/messages", *headers)
    assert play.payloads(ModelDenied)
    assert "SendUpstream" not in names(play.all)
    assert not [item for item in play.all if isinstance(item, Connect)]


def test_less_than_is_of_use_is_refused():
    body = messages_request(max_tokens=64_000)
    play = stage(len(body) * 6 + 15 * 255 + 4).play()
    play.post(body)
    assert play.payloads(ModelDenied)


def test_metered_needs_no_lowering():
    body = messages_request(max_tokens=64_000)
    play = stage(10_000, admission=Admission.METERED).play()
    play.post(body)
    assert sent(play).body == body


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"max_tokens":9}', b'{"max_tokens":5}'),
        (b' {\n "a":[{"max_tokens":99}], "max_tokens" : 9 }x', b' {\n "a":[{"max_tokens":99}], "max_tokens" : 5 }x'),
        ('{"é":"ü\\u00fc","max_output_tokens":9,"max_tokens":7}'.encode(),
         '{"é":"ü\\u00fc","max_output_tokens":5,"max_tokens":5}'.encode()),
        (b'\xef\xbb\xbf{"max_tokens":9}', b'\xef\xbb\xbf{"max_tokens":5}'),
        (b'{"max_tokens":5}', None),
        (b'{"max_tokens":9.0}', None),
        (b'{"max_tokens":"9"}', None),
        (b'{"max_tokens":-9}', None),
        (b'{"max_tokens":9,"max_tokens":9}', None),
        (b'{"max_tokens" 9}', None),
        (b'{"max_tokens":9 "a"}', None),
        (b'{"max_tokens":', None),
        (b"[9]", None),
        (b"{}", None),
        (b'{"x":"\xff","max_tokens":9}', None),
        (b'{"x":' + b"[" * 100_000, None),
    ],
)  # fmt: skip
def test_only_the_number_changes(body, expected):
    assert lowered(body, 5) == expected


def test_a_loop_is_told_by_what_the_agent_sent_and_an_error_is_no_repeat():
    body = messages_request(max_tokens=64_000)
    cap = len(body) * 6 + 15 * 1000 + 4
    guard = RepeatGuard(0)
    policy = Policy(
        budget=BudgetPolicy(admission=Admission.STRICT, lower_max_tokens=True), caps=CapsPolicy(max_usd=Usd(cap))
    )
    shared = Stage(policy, gates=(guard,))
    for _ in range(2):
        play = shared.play()
        play.post(body)
        (event,) = play.payloads(ModelRequest)
        assert event.fingerprint == fingerprint(body, json.loads(body))
        assert (event.altered, event.request_sha256) == (("max_tokens",), hashlib.sha256(body).hexdigest())
        play.reply(529, (b"Content-Length", b"0"))
        play.feed(UpstreamEnded())
        assert play.exchange.done
