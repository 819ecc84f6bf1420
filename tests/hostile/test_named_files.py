"""What a person names may be any file or none: each command of proof says so in one sentence, with its exit code."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from docket.surfaces.cli.root import run
from export_lab import ledger_of, written, written_elsewhere
from golden_ledgers import samples

GIGABYTE = 1024**3
RECEIPT_READERS: dict[str, list[str]] = {
    "verify": ["verify", "@"],
    "verify --json": ["verify", "@", "--ledger", "ledger.jsonl"],
    "explain": ["explain", "@"],
    "explain --json": ["explain", "@", "--json"],
    "diff left": ["diff", "@", "good.json"],
    "diff right": ["diff", "good.json", "@"],
    "report": ["report", "@"],
    "report --json": ["report", "@", "--json"],
    "report --markdown": ["report", "@", "--markdown"],
    "report --html": ["report", "@", "--html", "--out", "page.html"],
    "report --redact": ["report", "@", "--redact", "all", "--out", "copy"],
    "export intoto": ["export", "intoto", "@"],
    "export otlp": ["export", "otlp", "@"],
    "export sarif": ["export", "sarif", "@"],
    "export usage": ["export", "usage", "@"],
    "export csv": ["export", "usage", "@", "--format", "csv", "--out", "rows.csv"],
    "export tlog-proof": ["export", "tlog-proof", "@", "0"],
    "export trailer": ["export", "trailer", "@"],
}
# Which receipts are none, and what is said of them; verify's own words for what is JSON are those of its checks.
NO_RECEIPTS = {
    "none.json": "none.json",
    "folder": "is not a regular file",
    ".": "is not a regular file",
    "fifo": "is not a regular file",
    "empty": "there is nothing in it",
    "sparse": "is larger than",
    "truncated.json": "not JSON",
    "binary": "is not UTF-8",
    "array.json": "is not a JSON object",
    "deep.json": "nested deeper than",
    "ledger.jsonl": "it is a ledger, and no receipt",
    "loop": "loop",
    "good.json/x": "good.json/x",
    "/dev/zero": "is not a regular file",
    "unreadable.json": "Permission denied",
    "": "a variable that is empty?",
}
OTHER_DOCUMENTS = ("version.json", "object.json", "state.json")
OPTIONS: dict[str, list[str]] = {
    "--ledger": ["verify", "good.json", "--ledger", "@"],
    "--ledger of an export": ["export", "otlp", "good.json", "--ledger", "@"],
    "--checkpoints": ["verify", "good.json", "--ledger", "ledger.jsonl", "--checkpoints", "@"],
    "--head": ["verify", "good.json", "--head", "@"],
    "--public-key": ["export", "usage", "good.json", "--public-key", "@"],
    "--seal-key": ["export", "trailer", "good.json", "--seal-key", "@"],
    "--trust": ["verify", "good.json", "--trust", "@"],
    "--state": ["verify", "good.json", "--state", "@"],
    "--commit-message": ["export", "trailer", "good.json", "--commit-message", "@"],
    "--sign": ["export", "intoto", "good.json", "--sign", "@"],
    "keygen": ["keygen", "@"],
    "--out": ["export", "otlp", "good.json", "--out", "@"],
}
NO_FILES = ("folder", "fifo", "/dev/zero", "loop", ".", "")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a record and with everything that is none, in which one stands."""
    receipt = written(tmp_path / "whole", samples.chat())
    data, ledger = receipt.read_bytes(), ledger_of(receipt).read_bytes()
    for name, content in (
        ("good.json", data), ("ledger.jsonl", ledger), ("empty", b""), ("truncated.json", data[:3000]),
        ("binary", bytes(range(255, 0, -1)) * 9), ("array.json", b"[]"), ("deep.json", b"[" * 100_000),
        ("version.json", data.replace(b"docket/receipt/v1", b"docket/receipt/v9")), ("object.json", b"{}"),
        ("state.json", b'{"format":"docket/verifier-state/v1","origins":[],"projects":[]}'),
        ("unreadable.json", data),
    ):  # fmt: skip
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", GIGABYTE)
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "unreadable.json").chmod(0)
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCKET_STATE_DIR", str(tmp_path / "state"))
    before = {item.name for item in tmp_path.iterdir()}
    yield tmp_path
    assert {item.name for item in tmp_path.iterdir()} == before


def told(arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code and the one sentence; as nobody's superuser where it is about a file that cannot be read."""
    asked = [named if argument == "@" else argument for argument in arguments]
    drops = named == "unreadable.json" and os.geteuid() == 0
    if drops:
        os.seteuid(65534)
    try:
        code = run(asked)
    finally:
        if drops:
            os.seteuid(0)
    captured = capsys.readouterr()
    assert captured.out == "", asked
    first, *more = captured.err.splitlines()
    assert first.startswith("docket: error: "), (asked, captured.err)
    assert len(more) <= 1, (asked, captured.err)  # what to do next
    return code, first


@pytest.mark.parametrize("command", RECEIPT_READERS)
def test_what_is_no_receipt(command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for named, words in NO_RECEIPTS.items():
        code, sentence = told(RECEIPT_READERS[command], named, capsys)
        # A path at which there is nothing may have been meant as a number, and a number may be looked for elsewhere.
        wanted = {2} if named == "" else {1, 75} if named in ("none.json", "loop", "good.json/x") else {1}
        assert code in wanted, (command, named, sentence)
        assert words in sentence, (command, named, sentence)
    for named in OTHER_DOCUMENTS:
        if command.startswith("verify"):
            assert run([named if argument == "@" else argument for argument in RECEIPT_READERS[command]]) == 1
            assert "FAIL  receipt-format  " in capsys.readouterr().out
        else:
            code, sentence = told(RECEIPT_READERS[command], named, capsys)
            assert code == 1
            assert named in sentence
            assert "docket/receipt/v1" in sentence


@pytest.mark.parametrize("option", OPTIONS)
def test_what_is_no_file_of_an_option(option: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for named in NO_FILES:
        if option == "--out" and named == "/dev/zero":
            continue  # what stands there already is all that is looked at
        code, sentence = told(OPTIONS[option], named, capsys)
        assert code == 2, (option, named, sentence)
        assert named in sentence
        assert named == "" or "empty?" not in sentence, (option, named, sentence)


def test_a_receipt_in_the_place_of_a_ledger(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--ledger", "--ledger of an export"):
        code, sentence = told(OPTIONS[option], "good.json", capsys)
        assert (code, sentence) == (2, "docket: error: --ledger: good.json is a receipt")


@pytest.mark.parametrize("command", RECEIPT_READERS)
def test_a_receipt_of_another_writer_is_no_fault(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    receipt = written_elsewhere(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.json").write_bytes(receipt.read_bytes())
    (tmp_path / "ledger.jsonl").write_bytes(ledger_of(receipt).read_bytes())
    code = run([str(receipt) if argument == "@" else argument for argument in RECEIPT_READERS[command]])
    captured = capsys.readouterr()
    if command in ("report --redact", "export tlog-proof"):  # docket's own alone, and such as a key signed
        assert code in (1, 75)
        assert captured.err.startswith("docket: error: ")
    else:
        assert code == 0
        assert captured.out or command in ("export csv", "report --html")
