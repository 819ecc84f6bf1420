"""What a run was granted and does not use is there for other runs, whatever became of the call it was asked for."""

from __future__ import annotations

import contextlib
import threading
import time

import pytest

from boundary_rig.raw_upstream import RawUpstream, whole
from boundary_rig.replies import messages_json, messages_request
from boundary_rig.rig import boundary
from docket.engines.boundary import pool_line
from docket.engines.pools.entry import EntryRequest, PoolsWorld, enter
from docket.formats.amount import Usd
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import Admission, BudgetPolicy, CapsPolicy
from docket.formats.run.pool import PoolAsk, PoolLimits, day_of
from docket.host.clock import SystemClock
from docket.stores.pools.sqlite import SqlitePools


@pytest.fixture
def store(tmp_path):
    with contextlib.closing(SqlitePools.open(tmp_path, create=True)) as opened:
        for name in ("east", "west"):
            opened.define(name, PoolLimits(daily_usd=Usd(2000)))
        yield opened


@contextlib.contextmanager
def pooled(tmp_path, upstream, name, pools=("east",), *, wait_ms=10_000, open_store=None):
    folder = tmp_path / name
    folder.mkdir()
    asked = EntryRequest(
        names=pools, session_id=name, docket_number="DKT-20260101-ABCDEF", ledger_path=folder / "ledger.jsonl"
    )
    world = PoolsWorld(
        open_store=open_store or (lambda: SqlitePools.open(tmp_path)),
        locks=tmp_path / "pools/runs",
        clock=SystemClock(),
    )
    policy = Policy(
        budget=BudgetPolicy(admission=Admission.STRICT, pools=pools), caps=CapsPolicy(admission_wait_ms=wait_ms)
    )
    with enter(asked, world) as entry, boundary(folder, upstream.url, pools=entry, policy=policy) as rig:
        yield rig


def held(store, pool="east"):
    return store.balance(pool, day_of(SystemClock().now())).held_micros


def wait_until(condition):
    deadline = time.monotonic() + 20
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert condition()


def ok(request, sock):
    sock.sendall(whole(messages_json()))
    return True


def failing(request, sock):
    time.sleep(0.2)
    sock.sendall(whole(b"{}", status="500 Internal Server Error"))
    return True


def test_what_was_granted_to_an_agent_that_left_goes_back(tmp_path, store, monkeypatch):
    monkeypatch.setattr(pool_line, "_REST_SECONDS", 0.05)
    asked, go_on, granted = threading.Event(), threading.Event(), []

    class Slow(SqlitePools):
        def reserve(self, *arguments):
            asked.set()
            go_on.wait(20)
            answer = super().reserve(*arguments)
            granted.append(answer.granted_micros)
            return answer

    with RawUpstream(ok) as upstream:
        with pooled(tmp_path, upstream, "a", open_store=lambda: Slow.open(tmp_path)) as rig:
            connection = rig.connect()
            connection.request(
                "POST", "/t0kenT0ken-t0ken_T0ken/anthropic/v1/messages", messages_request(max_tokens=50), {}
            )
            assert asked.wait(20)
            connection.close()
            time.sleep(0.3)
            go_on.set()
            wait_until(lambda: bool(granted))
            wait_until(lambda: held(store) == 0)
        assert granted[0] > 0
        assert upstream.requests == []


def test_what_a_refused_call_held_goes_back_after_a_rest(tmp_path, store, monkeypatch):
    monkeypatch.setattr(pool_line, "_REST_SECONDS", 0.05)
    with RawUpstream(failing) as upstream, pooled(tmp_path, upstream, "a") as rig:
        assert rig.post(messages_request(max_tokens=50))[0] == 500
        wait_until(lambda: held(store) == 0)


def test_runs_that_name_the_pools_in_either_order_do_not_hold_each_other_up(tmp_path, store, monkeypatch):
    monkeypatch.setattr(pool_line, "_REST_SECONDS", 0.2)
    with (
        RawUpstream(ok) as upstream,
        pooled(tmp_path, upstream, "a", ("east", "west")) as one,
        pooled(tmp_path, upstream, "b", ("west", "east")) as two,
    ):
        # Each has one pool's room already, and will ask for the other's.
        for run, pool in (("a", "east"), ("b", "west")):
            ask = PoolAsk(need_micros=1700, least_micros=1700, ahead_micros=0)
            assert store.reserve(pool, run, ask, day_of(SystemClock().now())).granted_micros == 1700
        statuses = []
        body = messages_request(max_tokens=50)
        calls = [threading.Thread(target=lambda rig=rig: statuses.append(rig.post(body)[0])) for rig in (one, two)]
        for call in calls:
            call.start()
        for call in calls:
            call.join()
        assert 200 in statuses
