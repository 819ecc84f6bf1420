"""The fold over what kept a run within its pace and away from a failing upstream, and over injected faults: `ops`.

Rules (spec/receipt.md, Members):
1. `circuit_breaker` has a member for each provider whose breaker changed its state. A provider with several upstreams
   stands in the worst of their states. Its successes and failures are all of its calls, counted as the breaker does.
2. `rate_limiter` stands where the policy paces calls, null elsewhere.
3. `chaos_run` and `fault_injection` stand where faults were planned, and nowhere else.
"""

from __future__ import annotations

from collections import Counter

from docket.formats.canonical import JsonObject, JsonValue, object_at
from docket.formats.dataclass import dataclass, field
from docket.formats.ledger.model_events import ModelDenied, ModelError, ModelResponse, Outcome
from docket.formats.ledger.resilience_events import BreakerChange, BreakerState, FaultInjected, FaultPlanned, Paced
from docket.formats.reason import TRANSPORT_FAULTS, Reason
from docket.rules.receipt.calls import counted

_ANSWERED = frozenset((Reason.UPSTREAM_STATUS, Reason.UPSTREAM_ERROR_EVENT))
_WORST = (BreakerState.OPEN, BreakerState.HALF_OPEN, BreakerState.CLOSED)


@dataclass(slots=True)
class OperationsFold:
    """Counts of what happened; `changes` holds the last state of each upstream."""

    changes: dict[tuple[str, str], BreakerChange] = field(default_factory=dict)
    openings: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    successes: Counter[str] = field(default_factory=Counter)
    waits_ms: list[int] = field(default_factory=list)
    rate_limited: int = 0
    plan: FaultPlanned | None = None
    injected: Counter[str] = field(default_factory=Counter)
    asked: int = 0

    def breaker(self, payload: BreakerChange) -> None:
        """Take a change of a breaker."""
        self.changes[payload.provider, payload.upstream] = payload
        self.openings[payload.provider] += payload.state is BreakerState.OPEN

    def paced(self, payload: Paced) -> None:
        """Take a call that waited its turn."""
        self.waits_ms.append(payload.waited_ms)

    def denied(self, payload: ModelDenied) -> None:
        """Take a refused call."""
        self.rate_limited += payload.reason == Reason.RATE_LIMITED

    def error(self, payload: ModelError) -> None:
        """Take a call without a billable reply."""
        if payload.reason in TRANSPORT_FAULTS or (payload.reason in _ANSWERED and payload.status >= 500):
            self.failures[payload.provider] += 1
        elif payload.reason == Reason.UPSTREAM_STATUS:
            self.successes[payload.provider] += 1

    def response(self, payload: ModelResponse) -> None:
        """Take a billed reply."""
        broken = payload.outcome is Outcome.UPSTREAM_BROKEN or payload.status >= 500
        (self.failures if broken else self.successes)[payload.provider] += 1

    def planned(self, payload: FaultPlanned) -> None:
        """Take the plan of a drill."""
        self.plan = payload

    def fault(self, payload: FaultInjected) -> None:
        """Take an injected fault."""
        self.injected[payload.kind] += 1
        self.asked += payload.asked

    def member(self, policy: JsonObject, admitted: int) -> dict[str, JsonValue]:
        """Return the receipt member `ops`; `policy` is the policy document, `admitted` how many calls were let go."""
        member: dict[str, JsonValue] = {
            "circuit_breaker": {name: self._breaker(name) for name in sorted({name for name, _ in self.changes})},
            "rate_limiter": self._limiter(policy, admitted),
            "snapshot": None,
            "rollback": None,
        }
        if self.plan is not None:
            member["chaos_run"] = True
            member["fault_injection"] = {
                "seed": self.plan.seed,
                "spec": list(self.plan.spec),
                "injections": self.injected.total(),
                "upstream_asked": self.asked,
                "by_kind": counted(self.injected),
            }
        return member

    def _breaker(self, provider: str) -> dict[str, JsonValue]:
        last = [change for (name, _), change in sorted(self.changes.items()) if name == provider]
        worst = min(last, key=lambda change: _WORST.index(change.state))
        return {
            "state": str(worst.state),
            "consecutive_failures": worst.failures,
            "total_failures": self.failures[provider],
            "total_successes": self.successes[provider],
            "openings": self.openings[provider],
            "cooldown_ms": worst.cooldown_ms,
        }

    def _limiter(self, policy: JsonObject, admitted: int) -> dict[str, JsonValue] | None:
        limits = object_at(policy, "resilience")
        minute, second = limits.get("max_calls_per_minute"), limits.get("max_calls_per_second")
        if minute is None and second is None:
            return None
        return {
            "per_minute": minute,
            "per_second": second,
            "allowed": admitted,
            "refused": self.rate_limited,
            "waited": len(self.waits_ms),
            "waited_ms": sum(self.waits_ms),
            "longest_wait_ms": max(self.waits_ms, default=0),
        }
