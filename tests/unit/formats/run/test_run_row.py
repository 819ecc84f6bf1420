"""How a run ended, in a word: what weighs more comes first."""

from __future__ import annotations

import pytest

from docket.formats.run.run_row import End, end_of


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
