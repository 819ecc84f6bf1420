"""A receipt without the paths of its rows is the same receipt but for these."""

from __future__ import annotations

import json

from docket.formats.canonical import encode_document
from docket.formats.run.pathless import without_paths
from golden_ledgers import samples
from golden_ledgers.judging import receipt_of


def test_paths_go_and_nothing_else() -> None:
    receipt = receipt_of(samples.anthropic().data())
    rows = receipt["appendix"]["usage"]
    assert all(len(row["merkle_path"]) > 2 for row in rows)
    shown = json.loads(without_paths(encode_document(receipt)))
    assert shown["appendix"].pop("usage") == [{**row, "merkle_path": []} for row in rows]
    del receipt["appendix"]["usage"]
    assert shown == receipt


def test_what_is_no_path_stays() -> None:
    step = '{"side": "left", "hash": "' + "ab" * 32 + '"}'
    for text in (
        '{"merkle_path": []}',
        '{"merkle_path": ["]"]}',
        '{"merkle_path": [' + step.replace("left", "up") + "]}",
        '{"merkle_path": [' + step + ", 7]}",
        json.dumps({"label": '"merkle_path": [' + step + "]"}),
    ):
        assert without_paths(text.encode()) == text.encode()
    assert without_paths(b'{"merkle_path":[' + step.encode() + b", " + step.encode() + b"]}") == b'{"merkle_path":[]}'
