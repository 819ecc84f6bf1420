"""The check of checkpoints: what the ledger was at earlier sizes (spec/checkpoint.md).

Rules:
1. Each `x-docket.checkpoint` gives the root that the ledger had at that size, before the event stood there.
2. A file of checkpoints says the same, note by note, and of an ended run one more: the whole ledger. Each note is
   signed by the run's key, where the run names one.
3. A run that was killed may have kept one more note than its ledger tells of; it covers what stands there.
4. A head that the caller had written down is a beginning of this ledger; where that cannot be checked, it fails.
"""

from __future__ import annotations

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonValue
from docket.formats.digest import is_digest
from docket.formats.ledger.checkpoint_events import CheckpointMade
from docket.formats.merkle_proof import is_prefix
from docket.formats.proof.checkpoint import KeptCheckpoint, TreeHead, read_checkpoints
from docket.formats.shown import shown
from docket.rules.checks.case import Answer, Case, broken, held, skipped
from docket.rules.checks.ledger_pass import LedgerReading
from docket.rules.proof import ed25519
from docket.rules.proof.signed_note import checkpoint_fault
from docket.rules.wording import count_of


def checkpoints(case: Case) -> Answer:
    """Every checkpoint is what the ledger was: those it tells of, those of its file, and heads written down."""
    if not case.receipt.ours:
        return broken("another writer's record has no head") if case.heads else skipped("another writer's record")
    try:
        fault = _events_fault(case.ledger) or _heads_fault(case) or _file_fault(case)
    except InvalidDocumentError as error:
        return broken(error.detail)
    except ImportError:
        return broken(f"they cannot be checked: {ed25519.MISSING_LIBRARY}")
    if fault is not None:
        return broken(fault)
    if case.checkpoints is not None:
        return held(_told(case))
    if case.heads:
        return held(f"{count_of(len(case.heads), 'head')} written down earlier: beginnings of this ledger")
    return skipped("no file of checkpoints was given")


def _told(case: Case) -> str:
    lines = len(read_checkpoints(case.checkpoints or b""))
    by = "no key signed them" if _key(case) is None else "signed by the run's key"
    heads = f", {count_of(len(case.heads), 'head')} written down earlier" if case.heads else ""
    return f"{count_of(lines, 'checkpoint')}, {by}{heads}"


def _events_fault(ledger: LedgerReading | None) -> str | None:
    if ledger is None or not ledger.sound:
        return None  # what cannot be read is told by ledger-chain
    last = 0
    for number, (seq, made) in enumerate(ledger.checkpoints, 1):
        fault = _event_fault(ledger, seq, made, number, last)
        if fault is not None:
            return f"event {seq} (x-docket.checkpoint): {fault}"
        last = made.size
    return None


def _event_fault(ledger: LedgerReading, seq: int, made: CheckpointMade, number: int, last: int) -> str | None:
    if made.number != number:
        return f"its number is {made.number}, the next one is {number}"
    if not last < made.size <= seq:
        return f"it is of {made.size} events, between {last + 1} and {seq} are possible"
    if ledger.tree.root_at(made.size) != made.root:
        return f"its root is not that of the first {made.size} events"
    return None


def _heads_fault(case: Case) -> str | None:
    for head in case.heads:
        fault = _head_fault(case, head)
        if fault is not None:
            return f"the head that was written down, of {head.size} events: {fault}"
    return None


def _head_fault(case: Case, head: TreeHead) -> str | None:
    origin, events = case.receipt.part("proof", "origin"), case.receipt.part("ledger", "events")
    if head.origin != origin:
        return f"it is {shown(head.origin)}'s, the receipt is {shown(origin)}'s"
    if not isinstance(events, int) or head.size > events:
        return f"the ledger has {shown(events)} now"
    if case.ledger is None or not case.ledger.sound:
        whole = head.size == events and head.root == case.receipt.part("ledger", "merkle_root")
        return None if whole else "without a whole ledger it cannot be told for a beginning of it"
    return _not_a_prefix(case.ledger, head)


def _not_a_prefix(ledger: LedgerReading, head: TreeHead) -> str | None:
    """Ask as one would ask who has the two heads alone and a proof from the one to the other."""
    if head.size > ledger.events:
        return f"the ledger has {ledger.events} now"
    proof = ledger.tree.consistency(head.size)
    roots = bytes.fromhex(head.root), bytes.fromhex(ledger.tree.root)
    return None if is_prefix(head.size, ledger.events, proof, *roots) else "the ledger does not begin so"


def _file_fault(case: Case) -> str | None:
    if case.checkpoints is None:
        return None
    key = _key(case)
    kept = read_checkpoints(case.checkpoints)
    told = _told_of(case)
    ended = case.receipt.part("evidence", "ended") is True
    if len(kept) != told + 1 and (ended or len(kept) != told):
        return f"the file holds {count_of(len(kept), 'checkpoint')}, the ledger tells of {told} before the last"
    last = 0
    for one in kept:
        fault = _note_fault(case, one, last) or checkpoint_fault(one, key)
        if fault is not None:
            return f"checkpoint {one.number}: {fault}"
        last = one.head.size
    if ended and last != case.receipt.part("ledger", "events"):
        return f"the last checkpoint is of {last} events, the ledger has {shown(case.receipt.part('ledger', 'events'))}"
    return None


def _note_fault(case: Case, kept: KeptCheckpoint, last: int) -> str | None:
    head, origin, events = kept.head, case.receipt.part("proof", "origin"), case.receipt.part("ledger", "events")
    if head.origin != origin:
        return f"it is {shown(head.origin)}'s, the receipt is {shown(origin)}'s"
    if not isinstance(events, int) or not last < head.size <= events:
        return f"it is of {head.size} events, between {last + 1} and {shown(events)} are possible"
    if head.size == events and head.root != case.receipt.part("ledger", "merkle_root"):
        return "its root is not the receipt's"
    ledger = case.ledger
    if ledger is None or not ledger.sound:
        return None
    if kept.number <= len(ledger.checkpoints):
        made = ledger.checkpoints[kept.number - 1][1]
        if (made.size, made.root) != (head.size, head.root):
            return "the ledger tells of another size or root"
    if head.size > ledger.events or ledger.tree.root_at(head.size) != head.root:
        return f"its root is not that of the first {head.size} events"
    return None


def _told_of(case: Case) -> int:
    if case.ledger is not None and case.ledger.sound:
        return len(case.ledger.checkpoints)
    counted: JsonValue = case.receipt.mapping("event_counts").get(CheckpointMade.TYPE, 0)
    return counted if isinstance(counted, int) else 0


def _key(case: Case) -> bytes | None:
    key = case.receipt.part("proof", "signature", "public_key")
    if key is None:
        return None
    return bytes.fromhex(key) if isinstance(key, str) and is_digest(key) else b""
