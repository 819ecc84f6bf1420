"""What is sealed and signed of a receipt: against HMAC's standard vectors and a receipt put together by hand."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from docket.formats.ledger.proof_facts import SealingKey, SigningKey
from docket.rules.proof.ed25519 import Signer
from docket.rules.proof.vouching import NO_VOUCHER, Voucher, seal_key_id, seal_value, sealed_text, signed_text
from golden_ledgers.proven import PUBLIC_KEY, SEAL_KEY, SEAL_KEY_ID, SECRET_KEY

RECEIPT = {"label": "é", "seal": None, "signature": None, "created_at": "x"}

# RFC 4231, 4.2, 4.3, 4.4, 4.7: key, data, HMAC-SHA-256.
RFC_4231 = [
    (b"\x0b" * 20, b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
    (
        b"Jefe",
        b"what do ya want for nothing?",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    ),
    (b"\xaa" * 20, b"\xdd" * 50, "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
    (
        b"\xaa" * 131,
        b"Test Using Larger Than Block-Size Key - Hash Key First",
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
    ),
]


@pytest.mark.parametrize(("key", "data", "value"), RFC_4231)
def test_the_vectors_of_the_standard(key: bytes, data: bytes, value: str) -> None:
    assert seal_value(key, data) == value


def test_what_a_seal_and_a_signature_are_over() -> None:
    sealed = {**RECEIPT, "seal": {"value": "v"}, "signature": {"value": "s"}}
    assert sealed_text(sealed) == '{"created_at":"x","label":"é"}'.encode()
    assert signed_text(sealed) == '{"created_at":"x","label":"é","seal":{"value":"v"}}'.encode()
    assert signed_text(RECEIPT) == '{"created_at":"x","label":"é","seal":null}'.encode()


def test_a_receipt_is_sealed_and_then_signed() -> None:
    voucher = Voucher(signer=Signer.of_seed(SECRET_KEY), seal_key=SEAL_KEY)
    assert voucher.fault() is None
    assert voucher.signing_key() == SigningKey(public_key=PUBLIC_KEY)
    assert voucher.sealing_key() == SealingKey(key_id=SEAL_KEY_ID)

    receipt = voucher.vouched(RECEIPT)

    value = hmac.new(SEAL_KEY, '{"created_at":"x","label":"é"}'.encode(), hashlib.sha256).hexdigest()
    assert receipt["seal"] == {"alg": "hmac-sha256", "key_id": SEAL_KEY_ID, "value": value}
    signature = receipt["signature"]
    assert isinstance(signature, dict)
    text = f'{{"created_at":"x","label":"é","seal":{{"alg":"hmac-sha256","key_id":"{SEAL_KEY_ID}","value":"{value}"}}}}'
    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(PUBLIC_KEY))
    public.verify(bytes.fromhex(str(signature["value"])), text.encode())
    assert {**signature, "value": 0} == {"alg": "ed25519", "public_key": PUBLIC_KEY, "value": 0}
    assert (receipt["label"], receipt["created_at"]) == ("é", "x")


def test_without_a_key_both_are_null() -> None:
    assert NO_VOUCHER.vouched({"label": "x", "seal": 1}) == {"label": "x", "seal": None, "signature": None}
    assert (NO_VOUCHER.public_key, NO_VOUCHER.signing_key(), NO_VOUCHER.sealing_key()) == (None, None, None)
    assert NO_VOUCHER.fault() is None


def test_a_key_that_does_not_do_its_work_is_told() -> None:
    broken = Voucher(signer=Signer(bytes.fromhex(PUBLIC_KEY), Signer.of_seed(b"\x09" * 32)._private))
    assert broken.fault() == "the signature is not one of this text by this key"


def test_a_voucher_shows_no_key() -> None:
    shown = repr(Voucher(signer=Signer.of_seed(SECRET_KEY), seal_key=SEAL_KEY))
    assert "seal_key" not in shown
    assert seal_key_id(SEAL_KEY) == SEAL_KEY_ID
