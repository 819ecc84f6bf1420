"""docket-ai, another implementation of the same public formats: it accepts our receipts, and we verify its own.

Its Node verifier truncates where the format rounds half to even, so a row that rounds up fails there with exactly
one check; its Python verifier takes every record that does not itself say that it is incomplete.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from agent_lab import program

import record_vectors_lab
from docket.engines.verify import VerifyRequest, read_receipt, verify_receipt
from docket.formats.canonical import encode_document
from docket.formats.ledger.event import Event
from docket.formats.ledger.lines import follow
from docket.formats.ledger.redaction_facts import Profile
from docket.formats.proof.pins import PinnedKey, PinnedSeal, Pins
from docket.formats.run.verdict import Status, Verdict, Word
from docket.rules.redaction.copy import CopyAsked, redacted
from docket.surfaces.cli.root import run
from golden_ledgers import kept, planted, proven, samples
from golden_ledgers.judging import bodies, chained, lines_of, receipt_of
from verify_js.in_node import NODE, Pair, disagreements

INCOMPLETE = ("no_end", "gap")
ROUNDED_UP = ("responses",)


@pytest.fixture(scope="module")
def theirs() -> Path:
    """The other implementation's command; DOCKET_AI names one that stands elsewhere."""
    named = os.environ.get("DOCKET_AI")
    return Path(named) if named else program("docket-ai")


def around(folder: Path) -> dict[str, str]:
    """Its environment: a home of its own, and the library that it signs with, which it does without where it is not."""
    import cryptography

    libraries = str(Path(cryptography.__file__).parent.parent)
    return {**os.environ, "TMPDIR": str(folder), "HOME": str(folder), "NO_COLOR": "1", "PYTHONPATH": libraries}


def asked(theirs: Path, folder: Path, *arguments: str) -> dict[str, Any]:
    """What the other implementation answers in JSON; its remarks around it are left out."""
    done = subprocess.run(
        [str(theirs), *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env=around(folder),
        timeout=100,
        check=False,
    )
    begin, end = done.stdout.find("{"), done.stdout.rfind("}")
    assert begin >= 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout[begin : end + 1])
    return answer


def failed(answer: dict[str, Any]) -> list[str]:
    return [check["name"] for check in answer["checks"] if check["status"] == "fail"]


@pytest.fixture(params=sorted(samples.ALL))
def written(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path, Path]:
    """A golden ledger and its receipt as files."""
    raw = samples.ALL[request.param]().data()
    receipt, ledger = tmp_path / "receipt.json", tmp_path / "runs" / "run.jsonl"
    ledger.parent.mkdir()
    ledger.write_bytes(raw)
    kept.write_bodies(tmp_path)
    receipt.write_bytes(encode_document(receipt_of(raw)))
    return request.param, receipt, ledger


def test_its_python_verifier_accepts_our_receipts(theirs: Path, written: tuple[str, Path, Path]) -> None:
    name, receipt, ledger = written
    answer = asked(
        theirs, receipt.parent, "verify", str(receipt), "--ledger", str(ledger), "--impl", "python", "--json"
    )

    assert failed(answer) == (["evidence-completeness"] if name in INCOMPLETE else [])
    passed = {check["name"] for check in answer["checks"] if check["status"] == "pass"}
    assert {"ledger-chain", "merkle-root", "ledger-file-digest", "cost-recomputation", "totals"} <= passed


def test_its_node_verifier_accepts_them_but_for_a_row_that_rounds_up(
    theirs: Path, written: tuple[str, Path, Path]
) -> None:
    name, receipt, ledger = written
    answer = asked(theirs, receipt.parent, "verify", str(receipt), "--ledger", str(ledger), "--impl", "node", "--json")

    assert failed(answer) == (["cost-recomputation"] if name in ROUNDED_UP else [])


