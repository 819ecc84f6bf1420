"""What a hook means in a run: the windows of a tree or a stage, and the events of the record that tell of them.

Rules (spec/windows.md, In a run):
1. A tool use has one `tool.call`, with the tree that stood before it, and one `tool.result`, whoever comes twice.
2. A window that is over has one `x-docket.tool-delta`, behind the result that closed it. It is told of this run's own
   windows alone: what an earlier run has told is that one's, and another agent's that overlapped counts in `members`.
3. Every hook is worked off with ports of its own: what they hold is not made for two at a time.
4. A run tells of MAX_WINDOWS windows at most, so that whoever has its token cannot fill its record.
5. The windows of the run that are open at its end are closed: their processes are gone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from docket.engines.supervise.hook_reading import read_hook
from docket.engines.windows.leave import leave
from docket.engines.windows.take import take
from docket.engines.windows.world import Outcome, WindowsWorld
from docket.errors import DocketError
from docket.formats.dataclass import dataclass, replace
from docket.formats.digest import Digest
from docket.formats.ledger.asserted_events import Reporter, ToolCall, ToolResult
from docket.formats.ledger.window_events import ToolDelta, WindowBegun
from docket.formats.windows.delta import Delta
from docket.formats.windows.key import WindowKey
from docket.formats.windows.records import ClosedWindow
from docket.host.git_program import Deadline
from docket.rules.windows.hook_door import Hook, HookLoss
from docket.rules.windows.tool_event import OtherEvent, Phase, ToolEvent

if TYPE_CHECKING:
    from docket.engines.supervise.hooks import Record

LEAST_SECONDS = 0.05
MAX_WINDOWS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlace:
    """The run that windows are of, and where its ledger stands.

    `publish` puts a delta where the run's receipt will stand, None where it is there.
    """

    session_id: str
    ledger: Path
    publish: Callable[[bytes], None] | None = None


class ToolWindows:
    """The windows of one run; `take` may be called by several threads at a time."""

    def __init__(self, record: Record, open_world: Callable[[], WindowsWorld], place: RunPlace) -> None:
        self._record, self._open_world, self._session_id = record, open_world, place.session_id
        self._publish = place.publish
        with suppress(DocketError):  # without it the cost of a tool is not told, and nothing else
            open_world().evidence.note_ledger(place.session_id, place.ledger)
        self._lock = threading.Lock()
        self._known: set[str] = set()
        self._begun: dict[str, float] = {}
        self._opened: set[str] = set()
        self._ended: set[str] = set()
        self._told: set[str] = set()
        self._unpublished: list[Digest] = []
        self._is_over = False

    def take(self, hook: Hook, arrived: float) -> HookLoss | None:
        """Do what a hook asks for and record it; return why nothing came of it, where nothing did."""
        said = read_hook(hook)
        if isinstance(said, HookLoss):
            return said
        world, closed = self._world(arrived)
        if isinstance(said, ToolEvent) and self._is_beyond(said, world):
            return HookLoss.TOO_MANY
        outcomes = take(said, world)
        match said:
            case ToolEvent(phase=Phase.BEFORE):
                self._called(said, outcomes, world)
            case ToolEvent():
                self._returned(said, outcomes, arrived)
            case OtherEvent():
                pass
        return self._tell(closed, world)

    def end(self, seconds: float) -> HookLoss | None:
        """Close what is open, and tell of windows that somebody else has closed meanwhile; return what could not be."""
        world, closed = self._world(time.monotonic())
        with self._lock:
            left = self._known - self._told
        try:
            leave(left, world, Deadline.within(seconds))
            closed.extend(filter(None, map(world.evidence.closed, sorted(left))))
        finally:
            lost = self._tell(closed, world)
            with self._lock:
                self._is_over = True
            self.publish_deltas()
            world.dispose()
        return lost

    def publish_deltas(self) -> None:
        """Put deltas that were told where the run's receipt will stand, so that they can be looked at together."""
        with self._lock:
            told, self._unpublished = self._unpublished, []
        if self._publish is None or not told:
            return
        with suppress(DocketError):
            evidence = self._open_world().evidence
            for digest in dict.fromkeys(told):
                self._publish(evidence.delta_document(digest))

    def _is_beyond(self, said: ToolEvent, world: WindowsWorld) -> bool:
        with self._lock:
            if len(self._known) < MAX_WINDOWS:
                return False
            known = bool(said.tool_use_id) and said.key(world.tree.repository, world.mode).window_id in self._known
        return not known

    def _world(self, arrived: float) -> tuple[WindowsWorld, list[ClosedWindow]]:
        """Return ports for one hook, and where they put the windows that are closed for it."""
        world, closed = self._open_world(), list[ClosedWindow]()

        def announce(record: ClosedWindow, _digest: Digest) -> None:
            closed.append(record)

        left = world.budget_seconds - (time.monotonic() - arrived)
        return replace(
            world, announce=announce, budget_seconds=max(left, LEAST_SECONDS), record=self._session_id
        ), closed

    def _called(self, said: ToolEvent, outcomes: Iterable[Outcome], world: WindowsWorld) -> None:
        for outcome in outcomes:
            key = _key_of(outcome) or (said.key(world.tree.repository, world.mode) if said.tool_use_id else None)
            begun = None if key is None else _begun(key, outcome)
            if key is not None and not self._is_first(key.window_id, outcome):
                continue
            self._append(
                ToolCall(
                    name=said.tool_name,
                    id=said.tool_use_id or (None if key is None else key.tool_use_id),
                    input_sha256=said.input_sha256,
                    reported_by=Reporter.AGENT,
                    window=begun,
                )
            )

    def _returned(self, said: ToolEvent, outcomes: Iterable[Outcome], arrived: float) -> None:
        for outcome in outcomes:
            key = _key_of(outcome)
            window_id = None if key is None else key.window_id
            with self._lock:
                if window_id in self._ended:
                    continue
                if window_id is not None:
                    self._ended.add(window_id)
                    self._known.add(window_id)
                started = self._begun.get(window_id or "")
            self._append(
                ToolResult(
                    name=said.tool_name,
                    ok=said.outcome is None,
                    id=said.tool_use_id or (None if key is None else key.tool_use_id),
                    duration_ms=None if started is None else max(int((arrived - started) * 1000), 0),
                    error=said.outcome,
                    reported_by=Reporter.AGENT,
                    window_id=window_id,
                )
            )

    def _is_first(self, window_id: str, outcome: Outcome) -> bool:
        with self._lock:
            if outcome.window is not None:
                self._opened.add(window_id)
            if window_id in self._begun:
                return False
            self._known.add(window_id)
            self._begun[window_id] = time.monotonic()
        return True

    def _tell(self, closed: Iterable[ClosedWindow], world: WindowsWorld) -> HookLoss | None:
        """Tell of windows that are over; one whose delta cannot be read keeps no other from it."""
        lost: HookLoss | None = None
        for record in closed:
            window_id = record.key.window_id
            with self._lock:
                if window_id in self._told or window_id not in self._known or not self._is_own(record):
                    continue
                self._told.add(window_id)
                self._unpublished.append(record.delta_sha256)
            try:
                self._append(_delta_event(record, world.evidence.delta(record.delta_sha256)))
            except DocketError:
                lost = HookLoss.FAULT
        return lost

    def _is_own(self, record: ClosedWindow) -> bool:
        session_id, _, named = record.event_id.partition(".")
        # Whoever ended a tool of this run from elsewhere names no session.
        return session_id == self._session_id or (named == "post" and record.key.window_id in self._opened)

    def _append(self, payload: ToolCall | ToolResult | ToolDelta) -> None:
        with self._lock, suppress(DocketError):
            if not self._is_over:  # what a hook still does then comes too late for the record
                self._record.append(payload)


