"""From ledgers and receipts to verdicts, and from a changed ledger to a receipt that agrees with it in its figures."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Sequence
from typing import Any

from docket.formats.canonical import decode_document, encode_document
from docket.formats.digest import Digest
from docket.formats.ledger.event import GENESIS, Event, draft, seal
from docket.formats.ledger.lines import follow
from docket.formats.merkle import MerkleTree
from docket.formats.run.verdict import Check, Verdict, Word
from docket.rules.checks.ledger_pass import LedgerPass, LedgerReading
from docket.rules.checks.registry import NOTHING_BESIDE, Beside, judge
from docket.rules.receipt.assemble import receipt_from_ledger

Body = tuple[str, str, dict[str, Any]]

# The members of a receipt that name events by their hashes.
PINNED = ("ledger", "appendix", "cache", "windows")


def receipt_of(raw: bytes) -> dict[str, Any]:
    """The receipt of a ledger as a reader of the written file gets it."""
    document = decode_document(encode_document(receipt_from_ledger([raw])))
    assert isinstance(document, dict)
    return document


def reading_of(raw: bytes) -> LedgerReading:
    """The reading of an undamaged ledger."""
    ledger = LedgerPass()
    for item in follow([raw]):
        ledger.take(item)
    return ledger.finish(file_sha256=Digest(hashlib.sha256(raw).hexdigest()), damage=None)


def judged(document: dict[str, Any], raw: bytes | None, beside: Beside = NOTHING_BESIDE) -> Verdict:
    """The verdict on a receipt with its ledger."""
    return judge(document, None if raw is None else reading_of(raw), Word.CONSISTENT, beside)


def named(verdict: Verdict, name: str) -> Check:
    """The check of that name."""
    (check,) = [check for check in verdict.checks if check.name == name]
    return check


def first_failure(verdict: Verdict) -> str:
    """The name of the first check that failed, or nothing."""
    return verdict.failures[0].partition(":")[0] if verdict.failures else ""


def bodies(events: Sequence[Event]) -> list[Body]:
    """Type, instant and data of each event."""
    return [(event.type, event.ts, copy.deepcopy(dict(event.data))) for event in events]


def chained(items: Sequence[Body], originals: Sequence[Event] = ()) -> list[Event]:
    """The same bodies as a sound chain; what names one of the `originals` by its hash names the new one there."""
    events: list[Event] = []
    places = {event.hash: event.seq for event in originals}
    for seq, (type_, ts, data) in enumerate(items):
        origin = data.get("origin")
        named = origin.get("hash") if isinstance(origin, dict) else None
        place = places.get(named, seq) if isinstance(named, str) else seq
        told = {**data, "origin": {**origin, "hash": events[place].hash}} if place < seq else data
        prev = events[-1].hash if events else GENESIS
        events.append(seal(draft(type_, told), seq=seq, ts=ts, prev=prev))
    return events


def lines_of(events: Sequence[Event]) -> bytes:
    """The file."""
    return b"".join(event.line + b"\n" for event in events)


def rederived(document: dict[str, Any], events: Sequence[Event]) -> dict[str, Any]:
    """The receipt with head, root, file digest, event hashes and paths made to fit other events."""
    changed = {**document, **copy.deepcopy({name: document[name] for name in PINNED if name in document})}
    tree = MerkleTree([event.hash for event in events])
    changed["ledger"] |= {
        "head": events[-1].hash,
        "merkle_root": tree.root,
        "file_sha256": hashlib.sha256(lines_of(events)).hexdigest(),
    }
    pinned = [(row, row["seq"]) for row in changed["appendix"]["usage"]]
    cache = changed.get("cache", {})
    for group in [*cache.get("by_origin", []), *cache.get("component_hits", {}).get("by_origin", [])]:
        pinned.append((group, group["first_seq"]))
        group["origin_hash"] = events[group["origin_seq"]].hash
    deltas = [tool["delta"] for tool in changed.get("windows", {}).get("tools", []) if tool["delta"] is not None]
    pinned += [(delta, delta["seq"]) for delta in deltas]
    for row, seq in pinned:
        if seq < len(events):
            row["event_hash"] = events[seq].hash
            row["merkle_path"] = [{"side": str(step.side), "hash": step.hash} for step in tree.path(seq)]
    return changed
