"""Canonical form, chain, tree, seal and signature, written from the specification with the standard library alone."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]
GENESIS = hashlib.sha256(b"docket/genesis/v1").hexdigest()

# RFC 8032, 5.1: the field, the group's order, the curve's constant, the base point.
P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, P - 2, P) % P
_ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)
_Point = tuple[int, int, int, int]


def canonical(value: object) -> bytes:
    """The one spelling of a value (spec/canonical.md): json sorts by code point and escapes as is said there."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def digest_of(value: object) -> str:
    """The digest of a value's canonical form."""
    return digest(canonical(value))


def chained(bodies: Sequence[Json]) -> list[Json]:
    """Events of {type, ts, data}, each bound to the one before."""
    events: list[Json] = []
    for seq, body in enumerate(bodies):
        event = {**body, "seq": seq, "prev": events[-1]["hash"] if events else GENESIS}
        events.append({**event, "hash": digest_of(event)})
    return events


def lines_of(events: Sequence[Json]) -> bytes:
    """The ledger's file."""
    return b"".join(canonical(event) + b"\n" for event in events)


def _leaf(event_hash: str) -> bytes:
    return hashlib.sha256(b"\0" + bytes.fromhex(event_hash)).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def _split(size: int) -> int:
    """The largest power of two below `size` (RFC 9162, 2.1.1)."""
    return 1 << (size - 1).bit_length() - 1


def _subtree(hashes: Sequence[str]) -> bytes:
    if len(hashes) == 1:
        return _leaf(hashes[0])
    k = _split(len(hashes))
    return _node(_subtree(hashes[:k]), _subtree(hashes[k:]))


def root(hashes: Sequence[str]) -> str:
    """The root over event hashes, as RFC 9162, 2.1.1 has it."""
    return _subtree(hashes).hex() if hashes else digest(b"")


def path(hashes: Sequence[str], index: int) -> list[Json]:
    """The inclusion path of an event, as RFC 9162, 2.1.3.1 has it, each with the side that the sibling stands on."""
    if len(hashes) == 1:
        return []
    k = _split(len(hashes))
    if index < k:
        return [*path(hashes[:k], index), {"side": "right", "hash": _subtree(hashes[k:]).hex()}]
    return [*path(hashes[k:], index - k), {"side": "left", "hash": _subtree(hashes[:k]).hex()}]


def sealed(receipt: Json, key: bytes) -> Json:
    """The receipt with a seal and no signature."""
    text = canonical({name: value for name, value in receipt.items() if name not in ("seal", "signature")})
    value = hmac.new(key, text, hashlib.sha256).hexdigest()
    seal = {"alg": "hmac-sha256", "key_id": hashlib.sha256(key).hexdigest()[:16], "value": value}
    return {**receipt, "seal": seal, "signature": None}


def signed(receipt: Json, secret: bytes) -> Json:
    """The receipt with a signature, whatever seal it has."""
    text = canonical({name: value for name, value in receipt.items() if name != "signature"})
    value = signature(secret, text).hex()
    return {**receipt, "signature": {"alg": "ed25519", "public_key": public_key(secret).hex(), "value": value}}


def public_key(secret: bytes) -> bytes:
    """RFC 8032, 5.1.5."""
    return _encoded(_times(_scalar(secret), _BASE))


def signature(secret: bytes, message: bytes) -> bytes:
    """RFC 8032, 5.1.6."""
    scalar, prefix = _scalar(secret), hashlib.sha512(secret).digest()[32:]
    nonce = _hashed(prefix + message)
    first = _encoded(_times(nonce, _BASE))
    challenge = _hashed(first + public_key(secret) + message)
    return first + ((nonce + challenge * scalar) % ORDER).to_bytes(32, "little")


def _scalar(secret: bytes) -> int:
    low = int.from_bytes(hashlib.sha512(secret).digest()[:32], "little")
    return low & (1 << 254) - 8 | 1 << 254


def _hashed(data: bytes) -> int:
    return int.from_bytes(hashlib.sha512(data).digest(), "little") % ORDER


def _sum(one: _Point, other: _Point) -> _Point:
    a = (one[1] - one[0]) * (other[1] - other[0]) % P
    b = (one[1] + one[0]) * (other[1] + other[0]) % P
    c = 2 * one[3] * other[3] * _D % P
    d = 2 * one[2] * other[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def _times(scalar: int, point: _Point) -> _Point:
    made: _Point = (0, 1, 1, 0)
    while scalar:
        made = _sum(made, point) if scalar & 1 else made
        point = _sum(point, point)
        scalar >>= 1
    return made


def _encoded(point: _Point) -> bytes:
    inverse = pow(point[2], P - 2, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _x_of(y: int) -> int:
    square = (y * y - 1) * pow(_D * y * y + 1, P - 2, P)
    x = pow(square, (P + 3) // 8, P)
    x = x if (x * x - square) % P == 0 else x * _ROOT_OF_MINUS_ONE % P
    return x if x % 2 == 0 else P - x


_BASE_Y = 4 * pow(5, P - 2, P) % P
_BASE: _Point = (_x_of(_BASE_Y), _BASE_Y, 1, _x_of(_BASE_Y) * _BASE_Y % P)
