from __future__ import annotations

import hashlib
import json
import os
import signal
import threading
import time
import zlib

import pytest

from docket.host import forked
from docket.host.forked import MAX_JOBS, share_jobs, spare_processors

PARENT = os.getpid()


def silent(_one, _other):
    return None


TWO = {"copies": 2, "progress": silent}


def children() -> list[str]:
    with open(f"/proc/self/task/{threading.get_native_id()}/children") as listed:
        return listed.read().split()


def square(number, _report):
    time.sleep(0.001)
    return (number, number * number, os.getpid())


@pytest.mark.parametrize("copies", [0, 1, 3])
@pytest.mark.parametrize("jobs", [0, 1, 50])
def test_every_job_is_done_once(copies, jobs):
    results = share_jobs(jobs, square, copies=copies, progress=silent)
    assert [(number, result) for number, result, _ in results] == [(i, i * i) for i in range(jobs)]
    assert children() == []


def test_copies_take_part():
    def work(number, _report):
        time.sleep(0.01)
        return os.getpid()

    assert len(set(share_jobs(40, work, copies=2, progress=silent))) == 3


def test_more_jobs_than_tickets():
    assert share_jobs(MAX_JOBS + 5, lambda number, _: number, copies=1, progress=silent) == list(range(MAX_JOBS + 5))


def test_a_large_answer_passes_through_the_pipe():
    results = share_jobs(8, lambda number, _: bytes([number]) * 1_000_000, copies=2, progress=silent)
    assert results == [bytes([number]) * 1_000_000 for number in range(8)]


@pytest.mark.parametrize("end", [lambda: os._exit(3), lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: 1 / 0])
def test_the_jobs_of_a_copy_that_dies_are_done_here(end):
    def work(number, _report):
        if os.getpid() != PARENT:
            end()
        time.sleep(0.01)
        return number

    assert share_jobs(20, work, copies=2, progress=silent) == list(range(20))
    assert children() == []


def test_the_jobs_of_a_copy_that_answers_what_cannot_travel_are_done_here():
    def work(number, _report):
        time.sleep(0.01)
        return number if os.getpid() == PARENT else object()

    assert share_jobs(20, work, copies=1, progress=silent) == list(range(20))


def test_the_jobs_of_a_copy_that_stalls_are_done_here(monkeypatch):
    monkeypatch.setattr(forked, "STALL_SECONDS", 1.0)

    def work(number, _report):
        if os.getpid() != PARENT:
            time.sleep(100)
        time.sleep(0.02)
        return number

    assert share_jobs(10, work, copies=1, progress=silent) == list(range(10))
    assert children() == []


def test_a_fault_of_the_work_itself_is_raised_and_no_copy_is_left():
    def work(number, _report):
        time.sleep(0.01)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        share_jobs(10, work, copies=2, progress=silent)
    assert children() == []


def test_progress_hears_the_sums():
    heard = []

    def work(number, report):
        time.sleep(0.005)
        work.done += 1
        report(work.done, work.done * 10)
        return number

    work.done = 0
    share_jobs(30, work, copies=2, progress=lambda *totals: heard.append(totals))
    assert heard[-1] == (30, 300)
    assert heard == sorted(heard)


def test_a_signal_ends_a_copy_without_the_parents_handlers(tmp_path):
    log = tmp_path / "handled"

    def handler(_number, _frame):
        with log.open("a") as out:
            out.write(f"{os.getpid()}\n")

    before = signal.signal(signal.SIGTERM, handler)
    try:

        def work(number, _report):
            if os.getpid() != PARENT:
                os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)
            return number

        assert share_jobs(10, work, copies=1, progress=silent) == list(range(10))
        assert not log.exists()
        os.kill(PARENT, signal.SIGTERM)
        assert log.read_text() == f"{PARENT}\n"
    finally:
        signal.signal(signal.SIGTERM, before)


def test_no_descriptor_is_left_open():
    before = set(os.listdir("/proc/self/fd"))
    share_jobs(10, square, copies=3, progress=silent)
    assert set(os.listdir("/proc/self/fd")) == before


def test_spare_processors_are_those_beside_our_own():
    assert spare_processors() == len(os.sched_getaffinity(0)) - 1


def test_copies_of_a_process_with_busy_threads_do_not_stall():
    done = threading.Event()

    def busy():
        while not done.is_set():
            hashlib.sha256(os.urandom(5000)).digest()
            json.dumps([{"a": [1] * 50}])
            zlib.compress(bytearray(200_000)[:5000])

    threads = [threading.Thread(target=busy) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        expected = [hashlib.sha256(b"x" * 3000 * number).digest() for number in range(20)]
        for _ in range(20):
            assert share_jobs(20, lambda number, _: hashlib.sha256(b"x" * 3000 * number).digest(), **TWO) == expected
    finally:
        done.set()
        for thread in threads:
            thread.join()
