"""Checks of what a receipt says about its own limits and completeness."""

from __future__ import annotations

from collections.abc import Sequence

from docket.formats.disclosure import Limit, disclosure
from docket.formats.run.receipt_view import ReceiptView
from docket.formats.shown import shown
from docket.rules.checks.case import Answer, Case, broken, held
from docket.rules.receipt.compare import difference
from docket.rules.wording import count_of


def limits_disclosure(case: Case) -> Answer:
    """Ours: the codes are of the closed list and the sentences are theirs. Others: something is disclosed."""
    stated = case.receipt.mapping("limits_disclosure")
    if not case.receipt.ours:
        sentences = sum(len(group) for group in stated.values() if isinstance(group, Sequence))
        return held(count_of(sentences, "statement")) if sentences else broken("limits_disclosure states nothing")
    codes = stated.get("codes")
    known = {str(limit): limit for limit in Limit}
    chosen = []
    for code in codes if isinstance(codes, Sequence) else ():
        limit = known.get(str(code))
        if limit is None:
            return broken(f"limits_disclosure.codes has {shown(code)}, which is no known code")
        chosen.append(limit)
    found = difference(stated, disclosure(chosen), "limits_disclosure")
    return held(f"{count_of(len(chosen), 'known code')}, each with its sentence") if found is None else broken(found)


def evidence_completeness(case: Case) -> Answer:
    """Every event of the run reached the ledger, and the ledger has an end."""
    receipt, ledger = case.receipt, case.ledger
    complete = receipt.part("evidence", "ledger_complete")
    if ledger is not None and ledger.sound and complete is True and not ledger.ended:
        return broken("evidence says the ledger is complete, the ledger has no session.end")
    if receipt.part("session", "exit_code") is None:
        return broken("the record has no end: what happened after its last event is unknown")
    unwritten = receipt.part("evidence", "unwritten_events")
    if complete is not True or unwritten:
        return broken(f"the record itself says that it is incomplete: {unwritten} events could not be written")
    return held("every event reached the ledger, which has its end")


def declares_incomplete(receipt: ReceiptView) -> bool:
    """Whether the receipt itself says that its record is not whole."""
    return receipt.part("evidence", "ledger_complete") is False
