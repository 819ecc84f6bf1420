"""The fold for somebody who looks on: what a run has come to, from the same payloads as its receipt.

Rules:
1. It takes what `fold` takes and adds up alike, but keeps no usage row: memory is bounded by the calls in flight and
   the last ones that are shown.
2. What is spent is what has settled; what calls in flight hold is told beside it and is in no sum.
3. Nothing is known here of processes and clocks: whether the run still lives is its caller's to say.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable

from docket.formats.amount import ZERO, Usd
from docket.formats.dataclass import dataclass, field
from docket.formats.ledger.asserted_events import AssertedCall, ToolCall, ToolResult
from docket.formats.ledger.cache_events import CacheHit, ComponentsHit
from docket.formats.ledger.event import Event
from docket.formats.ledger.model_events import ModelDenied, ModelError, ModelRequest, ModelResponse
from docket.formats.ledger.network_events import NetAllowed, NetDenied
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.resilience_events import BreakerChange, BreakerState, FaultPlanned, Paced
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
from docket.formats.ledger.spending_events import CapExceeded, CapWarning, PoolEntered
from docket.formats.ledger.tree_events import FsChange, FsSnapshot
from docket.formats.run.usage import UsageSource
from docket.rules.receipt.asserted import AssertedFold
from docket.rules.receipt.course import CourseFold
from docket.rules.receipt.tree import TreeFold

CALLS_KEPT = 64
NOTES_KEPT = 8
REFUSED_HOSTS_KEPT = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCall:
    """A call that was sent and has not settled; `at` is when it was recorded."""

    call: int
    model: str
    at: str
    held_usd: Usd | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneCall:
    """A call that has ended, or was refused (`call` is None then). `outcome` is how, or the reason it failed for."""

    call: int | None
    provider: str
    model: str
    at: str
    outcome: str
    billed: bool
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Usd = ZERO
    latency_ms: int | None = None
    estimated: bool = False
    detail: str = ""


@dataclass(slots=True)
class LiveFold:
    """A run as far as its ledger goes. `recent` are the last calls, the newest last; `last_at` is the last instant.

    `exceeded` and `warnings` are of the run's own caps, `sub_budgets` the last words on those of models and agents.
    """

    course: CourseFold = field(default_factory=CourseFold)
    tree: TreeFold = field(default_factory=TreeFold)
    asserted: AssertedFold = field(default_factory=AssertedFold)
    open: dict[int, OpenCall] = field(default_factory=dict)
    recent: deque[DoneCall] = field(default_factory=lambda: deque(maxlen=CALLS_KEPT))
    remarks: deque[Note] = field(default_factory=lambda: deque(maxlen=NOTES_KEPT))
    refused_hosts: deque[NetDenied] = field(default_factory=lambda: deque(maxlen=REFUSED_HOSTS_KEPT))
    tokens: Counter[str] = field(default_factory=Counter)
    denials: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    warnings: dict[str, CapWarning] = field(default_factory=dict)
    sub_budgets: dict[tuple[str, str, str], CapWarning | CapExceeded] = field(default_factory=dict)
    exceeded: CapExceeded | None = None
    spent: Usd = ZERO
    calls: int = 0
    estimated_calls: int = 0
    cache_hits: int = 0
    avoided: Usd = ZERO
    paced: int = 0
    breakers: dict[tuple[str, str], BreakerState] = field(default_factory=dict)
    pools: tuple[str, ...] = ()
    is_drill: bool = False
    events: int = 0
    last_at: str = ""

    def take(self, event: Event, payload: Payload | None) -> None:
        """Take the next event with its payload as `read_payload` gives it."""
        self.events += 1
        self.last_at = event.ts
        taker = None if payload is None else _TAKERS.get(type(payload))
        if taker is not None:
            taker(self, payload)

    @property
    def held(self) -> Usd:
        """What calls in flight held when they were admitted."""
        return Usd(sum(call.held_usd.micros for call in self.open.values() if call.held_usd is not None))

    @property
    def used_tokens(self) -> int:
        """What counts against a cap on tokens."""
        return self.tokens["input_tokens"] + self.tokens["output_tokens"]

    def begin(self, payload: SessionStart) -> None:
        """Take the start."""
        self.course.begin(payload, self.last_at)

    def request(self, payload: ModelRequest) -> None:
        """Take a call that is sent."""
        self.open[payload.call] = OpenCall(
            call=payload.call, model=payload.model, at=self.last_at, held_usd=payload.held_usd
        )

    def response(self, payload: ModelResponse) -> None:
        """Take a billed reply."""
        self.open.pop(payload.call, None)
        self.calls += 1
        self.spent += payload.cost_usd
        estimated = payload.usage_source is UsageSource.ESTIMATED
        self.estimated_calls += estimated
        usage = payload.usage
        for name in _TOKENS:
            self.tokens[name] += getattr(usage, name)
        self.recent.append(
            DoneCall(
                call=payload.call,
                provider=payload.provider,
                model=payload.model,
                at=self.last_at,
                outcome=str(payload.outcome),
                billed=True,
                input_tokens=usage.input_tokens,
                cached_input_tokens=usage.cached_input_tokens,
                output_tokens=usage.output_tokens,
                cost_usd=payload.cost_usd,
                latency_ms=payload.latency_ms,
                estimated=estimated,
            )
        )

    def error(self, payload: ModelError) -> None:
        """Take a call without a billable reply."""
        self.open.pop(payload.call, None)
        self.errors[payload.reason] += 1
        self.recent.append(
            DoneCall(
                call=payload.call,
                provider=payload.provider,
                model=payload.model,
                at=self.last_at,
                outcome=payload.reason,
                billed=False,
                latency_ms=payload.latency_ms,
                detail=payload.error,
            )
        )

    def denied(self, payload: ModelDenied) -> None:
        """Take a refused call."""
        self.denials[payload.reason] += 1
        self.recent.append(
            DoneCall(
                call=None,
                provider=payload.provider,
                model=payload.model,
                at=self.last_at,
                outcome=payload.reason,
                billed=False,
                detail=payload.detail,
            )
        )

    def note(self, payload: Note) -> None:
        """Take a remark, docket's or the agent's."""
        self.remarks.append(payload)
        if payload.reported_by is None:
            self.course.note(payload)
        else:
            self.asserted.note(payload)

    def net_denied(self, payload: NetDenied) -> None:
        """Take requests turned away; the last destinations refused through the proxy are kept."""
        self.course.net_denied(payload)
        if payload.host is not None:
            self.refused_hosts.append(payload)

    def hit(self, payload: CacheHit) -> None:
        """Take a call that was answered from the cache."""
        self.cache_hits += 1
        self.avoided += payload.avoided_cost_usd

    def waited(self, _: Paced) -> None:
        """Take a call that had to wait its turn."""
        self.paced += 1

    def broke(self, payload: BreakerChange) -> None:
        """Take a change of an upstream's breaker."""
        self.breakers[payload.provider, payload.upstream] = payload.state

    def entered(self, payload: PoolEntered) -> None:
        """Take a pool that the run is in."""
        self.pools = tuple(dict.fromkeys((*self.pools, payload.pool)))

    def drilled(self, _: FaultPlanned) -> None:
        """Take the news that faults are injected."""
        self.is_drill = True

    def warned(self, payload: CapWarning) -> None:
        """Take the warning of a cap."""
        if payload.scope is None:
            self.warnings[payload.cap] = payload
        else:
            self._of_sub_budget(payload)

    def crossed(self, payload: CapExceeded) -> None:
        """Take a cap that was reached; the first one stands. A sub-budget that only refuses leaves the run as it is."""
        if payload.scope in _SUB_BUDGETS and payload.action == _DENY:
            self._of_sub_budget(payload)
        else:
            self.exceeded = self.exceeded or payload

    def _of_sub_budget(self, payload: CapWarning | CapExceeded) -> None:
        key = (payload.scope or "", payload.scope_name or "", payload.cap)
        self.sub_budgets.pop(key, None)
        self.sub_budgets[key] = payload
        if len(self.sub_budgets) > NOTES_KEPT:
            del self.sub_budgets[next(iter(self.sub_budgets))]


