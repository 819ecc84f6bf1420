"""The response cache over real sockets: the same bytes again, an event that names their origin, and nothing paid."""

from __future__ import annotations

import gzip
import hashlib
import json
import socket
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from boundary_rig.raw_upstream import RawRequest, RawUpstream, chunk, chunked_head, hard_close, whole
from boundary_rig.replies import SONNET, event, messages_events, messages_json, messages_request
from boundary_rig.rig import TOKEN, boundary
from docket.formats.amount import Usd
from docket.formats.run.policy import Policy
from docket.formats.run.policy_modes import CachePolicy
from docket.formats.run.policy_spending import CapsPolicy

Handler = Callable[[RawRequest, socket.socket], bool]
STREAM = messages_request(stream=True)
EVENTS = b"".join(messages_events())


def cached(**members: Any) -> Policy:
    return Policy(cache=CachePolicy(enabled=True, **members))


def answering(*replies: bytes) -> Handler:
    """The replies in turn, the last one for good."""
    left = list(replies)

    def handler(_request: RawRequest, sock: socket.socket) -> bool:
        sock.sendall(left.pop(0) if len(left) > 1 else left[0])
        return True

    return handler


def streamed(body: bytes = EVENTS, extra: str = "") -> bytes:
    return (
        chunked_head(extra=extra) + b"".join(chunk(body[at : at + 40]) for at in range(0, len(body), 40)) + b"0\r\n\r\n"
    )


def test_the_same_call_again_gets_the_same_bytes_and_costs_nothing(tmp_path: Path) -> None:
    reply = whole(messages_json(), extra="request-id: req_1\r\nDate: yesterday\r\nSet-Cookie: a=b\r\n")
    with RawUpstream(answering(reply)) as upstream, boundary(tmp_path, upstream.url, policy=cached()) as rig:
        first = rig.post(messages_request())
        again = rig.post(messages_request())
        assert len(upstream.requests) == 1
        (response,) = rig.events("model.response")
        (hit,) = rig.events("model.cache_hit")
        budget = rig.data("x-docket.budget")[0]
    assert (first[0], first[2]) == (again[0], again[2]) == (200, messages_json())
    assert (first[1]["x-docket-cache"], again[1]["x-docket-cache"]) == (None, "hit")
    assert again[1]["content-type"] == "application/json"
    assert (again[1]["request-id"], again[1]["date"], again[1]["set-cookie"]) == ("req_1", None, None)
    assert response.data["cache"] == {"key": hit.data["key"], "stored": True}
    assert hit.data["origin"] == {"seq": response.seq, "hash": response.hash}
    assert hit.data["usage"] == response.data["usage"]
    assert (hit.data["model"], hit.data["avoided_cost_usd"], hit.data["status"]) == (SONNET, "0.001050", 200)
    assert hit.data["request_sha256"] == hashlib.sha256(messages_request()).hexdigest()
    assert hit.data["response_sha256"] == hashlib.sha256(messages_json()).hexdigest()
    assert (budget["spent_usd"], rig.end.state.calls) == ("0.001050", 1)


def test_a_stream_is_given_again_with_its_type_and_its_coding(tmp_path: Path) -> None:
    packed = gzip.compress(EVENTS)
    reply = streamed(packed, "Content-Encoding: gzip\r\n")
    with RawUpstream(answering(reply)) as upstream, boundary(tmp_path, upstream.url, policy=cached()) as rig:
        got = [rig.post(STREAM, headers={"Accept-Encoding": "gzip"}) for _ in range(3)]
        assert len(upstream.requests) == 1
        assert len(rig.events("model.cache_hit")) == 2
    assert {body for _, _, body in got} == {packed}
    assert [headers["content-encoding"] for _, headers, _ in got] == ["gzip"] * 3
    assert [headers["content-type"] for _, headers, _ in got] == ["text/event-stream"] * 3


def changed(**members: Any) -> bytes:
    return messages_request(**members)


@pytest.mark.parametrize(
    ("body", "path", "headers"),
    [
        (changed(temperature=0), "/anthropic/v1/messages", {}),
        (changed() + b" ", "/anthropic/v1/messages", {}),
        (changed(), "/anthropic/v1/messages?beta=true", {}),
        (changed(), "/anthropic/v1/messages", {"x-api-key": "another"}),
        (changed(), "/anthropic/v1/messages", {"anthropic-beta": "context-1m"}),
        (changed(), "/anthropic/v1/messages", {"accept": "text/event-stream"}),
        (changed(), "/anthropic/v1/messages", {"x-unheard-of": "1"}),
    ],
)
def test_whatever_the_provider_could_tell_apart_is_another_call(
    body: bytes, path: str, headers: dict[str, str], tmp_path: Path
) -> None:
    with (
        RawUpstream(answering(whole(messages_json()))) as upstream,
        boundary(tmp_path, upstream.url, policy=cached()) as rig,
    ):
        rig.post(changed())
        rig.post(body, path, headers)
        assert len(upstream.requests) == 2
        assert rig.events("model.cache_hit") == []


