"""Checkpoints, notes and proofs: what is read is written again as it was, and nothing else ends in another error."""

from __future__ import annotations

import hashlib

from hypothesis import given, settings
from hypothesis import strategies as st

from docket.errors import InvalidDocumentError
from docket.formats.merkle import Frontier, MerkleTree
from docket.formats.merkle_proof import is_prefix
from docket.formats.proof.checkpoint import (
    head_text,
    head_words,
    read_anchored,
    read_checkpoint,
    read_checkpoints,
    read_head_words,
)
from docket.formats.proof.note import read_note, write_note
from golden_ledgers.headed import ORIGIN, SIGNED_ORIGIN, checkpointed, file_of, note_of, root_by, signed_run
from golden_ledgers.proven import SECRET_KEY

NOTES = [note_of(ORIGIN, 7, "5c" * 32), note_of(SIGNED_ORIGIN, 7, "5c" * 32, SECRET_KEY)]
FILES = [file_of(checkpointed()), file_of(signed_run(), SIGNED_ORIGIN, SECRET_KEY)]
PIECES = st.sampled_from(
    ["", "\n", "\n\n", "\u2014 ", " ", "+", "=", "A", "\t", "\x00", "\u00a0", "\U0001f600", "0", "docket-head "]
)


@st.composite
def changed(draw: st.DrawFn, texts: list[str]) -> str:
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(PIECES | st.text(max_size=3)) + text[at + draw(st.integers(0, 4)) :]
    return text


@settings(max_examples=300)
@given(changed(NOTES))
def test_a_note_is_refused_or_written_again_as_it_was(text: str) -> None:
    try:
        head, note = read_checkpoint(text)
    except InvalidDocumentError:
        return
    assert (head_text(head) if note is None else write_note(note)) == text
    assert read_head_words(head_words(head)) == head
    if note is not None:
        assert read_note(text) == note
        assert head_text(head) == note.text


@settings(max_examples=200)
@given(changed([file.decode("utf-8") for file in FILES]))
def test_a_file_is_refused_or_one_of_those_that_were_written(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    for read in (read_checkpoints, lambda _: read_anchored(text), lambda _: [read_head_words(text)]):
        try:
            found = read(data)
        except InvalidDocumentError:
            continue
        assert isinstance(found, list)


@settings(max_examples=60)
@given(st.data(), st.integers(1, 300))
def test_proofs_of_trees_of_any_size(data: st.DataObject, size: int) -> None:
    hashes = [hashlib.sha256(number.to_bytes(4, "big")).hexdigest() for number in range(size)]
    tree, grown = MerkleTree(hashes), Frontier()
    first, index = data.draw(st.integers(1, size)), data.draw(st.integers(0, size - 1))
    for event_hash in hashes[:first]:
        grown.add(event_hash)
    old, new = bytes.fromhex(grown.root()), bytes.fromhex(tree.root)
    proof, path = list(tree.consistency(first)), list(tree.inclusion(index))
    assert tree.root_at(first) == grown.root()
    assert is_prefix(first, size, proof, old, new)
    assert root_by(bytes.fromhex(hashes[index]), index, size, path) == tree.root
    if proof:
        at = data.draw(st.integers(0, len(proof) - 1))
        other = bytes([proof[at][0] ^ 1]) + proof[at][1:]
        assert not is_prefix(first, size, [*proof[:at], other, *proof[at + 1 :]], old, new)
        assert not is_prefix(first, size, [*proof[:at], *proof[at + 1 :]], old, new)
    assert not is_prefix(first, size, [*proof, b"\0" * 32], old, new)
