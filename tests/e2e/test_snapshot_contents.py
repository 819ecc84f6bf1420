"""`docket snapshots show` and `extract`: what a snapshot holds, how the tree differs from it, one file out of it."""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path

import pytest

from run_lab import RunLab, build

CHANGES = "echo after > a; rm gone; echo x > new; chmod 755 mode; rm link; mkdir link; rm -r deep; echo more > large"


@pytest.fixture
def lab(tmp_path: Path) -> RunLab:
    lab = build(tmp_path)
    for name in ("a", "gone", "mode"):
        (lab.tree / name).write_text("before\n")
        (lab.tree / name).chmod(0o644)
    (lab.tree / "link").symlink_to("a")
    (lab.tree / "deep").mkdir(mode=0o755)
    (lab.tree / "deep" / "x").write_text("deep\n")
    (lab.tree / "large").write_text("larger than the cap")
    (lab.tree / os.fsdecode(b"b\xff\n")).write_text("bytes\n")
    return lab


def number(lab: RunLab, script: str) -> str:
    done = lab.run("-q", "--snapshot", "--snapshot-max-file-bytes", "10", "--", "sh", "-ec", script)
    assert done.exit_code == 0, done.said
    return lab.receipts()[-1].name.removesuffix(".receipt.json")


def test_the_tree_is_compared_whoever_changed_it(lab: RunLab) -> None:
    run = number(lab, "true")
    shown = lab.docket("snapshots", "show", run, "--diff")
    assert (shown.exit_code, shown.stdout) == (0, "0 paths differ from the snapshot\n"), shown.said
    number(lab, CHANGES)
    shown = lab.docket("snapshots", "show", run, "--diff")
    assert shown.stdout.splitlines() == [
        "changed      a",
        "missing      deep",
        "missing      deep/x",
        "missing      gone",
        "changed      large",
        "changed      link",
        "changed      mode",
        "new          new",
        "8 paths differ from the snapshot",
    ], shown.said
    found = json.loads(lab.docket("snapshots", "show", run.lower(), "--diff", "--json").stdout)["differences"]
    assert [(item["path"], item["word"]) for item in found][:2] == [("a", "changed"), ("deep", "missing")]
    assert (found[6]["before"]["mode"], found[6]["now"]["mode"]) == (0o644, 0o755)


def test_what_a_snapshot_holds(lab: RunLab) -> None:
    shown = lab.docket("snapshots", "show", number(lab, "true"))
    assert shown.exit_code == 0, shown.said
    lines = shown.stdout.splitlines()
    assert lines[0] == "644 7        a"
    assert "directory    deep" in lines
    assert "symlink      link" in lines
    assert "not-covered  large  (it is larger than the snapshot takes)" in lines
    assert lines[-1].startswith("7 paths kept, 1 not covered"), lines
    told = json.loads(lab.docket("snapshots", "show", lab.receipts()[-1].name[:19], "--json").stdout)
    assert {"path": "link", "kind": "symlink", "target": "a"} in told["entries"]


def test_one_file_is_taken_out_and_nothing_is_overwritten(lab: RunLab) -> None:
    run = number(lab, CHANGES)
    target = lab.root / "out"
    done = lab.docket("snapshots", "extract", run, "gone", "-o", str(target))
    assert (done.exit_code, target.read_text()) == (0, "before\n"), done.said
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    again = lab.docket("snapshots", "extract", run, "deep/x", "-o", str(target))
    assert (again.exit_code, target.read_text()) == (75, "before\n"), again.said
    piped = lab.docket("snapshots", "extract", run, os.fsdecode(b"b\xff\n"), "-o", "-")
    assert (piped.exit_code, piped.stdout) == (0, "bytes\n"), piped.said
    assert list(lab.root.glob(".*.tmp")) == []


@pytest.mark.parametrize(
    ("path", "code", "said"),
    [
        ("link", 2, "is a link to a"),
        ("deep", 2, "is a directory"),
        ("absent", 2, "has no absent"),
        ("../a", 2, "from the root of the tree"),
        ("/etc/passwd", 2, "from the root of the tree"),
        ("large", 75, "large was not kept: it is larger than the snapshot takes"),
    ],
)
def test_what_is_no_kept_file_is_told_from_one(lab: RunLab, path: str, code: int, said: str) -> None:
    done = lab.docket("snapshots", "extract", number(lab, "true"), path, "-o", str(lab.root / "out"))
    assert (done.exit_code, said in done.stderr) == (code, True), done.said
    assert not (lab.root / "out").exists()


@pytest.mark.parametrize("session", ["../../etc", "0123456789ab", "DKT-20200101-000000", ""])
def test_a_snapshot_that_is_not_there(lab: RunLab, session: str) -> None:
    number(lab, "true")
    done = lab.docket("snapshots", "show", session)
    assert (done.exit_code, "no snapshot of" in done.stderr) == (2, True), done.said


def test_a_damaged_content_makes_no_file(lab: RunLab) -> None:
    (lab.tree / "big").write_bytes(b"x" * 300_000)
    done = lab.run("-q", "--snapshot", "--", "true")
    assert done.exit_code == 0, done.said
    run = lab.receipts()[-1].name.removesuffix(".receipt.json")
    (kept,) = [path for path in lab.root.rglob("snapshots/contents/*/*") if path.stat().st_size == 300_000]
    kept.chmod(0o600)
    kept.write_bytes(b"y" * 300_000)
    done = lab.docket("snapshots", "extract", run, "big", "-o", str(lab.root / "out"))
    assert (done.exit_code, "damaged" in done.stderr) == (1, True), done.said
    assert not (lab.root / "out").exists()
    assert list(lab.root.glob(".*.tmp")) == []


def test_of_a_run_that_was_killed_the_next_step_is_named(lab: RunLab) -> None:
    script = "echo after > a; touch started; exec sleep 60"
    with lab.start("run", "-q", "--snapshot", "--", "sh", "-c", script) as process:
        until = time.monotonic() + lab.seconds
        while not (lab.tree / "started").exists() and time.monotonic() < until:
            time.sleep(0.01)
        process.kill()
    recovered = lab.docket("recover")
    assert recovered.exit_code == 0, recovered.said
    run = lab.receipts()[-1].name.removesuffix(".receipt.json")
    refused = lab.docket("restore")
    assert (refused.exit_code, f"docket snapshots show {run} --diff" in refused.stderr) == (75, True), refused.said
    assert "changed      a" in lab.docket("snapshots", "show", run, "--diff").stdout
    assert lab.docket("snapshots", "extract", run, "a", "-o", "-").stdout == "before\n"


def test_what_is_pruned_while_all_are_verified_is_not_called_damaged(lab: RunLab) -> None:
    (lab.tree / "large").unlink()
    for turn in range(3):
        for name in ("w", "x", "y", "z"):
            (lab.tree / f"{name}{turn}").write_bytes(os.urandom(8_000_000))
        assert lab.run("-q", "--snapshot", "--", "true").exit_code == 0
    with lab.start("snapshots", "verify", "--json") as verifying:
        assert lab.docket("snapshots", "prune", "--keep-last", "1").exit_code == 0
        stdout, stderr = verifying.communicate(timeout=lab.seconds)
    assert (verifying.returncode, stderr) == (0, ""), stdout
    assert all(item["restores"] for item in json.loads(stdout)["snapshots"])
