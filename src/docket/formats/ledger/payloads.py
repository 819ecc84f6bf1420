"""The payloads of `docket/ledger/v1` events that docket itself observes (spec/ledger.md, Vocabulary).

Unknown types are preserved: `read_payload` returns None for them and for documents of other writers whose known
types carry other members. Names of types are append-only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from docket.formats.amount import Usd
from docket.formats.canonical import JsonValue
from docket.formats.digest import Digest
from docket.formats.ledger.event import Event
from docket.formats.ledger.payload_codec import Payload, from_members
from docket.formats.relpath import RelPath
from docket.formats.run.usage import Usage, UsagePart, UsageSource

FOLD = "docket/fold/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStart(Payload):
    """The first event. `fold` names the rules by which a receipt derives from this ledger."""

    TYPE: ClassVar[str] = "session.start"
    session_id: str
    docket_number: str
    label: str | None = None
    argv: tuple[str, ...]
    argv_b64: tuple[str, ...] | None = None
    cwd: str
    cwd_b64: str | None = None
    tool: str
    version: str
    fold: str
    agent: str
    admission: str
    boundary: Mapping[str, JsonValue]
    upstream_overrides: Mapping[str, JsonValue]
    host: Mapping[str, JsonValue]
    prices: Mapping[str, JsonValue]  # {schema, as_of, digest} of the whole table the rows come from


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyApplied(Payload):
    """The effective policy, after flags; `source` is where it was read, or None for defaults and flags alone."""

    TYPE: ClassVar[str] = "policy.applied"
    name: str
    digest: Digest
    document: Mapping[str, JsonValue]
    source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyViolation(Payload):
    """Something the policy forbids was seen to have happened."""

    TYPE: ClassVar[str] = "policy.violation"
    rule: str
    path: RelPath | None = None
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Note(Payload):
    """A remark for the reader of the record; `code` is stable, `message` is prose."""

    TYPE: ClassVar[str] = "note"
    code: str
    message: str
    detail: Mapping[str, JsonValue] | None = None


class Phase(StrEnum):
    """When a pass over the tree was made."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True, kw_only=True)
class FsSnapshot(Payload):
    """A digest pass over the watched tree; `tree_sha256` is the digest of its listing, omissions included."""

    TYPE: ClassVar[str] = "fs.snapshot"
    phase: Phase
    roots: tuple[str, ...]
    files: int
    directories: int
    symlinks: int
    omissions: int
    bytes_watched: int
    tree_sha256: Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class OmittedPath:
    """A path the pass could not or would not observe."""

    path: RelPath
    reason: str
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Omissions(Payload):
    """Paths a pass did not observe; a long list spans several events."""

    TYPE: ClassVar[str] = "x-docket.omissions"
    phase: Phase
    omissions: tuple[OmittedPath, ...]


