"""`docket export intoto`: the statement, its predicate, and the envelope as other programs verify it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

from docket.surfaces.cli.root import run
from docket.surfaces.export.dsse import pre_authentication_encoding
from docket.surfaces.export.predicate import CLASSES
from export_lab import document, exported, ledger_of, written, written_elsewhere
from golden_ledgers import samples
from golden_ledgers.proven import PUBLIC_KEY, SECRET_KEY

PAGE = Path(__file__).resolve().parents[3] / "spec" / "predicate-run.md"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """The secret key of RFC 8032's first test, as a file for its owner alone."""
    private = Ed25519PrivateKey.from_private_bytes(SECRET_KEY)
    path = tmp_path / "keys" / "docket.key"
    path.parent.mkdir()
    path.touch(mode=0o600)
    path.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return path


def subjects(statement: dict[str, Any]) -> dict[str, dict[str, str]]:
    named = {one["name"]: one["digest"] for one in statement["subject"]}
    assert len(named) == len(statement["subject"])
    return named


def test_the_encoding_that_is_signed() -> None:
    # The example of the protocol's page; and lengths are of bytes, not of characters.
    assert (
        pre_authentication_encoding("http://example.com/HelloWorld", b"hello world")
        == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )
    assert pre_authentication_encoding("", b"") == b"DSSEv1 0  0 "
    assert pre_authentication_encoding("é", "ü ".encode()) == b"DSSEv1 2 \xc3\xa9 3 \xc3\xbc "


