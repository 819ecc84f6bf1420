"""Events in, commands out: what an exchange asks its driver to do, in order."""

from __future__ import annotations

import hashlib
import json

import pytest

from boundary_rig.playbook import Stage, names
from boundary_rig.replies import SONNET, messages_events, messages_json, messages_request
from boundary_rig.rig import caps
from docket.formats.amount import Usd
from docket.formats.ledger.model_events import ModelDenied, ModelError, ModelRequest, ModelResponse, Outcome
from docket.formats.ledger.network_events import OtherExchange
from docket.formats.ledger.spending_events import CapExceeded
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_reach import ModelsPolicy
from docket.formats.run.policy_spending import (
    Admission,
    BudgetMode,
    BudgetPolicy,
    CapsPolicy,
    OnBreach,
    UnknownEndpoints,
    UnknownModels,
)
from docket.formats.run.sub_budgets import SubBudget
from docket.formats.run.usage import UsageSource
from docket.rules.boundary.http1 import ResponseHead, response_framing
from docket.rules.boundary.protocol import (
    BodyChunk,
    Breach,
    ClientGone,
    Connect,
    EvidenceFailed,
    Needs,
    Refuse,
    Retry,
    SendClient,
    StartClient,
    Stopping,
    Tick,
    UpstreamChunk,
    UpstreamEnded,
    UpstreamFailed,
    UpstreamHead,
    UpstreamWhole,
)

ADMITTED = ["Record(model.request)", "Await(WRITTEN)", "Connect"]
SETTLED = ["Released", "Record(x-docket.price)", "Record(model.response)"]
REFUSED = ["Record(model.denied)", "Await(DURABLE)", "Refuse", "Finish"]
JSON = (b"Content-Type", b"application/json")
SSE = (b"Content-Type", b"text/event-stream")


def usd(text: str, **members: object) -> Policy:
    return caps(max_usd=Usd.parse(text), **members)


def refusal_of(commands) -> Refuse:
    return next(command for command in commands if isinstance(command, Refuse))


# ---- the plain call


def test_a_json_call_from_head_to_end():
    play = Stage().play()
    body, answer = messages_request(), messages_json()
    assert play.head("/anthropic/v1/messages?beta=true", "POST", f"Content-Length: {len(body)}") == []
    assert play.exchange.needs == Needs(body=True)
    assert play.feed(BodyChunk(body[:10])) == play.feed(BodyChunk(body[10:])) == []
    from docket.rules.boundary.protocol import BodyEnded

    admitted = play.feed(BodyEnded())
    assert names(admitted) == ADMITTED
    connect = admitted[-1]
    assert isinstance(connect, Connect)
    assert connect.origin == ("https", "upstream.example", 443)
    assert (connect.head.target, connect.body) == ("/base/v1/messages?beta=true", body)
    assert play.exchange.needs == Needs(upstream=True)
    play.clock = 7
    assert names(play.reply(200, JSON, (b"Content-Length", b"%d" % len(answer)), (b"request-id", b"req_1"))) == [
        "Await(DURABLE)", "StartClient",
    ]  # fmt: skip
    half = len(answer) // 2
    assert names(play.feed(UpstreamChunk(answer[:half]))) == [f"SendClient({half})"]
    # The last piece waits until the response is durable.
    assert play.feed(UpstreamChunk(answer[half:])) == []
    play.clock = 9
    ended = play.feed(UpstreamEnded())
    assert names(ended) == [*SETTLED, "Await(DURABLE)", f"SendClient({len(answer) - half})", "Finish"]
    assert play.exchange.done
    assert play.feed(UpstreamChunk(b"late")) == []
    (request,), (response,) = play.payloads(ModelRequest), play.payloads(ModelResponse)
    assert (request.call, request.model, request.path, request.streaming) == (
        1,
        SONNET,
        "/anthropic/v1/messages",
        False,
    )
    assert request.request_sha256 == hashlib.sha256(body).hexdigest()
    assert (response.latency_ms, response.first_byte_ms) == (9, 7)
    assert response.response_sha256 == hashlib.sha256(answer).hexdigest()
    assert (response.cost_usd, response.cumulative_cost_usd) == (Usd(1050), Usd(1050))
    assert (response.provider_request_id, response.outcome) == ("req_1", Outcome.COMPLETE)
    assert play.stage.desk.state().in_flight == 0


def test_a_stream_passes_piece_by_piece_and_its_end_waits_for_the_record():
    play = Stage().play()
    play.post(messages_request(stream=True))
    play.reply(200, SSE, (b"Transfer-Encoding", b"chunked"))
    for event in messages_events():
        assert play.feed(UpstreamChunk(event)) == [SendClient(event)]
    assert names(play.feed(UpstreamEnded())) == [*SETTLED, "Await(DURABLE)", "Finish"]


