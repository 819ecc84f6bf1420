"""The origin: what a run's signed statements call the ledger they are about (spec/receipt.md, Proof).

It names the key that signs, by a fingerprint, and the session; a run without a key says so in the key's place.
"""

from __future__ import annotations

from docket.formats.digest import sha256

_PREFIX, _UNSIGNED = "docket.local", "unsigned"
_FINGERPRINT_DIGITS = 16


def fingerprint(public_key: bytes) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of the 32 bytes of a public key."""
    return sha256(public_key)[:_FINGERPRINT_DIGITS]


def origin_of(session_id: str, public_key: bytes | None) -> str:
    """Return `docket.local/FINGERPRINT/SESSION`; without a key `docket.local/unsigned/SESSION`."""
    return f"{_PREFIX}/{_UNSIGNED if public_key is None else fingerprint(public_key)}/{session_id}"
