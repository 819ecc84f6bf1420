"""Which heads a person wrote down: in words on the command line, or in a file to which runs appended theirs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from docket.engines.verify import decode_receipt
from docket.errors import DocketError, InvalidDocumentError, UsageError
from docket.formats.canonical import object_at
from docket.formats.proof.checkpoint import MAX_CHECKPOINTS_BYTES, TreeHead, read_anchored, read_head_words
from docket.formats.reason import Reason
from docket.host.regular_file import read_regular_file
from docket.surfaces.cli.project import fault_of

_WHOLE = "it takes 'ORIGIN SIZE ROOT', as after docket-head in the run's last line, or a file of docket run --anchor"


def heads_of(named: Sequence[str], receipt: bytes) -> tuple[TreeHead, ...]:
    """Return the heads that are named, of a file those of the receipt's origin; UsageError says what is wrong."""
    return tuple(head for text in named for head in (_of_words(text) if len(text.split()) > 1 else _of(text, receipt)))


def _of_words(text: str) -> list[TreeHead]:
    try:
        return [read_head_words(text)]
    except InvalidDocumentError as error:
        raise UsageError(error.reason, f"--head: {error.detail}", hint=_WHOLE) from error


def _of(path: str, receipt: bytes) -> list[TreeHead]:
    if not path.strip():
        raise UsageError(Reason.NOT_FOUND, "--head names nothing: a variable or a trailer that is empty?")
    try:
        heads = read_anchored(read_regular_file(Path(path), MAX_CHECKPOINTS_BYTES).decode("utf-8", "replace"))
    except DocketError as error:
        raise UsageError(error.reason, f"--head: {fault_of(path, error)}", hint=_WHOLE) from error
    try:
        origin = object_at(decode_receipt(receipt), "proof").get("origin")
    except InvalidDocumentError:
        return []  # it is told as what it is when it is verified
    found = [head for head in heads if head.origin == origin]
    if not found:
        raise UsageError(Reason.NOT_FOUND, f"--head: no head in {path} is of this receipt's ledger")
    return found
