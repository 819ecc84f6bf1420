"""Money: exact, one spelling, half to even."""

from __future__ import annotations

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.reason import Reason


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (0, "0.00"),
        (1, "0.000001"),
        (9_999, "0.009999"),
        (10_000, "0.01"),
        (10_001, "0.010001"),
        (100_000, "0.10"),
        (1_000_000, "1.00"),
        (1_234_560, "1.234560"),
        (5_050_000, "5.05"),
        (123_456_789_012_345_678, "123456789012.345678"),
    ],
)
def test_two_digits_for_whole_cents_else_six(micros, text):
    assert str(Usd(micros)) == text
    assert Usd.parse_canonical(text) == Usd(micros)


@pytest.mark.parametrize(
    ("text", "micros"), [("5", 5_000_000), ("0.5", 500_000), ("0.05", 50_000), ("1.2345", 1_234_500), ("0", 0)]
)
def test_a_person_may_write_fewer_digits(text, micros):
    assert Usd.parse(text) == Usd(micros)


@pytest.mark.parametrize("text", ["5", "0.5", "1.2345", "1.000000", "0.050000", "0.0"])
def test_a_record_may_not(text):
    with pytest.raises(InvalidDocumentError) as caught:
        Usd.parse_canonical(text)
    assert caught.value.reason == Reason.NOT_CANONICAL


@pytest.mark.parametrize(
    "text",
    ["", "-1", "+1", "01", "1.", ".5", "1.2345678", "1e3", "1,00", "$1", " 1", "1\n", "٣", "nan", "inf", 1, 1.5, None,
     True, "9999999999999"],
)  # fmt: skip
def test_what_is_no_amount(text):
    with pytest.raises(InvalidDocumentError) as caught:
        Usd.parse(text)
    assert caught.value.reason == Reason.NOT_AN_AMOUNT


@pytest.mark.parametrize("micros", [-1, 1.0, True, "1", None])
def test_an_amount_is_a_whole_count(micros):
    with pytest.raises(InvalidDocumentError) as caught:
        Usd(micros)
    assert caught.value.reason == Reason.NOT_AN_AMOUNT


def test_amounts_add_and_order():
    assert Usd(1) + Usd(2) == Usd(3)
    assert Usd(1) < Usd(2)
