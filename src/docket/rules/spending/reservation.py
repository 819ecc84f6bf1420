"""The account of a run: what was spent, what calls in flight hold, and whether one more call fits.

Rules:
1. An account is an immutable value; every change gives a new one.
2. `strict`: a call holds its worst case before it is sent, so `spent + unknown + held` never lies beyond a cap.
3. `metered`: a call that shows what it bills holds its input estimate and, while it runs, what it has shown. One
   that can bill what it does not show holds its worst case; where that is more than what is left and nothing else
   is in flight, it holds what is left, so that cheap work is not refused for the most it could ask for.
4. `ceiling`: a call is admitted while what was spent lies below each cap, and holds its place among the calls alone,
   so that each call in flight may carry the run across once; a running one is not cut.
5. A call that fits but for the holds of others waits for a release. One that does not fit whatever is released is
   denied at once.
6. A hold ends with its call: settled at what the call cost, released when nothing was sent, or kept as `unknown`
   when a request was sent whole and no answer says whether it is billed. Where the answer goes on after its call has
   ended, what the call cost is taken off the hold, and the rest stays in flight.
7. `bound` is the most by which the run could have crossed its USD cap, taken at every admission:
   spent + unknown + doubt + every worst case in flight - cap. A call that cost more than its worst case counts in it as
   what it cost, so that nothing spent ever lies beyond cap + bound.
8. `doubt` is what calls that ended may have been billed beyond what counts against the caps: the rest of the worst
   case of one whose end was not seen though it can bill what it does not show, or of which nothing was seen at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.formats.run.policy_spending import Admission
from docket.rules.spending.caps import NOTHING, UNLIMITED, Caps, Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a call asks for: `likely` is its estimated input, `worst` everything it could be billed for."""

    likely: Tally
    worst: Tally
    hidden: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """What a call in flight holds: `firm` is taken as used, `held` includes it and the reserve beyond it.

    `hidden`: it can bill what it does not show.
    """

    firm: Tally
    held: Tally
    worst: Tally
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Admit:
    """The call may be sent; it holds `hold`."""

    hold: Hold


@dataclass(frozen=True, slots=True)
class Wait:
    """The call fits once others release what they hold; `cap` is the limit in the way."""

    cap: Reason


@dataclass(frozen=True, slots=True)
class Deny:
    """The call does not fit. `passing`: only holds of calls in flight are in the way, so a later try may fit."""

    cap: Reason
    passing: bool = False


