"""The machine's own store of pools beyond its contract: faults of the file, two at once, what is refused."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading

import pytest

from docket.errors import UnavailableError
from docket.formats.amount import Usd
from docket.formats.reason import Reason
from docket.formats.run.pool import Period, PoolAsk, PoolLimits, Taken
from docket.host.liveness import own_identity
from docket.stores.pools import sqlite
from docket.stores.pools.port import PoolRun
from docket.stores.pools.sqlite import SqlitePools

DAY = "2026-11-30"
LIMITS = PoolLimits(total_usd=Usd(100_000))


def run(name: str) -> PoolRun:
    return PoolRun(
        run_id=name, docket_number="DKT-20261130-ABCDEF", process=own_identity(), lock_path="/l", ledger_path="/g",
        entered_at="2026-11-30T00:00:00.000Z",
    )  # fmt: skip


@pytest.fixture
def home(tmp_path):
    store = SqlitePools.open(tmp_path, create=True)
    store.define("team", LIMITS)
    store.close()
    return tmp_path


def file(home):
    return home / sqlite.POOLS_DIR / sqlite.POOLS_FILE


def refused(home, **options):
    with pytest.raises(UnavailableError) as raised:
        SqlitePools.open(home, **options)
    return raised.value


def test_a_store_that_must_exist_is_not_made(tmp_path):
    error = refused(tmp_path)
    assert error.reason == Reason.NOT_FOUND
    assert "docket pools set" in str(error.hint)
    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_the_persons_alone_and_the_names_are_odd_ones_too(tmp_path):
    home = tmp_path / "a?b%20#c"
    store = SqlitePools.open(home, create=True)
    store.define("team", LIMITS)
    store.close()
    assert file(home).parent.stat().st_mode & 0o777 == 0o700
    again = SqlitePools.open(home)
    assert again.names() == ("team",)
    again.close()
    again.close()


def modes(folder):
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


@pytest.mark.parametrize("mask", [0, 0o22, 0o777])
def test_every_file_is_the_persons_alone_from_its_first_instant_whatever_the_umask(tmp_path, monkeypatch, mask):
    seen = []

    def watched(*arguments, **options):
        seen.append(modes(file(tmp_path).parent))
        connection = connect(*arguments, **options)
        connection.set_trace_callback(lambda _: seen.append(modes(file(tmp_path).parent)))
        return connection

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", watched)
    before = os.umask(mask)
    try:
        with contextlib.closing(SqlitePools.open(tmp_path, create=True)) as store:
            store.define("team", LIMITS)
            seen.append(modes(file(tmp_path).parent))
    finally:
        os.umask(before)
    name = sqlite.POOLS_FILE
    assert seen[0] == {name: 0o600}
    assert seen[-1] == {name: 0o600, f"{name}-wal": 0o600, f"{name}-shm": 0o600}
    assert {mode for at_once in seen for mode in at_once.values()} == {0o600}


WRITE = """
import sqlite3, sys
try:
    sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0).execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError as error:
    print(error)
