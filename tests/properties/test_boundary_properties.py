"""Whatever comes in whatever order: caps hold under strict, nothing stays open, cuts change nothing."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from boundary_rig.playbook import Stage
from boundary_rig.replies import messages_events, messages_json, messages_request
from docket.formats.amount import Usd
from docket.formats.ledger.model_events import ModelError, ModelRequest, ModelResponse
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import Admission, BudgetPolicy, CapsPolicy, OnBreach
from docket.rules.boundary.http1 import BodyReader, Framing, encode_chunk, head_end, parse_request
from docket.rules.boundary.protocol import (
    ClientGone,
    EvidenceFailed,
    Finish,
    Reset,
    Retry,
    Stopping,
    Tick,
    UpstreamChunk,
    UpstreamEnded,
    UpstreamFailed,
)
from docket.rules.spending.caps import Caps, Tally
from docket.rules.spending.reservation import Account, Admit, Claim

MICROS = st.integers(0, 300)


@st.composite
def claims(draw) -> Claim:
    likely, more = draw(MICROS), draw(MICROS)
    return Claim(
        likely=Tally(likely, likely, 1), worst=Tally(likely + more, likely + more, 1), hidden=draw(st.booleans())
    )


@given(
    st.sampled_from(list(Admission)),
    st.lists(
        st.tuples(st.sampled_from(["ask", "last", "settle", "part", "release", "keep", "show"]), claims(), MICROS),
        max_size=60,
    ),
)
def test_an_account_under_any_interleaving(admission, steps):
    caps = Caps(usd=Usd(1000), tokens=1000, calls=12)
    account, number, bound, doubt = Account(caps=caps, admission=admission), 0, 0, 0
    for step, claim, share in steps:
        if step in ("ask", "last"):
            decision = account.decide(claim, last=step == "last")
            if isinstance(decision, Admit):
                number += 1
                account = account.take(number, decision.hold)
        elif account.holds:
            call = min(account.holds)
            worst, hidden, kept = account.holds[call].worst, account.holds[call].hidden, account.unknown.micros
            # A provider never bills more than the worst case; how much it does bill is its business.
            cost = Tally(worst.micros * share // 300, worst.tokens * share // 300, 1)
            match step:
                case "settle" | "part":
                    account = account.settle(call, cost, whole=step == "settle")
                    if step == "part" and hidden and admission is not Admission.STRICT:
                        doubt += worst.micros - cost.micros
                case "release":
                    account = account.release(call)
                case "keep":
                    account = account.keep_unknown(call)
                    # All that it could have been billed, less what is kept of it.
                    doubt += worst.micros - (account.unknown.micros - kept)
                case "show":
                    account = account.advance(call, cost)
        bound = max(bound, account.used.micros + doubt + account.worst.micros - 1000)
        assert sum(hold.held.micros for hold in account.holds.values()) == account.held.micros
        assert sum(hold.firm.tokens for hold in account.holds.values()) == account.firm.tokens
        assert account.held.calls == len(account.holds)
        assert account.spent.calls + len(account.holds) <= 12
        if admission is Admission.STRICT:
            assert caps.crossed_by(account.spent) is None
            assert caps.crossed_by(account.used + account.held) is None or "show" in {name for name, _, _ in steps}
        assert account.overshoot_micros <= account.bound_micros
        assert account.used.micros + doubt <= 1000 + account.bound_micros
        assert account.bound_micros <= bound


EVENTS = st.sampled_from(["chunk", "chunk", "end", "fail", "unsent", "gone", "stop", "tick", "retry", "evidence"])


@given(
    st.sampled_from(list(Admission)),
    st.lists(st.tuples(st.integers(0, 5), EVENTS), max_size=80),
    st.sampled_from(["0.002", "0.02", "5"]),
)
def test_no_exchange_stays_open_and_every_request_has_its_end(admission, steps, cap):
    policy = Policy(
        caps=CapsPolicy(max_usd=Usd.parse(cap), on_breach=OnBreach.DENY), budget=BudgetPolicy(admission=admission)
    )
    stage = Stage(policy)
    plays = [stage.play() for _ in range(6)]
    pieces = messages_events(texts=("w" * 500,) * 6)
    queues = [list(pieces) for _ in plays]
    for play in plays:
        play.post(messages_request(stream=True, max_tokens=300))
    for index, kind in steps:
        play, queue = plays[index], queues[index]
        sent = play.exchange.needs.upstream
        if kind == "chunk" and sent and queue:
            if len(queue) == len(pieces):
                play.reply(200, (b"Content-Type", b"text/event-stream"), (b"Transfer-Encoding", b"chunked"))
            play.feed(UpstreamChunk(queue.pop(0)))
        elif kind == "end" and sent and len(queue) < len(pieces):
            play.feed(UpstreamEnded())
        elif kind in ("fail", "unsent") and sent:
            play.feed(UpstreamFailed(Reason.UPSTREAM_BROKEN, "x", sent=kind == "fail"))
        elif kind == "tick" and play.exchange.needs.release:
            play.feed(Tick())
        elif kind in ("gone", "stop", "retry", "evidence"):
            play.feed(
                {"gone": ClientGone(), "stop": Stopping(), "retry": Retry(), "evidence": EvidenceFailed("x")}[kind]
            )
    for play in plays:
        play.feed(Stopping())
        assert play.exchange.done
        ends = [item for item in play.all if isinstance(item, (Finish, Reset))]
        assert ends
        asked = len(play.payloads(ModelRequest))
        settled = len(play.payloads(ModelResponse)) + len(play.payloads(ModelError))
        assert settled <= asked <= 1
        if not any(kind == "evidence" for _, kind in steps):
            assert settled == asked
    assert stage.desk.state().in_flight == 0
    spent = sum(item.cost_usd.micros for play in plays for item in play.payloads(ModelResponse))
    if not any(kind == "evidence" for _, kind in steps):
        assert stage.desk.state().spent == Usd(spent)
    if admission is Admission.STRICT and cap == "0.02":
        assert stage.desk.budget().overshoot_usd == Usd(0)


@given(st.lists(st.integers(1, 40), max_size=60), st.booleans())
def test_how_a_reply_is_cut_changes_nothing(cuts, streaming):
    body = b"".join(messages_events(texts=("some", "words"))) if streaming else messages_json()
    play = Stage().play()
    play.post(messages_request(stream=streaming))
    kind = b"text/event-stream" if streaming else b"application/json"
    play.reply(200, (b"Content-Type", kind), (b"Content-Length", b"%d" % len(body)))
    at = 0
    for cut in cuts:
        if at < len(body):
            play.feed(UpstreamChunk(body[at : at + cut]))
            at += cut
    if at < len(body):
        play.feed(UpstreamChunk(body[at:]))
    play.feed(UpstreamEnded())
    (response,) = play.payloads(ModelResponse)
    assert response.response_sha256 == hashlib.sha256(body).hexdigest()
    assert response.cost_usd == Usd(1050)


@given(st.lists(st.binary(min_size=1, max_size=30), max_size=8), st.binary(max_size=20), st.data())
def test_chunked_bodies_read_alike_however_they_are_cut(parts, after, data):
    wire = b"".join(encode_chunk(part) for part in parts) + b"0\r\n\r\n" + after
    reader, content, at = BodyReader(Framing(chunked=True)), b"", 0
    while at < len(wire):
        step = data.draw(st.integers(1, 12))
        content += reader.feed(wire[at : at + step])
        at += step
    assert content == b"".join(parts)
    assert reader.ended
    assert reader.leftover == after


@given(st.binary(max_size=200))
def test_no_bytes_make_the_head_parser_fail_otherwise_than_by_refusing(junk):
    from docket.errors import InvalidDocumentError

    raw = b"GET / HTTP/1.1\r\n" + junk + b"\r\n\r\n"
    try:
        head = parse_request(raw[: head_end(raw)])
    except InvalidDocumentError as error:
        assert error.reason == Reason.MALFORMED_MESSAGE  # noqa: PT017 - either outcome is right
    else:
        assert all(b"\r" not in value and b"\n" not in value for _, value in head.headers)
