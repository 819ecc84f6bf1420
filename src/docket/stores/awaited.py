"""What one thread waits for and another brings: a value or a failure, once.

The library's `Future` says the same, and loads logging, string templates and tracebacks that nothing else at the start
of a run needs.
"""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

T = TypeVar("T")


class Awaited(Generic[T]):
    """A value or an exception to come; whoever brings it does so once, any number of threads wait."""

    __slots__ = ("_failure", "_has_come", "_latch", "_value")

    def __init__(self) -> None:
        self._latch = threading.Lock()
        self._latch.acquire()
        self._has_come = False
        self._value: T | None = None
        self._failure: BaseException | None = None

    def done(self) -> bool:
        """Whether it has come."""
        return self._has_come  # and not whether the latch is open: whoever looks behind it shuts it for a moment

    def set_result(self, value: T) -> None:
        """Bring the value."""
        self._value, self._has_come = value, True
        self._latch.release()

    def set_exception(self, failure: BaseException) -> None:
        """Bring the failure."""
        self._failure, self._has_come = failure, True
        self._latch.release()

    def exception(self) -> BaseException | None:
        """Wait for it; return the failure, None where a value came."""
        with self._latch:
            return self._failure

    def result(self) -> T:
        """Wait for it; return the value, or raise the failure."""
        failure = self.exception()
        if failure is not None:
            raise failure
        return self._value  # type: ignore[return-value] # there is no failure, so it has been set
