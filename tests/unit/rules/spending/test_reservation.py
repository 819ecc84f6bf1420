import pytest

from docket.formats.amount import Usd
from docket.formats.reason import Reason
from docket.formats.run.policy_spending import Admission
from docket.rules.spending.caps import Caps, Tally
from docket.rules.spending.reservation import Account, Admit, Claim, Deny, Hold, Wait

DIME = Caps(usd=Usd.parse("0.10"))


def claim(likely: int, worst: int, *, hidden: bool = False) -> Claim:
    return Claim(likely=Tally(likely, calls=1), worst=Tally(worst, calls=1), hidden=hidden)


def taken(account: Account, call: int, asked: Claim, *, last: bool = False) -> Account:
    decision = account.decide(asked, last=last)
    assert isinstance(decision, Admit), decision
    return account.take(call, decision.hold)


def metered(caps: Caps = DIME) -> Account:
    return Account(caps=caps)


def strict(caps: Caps = DIME) -> Account:
    return Account(caps=caps, admission=Admission.STRICT)


def test_metered_holds_the_estimate_of_a_call_that_shows_what_it_bills():
    account = taken(metered(), 1, claim(30_000, 5_000_000))
    assert account.held == account.firm == Tally(30_000, 0, 1)
    assert account.holds[1] == Hold(firm=Tally(30_000, 0, 1), held=Tally(30_000, 0, 1), worst=Tally(5_000_000, 0, 1))


def test_metered_holds_the_worst_case_of_one_that_does_not():
    account = taken(metered(), 1, claim(1000, 60_000, hidden=True))
    assert (account.firm.micros, account.held.micros) == (1000, 60_000)


def test_a_hidden_call_alone_holds_what_is_left_at_most():
    account = taken(metered(), 1, claim(1000, 800_000, hidden=True))
    assert account.held.micros == 100_000
    assert account.bound_micros == 700_000
    assert account.peak_held_micros == 100_000


def test_a_hidden_call_beside_others_waits_and_then_takes_what_is_left():
    account = taken(metered(), 1, claim(1000, 60_000, hidden=True))
    other = claim(1000, 60_000, hidden=True)
    assert account.decide(other) == Wait(Reason.MAX_USD)
    assert taken(account, 2, other, last=True).held.micros == 100_000


def test_a_call_kept_out_by_holds_alone_is_denied_for_the_moment():
    account = taken(metered(), 1, claim(1000, 800_000, hidden=True))
    assert account.decide(claim(500, 500)) == Wait(Reason.MAX_USD)
    assert account.decide(claim(500, 500), last=True) == Deny(Reason.MAX_USD, passing=True)


def test_a_call_kept_out_by_what_is_surely_used_is_denied_for_good():
    account = taken(metered(), 1, claim(99_000, 99_000))
    assert account.decide(claim(2000, 2000)) == Wait(Reason.MAX_USD)
    assert account.decide(claim(2000, 2000), last=True) == Deny(Reason.MAX_USD)


def test_a_call_that_no_release_helps_is_denied_at_once():
    account = metered().take(1, Hold(firm=Tally(), held=Tally(), worst=Tally())).settle(1, Tally(99_000, 0, 1))
    assert account.decide(claim(1000, 1000)) == Admit(
        Hold(firm=Tally(1000, 0, 1), held=Tally(1000, 0, 1), worst=Tally(1000, 0, 1))
    )
    assert account.decide(claim(1001, 1001)) == Deny(Reason.MAX_USD)


def test_strict_holds_the_worst_case_whatever_is_shown():
    account = taken(strict(), 1, claim(1000, 60_000))
    assert account.held.micros == 60_000
    assert account.decide(claim(1000, 60_000)) == Wait(Reason.MAX_USD)
    assert account.decide(claim(1000, 60_000), last=True) == Deny(Reason.MAX_USD, passing=True)
    assert account.decide(claim(1000, 100_001)) == Deny(Reason.MAX_USD)
    assert isinstance(account.decide(claim(1000, 40_000)), Admit)


