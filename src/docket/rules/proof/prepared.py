"""A receipt that was vouched for before the ledger said that its run ended (spec/receipt.md, Keys, rule 8).

Rules:
1. What is prepared is the receipt's document and, behind it, the last checkpoint's text.
2. It counts for a ledger only if that gives the same receipt, byte for byte, and seal and signature are by the keys
   that the ledger names. A seal is taken as it stands: its key is where nobody recovers anything.
"""

from __future__ import annotations

from collections.abc import Mapping

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonObject, JsonValue, decode_document, encode_document, object_at
from docket.formats.dataclass import dataclass
from docket.rules.proof import ed25519
from docket.rules.proof.vouching import signed_text

_END = b"\n}\n"  # of an indented document the outer bracket alone stands at the beginning of a line


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A receipt that is vouched for, its bytes, and the last checkpoint, empty where it does not stand there."""

    receipt: JsonObject
    data: bytes
    note: str


def prepared_for(derived: JsonObject, found: bytes) -> Prepared | None:
    """Return what was prepared for a ledger that gives the receipt `derived`; None where it is of no use for that."""
    data = found[: found.find(_END) + len(_END)]
    try:
        document = decode_document(data)
        note = found[len(data) :].decode("utf-8")
        if not isinstance(document, Mapping):
            return None
        receipt = {**derived, "seal": document.get("seal"), "signature": document.get("signature")}
        if encode_document(receipt) != data or not _is_vouched_for(receipt):
            return None
    except (InvalidDocumentError, UnicodeDecodeError):
        return None
    return Prepared(receipt=receipt, data=data, note=note)


def _is_vouched_for(receipt: JsonObject) -> bool:
    proof = object_at(receipt, "proof")
    return _is_sealed(receipt, object_at(proof, "seal")) and _is_signed(receipt, object_at(proof, "signature"))


def _is_sealed(receipt: JsonObject, announced: JsonObject) -> bool:
    found = object_at(receipt, "seal")
    return set(found) == ({"alg", "key_id", "value"} if announced else set()) and _names(found, announced)


def _is_signed(receipt: JsonObject, announced: JsonObject) -> bool:
    found = object_at(receipt, "signature")
    if not announced:
        return receipt.get("signature") is None
    try:
        key, value = (bytes.fromhex(str(found.get(name))) for name in ("public_key", "value"))
        return _names(found, announced) and ed25519.fault(key, value, signed_text(receipt)) is None
    except (ValueError, ImportError):
        return False


def _names(found: JsonObject, announced: Mapping[str, JsonValue]) -> bool:
    return all(found.get(name) == value for name, value in announced.items())
