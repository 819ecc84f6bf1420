"""The desk that admits calls: one account, one calibration, one list of what was said about the caps.

Rules:
1. Every decision is taken on the immutable account; the desk only keeps the latest one.
2. Calls are numbered from 1 in the order in which they are admitted; a refused one has no number.
3. Each cap is warned about once and exceeded once, in the record; later refusals only repeat it.
4. A sub-budget that is reached refuses the calls it is about and leaves the run alone, unless the policy says `kill`.
5. Once closed, the desk admits nothing more, and calls that wait are refused.
6. Cumulative cost grows in the order of settlement, which is the order of the record.
7. A response that goes on after its call has ended keeps the rest of the hold, under the call's number below zero,
   until it is booked; at the run's end what it held may have been billed.

It runs on one thread. What a call asks for is `billing`'s to say, how an exchange goes on `exchange`'s.
"""

from __future__ import annotations

from collections.abc import Iterable

from docket.formats.amount import Usd
from docket.formats.dataclass import dataclass
from docket.formats.ledger.model_events import PriceRow
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.spending_events import Budget, CapExceeded, CapWarning
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import OnBreach
from docket.rules.boundary.cap_words import FLAGS, crossed, no_room, remedy
from docket.rules.boundary.chains import Chains
from docket.rules.boundary.pool_desk import PoolDeny, PoolDesk, PoolWait
from docket.rules.boundary.protocol import Breach
from docket.rules.boundary.state import BoundaryState
from docket.rules.boundary.sub_accounts import SubAccounts
from docket.rules.spending.caps import Caps, Tally, amount_text
from docket.rules.spending.meter import Calibration
from docket.rules.spending.reservation import Account, Admit, Claim, Deny, Hold, Wait
from docket.rules.spending.scope import NOBODY, Crossing, Scope, ScopeKind, Whose

_POOL_CAPS = (Reason.POOL_DAILY, Reason.POOL_WEEKLY, Reason.POOL_TOTAL)
_MAX_REMEMBERED = 4096
_CAPS = frozenset((*FLAGS, *_POOL_CAPS))


@dataclass(frozen=True, slots=True)
class Admitted:
    """The call may go; `call` is its number."""

    call: int


@dataclass(frozen=True, slots=True)
class Held:
    """The call waits for a release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The call may not go. `passing`: the same call may fit once calls in flight have settled.

    `retry_after_seconds` is when the same call may go, where that is known. `used` and `limit` are what a record writes
    of a cap that the account does not count.
    """

    reason: Reason
    detail: str
    cap: Reason | None = None
    passing: bool = False
    retry_after_seconds: int | None = None
    used: str | None = None
    limit: str | None = None
    scope: Scope | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """What follows from a change of the account: events to record, and a breach to act upon."""

    events: tuple[Payload, ...] = ()
    breach: Breach | None = None


def caps_of(policy: Policy) -> Caps:
    """Return the caps that admission holds; the wall clock is not one of them."""
    return Caps(
        usd=policy.caps.max_usd,
        tokens=policy.caps.max_tokens,
        calls=policy.caps.max_model_calls,
        warn_at=policy.caps.warn_at,
    )