def test_calls_and_tokens_are_held_too():
    first = Claim(likely=Tally(0, 50, 1), worst=Tally(0, 500, 1), hidden=False)
    account = taken(metered(Caps(calls=1, tokens=100)), 1, first)
    assert account.decide(claim(0, 0)) == Wait(Reason.MAX_MODEL_CALLS)
    assert account.decide(claim(0, 0), last=True) == Deny(Reason.MAX_MODEL_CALLS)
    assert account.decide(Claim(likely=Tally(0, 101, 1), worst=Tally(0, 101, 1), hidden=False)) == Deny(
        Reason.MAX_TOKENS
    )


def test_what_a_call_shows_takes_the_place_of_its_estimate():
    account = taken(metered(), 1, claim(30_000, 5_000_000))
    less = account.advance(1, Tally(10_000, 5, 1))
    assert less.firm == less.held == Tally(10_000, 5, 1)
    assert less.running_cap() is None
    more = less.advance(1, Tally(100_001, 5, 1))
    assert more.running_cap() is Reason.MAX_USD
    assert more.peak_held_micros == 100_001
    assert more.advance(1, Tally(100_001, 5, 1)) is more


def test_a_reserve_stays_while_a_call_shows_less():
    account = taken(metered(), 1, claim(1000, 60_000, hidden=True)).advance(1, Tally(20_000, 0, 1))
    assert (account.firm.micros, account.held.micros) == (20_000, 60_000)
    assert account.advance(1, Tally(70_000, 0, 1)).held.micros == 70_000


@pytest.mark.parametrize("end", ["settle", "release", "keep"])
def test_a_hold_ends_with_its_call(end):
    account = taken(taken(metered(), 1, claim(1000, 2000)), 2, claim(3000, 9000))
    if end == "settle":
        account = account.settle(1, Tally(500, 40, 1))
        assert account.spent == Tally(500, 40, 1)
        assert account.unknown == Tally()
    elif end == "release":
        account = account.release(1)
        assert account.used == Tally()
    else:
        account = account.keep_unknown(1)
        assert account.unknown == account.used == Tally(1000, 0, 0)
    assert set(account.holds) == {2}
    assert (account.firm, account.held, account.worst) == (Tally(3000, 0, 1), Tally(3000, 0, 1), Tally(9000, 0, 1))


def test_strict_keeps_what_an_unfinished_call_may_still_be_billed():
    account = taken(strict(), 1, claim(1000, 60_000))
    assert account.settle(1, Tally(2000, 0, 1), whole=False).unknown == Tally(58_000, 0, 0)
    assert account.settle(1, Tally(2000, 0, 1), whole=True).unknown == Tally()
    assert account.settle(1, Tally(70_000, 0, 1), whole=False).unknown == Tally()
    assert account.keep_unknown(1).unknown == Tally(60_000, 0, 0)
    assert taken(metered(), 1, claim(1, 9)).settle(1, Tally(1), whole=False).unknown == Tally()


def test_overshoot_and_bound_are_stated_against_the_cap():
    account = taken(metered(), 1, claim(1000, 250_000)).settle(1, Tally(120_000, 0, 1))
    assert account.overshoot_micros == 20_000
    assert account.bound_micros == 150_000
    assert Account(caps=Caps()).overshoot_micros == 0
    assert taken(Account(caps=Caps()), 1, claim(1, 10**12)).bound_micros == 0


def test_a_call_dearer_than_its_worst_case_is_in_the_bound_at_its_cost():
    account = taken(taken(metered(), 1, claim(1000, 60_000)), 2, claim(1000, 70_000))
    assert account.bound_micros == 60_000 + 70_000 - 100_000
    account = account.settle(1, Tally(60_000, 0, 1))
    assert account.bound_micros == 30_000
    # 60 000 spent and 71 000 of the second call.
    assert account.settle(2, Tally(71_000, 0, 1)).bound_micros == 31_000
    assert account.settle(2, Tally(71_000, 0, 1)).overshoot_micros == 31_000


