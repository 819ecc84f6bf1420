"""Checkpoints and states in verify-js: files changed at every place, and each case of a state."""

from __future__ import annotations

from docket.formats.canonical import encode, encode_document
from docket.formats.run.verdict import Status
from docket.rules.checks.registry import Beside
from golden_ledgers.headed import SIGNED_ORIGIN, checkpointed, file_of, signed_run
from golden_ledgers.judging import judged, named, receipt_of
from golden_ledgers.proven import SECRET_KEY, signed
from golden_ledgers.remembered import CASES
from sweeps import some
from verify_js.in_node import Pair, disagreements, needs_node

pytestmark = needs_node


def test_each_case_of_a_state_is_judged_alike() -> None:
    pairs = []
    for name, (state, receipt, raw, _) in CASES.items():
        verdict = judged(receipt, raw, Beside(remembered=state))
        pairs.append(Pair(name, encode(receipt), raw, verdict, state=encode_document(state.to_json())))
    assert disagreements(pairs) == []


@some(7)
def test_a_file_of_checkpoints_changed_anywhere_fails_in_both(stride: int) -> None:
    pairs = []
    for ledger, good in (
        (checkpointed(), file_of(checkpointed())),
        (signed_run(), file_of(signed_run(), SIGNED_ORIGIN, SECRET_KEY)),
    ):
        raw = ledger.data()
        receipt = receipt_of(raw) if good == file_of(ledger) else signed(receipt_of(raw))
        for at in range(0, len(good), stride):
            for changed in (good[:at], good[:at] + good[at + 1 :], good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :]):
                verdict = judged(receipt, raw, Beside(checkpoints=changed))
                assert named(verdict, "checkpoints").status is Status.FAIL, (at, changed)
                pairs.append(Pair(f"at {at}", encode(receipt), raw, verdict, checkpoints=changed))
    assert disagreements(pairs) == []
