"""Ed25519 signatures (RFC 8032), made and checked with nothing taken on trust.

Rules (spec/receipt.md, Keys):
1. A public key is 32 bytes that write a point of the curve in its only way; a point of small order is no key, because
   one signature under it holds for other messages too.
2. In a signature the number S is below the group's order and the point R is written in its only way, so that no
   second signature can be made from a first without the key.
3. These are checked here, before the library is asked, so that no library's leniency decides. What is then asked is
   the equation without the cofactor.
4. The library is loaded only when a signature is made or checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from docket.formats.dataclass import dataclass, field

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KEY_BYTES, SIGNATURE_BYTES = 32, 64

_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P
_Y_MASK = 2**255 - 1
# The y coordinates of the eight points whose order divides 8; two of them are square roots, found by libsodium's list.
_SMALL_ORDER_Y = frozenset(
    (
        0,
        1,
        _P - 1,
        int.from_bytes(bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"),
        int.from_bytes(bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"), "little"),
    )
)

MISSING_LIBRARY = "the library cryptography cannot be imported"


def key_fault(public_key: bytes) -> str | None:
    """Return what is wrong with a public key, None for one that can vouch for something."""
    if len(public_key) != KEY_BYTES:
        return "a public key is 32 bytes"
    y = _y(public_key)
    if y >= _P:
        return "the public key is a point in another spelling than its own"
    if y in _SMALL_ORDER_Y:
        return "the public key is a point of small order"
    if not _is_on_curve(y):
        return "the public key is no point of the curve"
    return None


def signature_fault(signature: bytes) -> str | None:
    """Return what is wrong with a signature whatever it is of, None for one that may hold."""
    if len(signature) != SIGNATURE_BYTES:
        return "a signature is 64 bytes"
    if int.from_bytes(signature[KEY_BYTES:], "little") >= _ORDER:
        return "the signature's number S is not below the group's order"
    if _y(signature[:KEY_BYTES]) >= _P:
        return "the signature's point R is in another spelling than its own"
    return None


def fault(public_key: bytes, signature: bytes, message: bytes) -> str | None:
    """Return why `signature` is not one of `message` by the key, None where it is.

    ImportError where the library is not there.
    """
    found = key_fault(public_key) or signature_fault(signature)
    if found is not None:
        return found
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - rule 4
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415

    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return "the signature is not one of this text by this key"
    return None


@dataclass(frozen=True, slots=True)
class Signer:
    """A private key in the library's keeping; `public_key` is its other half. Neither is shown by `repr`."""

    public_key: bytes
    _private: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def of_seed(cls, seed: bytes) -> Self:
        """Return the signer of a private key's 32 bytes; ImportError where the library is not there."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - rule 4

        private = Ed25519PrivateKey.from_private_bytes(seed)
        return cls(private.public_key().public_bytes_raw(), private)

    def sign(self, message: bytes) -> bytes:
        """Return the signature of `message`, 64 bytes."""
        return self._private.sign(message)


def _y(point: bytes) -> int:
    return int.from_bytes(point, "little") & _Y_MASK


def _is_on_curve(y: int) -> bool:
    squared = y * y % _P
    x_squared = (squared - 1) * pow(_D * squared + 1, -1, _P) % _P
    return pow(x_squared, (_P - 1) // 2, _P) == 1
