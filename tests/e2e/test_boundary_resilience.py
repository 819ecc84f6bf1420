"""Pacing, breakers, loops and drills over real sockets."""

import contextlib
import hashlib
import http.client
import threading
from decimal import Decimal

import pytest

from boundary_rig.raw_upstream import RawUpstream
from boundary_rig.replies import messages_events, messages_json, messages_request
from boundary_rig.rig import TOKEN, boundary
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import CapsPolicy, OnBreach, ResiliencePolicy
from docket.rules.drills.faults import parse_faults


def json_reply(body, status=b"200 OK"):
    def handler(request, sock):
        sock.sendall(
            b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % (status, len(body))
        )
        sock.sendall(body)
        return True

    return handler


def stream_reply(request, sock):
    body = b"".join(messages_events())
    sock.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
    sock.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
    return True


def at_once(number, work):
    """Do the same in so many threads; return what each came to."""
    results, barrier = [], threading.Barrier(number)

    def do():
        barrier.wait()
        results.append(work())

    threads = [threading.Thread(target=do) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_many_calls_at_once_get_exactly_the_budget_of_the_window(tmp_path):
    policy = Policy(resilience=ResiliencePolicy(max_calls_per_minute=5, max_pace_wait_seconds=0))
    with RawUpstream(json_reply(messages_json())) as upstream, boundary(tmp_path, upstream.url, policy=policy) as rig:
        replies = at_once(12, lambda: rig.post(messages_request())[:2])
        assert sorted(status for status, _ in replies) == [200] * 5 + [429] * 7
        waits = {int(headers["retry-after"]) for status, headers in replies if status == 429}
        assert waits <= {59, 60}
        assert len(upstream.requests) == 5
    assert [event["reason"] for event in rig.data("model.denied")] == ["rate_limited"] * 7


def test_a_call_that_waits_its_turn_is_answered_and_the_wait_recorded(tmp_path):
    policy = Policy(resilience=ResiliencePolicy(max_calls_per_second=Decimal(10)))
    with RawUpstream(json_reply(messages_json())) as upstream, boundary(tmp_path, upstream.url, policy=policy) as rig:
        statuses = at_once(15, lambda: rig.post(messages_request())[0])
        assert statuses == [200] * 15
    waited = rig.data("x-docket.paced")
    assert len(waited) == 5
    assert all(event["waited_ms"] >= 800 for event in waited)


def test_a_failing_upstream_is_left_alone_and_tried_again(tmp_path):
    policy = Policy(resilience=ResiliencePolicy(
        breaker_threshold=2, breaker_cooldown_seconds=1, breaker_max_cooldown_seconds=1
    ))  # fmt: skip
    failing = threading.Event()
    failing.set()

    def handler(request, sock):
        if failing.is_set():
            return json_reply(b"{}", b"529 Overloaded")(request, sock)
        return json_reply(messages_json())(request, sock)

    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url, policy=policy) as rig:
        assert [rig.post(messages_request())[0] for _ in range(2)] == [529, 529]
        status, headers, body = rig.post(messages_request())
        assert (status, headers["retry-after"]) == (503, "1")
        assert b"it is tried again in 1 s" in body
        assert len(upstream.requests) == 2
        failing.clear()
        # Whoever comes back when it was told to is let through.
        threading.Event().wait(1.05)
        assert rig.post(messages_request())[0] == 200
    assert [event["state"] for event in rig.data("x-docket.breaker")] == ["open", "half_open", "closed"]


def test_an_upstream_that_is_not_there_opens_the_breaker(tmp_path):
    with RawUpstream(json_reply(b"")) as upstream:
        gone = upstream.url
    policy = Policy(resilience=ResiliencePolicy(breaker_threshold=3))
    with boundary(tmp_path, gone, policy=policy) as rig:
        assert [rig.post(messages_request())[0] for _ in range(4)] == [502, 502, 502, 503]


