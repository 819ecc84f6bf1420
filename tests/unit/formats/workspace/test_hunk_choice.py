"""A choice of hunks as people and their programs write it, and what is refused."""

from __future__ import annotations

import json

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.digest import Digest
from docket.formats.relpath import RelPath
from docket.formats.workspace import hunk_choice
from docket.formats.workspace.hunk_choice import HunkChoice, TakenPath, decode_choice, encode_choice

DIGEST = "ab" * 32
WRITTEN = {
    "take": [{"hunks": ["mode", "2-0123456789ab"], "path": "a b"}, {"path": "c"}, {"path_b64": "/w=="}],
    "diff_sha256": DIGEST,
    "format": "docket/workspace-hunks/v1",
}
CHOICE = HunkChoice(
    diff_sha256=Digest(DIGEST),
    take=(
        TakenPath(path=RelPath(b"a b"), hunks=("mode", "2-0123456789ab")),
        TakenPath(path=RelPath(b"c")),
        TakenPath(path=RelPath(b"\xff")),
    ),
)


def test_it_is_read_in_any_order_and_with_any_blanks() -> None:
    for indent in (None, 2):
        assert decode_choice(json.dumps(WRITTEN, indent=indent).encode()) == CHOICE
    assert decode_choice(encode_choice(CHOICE)) == CHOICE
    assert json.loads(encode_choice(CHOICE)) == WRITTEN


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"format": "docket/workspace-hunks/v2"}, "is no docket/workspace-hunks/v1"),
        ({"diff_sha256": "ab"}, "diff_sha256"),
        ({"take": {}}, "take"),
        ({"more": 1}, "more"),
        ({"take": [{"path": "a", "hunk": []}]}, "hunk"),
        ({"take": [{"path": "../a"}]}, r"\.\."),
        ({"take": [{}]}, "path"),
        ({"take": ["a"]}, "not an object"),
        ({"take": [{"path": "a", "hunks": []}]}, "of a no hunk is named"),
        ({"take": [{"path": "a", "hunks": [1]}]}, "1 is no name of a hunk"),
        ({"take": [{"path": "a", "hunks": ["0-0123456789ab"]}]}, "is no name of a hunk"),
        ({"take": [{"path": "a", "hunks": ["1-0123456789AB"]}]}, "is no name of a hunk"),
        ({"take": [{"path": "a", "hunks": ["mode", "mode"]}]}, "the hunk of a mode is named twice"),
        ({"take": [{"path": "a"}, {"path": "b"}, {"path": "a", "hunks": ["mode"]}]}, "the path a is named twice"),
    ],
)
def test_anything_else_is_refused(changed: dict, said: str) -> None:
    with pytest.raises(InvalidDocumentError, match=said):
        decode_choice(json.dumps(WRITTEN | changed).encode())


def test_what_is_no_object_or_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidDocumentError, match="is no docket"):
        decode_choice(b"[]")
    monkeypatch.setattr(hunk_choice, "MAX_CHOICE_BYTES", 10)
    with pytest.raises(InvalidDocumentError, match="more than 10 bytes"):
        decode_choice(b" " * 11)
