"""The process table, and signals that reach whom they should."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
from run_probe import await_true, is_gone, stat_fields

from docket.host import descendants

LIVING_THREAD_OF_A_DEAD_LEADER = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(1000,)).start()
print("ready", flush=True)
pthread_exit = ctypes.CDLL(None).pthread_exit
pthread_exit(None)
"""


@pytest.fixture
def started():
    processes = []

    def start(*argv: str, **more) -> subprocess.Popen:
        processes.append(subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, **more))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def sleeper(start, **more) -> subprocess.Popen:
    return start("sleep", "1000", **more)


def row_of(pid: int) -> descendants.Process:
    row = descendants.read_process(pid)
    assert row is not None
    return row


@pytest.mark.parametrize("name", ["a) R 1 1 1 (b", ") )", "new\nline"])
def test_name_with_any_byte_does_not_shift_the_fields(started, tmp_path, name):
    program = tmp_path / name
    shutil.copy(shutil.which("sleep"), program)
    process = started(str(program), "1000", process_group=0)
    row = row_of(process.pid)
    assert (row.parent, row.group, row.session) == (os.getpid(), process.pid, os.getsid(0))
    assert row.alive
    assert row.identity == (process.pid, row.started)


def test_start_time_is_the_kernels(started):
    ticks = os.sysconf("SC_CLK_TCK")
    before = time.clock_gettime(time.CLOCK_BOOTTIME) * ticks
    row = row_of(sleeper(started).pid)
    after = time.clock_gettime(time.CLOCK_BOOTTIME) * ticks
    assert before - 1 <= row.started <= after + 1


def test_no_such_process():
    process = subprocess.Popen(["true"])
    process.wait()
    assert descendants.read_process(process.pid) is None
    assert process.pid not in descendants.read_table()


def test_corpse_is_a_descendant_but_not_living(started):
    process = started("true")
    await_true(lambda: stat_fields(process.pid)["state"] == "Z")
    table = descendants.read_table()
    assert process.pid in [row.pid for row in descendants.descendants(os.getpid(), table)]
    assert process.pid not in [row.pid for row in descendants.living(os.getpid())]


def test_process_whose_first_thread_ended_is_living_and_can_be_ended(started):
    process = started(sys.executable, "-I", "-c", LIVING_THREAD_OF_A_DEAD_LEADER)
    process.stdout.readline()
    await_true(lambda: stat_fields(process.pid)["state"] == "Z")
    assert row_of(process.pid).alive
    table = descendants.read_table()
    descendants.kill([table[process.pid]], table)
    assert process.wait(60) == -signal.SIGKILL


def test_grandchildren_come_after_their_parents_and_the_spared_not_at_all(started):
    process = started("sh", "-c", "sleep 1000 & echo $!; wait")
    below = int(process.stdout.readline())
    found = [row.pid for row in descendants.living(os.getpid())]
    assert found.index(process.pid) < found.index(below)
    assert below not in [row.pid for row in descendants.living(os.getpid(), frozenset({below}))]
    assert descendants.kill_once([process.pid])[0].pid == below
    process.wait(60)
    await_true(lambda: is_gone(below))


def test_signal_for_an_earlier_holder_of_the_pid_reaches_nobody(started):
    process = sleeper(started)
    row = row_of(process.pid)
    row.started -= 1
    assert not descendants.send(row, signal.SIGKILL)
    assert process.poll() is None
    assert not is_gone(process.pid)


def test_signal_for_one_that_is_gone():
    process = subprocess.Popen(["sleep", "1000"])
    row = row_of(process.pid)
    process.kill()
    process.wait()
    assert not descendants.send(row, signal.SIGTERM)


@pytest.mark.parametrize("missing", ["pidfd_open", "pidfd_send_signal"])
def test_kernel_or_sandbox_without_pidfd(started, monkeypatch, missing):
    def refuse(*_):
        raise OSError(errno.ENOSYS, "not here")

    monkeypatch.setattr(os if missing == "pidfd_open" else descendants.signal, missing, refuse)
    process = sleeper(started)
    row = row_of(process.pid)
    assert descendants.send(row, signal.SIGTERM)
    assert process.wait(60) == -signal.SIGTERM
    assert not descendants.send(row, signal.SIGTERM)


def test_group_that_holds_a_stranger_is_not_killed_as_a_whole(started):
    parent = started("sh", "-c", "sleep 1000 & echo $!; sleep 1000 & echo $!; wait", process_group=0)
    victims = {int(parent.stdout.readline()), int(parent.stdout.readline())}
    stranger = sleeper(started, process_group=parent.pid)
    killed = descendants.kill_once([parent.pid])
    assert {row.pid for row in killed} == victims
    await_true(lambda: all(is_gone(pid) for pid in victims))
    assert stranger.poll() is None
    assert not is_gone(stranger.pid)


def test_group_is_killed_as_a_whole(started):
    parent = started(
        "sh", "-c", "trap '' TERM; for i in 1 2 3; do sleep 1000 & done; echo ready; wait", process_group=0
    )
    parent.stdout.readline()
    table = descendants.read_table()
    victims = [row for row in table.values() if row.group == parent.pid]
    assert len(victims) == 4
    descendants.kill(victims, table)
    assert parent.wait(60) == -signal.SIGKILL
    await_true(lambda: all(is_gone(row.pid) for row in victims))


def test_end_that_cannot_be_reached_is_given_up_in_time():
    waits = []
    killed, survivors = descendants.end_all(1 << 30, lambda: False, waits.append, 0.0)
    assert (killed, survivors) == (set(), 1)
    assert waits == []


def test_table_is_read_while_processes_come_and_go():
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            subprocess.run(["true"], check=True)

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        assert all(os.getpid() in descendants.read_table() for _ in range(20))
    finally:
        stop.set()
        thread.join()
