"""The record of a restore: what is written is read, and nothing else is."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import EntryState
from docket.formats.relpath import RelPath
from docket.formats.tree.changes import symlink_state
from docket.formats.tree.restore_record import RestoredPath, RestoreRecord, decode_record, encode_record
from docket.formats.tree.steps import StepStatus

SHA = Digest(hashlib.sha256(b"1").hexdigest())
FILE = EntryState(kind="file", mode=0o644, size=1, sha256=SHA)
FOLDER = EntryState(kind="directory", mode=0o2755)
PATHS = (
    RestoredPath(path=RelPath(b"a"), verb="write", status=StepStatus.APPLIED, was=FILE, now=FOLDER, kept=True),
    RestoredPath(path=RelPath(b"b"), verb="remove", status=StepStatus.APPLIED, was=symlink_state(b"\xff")),
    RestoredPath(path=RelPath(b"c"), verb="write", status=StepStatus.REFUSED, reason="changed-since", detail="so"),
    RestoredPath(path=RelPath(b"\xff"), verb="not-covered", reason="too-large"),
)
RECORD = RestoreRecord(
    session_id="0123456789ab",
    docket_number="DKT-20261001-00C0DE",
    restored_at="2026-10-01T12:00:00.250Z",
    root=b"/home/caf\xe9",
    root_identity=(2**63, 3),
    plan_sha256=Digest("ab" * 32),
    forced=True,
    paths=PATHS,
    manifest_sha256=Digest("cd" * 32),
)


def test_a_record_is_read_as_it_was_written() -> None:
    assert decode_record(encode_record(RECORD)) == RECORD
    redone = replace(RECORD, manifest_sha256=None, redo_of=Digest("ef" * 32), root=b"/t", paths=())
    assert decode_record(encode_record(redone)) == redone


def test_a_record_of_a_tool_call_names_its_delta_and_no_run() -> None:
    call = replace(RECORD, manifest_sha256=None, docket_number="", delta_sha256=Digest("ef" * 32), tool_use_id="t")
    for record in (call, replace(call, redo_of=Digest("ab" * 32))):
        assert decode_record(encode_record(record)) == record
    members = json.loads(encode_record(call))
    assert (members["delta_sha256"], members["tool_use_id"]) == ("ef" * 32, "t")
    assert {"delta_sha256", "tool_use_id"}.isdisjoint(json.loads(encode_record(RECORD)))


def test_its_members_are_the_specified_ones() -> None:
    members = json.loads(encode_record(RECORD))
    assert members["format"] == "docket/restore/v1"
    assert members["root_identity"] == {"device": "9223372036854775808", "inode": "3"}
    assert members["paths"][0] == {
        "kept": True, "now": {"kind": "directory", "mode": 0o2755}, "path": "a", "status": "applied", "verb": "write",
        "was": {"kind": "file", "mode": 0o644, "sha256": str(SHA), "size": 1},
    }  # fmt: skip
    assert members["paths"][1]["was"] == {"kind": "symlink", "target_b64": "/w=="}
    assert members["paths"][3] == {"path_b64": "/w==", "reason": "too-large", "status": None, "verb": "not-covered"}


def changed(edit) -> bytes:
    members = json.loads(encode_record(RECORD))
    edit(members)
    text = json.dumps(members, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode() + b"\n"


EDITS = {
    "another format": lambda m: m.update(format="docket/restore/v2"),
    "a member more": lambda m: m.update(more=1),
    "a member less": lambda m: m.pop("forced"),
    "a tool call beside a manifest": lambda m: m.update(docket_number="", delta_sha256="ef" * 32, tool_use_id="t"),
    "a tool call of a run": lambda m: m.update(manifest_sha256=None, delta_sha256="ef" * 32, tool_use_id="t"),
    "a tool call without its name": lambda m: m.update(docket_number="", manifest_sha256=None, delta_sha256="ef" * 32),
    "the name of a tool call alone": lambda m: m.update(docket_number="", tool_use_id="t"),
    "a relative root": lambda m: (m.update(root="home"), m.pop("root_b64")),
    "a root with a NUL": lambda m: (m.update(root="/a\0"), m.pop("root_b64")),
    "a root in base64 that is text": lambda m: m.update(root="/a", root_b64="L2E="),
    "a huge inode": lambda m: m["root_identity"].update(inode="9" * 30),
    "an inode that is a number": lambda m: m["root_identity"].update(inode=3),
    "an inode beyond 64 bits": lambda m: m["root_identity"].update(inode=str(2**64)),
    "paths out of order": lambda m: m["paths"].reverse(),
    "a path twice": lambda m: m["paths"].insert(0, m["paths"][0]),
    "a way out": lambda m: m["paths"][0].update(path="../a"),
    "an absolute path": lambda m: m["paths"][0].update(path="/a"),
    "an empty part": lambda m: m["paths"][0].update(path="a//b"),
    "an unknown status": lambda m: m["paths"][0].update(status="done"),
    "a verb that drives": lambda m: m["paths"][0].update(verb="\u001b[2J"),
    "a mode beyond": lambda m: m["paths"][0]["was"].update(mode=0o10000),
    "a negative size": lambda m: m["paths"][0]["was"].update(size=-1),
    "a huge size": lambda m: m["paths"][0]["was"].update(size=2**60),
    "a blob's name": lambda m: m["paths"][0]["was"].update(sha256="../../etc/passwd"),
    "a special file": lambda m: m["paths"][0]["was"].update(kind="fifo"),
    "a folder with a size": lambda m: m["paths"][0]["now"].update(size=1),
    "a link to nothing": lambda m: m["paths"][1].update(was={"kind": "symlink", "target": ""}),
    "a link with a NUL": lambda m: m["paths"][1].update(was={"kind": "symlink", "target": "a\0"}),
    "a state that is a text": lambda m: m["paths"][0].update(was="file"),
    "a state of what was not done": lambda m: m["paths"][2].update(was=None),
}


@pytest.mark.parametrize("name", EDITS)
def test_another_record_is_refused(name: str) -> None:
    with pytest.raises(InvalidDocumentError):
        decode_record(changed(EDITS[name]))


def test_other_bytes_are_refused() -> None:
    document = encode_record(RECORD)
    for wrong in (b"", b"{}\n", document[:-1], document + b"\n", document.replace(b":", b": ", 1)):
        with pytest.raises(InvalidDocumentError):
            decode_record(wrong)