def test_a_price_row_is_recorded_once():
    stage = Stage()
    for expected in (1, 0):
        play = stage.play()
        play.post(messages_request())
        play.reply(200, JSON)
        play.feed(UpstreamChunk(messages_json()))
        ended = names(play.feed(UpstreamEnded()))
        assert ended.count("Record(x-docket.price)") == expected


# ---- what is refused before anything is sent


def test_models_the_policy_does_not_allow():
    stage = Stage(Policy(models=ModelsPolicy(allow=("Claude-*",), deny=("*opus*",))))
    for model, reason in (("claude-opus-4-1", "models.deny"), ("gpt-4o", "models.allow")):
        play = stage.play()
        commands = play.post(messages_request(model=model))
        assert names(commands) == REFUSED
        (denied,) = play.payloads(ModelDenied)
        assert (denied.reason, denied.cap, denied.model, denied.status) == (Reason.MODEL_POLICY, None, model, 400)
        assert reason in denied.detail
    assert names(stage.play().post(messages_request())) == ADMITTED


@pytest.mark.parametrize("policy", [Policy(models=ModelsPolicy(deny=("x",))), usd("1")])
def test_a_body_that_cannot_be_read_is_refused_where_a_rule_needs_it(policy):
    stage = Stage(policy)
    for body, headers in ((b"nonsense", ()), (messages_request(), ("Content-Encoding: lzma",)), (b"{}", ())):
        play = stage.play()
        assert names(play.post(body, "/anthropic/v1/messages", *headers)) == REFUSED
        assert play.payloads(ModelDenied)[0].reason == Reason.BODY_UNREADABLE
    play = Stage().play()
    assert names(play.post(b"nonsense")) == ADMITTED
    assert play.payloads(ModelRequest)[0].model == "unknown"


@pytest.mark.parametrize(
    "policy",
    [Policy(models=ModelsPolicy(deny=("x",))), usd("1"), caps(max_tokens=10**6), caps(max_model_calls=9)],
)
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/anthropic/v1/messages", b'{"model":"claude-opus-4-1","model":"claude-sonnet-4-5","max_tokens":9}'),
        ("/anthropic/v1/messages", b'{"model":"claude-sonnet-4-5","max_tokens":90000,"max_tokens":9}'),
        ("/anthropic/v1/chat/completions", b'{"model":"gpt-4o","Model":"gpt-4.1","max_tokens":9}'),
        ("/anthropic/v1/responses", b'{"model":"gpt-4o","mode\\u006c":"gpt-4.1"}'),
    ],
)
def test_a_body_that_names_a_member_twice_is_refused_under_any_rule(policy, path, body):
    play = Stage(policy).play()
    commands = play.post(body, path)
    assert names(commands) == REFUSED
    (denied,) = play.payloads(ModelDenied)
    assert (denied.reason, denied.status) == (Reason.BODY_UNREADABLE, 400)
    assert 'the request names "' in json.loads(refusal_of(commands).body)["error"]["message"]
    assert names(Stage().play().post(body, path)) == ADMITTED


def test_compressed_requests_are_read_from_a_copy():
    import gzip

    body = gzip.compress(messages_request(model="claude-opus-4-1"), mtime=0)
    play = Stage(Policy(models=ModelsPolicy(deny=("*opus*",)))).play()
    assert names(play.post(body, "/anthropic/v1/messages", "Content-Encoding: gzip")) == REFUSED
    play = Stage().play()
    connect = play.post(body, "/anthropic/v1/messages", "Content-Encoding: gzip")[-1]
    assert connect.body == body


def test_a_model_without_a_price_under_a_dollar_cap():
    play = Stage(usd("1")).play()
    assert names(play.post(messages_request(model="claude-sonet-4-5"))) == REFUSED
    (denied,) = play.payloads(ModelDenied)
    assert denied.reason == Reason.UNKNOWN_MODEL
    words, _, near = denied.detail.partition("; models like it that have one: ")
    assert words == "no price is known for the model claude-sonet-4-5, and a dollar cap is set"
    assert "claude-sonnet-4-5" in near.split(", ")
    far = Stage(usd("1")).play()
    far.post(messages_request(model="zzz"))
    assert far.payloads(ModelDenied)[0].detail == "no price is known for the model zzz, and a dollar cap is set"
    assumed = Policy(caps=CapsPolicy(max_usd=Usd.parse("1")), budget=BudgetPolicy(unknown_models=UnknownModels.ASSUME))
    assert names(Stage(assumed).play().post(messages_request(model="new-model"))) == ADMITTED
    assert names(Stage(caps(max_tokens=10_000)).play().post(messages_request(model="new-model"))) == ADMITTED


