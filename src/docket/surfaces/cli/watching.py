"""Carrying out `docket watch`: looks at a run's ledger again and again, and hands each look to a screen.

Rules:
1. The run is looked at and never touched: nothing is written, no lock is kept, and whether its own is held is only
   looked at.
2. The watch ends with the run: once its end is recorded, or nobody holds its ledger any more.
3. A signal ends the watch and not the run; the terminal is given back as it was.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from typing import Protocol

from docket.errors import InvalidDocumentError, UnavailableError
from docket.formats.dataclass import dataclass
from docket.formats.ledger.event import Event
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.session_events import FOLD
from docket.formats.ledger.vocabulary import read_payload
from docket.formats.reason import Reason
from docket.host.clock import SystemClock
from docket.host.locks import is_held
from docket.host.signals import Signals
from docket.rules.receipt.live import LiveFold
from docket.stores.layout import Layout
from docket.stores.ledger_tail import LedgerTail, Restarted
from docket.stores.run_search import RunFound, live_runs
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.found import lock_of
from docket.surfaces.render import live, live_lines
from docket.surfaces.render.live import Frame, State

OtherRuns = Callable[[], tuple[str, ...]]
_OTHERS_EVERY = 8  # looks


class Screen(Protocol):
    """Where a watch is shown."""

    def event(self, event: Event, payload: Payload | None) -> None:
        """Take an event as it comes."""
        ...

    def show(self, frame: Frame, *, is_new: bool) -> None:
        """Take a look at the run; `is_new`: something has come since the last."""
        ...

    def close(self) -> None:
        """Give the terminal back; a second call does nothing."""
        ...


@dataclass(slots=True, kw_only=True)
class Look:
    """A run under observation."""

    run: RunFound
    tail: LedgerTail
    fold: LiveFold

    @classmethod
    def at(cls, run: RunFound) -> Look:
        """Begin with a run."""
        return cls(run=run, tail=LedgerTail(run.places), fold=LiveFold())

    def take(self, tell: Callable[[Event, Payload | None], None]) -> bool:
        """Take what has come; return whether there was anything. InvalidDocumentError for another writer's ledger."""
        is_new = False
        for item in self.tail.poll():
            is_new = True
            if isinstance(item, Restarted):
                self.fold = LiveFold()
                continue
            if item.seq == 0 and item.data.get("fold") != FOLD:
                detail = f"{self.tail.path} is another writer's ledger, and is not watched"
                raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, detail, hint="docket verify checks its receipt")
            payload = read_payload(item)
            self.fold.take(item, payload)
            tell(item, payload)
        return is_new

    def state(self) -> State:
        """Say what has become of the run."""
        if self.fold.course.end is not None:
            return State.ENDED
        return State.RUNNING if is_held(lock_of(self.run)) else State.KILLED


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often a run is looked at; `once`: a single time."""

    interval_seconds: float = 0.25
    once: bool = False


def await_run(layout: Layout, pace: Pace) -> RunFound | int:
    """Return the newest run that lives, once there is one; the exit code if a signal came first."""
    with Signals() as signals:
        while True:
            found = next(iter(live_runs(layout)), None)
            if found is not None:
                return found
            numbers = signals.wait(pace.interval_seconds)
            if numbers:
                return exits.SIGNAL_BASE + numbers[0]


def watch(run: RunFound, screen: Screen, others: OtherRuns, pace: Pace) -> int:
    """Show a run until it ends, or once; return the exit code."""
    look, clock, looks, beside = Look.at(run), SystemClock(), 0, others()
    with Signals() as signals:
        try:
            while True:
                # The state before the events: what a run wrote last before it went is then among them.
                state = look.state()
                is_new = look.take(screen.event)
                if look.tail.path is None:
                    raise UnavailableError(Reason.NOT_FOUND, f"the ledger {run.places[0]} is gone")
                state = State.ENDED if look.fold.course.end is not None else state
                looks += 1
                beside = others() if looks % _OTHERS_EVERY == 0 else beside
                frame = Frame(fold=look.fold, state=state, now=clock.now(), others=beside)
                screen.show(frame, is_new=is_new)
                if pace.once or state is not State.RUNNING:
                    return exits.OK
                numbers = signals.wait(pace.interval_seconds)
                if numbers:
                    return exits.SIGNAL_BASE + numbers[0]
        finally:
            screen.close()


class LinesScreen:
    """Plain lines, one an event."""

    def event(self, event: Event, payload: Payload | None) -> None:
        """Print the event's line, if it has one."""
        line = live_lines.line(event, payload)
        if line is not None:
            console.result(line)

    def show(self, frame: Frame, *, is_new: bool) -> None:  # noqa: ARG002 - the port's signature
        """Say what no event says: that the run's docket is gone."""
        if frame.state is State.KILLED:
            console.result(console.plain(f"{frame.number}: {frame.ending}"))

    def close(self) -> None:
        """Nothing was taken."""


class JsonScreen:
    """One JSON document a look that brought something new; indented where it is the only one."""

    def __init__(self, *, once: bool) -> None:
        self._indent = 2 if once else None
        self._state: State | None = None

    def event(self, event: Event, payload: Payload | None) -> None:
        """The looks tell enough."""

    def show(self, frame: Frame, *, is_new: bool) -> None:
        """Print the look."""
        if is_new or frame.state is not self._state:
            console.result(console.as_json(live.document(frame), indent=self._indent))
        self._state = frame.state

    def close(self) -> None:
        """Nothing was taken."""


class PageScreen:
    """One frame as text, on standard output."""

    def event(self, event: Event, payload: Payload | None) -> None:
        """The frame tells enough."""

    def show(self, frame: Frame, *, is_new: bool) -> None:  # noqa: ARG002 - the port's signature
        """Print the frame, every line of it whole."""
        from rich.console import Console  # noqa: PLC0415 - rich is heavy

        from docket.surfaces.render.frame import FrameView  # noqa: PLC0415

        colour = console.colour_for(sys.stdout)
        width, lines = shutil.get_terminal_size()
        # Under the prompt that follows the whole frame is still to be seen.
        height = lines - 1 if sys.stdout.isatty() else None
        out = Console(force_terminal=colour, no_color=not colour, highlight=False, width=width)
        with out.capture() as captured:
            out.print(FrameView(frame=frame, height=height, wraps=True))
        for line in captured.get().rstrip("\n").split("\n"):
            console.result(line.rstrip(" "))

    def close(self) -> None:
        """Nothing was taken."""


class LiveScreen:
    """The whole terminal, drawn anew at every look; the last frame stays on it when the watch ends."""

    def __init__(self) -> None:
        from rich.console import Console  # noqa: PLC0415 - rich is heavy
        from rich.live import Live  # noqa: PLC0415

        self._console = Console(no_color=not console.colour_for(sys.stdout), highlight=False)
        self._live = Live(console=self._console, screen=True, auto_refresh=False)
        self._last: Frame | None = None
        self._live.start()

    def event(self, event: Event, payload: Payload | None) -> None:
        """The frame tells enough."""

    def show(self, frame: Frame, *, is_new: bool) -> None:  # noqa: ARG002 - time goes on without events
        """Draw the frame."""
        from docket.surfaces.render.frame import FrameView  # noqa: PLC0415

        self._last = frame
        self._live.update(FrameView(frame=frame, height=self._console.size.height), refresh=True)

    def close(self) -> None:
        """Give the terminal back and leave the last frame on it."""
        if self._live.is_started:
            self._live.stop()
            if self._last is not None:
                PageScreen().show(self._last, is_new=False)
