"""All checks, by their registered names and in their order, and the verdict they lead to.

Rules (spec/receipt.md, Checks and Verdicts): each check is reported once; when the document is no receipt or has
not the shape of one, the rest is skipped, because nothing they would compute with can be relied on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.ledger.session_events import FOLD
from docket.formats.proof.checkpoint import TreeHead
from docket.formats.proof.pins import NO_PINS, Pins
from docket.formats.proof.verifier_state import VerifierState
from docket.formats.run.receipt import FORMAT
from docket.formats.run.receipt_view import is_ours, view
from docket.formats.run.verdict import Check, Status, Verdict, Word
from docket.formats.shown import shown
from docket.rules.checks import (
    cache,
    chain,
    checkpoints,
    derived,
    keys,
    proof_facts,
    retained,
    rollback,
    rows,
    statements,
    sums,
    windows,
)
from docket.rules.checks.case import Answer, Case, broken, held
from docket.rules.checks.ledger_pass import LedgerReading

CheckFunction = Callable[[Case], Answer]


def format_(case: Case) -> Answer:
    """The formats and the fold that the document names are ones this version knows."""
    for name, fold in (("the receipt", case.receipt.part("tool", "fold")), ("the ledger", _ledger_fold(case))):
        if fold is not None and fold != FOLD:
            return broken(f"{name} derives by {shown(fold)}, which this version does not know")
    return held(FORMAT)


def _ledger_fold(case: Case) -> JsonValue:
    return None if case.ledger is None else case.ledger.fold


CHECKS: tuple[tuple[str, CheckFunction], ...] = (
    ("format", format_),
    ("ledger-chain", chain.ledger_chain),
    ("retained-responses", retained.retained_responses),
    ("head", chain.head),
    ("event-count", chain.event_count),
    ("merkle-root", chain.merkle_root),
    ("ledger-file-digest", chain.ledger_file_digest),
    ("usage-inclusion-proofs", rows.usage_inclusion_proofs),
    ("usage-rows-rebound", rows.usage_rows_rebound),
    ("cost-recomputation", rows.cost_recomputation),
    ("totals", sums.totals),
    ("token-totals", sums.token_totals),
    ("cached-totals", sums.cached_totals),
    ("assumed-prices", sums.assumed_prices),
    ("by-model-totals", sums.by_model_totals),
    ("usage-source-counts", sums.usage_source_counts),
    ("cost-basis", sums.cost_basis),
    ("latency-summary", sums.latency_summary),
    ("cache-savings", cache.cache_savings),
    ("cache-hit-origins", cache.cache_hit_origins),
    ("cache-hit-proofs", cache.cache_hit_proofs),
    ("seal", keys.seal),
    ("signature", keys.signature),
    ("limits-disclosure", statements.limits_disclosure),
    ("evidence-completeness", statements.evidence_completeness),
    ("ledger-payloads", derived.ledger_payloads),
    ("session-shape", derived.session_shape),
    ("event-order", derived.event_order),
    ("components", derived.components),
    ("cap-limits", derived.cap_limits),
    ("policy-digest", derived.policy_digest),
    ("price-table-digest", derived.price_table_digest),
    ("receipt-rebuild", derived.receipt_rebuild),
    ("tool-windows", windows.tool_windows),
    ("tool-deltas", windows.tool_deltas),
    ("proof-facts", proof_facts.proof_facts),
    ("checkpoints", checkpoints.checkpoints),
    ("rollback", rollback.rollback),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What stands beside the ledger, and what the caller named: keys, heads written down, a state of earlier runs."""

    bodies: retained.FoundBodies | None = None
    deltas: windows.FoundDeltas | None = None
    pins: Pins = NO_PINS
    checkpoints: bytes | None = None
    heads: tuple[TreeHead, ...] = ()
    remembered: VerifierState | None = None


NOTHING_BESIDE = Beside()


def judge(
    document: JsonObject, ledger: LedgerReading | None, required: Word, beside: Beside = NOTHING_BESIDE
) -> Verdict:
    """Run every check on a decoded receipt and the reading of its ledger, with what stands beside that."""
    number = document.get("docket_number")
    named = number if isinstance(number, str) else None
    if document.get("format") != FORMAT:
        detail = f"format is {shown(document.get('format'))}, not {FORMAT}"
        checks = (Check("receipt-format", Status.FAIL, detail), *_not_run("receipt-shape", CHECKS))
        return Verdict(word=Word.FAILED, required=required, docket_number=named, checks=checks)
    first = Check("receipt-format", Status.PASS, FORMAT)
    try:
        receipt = view(document, ours=is_ours(document) or (ledger is not None and ledger.ours))
    except InvalidDocumentError as error:
        checks = (first, Check("receipt-shape", Status.FAIL, error.detail), *_not_run(None, CHECKS))
        return Verdict(word=Word.FAILED, required=required, docket_number=named, checks=checks)
    case = Case(
        receipt=receipt,
        ledger=ledger,
        bodies=beside.bodies,
        deltas=beside.deltas,
        pins=beside.pins,
        checkpoints=beside.checkpoints,
        heads=beside.heads,
        remembered=beside.remembered,
    )
    shape = "docket/fold/v1, exactly its members" if receipt.ours else "another writer's, with the members of v1"
    answers = [(name, check(case)) for name, check in CHECKS]
    checks = (
        first,
        Check("receipt-shape", Status.PASS, shape),
        *(Check(name, answer.status, answer.detail) for name, answer in answers),
    )
    vouched = any(answer.vouches for _, answer in answers)
    word = _word(case, checks, vouched=vouched)
    return Verdict(word=word, required=required, docket_number=named, checks=checks, vouched=vouched)


def _word(case: Case, checks: Sequence[Check], *, vouched: bool) -> Word:
    failed = [check.name for check in checks if check.status is Status.FAIL]
    if not failed:
        whole = case.ledger is not None and case.ledger.sound and case.ledger.ended
        return Word.VERIFIED if vouched and whole else Word.CONSISTENT
    if failed == ["evidence-completeness"] and statements.declares_incomplete(case.receipt):
        return Word.INCOMPLETE
    return Word.FAILED


def _not_run(first: str | None, rest: Sequence[tuple[str, CheckFunction]]) -> tuple[Check, ...]:
    names = [*([first] if first else []), *(name for name, _ in rest)]
    return tuple(Check(name, Status.SKIP, "the document has not the form of a receipt") for name in names)
