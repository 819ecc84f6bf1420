"""Receipts that are sealed and signed, changed one member at a time, and forgeries that agree with themselves."""

from __future__ import annotations

from typing import Any

import pytest

from docket.formats.proof.pins import PinnedKey, PinnedSeal, Pins
from docket.formats.run.verdict import Verdict, Word
from docket.rules.checks.registry import Beside, judge
from golden_ledgers import mutate
from golden_ledgers.judging import bodies, chained, first_failure, lines_of, reading_of, receipt_of
from golden_ledgers.proven import PUBLIC_KEY, SEAL_KEY, sealed, signed, vouched_for

SIGNER, SEAL = PinnedKey(public_key=bytes.fromhex(PUBLIC_KEY)), PinnedSeal(key=SEAL_KEY)
NAMED = Beside(pins=Pins(signers=(SIGNER,), seals=(SEAL,)))
THEIR_SECRET = b"\x66" * 32


def both() -> tuple[dict[str, Any], bytes]:
    raw = vouched_for().data()
    return signed(sealed(receipt_of(raw))), raw


def test_no_change_of_what_was_signed_and_sealed_is_let_through() -> None:
    receipt, raw = both()
    ledger = reading_of(raw)
    changes = [(what, changed) for what, changed in mutate.mutations(receipt) if isinstance(changed, dict)]
    assert judge(receipt, ledger, Word.CONSISTENT, NAMED).word is Word.VERIFIED
    assert len(changes) > 500
    for what, changed in changes:
        assert judge(changed, ledger, Word.CONSISTENT, NAMED).word is Word.FAILED, what


@pytest.mark.parametrize("member", ["seal", "signature"])
def test_no_change_of_a_seal_or_a_signature_is_let_through(member: str) -> None:
    receipt, raw = both()
    ledger, changes = reading_of(raw), list(mutate.mutations(receipt[member]))
    junk = (None, [], {}, "", 0, 1, True, [receipt[member]], {"alg": None}, {**receipt[member], "value": None})
    changes += [(f"{one!r:.20}", one) for one in junk]
    assert len(changes) >= 20
    for what, changed in changes:
        doctored = {**receipt, member: changed}
        # Whoever doctors a seal cannot sign anew: with the right key, the seal itself is what fails.
        doctored = signed(doctored) if member == "seal" else doctored
        verdict = judge(doctored, ledger, Word.CONSISTENT, NAMED)
        assert (verdict.word, first_failure(verdict)) in (
            (Word.FAILED, member), (Word.FAILED, "receipt-shape")
        ), what  # fmt: skip


def forged(proof: dict[str, Any] | None) -> tuple[dict[str, Any], bytes]:
    """The record with another word on its keys, chained and derived anew."""
    items = bodies(vouched_for().events)
    items[0][2].pop("proof")
    if proof is not None:
        items[0][2]["proof"] = proof
    items[-1][2]["exit_code"] = 3
    raw = lines_of(chained(items))
    return receipt_of(raw), raw


def told(receipt: dict[str, Any], raw: bytes, beside: Beside) -> Verdict:
    return judge(receipt, reading_of(raw), Word.CONSISTENT, beside)


def test_a_record_made_anew_is_by_nobody_that_was_named() -> None:
    facts = dict(bodies(vouched_for().events)[0][2]["proof"])
    unsigned = {**facts, "origin": "docket.local/unsigned/0123456789ab"}
    unsigned.pop("signature")
    unsigned.pop("seal")
    theirs = signed({"label": None}, THEIR_SECRET)["signature"]["public_key"]
    for proof in (None, unsigned):
        receipt, raw = forged(proof)
        assert told(receipt, raw, Beside()).word is Word.CONSISTENT
        verdict = told(receipt, raw, NAMED)
        assert (verdict.word, first_failure(verdict)) == (Word.FAILED, "seal")
        verdict = told(receipt, raw, Beside(pins=Pins(signers=(SIGNER,))))
        assert (verdict.word, first_failure(verdict)) == (Word.FAILED, "signature")
    receipt, raw = forged(None)
    taken_over = signed(receipt, THEIR_SECRET)
    assert taken_over["signature"]["public_key"] == theirs
    assert told(taken_over, raw, Beside()).word is Word.CONSISTENT
    assert first_failure(told(taken_over, raw, Beside(pins=Pins(signers=(SIGNER,))))) == "signature"
    receipt, raw = forged(facts)
    for doctored in (receipt, signed(receipt, THEIR_SECRET), signed(sealed(receipt, b"\x01" * 32), THEIR_SECRET)):
        assert told(doctored, raw, Beside()).word is Word.FAILED


def test_a_record_that_is_cut_anywhere_is_never_verified() -> None:
    receipt, _ = both()
    events = vouched_for().events
    for number in range(1, len(events)):
        raw = lines_of(events[:number])
        for document in (receipt, receipt_of(raw)):
            for beside in (Beside(), NAMED):
                word = told(document, raw, beside).word
                assert word is (Word.FAILED if document is receipt else Word.INCOMPLETE)
