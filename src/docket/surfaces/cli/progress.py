"""How work shows itself on standard error: progress on a terminal, a run's warnings, why one is stopped."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

from docket.surfaces.cli import console

QUIET_SECONDS = 0.5
_EVERY_SECONDS = 0.1


class _Line:
    """One line of progress on a terminal, once the work lasts: since `began`, or since it was first asked for."""

    def __init__(self, began: float | None = None) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._began = began
        self._shown = 0.0
        self._is_open = False

    def is_due(self) -> bool:
        """Whether it is time to show something."""
        if not self._is_terminal:
            return False
        now = time.monotonic()
        if self._began is None:
            self._began = now
        return now - self._began >= QUIET_SECONDS and now - self._shown >= _EVERY_SECONDS

    def show(self, text: str) -> None:
        """Show it in the place of what stood there."""
        self._shown = time.monotonic()
        self._is_open = True
        console.overwrite(f"docket: {text}")

    def end(self) -> None:
        """Take the line away."""
        if self._is_open:
            console.overwrite("")
        self._is_open = False


class RunProgress:
    """The watcher of a run for a person; `quiet` keeps all but warnings and the reason of a stop to itself."""

    def __init__(self, headline: str, *, quiet: bool) -> None:
        self._headline = headline
        self._quiet = quiet
        self._line = _Line()

    def started(self, docket_number: str) -> None:
        """Say the run's number and what bounds it."""
        if not self._quiet:
            console.say(f"{docket_number}  {self._headline}")

    def scanned(self, files: int, size_bytes: int) -> None:
        """Show the pass's progress once it lasts; only on a terminal."""
        if not self._quiet and self._line.is_due():
            self._line.show(f"reading the tree: {files:,} files, {size_bytes / 1e6:,.0f} MB")

    def scan_ended(self) -> None:
        """Take the progress line away."""
        self._line.end()
        self._line = _Line()

    def warned(self, sentence: str) -> None:
        """Show a warning."""
        console.warn(console.plain(sentence))

    def stopping(self, sentence: str) -> None:
        """Say why the run is being stopped."""
        console.say(f"stopping: {console.plain(sentence)}")


class PathProgress:
    """How many of how many paths are done, on a terminal, once it lasts; `end` takes the line away."""

    def __init__(self) -> None:
        self._line = _Line(time.monotonic())

    def __call__(self, doing: str, done: int, total: int) -> None:
        """Show it."""
        if self._line.is_due():
            self._line.show(f"{doing} {done:,} of {total:,} paths")

    def end(self) -> None:
        """Take the line away."""
        self._line.end()


class ReadingProgress:
    """How much of a file is read, on a terminal, once it lasts; leaving the block takes the line away."""

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._line = _Line(time.monotonic())

    def __call__(self, read_bytes: int) -> None:
        """Show it."""
        if self._line.is_due():
            self._line.show(f"{self._doing}: {read_bytes / 1e6:,.0f} MB of the ledger read")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.end()
