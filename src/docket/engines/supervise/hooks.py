"""The hooks of a run's agent: taken from the boundary, worked off beside it, and their windows closed at the end.

Rules (spec/windows.md, In a run):
1. `tell` only puts a hook into a queue that is bounded by number and bytes; what does not fit is lost and counted.
   Workers take it from there, a few at a time, so that tools that overlap do not wait for one another.
2. Whoever waits is told when a hook was dealt with, whatever became of it. No fault in here reaches the agent.
3. What is lost is told in the record: the first of its kind at once, the rest at the end.
4. `end` comes when no process of the run is left: what waits in the queue is worked off, then windows that are still
   open are closed.

What a hook means for its windows is `tool_windows`', which is loaded with the first one.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from docket.engines.supervise.request import WindowsAsked
from docket.errors import DocketError
from docket.formats.dataclass import dataclass, replace
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.window_events import HookLost
from docket.host.disk import SYSTEM_DISK
from docket.rules.windows.hook_door import Hook, HookLoss
from docket.stores.layout import Layout, open_docket_dir

if TYPE_CHECKING:
    from docket.engines.supervise.session import OpenRun
    from docket.engines.supervise.tool_windows import ToolWindows
    from docket.engines.transaction.world import OpenTransaction
    from docket.engines.windows.world import WindowsWorld

WINDOWS = "windows"
MAX_WAITING = 256
MAX_WAITING_BYTES = 128 * 1024 * 1024
WORKERS = 4
END_SECONDS = 5.0


class Record(Protocol):
    """What is needed of the record."""

    def append(self, payload: Payload, *, control: bool = False) -> object:
        """Queue an event."""
        ...


@dataclass(frozen=True, slots=True)
class _Job:
    hook: Hook
    done: Callable[[], None]
    arrived: float


class RunHooks:
    """The hooks of one run; every method may be called from any thread. `stage` is set before the agent starts."""

    def __init__(
        self,
        record: Record,
        open_world: Callable[[OpenTransaction | None], WindowsWorld],
        ledger: Path,
        publish: Callable[[bytes], None] | None = None,
    ) -> None:
        """Take the run's record and its ledger's path; `publish` puts a delta where the receipt will stand."""
        self._record, self._open_world = record, open_world
        self._ledger, self._publish = ledger, publish
        self._lock = threading.Lock()
        self._opening = threading.Lock()  # for long, while the other is held for instants alone
        self._news = threading.Condition(self._lock)
        self._jobs: deque[_Job] = deque()
        self._waiting_bytes = self._busy = self._workers = 0
        self._is_ending = self._has_ended = False
        self._windows: ToolWindows | None = None
        self.stage: OpenTransaction | None = None
        self._lost: Counter[HookLoss] = Counter()
        self._told: set[HookLoss] = set()

    def tell(self, hook: Hook, done: Callable[[], None]) -> None:
        """Take a hook; `done` is called once it was dealt with."""
        lost = hook.lost or self._queued(_Job(hook, done, time.monotonic()))
        if lost is not None:
            self._lose(lost)
            done()

    def end(self) -> None:
        """Work off what waits, close what is open, and tell the rest; a second call does nothing."""
        until = time.monotonic() + END_SECONDS
        with self._news:
            if self._is_ending:
                return
            self._is_ending = True
            self._news.notify_all()
            while (self._jobs or self._busy) and time.monotonic() < until:
                self._news.wait(max(until - time.monotonic(), 0.01))
            left, self._jobs = list(self._jobs), deque()
            self._has_ended = True
            windows = self._windows
            if windows is None and self._busy:  # whoever still waits for them comes too late
                self._lost[HookLoss.RUN_ENDING] += self._busy
        for job in left:
            self._lose(HookLoss.RUN_ENDING)
            job.done()
        if windows is not None:
            with suppress(Exception):  # what cannot be closed now is seen to by whoever looks at the windows next
                lost = windows.end(END_SECONDS)
                if lost is not None:
                    self._lose(lost)
        with self._lock:
            rest, self._lost = self._lost, Counter()
        for kind, count in sorted(rest.items()):
            self._append(HookLost(kind=str(kind), count=count))

    def _queued(self, job: _Job) -> HookLoss | None:
        size = len(job.hook.body)
        with self._news:
            if self._is_ending:
                return HookLoss.RUN_ENDING
            if len(self._jobs) >= MAX_WAITING or self._waiting_bytes + size > MAX_WAITING_BYTES:
                return HookLoss.QUEUE_FULL
            self._jobs.append(job)
            self._waiting_bytes += size
            if self._workers < WORKERS and self._workers - self._busy < len(self._jobs):
                self._workers += 1
                threading.Thread(target=self._work, name="docket-hooks", daemon=True).start()
            self._news.notify()
        return None

    def _work(self) -> None:
        while True:
            with self._news:
                while not self._jobs:
                    if self._is_ending:
                        self._news.notify_all()
                        return
                    self._news.wait()
                job = self._jobs.popleft()
                self._waiting_bytes -= len(job.hook.body)
                self._busy += 1
            try:
                self._dealt_with(job)
            finally:
                job.done()
                self._publish_told()
                with self._news:
                    self._busy -= 1
                    self._news.notify_all()

    def _dealt_with(self, job: _Job) -> None:
        try:
            windows = self._opened()
            lost = None if windows is None else windows.take(job.hook, job.arrived)
        except Exception:  # noqa: BLE001 - no fault of docket's fails an agent's tool
            lost = HookLoss.FAULT
        if lost is not None and not self._has_ended:  # the record may be closed
            self._lose(lost)

    def _publish_told(self) -> None:
        """Do what no tool has to wait for."""
        with suppress(Exception):
            if self._windows is not None:
                self._windows.publish_deltas()

    def _opened(self) -> ToolWindows | None:
        """Return the windows, made with the first hook; None where the end came before they were."""
        with self._opening:
            if self._windows is None and not self._has_ended:
                from docket.engines.supervise.tool_windows import RunPlace, ToolWindows  # noqa: PLC0415 - the load put off

                place = RunPlace(session_id=self._ledger.stem, ledger=self._ledger, publish=self._publish)
                windows = ToolWindows(self._record, lambda: self._open_world(self.stage), place)
                with self._lock:
                    if not self._has_ended:  # nobody would end them
                        self._windows = windows
            return self._windows

    def _lose(self, kind: HookLoss) -> None:
        with self._lock:
            is_first = kind not in self._told
            self._told.add(kind)
            if not is_first and not self._has_ended:
                self._lost[kind] += 1
        if is_first:
            self._append(HookLost(kind=str(kind), count=1))

    def _append(self, payload: Payload) -> None:
        with suppress(DocketError):
            self._record.append(payload)


def run_hooks(run: OpenRun) -> RunHooks | None:
    """Return the hooks of a run, None where it keeps no windows."""
    make_world, request = run.world.windows, run.request
    if make_world is None:
        return None
    docket_dir = None if request.layout.is_split else request.layout.docket_dir

    def opened(stage: OpenTransaction | None) -> WindowsWorld:
        asked = WindowsAsked(folder=request.cwd, docket_dir=docket_dir)
        if stage is not None:
            asked = replace(asked, stage=stage.stage.root, transaction=stage.state.id)
        return make_world(asked)

    publish = _into_docket_dir(request.layout) if request.layout.is_split else None
    return RunHooks(run.session.ledger, opened, run.session.ledger.path, publish)


def _into_docket_dir(layout: Layout) -> Callable[[bytes], None]:
    def publish(document: bytes) -> None:
        from docket.stores.windows.evidence import Evidence  # noqa: PLC0415 - what a window alone needs

        open_docket_dir(layout, SYSTEM_DISK).close()
        Evidence(layout.docket_dir / WINDOWS).put_delta(document)

    return publish
