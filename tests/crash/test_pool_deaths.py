"""A process that dies at any statement of the pools' store: each step has happened or it has not.

The sweep kills a child with SIGKILL before its first statement, its second, and so on to the last; the steps and what
each of them leaves are worked out by hand.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

import pytest

from docket.formats.amount import Usd
from docket.formats.run.pool import Period, PoolAsk, PoolLimits
from docket.host.liveness import own_identity
from docket.stores.pools.port import PoolRun
from docket.stores.pools.sqlite import SqlitePools

DAY = "2026-11-30"
CHILD = """
import os, signal, sqlite3, sys, pathlib
from docket.formats.amount import Usd
from docket.formats.run.pool import PoolAsk, PoolLimits, Taken
from docket.host.liveness import own_identity
from docket.stores.pools.port import PoolRun
from docket.stores.pools.sqlite import SqlitePools

home, fatal = pathlib.Path(sys.argv[1]), int(sys.argv[2])
seen = 0

def die(statement):
    global seen
    seen += 1
    if seen == fatal:
        os.kill(os.getpid(), signal.SIGKILL)

connect = sqlite3.connect

def traced(*arguments, **options):
    connection = connect(*arguments, **options)
    connection.set_trace_callback(die)
    return connection

sqlite3.connect = traced
store = SqlitePools.open(home, create=True)
run = PoolRun(run_id="b", docket_number="DKT-20261130-BBBBBB", process=own_identity(), lock_path="l", ledger_path="g",
              entered_at="2026-11-30T12:00:00.000Z")
day = "2026-11-30"
steps = (
    lambda: store.define("team", PoolLimits(daily_usd=Usd(1000), total_usd=Usd(5000))),
    lambda: store.enter("team", run),
    lambda: store.reserve("team", "b", PoolAsk(need_micros=400, least_micros=400), day),
    lambda: store.settle("team", "b", Taken(150, 20), day),
    lambda: store.give_back("team", "b", 200),
    lambda: store.settle("team", "b", Taken(300, 20), day),
    lambda: store.release("team", "b"),
    lambda: store.reset("team"),
    lambda: store.remove("team"),
)
for step in steps:
    step()
    os.write(1, b".")
store.close()
print(seen)
"""
# (limits, spent, unknown, what the run holds; None: it is not there) before the first step and after each.
NO_POOL = (None, 0, 0, None)
STATES = (
    NO_POOL,
    (1000, 0, 0, None),
    (1000, 0, 0, 0),
    (1000, 0, 0, 400),
    (1000, 150, 20, 230),
    (1000, 150, 20, 30),
    (1000, 300, 20, 0),
    (1000, 300, 20, None),
    (1000, 0, 0, None),
    NO_POOL,
)


def child(home, fatal: int) -> subprocess.CompletedProcess[bytes]:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-c", CHILD, str(home), str(fatal)], capture_output=True, timeout=60, env=environ, check=False
    )


def state(store: SqlitePools) -> tuple[int | None, int, int, int | None]:
    if store.names() == ():
        return NO_POOL
    balance = store.balance("team", DAY)
    taken = balance.taken[Period.DAILY]
    assert taken == balance.taken[Period.TOTAL]
    limit = balance.limits.daily_usd
    held = balance.shares[0].held_micros if balance.shares else None
    return (None if limit is None else limit.micros, taken.spent_micros, taken.unknown_micros, held)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_each_step_has_happened_or_has_not(tmp_path):
    whole = child(tmp_path / "whole", 0)
    assert whole.returncode == 0, whole.stderr
    statements = int(whole.stdout.lstrip(b"."))
    assert statements > 40
    reached = set()
    for fatal in range(1, statements + 1):
        home = tmp_path / str(fatal)
        dead = child(home, fatal)
        assert dead.returncode == -signal.SIGKILL
        done = dead.stdout.count(b".")
        # Whoever comes next finishes what a death in the making of the file left.
        with contextlib.closing(SqlitePools.open(home, create=True)) as store:
            found = state(store)
            assert found in (STATES[done], STATES[min(done + 1, len(STATES) - 1)]), fatal
            reached.add(done)
            # And it goes on as if nothing had happened.
            store.define("team", PoolLimits(daily_usd=Usd(1000)))
            run = PoolRun(
                run_id="c", docket_number="DKT-20261130-CCCCCC", process=own_identity(), lock_path="l",
                ledger_path="g", entered_at="2026-11-30T12:00:00.000Z",
            )  # fmt: skip
            store.enter("team", run)
            room = 1000 - found[1] - found[2] - (found[3] or 0)
            answer = store.reserve("team", "c", PoolAsk(need_micros=2000, least_micros=1), DAY)
            assert answer.granted_micros == room
    assert reached == set(range(len(STATES) - 1))
