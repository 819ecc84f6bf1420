"""What a run has of its pools, with a line that answers when the test says so."""

from __future__ import annotations

import pytest

from docket.formats.amount import Usd
from docket.formats.ledger.spending_events import PoolEntered, PoolUse
from docket.formats.reason import Reason
from docket.formats.run.policy_spending import Admission
from docket.formats.run.pool import Period, PoolAnswer, PoolAsk, PoolLimits, Taken
from docket.rules.boundary.pool_desk import Failure, PoolDeny, PoolDesk, PoolWait
from docket.rules.spending.caps import Tally
from docket.rules.spending.reservation import Claim, Hold
from docket.rules.spending.scope import Crossing, Scope, ScopeKind

LIMITS = PoolLimits(daily_usd=Usd(1_000_000))
TEAM = Scope(ScopeKind.POOL, "team")


class Line:
    """Takes down what it is asked and told; answers at once where it was given answers."""

    def __init__(self, *answers: PoolAnswer | Failure) -> None:
        self.desk: PoolDesk | None = None
        self.answers = list(answers)
        self.asked: list[tuple[PoolAsk, bool]] = []
        self.booked: list[tuple[Taken, int | None]] = []
        self.rests = 0

    def ask(self, pool: str, ask: PoolAsk, *, patient: bool) -> None:
        self.asked.append((ask, patient))
        if self.answers:
            self.give(self.answers.pop(0), pool)

    def give(self, answer: PoolAnswer | Failure, pool: str = "team") -> None:
        assert self.desk is not None
        if isinstance(answer, Failure):
            self.desk.failed(pool, answer)
        else:
            self.desk.answered(pool, answer)

    def book(self, pool: str, taken: Taken, granted_micros: int | None = None) -> None:
        self.booked.append((taken, granted_micros))

    def rest_later(self) -> None:
        self.rests += 1


def desk(*answers: PoolAnswer | Failure, admission: Admission = Admission.METERED, pools: tuple[str, ...] = ("team",)):
    line = Line(*answers)
    line.desk = PoolDesk(dict.fromkeys(pools, LIMITS), admission, line)
    return line.desk, line


def granted(micros: int, taken: int = 0, limit: int = 1_000_000) -> PoolAnswer:
    return PoolAnswer(
        granted_micros=micros, limits=LIMITS, tightest=Period.DAILY, limit_micros=limit, taken_micros=taken
    )


def claim(likely: int, worst: int | None = None, *, hidden: bool = False) -> Claim:
    return Claim(likely=Tally(likely, 5, 1), worst=Tally(worst or likely, 9, 1), hidden=hidden)


def hold(firm: int, held: int, worst: int, *, hidden: bool = False) -> Hold:
    return Hold(firm=Tally(firm), held=Tally(held), worst=Tally(worst), hidden=hidden)


def test_the_first_call_waits_for_the_pool_and_then_holds_its_estimate():
    one, line = desk()
    asked = claim(1000, 5000)
    assert one.ask(asked, last=False) == PoolWait()
    assert one.ask(asked, last=True) == PoolWait()
    # Its need, and a slice ahead: four such calls and two cents.
    assert line.asked == [(PoolAsk(need_micros=1000, least_micros=1000, ahead_micros=24_000), True)]
    line.give(granted(9000))
    assert one.ask(asked, last=False) == {"team": hold(1000, 1000, 5000)}


def test_a_call_that_fits_what_was_granted_asks_nothing():
    one, line = desk(granted(9000))
    one.take(1, one.ask(claim(1000), last=False))
    one.take(2, one.ask(claim(8000), last=False))
    assert len(line.asked) == 1
    assert one.held_micros(1) == 1000
    assert one.held_micros(3) == 0


@pytest.mark.parametrize(
    ("admission", "asked", "need", "least"),
    [
        (Admission.STRICT, claim(10, 700), 700, 700),
        (Admission.METERED, claim(10, 700), 10, 10),
        (Admission.METERED, claim(10, 700, hidden=True), 700, 10),
        (Admission.CEILING, claim(10, 700), 10, 10),
    ],
)
def test_what_is_asked_for_is_what_the_admission_holds(admission, asked, need, least):
    one, line = desk(granted(700), admission=admission)
    holds = one.ask(asked, last=False)
    ((ask, _),) = line.asked
    assert (ask.need_micros, ask.least_micros) == (need, least)
    assert holds == {"team": hold(10, need, 700, hidden=asked.hidden)}


def test_a_hidden_call_alone_takes_what_there_is():
    one, _ = desk(granted(300))
    assert one.ask(claim(10, 700, hidden=True), last=False) == {"team": hold(10, 300, 700, hidden=True)}


def test_a_call_that_no_release_helps_is_denied_for_good():
    one, _ = desk(granted(0, taken=999_500))
    denied = one.ask(claim(501), last=False)
    assert isinstance(denied, PoolDeny)
    assert (denied.reason, denied.cap, denied.passing) == (Reason.POOL_DAILY, Reason.POOL_DAILY, False)
    assert (denied.scope, denied.used, denied.limit) == (TEAM, "0.999500", "1.00")
    assert "daily limit of the pool team, 1.00 US dollars" in denied.detail


