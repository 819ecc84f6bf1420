"""Records that say what vouches for them: a run without a key, and one that is signed and sealed."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from docket.formats.canonical import encode
from docket.formats.digest import Digest
from docket.formats.ledger.proof_facts import PreviousRun, ProofFacts, SealingKey, SigningKey
from golden_ledgers.build import LedgerBuilder, closed, opened

PROJECT = "0f" * 16
PREVIOUS = PreviousRun(session="ba9876543210", events=12, head=Digest("12" * 32), receipt_sha256=Digest("34" * 32))
# The first key of RFC 8032, 7.1, and its fingerprint: printf %s d75a…511a | xxd -r -p | sha256sum
PUBLIC_KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
FINGERPRINT = "21fe31dfa154a261"
SECRET_KEY = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
# 32 bytes of 0b, and where their SHA-256 begins.
SEAL_KEY, SEAL_KEY_ID = b"\x0b" * 32, "f0e38b830ebd8a50"


NUMBERED = ProofFacts(origin="docket.local/unsigned/0123456789ab", project=PROJECT, run=4, previous=PREVIOUS)


def numbered() -> LedgerBuilder:
    """The fourth run of its project, without a key."""
    return closed(opened(proof=NUMBERED), "0.00")


def vouched_for(*, seal: bool = True, signature: bool = True) -> LedgerBuilder:
    """The first run of its project, to be signed and sealed."""
    facts = ProofFacts(
        origin=f"docket.local/{FINGERPRINT if signature else 'unsigned'}/0123456789ab",
        project=PROJECT,
        run=1,
        signature=SigningKey(public_key=PUBLIC_KEY) if signature else None,
        seal=SealingKey(key_id=SEAL_KEY_ID) if seal else None,
    )
    return closed(opened(proof=facts), "0.00")


def unsealed(receipt: dict[str, Any]) -> dict[str, Any]:
    """The receipt without a word of who vouches for it."""
    return {name: value for name, value in receipt.items() if name not in ("seal", "signature")}


def sealed(receipt: dict[str, Any], key: bytes = SEAL_KEY) -> dict[str, Any]:
    """The receipt with a seal, before any signature."""
    value = hmac.new(key, encode(unsealed(receipt)), hashlib.sha256).hexdigest()
    key_id = hashlib.sha256(key).hexdigest()[:16]
    return {**receipt, "seal": {"alg": "hmac-sha256", "key_id": key_id, "value": value}, "signature": None}


def signed(receipt: dict[str, Any], secret: bytes = SECRET_KEY) -> dict[str, Any]:
    """The receipt with a signature, whatever seal it has."""
    key = Ed25519PrivateKey.from_private_bytes(secret)
    text = encode({name: value for name, value in receipt.items() if name != "signature"})
    public = key.public_key().public_bytes_raw().hex()
    return {**receipt, "signature": {"alg": "ed25519", "public_key": public, "value": key.sign(text).hex()}}
