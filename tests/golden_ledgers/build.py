"""Ledgers for tests, built event by event from formats alone: no fold, no pricing, every figure written by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from docket.formats.amount import Usd
from docket.formats.canonical import JsonValue
from docket.formats.digest import Digest, digest_of
from docket.formats.ledger.event import GENESIS, Event, draft, seal
from docket.formats.ledger.model_events import Component, ModelRequest, ModelResponse, Outcome, PriceRow
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.session_events import (
    FOLD,
    ExitSource,
    PolicyApplied,
    ProcExit,
    ProcSpawn,
    SessionEnd,
    SessionStart,
)
from docket.formats.ledger.spending_events import Budget
from docket.formats.ledger.tree_events import Change, EntryState, FsChange, FsSnapshot, Phase
from docket.formats.relpath import RelPath
from docket.formats.run.usage import Usage, UsageSource

BEGAN_AT = datetime(2026, 10, 1, 12, tzinfo=UTC)
SOME_DIGEST = Digest("ab" * 32)
POLICY: dict[str, JsonValue] = {
    "name": "golden",
    "budget": {"mode": "usd", "admission": "metered"},
    "caps": {"max_usd": "1.00", "max_tokens": None, "max_model_calls": None, "max_wall_seconds": None},
    "models": {"allow": [], "deny": []},
    "egress": {"mode": "deny", "allow": []},
    "files": {"watch": ["."], "ignore": [], "deny_write": [".env"]},
}


class LedgerBuilder:
    """Appends chained events a second apart."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, payload: Payload) -> Event:
        """Append a typed payload."""
        return self.add_raw(payload.TYPE, payload.to_data())

    def add_raw(self, type_: str, data: dict[str, JsonValue]) -> Event:
        """Append any event."""
        seq = len(self.events)
        prev = self.events[-1].hash if self.events else GENESIS
        ts = f"{BEGAN_AT + timedelta(seconds=seq):%Y-%m-%dT%H:%M:%S}.250Z"
        event = seal(draft(type_, data), seq=seq, ts=ts, prev=prev)
        self.events.append(event)
        return event

    def data(self) -> bytes:
        """The file."""
        return b"".join(event.line + b"\n" for event in self.events)


def start(**changes: object) -> SessionStart:
    """A session.start; `changes` replace members."""
    members: dict[str, object] = {
        "session_id": "0123456789ab",
        "docket_number": "DKT-20261001-00C0DE",
        "label": "golden",
        "argv": ("agent", "--fast"),
        "cwd": "/home/dev/tree",
        "tool": "docket",
        "version": "0.1.0",
        "fold": FOLD,
        "agent": "generic",
        "admission": "metered",
        "boundary": {"host": "127.0.0.1", "port": 40000},
        "upstream_overrides": {},
        "host": {"platform": "Linux", "python": "3.11.7", "machine": "x86_64"},
        "prices": {"schema": "docket/prices/v1", "as_of": "2026-09-30", "digest": "cd" * 32},
    }
    return SessionStart(**{**members, **changes})  # type: ignore[arg-type]


def policy(document: dict[str, JsonValue] = POLICY) -> PolicyApplied:
    """The policy.applied of `document`."""
    return PolicyApplied(name=str(document["name"]), digest=digest_of(document), document=document, source=None)


def snapshot(phase: Phase, files: int, tree: str = "11", omissions: int = 0) -> FsSnapshot:
    """A pass over `files` files."""
    return FsSnapshot(
        phase=phase,
        roots=(".",),
        files=files,
        directories=1,
        symlinks=0,
        omissions=omissions,
        bytes_watched=files * 10,
        tree_sha256=Digest(tree * 32),
    )


def spawn() -> ProcSpawn:
    """The agent's start."""
    return ProcSpawn(
        argv=("agent", "--fast"),
        cwd="/home/dev/tree",
        env_set=("ANTHROPIC_BASE_URL",),
        isolation=("subreaper", "pdeathsig", "pidfd"),
    )


