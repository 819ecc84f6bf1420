"""Verifies the record of a commit that was made after its run (spec/workspace.md, Later commits)."""

from __future__ import annotations

from docket.errors import InvalidDocumentError
from docket.formats.proof.pins import Pins
from docket.formats.run.verdict import Check, Status, Verdict, Word
from docket.formats.workspace.commit_record import CommitRecord, decode_commit
from docket.rules.proof import ed25519
from docket.rules.proof.commit_signature import commit_fault


def verify_commit(data: bytes, pins: Pins, required: Word) -> Verdict:
    """Return the verdict; never raises for what the bytes are."""
    try:
        record = decode_commit(data)
    except InvalidDocumentError as error:
        return Verdict(word=Word.UNREADABLE, required=required, detail=error.detail)
    form = Check("commit-format", Status.PASS, "docket/workspace-commit/v1, in its only spelling")
    status, detail, vouched = _signature(record, {pin.public_key.hex() for pin in pins.signers})
    word = Word.FAILED if status is Status.FAIL else Word.VERIFIED if vouched else Word.CONSISTENT
    checks = (form, Check("signature", status, detail))
    return Verdict(word=word, required=required, docket_number=record.docket_number, checks=checks, vouched=vouched)


def _signature(record: CommitRecord, named: set[str]) -> tuple[Status, str, bool]:
    """Return how the check ended, why, and whether a key that was named vouches for the record."""
    if record.signature is None:
        if named:
            return Status.FAIL, "a key was named, and the record carries no signature", False
        return Status.SKIP, "the record carries no signature", False
    try:
        fault = commit_fault(record)
    except ImportError:
        fault = f"it cannot be checked: {ed25519.MISSING_LIBRARY}"
    key = record.signature.public_key
    if fault is not None:
        return Status.FAIL, fault, False
    if not named:
        return Status.PASS, f"it holds by the key {key}, which nobody named", False
    if key not in named:
        return Status.FAIL, f"it is by the key {key}, no key that was named", False
    return Status.PASS, f"signed by the key {key}, which was named", True
