"""What a restore asks of the run's record, of other restores and of live runs before it changes anything."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from docket.host.locks import FileLock
from run_lab import Done, RunLab, build

INSIST = "--despite-failed-verification"


@pytest.fixture
def lab(tmp_path: Path) -> RunLab:
    made = build(tmp_path)
    (made.tree / "a").write_text("before\n")
    (made.tree / "b").write_text("before\n")
    return made


def ran(lab: RunLab, script: str = "echo after > a; echo after > b; echo n > n") -> None:
    assert lab.run("--snapshot", "-q", "--", "sh", "-c", script).exit_code == 0


def standing(lab: RunLab) -> dict[str, str]:
    return {path.name: path.read_text() for path in lab.tree.iterdir() if path.is_file()}


def digest_shown(done: Done) -> str:
    found = re.search(r"^plan ([0-9a-f]{64})$", done.stdout, re.MULTILINE)
    assert found is not None, done.said
    return found[1]


def test_a_record_that_fails_verification_is_used_only_by_a_person_who_insists(lab: RunLab) -> None:
    ran(lab)
    after = standing(lab)
    for place in (*lab.tree.glob(".docket/receipts/DKT-*.json"), *lab.state.glob("*/receipts/DKT-*.json")):
        place.write_bytes(re.sub(rb'"changed": ?3', b'"changed":2', place.read_bytes()))
    for arguments in ((), ("--apply",), ("--json",), ("--apply", "--force")):
        refused = lab.docket("restore", *arguments)
        assert (refused.exit_code, refused.stdout) == (1, ""), refused.said
        assert "fails verification" in refused.stderr
        assert "receipt-rebuild: " in refused.stderr, "which check failed is said"
        assert INSIST in refused.stderr
    assert standing(lab) == after
    shown = lab.docket("restore", INSIST)
    assert "record       failed: not to be relied on" in shown.stdout
    assert json.loads(lab.docket("restore", INSIST, "--json").stdout)["verdict"] == "failed"
    done = lab.docket("restore", INSIST, "--apply")
    assert (done.exit_code, standing(lab)) == (0, {"a": "before\n", "b": "before\n"}), done.said


def test_insisting_does_not_make_another_manifest_this_runs(lab: RunLab) -> None:
    ran(lab)
    after = standing(lab)
    (manifest,) = lab.state.glob("*/snapshots/*/manifest.json")
    manifest.write_bytes(re.sub(rb'"mtime_ns":"1', b'"mtime_ns":"2', manifest.read_bytes(), count=1))
    refused = lab.docket("restore", "--apply", "--force", INSIST)
    assert (refused.exit_code, standing(lab)) == (1, after), refused.said
    assert "the ledger recorded " in refused.stderr


def test_the_command_of_the_dry_run_does_exactly_what_was_shown(lab: RunLab) -> None:
    name = "it's\n$x"
    (lab.tree / name).write_text("before\n")
    ran(lab, 'for f in *; do echo after > "$f"; done')
    shown = lab.docket("restore", "--path", name)
    line = next(line for line in shown.stderr.splitlines() if "to do exactly this, or nothing: " in line)
    command = line.partition("nothing: ")[2]
    assert json.loads(lab.docket("restore", "--path", name, "--json").stdout)["command"] == command
    words = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True, check=True, text=True
    ).stdout.split("\0")
    done = lab.docket(*words[1:-1])
    assert done.exit_code == 0, done.said
    assert standing(lab) == {"a": "after\n", "b": "after\n", name: "before\n"}


def test_by_force_the_digest_covers_what_would_be_displaced(lab: RunLab) -> None:
    ran(lab)
    (lab.tree / "a").write_text("mine\n")
    digest = digest_shown(lab.docket("restore", "--force"))
    (lab.tree / "a").write_text("mine, and saved again\n")
    refused = lab.docket("restore", "--force", "--plan", digest)
    assert (refused.exit_code, (lab.tree / "a").read_text()) == (1, "mine, and saved again\n"), refused.said
    again = digest_shown(lab.docket("restore", "--force"))
    done = lab.docket("restore", "--force", "--plan", again)
    assert (done.exit_code, standing(lab)) == (0, {"a": "before\n", "b": "before\n"}), done.said
    redo = next(line for line in done.stderr.splitlines() if "to put back what stood there before: " in line)
    back = lab.docket(*shlex.split(redo.partition("before: ")[2])[1:])
    assert (back.exit_code, (lab.tree / "a").read_text()) == (0, "mine, and saved again\n"), back.said


def test_a_redo_of_a_redo_of_a_forced_restore(lab: RunLab) -> None:
    ran(lab)
    (lab.tree / "a").write_text("mine\n")
    states = [standing(lab)]
    done = lab.docket("restore", "--force", "--apply", "--json")
    for _ in range(3):
        states.append(standing(lab))
        done = lab.docket("restore", "--redo", json.loads(done.stdout)["record"], "--apply", "--json")
        assert done.exit_code == 0, done.said
    states.append(standing(lab))
    assert states[1] == {"a": "before\n", "b": "before\n"}
    assert states == [states[0], states[1], states[0], states[1], states[0]]


def test_nothing_is_restored_while_a_run_is_live_in_the_tree(lab: RunLab) -> None:
    ran(lab)
    after = standing(lab)
    with lab.start("run", "--report", "none", "--", "sh", "-c", "touch live; sleep 60") as live:
        deadline = time.monotonic() + lab.seconds
        while not (lab.tree / "live").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        number = lab.receipts()[0].name.removesuffix(".receipt.json")
        shown = lab.docket("restore", number)
        assert (shown.exit_code, "is live in" in shown.stderr) == (0, True), shown.said
        refused = lab.docket("restore", number, "--apply")
        assert (refused.exit_code, "is live in" in refused.stderr) == (75, True), refused.said
        (lab.tree / "live").unlink()
        assert standing(lab) == after
        live.send_signal(signal.SIGINT)
        live.communicate(timeout=lab.seconds)
    assert lab.docket("restore", number, "--apply").exit_code == 0


def test_of_two_restores_at_once_one_is_told_to_wait(lab: RunLab) -> None:
    ran(lab)
    after = standing(lab)
    (project,) = lab.state.glob("*/runs")
    with FileLock.acquire(project.parent / "restore.lock"):
        refused = lab.docket("restore", "--apply")
        assert (refused.exit_code, "another restore" in refused.stderr) == (75, True), refused.said
        assert standing(lab) == after
    assert lab.docket("restore", "--apply").exit_code == 0


def test_restores_of_one_run_that_race_end_as_one(lab: RunLab) -> None:
    for number in range(150):
        (lab.tree / f"f{number}").write_text("before\n")
    before = standing(lab)
    ran(lab, "for f in *; do echo after > $f; done; echo n > n")
    racing = [lab.start("restore", "--apply") for _ in range(4)]
    codes = []
    for process in racing:
        with process:
            _, said = process.communicate(timeout=lab.seconds)
            assert "Traceback" not in said
            codes.append(process.returncode)
    assert set(codes) <= {0, 75}, codes
    assert 0 in codes
    assert standing(lab) == before
    assert list(lab.tree.glob(".docket-apply-*")) == []


def test_months_later_from_a_moved_receipt_its_ledger_and_the_store_alone(lab: RunLab, tmp_path: Path) -> None:
    ran(lab)
    (receipt,) = lab.receipts()
    kept = tmp_path / "kept" / "some.json"
    kept.parent.mkdir()
    shutil.copy(receipt, kept)
    shutil.rmtree(lab.tree / ".docket")
    for folder in lab.state.glob("*/receipts"):
        shutil.rmtree(folder)
    done = lab.docket("restore", str(kept), "--apply")
    assert (done.exit_code, standing(lab)) == (0, {"a": "before\n", "b": "before\n"}), done.said


def test_a_summary_says_what_was_kept_and_how_to_undo(lab: RunLab) -> None:
    done = lab.run("--snapshot", "--", "sh", "-c", "echo after > a")
    number = lab.receipts()[0].name.removesuffix(".receipt.json")
    assert re.search(rf"snapshot: 2 files kept, \d+ bytes stored.*docket restore {number}", done.stderr), done.said
    quiet = lab.run("--snapshot", "--", "true")
    assert "snapshot: 2 files kept" in quiet.stderr
    assert "undo the run" not in quiet.stderr, "nothing was changed"