@pytest.mark.parametrize("impl", ["python", "node"])
def test_it_accepts_redacted_copies_with_hits_windows_a_transaction_and_names_that_are_no_unicode(
    theirs: Path, tmp_path: Path, impl: str
) -> None:
    asked_for = CopyAsked(profiles=frozenset(Profile), key=b"k" * 32, opening=b"o" * 32)
    for name in ("cached", "windowed", "landed", "odd_names", "parts", "pooled"):
        raw = planted.lines(redacted(planted.planted(name), asked_for))
        receipt, ledger = tmp_path / f"{name}.json", tmp_path / "runs" / f"{name}.jsonl"
        ledger.parent.mkdir(exist_ok=True)
        ledger.write_bytes(raw)
        receipt.write_bytes(encode_document(receipt_of(raw)))
        answer = asked(theirs, tmp_path, "verify", str(receipt), "--ledger", str(ledger), "--impl", impl, "--json")
        assert (name, failed(answer)) == (name, [])


INDEPENDENT = (
    "everything", "busy-run", "component-rows", "cache-hits-in-parts", "windows", "transaction", "odd-arguments",
    "vouched",
)  # fmt: skip


@pytest.mark.parametrize("impl", ["python", "node"])
def test_it_accepts_records_that_neither_of_us_wrote(theirs: Path, tmp_path: Path, impl: str) -> None:
    named = {told.name: told for told in record_vectors_lab.sides()}
    for name in INDEPENDENT:
        told = named[f"{name}, accepted"]
        receipt, ledger = tmp_path / "receipt.json", tmp_path / "run.jsonl"
        receipt.write_bytes(told.receipt)
        ledger.write_bytes(told.ledger or b"")
        answer = asked(theirs, tmp_path, "verify", str(receipt), "--ledger", str(ledger), "--impl", impl, "--json")
        assert (name, failed(answer)) == (name, [])


def long_record() -> tuple[dict[str, Any], bytes]:
    """The record that has everything, with thousands of exchanges more and a file whose name is no UTF-8."""
    told = next(told for told in record_vectors_lab.sides() if told.name == "everything, accepted")
    events = [event for event in follow([told.ledger or b""]) if isinstance(event, Event)]
    other = {"provider": "openai", "method": "GET", "path": "/v1/models", "status": 200, "response_bytes": 9}
    changed = {"path_b64": "Y2Fm6Q==", "change": "removed", "before": {"kind": "file", "mode": 420, "size": 1}}
    items = bodies(events)
    end = next(at for at, item in enumerate(items) if item[0] == "proc.exit")
    items[end:end] = [("x-docket.other", items[end - 1][1], other)] * 4200
    after = next(at for at, item in enumerate(items) if item[0] == "fs.change")
    items.insert(after, ("fs.change", items[after][1], changed))
    next(item[2] for item in items if item[0] == "x-docket.workspace-intent")["removed"] = 1
    next(item[2] for item in items if item[0] == "x-docket.workspace-settled")["applied"] = 2
    raw = lines_of(chained(items, events))
    return proven.signed(proven.sealed(receipt_of(raw))), raw


def test_a_record_of_thousands_of_events_with_everything_is_accepted_by_all_four(theirs: Path, tmp_path: Path) -> None:
    document, raw = long_record()
    receipt, ledger = tmp_path / "receipt.json", tmp_path / "run.jsonl"
    receipt.write_bytes(encode_document(document))
    ledger.write_bytes(raw)
    for impl in ("python", "node"):
        answer = asked(theirs, tmp_path, "verify", str(receipt), "--ledger", str(ledger), "--impl", impl, "--json")
        assert (impl, failed(answer)) == (impl, [])
    found = verify_receipt(VerifyRequest(receipt=read_receipt(receipt), ledger_path=ledger))

    assert (found.word, found.failures) == (Word.CONSISTENT, ())
    assert document["ledger"]["events"] > 4000
    assert document["files"]["top_paths"] == ["caf\\xe9", "src/new.py"]
    if NODE is not None:
        assert disagreements([Pair("long", receipt.read_bytes(), raw, found)]) == []


