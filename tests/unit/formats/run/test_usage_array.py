"""Rows that are made when they are asked for are, and are written, as the rows themselves."""

from __future__ import annotations

import hashlib

import pytest

from docket.formats.amount import Usd
from docket.formats.canonical import encode, encode_document
from docket.formats.digest import Digest
from docket.formats.merkle import MerkleTree
from docket.formats.run.receipt import UsageRow
from docket.formats.run.usage import UsageSource
from docket.formats.run.usage_array import UsageArray, parted


def row(seq: int, event_hash: Digest, **more: object) -> UsageRow:
    members = {
        "seq": seq,
        "model": 'm"é\n',
        "provider": "p\\",
        "input_tokens": seq,
        "cached_input_tokens": 0,
        "output_tokens": 2**53 - 1,
        "usage_source": UsageSource.ESTIMATED if seq % 2 else UsageSource.REPORTED,
        "cost_usd": Usd(seq),
        "event_hash": event_hash,
        **({"latency_ms": 7} if seq % 3 else {}),
        **({"cache_key": "k"} if seq % 5 == 0 else {}),
    }
    return UsageRow(**(members | more))  # type: ignore[arg-type] # as named


def array(leaves: int, seqs: range) -> tuple[UsageArray, list[object]]:
    hashes = [Digest(hashlib.sha256(b"%d" % at).hexdigest()) for at in range(leaves)]
    tree = MerkleTree(hashes)
    rows = [row(seq, hashes[seq]) for seq in seqs]
    return UsageArray(rows, tree), [item.to_json(tree.path(item.seq)) for item in rows]


@pytest.mark.parametrize("leaves", [1, 2, 3, 5, 8, 13, 64, 65, 100])
def test_both_texts_are_those_of_the_rows(leaves: int) -> None:
    for seqs in (range(leaves), range(leaves - 1, -1, -1), range(leaves - 1, leaves), range(0, leaves, 3), range(0)):
        lazy, plain = array(leaves, seqs)
        assert lazy == plain
        assert encode({"a": lazy}) == encode({"a": plain})  # type: ignore[dict-item] # rows as JSON
        assert encode_document({"a": [lazy, 1]}) == encode_document({"a": [plain, 1]})  # type: ignore[list-item] # as above


def test_it_is_an_array_as_any() -> None:
    lazy, plain = array(5, range(5))
    assert len(lazy) == 5
    assert (lazy[0], lazy[-1], lazy[1:3], lazy[::-1]) == (plain[0], plain[-1], plain[1:3], plain[::-1])
    with pytest.raises(IndexError):
        lazy[5]
    assert lazy != plain[1:]
    assert lazy != "text"
    assert lazy == UsageArray(lazy.rows, lazy.tree)
    with pytest.raises(TypeError):
        hash(lazy)


def test_a_text_is_parted_around_its_very_rows() -> None:
    lazy, _ = array(5, range(1, 4))
    text = encode_document({"a": 1, "appendix": {"usage": lazy, "b": 2}})
    parts = parted(text, lazy)
    assert parts is not None
    assert parts.before == b'{\n  "a": 1,\n  "appendix": {\n    "usage": ['
    assert parts.behind == b'\n    ],\n    "b": 2\n  }\n}\n'
    for other in (lazy.rows[:-1], lazy.rows[1:], [*lazy.rows, row(0, Digest("0" * 64))], []):
        assert parted(text, UsageArray(other, lazy.tree)) is None
    assert parted(text.replace(b"appendix", b"appendiy"), lazy) is None
    assert parted(text, UsageArray([row(1, Digest("0" * 64), model="\ud800")], lazy.tree)) is None
    assert parted(b"", UsageArray([], lazy.tree)) is None
