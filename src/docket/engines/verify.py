"""Verifies a receipt, with its ledger where one is given (spec/receipt.md, Checks).

Rules: it finds nothing by itself, reads regular files alone, streams the ledger, and needs the standard library
only. Whatever the bytes are, the outcome is a verdict; what cannot be read as a receipt is `unreadable` with its
reason.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from docket.errors import InvalidDocumentError
from docket.formats.canonical import decode_document
from docket.formats.digest import Digest
from docket.formats.ledger.lines import follow
from docket.formats.reason import Reason
from docket.formats.run.verdict import Verdict, Word
from docket.rules.checks.ledger_pass import LedgerPass, LedgerReading
from docket.rules.checks.registry import judge

MAX_RECEIPT_BYTES = 256 * 1024 * 1024
MAX_RECEIPT_VALUES = 6_000_000
CHUNK_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyRequest:
    """`receipt` is what `read_receipt` gives; `required` the word that exit code 0 asks for."""

    receipt: bytes
    ledger_path: Path | None = None
    required: Word = Word.CONSISTENT


def verify_receipt(request: VerifyRequest) -> Verdict:
    """Return the verdict; never raises for what a file holds."""
    try:
        _refuse_swollen(request.receipt)
        document = decode_document(request.receipt)
        if not isinstance(document, Mapping):
            raise InvalidDocumentError(Reason.WRONG_TYPE, "the receipt is not a JSON object")
        ledger = None if request.ledger_path is None else read_ledger(request.ledger_path)
    except InvalidDocumentError as error:
        return Verdict(word=Word.UNREADABLE, required=request.required, detail=error.detail)
    return judge(document, ledger, request.required)


def _refuse_swollen(data: bytes) -> None:
    # Two bytes of JSON can become sixty in memory: what bounds the file does not bound the values.
    if sum(data.count(mark) for mark in (b",", b"[", b"{")) > MAX_RECEIPT_VALUES:
        raise InvalidDocumentError(Reason.TOO_LARGE, f"the receipt holds more than {MAX_RECEIPT_VALUES} values")


def read_receipt(path: Path) -> bytes:
    """Return the bytes of a receipt file, bounded; InvalidDocumentError where it cannot be read."""
    with _RegularFile(path, "the receipt") as file:
        chunks, size = list[bytes](), 0
        for chunk in file.chunks():
            size += len(chunk)
            if size > MAX_RECEIPT_BYTES:
                raise InvalidDocumentError(Reason.TOO_LARGE, f"the receipt is over {MAX_RECEIPT_BYTES} bytes")
            chunks.append(chunk)
    return b"".join(chunks)


def read_ledger(path: Path) -> LedgerReading:
    """Return the reading of a ledger file; a damaged one is a reading too."""
    ledger, damage = LedgerPass(), None
    with _RegularFile(path, "the ledger") as file:
        try:
            for item in follow(file.chunks()):
                ledger.take(item)
        except InvalidDocumentError as error:
            damage = error.detail
        for _ in file.chunks():
            pass
        return ledger.finish(file_sha256=Digest(file.digest.hexdigest()), damage=damage)


@dataclass(slots=True)
class _RegularFile:
    """A regular file, read in chunks that are hashed as they pass."""

    path: Path
    what: str
    fd: int = -1
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)

    def __enter__(self) -> Self:
        try:
            # A FIFO in the place of a file must not hang the verifier.
            self.fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise InvalidDocumentError(Reason.UNREADABLE, f"{self.what} cannot be read: {error.strerror}") from error
        if not stat.S_ISREG(os.fstat(self.fd).st_mode):
            os.close(self.fd)
            raise InvalidDocumentError(Reason.NOT_A_FILE, f"{self.what} is not a regular file")
        return self

    def __exit__(self, *_details: object) -> None:
        os.close(self.fd)

    def chunks(self) -> Iterator[bytes]:
        """Yield what is left of the file."""
        while True:
            try:
                chunk = os.read(self.fd, CHUNK_BYTES)
            except OSError as error:
                raise InvalidDocumentError(
                    Reason.UNREADABLE, f"{self.what} cannot be read: {error.strerror}"
                ) from error
            if not chunk:
                return
            self.digest.update(chunk)
            yield chunk
