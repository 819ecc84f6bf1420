"""Somebody has the key after the fact: what they can make anew, and what heads and states that were kept contradict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from docket.formats.ledger.session_events import Note
from docket.formats.proof.checkpoint import read_head_words
from docket.formats.proof.pins import PinnedKey, Pins
from docket.formats.proof.verifier_state import VerifierState
from docket.formats.run.receipt_view import ReceiptView
from docket.formats.run.verdict import Verdict, Word
from docket.rules.checks.registry import Beside, judge
from docket.rules.checks.rollback import learned
from golden_ledgers.build import LedgerBuilder, closed, opened
from golden_ledgers.headed import SIGNED_ORIGIN, file_of, made, root_of, signed_run
from golden_ledgers.judging import first_failure, reading_of, receipt_of
from golden_ledgers.proven import PUBLIC_KEY, SECRET_KEY, signed
from golden_ledgers.remembered import SIGNED_FACTS

PINS = Pins(signers=(PinnedKey(public_key=bytes.fromhex(PUBLIC_KEY)),))
Record = tuple[dict[str, Any], bytes, bytes]


def record(ledger: LedgerBuilder) -> Record:
    """Receipt, ledger and checkpoints, all by the key."""
    raw = ledger.data()
    return signed(receipt_of(raw)), raw, file_of(ledger, SIGNED_ORIGIN, SECRET_KEY)


def told(of: Record, **beside: Any) -> Verdict:
    receipt, raw, notes = of
    return judge(receipt, reading_of(raw), Word.VERIFIED, Beside(pins=PINS, checkpoints=notes, **beside))


def head_of(ledger: LedgerBuilder, size: int) -> Any:
    return read_head_words(f"{SIGNED_ORIGIN} {size} {root_of([event.hash for event in ledger.events[:size]])}")


def another_history(message: str = "something else") -> LedgerBuilder:
    """The same run with another event in it, chained, checkpointed and signed as the first one."""
    ledger = opened(proof=replace(SIGNED_FACTS, run=7))
    ledger.add(made(ledger.events, 1, 2))
    ledger.add(Note(code="policy-remark", message=message))
    ledger.add(made(ledger.events, 2, len(ledger.events)))
    return closed(ledger, "0.00")


def test_by_itself_a_history_made_anew_with_the_key_is_as_good_as_the_true_one() -> None:
    """What no check of a record alone can answer, and the receipt of a signed run therefore discloses."""
    for ledger in (signed_run(), another_history()):
        assert told(record(ledger)).word is Word.VERIFIED
        assert {"signing-key", "operator"} <= set(record(ledger)[0]["limits_disclosure"]["codes"])


def fork_of(one: LedgerBuilder, other: LedgerBuilder) -> int:
    """How many events two ledgers have in common; all from there on differ."""
    return [mine.hash == theirs.hash for mine, theirs in zip(one.events, other.events, strict=True)].index(False)


@pytest.mark.parametrize("beyond", [1, 3])
def test_a_head_that_was_kept_elsewhere_contradicts_it(beyond: int) -> None:
    head = head_of(signed_run(), fork_of(signed_run(), another_history()) + beyond)
    assert told(record(signed_run()), heads=(head,)).word is Word.VERIFIED
    verdict = told(record(another_history()), heads=(head,))
    assert (verdict.word, first_failure(verdict)) == (Word.FAILED, "checkpoints")


def test_a_head_of_before_the_change_does_not() -> None:
    head = head_of(signed_run(), fork_of(signed_run(), another_history()))
    assert told(record(another_history()), heads=(head,)).word is Word.VERIFIED


def test_a_state_that_saw_the_true_one_contradicts_it() -> None:
    true = record(signed_run())
    view = ReceiptView(document=true[0], ours=True, rows=())
    state = learned(VerifierState(), view)
    assert told(true, remembered=state).word is Word.VERIFIED
    verdict = told(record(another_history()), remembered=state)
    assert (verdict.word, first_failure(verdict)) == (Word.FAILED, "rollback")


def test_two_histories_that_are_both_signed_have_no_common_head_behind_their_fork() -> None:
    one, other = another_history("one"), another_history("other")
    for size in range(1, len(one.events) + 1):
        shared = size <= fork_of(one, other)
        for ledger in (one, other):
            word = told(record(ledger), heads=(head_of(one, size), head_of(other, size))).word
            assert word is (Word.VERIFIED if shared else Word.FAILED)
