"""The receipt's word on what vouches for it, and the next run's word on the receipt."""

from __future__ import annotations

import hashlib
import json

from docket.formats.digest import Digest
from docket.formats.ledger.proof_facts import PreviousRun
from docket.rules.receipt.proof import announces_a_key, previous_of
from golden_ledgers import samples
from golden_ledgers.judging import receipt_of
from golden_ledgers.proven import FINGERPRINT, PROJECT, PUBLIC_KEY, SEAL_KEY_ID, numbered, signed, vouched_for


def test_what_the_ledger_leaves_out_is_null() -> None:
    proof = receipt_of(vouched_for().data())["proof"]
    assert proof == {
        "origin": f"docket.local/{FINGERPRINT}/0123456789ab",
        "project": PROJECT,
        "run": 1,
        "previous": None,
        "signature": {"alg": "ed25519", "public_key": PUBLIC_KEY},
        "seal": {"alg": "hmac-sha256", "key_id": SEAL_KEY_ID},
    }
    proof = receipt_of(numbered().data())["proof"]
    assert (proof["signature"], proof["seal"], proof["previous"]["session"]) == (None, None, "ba9876543210")
    assert "proof" not in receipt_of(samples.zero().data())


def test_codes_are_disclosed_for_keys_that_are_named_alone() -> None:
    for seal in (True, False):
        for signature in (True, False):
            receipt = receipt_of(vouched_for(seal=seal, signature=signature).data())
            codes = receipt["limits_disclosure"]["codes"]
            assert ("sealing-key" in codes, "signing-key" in codes) == (seal, signature)
            assert announces_a_key(receipt) == (seal or signature)
    assert not announces_a_key(receipt_of(samples.zero().data()))


def test_the_next_run_names_the_receipt_as_it_was_signed() -> None:
    receipt = signed(receipt_of(vouched_for(seal=False).data()))
    text = json.dumps(receipt, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert previous_of(receipt) == PreviousRun(
        session="0123456789ab",
        events=receipt["ledger"]["events"],
        head=receipt["ledger"]["head"],
        receipt_sha256=Digest(hashlib.sha256(text.encode()).hexdigest()),
    )