"""


@pytest.mark.parametrize("options", [{}, {"create": True}])
def test_files_that_others_could_read_are_closed_to_them_and_keep_their_locks(home, options):
    with contextlib.closing(sqlite3.connect(file(home), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for path in file(home).parent.iterdir():
            path.chmod(0o644)
        assert len(modes(file(home).parent)) == 3
        with contextlib.closing(SqlitePools.open(home, **options)) as store:
            assert store.names() == ("team",)
            assert set(modes(file(home).parent).values()) == {0o600}
        done = subprocess.run([sys.executable, "-c", WRITE, file(home)], capture_output=True, text=True, check=True)
        assert done.stdout == "database is locked\n"


def test_a_file_that_may_only_be_read_is_not_opened_up(home):
    file(home).chmod(0o444)
    with contextlib.suppress(UnavailableError):
        SqlitePools.open(home).close()
    assert modes(file(home).parent)[sqlite.POOLS_FILE] == 0o400


def test_what_is_settled_is_there_after_the_store_is_opened_again(home):
    store = SqlitePools.open(home)
    store.enter("team", run("a"))
    store.settle("team", "a", Taken(40, 2), DAY)
    store.close()
    again = SqlitePools.open(home, create=True)
    assert again.balance("team", DAY).taken[Period.TOTAL] == Taken(40, 2)
    again.close()


@pytest.mark.parametrize("damage", [b"not a database at all" * 400, None])
def test_a_damaged_file_is_refused_and_left_as_it_is(home, damage):
    path = file(home)
    data = path.read_bytes()
    path.write_bytes(damage if damage is not None else data[:100] + b"\xff" * 4000 + data[4100:])
    before = path.read_bytes()
    for options in ({}, {"create": True}):
        error = refused(home, **options)
        assert error.reason == Reason.POOLS_DAMAGED
        assert "put the file aside" in str(error.hint)
    assert path.read_bytes() == before


def test_a_file_of_another_program_or_of_a_newer_docket_is_refused(tmp_path):
    path = file(tmp_path)
    path.parent.mkdir()
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE other (x)")
    database.execute("PRAGMA user_version = 1")
    database.close()
    assert refused(tmp_path).reason == Reason.POOLS_DAMAGED
    database = sqlite3.connect(path)
    database.execute(f"PRAGMA application_id = {sqlite._APPLICATION_ID}")
    database.execute("PRAGMA user_version = 2")
    database.close()
    error = refused(tmp_path)
    assert error.reason == Reason.UNKNOWN_FORMAT
    assert "newer docket" in error.detail


def test_a_writer_that_waits_too_long_says_so(home, monkeypatch):
    monkeypatch.setattr(sqlite, "_BUSY_MS", 10)
    store = SqlitePools.open(home)
    other = sqlite3.connect(file(home), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(UnavailableError) as raised:
        store.define("team", LIMITS)
    assert raised.value.reason == Reason.LOCKED
    assert store.balance("team", DAY).limits == LIMITS
    other.execute("ROLLBACK")
    other.close()
    store.define("team", PoolLimits(daily_usd=Usd(1)))
    store.close()


def test_a_full_disk_takes_nothing_and_says_so(home):
    store = SqlitePools.open(home)
    store.enter("team", run("a"))
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages}")

    def fill() -> None:
        for number in range(2000):
            store.define(f"pool{number}", LIMITS)

    with pytest.raises(UnavailableError) as raised:
        fill()
    assert raised.value.reason == Reason.NO_SPACE
    assert "the disk is full" in raised.value.detail
    assert "team" in store.names()
    store.close()


def test_a_file_that_cannot_be_written_is_told(home):
    store = SqlitePools.open(home)
    store._connection.execute("PRAGMA query_only = ON")
    with pytest.raises(UnavailableError) as raised:
        store.define("team", LIMITS)
    assert raised.value.reason == Reason.READ_ONLY
    store.close()


@pytest.mark.skipif(sys.platform == "win32", reason="an open file can be neither replaced nor removed")
@pytest.mark.parametrize("how", ["copied", "removed", "made anew"])
def test_a_file_that_was_put_in_its_place_takes_nothing_from_whoever_has_the_old_one(home, how):
    store = SqlitePools.open(home)
    store.enter("team", run("a"))
    if how == "copied":
        shutil.copy(file(home), home / "copy")
        os.replace(home / "copy", file(home))
    else:
        for path in tuple(file(home).parent.iterdir()):
            path.unlink()
    if how == "made anew":
        with contextlib.closing(SqlitePools.open(home, create=True)) as other:
            other.define("team", LIMITS)
    ask = PoolAsk(need_micros=100, least_micros=100)
    for change in (lambda: store.reserve("team", "a", ask, DAY), lambda: store.settle("team", "a", Taken(5), DAY)):
        with pytest.raises(UnavailableError) as raised:
            change()
        assert raised.value.reason == Reason.POOLS_DAMAGED
        assert "replaced while they were in use" in raised.value.detail
    store.close()


def test_a_closed_store_is_out_of_reach(home):
    store = SqlitePools.open(home)
    store.close()
    with pytest.raises(UnavailableError):
        store.names()


def test_two_threads_never_grant_the_same_money(home):
    grants = []

    def take(name: str) -> None:
        store = SqlitePools.open(home)
        store.enter("team", run(name))
        held = 0
        for _ in range(40):
            ask = PoolAsk(need_micros=held + 3000, least_micros=held + 3000, ahead_micros=500)
            held = store.reserve("team", name, ask, DAY).granted_micros
        grants.append(held)
        store.close()

    threads = [threading.Thread(target=take, args=(f"run{number}",)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # What is left at the end is less than one more of them needs.
    assert 97_000 < sum(grants) <= 100_000
