"""The page on what docket proves: codes that it names are those of receipts, and tests that it names are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docket.formats.disclosure import Limit

REPOSITORY = Path(__file__).resolve().parents[3]
PAGE = (REPOSITORY / "docs/explanation/threat-model.md").read_text("utf-8")
ROWS = {cells[0]: cells for cells in ([cell.strip() for cell in row.split(" | ")]
        for row in re.findall(r"^\| (W\d.*) \|$", PAGE, re.MULTILINE))}  # fmt: skip
WEAKNESSES = [*(f"W{number}" for number in range(1, 11)), "W13"]


def test_each_weakness_has_one_row() -> None:
    assert list(ROWS) == WEAKNESSES
    assert len(re.findall(r"^\| W\d", PAGE, re.MULTILINE)) == len(WEAKNESSES)


@pytest.mark.parametrize("name", WEAKNESSES)
def test_a_row_names_codes_of_receipts_and_tests_that_are_there(name: str) -> None:
    _, weakness, answer, rest, codes, tests = ROWS[name]
    named, tried = re.findall(r"`([^`]+)`", codes), re.findall(r"`([^`]+)`", tests)

    assert all((weakness, answer, rest, named, tried))
    assert set(named) <= {str(limit) for limit in Limit}
    assert [path for path in tried if not (REPOSITORY / path).is_file()] == []
