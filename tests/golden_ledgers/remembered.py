"""States of verifiers, each with a receipt that it is asked about: what it makes of it, by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from docket.formats.digest import Digest, digest_of
from docket.formats.ledger.proof_facts import ProofFacts, SigningKey
from docket.formats.proof.checkpoint import TreeHead
from docket.formats.proof.verifier_state import UNSIGNED, KnownRun, VerifierState
from golden_ledgers import samples
from golden_ledgers.build import LedgerBuilder, closed, opened
from golden_ledgers.headed import ORIGIN, SIGNED_ORIGIN, checkpointed, root_of
from golden_ledgers.judging import receipt_of
from golden_ledgers.proven import PROJECT, PUBLIC_KEY, signed

OTHER = Digest("77" * 32)
LEDGER = checkpointed()
RAW, RECEIPT = LEDGER.data(), receipt_of(LEDGER.data())
HASHES = [event.hash for event in LEDGER.events]
KNOWN = KnownRun(key=UNSIGNED, project=PROJECT, run=4, session="0123456789ab", receipt_sha256=digest_of(RECEIPT))
BEFORE = KnownRun(
    key=UNSIGNED, project=PROJECT, run=3, session="ba9876543210", receipt_sha256=Digest("34" * 32)
)  # what `previous` of the sample names


def of_size(size: int, root: str | None = None) -> VerifierState:
    return VerifierState(heads=(TreeHead(origin=ORIGIN, size=size, root=Digest(root or root_of(HASHES[:size]))),))


def of_run(known: KnownRun, **changes: Any) -> VerifierState:
    return VerifierState(runs=(replace(known, **changes),))


SIGNED_FACTS = ProofFacts(origin=SIGNED_ORIGIN, project=PROJECT, run=4, signature=SigningKey(public_key=PUBLIC_KEY))
SIGNED: LedgerBuilder = closed(opened(proof=SIGNED_FACTS), "0.00")

CASES: dict[str, tuple[VerifierState, dict[str, Any], bytes | None, str]] = {
    "nothing known": (VerifierState(), RECEIPT, RAW, ""),
    "the same again": (of_run(KNOWN), RECEIPT, RAW, ""),
    "an earlier run known": (of_run(BEFORE), RECEIPT, RAW, ""),
    "another project's": (of_run(KNOWN, run=9, project="00" * 16), RECEIPT, RAW, ""),
    "a later one by another key, of one by none": (of_run(KNOWN, run=9, key="ab" * 32), RECEIPT, RAW, "it is run 4 of"),
    "a later one known": (of_run(KNOWN, run=5), RECEIPT, RAW, "run 5 was verified before"),
    "another receipt of the run": (of_run(KNOWN, receipt_sha256=OTHER), RECEIPT, RAW, "another receipt of run 4"),
    "another receipt of the one before": (
        of_run(BEFORE, receipt_sha256=OTHER), RECEIPT, RAW, "another receipt of run 3"
    ),
    "the same ledger": (of_size(len(HASHES)), RECEIPT, RAW, ""),
    "a beginning of it": (of_size(5), RECEIPT, RAW, ""),
    "a beginning that cannot be told without it": (of_size(5, OTHER), RECEIPT, None, ""),
    "no beginning of it": (of_size(5, OTHER), RECEIPT, RAW, "does not begin with the 5 events"),
    "another of its size": (of_size(len(HASHES), OTHER), RECEIPT, RAW, "another ledger of"),
    "a larger one": (of_size(len(HASHES) + 1, OTHER), RECEIPT, None, f"its ledger has {len(HASHES)} events"),
    "a record without a number": (VerifierState(), receipt_of(samples.chat().data()), None, "does not say which run"),
    "signed, a later one by none": (of_run(KNOWN, run=9), signed(receipt_of(SIGNED.data())), SIGNED.data(), ""),
    "signed, a later one": (
        of_run(KNOWN, run=9, key=PUBLIC_KEY), signed(receipt_of(SIGNED.data())), SIGNED.data(), "it is run 4 of"
    ),
}  # fmt: skip
