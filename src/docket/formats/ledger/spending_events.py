"""The payloads that say how the caps held (spec/ledger.md, Vocabulary)."""

from __future__ import annotations

from typing import ClassVar

from docket.formats.amount import Usd
from docket.formats.dataclass import dataclass
from docket.formats.ledger.payload_codec import Payload


@dataclass(frozen=True, slots=True, kw_only=True)
class CapWarning(Payload):
    """The warning share of a cap was reached."""

    TYPE: ClassVar[str] = "cap.warning"
    cap: str
    threshold: str
    used_pct: str
    used: str
    limit: str
    scope: str | None = None
    scope_name: str | None = None


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
    scope: str | None = None
    scope_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeUse:
    """How one sub-budget held; `scope` is model or agent, `name` the pattern or the agent."""

    scope: str
    name: str
    cap_usd: Usd | None = None
    cap_tokens: int | None = None
    cap_calls: int | None = None
    spent_usd: Usd
    tokens: int
    calls: int
    bound_usd: Usd


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
    scopes: tuple[ScopeUse, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolEntered(Payload):
    """The run draws on a pool; written at its start, and again once the pool's limits were seen to have changed."""

    TYPE: ClassVar[str] = "x-docket.pool"
    pool: str
    daily_usd: Usd | None = None
    weekly_usd: Usd | None = None
    total_usd: Usd | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolUse(Payload):
    """What the run took from a pool, at its end; `unknown_usd` may have been billed though nobody says so."""

    TYPE: ClassVar[str] = "x-docket.pool-use"
    pool: str
    spent_usd: Usd
    unknown_usd: Usd
    overshoot_usd: Usd
    bound_usd: Usd
