"""What a pool is: a named budget that runs on one machine share, with limits by the day, the week and in all.

Rules (docs/how-to/share-a-budget.md):
1. Amounts are integers of micro-dollars; a limit that is None does not exist; equality with a limit is within it.
2. A day is a calendar day in UTC, a week the ISO week that begins on its Monday: the same on every machine and in
   every season.
3. A name is 1 to 64 of `a-z A-Z 0-9 . _ -`, and begins with a letter or a digit.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from enum import StrEnum
from typing import NamedTuple

from docket.formats.amount import Usd
from docket.formats.dataclass import dataclass

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)


class Period(StrEnum):
    """What a pool's limit is about."""

    DAILY = "daily"
    WEEKLY = "weekly"
    TOTAL = "total"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLimits:
    """The limits of a pool."""

    daily_usd: Usd | None = None
    weekly_usd: Usd | None = None
    total_usd: Usd | None = None

    def of(self, period: Period) -> Usd | None:
        """Return the limit of a period."""
        return {Period.DAILY: self.daily_usd, Period.WEEKLY: self.weekly_usd, Period.TOTAL: self.total_usd}[period]


class Taken(NamedTuple):
    """What a run took from a pool, in micro-dollars: what was billed, and what may have been."""

    spent_micros: int = 0
    unknown_micros: int = 0

    @property
    def micros(self) -> int:
        """Both together: what counts against the limits."""
        return self.spent_micros + self.unknown_micros


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolAsk:
    """What a run asks a pool for, in micro-dollars since its start: all it took and holds included.

    `need_micros` is what it wants, `least_micros` what is of use to it at all, `ahead_micros` what it would like
    beyond its need while there is plenty.
    """

    need_micros: int
    least_micros: int
    ahead_micros: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolAnswer:
    """What a pool answered.

    `granted_micros` is what the run may take in all since its start. `tightest` is the limit with the least left:
    `limit_micros` of it, of which all runs together have taken `taken_micros`; None where the pool has no limit.
    """

    granted_micros: int
    limits: PoolLimits
    tightest: Period | None
    limit_micros: int = 0
    taken_micros: int = 0

    @property
    def left_micros(self) -> int | None:
        """What no run has taken yet, whoever holds it; None where there is no limit."""
        return None if self.tightest is None else self.limit_micros - self.taken_micros


def is_pool_name(text: str) -> bool:
    """Whether a text can name a pool."""
    return _NAME.fullmatch(text) is not None


def day_of(instant: str) -> str:
    """Return the day of an RFC 3339 instant in UTC, as `YYYY-MM-DD`."""
    return instant[:10]


def first_day(period: Period, day: str) -> str:
    """Return the first day of the period that `day` lies in; the total's has begun before any day."""
    if period is Period.TOTAL:
        return ""
    if period is Period.DAILY:
        return day
    today = date.fromisoformat(day)
    return (today - timedelta(days=today.weekday())).isoformat()
