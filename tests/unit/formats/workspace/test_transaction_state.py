"""The state of a transaction: what it says comes back, and nothing else is read."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.digest import Digest
from docket.formats.process_identity import ProcessIdentity
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.run.policy import WorkspaceSettle
from docket.formats.workspace import state as module
from docket.formats.workspace.scope import BackendName, View
from docket.formats.workspace.state import (
    Base,
    ChangeCounts,
    Evidence,
    Status,
    SurfaceRules,
    TransactionState,
    decode_state,
    encode_state,
)

PLAIN = TransactionState(
    id="00112233aabb",
    status=Status.OPEN,
    base=Base.of(b"/work/tree", (2**63, 17)),
    surface=SurfaceRules(exclude=("build/",), evidence=(Evidence(path=RelPath(b".docket")),)),
    backend=BackendName.COPY,
    view=View.STAGE,
    settle=WorkspaceSettle.AUTO,
    manifest_sha256=Digest("ab" * 32),
    owner=ProcessIdentity(pid=7, started="123", boot_id="b"),
    opened_at="2026-10-01T12:00:00.000Z",
    changed_at="2026-10-01T12:00:00.000Z",
)
FULL = replace(
    PLAIN,
    status=Status.REFUSED,
    base=Base.of(b"/work/caf\xe9", (1, 2)),
    surface=SurfaceRules(exclude=("a",), share=("b",), protect=("c",), evidence=(Evidence(path=RelPath(b"\xff")),)),
    session_id="0123456789ab",
    docket_number="DKT-20261001-00C0DE",
    not_preserved=3,
    closed_at="2026-10-01T12:00:01.000Z",
    result_sha256=Digest("cd" * 32),
    diff_sha256=Digest("ef" * 32),
    changes=ChangeCounts(added=1, modified=2, removed=3, retyped=4),
    plan_sha256=Digest("01" * 32),
    approval="diff",
    reason="base-drift",
    detail="a changed",
    predecessor="aaaaaaaaaaaa",
    successor="bbbbbbbbbbbb",
)


@pytest.mark.parametrize("state", [PLAIN, FULL])
def test_what_is_written_is_read_back(state: TransactionState) -> None:
    assert decode_state(encode_state(state)) == state


def test_the_document_describes_itself() -> None:
    members = json.loads(encode_state(PLAIN))
    assert members["schema"] == "docket/workspace-tx/v1"
    assert members["base"] == {"root": "/work/tree", "device": "9223372036854775808", "inode": "17"}
    assert members["surface"]["evidence"] == [{"path": ".docket"}]
    assert members["owner"] == {"pid": 7, "started": "123", "boot_id": "b"}
    assert "reason" not in members


def test_a_base_is_its_bytes() -> None:
    assert FULL.base.path == b"/work/caf\xe9"
    assert FULL.base.root == "/work/caf\\xe9"
    assert PLAIN.base.identity == (2**63, 17)
    assert FULL.changes is not None
    assert FULL.changes.total == 10


def edited(**changes: object) -> bytes:
    members = {**json.loads(encode_state(FULL)), **changes}
    return json.dumps({name: value for name, value in members.items() if value is not ...}, indent=2).encode() + b"\n"


BASE = {"root": "/work", "device": "1", "inode": "2"}


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (b"[]\n", Reason.UNKNOWN_FORMAT),
        (b"{}\n", Reason.UNKNOWN_FORMAT),
        (edited(schema="docket/workspace-tx/v2"), Reason.UNKNOWN_FORMAT),
        (edited(id=...), Reason.MISSING_MEMBER),
        (edited(extra=1), Reason.UNKNOWN_MEMBER),
        (edited(id="../../etc"), Reason.WRONG_VALUE),
        (edited(successor="x"), Reason.WRONG_VALUE),
        (edited(status="interrupted"), Reason.WRONG_VALUE),
        (edited(opened_at="yesterday"), Reason.NOT_AN_INSTANT),
        (edited(closed_at="later"), Reason.NOT_AN_INSTANT),
        (edited(base={**BASE, "device": "-1"}), Reason.WRONG_VALUE),
        (edited(base={**BASE, "inode": "01"}), Reason.WRONG_VALUE),
        (edited(base={**BASE, "root": "work"}), Reason.WRONG_VALUE),
        (edited(base={**BASE, "root": "/work/../etc"}), Reason.WRONG_VALUE),
        (edited(base={**BASE, "root": "/a\0b"}), Reason.WRONG_VALUE),
        (edited(not_preserved=-1), Reason.WRONG_VALUE),
        (edited(approval="forged"), Reason.WRONG_VALUE),
        (edited(owner={"pid": -2, "started": "", "boot_id": ""}), Reason.WRONG_VALUE),
        (edited(changes={"added": 0, "modified": 0, "removed": -1, "retyped": 0}), Reason.WRONG_VALUE),
        (
            edited(surface={"exclude": [], "share": [], "protect": [], "evidence": [{"path": "../x"}]}),
            Reason.NOT_A_PATH,
        ),
        (encode_state(PLAIN).replace(b"  ", b" "), Reason.NOT_CANONICAL),
    ],
)
def test_anything_else_is_refused(document: bytes, reason: Reason) -> None:
    with pytest.raises(InvalidDocumentError) as caught:
        decode_state(document)
    assert caught.value.reason == reason


def test_a_document_has_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_STATE_BYTES", 10)
    with pytest.raises(InvalidDocumentError) as caught:
        decode_state(encode_state(PLAIN))
    assert caught.value.reason == Reason.TOO_LARGE
