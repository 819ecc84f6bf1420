"""What every export does around its shaping: verify first, write whole or not at all, never over what is there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from docket.errors import UnavailableError
from docket.surfaces.cli import exporting
from docket.surfaces.cli.root import run
from export_lab import document, ledger_of, written, written_signed
from golden_ledgers import samples
from golden_ledgers.proven import PUBLIC_KEY

KINDS = ("intoto", "otlp", "sarif", "usage")
EVERY = (*KINDS, "trailer", "tlog-proof")
OTHER_KEY = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"  # the second of RFC 8032, 7.1


@pytest.mark.parametrize("kind", KINDS)
def test_a_receipt_that_fails_is_refused_with_its_first_failing_check(
    kind: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    receipt, out = written(tmp_path, samples.chat()), tmp_path / "o"
    document = json.loads(receipt.read_bytes())
    document["totals"]["cost_usd"] = "0.00"
    receipt.write_text(json.dumps(document))
    for arguments in ([], ["--out", str(out)]):
        assert run(["export", kind, str(receipt), *arguments]) == 1
        captured = capsysbinary.readouterr()
        assert captured.out == b""
        assert b"is not exported, for it fails totals: " in captured.err
        assert not out.exists()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"format":"x"}', b'{"session":{"id":"../x"}}'])
def test_what_is_no_receipt_is_refused(
    kind: str, content: bytes, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(content)
    assert run(["export", kind, str(path)]) == 1
    captured = capsysbinary.readouterr()
    assert captured.out == b""
    assert b"is not exported" in captured.err


@pytest.mark.parametrize("kind", KINDS)
def test_a_doctored_ledger_is_refused(kind: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    receipt = written(tmp_path, samples.chat())
    ledger = ledger_of(receipt)
    ledger.write_bytes(ledger.read_bytes().replace(b'"golden"', b'"goldem"', 1))
    assert run(["export", kind, str(receipt)]) == 1
    captured = capsysbinary.readouterr()
    assert captured.out == b""
    assert b"it fails ledger-chain" in captured.err


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_that_says_it_is_not_whole_is_exported_and_told(
    kind: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run(["export", kind, str(written(tmp_path, samples.no_end()))]) == 0
    captured = capsysbinary.readouterr()
    assert captured.out or kind == "usage"
    assert b"says itself that its record is not whole" in captured.err


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_whole_and_in_nobodys_place(
    kind: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    receipt, out = written(tmp_path, samples.chat()), tmp_path / "o"
    command = ["export", kind, str(receipt), "--out", str(out)]
    assert run(command) == 0
    assert capsysbinary.readouterr().out == b""
    first = out.read_bytes()
    assert first
    assert out.stat().st_mode & 0o777 == 0o600
    assert run(["export", kind, str(receipt)]) == 0
    assert capsysbinary.readouterr().out == first

    out.write_bytes(b"mine")
    assert run(command) == 2
    assert b"is there already" in capsysbinary.readouterr().err
    assert out.read_bytes() == b"mine"
    assert run([*command, "--force"]) == 0
    assert out.read_bytes() == first
    assert sorted(item.name for item in tmp_path.iterdir()) == ["o", "receipts", "runs"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_place_that_cannot_be_written_to(
    kind: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    receipt = str(written(tmp_path, samples.zero()))
    dangling = tmp_path / "link"
    dangling.symlink_to(tmp_path / "elsewhere")
    for out, words in (
        (tmp_path, b"is a folder"),
        (tmp_path / "none" / "o", b"no such folder"),
        (dangling, b"already"),
    ):
        for more in ([], ["--force"]) if out is not dangling else ([],):
            assert run(["export", kind, receipt, "--out", str(out), *more]) == 2
            assert words in capsysbinary.readouterr().err
    assert run(["export", kind, receipt, "--out", str(dangling), "--force"]) == 0
    assert not dangling.is_symlink()
    assert not (tmp_path / "elsewhere").exists()


def asked_of(kind: str, receipt: Path) -> list[str]:
    return ["export", kind, str(receipt), *["0"] * (kind == "tlog-proof")]


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize("option", ["--public-key", "--seal-key", "--trust"])
def test_a_key_that_does_not_vouch_for_it_is_a_refusal(
    kind: str, option: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    seal, trust = tmp_path / "seal.key", tmp_path / "trust.json"
    seal.write_text(f"{'ab' * 32}\n")
    trust.write_text(json.dumps({"format": "docket/trust/v1", "signers": [{"name": "me", "public_key": OTHER_KEY}]}))
    named = {"--public-key": OTHER_KEY, "--seal-key": str(seal), "--trust": str(trust)}[option]
    failing = "seal" if option == "--seal-key" else "signature"
    for receipt in (written_signed(tmp_path / "a"), written(tmp_path / "b", samples.chat())):
        assert run([*asked_of(kind, receipt), option, named]) == 1
        told = capsysbinary.readouterr()
        assert told.out == b""
        assert f"is not exported, for it fails {failing}: ".encode() in told.err
        assert run([*asked_of(kind, receipt), option, "none"]) == 2
        assert f"error: {option}".encode() in capsysbinary.readouterr().err


VERDICTS: dict[str, Callable[[Any], Any]] = {
    "intoto": lambda told: told["predicate"]["verdict"],
    "otlp": lambda told: {
        attribute["key"]: attribute["value"] for attribute in told["resourceSpans"][0]["resource"]["attributes"]
    }["docket.verdict"]["stringValue"],
    "sarif": lambda told: told["runs"][0]["properties"]["verdict"],
}


@pytest.mark.parametrize("kind", VERDICTS)
def test_the_verdict_that_is_told_is_by_the_keys_that_were_named(
    kind: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    receipt = written_signed(tmp_path)
    assert VERDICTS[kind](document(capsysbinary, kind, receipt)) == "consistent"
    assert VERDICTS[kind](document(capsysbinary, kind, receipt, "--public-key", PUBLIC_KEY)) == "verified"


def test_a_ledger_that_changes_between_is_told_and_nothing_gets_a_name(tmp_path: Path) -> None:
    source = exporting.source_of(str(written(tmp_path, samples.chat())))
    record = exporting.verified(source)
    assert source.ledger is not None
    whole = source.ledger.read_bytes()
    short = b"".join(whole.splitlines(keepends=True)[:-1])
    for content in (short, whole[:-1], whole.replace(b"golden", b"goldem", 1), b""):
        source.ledger.write_bytes(content)
        out = tmp_path / "o"
        pieces = (event.line for event in exporting.events_of(source, record))
        with pytest.raises(UnavailableError, match="is not what it was when it was verified"):
            exporting.write(pieces, exporting.Output(out=out))
        assert not os.path.lexists(out)
    source.ledger.write_bytes(whole)
    assert sum(1 for _ in exporting.events_of(source, record)) == len(whole.splitlines())


def test_an_export_that_is_interrupted_leaves_nothing_behind(tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"{" * 300_000
        raise KeyboardInterrupt

    (tmp_path / "o").write_bytes(b"mine")
    with pytest.raises(KeyboardInterrupt):
        exporting.write(pieces(), exporting.Output(out=tmp_path / "o", force=True))
    assert [(item.name, item.read_bytes()) for item in tmp_path.iterdir()] == [("o", b"mine")]


def test_a_ledger_that_is_named_and_not_there(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    receipt = str(written(tmp_path, samples.zero()))
    assert run(["export", "intoto", receipt, "--ledger", str(tmp_path / "none")]) == 2
    assert b"there is no such ledger" in capsysbinary.readouterr().err


def test_pieces_are_gathered() -> None:
    pieces = [b"a" * 100_000] * 7
    gathered = list(exporting.gathered(pieces))
    assert b"".join(gathered) == b"".join(pieces)
    assert [len(piece) for piece in gathered] == [300_000, 300_000, 100_000]
    assert list(exporting.gathered([])) == []
