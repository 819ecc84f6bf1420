"""Proofs about trees: the small tree that public logs test with, and every pair of sizes against plain recursion."""

from __future__ import annotations

import hashlib

import pytest

from docket.formats.merkle import Frontier, MerkleTree
from docket.formats.merkle_proof import is_prefix
from golden_ledgers.headed import root_by, root_of

# The eight entries, roots and consistency proofs with which implementations of RFC 6962 and RFC 9162 are tested.
LEAVES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
CONSISTENCY = {
    (1, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (6, 8): [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 5): [
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
}
MANY = [hashlib.sha256(bytes([number])).hexdigest() for number in range(37)]
TREES = [MerkleTree(MANY[:size]) for size in range(len(MANY) + 1)]


def raw(*texts: str) -> list[bytes]:
    return [bytes.fromhex(text) for text in texts]


def test_the_public_tree_has_its_roots_however_it_is_made() -> None:
    whole, grown = MerkleTree(LEAVES), Frontier()
    for size, root in enumerate(ROOTS, 1):
        grown.add(LEAVES[size - 1])
        assert MerkleTree(LEAVES[:size]).root == whole.root_at(size) == grown.root() == root
    assert whole.size == grown.size == 8


@pytest.mark.parametrize(("first", "second"), CONSISTENCY)
def test_the_public_consistency_proofs(first: int, second: int) -> None:
    proof = raw(*CONSISTENCY[first, second])
    assert MerkleTree(LEAVES[:second]).consistency(first) == tuple(proof)
    old, new = raw(ROOTS[first - 1], ROOTS[second - 1])
    assert is_prefix(first, second, proof, old, new)
    for wrong in (proof[:-1], [*proof, proof[0]], proof[::-1], [b"\1" * 32, *proof[1:]], []):
        assert not is_prefix(first, second, wrong, old, new)
    assert not is_prefix(first, second, proof, new, new)
    assert not is_prefix(first, second, proof, old, old)
    assert not is_prefix(first - 1, second, proof, old, new)


def test_every_prefix_of_a_tree_is_proven_and_nothing_else_is() -> None:
    for size in range(1, len(MANY) + 1):
        assert TREES[size].root == root_of(MANY[:size])
        (new,) = raw(TREES[size].root)
        for first in range(1, size + 1):
            proof = TREES[size].consistency(first)
            (old,) = raw(TREES[first].root)
            assert TREES[size].root_at(first) == TREES[first].root
            assert is_prefix(first, size, proof, old, new)
            assert len(proof) <= 2 * size.bit_length()
            for other in {first - 1, first + 1} - {0}:
                assert not is_prefix(other, size, proof, old, new)
            other_root = b"\2" * 32
            assert not is_prefix(first, size, proof, other_root, new)
            assert not is_prefix(first, size, proof, old, other_root)


def test_the_proof_of_every_leaf_leads_to_the_root() -> None:
    for size in range(1, len(MANY) + 1):
        for index in range(size):
            proof, (leaf,) = list(TREES[size].inclusion(index)), raw(MANY[index])
            assert root_by(leaf, index, size, proof) == TREES[size].root


def test_what_is_outside_a_tree() -> None:
    tree = TREES[5]
    for size in (-1, 6):
        with pytest.raises(IndexError):
            tree.root_at(size)
    for size in (-1, 0, 6):
        with pytest.raises(IndexError):
            tree.consistency(size)
    empty = hashlib.sha256(b"").hexdigest()
    assert tree.root_at(0) == Frontier().root() == empty
    assert not is_prefix(0, 5, (), b"", b"")
    assert is_prefix(5, 5, (), b"a", b"a")
    assert not is_prefix(5, 5, (), b"a", b"b")
    assert not is_prefix(5, 5, (b"x",), b"a", b"a")


def test_a_frontier_stays_small() -> None:
    grown = Frontier()
    for number in range(100_000):
        grown.add(f"{number:064x}")
    assert len(grown._roots) == (100_000).bit_count()
