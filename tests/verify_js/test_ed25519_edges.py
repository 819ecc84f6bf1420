"""Ed25519 where verifiers are known to part: keys and R with a part of small order, other spellings, S at its bounds.

What must be said of each follows from the group alone: with S = r + k·a the equation of RFC 8032 without the cofactor
holds exactly where the parts of small order of R and of [k]A cancel, which a verifier with the cofactor does not ask.
Both verifiers, and the second one without its platform's Ed25519, give that answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from docket.rules.proof import ed25519
from unit.rules.proof.test_ed25519 import ORDER, P, added, edwards_x, small_points
from verify_js.in_node import needs_node
from verify_js.test_primitives import asked

Point = tuple[int, int]
BASE_Y = 4 * pow(5, -1, P) % P
BASE = (next(x for x in edwards_x(BASE_Y) if x % 2 == 0), BASE_Y)
KEY, NONCE = 7**60 % ORDER, 11**70 % ORDER
NEUTRAL = (0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A key, a signature and a text, and whether it is one of them."""

    name: str
    key: bytes
    signature: bytes
    message: bytes
    holds: bool


def times(number: int, point: Point) -> Point:
    """So many times a point."""
    total = NEUTRAL
    while number:
        total = added(total, point) if number & 1 else total
        point, number = added(point, point), number >> 1
    return total


def spelled(point: Point, *, beyond: int = 0) -> bytes:
    """A point as 32 bytes, its y perhaps beyond the field's prime."""
    return (point[1] + beyond | (point[0] & 1) << 255).to_bytes(32, "little")


@cache
def of_base(number: int) -> Point:
    """So many times the base point."""
    return times(number, BASE)


def small() -> list[Point]:
    """The eight multiples of a point of order 8, from none of it on."""
    one = next(point for point in small_points() if times(4, point) != NEUTRAL)
    return [times(number, one) for number in range(8)]


def challenge(first: bytes, key: bytes, message: bytes) -> int:
    """k of RFC 8032, 5.1.7."""
    return int.from_bytes(hashlib.sha512(first + key + message).digest(), "little") % ORDER


def signed(parts: tuple[int, int], torsion: list[Point], message: bytes, *, small_key: bool = False) -> Edge:
    """A signature whose R and A have these parts of small order, by a key of the whole order or of none."""
    of_r, of_a = parts
    secret = 0 if small_key else KEY
    key = spelled(added(of_base(secret), torsion[of_a]))
    first = spelled(added(of_base(NONCE), torsion[of_r]))
    k = challenge(first, key, message)
    s = (NONCE + k * secret) % ORDER
    cancels = (of_r + k * of_a) % 8 == 0
    return Edge(
        name=f"{of_r} eighths in R, {of_a} in A{' alone' if small_key else ''}",
        key=key, signature=first + s.to_bytes(32, "little"), message=message, holds=cancels and not small_key,
    )  # fmt: skip


@cache
def edges() -> tuple[Edge, ...]:
    """Every case."""
    return tuple(_edges())


def _edges() -> Iterator[Edge]:
    torsion = small()
    for of_r in range(8):
        for of_a in range(8):
            for number in range(3):
                yield signed((of_r, of_a), torsion, b"text %d" % number)
        yield signed((of_r, of_r), torsion, b"", small_key=True)
    good = next(edge for edge in (signed((0, 0), torsion, b"x"),))
    first, s = good.signature[:32], int.from_bytes(good.signature[32:], "little")
    for name, number in (
        ("the order more", s + ORDER), ("twice the order more", s + 2 * ORDER), ("the order", ORDER),
        ("a bit above", s | 1 << 255),
        ("all bits", 2**256 - 1), ("none", 0), ("one less than the order", ORDER - 1), ("another", s ^ 1),
    ):  # fmt: skip
        value = first + number.to_bytes(32, "little")
        yield Edge(name=f"S: {name}", key=good.key, signature=value, message=b"x", holds=False)
    # R and A of no point, of small order, and in spellings beyond the prime.
    odd = {f"{number} eighths": spelled(point) for number, point in enumerate(torsion)}
    odd |= {f"y = p + {y}": spelled((x, y), beyond=P) for y in range(19) for x in (0, 1)}
    odd |= {"no point": (2).to_bytes(32, "little"), "x = -0": (1 | 1 << 255).to_bytes(32, "little")}
    for name, text in odd.items():
        k = challenge(text, good.key, b"x")
        value = text + (k * KEY % ORDER).to_bytes(32, "little")
        # R of no order at all is one that a careless signer may come by: the neutral point in its one spelling.
        yield Edge(name=f"R: {name}", key=good.key, signature=value, message=b"x", holds=text == spelled(NEUTRAL))
        yield Edge(name=f"A: {name}", key=text, signature=spelled(NEUTRAL) + bytes(32), message=b"x", holds=False)


def test_docket_says_of_each_edge_what_the_group_says() -> None:
    cases = edges()
    assert [
        (edge.name, edge.holds) for edge in cases
        if (ed25519.fault(edge.key, edge.signature, edge.message) is None) != edge.holds
    ] == []  # fmt: skip
    assert len(cases) > 250
    assert 20 < sum(edge.holds for edge in cases) < 60


@needs_node
def test_verify_js_says_the_same_with_its_platform_and_without() -> None:
    cases = edges()
    for part in ("ed25519", "curve"):
        faults = asked([part, edge.key.hex(), edge.signature.hex(), edge.message.hex()] for edge in cases)
        assert [
            (part, edge.name, fault) for edge, fault in zip(cases, faults, strict=True) if (fault is None) != edge.holds
        ] == []
