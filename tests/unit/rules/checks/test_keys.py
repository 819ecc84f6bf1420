"""Seal, signature and facts of proof, by what the caller named; what each vector leaves open of them."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest

from docket.formats.ledger.proof_facts import ProofFacts, SealingKey, SigningKey
from docket.formats.proof.pins import PinnedKey, PinnedSeal, Pins
from docket.formats.run.verdict import Check, Status, Verdict, Word
from docket.rules.checks.registry import Beside, judge
from golden_ledgers import elsewhere, samples
from golden_ledgers.build import closed, opened
from golden_ledgers.judging import named, reading_of, receipt_of
from golden_ledgers.proven import NUMBERED, PROJECT, PUBLIC_KEY, SEAL_KEY, sealed, signed, vouched_for

SIGNER = PinnedKey(public_key=bytes.fromhex(PUBLIC_KEY), name="build server")
SEAL = PinnedSeal(key=SEAL_KEY, name="this machine")
OTHER_SEAL = PinnedSeal(key=b"\x0c" * 32)


def asked(receipt: dict[str, Any], raw: bytes | None, **pins: Any) -> Verdict:
    return judge(receipt, None if raw is None else reading_of(raw), Word.CONSISTENT, Beside(pins=Pins(**pins)))


def state(check: Check) -> tuple[Status, str]:
    return check.status, check.detail


def test_whoever_is_named_is_told_by_that_name() -> None:
    raw = vouched_for().data()
    verdict = asked(signed(sealed(receipt_of(raw))), raw, signers=(SIGNER,), seals=(OTHER_SEAL, SEAL))
    assert verdict.word is Word.VERIFIED
    assert named(verdict, "signature").detail == f"signed by the key {PUBLIC_KEY} (build server), which was named"
    assert "(this machine), which was named" in named(verdict, "seal").detail


def test_without_a_name_the_key_says_who_signed_and_no_more() -> None:
    raw = vouched_for(seal=False).data()
    verdict = asked(signed(receipt_of(raw)), raw)
    assert verdict.word is Word.CONSISTENT
    status, detail = state(named(verdict, "signature"))
    assert status is Status.PASS
    assert "which nobody named" in detail


@pytest.mark.parametrize("have", ["seal", "signature"])
def test_of_a_list_with_both_kinds_one_is_enough(have: str) -> None:
    raw = vouched_for(seal=have == "seal", signature=have == "signature").data()
    receipt = (sealed if have == "seal" else signed)(receipt_of(raw))
    both = {"signers": (SIGNER,), "seals": (SEAL,)}
    other = "signature" if have == "seal" else "seal"

    verdict = asked(receipt, raw, **both, either=True)
    assert (verdict.word, named(verdict, other).status) == (Word.VERIFIED, Status.SKIP)
    verdict = asked(receipt, raw, **both)
    assert (verdict.word, named(verdict, other).status) == (Word.FAILED, Status.FAIL)


def test_of_a_list_with_both_kinds_none_is_not_enough() -> None:
    raw = samples.zero().data()
    verdict = asked(receipt_of(raw), raw, signers=(SIGNER,), seals=(SEAL,), either=True)
    assert [named(verdict, name).status for name in ("seal", "signature")] == [Status.FAIL, Status.FAIL]


def test_a_seal_by_a_key_of_the_list_does_not_make_up_for_a_foreign_signature() -> None:
    raw = vouched_for().data()
    stranger = PinnedKey(public_key=b"\x02" * 32)
    verdict = asked(signed(sealed(receipt_of(raw))), raw, signers=(stranger,), seals=(SEAL,), either=True)
    assert (verdict.word, named(verdict, "signature").status) == (Word.FAILED, Status.FAIL)


@pytest.mark.parametrize("ended", [True, False])
def test_nothing_is_verified_without_its_ledger_to_the_end(ended: bool) -> None:
    ledger = vouched_for(seal=False)
    receipt = signed(receipt_of(ledger.data()))
    raw = ledger.data() if ended else ledger.data()[:-3]
    verdict = asked(receipt, raw, signers=(SIGNER,))
    assert verdict.word is (Word.VERIFIED if ended else Word.FAILED)
    alone = asked(receipt, None, signers=(SIGNER,))
    assert (alone.word, alone.vouched, asked(receipt, None).vouched) == (Word.CONSISTENT, True, False)


def test_a_run_without_an_end_is_incomplete_though_it_is_signed() -> None:
    ledger = vouched_for(seal=False)
    ledger.events.pop()
    receipt = signed(receipt_of(ledger.data()))
    verdict = asked(receipt, ledger.data(), signers=(SIGNER,))
    assert (verdict.word, named(verdict, "signature").status) == (Word.INCOMPLETE, Status.PASS)


def test_a_signature_that_cannot_be_checked_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = vouched_for(seal=False).data()
    receipt = signed(receipt_of(raw))
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    for pins in ({}, {"signers": (SIGNER,)}):
        verdict = asked(receipt, raw, **pins)
        assert verdict.word is Word.FAILED
        assert named(verdict, "signature").detail.startswith("it cannot be checked: ")


def facts_of(facts: ProofFacts) -> Check:
    raw = closed(opened(proof=facts), "0.00").data()
    return named(asked(receipt_of(raw), raw), "proof-facts")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"signature": SigningKey(public_key=PUBLIC_KEY.upper())}, "proof.signature.public_key is not 64"),
        ({"seal": SealingKey(key_id="0")}, "proof.seal.key_id is not 16"),
        ({"signature": SigningKey(public_key=PUBLIC_KEY)}, "proof.origin is 'docket.local/unsigned"),
        ({"project": ""}, "proof.project is not 32"),
        ({"project": PROJECT + "0"}, "proof.project is not 32"),
    ],
)
def test_facts_that_are_none_are_told(changes: dict[str, Any], said: str) -> None:
    status, detail = state(facts_of(replace(NUMBERED, **changes)))
    assert status is Status.FAIL
    assert said in detail.replace('"', "'")


def test_facts_that_hold() -> None:
    assert facts_of(NUMBERED).detail == "run 4 of its project, docket.local/unsigned/0123456789ab"
    assert facts_of(replace(NUMBERED, previous=None)).status is Status.PASS


def test_what_another_writer_calls_proof_is_not_judged() -> None:
    built = elsewhere.ledger()
    receipt = {**elsewhere.receipt(built), "proof": {"signature": {"public_key": "x"}}}
    verdict = asked(signed(receipt), built.data(), signers=(SIGNER,))
    assert verdict.word is Word.VERIFIED
    assert named(verdict, "proof-facts").detail == "another writer's proof is not known here"
