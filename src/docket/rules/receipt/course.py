"""The fold over the course of a run: its start, policy, processes, end, gaps, caps, network, remarks."""

from __future__ import annotations

from collections import Counter

from docket.formats.amount import Usd
from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.dataclass import dataclass, field
from docket.formats.ledger.network_events import NetAllowed, NetDenied
from docket.formats.ledger.session_events import (
    EvidenceGap,
    Note,
    PolicyApplied,
    ProcExit,
    ProcSpawn,
    SessionEnd,
    SessionStart,
)
from docket.formats.ledger.spending_events import Budget, PoolEntered, PoolUse

_THROUGH_THE_PROXY = ("tunnel", "request")
_TAKEN = ("spent_usd", "unknown_usd", "overshoot_usd", "bound_usd")


@dataclass(slots=True)
class CourseFold:
    """What was seen of the run itself."""

    start: SessionStart | None = None
    started_at: str = ""
    policy: PolicyApplied | None = None
    spawn: ProcSpawn | None = None
    exit: ProcExit | None = None
    end: SessionEnd | None = None
    budget: Budget | None = None
    pools: dict[str, PoolEntered] = field(default_factory=dict)
    pool_uses: dict[str, PoolUse] = field(default_factory=dict)
    gaps: list[EvidenceGap] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    turned_away: Counter[str] = field(default_factory=Counter)
    tunnels_allowed: int = 0

    def begin(self, payload: SessionStart, at: str) -> None:
        """Take the start."""
        self.start, self.started_at = payload, at

    def note(self, payload: Note) -> None:
        """Take a remark."""
        self.notes[payload.code] += 1

    def net_denied(self, payload: NetDenied) -> None:
        """Take requests turned away."""
        self.turned_away[payload.kind] += payload.count

    def net_allowed(self, _: NetAllowed) -> None:
        """Take a destination let through the proxy."""
        self.tunnels_allowed += 1

    def session(self, start: SessionStart) -> dict[str, JsonValue]:
        """Return the receipt member `session`; what only the end tells is null without one."""
        end = self.end
        members: dict[str, JsonValue] = {"id": start.session_id, "argv": list(start.argv)}
        if start.argv_b64 is not None:
            members["argv_b64"] = list(start.argv_b64)
        members["cwd"] = start.cwd
        if start.cwd_b64 is not None:
            members["cwd_b64"] = start.cwd_b64
        return members | {
            "agent": start.agent,
            "started_at": self.started_at,
            "exit_code": None if end is None else end.exit_code,
            "exit_source": None if end is None else str(end.exit_source),
            "duration_seconds": None if end is None else end.duration_seconds,
            "breached": None if end is None else end.breached,
            "interrupted": None if end is None else end.interrupted,
            "agent_exit": None if self.exit is None else self.exit.to_data(),
            "host": dict(start.host),
        }

    def policy_member(self) -> JsonValue:
        """Return the receipt member `policy`, null where the ledger ends before it."""
        policy = self.policy
        if policy is None:
            return None
        return {
            "name": policy.name,
            "digest": policy.digest,
            "document": dict(policy.document),
            "source": policy.source,
        }

    def pool_entered(self, payload: PoolEntered) -> None:
        """Take the limits of a pool, the latest of which count."""
        self.pools[payload.pool] = payload

    def pool_use(self, payload: PoolUse) -> None:
        """Take what was taken from a pool."""
        self.pool_uses[payload.pool] = payload

    def pools_member(self) -> JsonValue:
        """Return the receipt member `pools`, null where none was entered; what the end tells is null without one."""
        members: list[JsonValue] = []
        for name, entered in sorted(self.pools.items()):
            limits = {limit: None if usd is None else str(usd) for limit, usd in _limits(entered)}
            use = self.pool_uses.get(name)
            taken = dict.fromkeys(_TAKEN) if use is None else {one: str(getattr(use, one)) for one in _TAKEN}
            members.append({"pool": name, **limits, **taken})
        return members or None

    @property
    def policy_document(self) -> JsonObject:
        """The policy document, empty where there is none."""
        return {} if self.policy is None else self.policy.document

    def network(self) -> dict[str, JsonValue]:
        """Return the receipt member `network`."""
        denied = sum(self.turned_away[kind] for kind in _THROUGH_THE_PROXY)
        return {
            "tunnels_allowed": self.tunnels_allowed,
            "tunnels_denied": denied,
            "turned_away": self.turned_away.total() - denied,
        }

    def evidence(self) -> dict[str, JsonValue]:
        """Return the receipt member `evidence`."""
        unwritten = sum(gap.unwritten_events for gap in self.gaps)
        if self.gaps:
            note = "Some events could not be written to the ledger."
        elif self.end is None:
            note = "The ledger has no end: what happened after its last event is unknown."
        else:
            note = "Every event reached the ledger file."
        return {
            "ledger_complete": self.end is not None and not self.gaps,
            "ended": self.end is not None,
            "unwritten_events": unwritten,
            "first_failing_seq": min((gap.first_failing_seq for gap in self.gaps), default=None),
            "write_failures": len(self.gaps),
            "note": note,
        }

    def isolation(self) -> JsonValue:
        """Return the receipt member `isolation`, null where nothing was started."""
        return None if self.spawn is None else {"launcher": list(self.spawn.isolation)}


def _limits(entered: PoolEntered) -> tuple[tuple[str, Usd | None], ...]:
    return (
        ("daily_usd", entered.daily_usd),
        ("weekly_usd", entered.weekly_usd),
        ("total_usd", entered.total_usd),
    )
