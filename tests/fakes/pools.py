"""Pools in memory, written by the port's rules alone: every amount is a plain sum."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.formats.run.pool import Period, PoolAnswer, PoolAsk, PoolLimits, Taken
from docket.stores.pools.port import Balance, PoolRun, RunShare


@dataclass
class _Part:
    run: PoolRun
    granted: int = 0
    taken: Taken = field(default_factory=Taken)

    @property
    def held(self) -> int:
        return max(0, self.granted - sum(self.taken))


@dataclass
class _Pool:
    limits: PoolLimits
    booked: list[tuple[str, int, int]] = field(default_factory=list)
    parts: dict[str, _Part] = field(default_factory=dict)

    def taken(self, period: Period, day: str) -> Taken:
        today = date.fromisoformat(day)
        since = {Period.DAILY: today, Period.WEEKLY: today - timedelta(today.isoweekday() - 1), Period.TOTAL: date.min}
        rows = [row for row in self.booked if date.fromisoformat(row[0]) >= since[period]]
        return Taken(sum(spent for _, spent, _ in rows), sum(unknown for _, _, unknown in rows))


class MemoryPools:
    """A store for one process; `fault` is raised by every call while it is set."""

    def __init__(self) -> None:
        self._pools: dict[str, _Pool] = {}
        self.fault: UnavailableError | None = None

    def _of(self, name: str) -> _Pool:
        if self.fault is not None:
            raise self.fault
        if name not in self._pools:
            raise UnavailableError(Reason.NOT_FOUND, f"no pool {name}")
        return self._pools[name]

    def _part(self, name: str, run_id: str) -> tuple[_Pool, _Part]:
        pool = self._of(name)
        if run_id not in pool.parts:
            raise UnavailableError(Reason.NOT_FOUND, f"no run {run_id}")
        return pool, pool.parts[run_id]

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._pools))

    def define(self, name: str, limits: PoolLimits) -> None:
        self._pools.setdefault(name, _Pool(limits)).limits = limits

    def reset(self, name: str) -> None:
        self._of(name).booked.clear()

    def remove(self, name: str) -> None:
        if self._of(name).parts:
            raise UnavailableError(Reason.IN_USE, "in use")
        del self._pools[name]

    def balance(self, name: str, day: str) -> Balance:
        pool = self._of(name)
        parts = sorted(pool.parts.values(), key=lambda part: (part.run.entered_at, part.run.run_id))
        return Balance(
            name=name,
            limits=pool.limits,
            taken={period: pool.taken(period, day) for period in Period},
            shares=tuple(RunShare(run=part.run, taken=part.taken, held_micros=part.held) for part in parts),
        )

    def enter(self, name: str, run: PoolRun) -> PoolLimits:
        pool = self._of(name)
        pool.parts.setdefault(run.run_id, _Part(run))
        return pool.limits

    def reserve(self, name: str, run_id: str, ask: PoolAsk, day: str) -> PoolAnswer:
        pool, part = self._part(name, run_id)
        held = sum(other.held for other in pool.parts.values())
        lefts = [
            (limit.micros - sum(pool.taken(period, day)), period, limit.micros)
            for period, limit in (
                (Period.DAILY, pool.limits.daily_usd),
                (Period.WEEKLY, pool.limits.weekly_usd),
                (Period.TOTAL, pool.limits.total_usd),
            )
            if limit is not None
        ]
        has = max(part.granted, sum(part.taken))
        if not lefts:
            part.granted = max(has, ask.need_micros)
            return PoolAnswer(granted_micros=part.granted, limits=pool.limits, tightest=None)
        left, tightest, limit_micros = min(lefts, key=lambda row: row[0])
        room = left - held
        if ask.need_micros - has <= room:
            need = max(0, ask.need_micros - has)
            has += need + max(0, min(ask.ahead_micros, (room - need) // 16))
        elif ask.least_micros - has <= room:
            has += max(0, room)
        part.granted = has
        return PoolAnswer(
            granted_micros=has,
            limits=pool.limits,
            tightest=tightest,
            limit_micros=limit_micros,
            taken_micros=limit_micros - left,
        )

    def settle(self, name: str, run_id: str, taken: Taken, day: str) -> None:
        pool, part = self._part(name, run_id)
        grown = Taken(*(max(old, new) for old, new in zip(part.taken, taken, strict=True)))
        pool.booked.append((day, grown[0] - part.taken[0], grown[1] - part.taken[1]))
        part.taken = grown

    def give_back(self, name: str, run_id: str, granted_micros: int) -> None:
        part = self._of(name).parts.get(run_id)
        if part is not None:
            part.granted = min(part.granted, max(granted_micros, sum(part.taken)))

    def release(self, name: str, run_id: str) -> None:
        self._of(name).parts.pop(run_id, None)

    def close(self) -> None:
        pass
