"""Signals to docket itself, turned into values that end a wait.

Rules: a signal's number is put into a pipe by the interpreter's C handler, so that no Python code runs inside
another call; `Signals` restores what stood before when it is closed; only the main thread may open one.
"""

from __future__ import annotations

import os
import select
import signal
from types import TracebackType
from typing import Self

# Every signal whose default is to end the process at once, but for those that tell of a fault in it.
WATCHED = (
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM,
    signal.SIGVTALRM, signal.SIGPROF, signal.SIGXCPU,
)  # fmt: skip


class Signals:
    """The signals that ask docket to stop, while it supervises a run."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        # Ignoring a signal is the person's wish (nohup): it stays ignored.
        self._before = {
            number: signal.signal(number, _nothing)
            for number in WATCHED
            if signal.getsignal(number) is not signal.SIG_IGN
        }
        self._wakeup = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)

    def wait(self, timeout_seconds: float | None) -> tuple[int, ...]:
        """Wait for a signal or a `wake`; return the signals' numbers in order, () after a wake or the time given."""
        select.select([self._reader], [], [], timeout_seconds)
        try:
            data = os.read(self._reader, 4096)
        except BlockingIOError:
            return ()
        return tuple(number for number in data if number)

    def wake(self) -> None:
        """End a wait, now or the next one; any thread may call it."""
        try:
            os.write(self._writer, b"\0")
        except (BlockingIOError, OSError):
            return  # the pipe is full, so its reader wakes anyway; or it is closed, and nobody waits

    def close(self) -> None:
        """Restore the handlers that stood before."""
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._reader)
        os.close(self._writer)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _nothing(number: int, frame: object) -> None:
    """Take a signal whose number the wakeup descriptor has already carried."""
