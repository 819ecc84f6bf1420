"""Heads of runs: printed, kept beside the ledger and elsewhere, and held against it when it was changed."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from docket.formats.canonical import encode_document
from docket.rules.receipt.assemble import receipt_from_ledger
from golden_ledgers.headed import root_by, root_of
from run_lab import Done, RunLab

HEAD = re.compile(r"docket-head (\S+) (\d+) ([0-9a-f]{64})\n")


def check(done: Done, name: str) -> tuple[str, str]:
    """The status and the detail of a check that was printed as JSON."""
    (found,) = [one for one in json.loads(done.stdout)["checks"] if one["name"] == name]
    return found["status"], found["detail"]


def signed_run(lab: RunLab, *flags: str) -> tuple[Done, bytes]:
    """A signed run and the bytes of its ledger's copy."""
    if not (lab.root / "k").exists():
        assert lab.docket("keygen", str(lab.root / "k")).exit_code == 0
    done = lab.run("--sign", str(lab.root / "k"), *flags, "--", "sh", "-c", "echo x >> made")
    assert done.exit_code == 0, done.said
    number = (lab.tree / ".docket/latest").read_text().strip()
    receipt = json.loads((lab.tree / f".docket/receipts/{number}.receipt.json").read_text())
    return done, (lab.tree / f".docket/runs/{receipt['session']['id']}.jsonl").read_bytes()


def hashes_of(ledger: bytes) -> list[str]:
    return [json.loads(line)["hash"] for line in ledger.splitlines()]


def test_the_head_is_the_ledgers_and_what_was_rewritten_or_cut_contradicts_it(lab: RunLab) -> None:
    done, ledger = signed_run(lab)
    head = HEAD.search(done.stderr)
    assert head is not None, done.said
    hashes = hashes_of(ledger)
    assert (int(head[2]), head[3]) == (len(hashes), root_of(hashes))
    words = " ".join(head.groups())
    for named in (words, f"{head[1]} 4 {root_of(hashes[:4])}"):
        verified = lab.docket("verify", "--head", named, "--public-key", str(lab.root / "k.pub"), "--json")
        assert json.loads(verified.stdout)["verdict"] == "verified", verified.said
        assert check(verified, "checkpoints")[0] == "pass"

    place = lab.root / "elsewhere"
    for name, lines in (("cut", ledger.splitlines(keepends=True)[:-1]), ("whole", ledger.splitlines(keepends=True))):
        folder = place / name / "runs"
        folder.mkdir(parents=True)
        (folder / "run.jsonl").write_bytes(b"".join(lines))
        document = receipt_from_ledger([b"".join(lines)])
        (place / name / "receipt.json").write_bytes(encode_document(document))
    cut = lab.docket("verify", str(place / "cut/receipt.json"), "--ledger", str(place / "cut/runs/run.jsonl"),
                     "--head", words, "--json")  # fmt: skip
    assert json.loads(cut.stdout)["verdict"] == "failed"
    assert check(cut, "checkpoints") == (
        "fail", f"the head that was written down, of {len(hashes)} events: the ledger has {len(hashes) - 1} now"
    )  # fmt: skip
    (kept,) = (lab.tree / ".docket/runs").glob("*.checkpoints")
    cut = lab.docket("verify", str(place / "cut/receipt.json"), "--ledger", str(place / "cut/runs/run.jsonl"),
                     "--checkpoints", str(kept), "--json")  # fmt: skip
    assert check(cut, "checkpoints")[0] == "fail"