class Desk:
    """Admits, follows and settles the calls of one run."""

    def __init__(self, policy: Policy, pools: PoolDesk | None = None) -> None:
        self.pools = pools
        self.account = Account(caps=caps_of(policy), admission=policy.budget.admission)
        self.calibration = Calibration()
        self.chains = Chains()
        self.closed: Refused | None = None
        self.breach: Breach | None = None
        self.denied = 0
        self.objects_to_usage: set[str] = set()
        self._on_breach = policy.caps.on_breach
        self._on_sub_breach = policy.caps.on_sub_breach
        self._admitted = 0
        self._subs = SubAccounts(policy)
        self._scopes: dict[int, tuple[Scope, ...]] = {}
        self._warned: set[Crossing] = set()
        self._exceeded: set[Crossing] = set()
        self._priced: set[PriceRow] = set()
        self._booked: dict[str, None] = {}
        self._onward: dict[str, int] = {}

    def ask(self, claim: Claim, *, last: bool = False, whose: Whose = NOBODY) -> Admitted | Held | Refused:
        """Decide whether a call may be sent now. `last`: it has waited as long as the policy lets it."""
        if self.closed is not None:
            return self.closed
        scopes = self._subs.of(whose)
        if not scopes and self.pools is None:
            return self._ask_run(claim, last=last)
        decided = {scope: self._account(scope).decide(claim, last=last) for scope in (None, *scopes)}
        waits = any(isinstance(one, Wait) for one in decided.values())
        denied = [(one, scope) for scope, one in decided.items() if isinstance(one, Deny)]
        if denied:
            # What no wait can help is said before what a wait may.
            denial, about = min(denied, key=lambda one: one[0].passing)
            return self._refused(denial, claim, about)
        pooled = {} if waits or self.pools is None else self.pools.ask(claim, last=last)
        if waits or isinstance(pooled, PoolWait):
            return Held()
        if isinstance(pooled, PoolDeny):
            return _refused_by_pool(pooled)
        self._admitted += 1
        holds = {scope: one.hold for scope, one in decided.items() if isinstance(one, Admit)}
        for scope, hold in holds.items():
            self._put(scope, self._account(scope).take(self._admitted, hold))
        if self.pools is not None:
            self.pools.take(self._admitted, pooled)
        self._scopes[self._admitted] = scopes
        return Admitted(self._admitted)

    def _ask_run(self, claim: Claim, *, last: bool) -> Admitted | Held | Refused:
        """Decide by the run's own caps, as `ask` does where there are others beside them."""
        decision = self.account.decide(claim, last=last)
        if isinstance(decision, Deny):
            return self._refused(decision, claim, None)
        if isinstance(decision, Wait):
            return Held()
        self._admitted += 1
        self.account = self.account.take(self._admitted, decision.hold)
        self._scopes[self._admitted] = ()
        return Admitted(self._admitted)

    def has_room(self, claim: Claim, whose: Whose) -> bool:
        """Whether the run's own budgets would let such a call go now."""
        accounts = map(self._account, (None, *self._subs.of(whose)))
        return self.closed is None and all(isinstance(one.decide(claim, last=True), Admit) for one in accounts)

    def take_unasked(self, hold: Hold, whose: Whose = NOBODY) -> int:
        """Give a call its number that nobody weighed and that turned out to be billed."""
        self._admitted += 1
        scopes = self._scopes[self._admitted] = self._subs.of(whose)
        for scope in (None, *scopes):
            self._put(scope, self._account(scope).take(self._admitted, hold))
        if self.pools is not None:
            self.pools.take_unasked(self._admitted, hold)
        return self._admitted

    def held_micros(self, call: int) -> int:
        """Return the most that a call in flight holds of any budget."""
        held = max(self._account(scope).holds[call].held.micros for scope in (None, *self._scopes[call]))
        return held if self.pools is None else max(held, self.pools.held_micros(call))

    def has_booked(self, response_id: str | None) -> bool:
        """Whether a reply of this id has been booked."""
        return response_id is not None and response_id in self._booked

    def booked(self, response_id: str | None) -> None:
        """Remember that a reply has been booked; what it held while it went on is given back."""
        if response_id is not None:
            self._booked[response_id] = None
            onward = self._onward.pop(response_id, None)
            if onward is not None:
                self.release(onward)
            if len(self._booked) > _MAX_REMEMBERED:
                del self._booked[next(iter(self._booked))]

    def exceeded(
        self, crossing: Crossing, detail: str, *, used: str | None = None, limit: str | None = None
    ) -> Effects:
        """Return what follows when a cap ends the run or refuses a call: said once, then nothing.

        `used` and `limit` are those of a cap that no account of the run counts.
        """
        if crossing in self._exceeded:
            return Effects()
        self._exceeded.add(crossing)
        cap, scope = crossing
        action = self._action(scope)
        account = self._account(None if cap in _POOL_CAPS else scope)
        event = CapExceeded(
            cap=cap,
            limit=amount_text(cap, account.caps.limit) if limit is None else limit,
            used=amount_text(cap, account.used) if used is None else used,
            cost_usd=Usd(self.account.spent.micros),
            tokens=self.account.spent.tokens,
            calls=self.account.spent.calls,
            action=action,
            detail=detail,
            scope=None if scope is None else scope.kind,
            scope_name=None if scope is None else scope.name,
        )
        events = (*self._pool_news(), event)
        if action is OnBreach.DENY and scope is not None and scope.kind is not ScopeKind.POOL:
            return Effects(events=events)
        breach = Breach(cap, detail, action)
        if self.breach is None:
            self.breach = breach
        if action is OnBreach.KILL:
            self.close(cap, detail, scope)
        return Effects(events=events, breach=breach)

    def cut(self, crossing: Crossing) -> Effects:
        """Return what follows when a running stream was cut at a limit."""
        detail = f"a running stream carried the run across {crossing.words} and was cut"
        if crossing.cap not in _POOL_CAPS or self.pools is None:
            return self.exceeded(crossing, detail)
        used, limit = self.pools.limit_of(crossing)
        return self.exceeded(crossing, detail, used=used, limit=limit)

    def advance(self, call: int, shown: Tally) -> Crossing | None:
        """Take what a running call has shown; return the limit that all of it together now lies beyond."""
        crossing = None
        for scope in (None, *self._scopes[call]):
            before = self._account(scope)
            account = before.advance(call, shown)
            cap = None if account is before else account.running_cap()
            self._put(scope, account)
            if cap is not None and crossing is None:
                crossing = Crossing(cap, scope)
        pooled = None if self.pools is None else self.pools.advance(call, shown)
        return crossing or pooled

    def new_rows(self, rows: Iterable[PriceRow]) -> tuple[PriceRow, ...]:
        """Return the price rows that the record does not hold yet, and take them as held."""
        new = tuple(row for row in rows if row not in self._priced)
        self._priced.update(new)
        return new

    def settle_onward(self, call: int, cost: Tally, response_id: str | None) -> Effects:
        """Settle a call whose response goes on where nobody hears of it: the rest of its hold stays."""
        scopes, onward = self._scopes[call], -call
        holds = {scope: self._account(scope).onward(call, cost) for scope in (None, *scopes)}
        pooled = {} if self.pools is None else self.pools.onward(call, cost)
        effects = self.settle(call, cost, whole=True)
        for scope, hold in holds.items():
            self._put(scope, self._account(scope).take(onward, hold))
        if self.pools is not None:
            self.pools.take(onward, pooled)
        self._scopes[onward] = scopes
        self._onward[f"call {call}" if response_id is None else response_id] = onward
        return effects

    def finish(self) -> None:
        """Take what still goes on for billed, at the end of the run."""
        while self._onward:
            self.keep_unknown(self._onward.popitem()[1], whole=True)

    def settle(self, call: int, cost: Tally, *, whole: bool) -> Effects:
        """Book what a call cost; return the warnings and the breach that follow. `whole` as in `Account.settle`."""
        events: list[Payload] = []
        breach = None
        if self.pools is not None:
            self.pools.settle(call, cost, whole=whole)
            events += self._pool_news()
        for scope in (None, *self._scopes.pop(call)):
            account = self._account(scope).settle(call, cost, whole=whole)
            self._put(scope, account)
            due = [
                one
                for cap in account.caps.warned_by(account.spent)
                if (one := Crossing(cap, scope)) not in self._warned
            ]
            self._warned.update(due)
            events += [self._warning(one) for one in due]
            for cap in account.caps.all_crossed_by(account.spent):
                crossing = Crossing(cap, scope)
                effects = self.exceeded(crossing, crossed(account, crossing, reported=whole))
                events += effects.events
                breach = breach or effects.breach
        return Effects(events=tuple(events), breach=breach)

    def release(self, call: int) -> None:
        """Give back what a call held; it is not billed."""
        for scope in (None, *self._scopes.pop(call)):
            self._put(scope, self._account(scope).release(call))
        if self.pools is not None:
            self.pools.release(call)

    def keep_unknown(self, call: int, *, whole: bool = False) -> None:
        """Keep a sent call's hold against the caps though nobody can say whether it is billed."""
        for scope in (None, *self._scopes.pop(call)):
            self._put(scope, self._account(scope).keep_unknown(call, whole=whole))
        if self.pools is not None:
            self.pools.keep_unknown(call, whole=whole)

    def close(self, reason: Reason, detail: str, scope: Scope | None = None) -> None:
        """Admit nothing more; the first reason stands."""
        if self.closed is None:
            cap = reason if reason in _CAPS else None
            self.closed = Refused(reason=reason, detail=detail, cap=cap, scope=scope)

    def state(self) -> BoundaryState:
        """Return the figures of the moment."""
        spent = self.account.spent
        return BoundaryState(
            calls=spent.calls,
            spent=Usd(spent.micros),
            tokens=spent.tokens,
            denied=self.denied,
            in_flight=len(self.account.holds) - len(self._onward),
            breach=self.breach,
            admitted=self._admitted,
        )

    def budget(self) -> Budget:
        """Return how the USD cap held."""
        account = self.account
        return Budget(
            admission=account.admission,
            cap_usd=account.caps.usd,
            spent_usd=Usd(account.spent.micros),
            overshoot_usd=Usd(account.overshoot_micros),
            bound_usd=Usd(account.bound_micros),
            peak_held_usd=Usd(account.peak_held_micros),
            scopes=tuple(self._subs.uses()) or None,
        )

    def _account(self, scope: Scope | None) -> Account:
        return self.account if scope is None else self._subs.accounts[scope]

    def _put(self, scope: Scope | None, account: Account) -> None:
        if scope is None:
            self.account = account
        else:
            self._subs.accounts[scope] = account

    def _action(self, scope: Scope | None) -> OnBreach:
        return self._on_breach if scope is None or scope.kind is ScopeKind.POOL else self._on_sub_breach

    def _pool_news(self) -> list[Payload]:
        if self.pools is None:
            return []
        news, self.pools.news = list[Payload](self.pools.news), []
        return news

    def _refused(self, decision: Deny, claim: Claim, scope: Scope | None) -> Refused:
        cap = decision.cap
        detail = no_room(self._account(scope), claim, Crossing(cap, scope))
        return Refused(reason=cap, detail=detail, cap=cap, passing=decision.passing, scope=scope)

    def _warning(self, crossing: Crossing) -> CapWarning:
        cap, scope = crossing
        caps, spent = self._account(scope).caps, self._account(scope).spent
        return CapWarning(
            cap=cap,
            threshold=f"{caps.warn_at:f}",
            used_pct=caps.used_percent(cap, spent),
            used=amount_text(cap, spent),
            limit=caps.limit_text(cap),
            scope=None if scope is None else scope.kind,
            scope_name=None if scope is None else scope.name,
        )


def _refused_by_pool(denied: PoolDeny) -> Refused:
    return Refused(
        reason=denied.reason,
        detail=denied.detail,
        cap=denied.cap,
        passing=denied.passing,
        used=denied.used,
        limit=denied.limit,
        scope=denied.scope,
    )


def advice(refused: Refused) -> str:
    """Return what a person can do about a refusal, in one sentence; empty where nothing can be said."""
    if refused.passing:
        return "Calls in flight hold the rest; the same call may fit when they have ended."
    if refused.cap is not None or (refused.scope is not None and refused.reason is Reason.POOL_UNAVAILABLE):
        return remedy(refused.cap or refused.reason, refused.scope)
    if refused.reason is Reason.UNKNOWN_MODEL:
        return (
            "Tell the agent to use a model that has a price (docket prices lists them), give this one a price with "
            '--prices FILE, or set budget.unknown_models = "assume" in the policy to count it at the dearest price.'
        )
    return ""
