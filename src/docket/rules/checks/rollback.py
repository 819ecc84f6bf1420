"""The check of rollback: no receipt older than one that the same verifier accepted before (spec/checkpoint.md, State).

Rules:
1. Without a state nothing is known of earlier runs, and the check is skipped.
2. Of a project no lower run is accepted, no other receipt of the same run, and none that names the run which is known
   as the one before by another digest. Only a receipt that a key signed which the caller named is held against that
   key's runs alone: neither a signature that is left out nor a fresh key makes an old receipt new.
3. Once runs of a project were signed, one by another key or by none is accepted by a key that the caller named alone.
4. Of an origin no smaller ledger is accepted, none with another root at the same size, and no larger one that does
   not begin with what is known.
5. A record that does not say which run it is cannot be told from an older one: it fails where a state was named.
"""

from __future__ import annotations

from docket.formats.digest import Digest, digest_of
from docket.formats.proof.checkpoint import TreeHead
from docket.formats.proof.verifier_state import UNSIGNED, KnownRun, VerifierState, highest
from docket.formats.run.receipt_view import ReceiptView
from docket.rules.checks.case import Answer, Case, broken, held, skipped
from docket.rules.proof.vouching import seal_key_id

_UNNAMED = ", and no key that was named vouches for it"
# Each fault is what an attack looks like, and what something harmless may look like too: that, and what to do then.
_OVERLAPPED = "runs that overlap are verified in the order of their numbers, and an older one without a state"
_OTHER_MAKE = "a redacted copy is another one too: give copies a state of their own"
_PUT_BACK = "after a project's state was put back to an older one, start a new state"


def rollback(case: Case) -> Answer:
    """The receipt is no older than what the caller's state knows of its project and its origin."""
    state = case.remembered
    if state is None:
        return skipped("no state of earlier verifications was named")
    found = known_of(case.receipt)
    if found is None:
        return broken("the record does not say which run of its project it is: it cannot be told from an older one")
    run, head = found
    of_project = state.runs_of(run.project)
    by_signer, by_seal = _named(case)
    known = highest(one for one in of_project if not (by_signer and run.key not in (UNSIGNED, one.key)))
    is_named = by_signer or by_seal
    fault = None if known is None else _older_run(case, run, known)
    fault = (
        fault
        or (None if is_named else _other_key(run, of_project))
        or _smaller_head(case, head, state.head_of(head.origin))
    )
    if fault is not None:
        return broken(fault)
    if known is None:
        return held(f"run {run.run}, the first of its project that this state knows{'' if is_named else _UNNAMED}")
    return held(f"run {run.run} of its project, the highest before was {known.run}")


def _named(case: Case) -> tuple[bool, bool]:
    """Whether the caller named the key of the signature, and that of the seal; whether they hold is told by others."""
    signer, sealer = case.receipt.part("signature", "public_key"), case.receipt.part("seal", "key_id")
    return (
        any(pin.public_key.hex() == signer for pin in case.pins.signers),
        any(seal_key_id(pin.key) == sealer for pin in case.pins.seals),
    )


def _other_key(run: KnownRun, of_project: tuple[KnownRun, ...]) -> str | None:
    keys = [one.key for one in of_project if one.key != UNSIGNED]
    if not keys or run.key in keys:
        return None
    by, advice = f"the key {run.key}", "name the one that you expect"
    if run.key == UNSIGNED:
        by, advice = "no key", "sign it, or give unsigned runs and copies a state of their own"
    return f"the key of its project changed: {keys[-1]} signed what was verified before, {by} this; {advice}"


def known_of(receipt: ReceiptView) -> tuple[KnownRun, TreeHead] | None:
    """Return what a state remembers of a receipt; None where it does not say which run it is."""
    project, run, origin = (receipt.part("proof", name) for name in ("project", "run", "origin"))
    size, root, session = (
        receipt.part("ledger", "events"),
        receipt.part("ledger", "merkle_root"),
        receipt.part("session", "id"),
    )
    if not (receipt.ours and isinstance(run, int) and isinstance(size, int) and run > 0 and size > 0):
        return None
    key = receipt.part("proof", "signature", "public_key")
    known = KnownRun(
        key=UNSIGNED if key is None else str(key),
        project=str(project),
        run=run,
        session=str(session),
        receipt_sha256=digest_of(receipt.document),
    )
    return known, TreeHead(origin=str(origin), size=size, root=Digest(str(root)))


def learned(state: VerifierState, receipt: ReceiptView) -> VerifierState:
    """Return the state after a receipt was accepted."""
    found = known_of(receipt)
    return state if found is None else state.with_run(found[0]).with_head(found[1])


def _older_run(case: Case, run: KnownRun, known: KnownRun) -> str | None:
    if run.run < known.run:
        fault = f"it is run {run.run} of its project, and run {known.run} was verified before"
        return f"{fault}; {_OVERLAPPED}, {_PUT_BACK}"
    if run.run == known.run:
        same = run.receipt_sha256 == known.receipt_sha256
        return None if same else f"another receipt of run {run.run} was verified before; {_OTHER_MAKE}, {_PUT_BACK}"
    previous = case.receipt.mapping("proof", "previous")
    if previous.get("session") == known.session and previous.get("receipt_sha256") != known.receipt_sha256:
        return f"it names another receipt of run {known.run} as the one before than was verified; {_OTHER_MAKE}"
    return None


def _smaller_head(case: Case, head: TreeHead, known: TreeHead | None) -> str | None:
    if known is None:
        return None
    if head.size < known.size:
        return f"its ledger has {head.size} events, and {known.size} were verified before"
    if head.size == known.size:
        return None if head.root == known.root else f"another ledger of {head.size} events was verified before"
    ledger = case.ledger
    if ledger is not None and ledger.sound and ledger.events >= known.size:
        begins = ledger.tree.root_at(known.size) == known.root
        return None if begins else f"its ledger does not begin with the {known.size} events that were verified before"
    return None