class Account(NamedTuple):
    """What a run has spent and holds. The sums over the holds are kept, not recomputed."""

    caps: Caps
    admission: Admission = Admission.METERED
    spent: Tally = NOTHING
    unknown: Tally = NOTHING
    holds: Mapping[int, Hold] = MappingProxyType({})
    firm: Tally = NOTHING
    held: Tally = NOTHING
    worst: Tally = NOTHING
    peak_held_micros: int = 0
    bound_micros: int = 0
    doubt_micros: int = 0

    @property
    def used(self) -> Tally:
        """What no release gives back."""
        return self.spent if self.unknown is NOTHING else self.spent + self.unknown

    @property
    def overshoot_micros(self) -> int:
        """By how much what was spent lies beyond the USD cap."""
        return 0 if self.caps.usd is None else max(0, self.spent.micros - self.caps.usd.micros)

    def decide(self, claim: Claim, *, last: bool = False) -> Admit | Wait | Deny:
        """Say whether `claim` fits now. `last`: it has waited long enough, so Wait is no answer."""
        if self.admission is Admission.CEILING:
            return self._below(claim, last=last)
        need = claim.worst if self.admission is Admission.STRICT or claim.hidden else claim.likely
        least = claim.worst if self.admission is Admission.STRICT else claim.likely
        used = self.used
        never = self.caps.crossed_by(used + least)
        if never is not None:
            return Deny(never)
        taken = used + self.held
        blocked = self.caps.crossed_by(taken + need)
        if blocked is None:
            return Admit(Hold(firm=claim.likely, held=need, worst=claim.worst, hidden=claim.hidden))
        if self.holds and not last:
            return Wait(blocked)
        if self.caps.crossed_by(taken + least) is None:
            held = need.at_most(self.caps.limit - taken).at_least(claim.likely)
            return Admit(Hold(firm=claim.likely, held=held, worst=claim.worst, hidden=claim.hidden))
        firm = self.caps.crossed_by(self.used + self.firm + least)
        return Deny(blocked if firm is None else firm, passing=firm is None)

    def take(self, call: int, hold: Hold) -> Account:
        """Return the account with `call` in flight."""
        caps, admission, spent, unknown, holds, firm, held, worst, peak_micros, _, doubt_micros = self
        held, worst = held + hold.held, worst + hold.worst
        # Written out, as in `_without`: every call comes through both, and `_replace` takes three times as long.
        return Account(
            caps,
            admission,
            spent,
            unknown,
            {**holds, call: hold},
            firm + hold.firm,
            held,
            worst,
            max(peak_micros, held.micros),
            self._bound(worst.micros),
            doubt_micros,
        )

    def advance(self, call: int, firm: Tally) -> Account:
        """Return the account after `call` has shown `firm` in all, which takes the place of its estimate."""
        old = self.holds[call]
        if firm == old.firm or self.admission is Admission.CEILING:
            return self
        reserved = old.held != old.firm
        hold = Hold(firm=firm, held=old.held.at_least(firm) if reserved else firm, worst=old.worst, hidden=old.hidden)
        held = self.held - old.held + hold.held
        return self._replace(
            holds={**self.holds, call: hold},
            firm=self.firm - old.firm + firm,
            held=held,
            peak_held_micros=max(self.peak_held_micros, held.micros),
        )

    def running_cap(self) -> Reason | None:
        """Return the cap that what was spent and what is surely used in flight lie beyond, if any."""
        return self.caps.crossed_by(self.used + self.firm)

    def settle(self, call: int, cost: Tally, *, whole: bool = True) -> Account:
        """Return the account with `call` billed at `cost` and its hold gone.

        Where the cost is not the `whole` that may be billed, `strict` keeps the rest of the hold as unknown.
        """
        hold, rest, bound, doubt = self.holds[call], NOTHING, self.bound_micros, self.doubt_micros
        if self.admission is Admission.STRICT:
            rest = rest if whole else (hold.held - cost).at_least(NOTHING)._replace(calls=0)
        elif not whole and hold.hidden:
            doubt += max(0, hold.worst.micros - cost.micros)
        if cost.micros > hold.worst.micros:
            bound = self._bound(self.worst.micros - hold.worst.micros + cost.micros)
        unknown = self.unknown if rest is NOTHING else self.unknown + rest
        return self._without(call, self.spent + cost, unknown, bound, doubt)

    def release(self, call: int) -> Account:
        """Return the account without `call`, which is not billed."""
        return self._without(call, self.spent, self.unknown, self.bound_micros, self.doubt_micros)

    def onward(self, call: int, cost: Tally) -> Hold:
        """Return what is held on for the answer to `call` once the call itself has ended at `cost`."""
        hold, booked = self.holds[call], cost._replace(calls=1)
        worst = (hold.worst - booked).at_least(NOTHING)
        if self.admission is Admission.CEILING:
            return Hold(firm=worst, held=worst, worst=worst)
        held = (hold.held - booked).at_least(NOTHING)
        return Hold(firm=held.at_most((hold.firm - booked).at_least(NOTHING)), held=held, worst=worst)

    def keep_unknown(self, call: int, *, whole: bool = False) -> Account:
        """Return the account with what `call` holds kept against the caps though nothing was billed.

        Under `metered` that is what it was likely to cost, `whole`: all that it held.
        """
        hold = self.holds[call]
        kept = hold.held if whole or self.admission is Admission.STRICT else hold.firm
        unknown = self.unknown + kept._replace(calls=0)
        doubt = self.doubt_micros + max(0, hold.worst.micros - kept.micros)
        return self._without(call, self.spent, unknown, self.bound_micros, doubt)

    def _below(self, claim: Claim, *, last: bool) -> Admit | Wait | Deny:
        used, limit, one = self.used, self.caps.limit, Tally(calls=1)
        # A call that cannot cost anything on a scale is no matter of that scale's cap.
        costs = Tally(min(claim.worst.micros, 1), min(claim.worst.tokens, 1), 1)
        reached = self.caps.crossed_by(used + costs)
        if reached is not None:
            return Deny(reached)
        # A call in flight holds its place alone; what is held beside that is for answers that go on.
        onward = self.caps.crossed_by(used + self.firm._replace(calls=0) + costs)
        if onward is not None:
            return Deny(onward, passing=True) if last else Wait(onward)
        if used.calls + self.held.calls < limit.calls:
            return Admit(Hold(firm=one, held=one, worst=claim.worst, hidden=claim.hidden))
        return Deny(Reason.MAX_MODEL_CALLS) if last else Wait(Reason.MAX_MODEL_CALLS)

    def _bound(self, worst_micros: int) -> int:
        limit = UNLIMITED if self.caps.usd is None else self.caps.usd.micros
        return max(self.bound_micros, self.used.micros + self.doubt_micros + worst_micros - limit)

    def _without(self, call: int, spent: Tally, unknown: Tally, bound_micros: int, doubt_micros: int) -> Account:
        caps, admission, _, _, before, firm, held, worst, peak_micros, _, _ = self
        holds = dict(before)
        hold = holds.pop(call)
        return Account(
            caps,
            admission,
            spent,
            unknown,
            holds,
            firm - hold.firm,
            held - hold.held,
            worst - hold.worst,
            peak_micros,
            bound_micros,
            doubt_micros,
        )
