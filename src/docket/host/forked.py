"""Jobs shared among forked copies of this process.

Why processes: a pass over a tree is short system calls between short steps of Python, and threads that hand the
interpreter lock to each other that often are slower than one (measured in benchmarks/bench_tree.py). Why forked:
a copy needs nothing from the disk, so an agent that has run in between cannot have changed its code.

Rules:
1. Every job's result comes back once. A copy that dies, stalls or answers nonsense loses nothing: its jobs are done
   again in this process.
2. A copy calls the work and nothing else: no imports, no locks of other threads, no output, no exit handlers.
3. When the call is over, no copy lives.

Results travel as `marshal` data: numbers, bytes, texts, tuples and lists of them.
"""

from __future__ import annotations

import marshal
import mmap
import os
import select
import signal
import struct
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

from docket.formats.dataclass import dataclass

Result = TypeVar("Result")
Report: TypeAlias = Callable[[int, int], None]
Work: TypeAlias = Callable[[int, Report], Result]

STALL_SECONDS = 60.0
MAX_JOBS = 4096  # their numbers wait in a pipe, which holds at least 64 KiB
_TICKET = struct.Struct("<i")
_TALLY = struct.Struct("@qq")  # native, so that each number is stored whole
_READ_BYTES = 1024 * 1024


@dataclass(slots=True)
class _Copy:
    """A forked copy: its process, where its answer is read, and what has come of it so far."""

    pid: int
    source: int
    answer: bytearray
    open: bool = True


def spare_processors() -> int:
    """Return how many processors this process may use beside the one it runs on."""
    return len(os.sched_getaffinity(0)) - 1


def share_jobs(jobs: int, work: Work[Result], *, copies: int, progress: Report) -> list[Result]:
    """Return `work(i, report)` for every i below `jobs`, done in this process and `copies` forked ones.

    `work` may call `report(a, b)` with two running totals of its process; `progress` hears the sums over all.
    """
    tally = mmap.mmap(-1, _TALLY.size * (copies + 1))
    tickets, tickets_in = os.pipe()
    try:
        os.write(tickets_in, b"".join(_TICKET.pack(i) for i in range(min(jobs, MAX_JOBS))))
    finally:
        os.close(tickets_in)
    workers: list[_Copy] = []
    try:
        for slot in range(1, copies + 1):
            worker = _start(tickets, work, _reporter(tally, slot), [item.source for item in workers])
            if worker is not None:
                workers.append(worker)
        report = _summing(tally, progress)
        results = dict(_take(tickets, work, report))
        results |= dict(_collect(workers, tally, report))
        return [results[i] if i in results else work(i, report) for i in range(jobs)]
    finally:
        os.close(tickets)
        for worker in workers:
            _end(worker)
        tally.close()


def _start(tickets: int, work: Work[object], report: Report, others: Sequence[int]) -> _Copy | None:
    source, sink = os.pipe()
    # A signal between the fork and the child's own dispositions would run the parent's handlers in the child.
    held = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # rule 2 is the answer to it
            pid = os.fork()
    except OSError:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        os.close(source)
        os.close(sink)
        return None
    if pid == 0:
        _be_copy(tickets, sink, work, report, (source, *others))
    signal.pthread_sigmask(signal.SIG_SETMASK, held)
    os.close(sink)
    return _Copy(pid, source, bytearray())


def _be_copy(tickets: int, sink: int, work: Work[object], report: Report, unused: Sequence[int]) -> None:
    """Never returns."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for descriptor in unused:
            os.close(descriptor)
        answer = marshal.dumps(_take(tickets, work, report))
        while answer:
            answer = answer[os.write(sink, answer) :]
        code = 0
    finally:
        os._exit(code)


def _take(tickets: int, work: Work[Result], report: Report) -> list[tuple[int, Result]]:
    parent = os.getppid()
    done: list[tuple[int, Result]] = []
    while len(ticket := os.read(tickets, _TICKET.size)) == _TICKET.size:
        (number,) = _TICKET.unpack(ticket)
        done.append((number, work(number, report)))
        if os.getppid() != parent:
            break
    return done


def _collect(workers: list[_Copy], tally: mmap.mmap, report: Report) -> list[tuple[int, Any]]:
    poll = select.poll()
    by_source = {worker.source: worker for worker in workers}
    for source in by_source:
        poll.register(source, select.POLLIN)
    waited, before = 0.0, bytes(tally)
    while any(worker.open for worker in workers) and waited < STALL_SECONDS:
        ready = poll.poll(500)
        waited = 0.0 if ready or bytes(tally) != before else waited + 0.5
        before = bytes(tally)
        for source, _ in ready:
            if not _read(by_source[source]):
                poll.unregister(source)
        report(0, 0)
    return [item for worker in workers if not worker.open for item in _answer(worker)]


def _read(worker: _Copy) -> bool:
    data = os.read(worker.source, _READ_BYTES)
    worker.answer += data
    worker.open = bool(data)
    return worker.open


def _answer(worker: _Copy) -> list[tuple[int, Any]]:
    with suppress(ValueError, EOFError, TypeError):
        return [(number, result) for number, result in marshal.loads(worker.answer)]  # noqa: S302 - from our own fork
    return []


def _end(worker: _Copy) -> None:
    os.close(worker.source)
    with suppress(ProcessLookupError):
        if worker.open:
            os.kill(worker.pid, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(worker.pid, 0)


def _reporter(tally: mmap.mmap, slot: int) -> Report:
    return lambda one, other: _TALLY.pack_into(tally, slot * _TALLY.size, one, other)


def _summing(tally: mmap.mmap, progress: Report) -> Report:
    own = _reporter(tally, 0)

    def report(one: int, other: int) -> None:
        if one or other:
            own(one, other)
        sums = [sum(column) for column in zip(*_TALLY.iter_unpack(tally), strict=True)]
        progress(sums[0], sums[1])

    return report
