"""A fake of the signals port: what arrives is queued by the test, and a wait returns at once or after a wake."""

from __future__ import annotations

import threading


class FakeSignals:
    """Signals as a queue; passes the contract suite of the port."""

    def __init__(self) -> None:
        self._arrived: list[int] = []
        self._woken = False
        self._condition = threading.Condition()

    def arrive(self, number: int) -> None:
        """Let a signal arrive."""
        with self._condition:
            self._arrived.append(number)
            self._condition.notify_all()

    def wait(self, timeout_seconds: float | None) -> tuple[int, ...]:
        """Wait for a signal or a wake."""
        with self._condition:
            self._condition.wait_for(lambda: self._arrived or self._woken, timeout_seconds)
            arrived, self._arrived, self._woken = tuple(self._arrived), [], False
            return arrived

    def wake(self) -> None:
        """End a wait."""
        with self._condition:
            self._woken = True
            self._condition.notify_all()
