"""The check of checkpoints: every vector, and what stands beside a record that is none of docket's or damaged."""

from __future__ import annotations

import base64
import sys
from dataclasses import replace
from typing import Any

import pytest

from docket.formats.ledger.proof_facts import SigningKey
from docket.formats.proof.checkpoint import read_head_words
from docket.formats.proof.pins import PinnedKey, Pins
from docket.formats.run.verdict import Status, Verdict, Word
from docket.rules.checks.registry import Beside, judge
from docket.rules.receipt.assemble import receipt_from_ledger
from docket.rules.receipt.proof import unsigned_end
from golden_ledgers import elsewhere, headed, samples
from golden_ledgers.build import closed, opened
from golden_ledgers.headed import ORIGIN, SIGNED_ORIGIN, checkpointed, file_of, root_of, signed_run
from golden_ledgers.judging import first_failure, judged, named, reading_of, receipt_of
from golden_ledgers.proven import NUMBERED, SECRET_KEY, signed


def vector(name: str, receipt: Any, ledger: bytes | None, verdict: str, first: str | None = None, **beside: Any) -> Any:
    return name, receipt, ledger, verdict, first, beside


VECTORS = {one[0]: one for make in (headed.accepted, headed.refused) for one in make(vector)}


@pytest.mark.parametrize("name", VECTORS)
def test_each_vector_gets_its_verdict(name: str) -> None:
    _, receipt, ledger, word, first, beside = VECTORS[name]
    told = beside.get("checkpoints")
    given = Beside(
        pins=Pins(signers=tuple(PinnedKey(public_key=bytes.fromhex(key)) for key in beside.get("public_keys", ()))),
        checkpoints=None if told is None else told.encode("utf-8"),
        heads=tuple(read_head_words(head) for head in beside.get("heads", ())),
    )
    verdict = judged(receipt, ledger, given)
    assert (str(verdict.word), first_failure(verdict)) == (word, first or "")


def status(verdict: Verdict) -> Status:
    return named(verdict, "checkpoints").status


HEAD = read_head_words(f"{ORIGIN} 2 {'ab' * 32}")


def test_another_writers_record_has_no_checkpoints_and_no_head() -> None:
    built = elsewhere.ledger()
    receipt, raw = elsewhere.receipt(built), built.data()
    assert status(judged(receipt, raw, Beside(checkpoints=b"anything"))) is Status.SKIP
    assert status(judged(receipt, raw, Beside(heads=(HEAD,)))) is Status.FAIL


def test_of_a_damaged_ledger_the_file_is_held_against_the_receipt() -> None:
    ledger = checkpointed()
    raw, receipt = ledger.data(), receipt_of(ledger.data())
    damaged = replace(reading_of(raw), damage="event 3: it is damaged", events=3)
    for file, wanted in ((file_of(ledger), Status.PASS), (file_of(ledger)[:-1], Status.FAIL)):
        assert status(judge(receipt, damaged, Word.CONSISTENT, Beside(checkpoints=file))) is wanted
    good = replace(HEAD, root=root_of([event.hash for event in ledger.events[:2]]))
    assert status(judge(receipt, damaged, Word.CONSISTENT, Beside(heads=(good,)))) is Status.FAIL


def test_a_receipt_that_claims_more_events_than_its_ledger_has() -> None:
    ledger = checkpointed()
    raw, receipt = ledger.data(), receipt_of(ledger.data())
    claimed = {**receipt, "ledger": {**receipt["ledger"], "events": len(ledger.events) + 5}}
    head = replace(HEAD, size=len(ledger.events) + 1)
    verdict = judged(claimed, raw, Beside(heads=(head,)))
    assert f"the ledger has {len(ledger.events)} now" in named(verdict, "checkpoints").detail
    assert status(judged(claimed, raw, Beside(checkpoints=file_of(ledger)))) is Status.FAIL


def test_a_key_that_is_none_and_a_library_that_is_missing_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = signed_run()
    notes = file_of(ledger, SIGNED_ORIGIN, SECRET_KEY)
    facts = replace(NUMBERED, signature=SigningKey(public_key="AB" * 32), origin=SIGNED_ORIGIN)
    raw = closed(opened(proof=facts), "0.00").data()
    assert status(judged(receipt_of(raw), None, Beside(checkpoints=notes.split(b"\n")[0] + b"\n"))) is Status.FAIL
    receipt = signed(receipt_of(ledger.data()))
    assert status(judged(receipt, ledger.data(), Beside(checkpoints=notes))) is Status.PASS
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    check = named(judged(receipt, ledger.data(), Beside(checkpoints=notes)), "checkpoints")
    assert (check.status, check.detail.startswith("they cannot be checked: ")) == (Status.FAIL, True)


def test_the_end_that_needs_no_key() -> None:
    ledger = checkpointed()
    hashes = [event.hash for event in ledger.events]
    end = unsigned_end(receipt_from_ledger([ledger.data()]))
    coded = base64.b64encode(bytes.fromhex(root_of(hashes))).decode("ascii")
    assert end == f"{ORIGIN}\n{len(hashes)}\n{coded}\n"
    assert unsigned_end(receipt_from_ledger([signed_run().data()])) is None
    assert unsigned_end(receipt_from_ledger([samples.no_end().data()])) is None
    assert unsigned_end(receipt_from_ledger([samples.chat().data()])) is None