class Change(StrEnum):
    """How a path differs between two listings."""

    ADDED = "added"
    MODIFIED = "modified"
    REMOVED = "removed"
    RETYPED = "retyped"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryState:
    """What stood at a path: kind is file, directory or symlink; size, sha256, target where the kind has them."""

    kind: str
    mode: int
    size: int | None = None
    sha256: Digest | None = None
    target: str | None = None
    target_b64: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FsChange(Payload):
    """One path that differs between the pass before and the pass after."""

    TYPE: ClassVar[str] = "fs.change"
    path: RelPath
    change: Change
    before: EntryState | None = None
    after: EntryState | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcSpawn(Payload):
    """The agent was started (argv as executed, after the recipe)."""

    TYPE: ClassVar[str] = "proc.spawn"
    argv: tuple[str, ...]
    argv_b64: tuple[str, ...] | None = None
    cwd: str
    cwd_b64: str | None = None
    env_set: tuple[str, ...]  # names only, values may be secret
    isolation: tuple[str, ...]  # what holds of the launcher: subreaper, pdeathsig, pidfd


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcExit(Payload):
    """The agent ended; `terminated_by` says who ended it if it was not itself (cap name, signal name)."""

    TYPE: ClassVar[str] = "proc.exit"
    exit_code: int
    signal: str | None = None
    terminated_by: str | None = None
    leftover_processes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest(Payload):
    """A model call that was admitted; written before it is sent. `call` is docket's own number, from 1."""

    TYPE: ClassVar[str] = "model.request"
    call: int
    provider: str
    wire: str
    model: str
    model_b64: str | None = None
    method: str
    path: str
    streaming: bool
    fingerprint: str
    request_sha256: Digest
    body_bytes: int
    forwarded_sha256: Digest | None = None
    altered: tuple[str, ...] | None = None
    held_usd: Usd | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One priced part of a call; `model` names a family of the embedded price table."""

    model: str
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int
    cost_usd: Usd


class Outcome(StrEnum):
    """How the passing of a reply ended."""

    COMPLETE = "complete"
    CUT = "cut"
    CLIENT_GONE = "client_gone"
    UPSTREAM_BROKEN = "upstream_broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResponse(Payload):
    """A reply that was billed; components sum to `cost_usd`, the base component stands last."""

    TYPE: ClassVar[str] = "model.response"
    call: int
    provider: str
    model: str
    model_b64: str | None = None
    requested_model: str | None = None
    status: int
    outcome: Outcome
    latency_ms: int
    first_byte_ms: int | None = None
    usage: Usage
    usage_source: UsageSource
    usage_note: str | None = None
    usage_parts: tuple[UsagePart, ...] | None = None
    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None
    components: tuple[Component, ...]
    cost_usd: Usd
    cumulative_cost_usd: Usd
    assumed_price: bool
    streaming: bool
    response_bytes: int
    response_sha256: Digest
    provider_request_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelError(Payload):
    """A call that ended without a billable reply: the upstream's error status, or none could be reached."""

    TYPE: ClassVar[str] = "model.error"
    call: int
    provider: str
    model: str
    status: int
    latency_ms: int
    reason: str
    error: str
    response_bytes: int
    response_sha256: Digest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDenied(Payload):
    """A call that docket refused; `cap` repeats the reason where a cap was it."""

    TYPE: ClassVar[str] = "model.denied"
    provider: str
    model: str
    reason: str
    cap: str | None = None
    detail: str
    status: int
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherExchange(Payload):
    """A request that is not billed and passed through: model lists, token counting, HEAD."""

    TYPE: ClassVar[str] = "x-docket.other"
    provider: str
    method: str
    path: str
    status: int
    response_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceRow(Payload):
    """A family of the embedded price table, written once, before the first response priced by it."""

    TYPE: ClassVar[str] = "x-docket.price"
    pattern: str
    input: str
    cached_input: str | None = None
    output: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CapWarning(Payload):
    """The warning share of a cap was reached."""

    TYPE: ClassVar[str] = "cap.warning"
    cap: str
    threshold: str
    used_pct: str
    used: str
    limit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CapExceeded(Payload):
    """A cap ended the run or refused a call; `action` is kill or deny."""

    TYPE: ClassVar[str] = "cap.exceeded"
    cap: str
    limit: str
    used: str
    cost_usd: Usd
    tokens: int
    calls: int
    action: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget(Payload):
    """How the USD cap held: what was admitted how, the stated bound and the actual overshoot."""

    TYPE: ClassVar[str] = "x-docket.budget"
    admission: str
    cap_usd: Usd | None = None
    spent_usd: Usd
    overshoot_usd: Usd
    bound_usd: Usd
    peak_held_usd: Usd


@dataclass(frozen=True, slots=True, kw_only=True)
class NetDenied(Payload):
    """Requests turned away at the door (no token, wrong host), counted and not told one by one."""

    TYPE: ClassVar[str] = "net.denied"
    reason: str
    kind: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceGap(Payload):
    """The ledger could not take events; what follows is all that could be saved."""

    TYPE: ClassVar[str] = "x-docket.evidence-gap"
    first_failing_seq: int
    unwritten_events: int
    detail: str


class ExitSource(StrEnum):
    """Whose number the exit code is."""

    AGENT = "agent"
    CAP = "cap"
    DOCKET = "docket"
    SIGNAL = "signal"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnd(Payload):
    """The last event; a ledger without it is incomplete."""

    TYPE: ClassVar[str] = "session.end"
    exit_code: int
    exit_source: ExitSource
    duration_seconds: str
    breached: str | None = None
    interrupted: bool
    cost_usd: Usd


PAYLOADS: Mapping[str, type[Payload]] = {
    cls.TYPE: cls
    for cls in (
        SessionStart, PolicyApplied, PolicyViolation, Note, FsSnapshot, Omissions, FsChange, ProcSpawn, ProcExit,
        ModelRequest, ModelResponse, ModelError, ModelDenied, OtherExchange, PriceRow, CapWarning, CapExceeded,
        Budget, NetDenied, EvidenceGap, SessionEnd,
    )
}  # fmt: skip


def read_payload(event: Event) -> Payload | None:
    """Return the typed payload, None for a type this version does not know; InvalidDocumentError if mistyped."""
    cls = PAYLOADS.get(event.type)
    return None if cls is None else from_members(cls, event.data, event.type)
