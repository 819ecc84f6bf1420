"""The desk's side of pools: what a run was granted, what its calls hold of it, and when it must ask for more.

Rules:
1. A run takes from a pool only what the pool has granted it before. A grant is held by an account of the same kind as
   the run's own, with the grant in the place of the cap; `ceiling` weighs a pool's calls as `metered` does.
2. Asking takes a while and is somebody else's (`PoolLine`): the call waits. One question is under way at a time, and
   it asks for a slice ahead, so that most calls find their need granted.
3. A call is refused for good where what all runs have taken leaves no room for it; where only holds are in the way it
   is refused for the moment, once it has waited long enough.
4. A running stream asks for more before its grant is used up. Where the pool has no more for it, it asks again each
   time that half of what was left is used, for other runs may have given room back, and is cut where it passes the
   grant.
5. What a call was billed is told to the pool at once, and exactly; what nobody can tell is kept as unknown.
6. What was granted and is not held goes back when the run rests, and while it waits for more: of two runs that wait
   for what the other has and does not use, neither would ever go on.

It runs on one thread and knows no clock, no store and no other run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from docket.formats.amount import ZERO, Usd
from docket.formats.dataclass import dataclass
from docket.formats.ledger.spending_events import PoolEntered, PoolUse
from docket.formats.reason import Reason
from docket.formats.run.policy_spending import Admission
from docket.formats.run.pool import Period, PoolAnswer, PoolAsk, PoolLimits, Taken
from docket.rules.spending.caps import NOTHING, Caps, Tally
from docket.rules.spending.reservation import Account, Claim, Hold
from docket.rules.spending.scope import Crossing, Scope, ScopeKind

# What is asked for beyond a call's need, and how far ahead of its use a running stream asks.
_AHEAD_MICROS = 20_000
_AHEAD_CALLS = 4
_STREAM_AHEAD_MICROS = 50_000
_LEAST_STEP_MICROS = 500

REASONS: Mapping[Period, Reason] = {
    Period.DAILY: Reason.POOL_DAILY,
    Period.WEEKLY: Reason.POOL_WEEKLY,
    Period.TOTAL: Reason.POOL_TOTAL,
}


class PoolLine(Protocol):
    """The way to the pools' store. Answers come back through `PoolDesk.answered` or `failed`, at once or later."""

    def ask(self, pool: str, ask: PoolAsk, *, patient: bool) -> None:
        """Ask for a grant; `patient`: wait a while for other runs where only their holds are in the way."""
        ...

    def book(self, pool: str, taken: Taken, granted_micros: int | None = None) -> None:
        """Say what the run has taken in all; `granted_micros` gives back what was granted beyond it."""
        ...

    def rest_later(self) -> None:
        """Call `PoolDesk.rest` once a while has passed in which nothing was taken or asked for."""
        ...