def test_a_local_host_is_free_and_quota_mode_counts_no_dollars():
    from docket.rules.providers.registry import with_upstream

    local = {"ollama": with_upstream("ollama", "http://127.0.0.1:11434/v1")}
    quota = Policy(budget=BudgetPolicy(mode=BudgetMode.QUOTA), caps=CapsPolicy(max_tokens=10_000))
    for stage, path in (
        (Stage(usd("1"), providers=local), "/ollama/v1/chat/completions"),
        (Stage(quota, provider="openai"), "/openai/v1/chat/completions"),
    ):
        play = stage.play()
        assert names(play.post(b'{"model":"llama3","messages":[]}', path)) == ADMITTED
        play.reply(200, JSON)
        play.feed(UpstreamChunk(b'{"model":"llama3","usage":{"prompt_tokens":9,"completion_tokens":3}}'))
        play.feed(UpstreamEnded())
        (response,) = play.payloads(ModelResponse)
        assert (response.cost_usd, response.assumed_price, response.usage.input_tokens) == (Usd(0), False, 9)


def test_a_cap_that_leaves_no_room_ends_the_run():
    stage = Stage(caps(max_model_calls=0))
    play = stage.play()
    commands = play.post(messages_request())
    assert names(commands) == [
        "Record(model.denied)", "Record(cap.exceeded)", "Await(DURABLE)", "Refuse", "Finish", "Released", "Breach",
    ]  # fmt: skip
    assert isinstance(commands[-1], Breach)
    assert (commands[-1].cap, commands[-1].action) == (Reason.MAX_MODEL_CALLS, OnBreach.KILL)
    again = stage.play()
    assert names(again.post(messages_request())) == REFUSED
    assert again.payloads(ModelDenied)[0].cap == "max_model_calls"
    assert stage.desk.state().denied == 2
    assert stage.desk.state().breach == commands[-1]


def test_on_breach_deny_goes_on_refusing():
    stage = Stage(usd("0.0001", on_breach=OnBreach.DENY))
    commands = stage.play().post(messages_request(messages=[{"role": "user", "content": "x" * 4000}]))
    assert commands[-1].action is OnBreach.DENY
    assert stage.desk.closed is None
    assert names(stage.play().post(messages_request(messages=[]))) == ADMITTED


def test_unknown_endpoints():
    for policy, passes in (
        (usd("1"), False),
        (caps(max_tokens=5), False),
        (Policy(models=ModelsPolicy(deny=("x",))), False),
        (Policy(models=ModelsPolicy(allow=("x",))), False),
        (caps(per_model=(SubBudget(pattern="*opus*", max_usd=Usd.parse("1")),)), False),
        (caps(per_agent=(SubBudget(pattern="*", max_tokens=5),)), False),
        (Policy(budget=BudgetPolicy(pools=("team",))), False),
        (caps(max_model_calls=5), True),
        (caps(per_agent=(SubBudget(pattern="*", max_model_calls=5),)), True),
        (Policy(caps=CapsPolicy(max_tokens=5), budget=BudgetPolicy(unknown_endpoints=UnknownEndpoints.PASS)), True),
        (Policy(caps=CapsPolicy(max_tokens=5), budget=BudgetPolicy(pass_endpoints=("anthropic/v1/n*",))), True),
        (Policy(caps=CapsPolicy(max_tokens=5), budget=BudgetPolicy(pass_endpoints=("anthropic/v1/x*",))), False),
    ):
        play = Stage(policy).play()
        commands = play.head("/anthropic/v1/new?x=y")
        assert names(commands) == (["Connect"] if passes else REFUSED)


def test_unknown_providers():
    stage = Stage()
    assert names(stage.play().head("/nobody/v1/x")) == REFUSED
    assert refusal_of(stage.play().head("/nobody/v1/x")).head.status == 404
    assert names(stage.play().head("", "HEAD")) == ["Refuse", "Finish"]
    assert names(stage.play().head("/anthropic/v1/../x")) == REFUSED


def test_an_upgrade_is_answered_426():
    play = Stage().play()
    commands = play.head("/anthropic/v1/messages", "GET", "Connection: Upgrade", "Upgrade: websocket")
    assert names(commands) == ["Record(x-docket.other)", "Refuse", "Finish"]
    assert refusal_of(commands).head.status == 426
    assert (b"upgrade", b"HTTP/1.1") in refusal_of(commands).head.headers
    assert play.payloads(OtherExchange)[0].status == 426