_TOKENS = ("input_tokens", "cached_input_tokens", "output_tokens")
_SUB_BUDGETS, _DENY = ("model", "agent"), "deny"


def _keep(name: str) -> Callable[[LiveFold, Payload], None]:
    return lambda fold, payload: setattr(fold.course, name, payload)


_TAKERS: dict[type[Payload], Callable[..., None]] = {
    SessionStart: LiveFold.begin,
    PolicyApplied: _keep("policy"),
    ProcSpawn: _keep("spawn"),
    ProcExit: _keep("exit"),
    SessionEnd: _keep("end"),
    EvidenceGap: lambda fold, payload: fold.course.gaps.append(payload),
    Note: LiveFold.note,
    NetAllowed: lambda fold, payload: fold.course.net_allowed(payload),
    NetDenied: LiveFold.net_denied,
    ModelRequest: LiveFold.request,
    ModelResponse: LiveFold.response,
    ModelError: LiveFold.error,
    ModelDenied: LiveFold.denied,
    CapWarning: LiveFold.warned,
    CapExceeded: LiveFold.crossed,
    FsChange: lambda fold, payload: fold.tree.change(payload),
    FsSnapshot: lambda fold, payload: fold.tree.snapshot(payload),
    PolicyViolation: lambda fold, payload: fold.tree.violation(payload),
    ToolCall: lambda fold, payload: fold.asserted.tool_call(payload),
    ToolResult: lambda fold, payload: fold.asserted.tool_result(payload),
    AssertedCall: lambda fold, payload: fold.asserted.call(payload),
    CacheHit: LiveFold.hit,
    ComponentsHit: LiveFold.hit,
    Paced: LiveFold.waited,
    BreakerChange: LiveFold.broke,
    PoolEntered: LiveFold.entered,
    FaultPlanned: LiveFold.drilled,
}