def added(path: bytes) -> FsChange:
    """A new file at `path`."""
    return FsChange(
        path=RelPath.parse(path),
        change=Change.ADDED,
        after=EntryState(kind="file", mode=0o644, size=10, sha256=SOME_DIGEST),
    )


def price(pattern: str, input_: str, cached: str | None, output: str) -> PriceRow:
    """A family of the embedded table."""
    return PriceRow(pattern=pattern, input=input_, cached_input=cached, output=output, source="test table 2026-09-30")


def request(call: int, provider: str, model: str, wire: str = "anthropic-messages") -> ModelRequest:
    """An admitted call."""
    return ModelRequest(
        call=call,
        provider=provider,
        wire=wire,
        model=model,
        method="POST",
        path="/v1/messages",
        streaming=True,
        fingerprint="00ff00ff00ff00ff",
        request_sha256=SOME_DIGEST,
        body_bytes=120,
        held_usd=Usd(5000),
    )


def response(
    call: int,
    provider: str,
    model: str,
    *,
    usage: Usage,
    components: tuple[Component, ...],
    cost: str,
    cumulative: str,
    **changes: object,
) -> ModelResponse:
    """A billed reply."""
    members: dict[str, object] = {
        "call": call,
        "provider": provider,
        "model": model,
        "status": 200,
        "outcome": Outcome.COMPLETE,
        "latency_ms": 100 * call,
        "first_byte_ms": 10,
        "usage": usage,
        "usage_source": UsageSource.REPORTED,
        "components": components,
        "cost_usd": Usd.parse_canonical(cost),
        "cumulative_cost_usd": Usd.parse_canonical(cumulative),
        "assumed_price": False,
        "streaming": True,
        "response_bytes": 900,
        "response_sha256": SOME_DIGEST,
    }
    return ModelResponse(**{**members, **changes})  # type: ignore[arg-type]


def component(model: str, input_: int, cached: int, output: int, cost: str) -> Component:
    """A priced component."""
    return Component(
        model=model,
        input_tokens=input_,
        cached_input_tokens=cached,
        output_tokens=output,
        cost_usd=Usd.parse_canonical(cost),
    )


def exited(code: int = 0) -> ProcExit:
    """The agent's end."""
    return ProcExit(exit_code=code, leftover_processes=0)


def budget(spent: str) -> Budget:
    """How the cap of a dollar held."""
    amount = Usd.parse_canonical(spent)
    return Budget(
        admission="metered",
        cap_usd=Usd.parse("1.00"),
        spent_usd=amount,
        overshoot_usd=Usd(max(0, amount.micros - 1_000_000)),
        bound_usd=Usd(20_000),
        peak_held_usd=Usd(5000),
    )


def end(cost: str, code: int = 0, **changes: object) -> SessionEnd:
    """The last event."""
    members: dict[str, object] = {
        "exit_code": code,
        "exit_source": ExitSource.AGENT,
        "duration_seconds": "12.345",
        "interrupted": False,
        "cost_usd": Usd.parse_canonical(cost),
    }
    return SessionEnd(**{**members, **changes})  # type: ignore[arg-type]


def opened(**changes: object) -> LedgerBuilder:
    """A ledger up to the agent's start."""
    ledger = LedgerBuilder()
    for payload in (start(**changes), policy(), snapshot(Phase.BEFORE, 2), spawn()):
        ledger.add(payload)
    return ledger


def closed(ledger: LedgerBuilder, spent: str, paths: tuple[bytes, ...] = (b"src/new.py",)) -> LedgerBuilder:
    """The same ledger, ended without trouble after `paths` were added."""
    ledger.add(exited())
    for path in paths:
        ledger.add(added(path))
    ledger.add(snapshot(Phase.AFTER, 2 + len(paths), "22"))
    ledger.add(budget(spent))
    ledger.add(end(spent))
    return ledger
