"""Wall and monotonic time. The port is `Clock`; tests pass a clock of their own."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What docket asks of time."""

    def now(self) -> str:
        """The instant as RFC 3339 UTC with milliseconds, `2026-01-31T23:59:59.123Z`."""
        ...

    def monotonic_ns(self) -> int:
        """Nanoseconds that never run backwards; only differences mean anything."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> str:
        """The wall clock's instant."""
        return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def monotonic_ns(self) -> int:
        """The monotonic clock."""
        return time.monotonic_ns()
