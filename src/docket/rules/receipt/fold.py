"""The one pure fold from a ledger's events to everything a receipt derives (`docket/fold/v1`).

Rules: it reads each event once and keeps memory in proportion to the usage rows; it serves the recorder and the
verifier alike; an event of an unknown type is counted and nothing else. A known type whose payload is mistyped is
an InvalidDocumentError that names the event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.disclosure import disclosure
from docket.formats.ledger.asserted_events import AssertedCall, ToolCall, ToolResult
from docket.formats.ledger.cache_events import CacheHit
from docket.formats.ledger.event import Event
from docket.formats.ledger.model_events import ModelDenied, ModelError, ModelRequest, ModelResponse, PriceRow
from docket.formats.ledger.network_events import NetAllowed, NetDenied, OtherExchange
from docket.formats.ledger.payload_codec import Payload, to_members
from docket.formats.ledger.resilience_events import BreakerChange, FaultInjected, FaultPlanned, Paced
from docket.formats.ledger.session_events import (
    EvidenceGap,
    Note,
    PolicyApplied,
    PolicyViolation,
    ProcExit,
    ProcSpawn,
    SessionEnd,
    SessionStart,
)
from docket.formats.ledger.spending_events import Budget, PoolEntered, PoolUse
from docket.formats.ledger.tree_events import (
    FsChange,
    FsSnapshot,
    Omissions,
    RollbackApplied,
    RollbackRefused,
    SnapshotRefused,
)
from docket.formats.ledger.vocabulary import read_payload
from docket.formats.ledger.window_events import HookLost, ToolDelta
from docket.formats.ledger.workspace_events import (
    WorkspaceIntent,
    WorkspaceOpened,
    WorkspaceRefused,
    WorkspaceSettled,
)
from docket.formats.reason import Reason
from docket.formats.run.receipt import UsageRow
from docket.rules.receipt.asserted import AssertedFold
from docket.rules.receipt.cache import CacheFold, ResponsesFold
from docket.rules.receipt.calls import CallsFold
from docket.rules.receipt.course import CourseFold
from docket.rules.receipt.families import Families
from docket.rules.receipt.limits import RunFacts, applying
from docket.rules.receipt.operations import OperationsFold
from docket.rules.receipt.prices import PricesFold, price_table
from docket.rules.receipt.proof import proof_member
from docket.rules.receipt.tree import TreeFold
from docket.rules.receipt.windows import WindowsFold
from docket.rules.receipt.workspace import WorkspaceFold


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """What the events add up to; `members` are the derived receipt members that need no proof."""

    start: SessionStart
    last_at: str
    rows: tuple[UsageRow, ...]
    members: JsonObject


def fold(events: Iterable[Event]) -> Folded:
    """Fold a whole ledger; InvalidDocumentError where it does not begin with a session.start of docket's."""
    ledger = LedgerFold()
    for event in events:
        ledger.take(event, read_payload_at(event))
    return ledger.result()


def read_payload_at(event: Event) -> Payload | None:
    """Read the typed payload; an error names the event."""
    try:
        return read_payload(event)
    except InvalidDocumentError as error:
        raise InvalidDocumentError(error.reason, f"event {event.seq}: {error.detail}") from error


