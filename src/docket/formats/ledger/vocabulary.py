"""Which typed payload an event's type stands for (spec/ledger.md, Vocabulary).

Unknown types are preserved: `read_payload` returns None for them and for documents of other writers whose known
types carry other members. Names of types are append-only. What stands here stands in `spec/events.json` too, which
other programs read; a test holds them against each other.
"""

from __future__ import annotations

from collections.abc import Mapping

from docket.formats.ledger.asserted_events import AssertedCall, ToolCall, ToolResult
from docket.formats.ledger.cache_events import CacheHit, ComponentsHit
from docket.formats.ledger.checkpoint_events import CheckpointMade
from docket.formats.ledger.event import Event
from docket.formats.ledger.model_events import ModelDenied, ModelError, ModelRequest, ModelResponse, PriceRow
from docket.formats.ledger.network_events import NetAllowed, NetClosed, NetDenied, OtherExchange
from docket.formats.ledger.payload_codec import Payload, from_members
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
from docket.formats.ledger.spending_events import Budget, CapExceeded, CapWarning, PoolEntered, PoolUse
from docket.formats.ledger.tree_events import (
    FsChange,
    FsSnapshot,
    Omissions,
    RollbackApplied,
    RollbackRefused,
    SnapshotRefused,
)
from docket.formats.ledger.window_events import HookLost, ToolDelta
from docket.formats.ledger.workspace_events import (
    WorkspaceIntent,
    WorkspaceOpened,
    WorkspaceRefused,
    WorkspaceSettled,
)

PAYLOADS: Mapping[str, type[Payload]] = {
    cls.TYPE: cls
    for cls in (
        SessionStart, PolicyApplied, PolicyViolation, Note, FsSnapshot, Omissions, FsChange, ProcSpawn, ProcExit,
        ModelRequest, ModelResponse, ModelError, ModelDenied, OtherExchange, PriceRow, CacheHit, ComponentsHit,
        CapWarning, CapExceeded, Budget, NetDenied, NetAllowed, NetClosed, ToolCall, ToolResult,
        AssertedCall, PoolEntered, PoolUse, EvidenceGap, SessionEnd,
        Paced, BreakerChange, FaultPlanned, FaultInjected, SnapshotRefused, RollbackApplied, RollbackRefused,
        WorkspaceOpened, WorkspaceRefused, WorkspaceIntent, WorkspaceSettled, ToolDelta, HookLost, CheckpointMade,
    )
}  # fmt: skip


def read_payload(event: Event) -> Payload | None:
    """Return the typed payload, None for a type this version does not know; InvalidDocumentError if mistyped."""
    if event.payload is not None:
        return event.payload  # type: ignore[no-any-return] # it was made for this type
    cls = PAYLOADS.get(event.type)
    return None if cls is None else from_members(cls, event.data, event.type)
