"""What an injected fault makes of a call: for the agent, for the bill, for the record, for the gates."""

import hashlib
from itertools import pairwise

import pytest

from boundary_rig.playbook import Stage, names
from boundary_rig.replies import messages_events, messages_json, messages_request
from docket.formats.amount import Usd
from docket.formats.ledger.model_events import ModelError, ModelRequest, ModelResponse, Outcome
from docket.formats.ledger.resilience_events import BreakerChange, FaultInjected
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import CapsPolicy, ResiliencePolicy
from docket.rules.boundary.breaker import Breaker
from docket.rules.boundary.drilled import DrilledExchange, exchange_under
from docket.rules.boundary.exchange import Exchange
from docket.rules.boundary.http1 import Framing
from docket.rules.boundary.protocol import (
    ClientGone,
    Connect,
    EvidenceFailed,
    Finish,
    Refuse,
    Released,
    Reset,
    Retry,
    SendClient,
    StartClient,
    Stopping,
    Tick,
    UpstreamChunk,
    UpstreamEnded,
    UpstreamFailed,
)
from docket.rules.drills.faults import parse_faults

BODY = messages_request()
CAPPED = Policy(caps=CapsPolicy(max_usd=Usd.parse("1.00")))
JSON = ((b"content-type", b"application/json"),)
STREAM = ((b"content-type", b"text/event-stream"), (b"transfer-encoding", b"chunked"))


def drill(faults, **stage):
    plan = parse_faults(faults, 3)
    stage.setdefault("policy", CAPPED)
    return Stage(stage.pop("policy"), faults=plan, **stage)


def sent(commands):
    return b"".join(item.data for item in commands if isinstance(item, SendClient))