def _key_of(outcome: Outcome) -> WindowKey | None:
    found = outcome.window or outcome.closed
    return None if found is None else found.key


def _begun(key: WindowKey, outcome: Outcome) -> WindowBegun:
    window = outcome.window
    baseline = None if window is None else window.baseline
    return WindowBegun(
        window_id=key.window_id,
        repository=key.repository,
        provider=key.provider,
        session_id=key.session_id,
        turn_id=key.turn_id,
        mode=key.mode,
        group_id=None if window is None else window.group_id,
        tree=None if baseline is None else baseline.tree,
        hashes=None if baseline is None else baseline.hashes,
        head=None if baseline is None else baseline.head,
        reason=None if baseline is not None else _reason(outcome),
    )


def _reason(outcome: Outcome) -> str | None:
    window = outcome.window
    return outcome.reason or (None if window is None else window.reason) or str(outcome.said)


def _delta_event(record: ClosedWindow, delta: Delta) -> ToolDelta:
    return ToolDelta(
        window_id=record.key.window_id,
        id=record.key.tool_use_id,
        name=record.tool_name,
        delta_sha256=record.delta_sha256,
        scope=delta.scope,
        status=record.status,
        members=record.members,
        files=len(delta.files),
        group_id=record.group_id,
        reason=record.reason,
        tree_before=record.tree_before if record.tree_after is not None else None,
        tree_after=record.tree_after,
    )