def test_without_a_cap_there_is_no_bound_to_it():
    assert taken(Account(caps=Caps()), 1, claim(1, 2)).settle(1, Tally(3, 0, 1)).bound_micros == 0


def ceiling(caps: Caps = DIME) -> Account:
    return Account(caps=caps, admission=Admission.CEILING)


def test_ceiling_admits_while_what_was_spent_lies_below_the_cap():
    account = taken(taken(ceiling(), 1, claim(90_000, 5_000_000)), 2, claim(90_000, 5_000_000, hidden=True))
    assert account.held == Tally(calls=2)
    account = account.settle(1, Tally(99_999, 0, 1))
    assert isinstance(account.decide(claim(90_000, 5_000_000)), Admit)
    account = account.settle(2, Tally(1, 0, 1))
    assert account.decide(claim(1, 1)) == Deny(Reason.MAX_USD)
    # What costs nothing is no matter of the cap.
    assert isinstance(account.decide(claim(0, 0)), Admit)


def test_ceiling_counts_tokens_and_calls_too():
    account = taken(
        ceiling(Caps(tokens=10, calls=2)), 1, Claim(likely=Tally(0, 5, 1), worst=Tally(0, 9, 1), hidden=False)
    )
    account = account.settle(1, Tally(0, 10, 1))
    assert account.decide(Claim(likely=Tally(0, 1, 1), worst=Tally(0, 1, 1), hidden=False)) == Deny(Reason.MAX_TOKENS)
    account = taken(account, 2, claim(0, 0))
    assert account.decide(claim(0, 0)) == Wait(Reason.MAX_MODEL_CALLS)
    assert account.decide(claim(0, 0), last=True) == Deny(Reason.MAX_MODEL_CALLS)
    assert account.settle(2, Tally(0, 0, 1)).decide(claim(0, 0)) == Deny(Reason.MAX_MODEL_CALLS)


def test_ceiling_cuts_nothing_and_states_what_the_calls_in_flight_could_cost():
    account = taken(taken(ceiling(), 1, claim(10, 80_000)), 2, claim(10, 90_000))
    assert account.bound_micros == 70_000
    assert account.advance(1, Tally(200_000, 0, 1)) is account
    assert account.running_cap() is None
    assert account.settle(1, Tally(80_000, 0, 1)).settle(2, Tally(90_000, 0, 1)).overshoot_micros == 70_000


@pytest.mark.parametrize(
    ("hidden", "end", "bound"),
    [
        (True, "left", 2 * 60_000 + 1000 - 100_000),  # the first may have been billed its worst case
        (False, "left", 0),  # what it was billed was shown
        (True, "whole", 0),
        (False, "silence", 2 * 60_000 + 1000 - 100_000),
        (True, "silence", 2 * 60_000 + 1000 - 100_000),
    ],
)
def test_what_a_call_whose_end_nobody_saw_may_have_cost_stays_in_the_bound(hidden, end, bound):
    account = taken(metered(), 1, claim(1000, 60_000, hidden=hidden))
    if end == "silence":
        account = account.keep_unknown(1)
    else:
        account = account.settle(1, Tally(1000, 0, 1), whole=end == "whole")
    assert account.used.micros == 1000
    assert taken(account, 2, claim(1000, 61_000, hidden=hidden)).bound_micros == max(0, bound)


def test_strict_has_no_doubt():
    account = taken(strict(), 1, claim(1000, 60_000, hidden=True)).settle(1, Tally(1000, 0, 1), whole=False)
    assert (account.used.micros, account.doubt_micros) == (60_000, 0)
    account = taken(account, 2, claim(1000, 30_000, hidden=True)).keep_unknown(2)
    assert (account.used.micros, account.doubt_micros) == (90_000, 0)
