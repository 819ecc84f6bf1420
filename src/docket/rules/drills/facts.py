"""What a phase's ledger says the agent did: calls, spacing, what came after the fault and after the refusal.

Rules:
1. Everything is read from events; instants are the ledger's, which are the writer's batches, so that spacing is exact
   to a few milliseconds.
2. A call that docket refused for a while (429, 503) counts as an attempt: the agent came back.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.ledger.event import Event
from docket.formats.ledger.model_events import ModelDenied, ModelError, ModelRequest, ModelResponse, Outcome
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.resilience_events import BreakerChange, BreakerState, FaultInjected
from docket.formats.ledger.session_events import ProcExit, SessionEnd
from docket.formats.ledger.spending_events import CapExceeded
from docket.formats.ledger.vocabulary import read_payload
from docket.formats.run.usage import UsageSource

_PASSING = (429, 503)
_HARMLESS = ("slow", "delay")


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseFacts:
    """Counts and milliseconds. `gaps_ms` lie between the end of an attempt that failed and the next one.

    `after_fault` are attempts after the first fault that spoils an answer, `answered_after` of them those answered
    whole; `after_final` are attempts after a refusal that will not change, `refusals` the reasons of all refusals.
    `agent_exit` is None where it never ran.
    """

    exit_code: int | None
    agent_exit: int | None
    breached: str | None
    attempts: int
    admitted: int
    billed: int
    failed: int
    refused: int
    injected: int
    after_fault: int
    answered_after: int
    after_final: int
    refusals: tuple[str, ...]
    openings: int
    gaps_ms: tuple[int, ...]
    wall_ms: int
    input_tokens: int
    output_tokens: int
    estimated: int
    cost_usd: str

    def to_json(self) -> dict[str, JsonValue]:
        """Return the members by their names."""
        members: dict[str, JsonValue] = {name: getattr(self, name) for name in self.__slots__}
        return {**members, "gaps_ms": list(self.gaps_ms), "refusals": list(self.refusals)}


def facts_of(events: Iterable[Event]) -> PhaseFacts:
    """Return what the events of a ledger say; InvalidDocumentError where one cannot be read."""
    reading = _Reading()
    for event in events:
        reading.take(event, read_payload(event))
    return reading.facts()


class _Reading:
    """The figures so far."""

    def __init__(self) -> None:
        self.began: datetime | None = None
        self.at: datetime | None = None
        self.exit: ProcExit | None = None
        self.end: SessionEnd | None = None
        self.counts = dict.fromkeys(
            ("attempts", "admitted", "billed", "failed", "refused", "injected", "after_fault", "answered_after"), 0
        )
        self.counts |= dict.fromkeys(("after_final", "openings", "input_tokens", "output_tokens", "estimated"), 0)
        self.gaps: list[int] = []
        self.refusals: dict[str, None] = {}
        self.failed_at: datetime | None = None
        self.faulty: set[int] = set()
        self.fault_over = self.final = False

    def take(self, event: Event, payload: Payload | None) -> None:
        """Take the next event."""
        self.at = datetime.fromisoformat(event.ts)
        self.began = self.began or self.at
        match payload:
            case ModelRequest():
                self._attempt()
                self.counts["admitted"] += 1
            case ModelDenied(status=status, reason=reason):
                self._attempt()
                self.refusals[reason] = None
                self.counts["refused"] += 1
                self.final = self.final or status not in _PASSING
                self.failed_at = self.at if status in _PASSING else None
            case FaultInjected(call=call, kind=kind):
                self.counts["injected"] += 1
                self.faulty.update(() if kind in _HARMLESS else (call,))
            case ModelError(call=call):
                self.counts["failed"] += 1
                self.failed_at = self.at
                self.fault_over = self.fault_over or call in self.faulty
            case ModelResponse():
                self._answered(payload)
            case BreakerChange(state=state):
                self.counts["openings"] += state is BreakerState.OPEN
            case CapExceeded():
                self.final = True
            case ProcExit():
                self.exit = payload
            case SessionEnd():
                self.end = payload

    def _attempt(self) -> None:
        self.counts["attempts"] += 1
        self.counts["after_fault"] += self.fault_over
        self.counts["after_final"] += self.final
        if self.failed_at is not None and self.at is not None:
            self.gaps.append(round((self.at - self.failed_at).total_seconds() * 1000))
        self.failed_at = None

    def _answered(self, payload: ModelResponse) -> None:
        whole = payload.outcome is Outcome.COMPLETE
        self.counts["billed"] += 1
        self.counts["input_tokens"] += payload.usage.input_tokens
        self.counts["output_tokens"] += payload.usage.output_tokens
        self.counts["estimated"] += payload.usage_source is UsageSource.ESTIMATED
        self.counts["answered_after"] += whole and payload.call not in self.faulty and self.fault_over
        self.fault_over = self.fault_over or payload.call in self.faulty
        self.failed_at = None if whole and payload.call not in self.faulty else self.at

    def facts(self) -> PhaseFacts:
        """Return the figures."""
        wall = 0 if self.began is None or self.at is None else round((self.at - self.began).total_seconds() * 1000)
        end = self.end
        return PhaseFacts(
            exit_code=None if end is None else end.exit_code,
            agent_exit=None if self.exit is None else self.exit.exit_code,
            breached=None if end is None else end.breached,
            wall_ms=wall,
            gaps_ms=tuple(self.gaps),
            refusals=tuple(self.refusals),
            cost_usd="0.00" if end is None else str(end.cost_usd),
            **self.counts,
        )
