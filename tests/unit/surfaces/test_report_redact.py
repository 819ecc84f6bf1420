"""`docket report --redact` as a person and a script see it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docket.formats.canonical import encode_document
from docket.formats.ledger.redaction_facts import commitment_of
from docket.surfaces.cli.completing import profiles_like
from docket.surfaces.cli.root import run
from golden_ledgers import kept, samples
from golden_ledgers.build import LedgerBuilder
from golden_ledgers.judging import receipt_of

NUMBER = "DKT-20261001-00C0DE"


def evidence(folder: Path, builder: LedgerBuilder) -> Path:
    """A run's evidence in a folder; returns the receipt."""
    for name in ("receipts", "runs"):
        (folder / name).mkdir(parents=True)
    receipt = folder / "receipts" / f"{NUMBER}.receipt.json"
    receipt.write_bytes(encode_document(receipt_of(builder.data())))
    (folder / "runs" / "0123456789ab.jsonl").write_bytes(builder.data())
    return receipt


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_report_of_a_file_says_how_to_check_that_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    receipt = evidence(tmp_path / "mine", samples.anthropic())
    (tmp_path / "a b\x1b").mkdir()
    receipt.rename(tmp_path / "a b\x1b" / "r.json")
    monkeypatch.chdir(tmp_path)
    assert run(["report", "a b\x1b/r.json"]) == 0
    assert "Check it: docket verify 'a b\\x1b/r.json'. " in capsys.readouterr().out


@pytest.mark.parametrize("number", ["../DKT-1", "a/b", "N" * 243])
def test_a_record_whose_number_no_file_can_have_is_not_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], number: str
) -> None:
    named = LedgerBuilder()
    for event in samples.anthropic().events:
        data = dict(event.data)
        named.add_raw(event.type, data | {"docket_number": number} if "docket_number" in data else data)
    receipt, out = evidence(tmp_path / "mine", named), tmp_path / "theirs"
    assert run(["report", str(receipt), "--redact", "argv", "--out", str(out)]) == 1
    assert "which no file can be named: nothing is written" in capsys.readouterr().err
    assert not out.exists()


