"""The Merkle tree over a ledger's event hashes (RFC 6962 shape, an odd node is promoted).

Rules (spec/ledger.md): leaf = sha256(00 || 32 raw bytes of the event hash); node = sha256(01 || left || right);
the empty tree's root is sha256 of nothing. A path lists siblings from the leaf to the root.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from enum import StrEnum
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
        level = [_leaf(bytes.fromhex(item)) for item in hashes]
        self._levels = [level]
        while len(level) > 1:
            level = _parents(level)
            self._levels.append(level)

    @property
    def root(self) -> Digest:
        """The root over all leaves; of no leaves, sha256 of nothing."""
        top = self._levels[-1]
        return Digest(top[0].hex() if top else hashlib.sha256(b"").hexdigest())

    def is_path(self, index: int, steps: Sequence[Sibling]) -> bool:
        """Whether `steps` are exactly the path of leaf `index`; nothing is hashed for it."""
        if not 0 <= index < len(self._levels[0]):
            return False
        wanted = iter(steps)
        for level in self._levels[:-1]:
            sibling = index ^ 1
            if sibling < len(level):
                step = next(wanted, None)
                side = Side.LEFT if sibling < index else Side.RIGHT
                if step is None or step.side is not side or step.hash != level[sibling].hex():
                    return False
            index //= 2
        return next(wanted, None) is None

    def path(self, index: int) -> tuple[Sibling, ...]:
        """Return the path of leaf `index`; IndexError outside the tree."""
        if not 0 <= index < len(self._levels[0]):
            raise IndexError(index)
        steps = []
        for level in self._levels[:-1]:
            sibling = index ^ 1
            if sibling < len(level):
                side = Side.LEFT if sibling < index else Side.RIGHT
                steps.append(Sibling(side, Digest(level[sibling].hex())))
            index //= 2
        return tuple(steps)


def root_from_path(event_hash: str, path: Sequence[Sibling]) -> Digest:
    """Return the root that `path` leads to from `event_hash`."""
    node = _leaf(bytes.fromhex(event_hash))
    for step in path:
        other = bytes.fromhex(step.hash)
        node = _node(other, node) if step.side is Side.LEFT else _node(node, other)
    return Digest(node.hex())


def _leaf(raw: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + raw).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def _parents(level: list[bytes]) -> list[bytes]:
    paired = len(level) // 2 * 2
    above = [_node(level[i], level[i + 1]) for i in range(0, paired, 2)]
    return above + level[paired:]
