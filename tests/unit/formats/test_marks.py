"""What a manifest needs is told from any that could be one, and nothing is told from what could not."""

from __future__ import annotations

import hashlib
import json

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.tree.marks import named_contents

ONE = hashlib.sha256(b"one").hexdigest()
FORMAT = "docket/snapshot/v1"


def test_each_content_is_named_once():
    entries = [{"sha256": ONE, "size": 3}, {"sha256": ONE, "size": 3}]
    document = json.dumps({"format": FORMAT, "entries": entries}).encode()
    assert named_contents(document).sizes == {bytes.fromhex(ONE): 3}


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"\xff",
        b"{",
        b"[" * 200_000,
        b"[]",
        b"{}",
        json.dumps({"format": "docket/snapshot/v2", "entries": []}).encode(),
        json.dumps({"format": FORMAT}).encode(),
        *(
            json.dumps({"format": FORMAT, "entries": [entry]}).encode()
            for entry in (1, {}, {"sha256": ONE}, {"sha256": ONE.upper(), "size": 3}, {"sha256": ONE, "size": "3"})
        ),
    ],
    ids=str,
)
def test_what_cannot_be_told_is_refused(document):
    with pytest.raises(InvalidDocumentError):
        named_contents(document)
