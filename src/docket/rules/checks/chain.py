"""Checks of the ledger as a chain, against the figures the receipt states of it."""

from __future__ import annotations

from docket.formats.canonical import JsonValue
from docket.formats.ledger.event import GENESIS
from docket.formats.shown import shown
from docket.rules.checks.case import DAMAGED, NO_LEDGER, Answer, Case, broken, held, skipped
from docket.rules.wording import count_of


def ledger_chain(case: Case) -> Answer:
    """Every line is canonical, every hash recomputed, every link followed, from the genesis on."""
    ledger = case.ledger
    if ledger is None:
        return skipped(NO_LEDGER)
    if ledger.damage is not None:
        return broken(ledger.damage)
    if ledger.torn is not None:
        return broken(f"event {ledger.events}: the file ends inside its line, at byte {ledger.torn.offset}")
    if not ledger.events:
        return broken("the ledger is empty")
    if case.receipt.part("ledger", "genesis") != GENESIS:
        return broken("ledger.genesis is not the genesis of docket/ledger/v1")
    return held(f"{count_of(ledger.events, 'event')}, every hash and link recomputed")


def head(case: Case) -> Answer:
    """The last event's hash is the stated head."""
    ledger, stated = case.ledger, case.receipt.part("ledger", "head")
    if ledger is None:
        return skipped(NO_LEDGER)
    if not ledger.sound or ledger.head is None:
        return skipped(DAMAGED)
    return _same(stated, ledger.head, "ledger.head")


def event_count(case: Case) -> Answer:
    """The number of events is the stated one, and event_counts add up to it."""
    stated, counts = case.receipt.part("ledger", "events"), case.receipt.mapping("event_counts")
    total = sum(item for item in counts.values() if isinstance(item, int))
    if total != stated:
        return broken(f"event_counts add up to {total}, ledger.events is {stated}")
    if case.ledger is None:
        return skipped(NO_LEDGER)
    if not case.ledger.sound:
        return skipped(DAMAGED)
    return _same(stated, case.ledger.events, "ledger.events")


def merkle_root(case: Case) -> Answer:
    """The root over the event hashes is the stated one."""
    if case.ledger is None:
        return skipped(NO_LEDGER)
    if not case.ledger.sound:
        return skipped(DAMAGED)
    return _same(case.receipt.part("ledger", "merkle_root"), case.ledger.tree.root, "ledger.merkle_root")


def ledger_file_digest(case: Case) -> Answer:
    """The file's SHA-256 is the stated one."""
    if case.ledger is None:
        return skipped(NO_LEDGER)
    return _same(case.receipt.part("ledger", "file_sha256"), case.ledger.file_sha256, "ledger.file_sha256")


def _same(stated: JsonValue, found: JsonValue, where: str) -> Answer:
    if stated != found:
        return broken(f"{where} is {shown(stated)}, the ledger gives {shown(found)}")
    return held(f"{where} is {shown(found)}")
