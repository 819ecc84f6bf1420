"""Checks beyond the registered ones: a ledger of docket's own is strict, and the receipt is what it gives."""

from __future__ import annotations

from collections.abc import Mapping

from docket.formats.canonical import JsonValue
from docket.formats.digest import digest_of
from docket.formats.shown import shown
from docket.rules.checks.case import DAMAGED, NO_LEDGER, Answer, Case, broken, held, skipped
from docket.rules.checks.ledger_pass import LedgerReading
from docket.rules.receipt.compare import difference, missing_or_different

OTHER_WRITER = "the ledger is another writer's"
NOT_DERIVED = ("seal", "signature")


def ledger_payloads(case: Case) -> Answer:
    """Every payload of a known type has exactly its members and types."""
    return _watched(case, "ledger-payloads", "every known payload has its form")


def session_shape(case: Case) -> Answer:
    """Start, policy, processes, passes and end stand once and in their places."""
    return _watched(case, "session-shape", "start, policy, processes, passes and end stand in their places")


def event_order(case: Case) -> Answer:
    """Calls are numbered, settled once, and their running sums agree."""
    return _watched(case, "event-order", "every call is requested before it is settled, and sums run on")


def components(case: Case) -> Answer:
    """Components sum to the cost of their call, are priced by the table and account for the usage."""
    return _watched(case, "components", "components sum to their calls and account for the usage")


def cap_limits(case: Case) -> Answer:
    """Caps that were reached are caps of the policy, with its limits."""
    return _watched(case, "cap-limits", "every cap that was reached is one of the policy's")


def policy_digest(case: Case) -> Answer:
    """The policy's digest is that of the embedded document."""
    if case.receipt.part("policy") is None:
        return skipped("the record ends before a policy was applied")
    return _digest(case.receipt.part("policy", "document"), case.receipt.part("policy", "digest"), "policy")


def price_table_digest(case: Case) -> Answer:
    """The price table's digest is that of the embedded document."""
    stated = case.receipt.part("price_table", "digest")
    return _digest(case.receipt.part("price_table", "document"), stated, "price_table")


def receipt_rebuild(case: Case) -> Answer:
    """Every member that derives from the ledger is what the ledger gives."""
    ledger = case.ledger
    if case.receipt.ours and case.receipt.part("findings"):
        return broken("it has findings, and what is found in a record is no part of it")
    if ledger is None:
        return skipped(NO_LEDGER)
    if not ledger.sound:
        return skipped(DAMAGED)
    if case.receipt.ours and not ledger.ours:
        return broken("the receipt names docket/fold/v1, the ledger does not")
    if ledger.public is not None:
        found = missing_or_different(case.receipt.document, ledger.public, "receipt")
        return held("what v1 derives equals the ledger") if found is None else broken(found)
    rebuilt = ledger.rebuilt()
    if rebuilt is None:
        return skipped("an event's payload was refused")
    found = _members(case, rebuilt) or (None if case.gives_rows else _paths(case, ledger))
    return held("every member equals what the ledger gives") if found is None else broken(found)


def _members(case: Case, rebuilt: Mapping[str, JsonValue]) -> str | None:
    stated = {name: value for name, value in case.receipt.document.items() if name not in NOT_DERIVED}
    wanted = {name: value for name, value in rebuilt.items() if name not in NOT_DERIVED}
    # The rows were compared one by one as usage-rows-rebound; only their paths are left.
    return difference({**stated, "appendix": None}, {**wanted, "appendix": None}, "receipt")


def _paths(case: Case, ledger: LedgerReading) -> str | None:
    for index, item in enumerate(case.receipt.rows):
        if item.row.seq < ledger.events and not ledger.tree.is_path(item.row.seq, item.path):
            return f"appendix.usage[{index}].merkle_path is not the path of event {item.row.seq}"
    return None


def _watched(case: Case, name: str, good: str) -> Answer:
    ledger = case.ledger
    if ledger is None:
        return skipped(NO_LEDGER)
    if not ledger.ours:
        return skipped(OTHER_WRITER)
    fault = ledger.faults.get(name)
    if fault is not None:
        return broken(fault)
    return held(good) if ledger.sound else skipped(DAMAGED)


def _digest(document: JsonValue, stated: JsonValue, where: str) -> Answer:
    found = digest_of(document)
    if found != stated:
        return broken(f"{where}.digest is {shown(stated)}, the embedded document has {shown(found)}")
    return held(f"{where}.digest is that of the embedded document")
