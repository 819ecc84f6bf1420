"""Verifying by what was verified before, and remembering what was accepted (spec/checkpoint.md, State)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from docket.engines.verify import VerifyRequest, examine_receipt
from docket.formats.dataclass import replace
from docket.formats.run.receipt_view import ReceiptView
from docket.formats.run.verdict import Verdict
from docket.rules.checks.rollback import learned
from docket.stores.verifier_states import hold_state


def verify_with_state(request: VerifyRequest, state: Path, waiting: Callable[[str], None] | None = None) -> Verdict:
    """Verify by what the state at a path knows, and let it learn what was accepted; `waiting` as `hold_state` has it.

    The verdict as `verify_receipt`'s; UnavailableError and InvalidDocumentError where the state itself cannot be had.
    """
    with hold_state(state, waiting=waiting) as held:
        found = examine_receipt(replace(request, remembered=held.known))
        if found.verdict.ok and found.document is not None:
            held.keep(learned(held.known, ReceiptView(document=found.document, ours=True, rows=())))
    return found.verdict
