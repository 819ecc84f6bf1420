"""States of verifiers, each with a receipt that it is asked about: what it makes of it, by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from docket.formats.digest import Digest, digest_of
from docket.formats.ledger.proof_facts import ProofFacts, SealingKey, SigningKey
from docket.formats.proof.checkpoint import TreeHead
from docket.formats.proof.pins import PinnedKey, PinnedSeal, Pins
from docket.formats.proof.verifier_state import UNSIGNED, KnownRun, VerifierState
from golden_ledgers import samples
from golden_ledgers.build import LedgerBuilder, closed, opened
from golden_ledgers.headed import ORIGIN, SIGNED_ORIGIN, checkpointed, root_of
from golden_ledgers.judging import receipt_of
from golden_ledgers.proven import NUMBERED, PROJECT, PUBLIC_KEY, SEAL_KEY, SEAL_KEY_ID, sealed, signed

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


def both(*known: KnownRun) -> VerifierState:
    return VerifierState(runs=known)


SIGNED_FACTS = ProofFacts(origin=SIGNED_ORIGIN, project=PROJECT, run=4, signature=SigningKey(public_key=PUBLIC_KEY))
SIGNED: LedgerBuilder = closed(opened(proof=SIGNED_FACTS), "0.00")

SIGNED_RUN = signed(receipt_of(SIGNED.data())), SIGNED.data()
SEALED: LedgerBuilder = closed(opened(proof=replace(NUMBERED, seal=SealingKey(key_id=SEAL_KEY_ID))), "0.00")
SEALED_RUN = sealed(receipt_of(SEALED.data())), SEALED.data()

Case = tuple[VerifierState, dict[str, Any], bytes | None, str]
CASES: dict[str, Case] = {
    "nothing known": (VerifierState(), RECEIPT, RAW, ""),
    "the same again": (of_run(KNOWN), RECEIPT, RAW, ""),
    "an earlier run known": (of_run(BEFORE), RECEIPT, RAW, ""),
    "another project's": (of_run(KNOWN, run=9, project="00" * 16), RECEIPT, RAW, ""),
    "a later one by another key, of one by none": (of_run(KNOWN, run=9, key="ab" * 32), RECEIPT, RAW, "it is run 4 of"),
    "an earlier one by a key, of one by none": (
        of_run(BEFORE, key="ab" * 32), RECEIPT, RAW, f"{'ab' * 32} signed what was verified before, no key this"
    ),
    "earlier ones by a key and by none, of one by none": (
        both(replace(BEFORE, run=2, key="ab" * 32), BEFORE), RECEIPT, RAW, "the key of its project changed"
    ),
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
    "signed, a later one by none": (of_run(KNOWN, run=9), *SIGNED_RUN, "it is run 4 of its project, and run 9 was"),
    "signed, a later one": (of_run(KNOWN, run=9, key=PUBLIC_KEY), *SIGNED_RUN, "it is run 4 of"),
    "signed, a later one by another key": (of_run(KNOWN, run=9, key="ab" * 32), *SIGNED_RUN, "it is run 4 of"),
    "signed, an earlier one by another key": (
        of_run(BEFORE, key="ab" * 32), *SIGNED_RUN, f"signed what was verified before, the key {PUBLIC_KEY} this"
    ),
    "signed, an earlier one by none": (of_run(BEFORE), *SIGNED_RUN, ""),
    "signed, earlier ones by its key and by another": (
        both(replace(BEFORE, run=2, key=PUBLIC_KEY), replace(BEFORE, key="ab" * 32)), *SIGNED_RUN, ""
    ),
}  # fmt: skip
# The same, where the caller named the key that signed, or that of the seal.
NAMED_CASES: dict[str, Case] = {
    "named, a later one by its key": (of_run(KNOWN, run=9, key=PUBLIC_KEY), *SIGNED_RUN, "it is run 4 of its project"),
    "named, a later one by another key": (of_run(KNOWN, run=9, key="ab" * 32), *SIGNED_RUN, ""),
    "named, a later one by none": (of_run(KNOWN, run=9), *SIGNED_RUN, ""),
    "named, an earlier one by another key": (of_run(BEFORE, key="ab" * 32), *SIGNED_RUN, ""),
    "named, nothing known": (VerifierState(), *SIGNED_RUN, ""),
    "sealed, an earlier one by a key": (of_run(BEFORE, key="ab" * 32), *SEALED_RUN, ""),
    "sealed, a later one by a key": (of_run(KNOWN, run=9, key="ab" * 32), *SEALED_RUN, "it is run 4 of its project"),
}


def pins_for(receipt: dict[str, Any]) -> Pins:
    """The key of its signature, or that of its seal."""
    if receipt["signature"] is None:
        return Pins(seals=(PinnedSeal(key=SEAL_KEY),))
    return Pins(signers=(PinnedKey(public_key=bytes.fromhex(PUBLIC_KEY)),))
