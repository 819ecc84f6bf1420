"""How a run ended, in a word: what weighs more comes first."""

from __future__ import annotations

import pytest

from docket.formats.run.run_row import End, end_of, row_of_receipt


@pytest.mark.parametrize(
    ("exit_code", "breached", "interrupted", "has_gap", "end"),
    [
        (0, None, False, False, End.OK),
        (0, None, False, True, End.INCOMPLETE),
        (1, None, False, True, End.FAILED),
        (130, None, True, False, End.INTERRUPTED),
        (42, "max_usd", True, True, End.CAP),
        (None, "max_usd", False, False, End.INCOMPLETE),
    ],
)
def test_an_ending_is_one_word(
    exit_code: int | None, breached: str | None, interrupted: bool, has_gap: bool, end: End
) -> None:
    assert end_of(exit_code=exit_code, breached=breached, interrupted=interrupted, has_gap=has_gap) is end


@pytest.mark.parametrize(
    ("exit_code", "outcome", "end"),
    [
        (0, None, End.OK),
        (0, "committed", End.OK),
        (0, "left-for-review", End.REVIEW),
        (0, "refused", End.NOT_LANDED),
        (0, "discarded", End.NOT_LANDED),
        (3, "discarded", End.FAILED),
    ],
)
def test_a_run_that_ended_well_ends_as_its_stage_does(exit_code: int, outcome: str | None, end: End) -> None:
    receipt = {
        "docket_number": "DKT-1",
        "created_at": "2026-01-02T03:04:05Z",
        "session": {"id": "s", "exit_code": exit_code},
        "totals": {"total_tokens": 0, "cost_usd": "0.00"},
        "model_calls": {"count": 0, "denied": 0},
        "files": {"changed": 2},
        **({} if outcome is None else {"workspace": {"outcome": outcome, "transaction": "0123456789ab"}}),
    }
    row = row_of_receipt(receipt, "DKT-1")
    assert (row.end, row.transaction) == (end, None if outcome is None else "0123456789ab")