def answered(play, body, *, chunks=1):
    """Feed a JSON reply in so many pieces; return what came out."""
    out = play.reply(200, *JSON, (b"content-length", str(len(body)).encode()))
    size = -(-len(body) // chunks)
    for at in range(0, len(body), size):
        out += play.feed(UpstreamChunk(body[at : at + size]))
    return out + play.feed(UpstreamEnded())


def streamed(play, events):
    out = play.reply(200, *STREAM)
    for data in events:
        out += play.feed(UpstreamChunk(data))
    return out + play.feed(UpstreamEnded())


def settled(stage):
    return not stage.desk.account.holds


def test_a_run_without_faults_has_plain_exchanges():
    stage = Stage()
    assert type(exchange_under(stage.terms, stage.shared)) is Exchange
    stage = drill("drop")
    assert type(exchange_under(stage.terms, stage.shared)) is DrilledExchange


def test_a_call_that_no_rule_fits_goes_as_ever():
    play = drill("drop@calls=2").play()
    assert names(play.post(BODY)) == ["Record(model.request)", "Await(WRITTEN)", "Connect"]
    body = messages_json()
    assert sent(answered(play, body)) == body
    assert play.payloads(FaultInjected) == []


def test_what_is_not_billed_has_no_faults():
    play = drill("drop").play()
    assert "Connect" in names(play.head("/anthropic/v1/models", "GET"))


@pytest.mark.parametrize(("retry_after", "value"), [("", None), (",retry_after=9", b"9")])
def test_a_status_comes_from_nobody_and_costs_nothing(retry_after, value):
    stage = drill(f"status=529@calls=1{retry_after}", gates=(Breaker(ResiliencePolicy(breaker_threshold=1)),))
    play = stage.play()
    commands = play.post(BODY)
    assert names(commands)[:3] == ["Record(model.request)", "Record(x-docket.fault)", "Await(WRITTEN)"]
    assert not any(isinstance(item, Connect) for item in commands)
    (start,) = [item for item in commands if isinstance(item, StartClient)]
    headers = dict(start.head.headers)
    assert (start.head.status, headers.get(b"retry-after")) == (529, value)
    assert not any(name.startswith(b"x-docket") or name == b"x-should-retry" for name in headers)
    assert b'"type":"error"' in sent(commands)
    assert b"this run is a drill" in sent(commands)
    assert play.exchange.done
    (error,) = play.payloads(ModelError)
    assert (error.status, error.reason, play.payloads(ModelResponse)) == (529, "upstream_status", [])
    assert [(event.call, event.kind, event.asked) for event in play.payloads(FaultInjected)] == [(1, "status", False)]
    assert [event.state for event in play.payloads(BreakerChange)] == ["open"]
    assert settled(stage)


def test_a_dropped_call_ends_without_an_answer():
    stage = drill("drop", gates=(Breaker(ResiliencePolicy(breaker_threshold=1)),))
    play = stage.play()
    commands = play.post(BODY)
    assert commands[-1] == Reset()
    assert not any(isinstance(item, Connect | Refuse | Finish) for item in commands)
    assert [error.reason for error in play.payloads(ModelError)] == ["injected_fault"]
    assert [event.state for event in play.payloads(BreakerChange)] == ["open"]
    assert play.exchange.done
    assert settled(stage)
    assert play.feed(ClientGone()) == []


def test_a_delayed_call_is_sent_once_its_time_has_come():
    play = drill("delay=2").play()
    assert not any(isinstance(item, Connect) for item in play.post(BODY))
    assert (play.exchange.needs.release, play.exchange.deadline_ns) == (True, 2_000_000_000)
    assert play.feed(Retry()) == []
    play.clock = 2000
    (connect,) = play.feed(Tick())
    assert isinstance(connect, Connect)
    assert play.exchange.needs.upstream
    body = messages_json()
    assert sent(answered(play, body)) == body
    assert len(play.payloads(ModelResponse)) == 1


@pytest.mark.parametrize("fault", ["delay=2", "hang=9"])
@pytest.mark.parametrize("event", [ClientGone(), Stopping()])
def test_whoever_leaves_meanwhile_is_billed_nothing(fault, event):
    stage = drill(fault)
    play = stage.play()
    play.post(BODY)
    assert play.feed(event)[-1] == Reset()
    assert [error.reason for error in play.payloads(ModelError)] == ["injected_fault"]
    assert (play.exchange.done, settled(stage), play.payloads(ModelResponse)) == (True, True, [])


def test_a_hanging_call_breaks_off_in_the_end():
    play = drill("hang=9").play()
    play.post(BODY)
    play.clock = 9000
    assert play.feed(Tick())[-1] == Reset()
    assert play.exchange.done


def test_a_record_that_fails_meanwhile_ends_the_call_as_it_does_any_other():
    stage = drill("delay=2")
    play = stage.play()
    play.post(BODY)
    assert any(isinstance(item, Refuse) for item in play.feed(EvidenceFailed("full")))
    assert (play.exchange.done, settled(stage)) == (True, True)
    dropped = drill("drop").play()
    dropped.post(BODY)
    assert any(isinstance(item, Refuse | Reset) for item in dropped.feed(EvidenceFailed("full")))


def test_a_slow_reply_comes_in_pieces_at_its_rate_and_is_whole():
    stage = drill("slow=50")
    play = stage.play()
    play.post(BODY)
    body = messages_json()
    out = play.reply(200, *JSON, (b"content-length", str(len(body)).encode()))
    play.feed(UpstreamChunk(body))
    assert not play.exchange.needs.upstream
    instants = []
    while play.exchange.needs.release:
        instants.append(play.exchange.deadline_ns)
        play.clock = play.exchange.deadline_ns // 1_000_000
        out += play.feed(Tick())
    # Five bytes every tenth of a second.
    assert all(later - earlier == 100_000_000 for earlier, later in pairwise(instants[:-1]))
    assert len(instants) == -(-len(body) // 5)
    out += play.feed(UpstreamEnded())
    assert sent(out) == body
    assert [event.outcome for event in play.payloads(ModelResponse)] == [Outcome.COMPLETE]


def test_an_agent_that_loses_patience_with_a_slow_reply_pays_for_what_was_seen():
    stage = drill("slow=50")
    play = stage.play()
    play.post(BODY)
    play.reply(200, *STREAM)
    play.feed(UpstreamChunk(b"".join(messages_events()[:2])))
    play.clock = 100
    play.feed(Tick())
    play.feed(ClientGone())
    assert [event.outcome for event in play.payloads(ModelResponse)] == [Outcome.CLIENT_GONE]
    assert settled(stage)


def test_an_upstream_that_fails_during_a_drill_is_told_as_its_own_failure():
    play = drill("slow=50").play()
    play.post(BODY)
    play.feed(UpstreamFailed(Reason.UPSTREAM_UNREACHABLE, "refused", sent=False))
    assert [error.reason for error in play.payloads(ModelError)] == ["upstream_unreachable"]


@pytest.mark.parametrize("bytes_", [0, 10, 10_000])
def test_a_truncated_reply_looks_whole_and_is_billed_whole(bytes_):
    play = drill(f"truncate={bytes_}").play()
    play.post(BODY)
    body = messages_json()
    out = answered(play, body, chunks=3)
    (start,) = [item for item in out if isinstance(item, StartClient)]
    assert start.framing == Framing(chunked=True)
    assert b"content-length" not in dict(start.head.headers)
    assert (sent(out), out[-1]) == (body[:bytes_], Finish())
    (response,) = play.payloads(ModelResponse)
    assert (response.usage.input_tokens, response.usage.output_tokens) == (100, 50)
    shown = body[:bytes_]
    assert (response.response_bytes, response.response_sha256) == (len(shown), hashlib.sha256(shown).hexdigest())


@pytest.mark.parametrize("every", [1, 7, 10_000])
def test_a_corrupted_reply_has_one_byte_changed_in_each_block_however_it_is_cut(every):
    body = messages_json()
    seen = set()
    for chunks in (1, 2, 9):
        play = drill(f"corrupt={every}").play()
        play.post(BODY)
        out = answered(play, body, chunks=chunks)
        seen.add(sent(out))
        (response,) = play.payloads(ModelResponse)
        assert response.usage.output_tokens == 50
        assert response.response_sha256 == hashlib.sha256(sent(out)).hexdigest()
    (shown,) = seen
    assert len(shown) == len(body)
    blocks = [
        sum(a != b for a, b in zip(body[at : at + every], shown[at : at + every], strict=True))
        for at in range(0, len(body), every)
    ]
    assert all(changed == 1 for changed in blocks[:-1])
    assert blocks[-1] <= 1


def test_a_reset_lets_so_many_bytes_leave_and_then_breaks():
    stage = drill("reset=20", gates=(Breaker(ResiliencePolicy(breaker_threshold=1)),))
    play = stage.play()
    play.post(BODY)
    out = play.reply(200, *STREAM)
    out += play.feed(UpstreamChunk(b"".join(messages_events())))
    assert len(sent(out)) == 20
    assert play.exchange.needs.release
    play.clock = 50
    commands = play.feed(Tick())
    assert commands[-1] == Reset()
    (response,) = play.payloads(ModelResponse)
    assert (response.outcome, response.response_bytes) == (Outcome.UPSTREAM_BROKEN, 20)
    assert response.usage.input_tokens == 100
    assert [event.state for event in play.payloads(BreakerChange)] == ["open"]
    assert (play.exchange.done, settled(stage)) == (True, True)


def test_a_reset_behind_the_head_alone():
    play = drill("reset=0").play()
    play.post(BODY)
    out = play.reply(200, *STREAM)
    assert any(isinstance(item, StartClient) for item in out)
    play.clock = 50
    assert play.feed(Tick())[-1] == Reset()


def test_a_reply_that_ends_at_once_is_reset_at_its_end():
    play = drill("reset=20").play()
    play.post(BODY)
    out = answered(play, messages_json())
    assert (len(sent(out)), out[-1]) == (20, Reset())
    assert [event.outcome for event in play.payloads(ModelResponse)] == [Outcome.COMPLETE]


def test_a_reply_shorter_than_the_reset_is_whole():
    play = drill("reset=100000").play()
    play.post(BODY)
    body = messages_json()
    out = answered(play, body)
    assert (sent(out), out[-1]) == (body, Finish())


def test_an_agent_that_leaves_before_the_reset_is_settled_from_what_was_seen():
    stage = drill("reset=5")
    play = stage.play()
    play.post(BODY)
    play.reply(200, *STREAM)
    play.feed(UpstreamChunk(messages_events()[0]))
    play.feed(ClientGone())
    assert [event.outcome for event in play.payloads(ModelResponse)] == [Outcome.CLIENT_GONE]
    assert settled(stage)


def test_an_error_of_the_upstreams_own_is_recorded_as_the_agent_got_it():
    play = drill("truncate=4").play()
    play.post(BODY)
    body = b'{"type":"error","error":{"type":"api_error","message":"no"}}'
    play.reply(500, *JSON, (b"content-length", str(len(body)).encode()))
    play.feed(UpstreamChunk(body))
    play.feed(UpstreamEnded())
    (error,) = play.payloads(ModelError)
    assert (error.response_bytes, error.response_sha256) == (4, hashlib.sha256(body[:4]).hexdigest())
    nothing = drill("truncate=0").play()
    nothing.post(BODY)
    nothing.reply(500, *JSON, (b"content-length", str(len(body)).encode()))
    nothing.feed(UpstreamChunk(body))
    nothing.feed(UpstreamEnded())
    (error,) = nothing.payloads(ModelError)
    assert (error.response_bytes, error.response_sha256) == (0, None)


def test_releases_and_numbers_are_those_of_a_real_call():
    stage = drill("drop@calls=1")
    first, second = stage.play(), stage.play()
    assert Released() in first.post(BODY)
    second.post(BODY)
    assert [event.call for event in second.payloads(ModelRequest)] == [2]
