"""The Merkle tree against RFC 6962 worked out by hand with hashlib."""

from __future__ import annotations

from hashlib import sha256

import pytest

from docket.formats.merkle import MerkleTree, Sibling, Side, root_from_path

HASHES = [sha256(f"event {number}".encode()).hexdigest() for number in range(8)]
LEAF = [sha256(b"\x00" + bytes.fromhex(item)).digest() for item in HASHES]


def node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


A, B, C, D, E, F, G, H = LEAF
AB, CD, EF, GH = node(A, B), node(C, D), node(E, F), node(G, H)
ABCD, EFGH = node(AB, CD), node(EF, GH)

ROOTS = [
    sha256(b"").digest(),
    A,
    AB,
    node(AB, C),
    ABCD,
    node(ABCD, E),
    node(ABCD, EF),
    node(ABCD, node(EF, G)),
    node(ABCD, EFGH),
]


@pytest.mark.parametrize("size", range(9))
def test_the_root_of_the_first_leaves(size):
    assert MerkleTree(HASHES[:size]).root == ROOTS[size].hex()


def test_the_empty_root_is_the_digest_of_nothing():
    assert MerkleTree([]).root == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def left(raw: bytes) -> Sibling:
    return Sibling(Side.LEFT, raw.hex())


def right(raw: bytes) -> Sibling:
    return Sibling(Side.RIGHT, raw.hex())


@pytest.mark.parametrize(
    ("size", "index", "path"),
    [
        (1, 0, ()),
        (2, 0, (right(B),)),
        (2, 1, (left(A),)),
        (3, 2, (left(AB),)),
        (3, 1, (left(A), right(C))),
        (5, 4, (left(ABCD),)),
        (5, 3, (left(C), left(AB), right(E))),
        (6, 5, (left(E), left(ABCD))),
        (7, 6, (left(EF), left(ABCD))),
        (7, 4, (right(F), right(G), left(ABCD))),
        (8, 0, (right(B), right(CD), right(EFGH))),
        (8, 5, (left(E), right(GH), left(ABCD))),
        (8, 7, (left(G), left(EF), left(ABCD))),
    ],
)
def test_a_path_lists_the_siblings_from_leaf_to_root(size, index, path):
    tree = MerkleTree(HASHES[:size])
    assert tree.path(index) == path
    assert root_from_path(HASHES[index], path) == tree.root


@pytest.mark.parametrize("size", [*range(1, 9), 33, 100])
def test_every_path_leads_to_the_root_and_no_other_leaf_does(size):
    hashes = [sha256(str(number).encode()).hexdigest() for number in range(size)]
    tree = MerkleTree(hashes)
    for index, item in enumerate(hashes):
        path = tree.path(index)
        assert root_from_path(item, path) == tree.root
        assert size == 1 or root_from_path(hashes[(index + 1) % size], path) != tree.root


@pytest.mark.parametrize(("size", "index"), [(0, 0), (3, 3), (3, -1)])
def test_outside_the_tree_there_is_no_path(size, index):
    with pytest.raises(IndexError):
        MerkleTree(HASHES[:size]).path(index)


def test_a_node_is_no_leaf():
    # Without the two prefixes a root could be passed off as a leaf of a smaller tree.
    assert MerkleTree([AB.hex()]).root != AB.hex()


@pytest.mark.parametrize("size", range(1, 9))
def test_a_path_is_known_without_hashing(size):
    tree = MerkleTree(HASHES[:size])
    for index in range(size):
        path = tree.path(index)
        assert tree.is_path(index, path)
        assert not tree.is_path(index, (*path, Sibling(Side.LEFT, HASHES[0])))
        assert all(not tree.is_path(index, path[:at]) for at in range(len(path)))
        for at, step in enumerate(path):
            other = Side.LEFT if step.side is Side.RIGHT else Side.RIGHT
            assert not tree.is_path(index, (*path[:at], Sibling(other, step.hash), *path[at + 1 :]))
            assert not tree.is_path(index, (*path[:at], Sibling(step.side, HASHES[0]), *path[at + 1 :]))
    assert not tree.is_path(size, tree.path(0))
    assert not tree.is_path(-1, tree.path(0))
