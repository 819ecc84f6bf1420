"""`docket explain` and `docket diff` as a person and a script see them."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import click
import pytest

from docket.formats.canonical import encode_document
from docket.surfaces.cli.root import run
from golden_ledgers import samples
from golden_ledgers.build import LedgerBuilder
from golden_ledgers.judging import receipt_of

REPOSITORY = Path(__file__).resolve().parents[3]
NUMBER = "DKT-20261001-00C0DE"


def left_behind(folder: Path, builder: LedgerBuilder) -> Path:
    """A run's evidence in a folder; returns the receipt."""
    raw = builder.data()
    for name in ("receipts", "runs"):
        (folder / name).mkdir(parents=True)
    receipt = folder / "receipts" / f"{NUMBER}.receipt.json"
    receipt.write_bytes(encode_document(receipt_of(raw)))
    (folder / "runs" / "0123456789ab.jsonl").write_bytes(raw)
    return receipt


def test_findings_are_told_most_money_first_with_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", str(left_behind(tmp_path, samples.busy()))]) == 0
    said = capsys.readouterr()
    assert said.out.startswith(f"{NUMBER}  ")
    assert "   Next: " in said.out
    assert "\x1b" not in said.out
    assert said.err == ""


def test_findings_as_json_are_those_that_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    receipt = str(left_behind(tmp_path, samples.busy()))
    assert run(["explain", receipt, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document) == ["docket_number", "cost_usd", "findings"]
    run(["explain", receipt])
    told = capsys.readouterr().out
    assert document["findings"]
    assert all(item["title"] in told and f", {item['rule']}]" in told for item in document["findings"])


def test_colours_only_where_they_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKET_FORCE_COLOR", "1")
    assert run(["explain", str(left_behind(tmp_path, samples.busy()))]) == 0
    assert "\x1b[1m" in capsys.readouterr().out


def test_a_quiet_run_says_that_nothing_was_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", str(left_behind(tmp_path, samples.zero()))]) == 0
    assert capsys.readouterr().out.endswith("Nothing was found: no rule's threshold was reached.\n")


def test_a_ledger_that_is_not_there_or_another_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    receipt = left_behind(tmp_path / "one", samples.busy())
    other = left_behind(tmp_path / "two", samples.zero()).parent.parent / "runs" / "0123456789ab.jsonl"
    assert run(["explain", str(receipt), "--ledger", str(other)]) == 0
    assert "names another ledger than the one that was read" in capsys.readouterr().err
    (tmp_path / "one" / "runs" / "0123456789ab.jsonl").unlink()
    assert run(["explain", str(receipt)]) == 0
    assert "no ledger stands beside it" in capsys.readouterr().err
    assert run(["explain", str(receipt), "--ledger", str(tmp_path / "none")]) == 2
    assert "there is no such ledger" in capsys.readouterr().err


def test_a_damaged_ledger_is_an_error_that_names_the_event(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    receipt = left_behind(tmp_path, samples.busy())
    ledger = tmp_path / "runs" / "0123456789ab.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b'"golden"', b'"goldem"'))
    assert run(["explain", str(receipt)]) == 1
    assert "its hash does not match its content" in capsys.readouterr().err


def test_a_torn_tail_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    receipt = left_behind(tmp_path, samples.busy())
    ledger = tmp_path / "runs" / "0123456789ab.jsonl"
    ledger.write_bytes(ledger.read_bytes() + b'{"torn')
    assert run(["explain", str(receipt)]) == 0
    assert capsys.readouterr().err == ""


def test_two_runs_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left = left_behind(tmp_path / "left", samples.anthropic())
    right = left_behind(tmp_path / "right", samples.busy())
    assert run(["diff", str(left), str(right)]) == 0
    told = capsys.readouterr().out
    assert told.splitlines()[0].startswith(f"left   {NUMBER}")
    assert "Cost by model" in told
    assert run(["diff", str(left), str(right), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document) == ["left", "right", "figures", "models", "findings", "differs", "paths", "caveats"]
    assert document["figures"][0]["name"] == "cost"


def test_a_run_beside_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    receipt = str(left_behind(tmp_path, samples.busy()))
    assert run(["diff", receipt, receipt]) == 0
    told = capsys.readouterr().out
    assert "Differs" not in told
    assert "+" not in told


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("command", ["explain", "verify", "report", "diff"])
def test_a_line_is_no_longer_than_the_terminal_and_says_the_same(
    command: str, width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    receipts = [
        str(left_behind(tmp_path / "left", samples.busy())),
        str(left_behind(tmp_path / "right", samples.uses())),
    ]
    asked = [command, *receipts[: 1 + (command == "diff")]]
    assert run(asked) == 0
    plain = capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(width))
    assert run(asked) == 0
    told = click.unstyle(capsys.readouterr().out)
    # Only what is one word may be longer.
    assert [line for line in told.splitlines() if len(line) > width and " " in line.strip()] == []
    words = told.split()
    if command == "report":
        assert {"$0.975000", "gpt-5"} < set(words)
        assert run(["report", receipts[1]]) == 0
        table = click.unstyle(capsys.readouterr().out)
        # A model's parts go to lines of their own before its name is cut.
        assert f"\n{' ' if width == 60 else 'gpt-image-1.5'}+code-interpreter" in table
    elif command == "diff":
        assert {"gpt-image-1.5+code-interpreter", "700,000"} < set(words)
        assert ("-100.0" in words) == (width > 60)
    else:
        assert words == plain.split()


def test_a_digest_is_told_by_its_beginning_and_whole_in_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    left, right = left_behind(tmp_path / "left", samples.busy()), left_behind(tmp_path / "right", samples.uses())
    digests = [json.loads(path.read_bytes())["price_table"]["digest"] for path in (left, right)]
    assert run(["diff", str(left), str(right)]) == 0
    assert f"  prices digest: {digests[0][:16]}… -> {digests[1][:16]}…\n" in capsys.readouterr().out
    assert run(["diff", str(left), str(right), "--json"]) == 0
    (differs,) = (one for one in json.loads(capsys.readouterr().out)["differs"] if one["name"] == "prices digest")
    assert [differs["left"], differs["right"]] == digests


def test_the_page_is_generated_from_the_thresholds() -> None:
    spec = importlib.util.spec_from_file_location(
        "generate_findings_reference", REPOSITORY / "tools" / "generate_findings_reference.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    present = module.PAGE.read_text(encoding="utf-8")
    assert module.page(present) == present