def test_a_loop_ends_where_the_policy_says(tmp_path):
    policy = Policy(caps=CapsPolicy(max_repeats=1, on_breach=OnBreach.KILL))
    with RawUpstream(json_reply(messages_json())) as upstream, boundary(tmp_path, upstream.url, policy=policy) as rig:
        bodies = [messages_request(metadata={"user_id": str(number)}) for number in range(3)]
        assert [rig.post(body)[0] for body in bodies] == [200, 200, 400]
        assert len(upstream.requests) == 2
    assert [breach.cap for breach in rig.breaches] == ["max_repeats"]


def read_until_broken(reply):
    """Return what came, and whether the connection broke rather than ended."""
    seen = b""
    try:
        while piece := reply.read1(10_000):
            seen += piece
    except (ConnectionError, http.client.HTTPException):
        return seen, True
    return seen, False


def drilled(tmp_path, upstream, faults):
    return boundary(tmp_path, upstream.url, faults=parse_faults(faults, 1))


def test_an_injected_status_never_asks_the_upstream(tmp_path):
    with RawUpstream(json_reply(messages_json())) as upstream:
        with drilled(tmp_path, upstream, "status=429@calls=1,retry_after=7") as rig:
            status, headers, _ = rig.post(messages_request())
            assert (status, headers["retry-after"]) == (429, "7")
            assert rig.post(messages_request())[0] == 200
            assert len(upstream.requests) == 1
        assert [event["call"] for event in rig.data("x-docket.fault")] == [1]


@pytest.mark.parametrize("faults", ["drop@calls=1", "hang=0.2@calls=1"])
def test_no_answer_is_a_broken_connection(tmp_path, faults):
    with RawUpstream(json_reply(messages_json())) as upstream, drilled(tmp_path, upstream, faults) as rig:
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            rig.post(messages_request())
        assert rig.post(messages_request())[0] == 200
        assert len(upstream.requests) == 1


def test_an_agent_that_gives_up_a_hanging_call_ends_it(tmp_path):
    with RawUpstream(json_reply(messages_json())) as upstream, drilled(tmp_path, upstream, "hang@calls=1") as rig:
        connection = rig.connect()
        connection.timeout = 0.3
        connection.connect()
        connection.request("POST", f"/{TOKEN}/anthropic/v1/messages", messages_request())
        with contextlib.closing(connection), pytest.raises(TimeoutError):
            connection.getresponse()
        assert rig.post(messages_request())[0] == 200
    assert [event["reason"] for event in rig.data("model.error")] == ["injected_fault"]


def test_a_stream_breaks_after_exactly_so_many_bytes(tmp_path):
    with RawUpstream(stream_reply) as upstream, drilled(tmp_path, upstream, "reset=100@calls=1") as rig:
        connection = rig.connect()
        connection.request("POST", f"/{TOKEN}/anthropic/v1/messages", messages_request(stream=True))
        reply = connection.getresponse()
        assert reply.status == 200
        with contextlib.closing(connection):
            seen, broke = read_until_broken(reply)
        assert broke
        assert seen == b"".join(messages_events())[:100]
        assert rig.post(messages_request(stream=True))[2] == b"".join(messages_events())


@pytest.mark.parametrize("faults", ["truncate=100@calls=1", "corrupt=50@calls=1", "slow=4000@calls=1"])
def test_a_reply_that_is_changed_on_its_way_is_billed_as_it_came(tmp_path, faults):
    whole = b"".join(messages_events())
    with RawUpstream(stream_reply) as upstream, drilled(tmp_path, upstream, faults) as rig:
        status, _, body = rig.post(messages_request(stream=True))
        assert status == 200
        if faults.startswith("truncate"):
            assert body == whole[:100]
        elif faults.startswith("corrupt"):
            assert len(body) == len(whole)
            assert body != whole
        else:
            assert body == whole
    (response,) = rig.data("model.response")
    assert response["usage"]["output_tokens"] == 50
    assert (response["usage_source"], response["outcome"]) == ("reported", "complete")
    assert (response["response_bytes"], response["response_sha256"]) == (len(body), hashlib.sha256(body).hexdigest())
