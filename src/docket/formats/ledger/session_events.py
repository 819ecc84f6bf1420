"""The payloads that begin, end and frame a run: session, policy, process, remarks (spec/ledger.md, Vocabulary)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar

from docket.formats.amount import Usd
from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.asserted_events import Reporter
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.proof_facts import ProofFacts
from docket.formats.ledger.redaction_facts import RedactionFacts
from docket.formats.relpath import RelPath

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
    proof: ProofFacts | None = None
    redaction: RedactionFacts | None = None  # in a copy that hides something


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
    """A remark for the reader of the record; `code` is stable, `message` is prose. The agent's own say so.

    `event` is what other readers of the public format know the remark by, where they do.
    """

    TYPE: ClassVar[str] = "note"
    code: str
    message: str
    detail: Mapping[str, JsonValue] | None = None
    reported_by: Reporter | None = None
    event: str | None = None


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
