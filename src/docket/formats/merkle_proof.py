"""Checking proofs about a Merkle tree without the tree (RFC 9162, 2.1.3.2 and 2.1.4.2).

Rules: hashes are 32 raw bytes; a proof that is too long, too short or of other hashes proves nothing. Proofs are made
by `formats.merkle`.
"""

from __future__ import annotations

from collections.abc import Sequence

from docket.formats.merkle import leaf_hash, node_hash


def is_included(event_hash: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """Whether the proof leads from the leaf of an event's hash, number `index` of `size`, to the root."""
    if not 0 <= index < size:
        return False
    at, last = index, size - 1
    node = leaf_hash(event_hash)
    for other in proof:
        if last == 0:
            return False
        if at & 1 or at == last:
            node = node_hash(other, node)
            at, last = _risen(at, last)
        else:
            node = node_hash(node, other)
        at, last = at >> 1, last >> 1
    return last == 0 and node == root


def is_prefix(first: int, second: int, proof: Sequence[bytes], first_root: bytes, second_root: bytes) -> bool:
    """Whether the proof shows that a tree of `first` leaves, at least one, is the beginning of one of `second`."""
    if not 0 < first <= second:
        return False
    if first == second:
        return not proof and first_root == second_root
    nodes = [first_root, *proof] if first & (first - 1) == 0 else list(proof)
    if not nodes:
        return False
    at, last = first - 1, second - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    old = new = nodes[0]
    for other in nodes[1:]:
        if last == 0:
            return False
        if at & 1 or at == last:
            old, new = node_hash(other, old), node_hash(other, new)
            at, last = _risen(at, last)
        else:
            new = node_hash(new, other)
        at, last = at >> 1, last >> 1
    return last == 0 and old == first_root and new == second_root


def _risen(at: int, last: int) -> tuple[int, int]:
    """Go up past the levels at which the node has nothing to its left."""
    while at and not at & 1:
        at, last = at >> 1, last >> 1
    return at, last
