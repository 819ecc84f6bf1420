"""Wall and monotonic time. The port is `Clock`; tests pass a clock of their own."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Protocol

_SECOND_NS = 1_000_000_000
_MS_NS = 1_000_000


class Clock(Protocol):
    """What docket asks of time."""

    def now(self) -> str:
        """The instant as RFC 3339 UTC with milliseconds, `2026-01-31T23:59:59.123Z`."""
        ...

    def monotonic_ns(self) -> int:
        """Nanoseconds that never run backwards; only differences mean anything."""
        ...


@lru_cache(maxsize=4)
def _whole_second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


class SystemClock:
    """The machine's clocks."""

    def now(self) -> str:
        """The wall clock's instant."""
        seconds, rest_ns = divmod(time.time_ns(), _SECOND_NS)
        return f"{_whole_second(seconds)}.{rest_ns // _MS_NS:03d}Z"

    def monotonic_ns(self) -> int:
        """The monotonic clock."""
        return time.monotonic_ns()