def test_the_file_beside_the_ledger_is_read_by_itself_and_a_changed_one_fails(lab: RunLab) -> None:
    signed_run(lab)
    (kept,) = (lab.tree / ".docket/runs").glob("*.checkpoints")
    (live,) = lab.state.glob("*/runs/*.checkpoints")
    whole = kept.read_bytes()
    assert live.read_bytes() == whole
    lines = whole.splitlines(keepends=True)
    assert len(lines) == 2
    for changed in (lines[0], lines[1] + lines[0], whole * 2, whole[:-5], b""):
        kept.write_bytes(changed)
        assert check(lab.docket("verify", "--json"), "checkpoints")[0] == "fail"
    kept.unlink()
    kept.mkdir()
    assert check(lab.docket("verify", "--json"), "checkpoints")[0] == "fail"
    kept.rmdir()
    assert check(lab.docket("verify", "--json"), "checkpoints")[0] == "skip"
    assert lab.docket("verify", "--checkpoints", "none").exit_code == 2
    for wrong in ("none", "a b c", "docket.local/unsigned/0123456789ab 12 6bc7…"):
        refused = lab.docket("verify", "--head", wrong)
        assert refused.exit_code == 2
        assert "it takes 'ORIGIN SIZE ROOT'" in refused.stderr


def test_a_killed_runs_checkpoints_hold_and_nothing_begins_anew(lab: RunLab) -> None:
    process = lab.start("run", "--", "sh", "-c", "touch started; exec sleep 1000")
    for _ in range(400):
        if (lab.tree / "started").exists():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (ledger,) = lab.state.glob("*/runs/*.jsonl")
    before = ledger.read_bytes()
    kept = ledger.with_suffix(".checkpoints")
    kept.write_bytes(kept.read_bytes() + b'{"format":"docket/ch')
    recovered = lab.docket("recover")
    assert recovered.exit_code == 0, recovered.said
    assert "a checkpoint was being written" in recovered.stdout + recovered.stderr
    assert ledger.read_bytes() == before
    verified = lab.docket("verify", "--json")
    assert json.loads(verified.stdout)["verdict"] == "incomplete", verified.said
    assert check(verified, "checkpoints") == ("pass", "1 checkpoint, no key signed them")
    assert before.count(b'"type":"session.start"') == 1


def test_several_runs_at_once_append_whole_heads_and_have_numbers_of_their_own(lab: RunLab) -> None:
    heads = lab.root / "heads"
    heads.write_bytes(b"a line that has no end")
    done: list[subprocess.Popen[str]] = [
        lab.start("run", "--docket-dir", str(lab.root / f"d{at}"), "--anchor", str(heads), "--", "true")
        for at in range(2)
    ] + [lab.start("run", "--anchor", str(heads), "--", "true") for _ in range(2)]
    said = [process.communicate(timeout=60)[1] for process in done]
    assert [process.returncode for process in done] == [0] * 4, said
    printed = sorted(" ".join(found.groups()) for text in said if (found := HEAD.search(text)))
    first, *lines = heads.read_text().split("\n")
    assert first == "a line that has no end"
    bodies = [line for line in lines if line]
    kept = sorted(
        f"{bodies[at]} {bodies[at + 1]} {base64.b64decode(bodies[at + 2]).hex()}" for at in range(0, len(bodies), 3)
    )
    assert kept == printed
    runs = [json.loads(path.read_bytes().split(b"\n")[0])["data"]["proof"]["run"]
            for path in lab.state.glob("*/runs/*.jsonl")]  # fmt: skip
    assert sorted(runs) == [1, 2]


def test_what_cannot_be_anchored_to_is_refused_before_the_agent_starts(lab: RunLab) -> None:
    os.mkfifo(lab.root / "fifo")
    for place in (lab.root / "fifo", lab.root / "none/heads", lab.root):
        done = lab.run("--anchor", str(place), "--", "touch", "ran")
        assert done.exit_code == 43, done.said
        assert "--anchor" in done.stderr
    assert not (lab.tree / "ran").exists()


