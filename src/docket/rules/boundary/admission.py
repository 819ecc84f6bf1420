"""The desk that admits calls: one account, one calibration, one list of what was said about the caps.

Rules:
1. Every decision is taken on the immutable account; the desk only keeps the latest one.
2. Calls are numbered from 1 in the order in which they are admitted; a refused one has no number.
3. Each cap is warned about once and exceeded once, in the record; later refusals only repeat it.
4. Once closed, the desk admits nothing more, and calls that wait are refused.
5. Cumulative cost grows in the order of settlement, which is the order of the record.

It runs on one thread. What a call asks for is `billing`'s to say, how an exchange goes on `exchange`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from docket.formats.amount import Usd
from docket.formats.ledger.model_events import PriceRow
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.spending_events import Budget, CapExceeded, CapWarning
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import Admission, OnBreach
from docket.rules.boundary.protocol import Breach
from docket.rules.boundary.state import BoundaryState
from docket.rules.spending.caps import Caps, Tally, amount_text
from docket.rules.spending.meter import Calibration
from docket.rules.spending.reservation import Account, Admit, Claim, Deny, Hold, Wait

_FLAGS: Mapping[Reason, str] = {
    Reason.MAX_USD: "--max-usd",
    Reason.MAX_TOKENS: "--max-tokens",
    Reason.MAX_MODEL_CALLS: "--max-calls",
    Reason.MAX_WALL_SECONDS: "--max-minutes",
    Reason.MAX_REPEATS: "--max-repeats",
}
_MAX_REMEMBERED = 4096
_CAPS = frozenset(_FLAGS)
_UNITS: Mapping[Reason, str] = {
    Reason.MAX_USD: "US dollars",
    Reason.MAX_TOKENS: "tokens",
    Reason.MAX_MODEL_CALLS: "model calls",
}


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


def model_refused(model: str, policy: Policy) -> str | None:
    """Return why the policy does not allow a model, None if it does; deny wins over allow."""
    name = model.lower()
    for pattern in policy.models.deny:
        if fnmatchcase(name, pattern.lower()):
            return f"the policy denies the model {model} (models.deny has {pattern})"
    allowed = policy.models.allow
    if allowed and not any(fnmatchcase(name, pattern.lower()) for pattern in allowed):
        return f"the policy does not allow the model {model} (models.allow lists others)"
    return None


class Desk:
    """Admits, follows and settles the calls of one run."""

    def __init__(self, policy: Policy) -> None:
        self.account = Account(caps=caps_of(policy), admission=policy.budget.admission)
        self.calibration = Calibration()
        self.closed: Refused | None = None
        self.breach: Breach | None = None
        self.denied = 0
        self.objects_to_usage: set[str] = set()
        self._on_breach = policy.caps.on_breach
        self._admitted = 0
        self._warned: set[Reason] = set()
        self._exceeded: set[Reason] = set()
        self._priced: set[PriceRow] = set()
        self._booked: dict[str, None] = {}

    def ask(self, claim: Claim, *, last: bool = False) -> Admitted | Held | Refused:
        """Decide whether a call may be sent now. `last`: it has waited as long as the policy lets it."""
        if self.closed is not None:
            return self.closed
        decision = self.account.decide(claim, last=last)
        if isinstance(decision, Admit):
            self._admitted += 1
            self.account = self.account.take(self._admitted, decision.hold)
            return Admitted(self._admitted)
        if isinstance(decision, Wait):
            return Held()
        return self._refused(decision, claim)

    def take_unasked(self, hold: Hold) -> int:
        """Give a call its number that nobody weighed and that turned out to be billed."""
        self._admitted += 1
        self.account = self.account.take(self._admitted, hold)
        return self._admitted

    def has_booked(self, response_id: str | None) -> bool:
        """Whether a reply of this id has been booked."""
        return response_id is not None and response_id in self._booked

    def booked(self, response_id: str | None) -> None:
        """Remember that a reply has been booked."""
        if response_id is not None:
            self._booked[response_id] = None
            if len(self._booked) > _MAX_REMEMBERED:
                del self._booked[next(iter(self._booked))]

    def exceeded(self, cap: Reason, detail: str, *, used: str | None = None, limit: str | None = None) -> Effects:
        """Return what follows when `cap` ends the run or refuses a call: said once, then nothing.

        `used` and `limit` are those of a cap that the account does not count.
        """
        if cap in self._exceeded:
            return Effects()
        self._exceeded.add(cap)
        event = CapExceeded(
            cap=cap,
            limit=amount_text(cap, self.account.caps.limit) if limit is None else limit,
            used=amount_text(cap, self.account.used) if used is None else used,
            cost_usd=Usd(self.account.spent.micros),
            tokens=self.account.spent.tokens,
            calls=self.account.spent.calls,
            action=self._on_breach,
            detail=detail,
        )
        breach = Breach(cap, detail, self._on_breach)
        if self.breach is None:
            self.breach = breach
        if self._on_breach is OnBreach.KILL:
            self.close(cap, detail)
        return Effects(events=(event,), breach=breach)

    def advance(self, call: int, shown: Tally) -> Reason | None:
        """Take what a running call has shown; return the cap that all of it together now lies beyond."""
        account = self.account.advance(call, shown)
        if account is self.account:
            return None
        self.account = account
        return account.running_cap()

    def new_rows(self, rows: Iterable[PriceRow]) -> tuple[PriceRow, ...]:
        """Return the price rows that the record does not hold yet, and take them as held."""
        new = tuple(row for row in rows if row not in self._priced)
        self._priced.update(new)
        return new

    def settle(self, call: int, cost: Tally, *, whole: bool) -> Effects:
        """Book what a call cost; return the warnings and the breach that follow. `whole` as in `Account.settle`."""
        self.account = self.account.settle(call, cost, whole=whole)
        due = [cap for cap in self.account.caps.warned_by(self.account.spent) if cap not in self._warned]
        self._warned.update(due)
        events: list[Payload] = [self._warning(cap) for cap in due]
        breach = None
        for cap in self.account.caps.all_crossed_by(self.account.spent):
            effects = self.exceeded(cap, self._crossing(cap, reported=whole))
            events += effects.events
            breach = breach or effects.breach
        return Effects(events=tuple(events), breach=breach)

    def release(self, call: int) -> None:
        """Give back what a call held; it is not billed."""
        self.account = self.account.release(call)

    def keep_unknown(self, call: int) -> None:
        """Keep a sent call's hold against the caps though nobody can say whether it is billed."""
        self.account = self.account.keep_unknown(call)

    def close(self, reason: Reason, detail: str) -> None:
        """Admit nothing more; the first reason stands."""
        if self.closed is None:
            self.closed = Refused(reason=reason, detail=detail, cap=reason if reason in _CAPS else None)

    def state(self) -> BoundaryState:
        """Return the figures of the moment."""
        spent = self.account.spent
        return BoundaryState(
            calls=spent.calls,
            spent=Usd(spent.micros),
            tokens=spent.tokens,
            denied=self.denied,
            in_flight=len(self.account.holds),
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
        )

    def _refused(self, decision: Deny, claim: Claim) -> Refused:
        cap, account = decision.cap, self.account
        asked = claim.worst if account.admission is Admission.STRICT else claim.likely
        limit, spent = amount_text(cap, account.caps.limit), amount_text(cap, account.spent)
        parts = [f"the cap {cap} of {limit} {_UNITS[cap]} leaves no room for this call: {spent} used"]
        if account.holds:
            parts.append(f"{amount_text(cap, account.held)} held by {len(account.holds)} running")
        if cap is not Reason.MAX_MODEL_CALLS:
            word = "may cost up to" if account.admission is Admission.STRICT else "needs about"
            parts.append(f"the call {word} {amount_text(cap, asked)}")
        return Refused(reason=cap, detail=", ".join(parts), cap=cap, passing=decision.passing)

    def _crossing(self, cap: Reason, *, reported: bool) -> str:
        caps, spent = self.account.caps, self.account.spent
        once = (
            "the provider had reported what the call used"
            if reported
            else "the call's use had been estimated, for the provider did not report it to the end"
        )
        return (
            f"the cap {cap} of {caps.limit_text(cap)} {_UNITS[cap]} was crossed: {amount_text(cap, spent)} used once "
            f"{once}"
        )

    def _warning(self, cap: Reason) -> CapWarning:
        caps, spent = self.account.caps, self.account.spent
        return CapWarning(
            cap=cap,
            threshold=f"{caps.warn_at:f}",
            used_pct=caps.used_percent(cap, spent),
            used=amount_text(cap, spent),
            limit=caps.limit_text(cap),
        )


def advice(refused: Refused) -> str:
    """Return what a person can do about a refusal, in one sentence; empty where nothing can be said."""
    if refused.passing:
        return "Calls in flight hold the rest; the same call may fit when they have ended."
    if refused.cap is not None:
        return f"Run again with a higher {_FLAGS[refused.cap]} to go on."
    if refused.reason is Reason.UNKNOWN_MODEL:
        return (
            "Tell the agent to use a model that has a price (docket prices lists them), give this one a price with "
            '--prices FILE, or set budget.unknown_models = "assume" in the policy to count it at the dearest price.'
        )
    return ""
