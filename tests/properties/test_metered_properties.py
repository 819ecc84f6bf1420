"""Under `metered`, whatever providers report and caches do: nothing lies beyond cap and bound; cheap calls go on."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from boundary_rig.playbook import Play, Stage
from boundary_rig.replies import messages_events, messages_json, messages_request
from docket.formats.amount import Usd
from docket.formats.ledger.model_events import ModelDenied, ModelResponse
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import CapsPolicy, OnBreach
from docket.formats.run.usage import UsageSource
from docket.rules.boundary.protocol import ClientGone, Retry, Tick, UpstreamChunk, UpstreamEnded, UpstreamFailed

# Micro-dollars a token: fresh 3, read 0.30, written 3.75 and 6, output 15; four rows are rounded by half each.
DEAREST_INPUT, OUTPUT, ROUNDING = 6, 15, 4


def under(cap_micros: int) -> Stage:
    return Stage(Policy(caps=CapsPolicy(max_usd=Usd(cap_micros), on_breach=OnBreach.DENY)))


def conversation(size_bytes: int, **members: object) -> bytes:
    """Return a request whose body is a multiple of four bytes long."""
    body = messages_request(messages=[{"role": "user", "content": "x" * size_bytes}], **members)
    return body + b" " * (-len(body) % 4)


@dataclass(slots=True)
class Provider:
    """Answers calls in any order and takes down, call by call, the most that could come of those in flight."""

    stage: Stage
    cap_micros: int
    most: dict[int, int] = field(default_factory=dict)
    calls: list[tuple[Play, bytes, int, bool]] = field(default_factory=list)
    bound_micros: int = 0
    unanswered: set[int] = field(default_factory=set)

    def ask(self, size_bytes: int, max_tokens: int, *, streaming: bool) -> None:
        body = conversation(size_bytes, max_tokens=max_tokens, stream=streaming)
        play = self.stage.play()
        self.calls.append((play, body, max_tokens, streaming))
        play.post(body)
        self.take_down()

    def take_down(self) -> None:
        for at, (play, body, max_tokens, _) in enumerate(self.calls):
            if at not in self.most and play.exchange.needs.upstream:
                self.most[at] = len(body) * DEAREST_INPUT + max_tokens * OUTPUT + ROUNDING
                in_flight = sum(self.most[one] for one in self.most if not self.calls[one][0].exchange.done)
                left = self.cap_micros - self.stage.desk.account.used.micros
                self.bound_micros = max(self.bound_micros, in_flight + self.doubt_micros() - left)

    def doubt_micros(self) -> int:
        """Return what ended calls may have been billed beyond what counts: those whose end nobody saw."""
        doubt = -self.stage.desk.account.unknown.micros
        for at, (play, _, _, streaming) in enumerate(self.calls):
            if at in self.unanswered:
                doubt += self.most[at]
            elif not streaming:
                seen = [one for one in play.payloads(ModelResponse) if one.usage_source is not UsageSource.REPORTED]
                doubt += sum(self.most[at] - one.cost_usd.micros for one in seen)
        return doubt

    def answer(self, play: Play, usage: dict[str, object], output: int, *, streaming: bool, whole: bool) -> None:
        fresh = int(str(usage.pop("input_tokens")))
        if not streaming:
            play.reply(200, (b"Content-Type", b"application/json"))
            pieces = [messages_json(fresh, output, **usage)]
        else:
            play.reply(200, (b"Content-Type", b"text/event-stream"))
            pieces = messages_events(fresh, output, texts=("w" * (output // 2), "w" * (output - output // 2)))
            start = json.loads(pieces[0].partition(b"data: ")[2])
            start["message"]["usage"].update(usage)
            pieces[0] = b"event: message_start\ndata: %s\n\n" % json.dumps(start).encode()
        for piece in pieces if whole else pieces[:-2]:
            play.feed(UpstreamChunk(piece))
        play.feed(UpstreamEnded() if whole else UpstreamFailed(Reason.UPSTREAM_BROKEN, "x", sent=True))

    def release(self) -> None:
        for play, *_ in self.calls:
            play.feed(Retry())
            self.take_down()


@st.composite
def usages(draw, tokens: int) -> dict[str, object]:
    """Return a usage of `tokens` in all: any share of them read from the cache, written for minutes or for an hour."""
    total = draw(st.integers(0, tokens))
    cuts = sorted(draw(st.lists(st.integers(0, total), min_size=3, max_size=3)))
    read, short, long = cuts[0], cuts[1] - cuts[0], cuts[2] - cuts[1]
    return {
        "input_tokens": total - cuts[2],
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": short + long,
        "cache_creation": {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long},
    }


STEPS = st.sampled_from(["ask", "ask", "answer", "answer", "break", "gone", "unanswered", "tick"])


@given(st.data(), st.integers(0, 60_000), st.lists(STEPS, max_size=25))
def test_nothing_is_spent_beyond_the_cap_and_the_bound(data, cap_micros, steps):
    stage = under(cap_micros)
    provider = Provider(stage, cap_micros)
    for step in steps:
        running = [call for call in provider.calls if call[0].exchange.needs.upstream]
        if step == "ask":
            provider.ask(
                data.draw(st.integers(0, 3000)), data.draw(st.integers(1, 400)), streaming=data.draw(st.booleans())
            )
        elif step == "tick":
            for play, *_ in provider.calls:
                if play.exchange.needs.release:
                    play.feed(Tick())
                    provider.take_down()
        elif running:
            play, body, max_tokens, streaming = data.draw(st.sampled_from(running))
            if step in ("answer", "break"):
                usage = data.draw(usages(len(body)))
                output = data.draw(st.integers(1, max_tokens))
                provider.answer(play, usage, output, streaming=streaming, whole=step == "answer")
            elif step == "gone":
                play.feed(ClientGone())
            else:
                sent = data.draw(st.booleans())
                play.feed(UpstreamFailed(Reason.UPSTREAM_BROKEN, "x", sent=sent))
                if sent:
                    provider.unanswered.add(next(at for at, call in enumerate(provider.calls) if call[0] is play))
            provider.release()
        budget = stage.desk.budget()
        spent = sum(one.cost_usd.micros for play, *_ in provider.calls for one in play.payloads(ModelResponse))
        assert budget.spent_usd == Usd(spent)
        assert spent <= cap_micros + budget.bound_usd.micros
        # The stated bound is no more than what could have happened at some admission, and no less.
        assert budget.bound_usd.micros == provider.bound_micros


@given(
    st.integers(200, 8000),
    st.lists(st.tuples(st.integers(0, 400), st.integers(1, 30), st.booleans()), min_size=1, max_size=30),
    st.integers(0, 40_000),
)
def test_a_growing_conversation_goes_on_until_its_next_call_does_not_fit(start, turns, cap_micros):
    stage, size, kept = under(cap_micros), start, 0
    for growth, output, streaming in turns:
        size += growth
        body = conversation(size, stream=streaming)
        tokens = len(body) // 4
        play = stage.play()
        play.post(body)
        spent = stage.desk.state().spent.micros
        if play.payloads(ModelDenied):
            # Read at 0.30, the growth at 3: what is refused does not fit, but for what rounding up can add.
            assert 10 * (spent + 4) + 3 * kept + 30 * (tokens - kept) > 10 * cap_micros
            break
        # What went before is read from the cache, what is new is written to it.
        usage = {"input_tokens": 0, "cache_read_input_tokens": kept, "cache_creation_input_tokens": tokens - kept}
        Provider(stage, cap_micros).answer(play, usage, output, streaming=streaming, whole=True)
        kept = tokens
    assert stage.desk.budget().overshoot_usd <= stage.desk.budget().bound_usd
