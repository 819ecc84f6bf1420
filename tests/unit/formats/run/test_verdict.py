"""The verdict as a value."""

from __future__ import annotations

import pytest

from docket.formats.run.verdict import Check, Status, Verdict, Word


@pytest.mark.parametrize(
    ("word", "required", "ok"),
    [
        (Word.VERIFIED, Word.VERIFIED, True),
        (Word.VERIFIED, Word.CONSISTENT, True),
        (Word.CONSISTENT, Word.CONSISTENT, True),
        (Word.CONSISTENT, Word.VERIFIED, False),
        (Word.INCOMPLETE, Word.CONSISTENT, False),
        (Word.FAILED, Word.CONSISTENT, False),
        (Word.UNREADABLE, Word.CONSISTENT, False),
    ],
)
def test_what_is_good_enough(word: Word, required: Word, ok: bool) -> None:
    assert Verdict(word=word, required=required).ok is ok


def test_the_json_form() -> None:
    checks = (Check("head", Status.PASS, "h"), Check("totals", Status.FAIL, "t"), Check("seal", Status.SKIP, "s"))
    verdict = Verdict(word=Word.FAILED, docket_number="DKT-20260101-AAAAAA", checks=checks)

    assert verdict.to_json() == {
        "ok": False,
        "verdict": "failed",
        "docket_number": "DKT-20260101-AAAAAA",
        "checks": [
            {"name": "head", "status": "pass", "detail": "h"},
            {"name": "totals", "status": "fail", "detail": "t"},
            {"name": "seal", "status": "skip", "detail": "s"},
        ],
        "failures": ["totals: t"],
    }


def test_the_json_form_of_what_cannot_be_read_says_why() -> None:
    assert Verdict(word=Word.UNREADABLE, detail="not JSON").to_json() == {
        "ok": False,
        "verdict": "unreadable",
        "docket_number": None,
        "checks": [],
        "failures": [],
        "detail": "not JSON",
    }
