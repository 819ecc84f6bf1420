"""Signatures of records of commits that were made after their run (spec/workspace.md, Later commits)."""

from __future__ import annotations

from docket.formats.dataclass import replace
from docket.formats.workspace.commit_record import CommitRecord, RecordSignature, signed_text
from docket.rules.proof import ed25519
from docket.rules.proof.ed25519 import Signer


def signed_commit(record: CommitRecord, signer: Signer) -> CommitRecord:
    """Return the record, signed."""
    value = signer.sign(signed_text(record)).hex()
    return replace(record, signature=RecordSignature(public_key=signer.public_key.hex(), value=value))


def commit_fault(record: CommitRecord) -> str | None:
    """Return why the record's signature does not hold, None where it does or there is none; ImportError as there."""
    found = record.signature
    if found is None:
        return None
    try:
        key, value = bytes.fromhex(found.public_key), bytes.fromhex(found.value)
    except ValueError:
        return "key and value are not hexadecimal digits"
    if (key.hex(), value.hex()) != (found.public_key, found.value):
        return "key and value are not lower-case hexadecimal digits"
    return ed25519.fault(key, value, signed_text(record))
