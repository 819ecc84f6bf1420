"""What a ledger of docket's own says of pace, breakers and injected faults, held against its policy and its plan.

Rules (spec/receipt.md, Checks):
1. A plan of faults stands at most once, before any call, and its rules are ones that can be read. A fault follows the
   request of its call, before anything else of that call, and is the very one that plan and seed give that call.
2. A breaker opens first, then goes by its states: open, half open, then open or closed. It opens after as many failures
   as the policy has for a threshold, for a pause between the policy's two.
3. A call waits its turn only where the policy paces calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from docket.errors import UsageError
from docket.formats.canonical import JsonObject, object_at
from docket.formats.dataclass import dataclass, field
from docket.formats.effort import Effort, weight_of
from docket.formats.ledger.model_events import ModelRequest, ModelResponse
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.resilience_events import BreakerChange, BreakerState, FaultInjected, FaultPlanned, Paced
from docket.formats.ledger.session_events import PolicyApplied
from docket.formats.ledger.tree_events import FsChange

if TYPE_CHECKING:
    from docket.rules.drills.faults import FaultPlan

_FOLLOWS: Mapping[BreakerState | None, tuple[BreakerState, ...]] = {
    None: (BreakerState.OPEN,),
    BreakerState.CLOSED: (BreakerState.OPEN,),
    BreakerState.OPEN: (BreakerState.HALF_OPEN,),
    BreakerState.HALF_OPEN: (BreakerState.OPEN, BreakerState.CLOSED),
}


_OTHERS = frozenset((FsChange, ModelResponse))


@dataclass(slots=True)
class DrillOrder:
    """The rules above, event by event."""

    limits: JsonObject = field(default_factory=dict)
    plan: FaultPlan | None = None
    last: ModelRequest | None = None
    begun: bool = False
    rules_weight: int = 0
    effort: Effort = field(default_factory=Effort)
    states: dict[tuple[str, str], BreakerState] = field(default_factory=dict)

    def take(self, payload: Payload | None) -> str | None:
        """Return what is wrong with the next event, or None."""
        last, self.last = self.last, payload if isinstance(payload, ModelRequest) else None
        if type(payload) in _OTHERS:
            return None
        match payload:
            case PolicyApplied():
                self.limits = object_at(payload.document, "resilience")
            case ModelRequest():
                self.begun = True
            case FaultPlanned():
                return self._planned(payload)
            case FaultInjected():
                return self._injected(payload, last)
            case BreakerChange():
                return self._changed(payload)
            case Paced():
                return self._paced()
        return None

    def _planned(self, payload: FaultPlanned) -> str | None:
        from docket.rules.drills.faults import parse_faults  # noqa: PLC0415 - few ledgers are a drill's

        if self.plan is not None or self.begun:
            return "a plan of faults stands once, before any call"
        try:
            self.plan = parse_faults(";".join(payload.spec), payload.seed)
            self.rules_weight = weight_of(payload.spec)
        except UsageError as error:
            return error.detail.removeprefix("--faults: ")
        return None if self.plan.spec == payload.spec else "its rules are not written as they are read"

    def _injected(self, payload: FaultInjected, last: ModelRequest | None) -> str | None:
        if self.plan is None:
            return "a fault stands without a plan of faults"
        if last is None or last.call != payload.call:
            return "a fault stands behind the request of its call"
        from docket.rules.drills.faults import FaultyCall  # noqa: PLC0415 - as above

        path = last.path.partition("?")[0]
        if not self.effort.take(self.rules_weight * weight_of((last.provider, last.model, path))):
            return "its plan has more rules than can be compared with its calls"
        asked = FaultyCall(number=last.call, provider=last.provider, model=last.model, path=path)
        fault = self.plan.fault_for(asked)
        if fault is None or (payload.kind, payload.detail, payload.asked) != (fault.kind, fault.detail, fault.asked):
            return f"the plan gives call {payload.call} {'no fault' if fault is None else fault.detail}"
        return None

    def _changed(self, payload: BreakerChange) -> str | None:
        key = (payload.provider, payload.upstream)
        before, self.states[key] = self.states.get(key), payload.state
        if payload.state not in _FOLLOWS[before]:
            return f"the breaker was {before or 'closed'} and is {payload.state}"
        if payload.state is not BreakerState.OPEN:
            return None if payload.cooldown_ms == 0 else "a pause stands where the breaker is not open"
        threshold, shortest, longest = (self._limit(name) for name in _BREAKER_KEYS)
        if threshold is not None and payload.failures < threshold:
            return f"it opened after {payload.failures} failures, the policy has {threshold}"
        if shortest is None or longest is None or shortest * 1000 <= payload.cooldown_ms <= longest * 1000:
            return None
        return f"its pause is {payload.cooldown_ms} ms, the policy has {shortest} to {longest} s"

    def _paced(self) -> str | None:
        limits = (self.limits.get(name) for name in ("max_calls_per_minute", "max_calls_per_second"))
        return "a call waited its turn, and the policy paces none" if all(limit is None for limit in limits) else None

    def _limit(self, name: str) -> int | None:
        value = self.limits.get(name)
        return value if type(value) is int else None


_BREAKER_KEYS = ("breaker_threshold", "breaker_cooldown_seconds", "breaker_max_cooldown_seconds")