class LedgerFold:
    """The fold, one event at a time."""

    def __init__(self) -> None:
        self.calls, self.prices, self.tree, self.course = CallsFold(), PricesFold(), TreeFold(), CourseFold()
        self.asserted, self.operations = AssertedFold(), OperationsFold()
        self.cache, self.responses = CacheFold(), ResponsesFold()
        self.workspace, self.windows = WorkspaceFold(), WindowsFold()
        self._counts: Counter[str] = Counter()
        self._last_at = ""
        self._takers = self._by_payload()

    def take(self, event: Event, payload: Payload | None) -> None:
        """Take the next event with its payload as `read_payload` gives it; InvalidDocumentError names the event."""
        self._counts[event.type] += 1
        self._last_at = event.ts
        taker = self._takers.get(type(payload))  # type: ignore[arg-type] # None is no key
        try:
            if taker is None:
                self._take_at(event, payload)
            else:
                taker(payload)
        except InvalidDocumentError as error:
            raise InvalidDocumentError(error.reason, f"event {event.seq}: {error.detail}") from error

    def _take_at(self, event: Event, payload: Payload | None) -> None:
        if isinstance(payload, ModelResponse):
            self.calls.response(payload, event.seq, event.hash)
            self.operations.response(payload)
            self.responses.response(payload)
            self.windows.asked.response(payload, event.seq)
        elif isinstance(payload, CacheHit):
            self.cache.hit(payload, event.seq, event.hash)
        elif isinstance(payload, SessionStart):
            self.course.begin(payload, event.ts)
        elif isinstance(payload, (ToolCall, ToolResult, ToolDelta)):
            self._tool(payload, event)

    def result(self) -> Folded:
        """Return what was folded."""
        start = self.course.start
        if start is None:
            raise InvalidDocumentError(Reason.MISSING_MEMBER, "the ledger has no session.start")
        return Folded(start=start, last_at=self._last_at, rows=tuple(self.calls.rows), members=self._members(start))

    def _by_payload(self) -> dict[type[Payload], Callable[..., None]]:
        course = self.course
        return {
            PolicyApplied: lambda payload: setattr(course, "policy", payload),
            ProcSpawn: lambda payload: setattr(course, "spawn", payload),
            ProcExit: lambda payload: setattr(course, "exit", payload),
            SessionEnd: lambda payload: setattr(course, "end", payload),
            Budget: lambda payload: setattr(course, "budget", payload),
            PoolEntered: course.pool_entered,
            PoolUse: course.pool_use,
            EvidenceGap: course.gaps.append,
            Note: self._note,
            HookLost: self.windows.hook_lost,
            AssertedCall: self.asserted.call,
            NetAllowed: course.net_allowed,
            NetDenied: course.net_denied,
            ModelRequest: self.calls.request,
            ModelDenied: self._denied,
            ModelError: self._error,
            BreakerChange: self.operations.breaker,
            Paced: self.operations.paced,
            FaultPlanned: self.operations.planned,
            FaultInjected: self.operations.fault,
            OtherExchange: self.calls.other,
            PriceRow: self.prices.row,
            FsChange: self.tree.change,
            FsSnapshot: self.tree.snapshot,
            Omissions: self.tree.omitted,
            SnapshotRefused: self.tree.snapshot_refused,
            RollbackApplied: self.tree.rolled_back,
            RollbackRefused: self.tree.rolled_back,
            PolicyViolation: self.tree.violation,
            **dict.fromkeys(
                (WorkspaceOpened, WorkspaceRefused, WorkspaceIntent, WorkspaceSettled), self.workspace.take
            ),
        }

    def _members(self, start: SessionStart) -> dict[str, JsonValue]:
        course, calls = self.course, self.calls
        document = self.prices.document(start.prices)
        fallback = Families.of(document).assumed({row.model for row in calls.rows})
        budget = course.budget
        return {
            "session": course.session(start),
            "policy": course.policy_member(),
            "boundary": {
                "admission": start.admission,
                "listener": dict(start.boundary),
                "upstream_overrides": dict(start.upstream_overrides),
            },
            "totals": calls.totals(fallback),
            "model_calls": calls.model_calls(),
            "budget": None if budget is None else budget.to_data(),
            "tools": self.asserted.tools_member(),
            "files": self.tree.files(),
            "network": course.network(),
            "caps": {"exceeded": self._counts["cap.exceeded"], "warnings": self._counts["cap.warning"]},
            "notes": {code: course.notes[code] for code in sorted(course.notes)},
            "event_counts": {name: self._counts[name] for name in sorted(self._counts)},
            "price_table": price_table(document, start.prices),
            "evidence": course.evidence(),
            "ops": self.operations.member(course.policy_document, calls.requests)
            | {"snapshot": self.tree.snapshot_member(), "rollback": self.tree.rollback_member()},
            "isolation": course.isolation(),
            "pools": course.pools_member(),
            "limits_disclosure": disclosure(applying(self._facts(start))),
            "latency": calls.latency(),
            "asserted": self.asserted.member(),
            "cache": self.cache.member(course.policy_document),
            "responses": self.responses.member(course.policy_document),
            "workspace": self.workspace.member(),
            "windows": self.windows.member(),
            "proof": proof_member(start.proof),
            "redaction": None if start.redaction is None else to_members(start.redaction),
        }

    def _tool(self, payload: ToolCall | ToolResult | ToolDelta, event: Event) -> None:
        match payload:
            case ToolCall():
                self.asserted.tool_call(payload)
                self.windows.call(payload, event.seq)
            case ToolResult():
                self.asserted.tool_result(payload)
                self.windows.result(payload, event.seq)
            case _:
                self.windows.delta(payload, event.seq, event.hash)

    def _denied(self, payload: ModelDenied) -> None:
        self.calls.denied(payload)
        self.operations.denied(payload)

    def _error(self, payload: ModelError) -> None:
        self.calls.error(payload)
        self.operations.error(payload)

    def _note(self, payload: Note) -> None:
        if payload.reported_by is None:
            self.course.note(payload)
            self.cache.note(payload)
        else:
            self.asserted.note(payload)

    def _facts(self, start: SessionStart) -> RunFacts:
        course = self.course
        return RunFacts(
            admission=start.admission,
            policy=course.policy_document,
            isolation=() if course.spawn is None else course.spawn.isolation,
            upstream_overrides=bool(start.upstream_overrides),
            both_passes=self.tree.both_passes,
            omissions=self.tree.omissions,
            calls=self.calls.responses,
            estimated=self.calls.estimated_calls > 0,
            assumed=bool(self.calls.assumed_models),
            gap=bool(course.gaps),
            ended=course.end is not None,
            http_proxy=start.boundary.get("http_proxy") is True,
            asserted=self.asserted.by_agent,
            signed=start.proof is not None and start.proof.signature is not None,
            sealed=start.proof is not None and start.proof.seal is not None,
            redacted=start.redaction is not None,
        )
