"""Sums of usage rows, worked out by hand."""

from __future__ import annotations

from docket.formats.amount import Usd
from docket.formats.digest import Digest
from docket.formats.run.receipt import UsageRow
from docket.formats.run.row_sums import RowSum, sum_of_all, sums_by_model
from docket.formats.run.usage import UsageSource


def row(model: str, tokens: tuple[int, int, int], micros: int, source: UsageSource = UsageSource.REPORTED) -> UsageRow:
    return UsageRow(
        seq=1,
        model=model,
        provider="p",
        input_tokens=tokens[0],
        cached_input_tokens=tokens[1],
        output_tokens=tokens[2],
        usage_source=source,
        cost_usd=Usd(micros),
        event_hash=Digest("ab" * 32),
    )


ROWS = [
    row("b", (10, 4, 3), 1_000_000),
    row("a", (1, 0, 0), 20_000),
    row("b", (5, 5, 2), 500_001, UsageSource.ESTIMATED),
]


def test_each_models_rows_are_added_up_in_the_order_in_which_they_begin():
    sums = sums_by_model(ROWS)
    assert list(sums.items()) == [("b", RowSum(2, 15, 9, 5, 1_500_001, 1)), ("a", RowSum(1, 1, 0, 0, 20_000, 0))]
    assert (sums["b"].reported, sums["a"].reported) == (1, 1)
    assert sums["b"].to_json() == {
        "calls": 2,
        "input_tokens": 15,
        "cached_input_tokens": 9,
        "output_tokens": 5,
        "cost_usd": "1.500001",
    }


def test_the_whole_is_what_the_models_add_up_to():
    assert sum_of_all(sums_by_model(ROWS)) == RowSum(3, 16, 9, 5, 1_520_001, 1)
    assert sum_of_all(sums_by_model([])) == RowSum()
