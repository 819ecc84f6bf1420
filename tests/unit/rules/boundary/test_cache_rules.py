"""The cache and the copies of replies, event by event."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import Any

import pytest

from boundary_rig.playbook import Play, Stage, names
from boundary_rig.replies import messages_events, messages_json, messages_request
from docket.formats.digest import Digest
from docket.formats.ledger.cache_events import CacheHit, CacheMark
from docket.formats.ledger.model_events import ModelResponse
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_modes import CachePolicy
from docket.rules.boundary import cache_key as keys
from docket.rules.boundary.access import Entered
from docket.rules.boundary.cache import ResponseCache
from docket.rules.boundary.cache_key import cache_key
from docket.rules.boundary.http1 import RequestHead
from docket.rules.boundary.keeping import ReplyCopy, ReplyEnd
from docket.rules.boundary.protocol import EvidenceFailed, Record, Refuse, Stopping, UpstreamChunk, UpstreamEnded
from docket.rules.boundary.weighed import Weighed
from docket.rules.providers.interface import Reading
from docket.rules.providers.registry import provider

JSON = (b"Content-Type", b"application/json")
SECRET = b"of the run"


def stage_with(retain_bytes: int | None = None, **members: Any) -> tuple[Stage, ResponseCache]:
    policy = CachePolicy(enabled=True, **members)
    stage = Stage(Policy(cache=policy))
    cache = ResponseCache(policy, SECRET, stage.desk)
    stage.shared.gates, stage.shared.cache, stage.shared.retain_bytes = (cache,), cache, retain_bytes
    return stage, cache


def answered(stage: Stage, at_ms: int = 0, *, durable: bool = True) -> Play:
    """One call that is sent and answered whole."""
    play = stage.play()
    play.clock = at_ms
    play.post(messages_request())
    body = messages_json()
    play.reply(200, JSON, (b"Content-Length", b"%d" % len(body)))
    play.feed(UpstreamChunk(body))
    play.feed(UpstreamEnded())
    if durable:
        record_of(play).placed.look = lambda: (7, Digest("ab" * 32))
    return play


def record_of(play: Play) -> Any:
    (found,) = [item for item in play.all if isinstance(item, Record) and isinstance(item.payload, ModelResponse)]
    return found


def asked(stage: Stage, at_ms: int) -> Play:
    play = stage.play()
    play.clock = at_ms
    play.post(messages_request())
    return play


def test_a_hit_is_recorded_durably_before_its_bytes_pass() -> None:
    stage, _ = stage_with()
    answered(stage)
    play = asked(stage, 5)
    assert names(play.all) == ["Record(model.cache_hit)", "Await(DURABLE)", "Refuse", "Finish"]
    assert play.exchange.done
    (hit,) = play.payloads(CacheHit)
    assert (hit.origin.seq, hit.origin.hash, hit.age_ms) == (7, "ab" * 32, 5)
    assert stage.desk.state().admitted == 1


def test_a_reply_whose_event_is_not_durable_yet_is_not_given_again() -> None:
    stage, _ = stage_with()
    answered(stage, durable=False)
    assert asked(stage, 1).payloads(CacheHit) == []


@pytest.mark.parametrize(("ttl", "at_ms", "is_hit"), [("1", 999, True), ("1", 1000, False), ("0", 10**9, True)])
def test_a_reply_lives_as_long_as_the_policy_says(ttl: str, at_ms: int, is_hit: bool) -> None:
    stage, _ = stage_with(ttl_seconds=Decimal(ttl))
    answered(stage)
    assert bool(asked(stage, at_ms).payloads(CacheHit)) is is_hit


def test_a_hit_that_cannot_be_recorded_is_refused() -> None:
    stage, _ = stage_with()
    answered(stage)
    play = asked(stage, 1)
    commands = play.feed(EvidenceFailed("no space"))
    (answer,) = [command for command in commands if isinstance(command, Refuse)]
    assert answer.head.status == 400


def test_nothing_is_answered_once_admission_is_closed() -> None:
    stage, _ = stage_with()
    answered(stage)
    stage.desk.close(Reason.RUN_ENDING, "the run is ending")
    assert "Record(model.denied)" in names(asked(stage, 1).all)


def test_the_bytes_kept_stay_within_the_policys() -> None:
    size = len(messages_json())
    stage, cache = stage_with(max_bytes=size - 1)
    answered(stage)
    assert cache.max_response_bytes == size - 1
    assert asked(stage, 1).payloads(CacheHit) == []


def test_a_message_on_a_socket_is_none_of_the_caches() -> None:
    stage, cache = stage_with()
    weighed = weighed_of(messages_request())
    weighed.on_socket = True
    assert names([]) == []
    assert type(cache.ask(weighed, 0)).__name__ == "Go"
    assert weighed.cache_key is None
    assert cache.withdrawn(weighed, 0) == cache.begun(weighed, 200, 0) == ()
    assert stage.desk.closed is None


def test_a_reply_to_a_lowered_limit_is_not_given_again() -> None:
    stage, _ = stage_with()
    weighed = weighed_of(messages_request())
    weighed.cache_key, weighed.lowered = "a" * 64, b"{}"
    copy = stage.shared.copy(weighed)
    assert copy is not None
    response = record_of(answered(Stage(), durable=False)).payload
    end = ReplyEnd(head=None, reading=Reading(), whole=True, at_ns=0)
    assert copy.settled(response, end).payload.cache == CacheMark(stored=False, reason="not-repeatable")


# ---- copies


def test_a_copy_is_of_what_the_agent_got_up_to_the_size_that_is_kept() -> None:
    for retain, wanted in ((10, messages_json()[:10]), (10**6, messages_json())):
        stage, _ = stage_with(retain)
        assert record_of(answered(stage)).body == wanted


def test_a_copy_takes_no_more_than_it_may_hold_however_the_bytes_come() -> None:
    copy = ReplyCopy(stores=None, store_bytes=0, retain_bytes=3)
    for piece in (b"ab", b"cd", b"ef"):
        copy.take(piece)
    response = record_of(answered(Stage(), durable=False)).payload
    end = ReplyEnd(head=None, reading=Reading(), whole=True, at_ns=0)
    assert copy.settled(response, end).body == b"abc"


def test_without_a_cache_a_copy_is_kept_and_nothing_is_said_of_a_cache() -> None:
    stage = Stage()
    stage.shared.retain_bytes = 5
    play = answered(stage, durable=False)
    assert record_of(play).body == messages_json()[:5]
    assert record_of(play).payload.cache is None


def test_what_was_cut_is_kept_as_far_as_it_passed() -> None:
    stage, _ = stage_with(10**6)
    play = stage.play()
    play.post(messages_request(stream=True))
    play.reply(200, (b"Content-Type", b"text/event-stream"), (b"Transfer-Encoding", b"chunked"))
    first, *_ = messages_events()
    play.feed(UpstreamChunk(first))
    play.feed(Stopping())
    assert record_of(play).body == first
    assert record_of(play).payload.response_sha256 == hashlib.sha256(first).hexdigest()
    assert record_of(play).payload.cache.reason == "not-whole"


# ---- keys


def weighed_of(body: bytes, *headers: tuple[bytes, bytes], method: str = "POST", name: str = "anthropic") -> Weighed:
    found = provider(name)
    rest = {"anthropic": "/v1/messages", "openai": "/v1/chat/completions"}[name]
    head = RequestHead(method=method, target=rest, headers=headers)
    wire = found.classify("POST", rest).wire
    assert wire is not None
    weighed = Weighed(provider=found, wire=wire, head=head, entered=Entered(name, rest))
    weighed.read(body)
    return weighed


def key_of(body: bytes, *headers: tuple[bytes, bytes], **others: Any) -> str | None:
    return cache_key(weighed_of(body, *headers, **others), SECRET)


def test_a_key_tells_nothing_without_the_runs_secret() -> None:
    body = messages_request()
    key = key_of(body)
    assert key is not None
    assert len(key) == 64
    assert key != cache_key(weighed_of(body), b"of another run")
    assert key != hashlib.sha256(body).hexdigest()


@pytest.mark.parametrize(
    "body", [b"not json", b"[1]", b'{"model":"a","model":"b"}', b'{"model":"a","Model":"b","messages":[]}']
)
def test_a_body_that_may_be_read_otherwise_has_no_key(body: bytes) -> None:
    assert key_of(body) is None


def test_what_cannot_be_decoded_or_is_no_post_has_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    assert key_of(messages_request(), (b"Content-Encoding", b"gzip")) is None
    assert key_of(messages_request(), method="PUT") is None
    monkeypatch.setattr(keys, "MAX_PARSED_BYTES", 10)
    assert key_of(messages_request()) is None


def test_headers_are_told_by_name_and_keep_their_order_within_one() -> None:
    body = messages_request()
    one, two = (b"anthropic-beta", b"a"), (b"Anthropic-Beta", b"b")
    assert key_of(body, one, (b"x-a", b"1")) == key_of(body, (b"X-A", b" 1 "), (b"anthropic-beta", b"a"))
    assert key_of(body, one, two) != key_of(body, two, one)
    assert key_of(body, one) != key_of(body)
    assert key_of(body, (b"a", b"bc")) != key_of(body, (b"ab", b"c"))


@pytest.mark.parametrize(
    "header",
    [
        b"Host", b"Content-Length", b"Traceparent", b"X-B3-TraceId", b"x-datadog-parent-id", b"Idempotency-Key",
        b"x-stainless-retry-count", b"Session_id", b"Connection", b"Keep-Alive",
    ],
)  # fmt: skip
def test_headers_that_name_an_attempt_do_not_count(header: bytes) -> None:
    body = messages_request()
    assert key_of(body, (header, b"1")) == key_of(body, (header, b"2")) == key_of(body)


def test_the_two_ways_to_write_a_text_are_cut_alike() -> None:
    def body(user: str, *, ascii_only: bool) -> bytes:
        return json.dumps(
            {"model": "m", "messages": [], "metadata": {"user_id": user}}, ensure_ascii=ascii_only
        ).encode()

    for ascii_only in (True, False):
        assert key_of(body("é1", ascii_only=ascii_only)) == key_of(body("é2", ascii_only=ascii_only))
    # A text that stands twice is not cut: the other one could be the conversation's.
    twice = [json.dumps({"model": name, "messages": [], "metadata": {"user_id": name}}).encode() for name in ("a", "b")]
    assert key_of(twice[0]) != key_of(twice[1])
    odd = b'{"model":"m","messages":[],"metadata":{"user_id":"\\u0061"}}'
    assert key_of(odd) not in (None, key_of(odd.replace(b"\\u0061", b"\\u0062")))


def test_other_names_of_a_person_or_a_thread_do_not_count() -> None:
    for member in ("user", "safety_identifier", "prompt_cache_key"):
        bodies = [json.dumps({"model": "m", "messages": [], member: value}).encode() for value in ("one", "two")]
        assert key_of(bodies[0], name="openai") == key_of(bodies[1], name="openai") is not None
    plain = [json.dumps({"model": "m", "messages": [], "user": value}).encode() for value in (1, 2)]
    assert key_of(plain[0], name="openai") != key_of(plain[1], name="openai")