def test_a_head_in_a_file_and_in_a_commit_is_held_against_the_run(lab: RunLab) -> None:
    heads, message = lab.root / "heads", lab.root / "message"
    signed_run(lab, "--anchor", str(heads))
    done, ledger = signed_run(lab, "--anchor", str(heads), "--anchor", "git-trailer")
    hashes = hashes_of(ledger)
    verified = lab.docket("verify", "--head", str(heads), "--json")
    assert check(verified, "checkpoints") == (
        "pass", "2 checkpoints, signed by the run's key, 1 head written down earlier"
    )  # fmt: skip
    message.write_text("subject\n\nbody\n")
    for _ in range(2):
        assert lab.docket("export", "trailer", "--commit-message", str(message)).exit_code == 0
    receipt = (lab.tree / ".docket/latest.receipt.json").read_bytes()
    trailers = (
        f"Docket-Receipt: sha256:{hashlib.sha256(receipt).hexdigest()}\n"
        f"Docket-Checkpoint: {json.loads(receipt)['proof']['origin']} {len(hashes)} {root_of(hashes)}\n"
    )
    assert message.read_text() == f"subject\n\nbody\n\n{trailers}"
    assert trailers in done.stderr
    assert lab.docket("export", "trailer").stdout == trailers
    other = lab.docket("verify", "--head", str(message), "--json")
    assert other.exit_code == 2


def test_the_proof_of_one_event_leads_to_the_signed_head(lab: RunLab) -> None:
    _, ledger = signed_run(lab)
    hashes = hashes_of(ledger)
    number = (lab.tree / ".docket/latest").read_text().strip()
    for seq in (0, 5, len(hashes) - 1):
        done = lab.docket("export", "tlog-proof", number, str(seq))
        assert done.exit_code == 0, done.said
        opening, _, note = done.stdout.partition("\n\n")
        header, index, *proof = opening.split("\n")
        assert (header, index) == ("c2sp.org/tlog-proof@v1", f"index {seq}")
        assert root_by(
            bytes.fromhex(hashes[seq]), seq, len(hashes), [base64.b64decode(one) for one in proof]
        ) == root_of(hashes)
        text, _, line = note.partition("\n\n")
        assert base64.b64decode(text.split("\n")[2]).hex() == root_of(hashes)
        key = json.loads(ledger.split(b"\n")[0])["data"]["proof"]["signature"]["public_key"]
        raw = base64.b64decode(line.split(" ")[2])
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(raw[4:], f"{text}\n".encode())
    assert lab.docket("export", "tlog-proof", number, str(len(hashes))).exit_code == 2


def test_a_run_that_nobody_signed_has_no_proof_to_export(lab: RunLab) -> None:
    assert lab.run("--", "true").exit_code == 0
    number = (lab.tree / ".docket/latest").read_text().strip()
    done = lab.docket("export", "tlog-proof", number, "0")
    assert done.exit_code != 0
    assert "no key signed the run's checkpoints" in done.stderr


def test_a_verifier_with_a_state_notices_what_is_older(lab: RunLab) -> None:
    state = lab.root / "verified.json"
    signed_run(lab)
    first = (lab.tree / ".docket/latest").read_text().strip()
    key: Any = str(lab.root / "k.pub")
    assert lab.docket("verify", "--state", str(state), "--public-key", key, "--require", "verified").exit_code == 0
    signed_run(lab)
    assert lab.docket("verify", "--state", str(state)).exit_code == 0
    learned = state.read_bytes()
    again = lab.docket("verify", first, "--state", str(state), "--json")
    assert again.exit_code == 1
    status, detail = check(again, "rollback")
    assert (status, detail.partition(";")[0]) == ("fail", "it is run 1 of its project, and run 2 was verified before")
    assert state.read_bytes() == learned
    assert lab.docket("verify", "--state", str(state)).exit_code == 0
    state.write_bytes(learned[:-9])
    broken = lab.docket("verify", "--state", str(state))
    assert (broken.exit_code, state.read_bytes()) == (2, learned[:-9])
    assert lab.docket("verify", "--state", str(lab.root / "none/state")).exit_code not in (0, 1)


def test_the_json_summary_has_the_head(lab: RunLab) -> None:
    done = lab.run("--json", "--", "true")
    summary = json.loads(done.stderr.strip().split("\n")[-1])
    (ledger,) = (lab.tree / ".docket/runs").glob("*.jsonl")
    hashes = hashes_of(Path(ledger).read_bytes())
    assert summary["head"] == f"docket.local/unsigned/{ledger.stem} {len(hashes)} {root_of(hashes)}"