def test_what_changes_from_one_attempt_to_the_next_is_no_other_call(tmp_path: Path) -> None:
    def asked(stamp: str, user: str) -> bytes:
        line = {"type": "text", "text": f"x-anthropic-billing-header: cc_version=1; cch={stamp};"}
        return messages_request(system=[line, {"type": "text", "text": "be brief"}], metadata={"user_id": user})

    plain = asked("a1b2c", '{"session_id":"one"}')
    with (
        RawUpstream(answering(whole(messages_json()))) as upstream,
        boundary(tmp_path, upstream.url, policy=cached()) as rig,
    ):
        rig.post(plain, headers={"x-stainless-retry-count": "0", "traceparent": "00-1", "X-Client-Request-Id": "1"})
        rig.post(asked("ffff0", "another"), headers={"x-stainless-retry-count": "1", "traceparent": "00-2"})
        rig.post(zlib.compress(plain), headers={"Content-Encoding": "deflate"})
        assert len(upstream.requests) == 1
        assert len(rig.events("model.cache_hit")) == 2


def test_a_text_of_the_conversation_that_looks_like_the_billing_line_counts(tmp_path: Path) -> None:
    def asked(stamp: str) -> bytes:
        return messages_request(messages=[{"role": "user", "content": f"x-anthropic-billing-header: {stamp}"}])

    with (
        RawUpstream(answering(whole(messages_json()))) as upstream,
        boundary(tmp_path, upstream.url, policy=cached()) as rig,
    ):
        rig.post(asked("one"))
        rig.post(asked("two"))
        assert len(upstream.requests) == 2


ERROR_EVENT = b"".join(
    [*messages_events()[:3], event("error", {"type": "error", "error": {"type": "overloaded_error", "message": "no"}})]
)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (whole(messages_json(), status="201 Created"), "status"),
        (whole(messages_json(), status="206 Partial Content"), "status"),
        (streamed(ERROR_EVENT), "error-event"),
        (streamed(b"".join(messages_events()[:-1])), "not-whole"),
        (whole(messages_json(), extra="Cache-Control: private, No-Store\r\n"), "no-store"),
        (whole(messages_json() + b" " * 3000), "too-large"),
    ],
)
def test_what_is_not_whole_and_good_is_never_given_again(reply: bytes, reason: str, tmp_path: Path) -> None:
    policy = cached(max_response_bytes=2000)
    with RawUpstream(answering(reply)) as upstream, boundary(tmp_path, upstream.url, policy=policy) as rig:
        for _ in range(2):
            with suppress(ConnectionResetError):  # a stream without its end is passed on as broken
                rig.post(STREAM)
        assert len(upstream.requests) == 2
        marks = [data["cache"] for data in rig.data("model.response")]
        assert rig.events("model.cache_hit") == []
    assert [(mark["stored"], mark["reason"]) for mark in marks] == [(False, reason)] * 2


@pytest.mark.parametrize("status", ["428 Required", "429 Too Many", "431 Too Large", "511 Network", "500 Oops"])
def test_an_error_status_is_never_given_again(status: str, tmp_path: Path) -> None:
    failed = whole(b'{"type":"error","error":{"type":"x","message":"no"}}', status=status)
    with (
        RawUpstream(answering(failed, failed, whole(messages_json()))) as upstream,
        boundary(tmp_path, upstream.url, policy=cached()) as rig,
    ):
        got = [rig.post(messages_request())[0] for _ in range(4)]
        assert len(upstream.requests) == 3
    number = int(status.split(maxsplit=1)[0])
    assert got == [number, number, 200, 200]


def test_a_reply_that_breaks_off_is_never_given_again(tmp_path: Path) -> None:
    def breaking(_request: RawRequest, sock: socket.socket) -> bool:
        sock.sendall(chunked_head() + chunk(EVENTS))
        hard_close(sock)
        return False

    with RawUpstream(breaking) as upstream, boundary(tmp_path, upstream.url, policy=cached()) as rig:
        for _ in range(2):
            with pytest.raises(Exception):  # noqa: B017, PT011 - how a broken stream shows is the client's affair
                rig.post(STREAM)
        assert len(upstream.requests) == 2
        assert rig.events("model.cache_hit") == []


def test_an_agent_that_went_away_leaves_nothing_to_give_again(tmp_path: Path) -> None:
    def slow(_request: RawRequest, sock: socket.socket) -> bool:
        sock.sendall(chunked_head() + chunk(EVENTS))
        while sock.recv(4096):
            pass
        return False

    with RawUpstream(slow) as upstream, boundary(tmp_path, upstream.url, policy=cached()) as rig:
        with rig.raw() as sock:
            line = f"POST /{TOKEN}/anthropic/v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            sock.sendall(f"{line}Content-Length: {len(STREAM)}\r\n\r\n".encode() + STREAM)
            got = b""
            while b"message_stop" not in got:
                got += sock.recv(65536)
        upstream.wait_for(1)
        (mark,) = [data["cache"] for data in rig.data("model.response")]
    assert (mark["stored"], mark["reason"]) == (False, "not-whole")


