"""The vectors of tool windows, which a program without docket's code has written, against docket's own reading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.windows.delta import decode_delta, encode_delta
from docket.rules.line_difference import Budget
from docket.rules.windows.differ import diff_lines

VECTORS = json.loads((Path(__file__).parents[2] / "spec/vectors/windows.json").read_bytes())


@pytest.mark.parametrize("number", range(len(VECTORS["lines"])))
def test_two_texts_differ_so(number):
    case = VECTORS["lines"][number]
    old, new = ([line.encode() for line in case[name]] for name in ("old", "new"))
    hunks: list[dict[str, Any]] = [
        {
            "old_start": hunk.old_start,
            "old_count": len(hunk.old_lines),
            "old_lines": [line.decode() for line in hunk.old_lines],
            "new_start": hunk.new_start,
            "new_count": len(hunk.new_lines),
            "new_lines": [line.decode() for line in hunk.new_lines],
        }
        for hunk in diff_lines(old, new, Budget(depth=case["depth"]))
    ]
    assert hunks == case["hunks"]


@pytest.mark.parametrize("case", VECTORS["accepted"], ids=lambda case: case["name"])
def test_a_delta_is_accepted_and_is_its_own_spelling(case):
    document = case["document"].encode()
    assert encode_delta(decode_delta(document)) == document


@pytest.mark.parametrize("case", VECTORS["refused"], ids=lambda case: case["name"])
def test_a_delta_is_refused(case):
    with pytest.raises(InvalidDocumentError):
        decode_delta(case["document"].encode())