def test_it_checks_our_hits_and_kept_responses(theirs: Path, tmp_path: Path) -> None:
    raw = samples.cached().data()
    receipt, ledger = tmp_path / "receipt.json", tmp_path / "runs" / "run.jsonl"
    ledger.parent.mkdir()
    ledger.write_bytes(raw)
    kept.write_bodies(tmp_path)
    document = receipt_of(raw)
    for impl in ("python", "node"):
        receipt.write_bytes(encode_document(document))
        answer = asked(theirs, tmp_path, "verify", str(receipt), "--ledger", str(ledger), "--impl", impl, "--json")
        states = {check["name"]: check["status"] for check in answer["checks"]}
        assert {states[name] for name in ("cache-savings", "cache-hit-origins", "cache-hit-proofs")} == {"pass"}
        doctored = {**document, "cache": {**document["cache"], "saved_usd": "0.009201"}}
        receipt.write_bytes(encode_document(doctored))
        answer = asked(theirs, tmp_path, "verify", str(receipt), "--ledger", str(ledger), "--impl", impl, "--json")
        assert failed(answer) == ["cache-savings"]
    (tmp_path / kept.path_of(kept.WHOLE)).write_bytes(b"another reply")
    receipt.write_bytes(encode_document(document))
    answer = asked(theirs, tmp_path, "verify", str(receipt), "--ledger", str(ledger), "--impl", "python", "--json")
    assert failed(answer) == ["retained-responses"]


def ours(receipt: Path, ledger: Path) -> Verdict:
    return verify_receipt(VerifyRequest(receipt=read_receipt(receipt), ledger_path=ledger))


