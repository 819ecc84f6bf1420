"""The cache against a model of it: for any sequence of calls, a hit comes exactly when an equal whole reply is kept."""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from boundary_rig.playbook import Stage
from boundary_rig.replies import messages_json, messages_request
from docket.formats.digest import Digest
from docket.formats.ledger.cache_events import CacheHit
from docket.formats.ledger.model_events import ModelResponse
from docket.formats.run.policy import Policy
from docket.formats.run.policy_modes import CachePolicy
from docket.rules.boundary.cache import ResponseCache
from docket.rules.boundary.protocol import ClientGone, Record, Refuse, UpstreamChunk, UpstreamEnded

SECRET = b"a secret of the run"
TTL_MS = 1000


@dataclass(frozen=True)
class Step:
    """One call: which question, who asks, what comes of it, and how many milliseconds later."""

    question: int
    user: str
    end: str
    size: int
    after_ms: int


STEPS = st.lists(
    st.builds(
        Step,
        question=st.integers(0, 3),
        user=st.sampled_from(["one", "two"]),
        end=st.sampled_from(["whole", "whole", "whole", "error", "gone", "created"]),
        size=st.sampled_from([1, 100, 5000]),
        after_ms=st.sampled_from([0, 1, 400, 1001]),
    ),
    max_size=30,
)


class Model:
    """What the cache should hold: question and asker to (instant, size), the least recently used first."""

    def __init__(self, policy: CachePolicy) -> None:
        self.policy = policy
        self.kept: OrderedDict[tuple[int, str], tuple[int, int]] = OrderedDict()
        self.hits = 0

    def asked(self, key: tuple[int, str], now_ms: int) -> bool:
        if key in self.kept and now_ms - self.kept[key][0] >= TTL_MS:
            del self.kept[key]
        if key not in self.kept or self.hits == self.policy.max_hits:
            return False
        self.hits += 1
        self.kept.move_to_end(key)
        return True

    def answered(self, key: tuple[int, str], now_ms: int, size: int) -> bool:
        if size > self.policy.max_response_bytes:
            return False
        self.kept.pop(key, None)
        self.kept[key] = (now_ms, size)
        while len(self.kept) > self.policy.max_entries or sum(one for _, one in self.kept.values()) > 6000:
            self.kept.popitem(last=False)
        return True


def reply_of(step: Step, number: int) -> bytes:
    body = json.loads(messages_json())
    body["content"] = [{"type": "text", "text": f"{number}" + "x" * step.size}]
    return json.dumps(body).encode()


@settings(max_examples=150, deadline=None)
@given(steps=STEPS)
def test_a_hit_comes_exactly_when_an_equal_whole_reply_is_kept(steps: list[Step]) -> None:
    policy = CachePolicy(
        enabled=True, ttl_seconds=Decimal(1), max_entries=3, max_hits=5, max_bytes=6000, max_response_bytes=3000
    )
    stage = Stage(Policy(cache=policy))
    cache = ResponseCache(policy, SECRET, stage.desk)
    stage.shared.gates, stage.shared.cache = (cache,), cache
    model, now_ms, seq = Model(policy), 0, 0
    last: dict[tuple[int, str], bytes] = {}
    for number, step in enumerate(steps):
        now_ms += step.after_ms
        key = (step.question, step.user)
        play = stage.play()
        play.clock = now_ms
        commands = play.post(
            messages_request(temperature=step.question), "/anthropic/v1/messages", f"x-api-key: {step.user}"
        )
        hits = play.payloads(CacheHit)
        assert bool(hits) is model.asked(key, now_ms)
        if hits:
            (answer,) = [command for command in commands if isinstance(command, Refuse)]
            assert answer.body == last[key]
            assert cache.hits == model.hits
            continue
        body = reply_of(step, number)
        status = {"error": 529, "created": 201}.get(step.end, 200)
        play.reply(status, (b"Content-Type", b"application/json"), (b"Content-Length", b"%d" % len(body)))
        play.feed(UpstreamChunk(body))
        play.feed(ClientGone() if step.end == "gone" else UpstreamEnded())
        for command in play.all:
            if isinstance(command, Record) and isinstance(command.payload, ModelResponse):
                seq += 1
                assert command.placed is not None
                place = (seq, Digest(f"{seq:064x}"))
                command.placed.look = lambda place=place: place  # type: ignore[misc]
                mark = command.payload.cache
                assert mark is not None
                whole = step.end == "whole"
                assert mark.stored is (whole and len(body) <= policy.max_response_bytes)
        if step.end == "whole" and model.answered(key, now_ms, len(body)):
            last[key] = body
