"""Reads a receipt around its rows, where these are the text that its ledger gives.

Rules:
1. What is read is what `decode_document` would read: the rows' text is held against the ledger's byte for byte, all
   else is decoded as ever, with a mark in the place of the rows. Where the mark is not found there, or anything is not
   as docket writes it, nothing is read here.
2. The mark is the digest of all that is decoded beside it, which can therefore hold no other like it.
"""

from __future__ import annotations

from collections.abc import Mapping

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonObject, decode_document, object_at
from docket.formats.digest import sha256
from docket.formats.run.receipt import UsageRow
from docket.formats.run.usage_array import UsageArray, parted
from docket.rules.checks.ledger_pass import LedgerReading


def read_around_rows(data: bytes, ledger: LedgerReading) -> JsonObject | None:
    """Return the receipt with the ledger's rows in their place; None where its rows are not surely these."""
    if not ledger.sound or ledger.folded is None:
        return None
    if any(_counts_less_than_nothing(row) for row in ledger.folded.rows):
        return None  # such a ledger is refused; so is the form of such a receipt, and that is told first
    usage = UsageArray(ledger.folded.rows, ledger.tree)
    parts = parted(data, usage)
    if parts is None:
        return None
    mark = sha256(parts.before + parts.behind)
    try:
        document = decode_document(b'%b"%b"%b' % (parts.before, mark.encode(), parts.behind), shared=True)
    except InvalidDocumentError:
        return None
    appendix = object_at(document, "appendix") if isinstance(document, Mapping) else {}
    if not isinstance(document, Mapping) or appendix.get("usage") != [mark]:
        return None
    return {**document, "appendix": {**appendix, "usage": usage}}


def _counts_less_than_nothing(row: UsageRow) -> bool:
    return min(row.input_tokens, row.cached_input_tokens, row.output_tokens, row.latency_ms or 0) < 0