@pytest.mark.parametrize(
    ("name", "path", "body"),
    [
        ("anthropic", "/anthropic/v1/messages", {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}),
        ("anthropic", "/anthropic/v1/messages", {"mcp_servers": [{"type": "url", "url": "https://x.example"}]}),
        ("openai", "/openai/v1/responses", {"model": "gpt-5", "input": "hi"}),
        ("openai", "/openai/v1/responses", {"model": "gpt-5", "input": "hi", "store": False, "background": True}),
        (
            "openai",
            "/openai/v1/responses",
            {"model": "gpt-5", "input": "hi", "store": False, "previous_response_id": "r"},
        ),
        ("openai", "/openai/v1/chat/completions", {"model": "gpt-5", "messages": [], "store": True}),
    ],
)
def test_a_call_whose_answer_depends_on_more_than_itself_is_not_repeated(
    name: str, path: str, body: dict[str, Any], tmp_path: Path
) -> None:
    asked = json.dumps(body).encode() if name == "openai" else messages_request(**body)
    with (
        RawUpstream(answering(whole(messages_json()))) as upstream,
        boundary(tmp_path, upstream.url, policy=cached(), name=name) as rig,
    ):
        for _ in range(2):
            assert rig.post(asked, path)[0] == 200
        assert len(upstream.requests) == 2
        marks = [data["cache"] for data in rig.data("model.response")]
    assert marks == [{"stored": False, "reason": "not-repeatable"}] * 2


def test_past_the_ceiling_of_hits_calls_are_sent_again(tmp_path: Path) -> None:
    with (
        RawUpstream(answering(whole(messages_json()))) as upstream,
        boundary(tmp_path, upstream.url, policy=cached(max_hits=2)) as rig,
    ):
        for _ in range(5):
            rig.post(messages_request())
        assert len(upstream.requests) == 3
        assert len(rig.events("model.cache_hit")) == 2
        (note,) = rig.data("note")
    assert (note["code"], note["event"]) == ("cache-ceiling", "cache.hits_ceiling_reached")


def test_the_least_used_reply_leaves_first(tmp_path: Path) -> None:
    with (
        RawUpstream(answering(whole(messages_json()))) as upstream,
        boundary(tmp_path, upstream.url, policy=cached(max_entries=2)) as rig,
    ):
        for temperature in (0, 1, 0, 2, 0, 1):  # 2 drives 1 out, for 0 was asked again
            rig.post(messages_request(temperature=temperature))
        sent = [json.loads(request.body)["temperature"] for request in upstream.requests]
    assert sent == [0, 1, 2, 1]


def test_a_reply_of_several_components_has_hits_of_its_own_type(tmp_path: Path) -> None:
    usage = {"cache_creation_input_tokens": 1000, "cache_read_input_tokens": 10}
    reply = whole(messages_json(**usage))
    with RawUpstream(answering(reply)) as upstream, boundary(tmp_path, upstream.url, policy=cached()) as rig:
        for _ in range(2):
            rig.post(messages_request())
        (response,) = rig.data("model.response")
        (hit,) = rig.data("x-docket.cache-hit")
        assert rig.events("model.cache_hit") == []
    assert len(response["components"]) == 2
    # 100 x 3 + 10 x 0.30 + 1000 x 3.75 + 50 x 15, in micro-dollars
    assert hit["avoided_cost_usd"] == response["cost_usd"] == "0.004803"


def test_a_hit_needs_no_room_under_a_cap_and_none_is_given_once_it_is_reached(tmp_path: Path) -> None:
    policy = Policy(cache=CachePolicy(enabled=True), caps=CapsPolicy(max_usd=Usd(3000)))
    with (
        RawUpstream(answering(whole(messages_json(input_tokens=900, output_tokens=10)))) as upstream,
        boundary(tmp_path, upstream.url, policy=policy) as rig,
    ):
        for _ in range(30):
            assert rig.post(messages_request())[0] == 200
        assert len(upstream.requests) == 1
        while rig.post(messages_request(temperature=len(upstream.requests)))[0] == 200:
            pass
        assert rig.post(messages_request())[0] == 400


def test_without_the_policy_nothing_is_kept(tmp_path: Path) -> None:
    with RawUpstream(answering(whole(messages_json()))) as upstream, boundary(tmp_path, upstream.url) as rig:
        for _ in range(2):
            rig.post(messages_request())
        assert len(upstream.requests) == 2
        assert all("cache" not in data for data in rig.data("model.response"))