def test_a_copy_stands_in_its_folder_and_verifies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    receipt = evidence(tmp_path / "mine", samples.anthropic())
    before, out = files_below(tmp_path / "mine"), tmp_path / "theirs"
    assert run(["report", str(receipt), "--redact", "paths,argv", "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert files_below(tmp_path / "mine") == before
    assert set(files_below(out)) == {f"{NUMBER}.receipt.json", "runs/0123456789ab.jsonl"}
    assert all(path.stat().st_mode & 0o077 == 0 for path in out.rglob("*") if path.is_file())
    assert "hides    argv, paths:" in said.out
    assert "verdict  consistent" in said.out
    opening = bytes.fromhex(said.err.split("docket-opening ")[1].strip())
    document = json.loads((out / f"{NUMBER}.receipt.json").read_bytes())
    head = json.loads(receipt.read_bytes())["ledger"]["head"]
    assert document["redaction"]["commitment"] == commitment_of(opening, head)
    assert opening.hex().encode() not in b"".join(files_below(out).values())

    assert run(["verify", str(out / f"{NUMBER}.receipt.json")]) == 0
    verified = capsys.readouterr().out
    assert "consistent, checked with the ledger" in verified
    assert "It says of itself that it is a redacted copy" in verified
    assert run(["verify", str(receipt)]) == 0
    assert "redacted copy" not in capsys.readouterr().out
    assert run(["report", str(out / f"{NUMBER}.receipt.json")]) == 0
    assert f"Check it: docket verify {out / NUMBER}.receipt.json. " in capsys.readouterr().out
    assert run(["explain", str(out / f"{NUMBER}.receipt.json")]) == 0
    assert run(["report", str(out / f"{NUMBER}.receipt.json"), "--redact", "all", "--out", str(tmp_path / "x")]) == 1
    assert "a redacted copy already" in capsys.readouterr().err


def test_a_copy_may_be_signed_by_a_key_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    receipt, key, out = evidence(tmp_path / "mine", samples.numbered()), tmp_path / "k" / "key", tmp_path / "theirs"
    key.parent.mkdir()
    assert run(["keygen", str(key)]) == 0
    fingerprint = capsys.readouterr().out.split()[-1]
    assert run(["report", str(receipt), "--redact", "all", "--out", str(out), "--sign", str(key)]) == 0
    assert f"\nsigned   by {fingerprint}, " in capsys.readouterr().out
    copy = str(out / f"{NUMBER}.receipt.json")
    assert run(["verify", copy, "--public-key", f"{key}.pub", "--require", "verified"]) == 0
    assert "verified, checked with the ledger" in capsys.readouterr().out
    assert run(["report", str(receipt), "--redact", "all", "--out", str(tmp_path / "n"), "--sign", str(out)]) != 0
    assert not (tmp_path / "n").exists()


def test_what_stands_beside_the_record_is_not_copied_and_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    receipt, out = evidence(tmp_path / "mine", samples.cached()), tmp_path / "theirs"
    kept.write_bodies(tmp_path / "mine")
    assert run(["report", str(receipt), "--redact", "paths", "--out", str(out)]) == 0
    assert "without  responses" in capsys.readouterr().out
    document = json.loads((out / f"{NUMBER}.receipt.json").read_bytes())
    assert document["redaction"]["not_carried"] == ["responses"]
    assert document["responses"]["kept"] == 0
    assert document["cache"]["hits"] == json.loads(receipt.read_bytes())["cache"]["hits"] > 0
    assert not (out / "responses").exists()


@pytest.mark.parametrize(
    "asked",
    [
        (["--redact", "all"], 2, "--redact writes a receipt and a ledger"),
        (
            ["--redact", "path", "--out", "o"],
            2,
            "--redact path: name any of argv, hosts, names, paths, secrets, or all alone",
        ),
        (["--redact", "paths,all", "--out", "o"], 2, "--redact all"),
        (["--redact", "", "--out", "o"], 2, "name any of"),
        (["--redact", "all", "--out", "o", "--json"], 2, "name one"),
        (["--sign", "k"], 2, "--sign goes with --redact"),
        (["--out", "o"], 2, "--out goes with --html or --redact"),
        (["--redact", "all", "--out", "filled"], 2, "is not an empty folder"),
        (["--redact", "all", "--out", "a-file"], 75, "a-file cannot be used"),
    ],
)
def test_what_was_asked_wrongly_writes_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    asked: tuple[list[str], int, str],
) -> None:
    arguments, code, why = asked
    receipt = evidence(tmp_path / "mine", samples.zero())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "filled").mkdir()
    (tmp_path / "filled" / "x").touch()
    (tmp_path / "a-file").touch()
    before = files_below(tmp_path)
    assert run(["report", str(receipt), *arguments]) == code
    assert why in capsys.readouterr().err
    assert files_below(tmp_path) == before


def test_a_record_that_does_not_hold_or_has_no_ledger_is_not_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    receipt = evidence(tmp_path / "mine", samples.zero())
    ledger, out = tmp_path / "mine" / "runs" / "0123456789ab.jsonl", tmp_path / "out"
    ledger.write_bytes(ledger.read_bytes().replace(b'"golden"', b'"goldem"'))
    assert run(["report", str(receipt), "--redact", "all", "--out", str(out)]) == 1
    assert "is not copied, for it does not verify: ledger-chain" in capsys.readouterr().err
    ledger.unlink()
    assert run(["report", str(receipt), "--redact", "all", "--out", str(out)]) != 0
    assert "does not stand beside it" in capsys.readouterr().err
    assert not out.exists()


def test_a_copy_that_would_keep_a_secret_in_a_name_is_not_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    builder = samples.zero()
    last = builder.events.pop()
    builder.add_raw("x-docket.hook-lost", {"kind": "AKIAABCDEFGHIJKLMNOP", "count": 1})
    builder.add_raw(last.type, dict(last.data))
    receipt = evidence(tmp_path / "mine", builder)
    assert run(["report", str(receipt), "--redact", "secrets", "--out", str(tmp_path / "out")]) == 1
    assert "what looks like a secret in a member that a copy keeps" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_profiles_are_completed_behind_those_already_named() -> None:
    assert profiles_like(None, None, "") == ["argv", "hosts", "names", "paths", "secrets", "all"]  # type: ignore[arg-type]
    assert profiles_like(None, None, "paths,a") == ["paths,argv"]  # type: ignore[arg-type]
    assert profiles_like(None, None, "paths,p") == []  # type: ignore[arg-type]
