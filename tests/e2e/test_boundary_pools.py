"""Pools through a real boundary: real sockets, the real store on disk, several boundaries at once."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
import time

import pytest

from boundary_rig.raw_upstream import RawUpstream, chunk, chunked_head, whole
from boundary_rig.replies import messages_events, messages_json, messages_request
from boundary_rig.rig import boundary
from docket.engines.boundary import pool_line
from docket.engines.pools.entry import EntryRequest, PoolsWorld, enter
from docket.errors import UnavailableError
from docket.formats.amount import Usd
from docket.formats.ledger.spending_events import Budget, PoolUse
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import Admission, BudgetPolicy, CapsPolicy, OnBreach
from docket.formats.run.pool import Period, PoolLimits, day_of
from docket.host.clock import SystemClock
from docket.stores.pools import sqlite
from docket.stores.pools.sqlite import SqlitePools

# 100 tokens in at 3 and 50 out at 15.
CALL = 1050


@pytest.fixture
def pools(tmp_path):
    store = SqlitePools.open(tmp_path, create=True)

    def define(**limits: int) -> SqlitePools:
        store.define("team", PoolLimits(**{name: Usd(micros) for name, micros in limits.items()}))
        return store

    yield define
    store.close()


def policy(admission=Admission.METERED, *, wait_ms: int = 2000, **caps) -> Policy:
    return Policy(
        budget=BudgetPolicy(admission=admission, pools=("team",)), caps=CapsPolicy(admission_wait_ms=wait_ms, **caps)
    )


@contextlib.contextmanager
def pooled(tmp_path, upstream, name="a", **options):
    """A boundary of its own run on the pool."""
    folder = tmp_path / name
    folder.mkdir()
    asked = EntryRequest(
        names=("team",),
        session_id=name,
        docket_number="DKT-20260101-ABCDEF",
        ledger_path=folder / "ledger.jsonl",
    )
    world = PoolsWorld(
        open_store=lambda: SqlitePools.open(tmp_path), locks=tmp_path / "pools/runs", clock=SystemClock()
    )
    with enter(asked, world) as entry:
        options.setdefault("policy", policy())
        with boundary(folder, upstream.url, pools=entry, **options) as rig:
            yield rig


def balance(store):
    return store.balance("team", day_of(SystemClock().now()))


def ok(request, sock):
    sock.sendall(whole(messages_json()))
    return True


def test_what_a_run_takes_is_booked_and_what_it_holds_goes_back(tmp_path, pools):
    store = pools(daily_usd=1_000_000)
    with RawUpstream(ok) as upstream, pooled(tmp_path, upstream) as rig:
        assert [rig.post(messages_request())[0] for _ in range(3)] == [200] * 3
        (use,) = rig.data("x-docket.pool-use")
        assert rig.data("model.request")[0]["held_usd"] != "0.00"
    assert use["spent_usd"] == "0.003150"
    assert balance(store).taken[Period.DAILY].spent_micros == 3 * CALL
    assert balance(store).shares == ()


def test_the_call_that_a_pool_has_no_room_for_is_refused_and_ends_the_run(tmp_path, pools):
    store = pools(total_usd=2 * CALL)
    with RawUpstream(ok) as upstream, pooled(tmp_path, upstream) as rig:
        assert [rig.post(messages_request())[0] for _ in range(2)] == [200, 200]
        status, headers, body = rig.post(messages_request())
        (denied,), (exceeded,) = rig.data("model.denied"), rig.data("cap.exceeded")
    assert status == 400
    assert headers["x-should-retry"] == "false"
    message = json.loads(body)["error"]["message"]
    for part in ("total limit of the pool team, 0.002100 US dollars", "0.002100 used", "docket pools show team"):
        assert part in message
    assert (denied["reason"], denied["cap"]) == ("pool_total_usd", "pool_total_usd")
    assert (exceeded["scope"], exceeded["scope_name"], exceeded["limit"]) == ("pool", "team", "0.002100")
    assert [breach.cap for breach in rig.breaches] == [Reason.POOL_TOTAL]
    assert balance(store).taken[Period.TOTAL].spent_micros == 2 * CALL


def test_a_stream_that_would_take_more_than_the_pool_has_is_cut(tmp_path, pools):
    store = pools(total_usd=60_000)
    events = messages_events(10, 100_000, texts=("w" * 4000,) * 50)

    def stream(request, sock):
        sock.sendall(chunked_head())
        with contextlib.suppress(OSError):
            for piece in events:
                sock.sendall(chunk(piece))
                time.sleep(0.005)
        return False

    with RawUpstream(stream) as upstream, pooled(tmp_path, upstream) as rig:
        with pytest.raises(Exception):  # noqa: B017, PT011 - a reset, or what the client makes of it
            rig.post(messages_request(stream=True, max_tokens=120_000))
        (response,) = rig.data("model.response")
        (exceeded,) = rig.data("cap.exceeded")
        (use,) = rig.data("x-docket.pool-use")
    assert response["outcome"] == "cut"
    # 4000 characters are 1000 tokens, 15 000 micro-dollars: the fifth of fifty is too many.
    assert 60_000 < Usd.parse(response["cost_usd"]).micros < 300_000
    assert (exceeded["cap"], exceeded["scope"]) == ("pool_total_usd", "pool")
    assert Usd.parse(use["overshoot_usd"]) <= Usd.parse(use["bound_usd"])
    assert balance(store).taken[Period.TOTAL].spent_micros == Usd.parse(response["cost_usd"]).micros


def test_runs_side_by_side_take_no_more_than_there_is(tmp_path, pools):
    store = pools(daily_usd=20 * CALL)
    strict = policy(Admission.STRICT, on_breach=OnBreach.DENY)
    body = messages_request(max_tokens=50)
    answered = []

    def calls(rig):
        for _ in range(12):
            status = rig.post(body)[0]
            answered.append(status)
            if status == 400:
                return

    with RawUpstream(ok) as upstream, contextlib.ExitStack() as stack:
        rigs = [stack.enter_context(pooled(tmp_path, upstream, f"run{number}", policy=strict)) for number in range(3)]
        threads = [threading.Thread(target=calls, args=(rig,)) for rig in rigs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(upstream.requests) <= 20
    taken = balance(store).taken[Period.DAILY]
    assert taken.spent_micros == answered.count(200) * CALL == len(upstream.requests) * CALL
    # Each held its worst case, 1.4 times what it came to; what is left is less than one needs.
    assert 20 * CALL - taken.micros < len(body) * 6 + 50 * 15 + 4
    assert balance(store).held_micros == 0


def test_a_call_that_another_runs_call_keeps_out_waits_for_it(tmp_path, pools):
    pools(daily_usd=2000)
    strict, body = policy(Admission.STRICT, wait_ms=5000), messages_request(max_tokens=50)
    go_on = threading.Event()

    def held(request, sock):
        go_on.wait(20)
        sock.sendall(whole(messages_json(10, 5)))
        return True

    with (
        RawUpstream(held) as slow,
        RawUpstream(ok) as upstream,
        pooled(tmp_path, slow, "first", policy=strict) as first,
        pooled(tmp_path, upstream, "second", policy=strict) as second,
    ):
        statuses = []
        one = threading.Thread(target=lambda: statuses.append(first.post(body)[0]))
        one.start()
        slow.wait_for(1)
        two = threading.Thread(target=lambda: statuses.append(second.post(body)[0]))
        two.start()
        two.join(0.3)
        assert statuses == []
        go_on.set()
        one.join()
        two.join()
        assert statuses == [200, 200]


def test_a_call_that_waited_long_enough_is_refused_for_the_moment(tmp_path, pools):
    pools(daily_usd=2000)
    strict, body = policy(Admission.STRICT, wait_ms=0), messages_request(max_tokens=50)
    go_on = threading.Event()

    def held(request, sock):
        go_on.wait(20)
        return ok(request, sock)

    with RawUpstream(held) as upstream, pooled(tmp_path, upstream, "first", policy=strict) as first:
        one = threading.Thread(target=first.post, args=(body,))
        one.start()
        upstream.wait_for(1)
        with pooled(tmp_path, upstream, "second", policy=strict) as second:
            status, headers, _ = second.post(body)
            assert (status, headers["retry-after"]) == (429, "1")
            assert second.data("cap.exceeded") == []
        go_on.set()
        one.join()


def test_pools_that_cannot_be_asked_refuse_the_call_and_say_why(tmp_path, pools, monkeypatch):
    store = pools(daily_usd=10**6)
    monkeypatch.setattr(sqlite, "_BUSY_MS", 50)
    with RawUpstream(ok) as upstream, pooled(tmp_path, upstream) as rig:
        other = sqlite3.connect(tmp_path / "pools/pools.sqlite3", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        status, _, body = rig.post(messages_request())
        assert status == 429
        assert "the pool team cannot be asked" in json.loads(body)["error"]["message"]
        other.execute("ROLLBACK")
        other.close()
        assert rig.post(messages_request())[0] == 200
        store.release("team", "a")
        assert rig.post(messages_request(messages=[{"role": "user", "content": "x" * 400_000}]))[0] == 400
        assert {denied["reason"] for denied in rig.data("model.denied")} == {"pool_unavailable"}
        assert rig.data("cap.exceeded") == []
        (note,) = rig.data("note")
    assert note["code"] == "pool-not-settled"


def test_a_run_that_rests_gives_back_what_it_does_not_need(tmp_path, pools, monkeypatch):
    store = pools(daily_usd=10**7)
    monkeypatch.setattr(pool_line, "_REST_SECONDS", 0.05)
    with RawUpstream(ok) as upstream, pooled(tmp_path, upstream) as rig:
        assert rig.post(messages_request())[0] == 200
        deadline = time.monotonic() + 20
        while balance(store).held_micros and time.monotonic() < deadline:
            time.sleep(0.01)
        assert balance(store).held_micros == 0
        assert balance(store).taken[Period.DAILY].spent_micros == CALL
        assert rig.post(messages_request())[0] == 200
    assert balance(store).taken[Period.DAILY].spent_micros == 2 * CALL


def test_a_run_without_a_call_leaves_its_pool(tmp_path, pools):
    store = pools(daily_usd=10**6)
    with RawUpstream(ok) as upstream, pooled(tmp_path, upstream) as rig:
        assert len(balance(store).shares) == 1
        (use,) = rig.data("x-docket.pool-use")
    assert use["spent_usd"] == "0.00"
    assert balance(store).shares == ()


class Full:
    """A ledger that takes nothing of how pools were used."""

    def __init__(self, ledger):
        self._ledger = ledger

    def __getattr__(self, name):
        return getattr(self._ledger, name)

    def append(self, payload, **options):
        if isinstance(payload, Budget | PoolUse):
            raise UnavailableError(Reason.LEDGER_FULL, "it is full")
        return self._ledger.append(payload, **options)


def test_a_run_whose_ledger_is_full_leaves_its_pool_too(tmp_path, pools):
    store = pools(daily_usd=10**6)
    with RawUpstream(ok) as upstream, pooled(tmp_path, upstream, recorder=Full) as rig:
        assert rig.post(messages_request())[0] == 200
        rig.stop()
        assert balance(store).taken[Period.DAILY].spent_micros == CALL
        assert balance(store).shares == ()
    with RawUpstream(ok) as upstream, pooled(tmp_path, upstream, "unused", recorder=Full) as rig:
        rig.stop()
        assert balance(store).shares == ()


def test_limits_that_change_while_a_run_goes_on_are_recorded_and_hold(tmp_path, pools):
    pools(daily_usd=10 * CALL)
    with RawUpstream(ok) as upstream, pooled(tmp_path, upstream) as rig:
        assert rig.post(messages_request())[0] == 200
        pools(daily_usd=CALL)
        # What was granted before is the run's; then the new limit holds.
        while rig.post(messages_request())[0] == 200:
            assert len(upstream.requests) < 12
        (entered,) = rig.data("x-docket.pool")
        (exceeded,) = rig.data("cap.exceeded")
    assert entered["daily_usd"] == exceeded["limit"] == "0.001050"