@dataclass(frozen=True, slots=True)
class PoolWait:
    """The call waits for a pool's answer, or for a release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolDeny:
    """A pool has no room for the call; `cap` None: it could not be asked, and `reason` says why."""

    scope: Scope
    reason: Reason
    detail: str
    cap: Reason | None = None
    passing: bool = False
    used: str | None = None
    limit: str | None = None


class Failure(NamedTuple):
    """Why a pool could not be asked; `passing`: it may be asked again."""

    detail: str
    passing: bool


@dataclass(slots=True)
class _Drawn:
    """What the run has of one pool."""

    scope: Scope
    limits: PoolLimits
    account: Account
    pending: bool = False
    waits: bool = False
    dry: bool = False
    wanted_micros: int = 0
    least_micros: int = 0
    again_micros: int = 0
    asked_for: Claim | None = None
    answer: PoolAnswer | None = None
    failure: Failure | None = None

    @property
    def granted_micros(self) -> int:
        return 0 if self.account.caps.usd is None else self.account.caps.usd.micros

    @property
    def taken(self) -> Taken:
        return Taken(self.account.spent.micros, self.account.unknown.micros)

    @property
    def counted_micros(self) -> int:
        """What of the grant is used or held."""
        return (self.account.used + self.account.held).micros

    def run_dry(self) -> None:
        """Note that there is no more for now, and at which use of the rest to ask again."""
        left = self.granted_micros - self.counted_micros
        self.dry, self.again_micros = True, self.counted_micros + max(left // 2, _LEAST_STEP_MICROS)


class PoolDesk:
    """Admits, follows and settles the calls of one run against its pools."""

    def __init__(self, pools: Mapping[str, PoolLimits], admission: Admission, line: PoolLine) -> None:
        kind = Admission.STRICT if admission is Admission.STRICT else Admission.METERED
        self._line = line
        self._drawn = {
            name: _Drawn(Scope(ScopeKind.POOL, name), limits, Account(caps=Caps(usd=ZERO), admission=kind))
            for name, limits in pools.items()
        }
        self.news: list[PoolEntered] = []

    def ask(self, claim: Claim, *, last: bool) -> Mapping[str, Hold] | PoolWait | PoolDeny:
        """Return what a call would hold of each pool, or why it may not go now."""
        holds: dict[str, Hold] = {}
        for name, drawn in self._drawn.items():
            answer = self._ask_one(name, drawn, claim, last=last)
            if not isinstance(answer, Hold):
                return answer
            holds[name] = answer
        return holds

    def take(self, call: int, holds: Mapping[str, Hold]) -> None:
        """Take a call as in flight."""
        for name, hold in holds.items():
            self._drawn[name].account = self._drawn[name].account.take(call, hold)

    def take_unasked(self, call: int, hold: Hold) -> None:
        """Take a call that nobody weighed."""
        self.take(call, dict.fromkeys(self._drawn, hold))

    def onward(self, call: int, cost: Tally) -> Mapping[str, Hold]:
        """Return what a response goes on to hold of each pool; as `Account.onward`."""
        return {name: drawn.account.onward(call, cost) for name, drawn in self._drawn.items()}

    def held_micros(self, call: int) -> int:
        """Return the most that a call holds of any pool."""
        holds = [drawn.account.holds.get(call) for drawn in self._drawn.values()]
        return max((hold.held.micros for hold in holds if hold is not None), default=0)

    def advance(self, call: int, shown: Tally) -> Crossing | None:
        """Take what a running call has shown; return the pool that it would take more from than there is."""
        crossing = None
        for name, drawn in self._drawn.items():
            account = drawn.account = drawn.account.advance(call, shown)
            self._ask_ahead(name, drawn)
            if account.running_cap() is not None and drawn.dry:
                crossing = crossing or Crossing(_reason(drawn), drawn.scope)
        return crossing

    def settle(self, call: int, cost: Tally, *, whole: bool) -> None:
        """Book what a call cost; `whole` as in `Account.settle`."""
        self._change(lambda account: account.settle(call, cost, whole=whole))

    def release(self, call: int) -> None:
        """Give back what a call held; it is not billed."""
        self._change(lambda account: account.release(call))

    def keep_unknown(self, call: int, *, whole: bool = False) -> None:
        """Keep what a call held: nobody can say whether it is billed."""
        self._change(lambda account: account.keep_unknown(call, whole=whole))

    def answered(self, pool: str, answer: PoolAnswer) -> None:
        """Take a pool's answer."""
        drawn = self._drawn[pool]
        drawn.pending = drawn.waits = False
        drawn.answer, drawn.failure = answer, None
        drawn.account = drawn.account._replace(caps=Caps(usd=Usd(answer.granted_micros)))
        drawn.dry = False
        if answer.granted_micros < drawn.wanted_micros:
            drawn.run_dry()
        if answer.granted_micros < drawn.least_micros:
            self._give_back(pool, drawn)
        if answer.limits != drawn.limits:
            drawn.limits = answer.limits
            self.news.append(entered_event(pool, answer.limits))

    def waiting(self, pool: str) -> None:
        """Take the news that a question waits for other runs."""
        self._drawn[pool].waits = True
        self._give_back(pool, self._drawn[pool])

    def failed(self, pool: str, failure: Failure) -> None:
        """Take the news that a pool could not be asked: nothing more is taken from it."""
        drawn = self._drawn[pool]
        drawn.pending = drawn.waits = False
        drawn.failure = failure
        drawn.run_dry()

    def rest(self) -> None:
        """Give back what is granted and not held, where no call is in flight."""
        for name, drawn in self._drawn.items():
            if not drawn.account.holds and not drawn.pending:
                drawn.asked_for = None
                self._give_back(name, drawn)

    def taken(self) -> Mapping[str, Taken]:
        """Return what was taken from each pool in all."""
        return {name: drawn.taken for name, drawn in self._drawn.items()}

    def uses(self) -> tuple[PoolUse, ...]:
        """Return the events that say so, and how the grants held."""
        return tuple(
            PoolUse(
                pool=name,
                spent_usd=Usd(drawn.account.spent.micros),
                unknown_usd=Usd(drawn.account.unknown.micros),
                overshoot_usd=Usd(max(0, drawn.account.used.micros - drawn.granted_micros)),
                bound_usd=Usd(drawn.account.bound_micros),
            )
            for name, drawn in sorted(self._drawn.items())
        )

    def limit_of(self, crossing: Crossing) -> tuple[str, str]:
        """Return (used, limit) of a pool's limit as its last answer said."""
        drawn = self._drawn["" if crossing.scope is None else crossing.scope.name]
        return _used_and_limit(drawn)

    # ---- one pool

    def _ask_one(self, name: str, drawn: _Drawn, claim: Claim, *, last: bool) -> Hold | PoolWait | PoolDeny:
        need, least = _needs(drawn.account, claim)
        hold = _fitting(drawn, claim, need)
        if hold is None and drawn.waits and (last or not drawn.account.holds):
            # The question waits for other runs; calls of this one have ended since it was put.
            hold = _fitting(drawn, claim, least)
        if hold is not None or drawn.pending:
            return hold or PoolWait()
        if drawn.failure is not None:
            failure, drawn.failure = drawn.failure, None
            return _could_not_ask(drawn.scope, failure)
        if drawn.asked_for is not claim:
            drawn.asked_for = claim
            self._request(name, drawn, need, least, patient=not last)
            # It may have been answered on the spot.
            return PoolWait() if drawn.pending else self._ask_one(name, drawn, claim, last=last)
        if last or not drawn.account.holds:
            hold = _fitting(drawn, claim, least)
            if hold is not None:
                return hold
        return _unless_it_waits(drawn, least, last=last)

    def _request(self, name: str, drawn: _Drawn, need: int, least: int, *, patient: bool) -> None:
        taken = drawn.counted_micros
        drawn.pending, drawn.wanted_micros, drawn.least_micros = True, taken + need, taken + least
        ahead = need * _AHEAD_CALLS + _AHEAD_MICROS
        ask = PoolAsk(need_micros=taken + need, least_micros=taken + least, ahead_micros=ahead)
        self._line.ask(name, ask, patient=patient)

    def _give_back(self, name: str, drawn: _Drawn) -> None:
        kept = drawn.counted_micros
        if drawn.granted_micros > kept:
            drawn.account = drawn.account._replace(caps=Caps(usd=Usd(kept)))
            self._line.book(name, drawn.taken, kept)

    def _ask_ahead(self, name: str, drawn: _Drawn) -> None:
        counted, granted = drawn.counted_micros, drawn.granted_micros
        again = not drawn.dry or drawn.again_micros <= counted <= granted
        if counted + _STREAM_AHEAD_MICROS // 2 > granted and again and not drawn.pending:
            self._request(name, drawn, _STREAM_AHEAD_MICROS, 1, patient=False)

    def _change(self, change: Callable[[Account], Account]) -> None:
        for name, drawn in self._drawn.items():
            before = drawn.taken
            drawn.account = change(drawn.account)
            # Room may have come: what was said of it before holds no longer.
            drawn.asked_for, drawn.dry = None, False
            if drawn.taken != before:
                self._line.book(name, drawn.taken)
        self._line.rest_later()


