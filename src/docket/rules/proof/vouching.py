"""How a receipt is sealed and signed, and what was signed of it (spec/receipt.md, Keys).

Rules:
1. The seal is over the canonical form of the receipt without `seal` and `signature`; the signature over the same with
   the seal in it. So a seal can be left out of nothing that is signed, and a signature needs no seal.
2. A voucher is tried before it is relied on: what it signs for a trial must hold.

Keys come from `host.key_file`; whether a receipt's seal and signature hold is for `rules.checks.keys`.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

from docket.formats.canonical import JsonObject, JsonValue, encode
from docket.formats.dataclass import dataclass, field
from docket.formats.ledger.proof_facts import SealAlgorithm, SealingKey, SignatureAlgorithm, SigningKey
from docket.rules.proof import ed25519
from docket.rules.proof.ed25519 import Signer

_KEY_ID_DIGITS = 16
_TRIAL = b"docket: a key is tried before it is relied on"


def sealed_text(receipt: JsonObject) -> bytes:
    """Return what a receipt's seal is over."""
    return encode({name: value for name, value in receipt.items() if name not in ("seal", "signature")})


def signed_text(receipt: JsonObject) -> bytes:
    """Return what a receipt's signature is over."""
    return encode({name: value for name, value in receipt.items() if name != "signature"})


def seal_key_id(key: bytes) -> str:
    """Return what a receipt calls the key of its seal: 16 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(key).hexdigest()[:_KEY_ID_DIGITS]


def seal_value(key: bytes, text: bytes) -> str:
    """Return the HMAC-SHA256 of `text`, 64 hexadecimal digits."""
    return hmac.new(key, text, hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Voucher:
    """The keys that a run vouches for its receipt with: either, both or none."""

    signer: Signer | None = None
    seal_key: bytes | None = field(default=None, repr=False)

    @property
    def public_key(self) -> bytes | None:
        """The 32 bytes of the key that a signature is checked with."""
        return None if self.signer is None else self.signer.public_key

    def signing_key(self) -> SigningKey | None:
        """Return what a record says of the key that signs."""
        return None if self.signer is None else SigningKey(public_key=self.signer.public_key.hex())

    def sealing_key(self) -> SealingKey | None:
        """Return what a record says of the key that seals."""
        return None if self.seal_key is None else SealingKey(key_id=seal_key_id(self.seal_key))

    def vouched(self, receipt: JsonObject) -> dict[str, JsonValue]:
        """Return the receipt with its seal and its signature, each null where there is no key for it."""
        if self.signer is None and self.seal_key is None:
            return {**receipt, "seal": None, "signature": None}
        # A long receipt is written once for both: only the seal differs between the two texts.
        members = {name: _member(name, value) for name, value in receipt.items() if name not in ("seal", "signature")}
        seal = self._seal(_text(members))
        signature = self._signature(_text({**members, "seal": _member("seal", seal)}))
        return {**receipt, "seal": seal, "signature": signature}

    def fault(self) -> str | None:
        """Try the key that signs; return what is wrong with it, None where nothing is or there is none."""
        if self.signer is not None:
            return ed25519.fault(self.signer.public_key, self.signer.sign(_TRIAL), _TRIAL)
        return None

    def _seal(self, text: bytes) -> JsonValue:
        if self.seal_key is None:
            return None
        return {
            "alg": str(SealAlgorithm.HMAC_SHA256),
            "key_id": seal_key_id(self.seal_key),
            "value": seal_value(self.seal_key, text),
        }

    def _signature(self, text: bytes) -> JsonValue:
        if self.signer is None:
            return None
        return {
            "alg": str(SignatureAlgorithm.ED25519),
            "public_key": self.signer.public_key.hex(),
            "value": self.signer.sign(text).hex(),
        }


def _member(name: str, value: JsonValue) -> bytes:
    return encode(name) + b":" + encode(value, depth=2)


def _text(members: Mapping[str, bytes]) -> bytes:
    return b"{" + b",".join(members[name] for name in sorted(members)) + b"}"


NO_VOUCHER = Voucher()
