"""The trailers by which a commit message names a run: the receipt's file by its digest, and the ledger's head."""

from __future__ import annotations

from docket.formats.digest import Digest
from docket.formats.proof.checkpoint import TreeHead, head_words


def trailers_of(receipt_sha256: Digest, head: TreeHead | None) -> tuple[str, ...]:
    """Return the trailers, each `Name: value`; the digest is that of the receipt's file."""
    told = () if head is None else (f"Docket-Checkpoint: {head_words(head)}",)
    return (f"Docket-Receipt: sha256:{receipt_sha256}", *told)
