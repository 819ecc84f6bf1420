from decimal import Decimal

import pytest

from docket.formats.amount import Usd
from docket.formats.reason import Reason
from docket.rules.spending.caps import UNLIMITED, Caps, Tally, amount_text

ALL = Caps(usd=Usd.parse("1.50"), tokens=1000, calls=3, warn_at=Decimal("0.8"))


def test_tallies_add_scale_by_scale():
    assert Tally(1, 2, 3) + Tally(10, 20, 30) == Tally(11, 22, 33)
    assert Tally(11, 22, 33) - Tally(10, 20, 30) == Tally(1, 2, 3)
    assert Tally(1, 20, 3).at_least(Tally(10, 2, 3)) == Tally(10, 20, 3)
    assert Tally(1, 20, 3).at_most(Tally(10, 2, 3)) == Tally(1, 2, 3)


@pytest.mark.parametrize(
    ("tally", "cap"),
    [
        (Tally(1_500_000, 1000, 3), None),
        (Tally(1_500_001, 1001, 4), Reason.MAX_USD),
        (Tally(0, 1001, 4), Reason.MAX_TOKENS),
        (Tally(0, 0, 4), Reason.MAX_MODEL_CALLS),
    ],
)
def test_equality_is_within_and_the_first_crossed_cap_is_named(tally, cap):
    assert ALL.crossed_by(tally) == cap
    assert Caps().crossed_by(tally) is None


def test_every_crossed_cap_is_listed():
    assert ALL.all_crossed_by(Tally(1_500_001, 0, 4)) == (Reason.MAX_USD, Reason.MAX_MODEL_CALLS)
    assert ALL.all_crossed_by(Tally(1_500_000, 1000, 3)) == ()


def test_a_cap_that_does_not_exist_is_beyond_any_amount():
    assert Caps().limit == Tally(UNLIMITED, UNLIMITED, UNLIMITED)
    assert ALL.limit == Tally(1_500_000, 1000, 3)


def test_warnings_begin_at_their_share():
    assert ALL.warned_by(Tally(1_199_999, 799, 2)) == ()
    assert ALL.warned_by(Tally(1_200_000, 800, 3)) == (Reason.MAX_USD, Reason.MAX_TOKENS, Reason.MAX_MODEL_CALLS)
    assert Caps(calls=3).warned_by(Tally(0, 0, 3)) == ()
    assert Caps(usd=Usd(5), warn_at=Decimal(1)).warned_by(Tally(5, 9, 9)) == (Reason.MAX_USD,)
    assert Caps(calls=0, warn_at=Decimal("0.5")).warned_by(Tally()) == ()


@pytest.mark.parametrize(("micros", "percent"), [(0, "0.0"), (1_249_999, "83.3"), (1_500_000, "100.0")])
def test_the_used_share_is_rounded_down(micros, percent):
    assert ALL.used_percent(Reason.MAX_USD, Tally(micros)) == percent
    assert Caps(calls=0).used_percent(Reason.MAX_MODEL_CALLS, Tally(calls=3)) == "0.0"


def test_amounts_are_spelt_as_a_record_writes_them():
    tally = Tally(1_234_567, 89, 4)
    assert [amount_text(cap, tally) for cap in (Reason.MAX_USD, Reason.MAX_TOKENS, Reason.MAX_MODEL_CALLS)] == [
        "1.234567", "89", "4",
    ]  # fmt: skip
    assert ALL.limit_text(Reason.MAX_USD) == "1.50"
