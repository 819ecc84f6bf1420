"""The vectors of `docket/workspace-journal/v1`, read by docket and by a reader of the standard library alone."""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.workspace.journal import decode_journal

VECTORS = json.loads((Path(__file__).parents[2] / "spec/vectors/journal.json").read_text("utf-8"))
KEY = bytes.fromhex(VECTORS["key"])
CASES = VECTORS["cases"]
NAMES = [case["name"] for case in CASES]


def whole_lines(document: str) -> tuple[int, bool]:
    """How many lines are whole, and whether each has the right MAC."""
    count, mac = 0, ""
    for text in document.split("\n")[:-1]:
        try:
            line = json.loads(text)
        except ValueError:
            break
        body = json.dumps(line["record"], sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        if (line["length"], line["sha256"]) != (len(body), hashlib.sha256(body).hexdigest()):
            break
        mac = hmac.new(KEY, mac.encode() + b"\n" + body, hashlib.sha256).hexdigest()
        if line["mac"] != mac:
            return count, False
        count += 1
    return count, True


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_docket_reads_what_the_vector_says(case):
    document = case["document"].encode()
    if case.get("refused"):
        with pytest.raises(InvalidDocumentError):
            decode_journal(document, KEY)
        return
    found = decode_journal(document, KEY)
    if case.get("never_began"):
        assert found is None
        return
    assert found is not None
    assert (len(found.steps), found.staging is not None, found.applied) == (
        case["steps"],
        case["prepared"],
        case["applied"],
    )


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_another_reader_finds_the_same_lines(case):
    count, authentic = whole_lines(case["document"])
    if not authentic:
        assert case["refused"]
        return
    if case.get("never_began"):
        assert count == 0
        return
    assert count > 0
    found = None if case.get("refused") else decode_journal(case["document"].encode(), KEY)
    if found is not None:
        lines = case["document"].encode().splitlines(keepends=True)
        assert found.length == sum(len(line) for line in lines[:count])
