"""Checking that a Merkle tree begins with another one, without either (RFC 9162, 2.1.4.2).

Rules: hashes are 32 raw bytes; a proof that is too long, too short or of other hashes proves nothing. Proofs are made
by `formats.merkle`.
"""

from __future__ import annotations

from collections.abc import Sequence

from docket.formats.merkle import node_hash


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
