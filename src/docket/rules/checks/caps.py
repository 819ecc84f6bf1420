"""The limits that a ledger names, against its policy, its pools and its calls.

Rules (spec/receipt.md, Checks):
1. A cap that is warned of or exceeded stands in the policy with the same limit: as a cap of the run, or, where the
   event has a scope, as the sub-budget of that model pattern or agent, or as a limit of a pool that was entered. A cap
   that ended the run was exceeded.
2. A pool is entered only where the policy names it.
3. A pool is left once. `x-docket.budget` names the policy's admission and its cap in dollars, and by how much what was
   spent lies beyond that. It tells of every sub-budget that was named before. What it says of one is what the calls
   of its model pattern or agent add up to, and what `x-docket.pool-use` says was spent is what all calls add up to,
   unless an `x-docket.evidence-gap` says that events are missing.
4. Agents past those that have budgets of their own share one for each pattern that matches them: it has the pattern's
   name and limit, and counts who is not told of by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.canonical import JsonObject, JsonValue, object_at
from docket.formats.dataclass import dataclass, field
from docket.formats.effort import GLOB_STEPS, Effort, weight, weight_of
from docket.formats.ledger.event import Event
from docket.formats.ledger.model_events import ModelRequest, ModelResponse
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.session_events import EvidenceGap, PolicyApplied, SessionEnd
from docket.formats.ledger.spending_events import (
    Budget,
    CapExceeded,
    CapWarning,
    PoolEntered,
    PoolUse,
    ScopeUse,
)
from docket.formats.run.sub_budgets import SubBudget
from docket.formats.shown import shown
from docket.rules.spending.scope import MAIN_AGENT

_LIMIT_OF_USE = {"max_usd": "cap_usd", "max_tokens": "cap_tokens", "max_model_calls": "cap_calls"}
_LIMIT_OF_POOL = {f"pool_{name}": name for name in ("daily_usd", "weekly_usd", "total_usd")}
_SUB_BUDGETS = ("model", "agent")
_WILD = frozenset("*?[")
_TOO_MANY = "the policy has more patterns than can be compared with the names of the ledger"


class _Sum(NamedTuple):
    """What some calls add up to, their cost in micro-dollars: an amount for every call of a long ledger is dear."""

    micros: int = 0
    tokens: int = 0
    calls: int = 0


_NOTHING = _Sum()


@dataclass(slots=True)
class CapLimits:
    """The rules; memory is proportional to the calls in flight, the models and the agents."""

    caps: JsonObject = field(default_factory=dict)
    admission: JsonValue = None
    pool_names: tuple[JsonValue, ...] = ()
    pools: dict[str, PoolEntered] = field(default_factory=dict)
    exceeded: set[str] = field(default_factory=set)
    named: set[tuple[str, str]] = field(default_factory=set)
    left: set[str] = field(default_factory=set)
    gap: bool = False
    open: dict[int, tuple[str, str]] = field(default_factory=dict)
    sums: dict[tuple[str, str], _Sum] = field(default_factory=dict)
    budgets: dict[str, dict[str, SubBudget]] = field(default_factory=lambda: {scope: {} for scope in _SUB_BUDGETS})
    matching: dict[str, list[SubBudget]] = field(default_factory=dict)
    agents_weight: int = 0
    effort: Effort = field(default_factory=Effort)

    def take(self, _event: Event, payload: Payload | None) -> str | None:
        """Return what is wrong with the next event, or None."""
        match payload:
            case PolicyApplied():
                self._policy(payload)
            case ModelRequest():
                self.open[payload.call] = (payload.model, payload.agent_id or MAIN_AGENT)
            case ModelResponse():
                whose = self.open.pop(payload.call, ("", ""))
                micros, tokens, calls = self.sums.get(whose, _NOTHING)
                usage = payload.usage
                tokens += usage.input_tokens + usage.output_tokens
                self.sums[whose] = _Sum(micros + payload.cost_usd.micros, tokens, calls + 1)
            case EvidenceGap():
                self.gap = True
            case CapWarning() | CapExceeded():
                return self._limit(payload)
            case PoolEntered():
                return self._entered(payload)
            case Budget():
                return self._budget(payload) or self._uses(payload.scopes or ())
            case PoolUse():
                return self._pool_use(payload)
            case SessionEnd(breached=breached):
                return self._breached(breached)
        return None

    def _policy(self, payload: PolicyApplied) -> None:
        self.caps, budget = object_at(payload.document, "caps"), object_at(payload.document, "budget")
        self.budgets = {scope: _budgets(object_at(self.caps, f"per_{scope}")) for scope in _SUB_BUDGETS}
        self.matching.clear()
        self.agents_weight = weight_of(self.budgets["agent"])
        self.effort.take(GLOB_STEPS * len(self.budgets["agent"]))
        self.admission, pools = budget.get("admission"), budget.get("pools")
        self.pool_names = tuple(pools) if isinstance(pools, (list, tuple)) else ()

    def _breached(self, cap: str | None) -> str | None:
        if cap is None or cap in self.exceeded or self.gap:
            return None
        return f"breached is {shown(cap)}, no cap.exceeded says so"

    def _limit(self, payload: CapWarning | CapExceeded) -> str | None:
        if isinstance(payload, CapExceeded):
            self.exceeded.add(payload.cap)
        if payload.scope in _SUB_BUDGETS:
            self.named.add((payload.scope, payload.scope_name or ""))
        limit = self._limit_of(payload.scope, payload.scope_name or "", payload.cap)
        if self.effort.is_spent and payload.scope in _SUB_BUDGETS:
            return _TOO_MANY
        if isinstance(limit, (str, int, Usd)) and not isinstance(limit, bool) and str(limit) == payload.limit:
            return None
        of = "" if payload.scope is None else f" of {payload.scope} {shown(payload.scope_name)}"
        return f"the policy has no cap {shown(payload.cap)}{of} of {shown(payload.limit)}"

    def _limit_of(self, scope: str | None, name: str, cap: str) -> JsonValue | Usd:
        if scope is None:
            return None if name else self.caps.get(cap)
        if scope == "pool":
            entered = self.pools.get(name)
            return getattr(entered, _LIMIT_OF_POOL[cap]) if entered is not None and cap in _LIMIT_OF_POOL else None
        if cap not in _LIMIT_OF_USE:
            return None
        budgets = self._budgets_of(scope, name)
        limits = [limit for one in budgets if (limit := getattr(one, cap, None)) is not None]
        return min(limits, default=None)

    def _budgets_of(self, scope: str, name: str) -> Iterable[SubBudget]:
        own = self.budgets.get(scope, {}).get(name)
        if own is not None and (scope == "model" or self._is_shared(name)):
            return (own,)
        return self._matching(name) if scope == "agent" else ()

    def _matching(self, agent: str) -> list[SubBudget]:
        """Return the budgets of all patterns that match an agent; none once that took too much."""
        if agent not in self.matching:
            known = self.budgets["agent"].values() if self.effort.take(weight(agent) * self.agents_weight) else ()
            self.matching[agent] = [one for one in known if one.matches(agent)]
        return self.matching[agent]

    def _entered(self, payload: PoolEntered) -> str | None:
        self.pools[payload.pool] = payload
        return None if payload.pool in self.pool_names else f"the policy names no pool {shown(payload.pool)}"

    def _budget(self, payload: Budget) -> str | None:
        cap = _usd(self.caps.get("max_usd"))
        if payload.cap_usd != cap:
            return f"cap_usd is {payload.cap_usd or 'null'}, the policy has {cap or 'no cap in dollars'}"
        if payload.admission != self.admission:
            return f"admission is {shown(payload.admission)}, the policy has {shown(self.admission)}"
        beyond = Usd(0 if cap is None else max(0, payload.spent_usd.micros - cap.micros))
        if payload.overshoot_usd != beyond:
            return f"overshoot_usd is {payload.overshoot_usd}, what was spent lies {beyond} beyond the cap"
        return None

    def _uses(self, uses: Sequence[ScopeUse]) -> str | None:
        told = {use.name for use in uses if use.scope == "agent"}
        for use in uses:
            fault = self._use(use, told)
            if fault is not None:
                return fault
        untold = self.named - {(use.scope, use.name) for use in uses}
        if untold and not self.gap:
            scope, name = min(untold)
            return f"it says nothing of {scope} {shown(name)}, whose cap is named before"
        return None

    def _use(self, use: ScopeUse, told: set[str]) -> str | None:
        named = f"{use.scope} {shown(use.name)}"
        for cap, member in _LIMIT_OF_USE.items():
            limit = self._limit_of(use.scope, use.name, cap)
            if self.effort.is_spent:
                return _TOO_MANY
            if limit != getattr(use, member):
                return f"the policy has another {cap} of {named}"
        if self.gap:
            return None
        total = self._sum(use, told)
        if self.effort.is_spent:
            return _TOO_MANY
        said = _Sum(use.spent_usd.micros, use.tokens, use.calls)
        return None if said == total else f"{named} says {use.spent_usd}, its calls add up to {Usd(total.micros)}"

    def _sum(self, use: ScopeUse, told: set[str]) -> _Sum:
        pattern, shared = SubBudget(pattern=use.name), self._is_shared(use.name)
        names = {pair[use.scope != "model"] for pair in self.sums} if shared or use.scope == "model" else ()
        total = _Sum()
        if not self.effort.take(weight(use.name) * weight_of(names)):
            return total
        for (model, agent), part in self.sums.items():
            if use.scope == "model":
                counts = pattern.matches(model)
            else:
                counts = agent == use.name or (shared and agent not in told and pattern.matches(agent))
            if counts:
                total = _Sum(total.micros + part.micros, total.tokens + part.tokens, total.calls + part.calls)
        return total

    def _is_shared(self, name: str) -> bool:
        """Whether a budget of an agent's is one of a pattern, and no agent's own."""
        return not _WILD.isdisjoint(name) and not any(agent == name for _, agent in (*self.sums, *self.open.values()))

    def _pool_use(self, use: PoolUse) -> str | None:
        if use.pool not in self.pools:
            return f"the run entered no pool {shown(use.pool)}"
        if use.pool in self.left:
            return "it stands twice"
        self.left.add(use.pool)
        spent = Usd(sum(part.micros for part in self.sums.values()))
        if self.gap or use.spent_usd == spent:
            return None
        return f"pool {shown(use.pool)} says {use.spent_usd}, the calls add up to {spent}"


def _budgets(table: JsonObject) -> dict[str, SubBudget]:
    """Return the sub-budgets of a policy's table, each under its pattern."""
    found = {}
    for pattern in table:
        given = object_at(table, pattern)
        usd, tokens, calls = (given.get(limit) for limit in _LIMIT_OF_USE)
        found[pattern] = SubBudget(
            pattern=pattern,
            max_usd=_usd(usd),
            max_tokens=tokens if type(tokens) is int else None,
            max_model_calls=calls if type(calls) is int else None,
        )
    return found


def _usd(value: JsonValue) -> Usd | None:
    """Return the amount of a policy's limit; None where there is none, or none that anybody could have held."""
    try:
        return Usd.parse_canonical(value)
    except InvalidDocumentError:
        return None
