"""A run as an in-toto Statement v1: which artifacts it is about, and the predicate (spec/predicate-run.md).

Rules:
1. A subject is an artifact whose digest was seen to be so: the receipt; and where its ledger bore it out the ledger,
   the listing of the tree after the run, and the delta of each tool window. Without it the receipt stands alone.
2. A commit is a subject because the person says that it belongs to the run. Nothing in a record can bear that out.
3. Names of subjects are unique within the statement.
"""

from __future__ import annotations

from collections.abc import Iterator

from docket.formats.canonical import JsonValue
from docket.formats.digest import is_digest
from docket.formats.lenient import object_of, text_of
from docket.surfaces.export.predicate import PREDICATE_TYPE, predicate
from docket.surfaces.export.record import VerifiedRecord

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"


def statement(record: VerifiedRecord, commit: str | None = None) -> dict[str, JsonValue]:
    """Return the statement; `commit` is the name of a git commit, in hexadecimal digits."""
    subjects = [*_subjects(record)]
    if commit is not None:
        subjects.append({"name": "commit", "digest": {"gitCommit": commit}})
    return {
        "_type": STATEMENT_TYPE,
        "subject": subjects,
        "predicateType": PREDICATE_TYPE,
        "predicate": predicate(record),
    }


def _subjects(record: VerifiedRecord) -> Iterator[JsonValue]:
    yield _subject(f"receipts/{record.docket_number}.receipt.json", record.receipt_sha256)
    if not record.checked:
        return
    yield _subject(f"runs/{record.session_id}.jsonl", text_of(record.part("ledger").get("file_sha256")))
    tree = text_of(record.part("files", "passes", "after").get("tree_sha256"))
    if is_digest(tree):
        yield _subject("tree/after", tree)
    deltas = (object_of(object_of(tool).get("delta")) for tool in record.items("tools", "windows"))
    # Windows that overlapped share one delta.
    for digest in dict.fromkeys(text_of(delta.get("delta_sha256")) for delta in deltas):
        if is_digest(digest):
            yield _subject(f"windows/deltas/{digest}.json", digest)


def _subject(name: str, sha256: str) -> JsonValue:
    return {"name": name, "digest": {"sha256": sha256}}
