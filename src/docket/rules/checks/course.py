"""The course of a ledger of docket's own: which events stand once and where, and in which order calls go.

Rules (spec/receipt.md, Checks):
1. `session.start` is event 0 and stands nowhere else; `session.end` is the last event.
2. `policy.applied`, `proc.spawn`, `proc.exit` and each pass of `fs.snapshot` stand at most once; the policy before
   any process or call, the exit after the spawn, the pass after behind the pass before, and the pass whose contents
   are kept between that and any process. Omissions stand behind the pass they belong to.
3. Calls are numbered from 1 in the order of their `model.request`; each is settled at most once, by a
   `model.response` or a `model.error` that agrees with its request. `requested_model` stands where the reply's model
   is another than the one asked for, and only there.
4. No event's instant lies before that of the event before it.
5. `cumulative_cost_usd` is the running sum; `x-docket.budget` and `session.end` state the final one, unless an
   `x-docket.evidence-gap` says that events are missing.

What is said of caps is `caps`'s, of a transaction `workspace_course`'s.
"""

from __future__ import annotations

from docket.formats.amount import Usd
from docket.formats.dataclass import dataclass, field
from docket.formats.ledger.event import Event
from docket.formats.ledger.model_events import ModelError, ModelRequest, ModelResponse
from docket.formats.ledger.network_events import NetAllowed, NetClosed
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.session_events import (
    EvidenceGap,
    PolicyApplied,
    ProcExit,
    ProcSpawn,
    SessionEnd,
    SessionStart,
)
from docket.formats.ledger.spending_events import Budget, CapExceeded
from docket.formats.ledger.tree_events import (
    FsChange,
    FsSnapshot,
    Omissions,
    Phase,
    RollbackApplied,
    RollbackRefused,
    SnapshotRefused,
)
from docket.rules.checks.drills import DrillOrder
from docket.rules.checks.tunnels import TunnelOrder
from docket.rules.checks.workspace_course import WORKSPACE_EVENTS, WorkspaceCourse


@dataclass(slots=True)
class SessionShape:
    """Rules 1 and 2."""

    seen: set[str] = field(default_factory=set)
    passed: Phase | None = None
    workspace: WorkspaceCourse = field(default_factory=WorkspaceCourse)

    def take(self, event: Event, payload: Payload | None) -> str | None:
        """Return what is wrong with the next event, or None."""
        if "session.end" in self.seen:
            return "it stands after session.end"
        if isinstance(payload, SessionStart) and event.seq != 0:
            return "a second session.start"
        if isinstance(payload, (ProcSpawn, ModelRequest)) and "policy.applied" not in self.seen:
            return "it stands before policy.applied"
        if isinstance(payload, ProcExit) and "proc.spawn" not in self.seen:
            return "it stands without proc.spawn"
        if isinstance(payload, Omissions) and payload.phase is not self.passed:
            return "it stands behind a pass of another phase, or none"
        return self._once(payload)

    def _once(self, payload: Payload | None) -> str | None:
        if isinstance(payload, FsSnapshot):
            key, self.passed = f"{payload.TYPE} {payload.phase}", payload.phase
            if payload.phase is not Phase.BEFORE and f"{payload.TYPE} {Phase.BEFORE}" not in self.seen:
                return f"the pass {payload.phase} stands without the pass before"
            if payload.phase is Phase.CONTENTS and "proc.spawn" in self.seen:
                return "the contents were kept when the agent had been started"
        elif isinstance(payload, (RollbackApplied, RollbackRefused)):
            key = "rollback"
            if f"{FsSnapshot.TYPE} {Phase.AFTER}" not in self.seen or "cap.exceeded" not in self.seen:
                return "a rollback stands without a cap that was exceeded and the pass after"
        elif isinstance(payload, WORKSPACE_EVENTS):
            key = payload.TYPE
            fault = self.workspace.take(
                payload,
                has_process="proc.spawn" in self.seen,
                has_pass_after=f"{FsSnapshot.TYPE} {Phase.AFTER}" in self.seen,
            )
            if fault is not None:
                return fault
        elif isinstance(payload, CapExceeded):
            self.seen.add(payload.TYPE)
            return None
        elif isinstance(payload, (PolicyApplied, ProcSpawn, ProcExit, Budget, SessionEnd, SnapshotRefused)):
            key = payload.TYPE
        else:
            return None
        if key in self.seen:
            return "it stands twice"
        self.seen.add(key)
        return None


@dataclass(slots=True)
class EventOrder:
    """Rules 3 to 5, `tunnels`'s and `drills`'s; memory is proportional to what is in flight."""

    gap: bool = False
    last_at: str = ""
    requested: int = 0
    open: dict[int, ModelRequest] = field(default_factory=dict)
    tunnels: TunnelOrder = field(default_factory=TunnelOrder)
    drills: DrillOrder = field(default_factory=DrillOrder)
    spent_micros: int = 0

    def take(self, event: Event, payload: Payload | None) -> str | None:
        """Return what is wrong with the next event, or None."""
        before, self.last_at = self.last_at, event.ts
        if type(payload) is FsChange:
            # Of what a long ledger has the most nothing else is to be said.
            self.drills.last = None
            fault = None
        else:
            fault = self._calls(payload) or self.drills.take(payload)
        if fault is None and event.ts < before:
            return "its instant lies before that of the event before it"
        return fault

    def _calls(self, payload: Payload | None) -> str | None:
        if isinstance(payload, ModelRequest):
            return self._request(payload)
        if isinstance(payload, ModelResponse):
            return self._response(payload)
        if isinstance(payload, ModelError):
            return self._settle(payload, payload.model)
        if isinstance(payload, (NetAllowed, NetClosed)):
            return self.tunnels.take(payload)
        if isinstance(payload, EvidenceGap):
            self.gap = True
        if self.gap:
            return None
        if isinstance(payload, Budget):
            return self._other_sum("spent_usd", payload.spent_usd)
        if isinstance(payload, SessionEnd):
            return self._other_sum("cost_usd", payload.cost_usd)
        return None

    def _request(self, payload: ModelRequest) -> str | None:
        self.requested += 1
        if payload.call != self.requested:
            return f"call is {payload.call}, the next number is {self.requested}"
        self.open[payload.call] = payload
        return None

    def _response(self, payload: ModelResponse) -> str | None:
        asked = payload.model if payload.requested_model is None else payload.requested_model
        fault = self._settle(payload, asked)
        if fault is None and payload.requested_model == payload.model:
            fault = "requested_model repeats the model"
        self.spent_micros += payload.cost_usd.micros
        return fault or self._other_sum("cumulative_cost_usd", payload.cumulative_cost_usd)

    def _other_sum(self, name: str, stated: Usd) -> str | None:
        if stated.micros == self.spent_micros:
            return None
        return f"{name} is {stated}, the calls add up to {Usd(self.spent_micros)}"

    def _settle(self, payload: ModelResponse | ModelError, asked: str) -> str | None:
        request = self.open.pop(payload.call, None)
        if request is None:
            return f"call {payload.call} is not in flight"
        if payload.provider != request.provider:
            return f"provider differs from that of the request of call {payload.call}"
        if asked != request.model:
            return f"the model asked for differs from that of the request of call {payload.call}"
        if isinstance(payload, ModelResponse) and payload.streaming is not request.streaming:
            return f"streaming differs from that of the request of call {payload.call}"
        return None
