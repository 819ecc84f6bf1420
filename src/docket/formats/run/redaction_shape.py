"""The shape of the receipt member `redaction` (spec/ledger.md, Redacted copies)."""

from __future__ import annotations

from docket.formats.shape import array, count, digest, record, text

REDACTION = record({"profiles": array(text), "replaced": count, "not_carried": array(text), "commitment": digest})
