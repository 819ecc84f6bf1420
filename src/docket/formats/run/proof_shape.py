"""The shape of the receipt member `proof` (spec/receipt.md, Proof)."""

from __future__ import annotations

from docket.formats.ledger.proof_facts import SealAlgorithm, SignatureAlgorithm
from docket.formats.shape import constant, count, digest, nullable, record, text

_PREVIOUS = record({"session": text, "events": count, "head": digest, "receipt_sha256": digest})
_SIGNATURE = record({"alg": constant(str(SignatureAlgorithm.ED25519)), "public_key": text})
_SEAL = record({"alg": constant(str(SealAlgorithm.HMAC_SHA256)), "key_id": text})

PROOF = record(
    {
        "origin": text,
        "project": text,
        "run": count,
        "previous": nullable(_PREVIOUS),
        "signature": nullable(_SIGNATURE),
        "seal": nullable(_SEAL),
    }
)
