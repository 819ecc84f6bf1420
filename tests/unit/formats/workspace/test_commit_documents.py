"""The record of a commit made after its run, and of the recovery of one."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.digest import Digest
from docket.formats.ledger.workspace_events import RefusedChange
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.workspace.commit_record import CommitRecord, MergedPath, decode_commit, encode_commit
from docket.formats.workspace.scope import NOT_TRANSACTIONAL
from workspace_records import LANDED, REFUSED

MERGED = replace(
    LANDED,
    merged=(
        MergedPath(
            path=RelPath(b"caf\xe9"),
            ancestor_sha256=Digest("0a" * 32),
            ours_sha256=Digest("0b" * 32),
            theirs_sha256=Digest("0c" * 32),
            result_sha256=Digest("0d" * 32),
        ),
    ),
)
DRIFTED = replace(
    REFUSED,
    refusals=(RefusedChange(path=RelPath(b"a"), reason="changed-since", transaction="0123456789ab"),),
    stage="/state/workspace-tx/00112233aabb/stage",
)
RECOVERED = replace(REFUSED, was="interrupted-commit", approval="not-recorded", recovery="back")


@pytest.mark.parametrize("record", [REFUSED, LANDED, MERGED, DRIFTED, RECOVERED])
def test_a_record_is_read_back(record: CommitRecord) -> None:
    document = encode_commit(record)
    assert decode_commit(document) == record
    assert json.loads(document)["not_transactional"] == list(NOT_TRANSACTIONAL)


def edited(**changes: object) -> bytes:
    members = {**json.loads(encode_commit(LANDED)), **changes}
    return json.dumps({name: value for name, value in members.items() if value is not ...}, indent=2).encode() + b"\n"


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (b"[]\n", Reason.UNKNOWN_FORMAT),
        (edited(format="docket/workspace-commit/v2"), Reason.UNKNOWN_FORMAT),
        (edited(not_transactional=list(NOT_TRANSACTIONAL[:-1])), Reason.WRONG_VALUE),
        (edited(not_transactional=...), Reason.WRONG_VALUE),
        (edited(at="now"), Reason.NOT_AN_INSTANT),
        (edited(transaction="../x"), Reason.WRONG_VALUE),
        (edited(successor="../x"), Reason.WRONG_VALUE),
        (edited(more=1), Reason.UNKNOWN_MEMBER),
        (encode_commit(LANDED).replace(b"  ", b" "), Reason.NOT_CANONICAL),
    ],
)
def test_no_other_record_is_read(document: bytes, reason: Reason) -> None:
    with pytest.raises(InvalidDocumentError) as caught:
        decode_commit(document)
    assert caught.value.reason == reason
