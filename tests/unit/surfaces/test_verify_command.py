"""`docket verify` as a person and as a script see it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from docket.formats.canonical import encode_document
from docket.formats.run.verdict import Check, Status, Verdict, Word
from docket.surfaces.cli.root import run
from docket.surfaces.render.verdict import established
from golden_ledgers import samples
from golden_ledgers.judging import receipt_of
from golden_ledgers.proven import PUBLIC_KEY


@pytest.fixture
def evidence(tmp_path: Path) -> Path:
    """A folder as a run leaves it: receipts, runs, latest."""
    raw = samples.anthropic().data()
    receipt = encode_document(receipt_of(raw))
    for name in ("receipts", "runs"):
        (tmp_path / name).mkdir()
    (tmp_path / "receipts" / "DKT-20261001-00C0DE.receipt.json").write_bytes(receipt)
    (tmp_path / "latest.receipt.json").write_bytes(receipt)
    (tmp_path / "runs" / "0123456789ab.jsonl").write_bytes(raw)
    return tmp_path


def test_the_ledger_beside_the_receipt_is_used_and_named(evidence: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = evidence / "runs" / "0123456789ab.jsonl"
    for receipt in (evidence / "receipts" / "DKT-20261001-00C0DE.receipt.json", evidence / "latest.receipt.json"):
        assert run(["verify", str(receipt)]) == 0
        out = capsys.readouterr().out
        assert f"DKT-20261001-00C0DE  consistent, checked with the ledger {ledger}\n" in out
        assert "PASS  ledger-chain            17 events, every hash and link recomputed\n" in out
        assert "SKIP  seal                    the receipt carries no seal\n" in out
        assert out.endswith(
            "The receipt is what its ledger gives. Not established: who wrote the two (no key vouches for them), "
            "or that nothing happened outside the record.\n"
        )
        assert "\x1b" not in out


def test_without_a_ledger_that_is_said(evidence: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone = evidence / "alone" / "deep" / "r.json"
    alone.parent.mkdir(parents=True)
    alone.write_bytes((evidence / "latest.receipt.json").read_bytes())

    assert run(["verify", str(alone)]) == 0
    out = capsys.readouterr().out
    assert "consistent, checked with no ledger\n" in out
    assert "Not established: that a ledger bears it out (none was given)" in out


def test_a_word_that_is_not_enough_says_what_was_required(
    evidence: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    receipt = str(evidence / "latest.receipt.json")
    assert run(["verify", receipt, "--require", "verified"]) == 1
    assert capsys.readouterr().err == (
        "docket: exit 1: consistent is less than the verified that was required: name whose key has to vouch, "
        "with --public-key\n"
    )
    assert run(["verify", receipt, "--require", "verified", "--public-key", PUBLIC_KEY]) == 1
    assert capsys.readouterr().err == ""  # it failed, and the check says why
    raw = b"".join(samples.anthropic().data().splitlines(keepends=True)[:-1])
    (tmp_path / "cut.json").write_bytes(encode_document(receipt_of(raw)))
    (tmp_path / "runs" / "0123456789ab.jsonl").write_bytes(raw)
    assert run(["verify", str(tmp_path / "cut.json")]) == 1
    assert capsys.readouterr().err == "docket: exit 1: incomplete is less than the consistent that was required\n"


def test_a_changed_byte_fails_and_names_the_event(evidence: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = evidence / "runs" / "0123456789ab.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b'"golden"', b'"goldem"', 1))

    assert run(["verify", str(evidence / "latest.receipt.json")]) == 1
    out = capsys.readouterr().out
    assert "FAIL  ledger-chain            event 0: its hash does not match its content\n" in out
    assert out.endswith("Not to be relied on: 2 checks failed, the first is ledger-chain.\n")


@pytest.mark.parametrize("option", ["--head", "--state"])
def test_an_option_of_a_variable_that_is_empty_says_so(
    evidence: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    assert run(["verify", str(evidence / "latest.receipt.json"), option, ""]) == 2
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert f"{option} names n" in told.err
    assert "that is empty?" in told.err
    assert sorted(path.name for path in evidence.iterdir()) == ["latest.receipt.json", "receipts", "runs"]


def test_a_state_that_cannot_be_one_is_wrong_usage(
    evidence: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    receipt, state = str(evidence / "latest.receipt.json"), tmp_path / "state.json"
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", tmp_path, tmp_path / "none" / "state.json"):
        assert run(["verify", receipt, "--state", str(path)]) == 2
        told = capsys.readouterr()
        assert (told.out, told.err.count("\n")) == ("", 1)
        assert told.err.startswith("docket: error: --state: ")
    state.write_text('{"format": "docket/verifier-state/v1", "projects": [{"key": "me"}], "origins": []}')
    assert run(["verify", receipt, "--state", str(state)]) == 2
    assert capsys.readouterr().err == (
        f"docket: error: --state: {state} is no state: projects[0].key is neither 64 lower-case hexadecimal digits nor "
        "unsigned\n"
    )


def test_as_json(evidence: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", str(evidence / "latest.receipt.json"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)

    assert list(document) == ["ok", "verdict", "docket_number", "checks", "failures"]
    assert (document["ok"], document["verdict"], document["failures"]) == (True, "consistent", [])
    assert document["checks"][0] == {"name": "receipt-format", "status": "pass", "detail": "docket/receipt/v1"}
    assert run(["verify", str(evidence / "latest.receipt.json"), "--json", "--require", "verified"]) == 1
    assert json.loads(capsys.readouterr().out)["ok"] is False


@pytest.mark.parametrize("as_json", [False, True])
def test_what_cannot_be_read_says_why_on_standard_error_or_in_json(
    tmp_path: Path, as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.json"
    none = f"the receipt {tmp_path}/none cannot be read: No such file or directory"
    for content, named, words in (
        (b"{", "r.json", "not JSON"),
        (b'{"session":{"id":"../x"},"a":1.5}', "r.json", "1.5 is not an integer"),
        (b"", "none", none),
    ):
        path.write_bytes(content)
        assert run(["verify", str(tmp_path / named), *(["--json"] if as_json else [])]) == 1
        captured = capsys.readouterr()
        said, nothing = (captured.out, captured.err) if as_json else (captured.err, captured.out)
        assert nothing == ""
        assert words in (json.loads(said)["detail"] if as_json else said)


def test_a_named_ledger_that_is_not_there_is_a_mistake_of_the_command_line(
    evidence: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", str(evidence / "latest.receipt.json"), "--ledger", str(evidence / "none")]) == 2
    assert "there is no such ledger" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content", [b"[]", b'{"format":"x"}', b'{"session":{"id":7}}', b'{"session":{"id":"../../x"}}']
)
def test_a_document_that_names_no_session_has_no_ledger_beside_it(
    evidence: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    path = evidence / "latest.receipt.json"
    path.write_bytes(content)
    assert run(["verify", str(path)]) == 1
    captured = capsys.readouterr()
    assert content == b"[]" or "checked with no ledger" in captured.out


def test_text_of_a_document_cannot_drive_the_terminal(evidence: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = evidence / "latest.receipt.json"
    document = json.loads(path.read_bytes())
    document["docket_number"] = "\x1b[2J"
    document["\x1b[31m"] = 1
    path.write_text(json.dumps(document))

    assert run(["verify", str(path)]) == 1
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict(word=Word.VERIFIED), "and a key you named vouches for it."),
        (Verdict(word=Word.CONSISTENT), "who wrote it (no key vouches for it)"),
        (Verdict(word=Word.CONSISTENT, vouched=True), "a key you named vouches for it. Not established: that a ledger"),
        (
            Verdict(word=Word.CONSISTENT, checks=(Check("signature", Status.PASS, ""),)),
            "a key signed that you did not name: --public-key says whose word you take for it",
        ),
        (Verdict(word=Word.INCOMPLETE), "nothing is established about what is missing"),
        (Verdict(word=Word.UNREADABLE, detail="not JSON"), "Nothing was checked: not JSON"),
        (
            Verdict(word=Word.FAILED, checks=(Check("head", Status.PASS, ""), Check("totals", Status.FAIL, "x"))),
            "one check failed, the first is totals",
        ),
    ],
)
def test_every_verdict_is_put_in_words(verdict: Verdict, words: str) -> None:
    assert words in established(verdict, None)


def test_a_docket_number_or_nothing_means_a_run_of_this_project(
    evidence: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    project = tmp_path_factory.mktemp("project")
    evidence.rename(project / ".docket")
    (project / ".docket" / "latest").write_text("DKT-20261001-00C0DE\n")
    monkeypatch.chdir(project)
    monkeypatch.setenv("DOCKET_STATE_DIR", str(tmp_path_factory.mktemp("state")))
    for named in ([], ["DKT-20261001-00C0DE"], ["dkt-20261001-00c0de"]):
        assert run(["verify", *named]) == 0
        assert "DKT-20261001-00C0DE  consistent, checked with the ledger" in capsys.readouterr().out
    assert run(["verify", "DKT-20261001-FFFFFF"]) == 75
    assert "there is no receipt DKT-20261001-FFFFFF" in capsys.readouterr().err
