"""The record of a commit made after its run, `docket/workspace-commit/v1` (spec/workspace.md, Later commits).

Rules:
1. A run's ledger and receipt are never touched again: this is what there is of a commit that came later. A key may sign
   it, over its canonical form without the signature.
2. It says which change set landed or was refused, by its digest, what the approval was bound to, and the list of what
   a transaction says nothing about, whole.
3. Decoding accepts what encoding writes and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonObject, decode_document, encode, encode_document
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.payload_codec import from_members, to_members
from docket.formats.ledger.proof_facts import SignatureAlgorithm
from docket.formats.ledger.workspace_events import RefusedChange
from docket.formats.reading import Reader
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.workspace.scope import NOT_TRANSACTIONAL, BackendName
from docket.formats.workspace.state import TRANSACTION_ID, Base, ChangeCounts

FORMAT = "docket/workspace-commit/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedPath:
    """A file that both sides had changed, and what became of it.

    The digests are those of the content that was staged, of the stage's, of the tree's, and of what both make.
    """

    path: RelPath
    ancestor_sha256: Digest
    ours_sha256: Digest
    theirs_sha256: Digest
    result_sha256: Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSignature:
    """Who signed a record: a public key of 64 hexadecimal digits, and a value of 128."""

    alg: SignatureAlgorithm = SignatureAlgorithm.ED25519
    public_key: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRecord:
    """One commit: of a whole change set, or of one made of `of_diff_sha256` by a choice of paths or by merging.

    `was` is the transaction's status before; `successor` holds what was not chosen. `recovery` says in which direction
    a commit that was interrupted was ended: `forward`, `back`, or `none` where nothing of it had begun, or `landed`
    where it had ended and only this was missing. `merged` are the texts that both sides had changed and that landed;
    `stage` is where the transaction's side of a refusal lies.
    """

    transaction: str
    base: Base
    backend: BackendName
    was: str
    committed: bool
    at: str
    base_sha256: Digest
    diff_sha256: Digest
    changes: ChangeCounts
    approval: str
    applied: int
    already: int
    of_diff_sha256: Digest | None = None
    plan_sha256: Digest | None = None
    session_id: str | None = None
    docket_number: str | None = None
    reason: str | None = None
    detail: str | None = None
    refusals: tuple[RefusedChange, ...] = ()
    successor: str | None = None
    recovery: str | None = None
    merged: tuple[MergedPath, ...] | None = None
    stage: str | None = None
    signature: RecordSignature | None = None


def encode_commit(record: CommitRecord) -> bytes:
    """Return the document."""
    return encode_document(_document(record))


def signed_text(record: CommitRecord) -> bytes:
    """Return what a signature of the record is over."""
    return encode({name: value for name, value in _document(record).items() if name != "signature"})


def _document(record: CommitRecord) -> JsonObject:
    return {"format": FORMAT, **to_members(record), "not_transactional": list(NOT_TRANSACTIONAL)}


def decode_commit(document: bytes) -> CommitRecord:
    """Read what `encode_commit` wrote and nothing else; InvalidDocumentError names what is wrong."""
    members = decode_document(document)
    if not isinstance(members, Mapping) or members.get("format") != FORMAT:
        raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, f"the document is no {FORMAT}")
    if members.get("not_transactional") != list(NOT_TRANSACTIONAL):
        raise InvalidDocumentError(Reason.WRONG_VALUE, "not_transactional is not the whole list")
    Reader(members, "the commit").instant("at")
    own = {name: value for name, value in members.items() if name not in ("format", "not_transactional")}
    record = from_members(CommitRecord, own, "the commit")
    for name in (record.transaction, *filter(None, (record.successor,))):
        if not TRANSACTION_ID.fullmatch(name):
            raise InvalidDocumentError(Reason.WRONG_VALUE, f"{name!r} is no transaction's id")
    if encode_commit(record) != document:
        raise InvalidDocumentError(Reason.NOT_CANONICAL, "the commit's record is not in its only spelling")
    return record
