"""The receipt of a run that somebody vouches for, made and signed before its ledger says that the run ended.

Rules:
1. What is signed is what docket will write, by its memory, whatever stands in a file.
2. It is durable before the end is. So whoever kills docket leaves a ledger without an end, or one whose receipt is
   signed; a missing signature is then never an accident.
3. Where that cannot be, the end is written all the same: it is tried again afterwards, and told.
"""

from __future__ import annotations

from collections.abc import Sequence

from docket.engines.supervise.session import OpenRun
from docket.formats.canonical import JsonObject, encode_document, object_at
from docket.formats.dataclass import dataclass
from docket.formats.digest import parse_digest
from docket.formats.ledger.payload_codec import Payload
from docket.rules.proof.vouching import NO_VOUCHER
from docket.rules.receipt.assemble import receipt_from_ledger
from docket.stores.chain_file import Foreseen


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A receipt that is vouched for, its bytes, and the ledger that it is one of."""

    receipt: JsonObject
    data: bytes
    ledger: Foreseen


def foresee(run: OpenRun, payloads: Sequence[Payload]) -> Ready | None:
    """Prepare the receipt that the run will have once these events are written; None where nobody vouches for it."""
    session, voucher = run.session, run.request.voucher
    if voucher == NO_VOUCHER or session.reserve is None:
        return None
    try:
        ledger = session.ledger.foresee(payloads)
        derived = receipt_from_ledger(ledger.chunks())
        figures = object_at(derived, "ledger")
        if (figures.get("events"), figures.get("head")) != (len(ledger.hashes), ledger.hashes[-1]):
            return None
        receipt = voucher.vouched(derived)
        data = encode_document(receipt)
        note = session.checkpoints.last_note(len(ledger.hashes), parse_digest(figures.get("merkle_root")))
        session.reserve.prepare(data, note.encode("utf-8"))
    except Exception:  # noqa: BLE001 - rule 3: what the library, the disk or a reading may raise costs the run no end
        return None
    return Ready(receipt=receipt, data=data, ledger=ledger)