def test_a_body_over_the_bound_is_refused(monkeypatch):
    monkeypatch.setattr("docket.rules.boundary.exchange._MAX_BODY_BYTES", 100)
    play = Stage().play()
    play.head("/anthropic/v1/messages")
    assert play.feed(BodyChunk(b"x" * 100)) == []
    commands = play.feed(BodyChunk(b"x"))
    assert names(commands) == REFUSED
    assert refusal_of(commands).head.status == 413


# ---- waiting


def test_a_call_waits_for_a_release_and_goes_then():
    stage = Stage(caps(max_model_calls=1))
    first, second = stage.play(), stage.play()
    first.post(messages_request())
    assert second.post(messages_request()) == []
    assert second.exchange.needs == Needs(release=True)
    assert second.exchange.deadline_ns == 2_000_000_000
    assert second.feed(Retry()) == []
    released = first.feed(UpstreamFailed(Reason.UPSTREAM_UNREACHABLE, "nobody there", sent=False))
    assert names(released) == ["Released", "Record(model.error)", "Await(DURABLE)", "Refuse", "Finish"]
    assert names(second.feed(Retry())) == ADMITTED
    assert second.exchange.deadline_ns is None
    assert second.feed(Retry()) == second.feed(Tick()) == []


def test_a_call_that_has_waited_long_enough_is_refused():
    stage = Stage(caps(max_model_calls=1, admission_wait_ms=50))
    stage.play().post(messages_request())
    play = stage.play()
    play.post(messages_request())
    assert play.exchange.deadline_ns == 50_000_000
    assert names(play.feed(Tick()))[-1] == "Breach"
    at_once = Stage(caps(max_model_calls=1, admission_wait_ms=0))
    at_once.play().post(messages_request())
    assert names(at_once.play().post(messages_request()))[-1] == "Breach"


def test_a_refusal_that_will_pass_asks_to_come_again():
    stage = Stage(usd("0.01", admission_wait_ms=0))
    stage.play().post(messages_request(max_tokens=64_000))
    play = stage.play()
    commands = play.post(messages_request(max_tokens=64_000))
    assert names(commands) == REFUSED
    answer = refusal_of(commands)
    assert (answer.head.status, dict(answer.head.headers)[b"retry-after"]) == (429, b"1")
    assert play.payloads(CapExceeded) == []
    assert stage.desk.state().breach is None


def test_a_client_that_leaves_while_it_waits_leaves_nothing():
    stage = Stage(caps(max_model_calls=1))
    stage.play().post(messages_request())
    play = stage.play()
    play.post(messages_request())
    assert names(play.feed(ClientGone())) == ["Reset"]
    assert stage.desk.state().in_flight == 1


def test_who_waits_is_refused_when_admission_is_closed():
    stage = Stage(caps(max_model_calls=1))
    stage.play().post(messages_request())
    play = stage.play()
    play.post(messages_request())
    stage.desk.close(Reason.RUN_ENDING, "the run is ending")
    stage.desk.close(Reason.MAX_USD, "later")
    assert names(play.feed(Retry())) == REFUSED
    assert play.payloads(ModelDenied)[0].reason == Reason.RUN_ENDING


# ---- how a call that was sent ends


def started(policy: Policy | None = None, *, stream: bool = True, status: int = 200, **members: object):
    play = Stage(policy).play()
    play.post(messages_request(stream=stream, **members))
    play.reply(status, SSE if stream else JSON, (b"Transfer-Encoding", b"chunked"))
    return play


def test_a_client_that_goes_is_billed_for_what_was_seen():
    play = started()
    for event in messages_events(texts=("four", "more"))[:3]:
        play.feed(UpstreamChunk(event))
    assert names(play.feed(ClientGone())) == ["CloseUpstream", *SETTLED, "Reset"]
    (response,) = play.payloads(ModelResponse)
    assert (response.outcome, response.usage_source) == (Outcome.CLIENT_GONE, UsageSource.ESTIMATED)
    # 100 in were reported at 3; four letters are one token at 15.
    assert response.cost_usd == Usd(315)


def test_a_client_that_goes_after_the_last_event_got_everything():
    play = started()
    for event in messages_events():
        play.feed(UpstreamChunk(event))
    play.feed(ClientGone())
    (response,) = play.payloads(ModelResponse)
    assert (response.outcome, response.usage_source) == (Outcome.COMPLETE, UsageSource.REPORTED)


