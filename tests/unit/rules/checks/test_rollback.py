"""No receipt older than one that was accepted before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from docket.formats.digest import Digest, digest_of
from docket.formats.ledger.proof_facts import PreviousRun
from docket.formats.proof.checkpoint import TreeHead
from docket.formats.proof.verifier_state import VerifierState
from docket.formats.run.receipt_view import ReceiptView
from docket.formats.run.verdict import Check, Status, Word
from docket.rules.checks.registry import Beside
from docket.rules.checks.rollback import learned
from golden_ledgers import elsewhere, samples
from golden_ledgers.build import closed, opened
from golden_ledgers.headed import ORIGIN, root_of
from golden_ledgers.judging import judged, named, receipt_of
from golden_ledgers.proven import NUMBERED
from golden_ledgers.remembered import CASES, HASHES, KNOWN, NAMED_CASES, OTHER, RAW, RECEIPT, SIGNED_RUN, pins_for


def checked(state: VerifierState, receipt: dict[str, Any], raw: bytes | None) -> Check:
    return named(judged(receipt, raw, Beside(remembered=state)), "rollback")


@pytest.mark.parametrize("name", CASES)
def test_what_is_older_fails(name: str) -> None:
    state, receipt, raw, said = CASES[name]
    check = checked(state, receipt, raw)
    assert check.status is (Status.FAIL if said else Status.PASS), check.detail
    assert said in check.detail


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("a later one known", "runs that overlap are verified in the order of their numbers"),
        ("a later one known", "start a new state"),
        ("another receipt of the run", "give copies a state of their own"),
        ("another receipt of the run", "start a new state"),
        ("another receipt of the one before", "give copies a state of their own"),
        ("an earlier one by a key, of one by none", "sign it, or give unsigned runs and copies a state of their own"),
        ("signed, an earlier one by another key", "name the one that you expect"),
    ],
)
def test_it_says_what_harmless_thing_it_may_be_and_what_to_do(name: str, advice: str) -> None:
    state, receipt, raw, _ = CASES[name]
    assert advice in checked(state, receipt, raw).detail.partition(";")[2]


@pytest.mark.parametrize("name", NAMED_CASES)
def test_a_key_that_the_caller_named_is_held_against_its_own_runs(name: str) -> None:
    state, receipt, raw, said = NAMED_CASES[name]
    verdict = judged(receipt, raw, Beside(remembered=state, pins=pins_for(receipt)))
    check = named(verdict, "rollback")
    assert check.status is (Status.FAIL if said else Status.PASS), check.detail
    assert said in check.detail
    assert verdict.word is (Word.FAILED if said else Word.VERIFIED)


def test_the_first_of_a_project_that_no_named_key_vouches_for_says_so() -> None:
    assert checked(VerifierState(), *SIGNED_RUN).detail.endswith(", and no key that was named vouches for it")
    check = named(judged(*SIGNED_RUN, Beside(remembered=VerifierState(), pins=pins_for(SIGNED_RUN[0]))), "rollback")
    assert check.detail == "run 4, the first of its project that this state knows"


def test_another_writers_record_has_no_number() -> None:
    built = elsewhere.ledger()
    assert checked(VerifierState(), elsewhere.receipt(built), built.data()).status is Status.FAIL


def test_what_was_accepted_is_learned_and_then_accepted_again() -> None:
    view = ReceiptView(document=RECEIPT, ours=True, rows=())
    state = learned(VerifierState(), view)
    assert state == VerifierState(
        runs=(KNOWN,), heads=(TreeHead(origin=ORIGIN, size=len(HASHES), root=Digest(root_of(HASHES))),)
    )
    assert learned(state, view) == state
    assert checked(state, RECEIPT, RAW).status is Status.PASS
    theirs = ReceiptView(document=receipt_of(samples.chat().data()), ours=True, rows=())
    assert learned(state, theirs) == state


def test_a_later_run_that_names_this_one_is_accepted_and_one_that_names_another_is_not() -> None:
    state = learned(VerifierState(), ReceiptView(document=RECEIPT, ours=True, rows=()))
    for digest, status in ((digest_of(RECEIPT), Status.PASS), (OTHER, Status.FAIL)):
        previous = PreviousRun(session="0123456789ab", events=len(HASHES), head=HASHES[-1], receipt_sha256=digest)
        facts = replace(NUMBERED, run=5, previous=previous, origin="docket.local/unsigned/ffffffffffff")
        raw = closed(opened(proof=facts, session_id="ffffffffffff"), "0.00").data()
        assert checked(state, receipt_of(raw), raw).status is status