def test_a_call_that_others_keep_out_waits_and_is_then_denied_for_the_moment():
    one, line = desk(granted(0, taken=1000))
    asked = claim(5000)
    assert one.ask(asked, last=False) == PoolWait()
    assert len(line.asked) == 1
    denied = one.ask(asked, last=True)
    assert isinstance(denied, PoolDeny)
    assert denied.passing
    assert "running calls hold the rest" in denied.detail


def test_another_call_asks_again():
    one, line = desk(granted(0, taken=1000), granted(80, taken=1000))
    one.ask(claim(5000), last=False)
    assert one.ask(claim(80), last=True) == {"team": hold(80, 80, 80)}
    assert [patient for _, patient in line.asked] == [True, False]


def test_a_release_is_a_reason_to_ask_again():
    one, line = desk(granted(100), granted(100))
    one.take(1, one.ask(claim(100), last=False))
    waiting = claim(150)
    assert one.ask(waiting, last=False) == PoolWait()
    one.release(1)
    line.answers = [granted(150)]
    assert one.ask(waiting, last=False) == {"team": hold(150, 150, 150)}
    assert line.booked == []


def test_every_pool_must_have_room():
    one, line = desk(pools=("a", "b"))
    asked = claim(10)
    assert one.ask(asked, last=False) == PoolWait()
    line.give(granted(50), "a")
    assert one.ask(asked, last=False) == PoolWait()
    line.give(granted(60), "b")
    holds = one.ask(asked, last=False)
    assert holds == {"a": hold(10, 10, 10), "b": hold(10, 10, 10)}
    one.take(1, holds)
    one.settle(1, Tally(40, 5, 1), whole=True)
    assert one.taken() == {"a": Taken(40, 0), "b": Taken(40, 0)}


def test_a_pool_that_cannot_be_asked_denies_the_call_and_is_asked_for_the_next():
    one, line = desk(Failure("the disk is full", passing=False), granted(10))
    denied = one.ask(claim(10), last=False)
    assert denied == PoolDeny(
        scope=TEAM, reason=Reason.POOL_UNAVAILABLE, detail="the pool team cannot be asked: the disk is full"
    )
    assert one.ask(claim(10), last=False) == {"team": hold(10, 10, 10)}
    assert len(line.asked) == 2


def test_what_was_taken_is_told_at_once():
    one, line = desk(granted(5000))
    for call in (1, 2, 3):
        one.take(call, one.ask(claim(100, 900), last=False))
    one.settle(1, Tally(250, 5, 1), whole=True)
    one.keep_unknown(2)
    one.release(3)
    assert line.booked == [(Taken(250, 0), None), (Taken(250, 100), None)]
    assert one.uses() == (
        PoolUse(
            pool="team", spent_usd=Usd(250), unknown_usd=Usd(100), overshoot_usd=Usd(0), bound_usd=Usd(0),
        ),
    )  # fmt: skip


def test_overshoot_and_bound_are_against_what_was_granted():
    one, _ = desk(granted(1000))
    one.take(1, one.ask(claim(100, 4000), last=False))
    one.settle(1, Tally(1300, 5, 1), whole=True)
    (use,) = one.uses()
    assert (use.overshoot_usd, use.bound_usd) == (Usd(300), Usd(3000))


def test_a_stream_asks_ahead_and_is_cut_where_there_is_no_more():
    one, line = desk(granted(40_000))
    one.take(1, one.ask(claim(100, 10**6), last=False))
    assert one.advance(1, Tally(10_000, 5, 1)) is None
    assert len(line.asked) == 1
    # Less than half of what it asks ahead is left.
    assert one.advance(1, Tally(15_001, 5, 1)) is None
    assert line.asked[1] == (PoolAsk(need_micros=65_001, least_micros=15_002, ahead_micros=220_000), False)
    # Meanwhile it may pass its grant; it is cut once the pool has said no.
    assert one.advance(1, Tally(40_001, 5, 1)) is None
    line.give(granted(41_000, taken=959_000))
    assert one.advance(1, Tally(41_000, 5, 1)) is None
    crossing = one.advance(1, Tally(41_001, 5, 1))
    assert crossing == Crossing(Reason.POOL_DAILY, TEAM)
    assert crossing.words == "the cap pool_daily_usd of pool team"
    assert one.limit_of(crossing) == ("0.959000", "1.00")


def test_a_call_that_waits_for_other_runs_takes_what_its_own_run_gives_back():
    one, line = desk(granted(1000))
    hidden = claim(10, 700_000, hidden=True)
    one.take(1, one.ask(hidden, last=False))
    second = claim(10, 700_000, hidden=True)
    assert one.ask(second, last=False) == PoolWait()
    one.waiting("team")
    assert one.ask(second, last=False) == PoolWait()
    one.settle(1, Tally(300, 60, 1), whole=True)
    assert one.ask(second, last=False) == {"team": hold(10, 700, 700_000, hidden=True)}
    assert len(line.asked) == 2
    # An answer ends the wait: what is free then is for whoever asks.
    line.give(granted(1000, taken=300))
    assert one.ask(claim(10, 700_000, hidden=True), last=False) == PoolWait()


