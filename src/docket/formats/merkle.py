"""The Merkle tree over a ledger's event hashes (RFC 6962 shape, an odd node is promoted).

Rules (spec/ledger.md): leaf = sha256(00 || 32 raw bytes of the event hash); node = sha256(01 || left || right);
the empty tree's root is sha256 of nothing. A path lists siblings from the leaf to the root.

What a proof shows to whoever has no tree is checked by `formats.merkle_proof`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from hashlib import sha256
from typing import NamedTuple

from docket.formats.digest import Digest


class Side(StrEnum):
    """Where a sibling stands."""

    LEFT = "left"
    RIGHT = "right"


class Sibling(NamedTuple):
    """One step of a path: the sibling's node hash and its side."""

    side: Side
    hash: Digest


class MerkleTree:
    """All levels over `hashes` (event hashes, hexadecimal); build is O(n), each path O(log n)."""

    def __init__(self, hashes: Sequence[str]) -> None:
        # Written out as in `_parents`: a call for each of a long ledger's hashes is a fifth of the time they take.
        level = [sha256(b"\x00" + raw).digest() for raw in map(bytes.fromhex, hashes)]
        self._levels = [level]
        while len(level) > 1:
            level = _parents(level)
            self._levels.append(level)

    @property
    def root(self) -> Digest:
        """The root over all leaves; of no leaves, sha256 of nothing."""
        top = self._levels[-1]
        return Digest(top[0].hex() if top else sha256(b"").hexdigest())

    @property
    def size(self) -> int:
        """The number of leaves."""
        return len(self._levels[0])

    def root_at(self, size: int) -> Digest:
        """Return the root over the first `size` leaves, O(log n); IndexError outside the tree."""
        if not 0 <= size <= self.size:
            raise IndexError(size)
        if size == 0:
            return Digest(sha256(b"").hexdigest())
        return Digest(self._over_range(0, size).hex())

    def inclusion(self, index: int) -> tuple[bytes, ...]:
        """Return the proof of leaf `index` (RFC 9162, 2.1.3.1): its path without sides."""
        return tuple(bytes.fromhex(step.hash) for step in self.path(index))

    def consistency(self, size: int) -> tuple[bytes, ...]:
        """Return the proof that the first `size` leaves are a prefix (RFC 9162, 2.1.4.1), empty for all of them.

        IndexError where there are not so many, or none.
        """
        if not 0 < size <= self.size:
            raise IndexError(size)
        return tuple(self._subproof(size, 0, self.size, is_known=True))

    def _subproof(self, size: int, start: int, end: int, *, is_known: bool) -> list[bytes]:
        if size == end - start:
            return [] if is_known else [self._node(start, end)]
        split = _left_leaves(end - start)
        if size <= split:
            below = self._subproof(size, start, start + split, is_known=is_known)
            return [*below, self._node(start + split, end)]
        below = self._subproof(size - split, start + split, end, is_known=False)
        return [*below, self._node(start, start + split)]

    def _over_range(self, start: int, end: int) -> bytes:
        """Return the node over leaves that begin a subtree and may end within one."""
        if end - start == 1 << (end - start).bit_length() - 1:
            return self._node(start, end)
        split = _left_leaves(end - start)
        return node_hash(self._node(start, start + split), self._over_range(start + split, end))

    def _node(self, start: int, end: int) -> bytes:
        """Return a node of this tree: over a whole subtree, or over the last one to the tree's end."""
        height = (end - start - 1).bit_length()
        return self._levels[height][start >> height]

    def is_path(self, index: int, steps: Sequence[Sibling]) -> bool:
        """Whether `steps` are exactly the path of leaf `index`; nothing is hashed for it."""
        return 0 <= index < self.size and self.path(index) == tuple(steps)

    @property
    def levels(self) -> Sequence[Sequence[bytes]]:
        """The nodes of each level, the leaves first."""
        return self._levels

    @property
    def height(self) -> int:
        """The number of levels above the leaves."""
        return len(self._levels) - 1

    def sibling(self, level: int, index: int) -> Sibling | None:
        """Return the step from a node `level` levels above the leaves; None where it is promoted, or is the root."""
        nodes, other = self._levels[level], index ^ 1
        if other >= len(nodes):
            return None
        return Sibling(Side.LEFT if other < index else Side.RIGHT, Digest(nodes[other].hex()))

    def path(self, index: int) -> tuple[Sibling, ...]:
        """Return the path of leaf `index`; IndexError outside the tree."""
        if not 0 <= index < self.size:
            raise IndexError(index)
        steps = (self.sibling(level, index >> level) for level in range(self.height))
        return tuple(step for step in steps if step is not None)


def root_from_path(event_hash: str, path: Sequence[Sibling]) -> Digest:
    """Return the root that `path` leads to from `event_hash`."""
    node = leaf_hash(bytes.fromhex(event_hash))
    for step in path:
        other = bytes.fromhex(step.hash)
        node = node_hash(other, node) if step.side is Side.LEFT else node_hash(node, other)
    return Digest(node.hex())


class Frontier:
    """A tree that only grows, as the roots of its whole subtrees: O(log n) memory, the same root as `MerkleTree`."""

    __slots__ = ("_roots", "size")

    def __init__(self) -> None:
        self.size = 0
        self._roots: list[bytes] = []

    def add(self, event_hash: str) -> None:
        """Take the next leaf."""
        node, joined = leaf_hash(bytes.fromhex(event_hash)), self.size
        while joined & 1:
            node = node_hash(self._roots.pop(), node)
            joined >>= 1
        self._roots.append(node)
        self.size += 1

    def root(self) -> Digest:
        """Return the root over all leaves so far."""
        if not self._roots:
            return Digest(sha256(b"").hexdigest())
        node = self._roots[-1]
        for left in reversed(self._roots[:-1]):
            node = node_hash(left, node)
        return Digest(node.hex())


def _left_leaves(leaves: int) -> int:
    """Return how many leaves stand below the left half of a tree: the largest power of two below their number."""
    return 1 << (leaves - 1).bit_length() - 1


def leaf_hash(raw: bytes) -> bytes:
    """Return the hash of a leaf: of the 32 bytes of an event's hash."""
    return sha256(b"\x00" + raw).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of a node with these two below it."""
    return sha256(b"\x01" + left + right).digest()


def _parents(level: list[bytes]) -> list[bytes]:
    pairs = zip(level[::2], level[1::2], strict=False)
    above = [sha256(b"\x01" + left + right).digest() for left, right in pairs]
    return above + level[len(above) * 2 :]
