"""From a fold and the ledger's own figures to the receipt document (spec/receipt.md).

The order of members is the order of the specification; a rebuilt receipt is compared member by member, so the
order decides nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping

from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.event import FORMAT as LEDGER_FORMAT
from docket.formats.ledger.event import GENESIS, Event
from docket.formats.ledger.line_shape import LineShapes
from docket.formats.ledger.lines import TornTail, follow
from docket.formats.ledger.vocabulary import PAYLOADS
from docket.formats.merkle import MerkleTree
from docket.formats.run.receipt import CHAIN, FORMAT, PROOF_NOTE
from docket.formats.run.usage_array import UsageArray
from docket.rules.receipt.cache import with_paths
from docket.rules.receipt.fold import Folded, LedgerFold, read_payload_at
from docket.rules.receipt.windows import with_proofs


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerFigures:
    """What a ledger is, beside what it says; `file_sha256` covers every complete line with its LF."""

    events: int
    head: Digest
    tree: MerkleTree
    file_sha256: Digest


def assemble(folded: Folded, figures: LedgerFigures) -> dict[str, JsonValue]:
    """Return the unsigned receipt; write it with `formats.canonical.encode_document`."""
    start, derived = folded.start, folded.members
    receipt: dict[str, JsonValue] = {
        "format": FORMAT,
        "docket_number": start.docket_number,
        "label": start.label,
        "created_at": folded.last_at,
        "tool": {"name": start.tool, "version": start.version, "format": FORMAT, "fold": start.fold},
        **{name: derived[name] for name in _BEFORE_LEDGER},
        "ledger": {
            "format": LEDGER_FORMAT,
            "events": figures.events,
            "head": figures.head,
            "genesis": GENESIS,
            "merkle_root": figures.tree.root,
            "file_sha256": figures.file_sha256,
            "chain": CHAIN,
        },
        "price_table": derived["price_table"],
        "appendix": {
            "usage": UsageArray(folded.rows, figures.tree),
            "proof_included": True,
            "note": PROOF_NOTE,
        },
        "evidence": derived["evidence"],
        "ops": derived["ops"],
        "isolation": derived["isolation"],
        "findings": [],
        "limits_disclosure": derived["limits_disclosure"],
    }
    receipt.update({name: derived[name] for name in _WHERE_PRESENT if derived[name] is not None})
    cache = derived["cache"]
    if isinstance(cache, Mapping):
        receipt["cache"] = with_paths(cache, figures.tree)
    windows = derived["windows"]
    if isinstance(windows, Mapping):
        receipt["windows"] = with_proofs(windows, figures.tree)
    return receipt | {"seal": None, "signature": None}


_BEFORE_LEDGER = (
    "session", "policy", "boundary", "totals", "model_calls", "budget", "tools", "files", "network", "caps", "notes",
    "event_counts",
)  # fmt: skip
_WHERE_PRESENT = ("latency", "pools", "asserted", "responses", "workspace", "proof", "redaction")


def receipt_from_ledger(chunks: Iterable[bytes]) -> JsonObject:
    """Return the receipt of a ledger given as file chunks, with or without an end.

    A torn tail is left out of every figure. InvalidDocumentError where the ledger is damaged or empty.
    """
    ledger, hashes, digest = LedgerFold(), list[Digest](), hashlib.sha256()
    for event in _events(chunks):
        ledger.take(event, read_payload_at(event))
        hashes.append(event.hash)
        digest.update(event.line)
        digest.update(b"\n")
    folded = ledger.result()
    figures = LedgerFigures(
        events=len(hashes), head=hashes[-1], tree=MerkleTree(hashes), file_sha256=Digest(digest.hexdigest())
    )
    return assemble(folded, figures)


def _events(chunks: Iterable[bytes]) -> Iterator[Event]:
    for item in follow(chunks, LineShapes(PAYLOADS)):
        if not isinstance(item, TornTail):
            yield item