def test_a_stream_that_was_told_no_asks_again_while_something_is_left():
    one, line = desk(granted(20_000))
    one.take(1, one.ask(claim(100, 10**6), last=False))
    one.advance(1, Tally(4000, 5, 1))
    line.give(granted(20_000, taken=980_000))
    # Half of the 16,000 that were left.
    one.advance(1, Tally(11_999, 5, 1))
    assert len(line.asked) == 2
    one.advance(1, Tally(12_000, 5, 1))
    assert line.asked[2] == (PoolAsk(need_micros=62_000, least_micros=12_001, ahead_micros=220_000), False)
    # Another run gave back what it held meanwhile.
    line.give(granted(90_000, taken=300_000))
    assert one.advance(1, Tally(64_999, 5, 1)) is None
    assert len(line.asked) == 3


def test_a_failure_while_a_stream_runs_cuts_it_at_its_grant():
    one, line = desk(granted(100))
    one.take(1, one.ask(claim(100), last=False))
    one.advance(1, Tally(50, 5, 1))
    line.give(Failure("gone", passing=True))
    assert one.advance(1, Tally(100, 5, 1)) is None
    assert one.advance(1, Tally(101, 5, 1)) == Crossing(Reason.POOL_DAILY, TEAM)
    one.release(1)
    denied = one.ask(claim(5000), last=False)
    assert isinstance(denied, PoolDeny)
    assert (denied.reason, denied.passing) == (Reason.POOL_UNAVAILABLE, True)


def test_what_goes_on_after_its_call_keeps_the_rest_of_its_hold():
    pools, line = desk(granted(9000))
    pools.take(1, pools.ask(claim(100, 5000, hidden=True), last=False))
    onward = pools.onward(1, Tally(30, 1, 1))
    pools.settle(1, Tally(30, 1, 1), whole=True)
    pools.take(-1, onward)
    assert pools.held_micros(-1) == 4970
    pools.keep_unknown(-1, whole=True)
    assert pools.taken() == {"team": Taken(30, 4970)}
    assert line.booked[-1] == (Taken(30, 4970), None)


def test_a_release_leads_to_a_rest_though_nothing_was_taken():
    pools, line = desk(granted(500))
    holds = pools.ask(claim(100), last=False)
    pools.take(1, holds)
    pools.release(1)
    assert (line.booked, line.rests) == ([], 1)


def test_what_is_idle_goes_back_when_nothing_runs():
    one, line = desk(granted(5000))
    one.take(1, one.ask(claim(100), last=False))
    one.rest()
    assert line.booked == []
    one.settle(1, Tally(100, 5, 1), whole=True)
    one.rest()
    one.rest()
    assert line.booked == [(Taken(100, 0), None), (Taken(100, 0), 100)]
    one.ask(claim(1), last=False)
    one.rest()
    assert len(line.booked) == 2


def test_what_is_free_goes_back_while_more_is_waited_for():
    one, line = desk(granted(5000))
    one.take(1, one.ask(claim(100), last=False))
    asked = claim(9000)
    assert one.ask(asked, last=False) == PoolWait()
    one.waiting("team")
    assert line.booked == [(Taken(), 100)]
    one.waiting("team")
    assert one.ask(claim(50), last=False) == PoolWait()
    line.give(granted(9100))
    assert one.ask(asked, last=False) == {"team": hold(9000, 9000, 9000)}
    assert len(line.booked) == 1


def test_what_is_of_no_use_goes_back_at_once():
    one, line = desk(granted(5000, taken=900_000))
    assert one.ask(claim(9000), last=False) == PoolWait()
    assert line.booked == [(Taken(), 0)]


def test_other_limits_are_news():
    one, line = desk(granted(10))
    asked = claim(5)
    one.ask(asked, last=False)
    assert one.news == []
    other = PoolLimits(weekly_usd=Usd(7))
    line.give(PoolAnswer(granted_micros=10, limits=other, tightest=None))
    assert one.news == [PoolEntered(pool="team", weekly_usd=Usd(7))]


def test_a_call_that_nobody_weighed_counts():
    one, line = desk()
    one.take_unasked(7, Hold(firm=Tally(), held=Tally(), worst=Tally()))
    one.settle(7, Tally(30, 5, 1), whole=True)
    assert line.booked == [(Taken(30, 0), None)]
    assert one.uses()[0].overshoot_usd == Usd(30)


def test_before_any_answer_a_pool_has_no_limit_to_name():
    one, _ = desk()
    assert one.limit_of(Crossing(Reason.POOL_TOTAL, TEAM)) == ("0.00", "0.00")