@pytest.mark.parametrize("arguments", [(), ("--cache",)])
def test_we_find_the_receipts_of_its_demo_consistent(theirs: Path, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    answer = asked(theirs, tmp_path, "demo", "--keep", "--json", *arguments)
    receipt, ledger = Path(answer["receipt_path"]), Path(answer["ledger_path"])
    verdict = ours(receipt, ledger)

    assert (verdict.word, verdict.failures) == (Word.CONSISTENT, ())
    skipped = {check.name for check in verdict.checks if check.status is Status.SKIP}
    cache = set() if arguments else {"cache-savings", "cache-hit-origins", "cache-hit-proofs"}
    assert skipped == cache | {
        "retained-responses", "seal", "signature", "ledger-payloads", "session-shape", "event-order", "components",
        "cap-limits", "tool-windows", "tool-deltas", "proof-facts", "checkpoints", "rollback",
    }  # fmt: skip


def test_its_records_are_explained_compared_and_exported_in_what_they_say(
    theirs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = asked(theirs, tmp_path, "demo", "--keep", "--json")
    capsys.readouterr()
    record = [answer["receipt_path"], "--ledger", answer["ledger_path"]]
    assert run(["explain", *record, "--json"]) == 0
    found = {item["rule"] for item in json.loads(capsys.readouterr().out)["findings"]}
    assert {"runaway-loop", "fat-context", "write-scope"} <= found
    assert run(["diff", answer["receipt_path"], answer["receipt_path"], "--json"]) == 0
    assert {item["change"] for item in json.loads(capsys.readouterr().out)["figures"]} <= {None, 0, "0.00", "0.000"}
    assert run(["export", "sarif", *record]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["results"]


def test_a_flipped_byte_of_its_ledger_fails_and_names_the_event(theirs: Path, tmp_path: Path) -> None:
    answer = asked(theirs, tmp_path, "demo", "--keep", "--json")
    receipt, ledger = Path(answer["receipt_path"]), Path(answer["ledger_path"])
    raw = ledger.read_bytes()
    lines = raw.splitlines(keepends=True)
    for number in range(0, len(lines), 7):
        line = lines[number]
        half = len(line) // 2
        doctored = [*lines[:number], line[:half] + bytes([line[half] ^ 1]) + line[half + 1 :], *lines[number + 1 :]]
        ledger.write_bytes(b"".join(doctored))
        verdict = ours(receipt, ledger)
        assert verdict.word is Word.FAILED
        assert verdict.failures[0].startswith(f"ledger-chain: event {number}: ")


def test_what_its_own_verifier_lets_through_ours_does_not(theirs: Path, tmp_path: Path) -> None:
    answer = asked(theirs, tmp_path, "demo", "--keep", "--json")
    receipt, ledger = Path(answer["receipt_path"]), Path(answer["ledger_path"])
    document = json.loads(receipt.read_text())
    for member, value in (("exit_code", 0), ("breached", None)):
        changed = {**document, "session": {**document["session"], member: value}}
        receipt.write_text(json.dumps(changed))
        theirs_says = asked(theirs, tmp_path, "verify", str(receipt), "--ledger", str(ledger), "--json")
        assert theirs_says["ok"] is True
        assert ours(receipt, ledger).failures[0].startswith(f"receipt-rebuild: receipt.session.{member} is ")


@pytest.mark.parametrize("impl", ["python", "node"])
def test_it_accepts_our_seal_and_signature_and_refuses_others(theirs: Path, tmp_path: Path, impl: str) -> None:
    raw = proven.vouched_for().data()
    good = proven.signed(proven.sealed(receipt_of(raw)))
    receipt, ledger = tmp_path / "receipt.json", tmp_path / "run.jsonl"
    ledger.write_bytes(raw)

    def states(document: dict[str, Any], public_key: str, seal_key: str) -> dict[str, str]:
        receipt.write_bytes(encode_document(document))
        keys = ("--public-key", public_key, "--seal-key", seal_key)
        flags = ("--ledger", str(ledger), "--impl", impl, "--json", *keys)
        answer = asked(theirs, tmp_path, "verify", str(receipt), *flags)
        return {check["name"]: check["status"] for check in answer["checks"]}

    found = states(good, proven.PUBLIC_KEY, proven.SEAL_KEY.hex())
    assert (found["signature"], "fail" in found.values()) == ("pass", False)
    # Its Node verifier is not handed the key of a seal.
    assert found["seal"] == ("pass" if impl == "python" else "skip")
    doctored = states({**good, "label": "x"}, proven.PUBLIC_KEY, proven.SEAL_KEY.hex())
    assert doctored["signature"] == "fail"
    if impl == "python":
        assert doctored["seal"] == "fail"
        assert states(good, "0" * 64, "0" * 64)["signature"] == "fail"


def test_its_signed_and_sealed_receipt_is_verified_by_its_keys(theirs: Path, tmp_path: Path) -> None:
    for command in (("keygen", "a.key"), ("run", "--seal", "--sign", "a.key", "--max-usd", "1", "--", "true")):
        subprocess.run(
            [str(theirs), *command], cwd=tmp_path, env=around(tmp_path), check=True, capture_output=True, timeout=100
        )
    (receipt,) = (tmp_path / ".docket" / "receipts").glob("DKT-*.receipt.json")
    (ledger,) = (tmp_path / ".docket" / "runs").glob("*.jsonl")
    document = json.loads(receipt.read_bytes())
    key = bytes.fromhex(document["signature"]["public_key"])
    seal = bytes.fromhex((tmp_path / ".docket" / "keys" / "seal.key").read_text().strip())
    pins = Pins(signers=(PinnedKey(public_key=key),), seals=(PinnedSeal(key=seal),))
    request = VerifyRequest(receipt=read_receipt(receipt), ledger_path=ledger, pins=pins)

    assert verify_receipt(request).word is Word.VERIFIED
    other = VerifyRequest(
        receipt=encode_document({**document, "label": "x"}), ledger_path=ledger, pins=pins, required=Word.VERIFIED
    )
    assert {failure.split(":")[0] for failure in verify_receipt(other).failures} >= {"seal", "signature"}


def test_its_sealed_receipt_is_consistent_and_the_seal_is_not_vouched_for(theirs: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    command = [str(theirs), "run", "--seal", "--max-usd", "1", "--", "true"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, timeout=100)
    (receipt,) = (tmp_path / ".docket" / "receipts").glob("DKT-*.receipt.json")
    (ledger,) = (tmp_path / ".docket" / "runs").glob("*.jsonl")
    verdict = ours(receipt, ledger)

    assert (verdict.word, verdict.failures) == (Word.CONSISTENT, ())
    (seal,) = [check for check in verdict.checks if check.name == "seal"]
    assert (seal.status, seal.detail) == (Status.SKIP, "no key was named to check the seal with")