def entered_event(pool: str, limits: PoolLimits) -> PoolEntered:
    """Return the event that a run draws on a pool with these limits."""
    return PoolEntered(pool=pool, daily_usd=limits.daily_usd, weekly_usd=limits.weekly_usd, total_usd=limits.total_usd)


def _needs(account: Account, claim: Claim) -> tuple[int, int]:
    strict = account.admission is Admission.STRICT
    need = claim.worst if strict or claim.hidden else claim.likely
    return need.micros, (claim.worst if strict else claim.likely).micros


def _fitting(drawn: _Drawn, claim: Claim, least: int) -> Hold | None:
    """Return the hold of a call that needs at least so much, as much of its need as is free; None if less is."""
    free = drawn.granted_micros - drawn.counted_micros
    if least > free:
        return None
    need, _ = _needs(drawn.account, claim)
    firm = NOTHING._replace(micros=claim.likely.micros)
    held, worst = NOTHING._replace(micros=min(need, free)), NOTHING._replace(micros=claim.worst.micros)
    return Hold(firm=firm, held=held.at_least(firm), worst=worst, hidden=claim.hidden)


def _unless_it_waits(drawn: _Drawn, least: int, *, last: bool) -> PoolWait | PoolDeny:
    answer = drawn.answer
    left = None if answer is None else answer.left_micros
    final = left is not None and least > left
    if not final and not last:
        return PoolWait()
    used, limit = _used_and_limit(drawn)
    reason = _reason(drawn)
    period = reason.removeprefix("pool_").removesuffix("_usd")
    detail = (
        f"the {period} limit of the pool {drawn.scope.name}, {limit} US dollars, leaves no room for this call: {used} "
        f"used by all runs of this machine, the call may cost {Usd(least)}"
    )
    if not final:
        detail += "; running calls hold the rest"
    return PoolDeny(
        scope=drawn.scope, reason=reason, cap=reason, detail=detail, passing=not final, used=used, limit=limit
    )


def _could_not_ask(scope: Scope, failure: Failure) -> PoolDeny:
    detail = f"the pool {scope.name} cannot be asked: {failure.detail}"
    return PoolDeny(scope=scope, reason=Reason.POOL_UNAVAILABLE, detail=detail, passing=failure.passing)


def _reason(drawn: _Drawn) -> Reason:
    answer = drawn.answer
    return REASONS[Period.TOTAL if answer is None or answer.tightest is None else answer.tightest]


def _used_and_limit(drawn: _Drawn) -> tuple[str, str]:
    answer = drawn.answer
    taken, limit = (0, 0) if answer is None else (answer.taken_micros, answer.limit_micros)
    return str(Usd(taken)), str(Usd(limit))