def test_a_statement_names_what_it_is_about(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    receipt = written(tmp_path, samples.windowed())
    statement = document(capsysbinary, "intoto", receipt)

    assert list(statement) == ["_type", "predicate", "predicateType", "subject"]
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "urn:docket:predicate:run:v1"
    named = subjects(statement)
    assert named.pop(f"receipts/{receipt.name}") == {"sha256": hashlib.sha256(receipt.read_bytes()).hexdigest()}
    raw = ledger_of(receipt).read_bytes()
    assert named.pop("runs/0123456789ab.jsonl") == {"sha256": hashlib.sha256(raw).hexdigest()}
    events = [json.loads(line) for line in raw.splitlines()]
    after = [event["data"] for event in events if event["type"] == "fs.snapshot" and event["data"]["phase"] == "after"]
    assert named.pop("tree/after") == {"sha256": after[0]["tree_sha256"]}
    deltas = {event["data"]["delta_sha256"] for event in events if event["type"] == "x-docket.tool-delta"}
    assert deltas
    assert named == {f"windows/deltas/{digest}.json": {"sha256": digest} for digest in deltas}


def test_a_predicate_in_figures_worked_out_by_hand(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    predicate = document(capsysbinary, "intoto", written(tmp_path, samples.anthropic()))["predicate"]

    # Two calls; 17,000 and 100 tokens in, of which 10,000 from a cache; 500 and 10 out; two searches are no tokens.
    assert predicate["usage"] == {
        "modelCalls": 2, "denied": 0, "errors": 0, "rows": 5, "reportedRows": 5, "estimatedRows": 0, "assertedRows": 0,
        "inputTokens": 17_100, "cachedInputTokens": 10_000, "outputTokens": 510,
    }  # fmt: skip
    assert predicate["cost"]["usd"] == "0.060950"
    assert predicate["providers"] == {"anthropic": 2}
    assert predicate["startedAt"] == "2026-10-01T12:00:00.250Z"
    assert predicate["verdict"] == "consistent"
    assert predicate["provenance"]["usage.inputTokens"] == "reported"
    assert predicate["provenance"]["cost.usd"] == "derived"
    assert predicate["provenance"]["files.added"] == "observed"


def paths(value: Any, path: str = "") -> set[str]:
    """The path of each leaf; whatever stands in an array stands under the array's."""
    if isinstance(value, dict) and path != "providers":
        return {found for name, member in value.items() for found in paths(member, f"{path}.{name}".removeprefix("."))}
    if isinstance(value, list) and path == "models":
        return {found for member in value for found in paths(member, path)}
    return {path}


@pytest.mark.parametrize("name", sorted(samples.ALL))
def test_every_member_has_a_class_and_a_lower_camel_case_name(
    name: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    predicate = document(capsysbinary, "intoto", written(tmp_path, samples.ALL[name]()))["predicate"]
    classes = predicate.pop("provenance")

    assert set(classes) == paths(predicate)
    assert set(classes.values()) <= {"observed", "reported", "derived"}
    assert all(re.fullmatch(r"[a-z][A-Za-z0-9]*(\.[a-z][A-Za-z0-9]*)?", path) for path in classes)
    assert b"null" not in json.dumps(predicate).encode()


def test_what_became_of_the_changes_is_told(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    told = {}
    for name in ("landed", "discarded", "rolled_back", "rollback_refused", "zero"):
        predicate = document(capsysbinary, "intoto", written(tmp_path / name, samples.ALL[name]()))["predicate"]
        told[name] = (predicate.get("workspace", {}).get("committed"), predicate.get("rollback"))
    assert told == {
        "landed": (True, None), "discarded": (False, None), "rolled_back": (None, {"applied": True}),
        "rollback_refused": (None, {"applied": False}), "zero": (None, None),
    }  # fmt: skip


def test_the_page_lists_the_same_classes() -> None:
    rows = re.findall(r"^\| `([A-Za-z0-9.]+)` \| (observed|reported|derived) \|", PAGE.read_text(), re.MULTILINE)
    assert dict(rows) == {path: str(kind) for path, kind in CLASSES.items()}
    assert len(rows) == len(CLASSES)


def test_counts_that_docket_estimated_are_derived(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    classes = document(capsysbinary, "intoto", written(tmp_path, samples.estimated()))["predicate"]["provenance"]
    assert {classes["usage.inputTokens"], classes["models.outputTokens"]} == {"derived"}


def test_an_envelope_that_other_programs_verify(
    tmp_path: Path, key: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    receipt = written(tmp_path, samples.chat())
    bare = exported(capsysbinary, "intoto", receipt)
    signed = document(capsysbinary, "intoto", receipt, "--sign", key)

    assert sorted(signed) == ["payload", "payloadType", "signatures"]
    assert signed["payloadType"] == "application/vnd.in-toto+json"
    payload = base64.b64decode(signed["payload"], validate=True)
    assert payload + b"\n" == bare
    (signature,) = signed["signatures"]
    text = b"DSSEv1 28 application/vnd.in-toto+json " + str(len(payload)).encode() + b" " + payload
    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(PUBLIC_KEY))
    public.verify(base64.b64decode(signature["sig"], validate=True), text)

    theirs = SSlibKey(signature["keyid"], "ed25519", "ed25519", {"public": PUBLIC_KEY})
    assert list(Envelope.from_dict(deepcopy(signed)).verify([theirs], 1)) == [signature["keyid"]]
    forged = {**deepcopy(signed), "payload": base64.b64encode(payload.replace(b"consistent", b"verified")).decode()}
    with pytest.raises(VerificationError):
        Envelope.from_dict(forged).verify([theirs], 1)


def test_the_same_record_gives_the_same_bytes(
    tmp_path: Path, key: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    receipt = written(tmp_path, samples.odd_names())
    for arguments in (["intoto", receipt], ["intoto", receipt, "--sign", str(key)]):
        first = exported(capsysbinary, *arguments)
        assert first == exported(capsysbinary, *arguments)
        assert first.endswith(b"}\n")
        assert all(0x20 <= byte < 0x7F for byte in first[:-1])


def test_without_its_ledger_it_is_about_the_receipt_alone(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    receipt = written(tmp_path, samples.windowed(), ledger=False)
    assert run(["export", "intoto", str(receipt)]) == 0
    captured = capsysbinary.readouterr()
    statement = json.loads(captured.out)
    assert list(subjects(statement)) == [f"receipts/{receipt.name}"]
    assert statement["predicate"]["ledger"]["checked"] is False
    assert b"its ledger is not there: the statement is about the receipt alone" in captured.err


def test_a_commit_is_one_more_subject(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    receipt = written(tmp_path, samples.zero())
    for name in ("ab" * 20, "cd" * 32):
        statement = document(capsysbinary, "intoto", receipt, "--commit", name)
        assert subjects(statement)["commit"] == {"gitCommit": name}
    monkeypatch.chdir(tmp_path)
    git = tmp_path / ".git"
    (git / "objects").mkdir(parents=True)
    (git / "HEAD").write_text("ef" * 20 + "\n")
    assert subjects(document(capsysbinary, "intoto", receipt, "--commit", "HEAD"))["commit"] == {"gitCommit": "ef" * 20}
    for name in ("ab" * 19, "AB" * 20, "main", "-x", "ab" * 33):
        assert run(["export", "intoto", str(receipt), "--commit", name]) == 2
        assert b"write HEAD or all the digits" in capsysbinary.readouterr().err


def test_head_of_a_folder_that_is_no_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    receipt = written(tmp_path, samples.zero())
    monkeypatch.chdir(tmp_path)
    assert run(["export", "intoto", str(receipt), "--commit", "HEAD"]) == 75
    assert b"no commit is checked out here" in capsysbinary.readouterr().err


@pytest.mark.parametrize("content", [b"", b"-----BEGIN PUBLIC KEY-----\nAA==\n-----END PUBLIC KEY-----\n"])
def test_a_key_that_cannot_sign_is_refused_before_anything_is_written(
    content: bytes, tmp_path: Path, key: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    receipt, out = written(tmp_path, samples.zero()), tmp_path / "s.json"
    key.write_bytes(content)
    assert run(["export", "intoto", str(receipt), "--sign", str(key), "--out", str(out)]) == 2
    captured = capsysbinary.readouterr()
    assert captured.out == b""
    assert b"cannot sign" in captured.err
    assert not out.exists()


def test_a_record_of_another_writer(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    receipt = written_elsewhere(tmp_path)
    statement = document(capsysbinary, "intoto", receipt)
    predicate = statement["predicate"]
    assert set(subjects(statement)) == {f"receipts/{receipt.name}", "runs/s1.jsonl"}
    # Their instants are no RFC 3339, and they name no agent and no limits: what is not told is left out.
    assert not {"createdAt", "startedAt", "agent", "limits"} & set(predicate)
    assert predicate["usage"]["inputTokens"] == 1010
    assert predicate["usage"]["assertedRows"] == 1
    assert set(predicate["provenance"]) == paths({k: v for k, v in predicate.items() if k != "provenance"})