def test_a_client_that_goes_before_any_reply_is_billed_for_its_input():
    play = Stage().play()
    body = messages_request()
    play.post(body)
    play.feed(ClientGone())
    (response,) = play.payloads(ModelResponse)
    assert (response.status, response.response_bytes) == (499, 0)
    assert response.usage.input_tokens == -(-len(body) // 4)
    assert response.usage.output_tokens == 0


def test_stopping_cuts_what_is_in_flight():
    play = started()
    play.feed(UpstreamChunk(messages_events()[0]))
    assert names(play.feed(Stopping())) == ["CloseUpstream", *SETTLED, "Reset"]
    assert play.payloads(ModelResponse)[0].outcome is Outcome.CUT


def test_a_broken_upstream_resets_the_client():
    play = started()
    play.feed(UpstreamChunk(messages_events()[0]))
    failed = play.feed(UpstreamFailed(Reason.UPSTREAM_BROKEN, "reset", sent=True))
    assert names(failed) == ["CloseUpstream", *SETTLED, "Reset"]
    assert play.payloads(ModelResponse)[0].outcome is Outcome.UPSTREAM_BROKEN


def test_a_request_that_was_sent_and_not_answered_keeps_its_hold():
    play = Stage(usd("1")).play()
    play.post(messages_request())
    held = play.stage.desk.account.firm.micros
    commands = play.feed(UpstreamFailed(Reason.UPSTREAM_BROKEN, "closed", sent=True))
    assert refusal_of(commands).head.status == 502
    assert play.payloads(ModelError)[0].status == 502
    assert play.stage.desk.account.unknown.micros == held > 0
    assert play.stage.desk.state().in_flight == 0


def test_a_request_that_was_never_sent_is_not_billed():
    play = Stage(usd("1")).play()
    play.post(messages_request())
    play.feed(UpstreamFailed(Reason.CLIENT_GONE, "gone before it was sent", sent=False))
    (error,) = play.payloads(ModelError)
    assert (error.reason, error.status) == (Reason.CLIENT_GONE, 499)
    account = play.stage.desk.account
    assert (account.spent.micros, account.unknown.micros, len(account.holds)) == (0, 0, 0)


def test_errors_are_passed_on_and_cost_nothing():
    for status, body in ((529, b'{"type":"error","error":{"type":"overloaded_error","message":"busy"}}'), (503, b"-")):
        play = started(stream=False, status=status)
        play.feed(UpstreamChunk(body))
        assert names(play.feed(UpstreamEnded())) == [
            "Released", "Record(model.error)", "Await(DURABLE)", "Finish",
        ]  # fmt: skip
        (error,) = play.payloads(ModelError)
        assert (error.status, error.reason) == (status, Reason.UPSTREAM_STATUS)
        assert error.error in ("busy", "the upstream answered 503")
        assert error.response_bytes == len(body)
        assert play.stage.desk.state().calls == 0


def test_an_error_status_that_reports_usage_is_billed():
    play = started(stream=False, status=400)
    play.feed(UpstreamChunk(messages_json()))
    play.feed(UpstreamEnded())
    assert play.payloads(ModelResponse)[0].cost_usd == Usd(1050)


def test_an_error_event_before_any_output_costs_nothing():
    play = started()
    error = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n'
    assert play.feed(UpstreamChunk(error)) == [SendClient(error)]
    play.feed(UpstreamEnded())
    (recorded,) = play.payloads(ModelError)
    assert (recorded.reason, recorded.error, recorded.status) == (Reason.UPSTREAM_ERROR_EVENT, "busy", 200)


def test_an_error_reply_that_breaks_off_says_so():
    play = started(stream=False, status=500)
    play.feed(UpstreamFailed(Reason.UPSTREAM_BROKEN, "reset by peer", sent=True))
    (error,) = play.payloads(ModelError)
    assert (error.reason, error.error, error.response_sha256) == (Reason.UPSTREAM_BROKEN, "reset by peer", None)


def test_a_stream_that_ends_with_its_connection_counts_as_whole_only_after_its_last_event():
    for count, end in ((None, "Finish"), (3, "Reset")):
        play = Stage().play()
        play.post(messages_request(stream=True))
        play.reply(200, SSE)
        for event in messages_events()[:count]:
            play.feed(UpstreamChunk(event))
        assert names(play.feed(UpstreamEnded()))[-1] == end


def test_a_stream_that_carries_the_run_across_is_cut():
    play = started(usd("0.02"), max_tokens=60_000)
    passed = 0
    for event in messages_events(10, 9999, texts=("w" * 2000,) * 10):
        commands = play.feed(UpstreamChunk(event))
        if names(commands) != [f"SendClient({len(event)})"]:
            break
        passed += b"www" in event
    # 500 tokens a piece at 15: 0.0075 dollars; the third one crosses two cents.
    assert passed == 2
    assert names(commands) == [
        "CloseUpstream", *SETTLED, "Record(cap.warning)", "Record(cap.exceeded)", "Await(DURABLE)", "Reset", "Breach",
    ]  # fmt: skip
    (response,) = play.payloads(ModelResponse)
    assert response.outcome is Outcome.CUT
    assert response.cost_usd == Usd(30 + 1500 * 15)


def test_a_cut_by_what_others_hold_names_the_cap_itself():
    stage = Stage(usd("0.05"))
    plays = [stage.play(), stage.play()]
    for play in plays:
        play.post(messages_request(stream=True, max_tokens=60_000))
        play.reply(200, SSE, (b"Transfer-Encoding", b"chunked"))
        play.feed(UpstreamChunk(messages_events(10)[0]))
    for piece in range(3):
        commands = plays[piece % 2].feed(UpstreamChunk(messages_events(texts=("w" * 6000,))[2]))
    assert "Record(cap.exceeded)" in names(commands)
    assert (
        plays[0].payloads(CapExceeded)[0].detail
        == "a running stream carried the run across the cap max_usd and was cut"
    )
    assert plays[0].payloads(ModelResponse)[0].cost_usd == Usd(30 + 3000 * 15)


def test_what_is_only_known_at_the_end_can_cross_and_then_ends_the_run():
    play = started(usd("0.001"), stream=False)
    play.feed(UpstreamChunk(messages_json()))
    ended = play.feed(UpstreamEnded())
    assert names(ended)[-2:] == ["Finish", "Breach"]
    assert play.payloads(CapExceeded)[0].used == "0.001050"
    assert play.stage.desk.budget().overshoot_usd == Usd(50)
    assert play.stage.desk.budget().bound_usd > Usd(50)


def test_the_input_estimate_is_learned():
    stage = Stage(usd("5"))
    body = messages_request(messages=[{"role": "user", "content": "x" * 4000}])
    play = stage.play()
    play.post(body)
    first = stage.desk.account.firm.tokens
    assert first == -(-len(body) // 4)
    play.reply(200, JSON)
    play.feed(UpstreamChunk(messages_json(2000, 1)))
    play.feed(UpstreamEnded())
    stage.play().post(body)
    assert stage.desk.account.firm.tokens == 2000


def test_strict_holds_everything_a_call_may_cost():
    policy = Policy(caps=CapsPolicy(max_usd=Usd.parse("1")), budget=BudgetPolicy(admission=Admission.STRICT))
    play = Stage(policy).play()
    body = messages_request(max_tokens=1000)
    play.post(body)
    # Every byte a token at the dearest input price (1 h cache writes, 6), 1000 out at 15, and the rounding of rows.
    assert play.stage.desk.account.held.micros == len(body) * 6 + 15_000 + 4
    assert play.payloads(ModelRequest)[0].held_usd == Usd(len(body) * 6 + 15_004)


# ---- a reply that came at once


def came_at_once(body: bytes, status: int = 200) -> UpstreamWhole:
    headers = ((b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)))
    head = ResponseHead(status=status, reason=b"", headers=headers)
    return UpstreamWhole(head, response_framing(head, "POST"), body)


def test_a_reply_that_came_at_once_waits_for_one_event():
    stage = Stage()
    play, piecemeal = stage.play(), Stage().play()
    play.post(messages_request(stream=False))
    piecemeal.post(messages_request(stream=False))
    assert play.exchange.takes_whole
    body = messages_json()
    commands = play.feed(came_at_once(body))
    assert names(commands) == [*SETTLED, "Await(DURABLE)", "StartClient", f"SendClient({len(body)})", "Finish"]
    whole = came_at_once(body)
    for event in (UpstreamHead(whole.head, whole.framing), UpstreamChunk(body), UpstreamEnded()):
        piecemeal.feed(event)
    assert play.payloads(ModelResponse) == piecemeal.payloads(ModelResponse)
    assert stage.desk.account == piecemeal.stage.desk.account


def test_an_empty_reply_that_came_at_once_has_no_first_byte():
    play = Stage().play()
    play.post(messages_request(stream=False))
    commands = play.feed(came_at_once(b"", status=529))
    assert names(commands)[-3:] == ["Await(DURABLE)", "StartClient", "Finish"]
    assert play.payloads(ModelError)[0].response_bytes == 0


def test_a_reply_that_may_be_cut_is_not_taken_at_once():
    play = Stage(usd("1")).play()
    play.post(messages_request(stream=True))
    assert not play.exchange.takes_whole
    assert not Stage().play().exchange.takes_whole


def test_a_reply_that_came_at_once_is_broken_off_where_it_cannot_be_recorded():
    play = Stage().play()
    play.post(messages_request(stream=False))
    play.feed(came_at_once(messages_json()))
    assert names(play.feed(EvidenceFailed("disk full"))) == ["CloseUpstream", "Released", "Reset"]
    assert play.stage.desk.state().in_flight == 0


# ---- when the record cannot be written


def test_a_call_whose_request_cannot_be_recorded_is_not_sent():
    play = Stage(usd("1")).play()
    play.post(messages_request())
    commands = play.feed(EvidenceFailed("disk full"))
    assert names(commands) == ["Released", "Refuse", "Finish"]
    assert b"disk full" in refusal_of(commands).body
    assert play.stage.desk.state().in_flight == 0
    assert names(play.stage.play().post(messages_request())) == REFUSED


def test_a_reply_whose_request_is_not_durable_does_not_pass():
    play = started()
    commands = play.feed(EvidenceFailed("disk full"))
    assert names(commands) == ["CloseUpstream", "Released", "Refuse", "Finish"]
    assert play.stage.desk.state().in_flight == 0


def test_the_end_of_a_reply_whose_response_is_not_durable_does_not_pass():
    play = started()
    for event in messages_events():
        play.feed(UpstreamChunk(event))
    assert names(play.feed(UpstreamEnded()))[-1] == "Finish"
    assert names(play.feed(EvidenceFailed("disk full"))) == ["CloseUpstream", "Released", "Reset"]


def test_a_refusal_is_given_even_if_it_cannot_be_recorded():
    play = Stage(caps(max_model_calls=0)).play()
    play.post(messages_request())
    assert names(play.feed(EvidenceFailed("disk full"))) == ["Released", "Refuse", "Finish"]
    assert names(play.feed(EvidenceFailed("disk full"))) == ["CloseUpstream", "Released", "Reset"]


def test_stray_events_do_nothing():
    play = Stage().play()
    play.head("/anthropic/v1/messages")
    assert play.feed(UpstreamEnded()) == play.feed(Retry()) == []
    play = Stage().play()
    play.post(messages_request())
    assert play.feed(StartClient) == []


# ---- usage that is asked for on the agent's behalf

CHAT = b'{"model":"gpt-4o","stream":true,"messages":[]}'
WORDS = b'data: {"model":"gpt-4o","choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n'
EXTRA = b'data: {"model":"gpt-4o","choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":100}}\n\n'
DONE = b"data: [DONE]\n\n"


def chat(body: bytes = CHAT, *headers: str, tolerates: bool = True):
    stage = Stage(provider="openai", tolerates_usage_injection=tolerates)
    play = stage.play()
    return play, play.post(body, "/openai/v1/chat/completions", *headers)[-1]


def test_the_extra_chunk_is_asked_for_and_taken_out_again():
    play, connect = chat()
    asked = b'{"stream_options":{"include_usage":true},' + CHAT[1:]
    assert connect.body == asked
    assert dict(connect.head.headers)[b"Content-Length"] == b"%d" % len(asked)
    (request,) = play.payloads(ModelRequest)
    assert request.request_sha256 == hashlib.sha256(CHAT).hexdigest()
    assert request.forwarded_sha256 == hashlib.sha256(asked).hexdigest()
    assert request.altered == ("stream_options.include_usage",)
    start = play.reply(200, SSE, (b"Content-Length", b"%d" % len(WORDS + EXTRA + DONE)))[-1]
    assert isinstance(start, StartClient)
    assert start.head.headers == (SSE,)
    assert start.framing.chunked
    assert play.feed(UpstreamChunk(WORDS[:9])) == []
    assert play.feed(UpstreamChunk(WORDS[9:] + EXTRA)) == [SendClient(WORDS)]
    assert play.feed(UpstreamChunk(DONE[:-1])) == []
    ended = play.feed(UpstreamEnded())
    assert SendClient(DONE[:-1]) in ended
    (response,) = play.payloads(ModelResponse)
    assert response.cost_usd == Usd(3500)
    assert response.response_sha256 == hashlib.sha256(WORDS + DONE[:-1]).hexdigest()
    assert response.response_bytes == len(WORDS + DONE) - 1


def test_a_reply_of_another_type_passes_as_it_is():
    play, _ = chat()
    body = b'{"error":{"message":"no"}}'
    play.reply(429, JSON, (b"Content-Length", b"%d" % len(body)))
    play.feed(UpstreamChunk(body))
    assert SendClient(body) in play.feed(UpstreamEnded())


def test_an_upstream_that_objects_to_the_question_is_asked_without_it():
    play, _ = chat()
    body = b'{"error":{"message":"Extra inputs are not permitted: stream_options"}}'
    assert play.reply(422, JSON, (b"Content-Length", b"%d" % len(body))) == []
    assert play.feed(UpstreamChunk(body)) == []
    again = play.feed(UpstreamEnded())
    assert names(again) == ["Record(note)", "Await(WRITTEN)", "Connect"]
    assert again[-1].body == CHAT
    assert names(play.reply(200, SSE))[-1] == "StartClient"
    assert play.feed(UpstreamChunk(WORDS)) == [SendClient(WORDS)]
    assert play.feed(UpstreamChunk(DONE)) == [SendClient(DONE)]
    play.feed(UpstreamEnded())
    assert play.payloads(ModelResponse)[0].usage_source is UsageSource.ESTIMATED
    later = play.stage.play()
    assert later.post(CHAT, "/openai/v1/chat/completions")[-1].body == CHAT


@pytest.mark.parametrize("size", [0, 30, 70_000])
def test_another_objection_is_passed_on(size):
    play, _ = chat()
    body = b"x" * size
    framing = () if size == 30 else ((b"Content-Length", b"%d" % size),)
    assert play.reply(400, JSON, *framing) == []
    commands = play.feed(UpstreamChunk(body)) if size else []
    assert names(commands) == (["Await(DURABLE)", "StartClient", "SendClient(70000)"] if size == 70_000 else [])
    commands += play.feed(UpstreamEnded())
    sent = b"".join(command.data for command in commands if isinstance(command, SendClient))
    assert sent == body
    assert names(commands)[-1] == "Finish"
    (error,) = play.payloads(ModelError)
    assert (error.status, error.response_bytes) == (400, size)


def test_an_agent_that_leaves_before_an_objection_is_heard():
    play, _ = chat()
    play.reply(400, JSON)
    play.feed(UpstreamChunk(b"{"))
    assert names(play.feed(ClientGone())) == ["CloseUpstream", "Released", "Record(model.error)", "Reset"]


def test_a_stream_that_ends_with_its_connection_is_stripped_too():
    play, _ = chat()
    play.reply(200, SSE)
    assert play.feed(UpstreamChunk(WORDS + EXTRA + DONE)) == [SendClient(WORDS + DONE)]
    assert names(play.feed(UpstreamEnded()))[-1] == "Finish"


@pytest.mark.parametrize(
    ("body", "headers", "tolerates"),
    [
        (CHAT, (), False),
        (CHAT.replace(b"true", b"false"), (), True),
        (CHAT[:-1] + b',"stream_options":{}}', (), True),
        (b"junk", ("Content-Encoding: gzip",), True),
    ],
)
def test_requests_that_stay_as_they_are(body, headers, tolerates):
    play, connect = chat(body, *headers, tolerates=tolerates)
    assert connect.body == body
    (request,) = play.payloads(ModelRequest)
    assert (request.altered, request.forwarded_sha256) == (None, None)


def test_a_background_call_waits_to_be_booked():
    stage = Stage(usd("5"), provider="openai")
    for status, kind in ((200, ModelResponse), (500, ModelError)):
        play = stage.play()
        play.post(b'{"model":"gpt-4o","input":"x","background":true}', "/openai/v1/responses")
        play.reply(status, JSON)
        play.feed(UpstreamChunk(b'{"id":"resp_1","object":"response","model":"gpt-4o","status":"queued"}'))
        play.feed(UpstreamEnded())
        (_ended,) = play.payloads(kind)
    assert stage.desk.state().spent == Usd(0)


def test_searches_belong_to_the_worst_case():
    held = []
    for tools in ([], [{"type": "web_search_20250305", "name": "web_search", "max_uses": 3}]):
        stage = Stage(usd("50"))
        stage.play().post(messages_request(tools=tools))
        held.append(stage.desk.account.worst.micros)
    # The whole context window at 6 dollars a million rather than the body, and three searches at a cent.
    assert held[1] - held[0] > 30_000


def test_rates_are_looked_up_again_when_too_many_are_remembered(monkeypatch):
    monkeypatch.setattr("docket.rules.boundary.billing._MAX_REMEMBERED", 2)
    stage = Stage(usd("50"))
    for model in (SONNET, "claude-opus-4-1", "claude-haiku-4-5", SONNET):
        assert names(stage.play().post(messages_request(model=model))) == ADMITTED


def test_a_very_long_body_is_priced_at_its_own_length():
    stage = Stage(usd("50"), provider="openai")
    body = json.dumps({"model": "gpt-4.1", "messages": [{"role": "user", "content": "x" * 3_000_000}]}).encode()
    assert names(stage.play().post(body, "/openai/v1/chat/completions")) == ADMITTED
    assert stage.desk.account.firm.tokens == -(-len(body) // 4)
