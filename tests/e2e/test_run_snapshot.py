"""`docket run --snapshot` as a person starts it: what is kept, what the record says, refusals, kills, two at once."""

from __future__ import annotations

import hashlib
import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from run_lab import RunLab, build
from snapshot_lab import unpacked


@pytest.fixture
def lab(tmp_path: Path) -> RunLab:
    made = build(tmp_path)
    (made.tree / "src").mkdir()
    (made.tree / "src" / "app.py").write_text("print('before')\n")
    (made.tree / "notes").write_bytes(b"\0\xff kept exactly")
    return made


def folders(lab: RunLab) -> list[Path]:
    """The sessions' folders, beside which the pool and its lock stand."""
    return sorted(path for path in lab.state.glob("*/snapshots/*") if path.name not in ("contents", "lock"))


def restores(folder: Path) -> dict[str, bytes]:
    """Every kept file by its path, read and checked by hand."""
    document: dict[str, Any] = json.loads((folder / "manifest.json").read_bytes())
    found, kept = {}, pooled(folder.parent / "contents")
    for entry in document["entries"]:
        data = kept[entry["blob"]]
        assert (hashlib.sha256(data).hexdigest(), len(data)) == (entry["sha256"], entry["size"])
        found[entry["path"]] = data
    return found


def pooled(contents: Path) -> dict[str, bytes]:
    kept = {f"{path.parent.name}/{path.name}": path.read_bytes() for path in contents.glob("[0-9a-f][0-9a-f]/*")}
    for path in contents.glob("packs/*.tar"):
        kept |= unpacked(path.read_bytes())
    return kept


def test_the_contents_are_those_before_the_agent_and_the_receipt_says_so(lab: RunLab) -> None:
    done = lab.run("--snapshot", "--", "sh", "-c", "echo after > src/app.py; rm notes")
    assert done.exit_code == 0, done.said
    (folder,) = folders(lab)
    assert restores(folder) == {"src/app.py": b"print('before')\n", "notes": b"\0\xff kept exactly"}
    said = lab.receipt()["ops"]["snapshot"]
    assert (said["taken"], said["files"], said["bytes_stored"], said["format"]) == (True, 2, 31, "docket/snapshot/v1")
    assert said["store"] == str(folder)
    assert said["manifest_sha256"] == hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest()
    passes = {data["phase"]: data for data in lab.events("fs.snapshot")}
    assert passes["contents"]["tree_sha256"] == passes["before"]["tree_sha256"] != passes["after"]["tree_sha256"]
    assert lab.verdict()["verdict"] == "consistent"


def test_without_the_flag_nothing_is_kept(lab: RunLab) -> None:
    lab.run("--", "true")
    assert folders(lab) == []
    assert lab.receipt()["ops"]["snapshot"] is None


def test_a_tree_that_does_not_fit_is_refused_with_both_numbers_and_on_the_record(lab: RunLab) -> None:
    done = lab.run("--snapshot-max-bytes", "30", "--", "sh", "-c", "touch ran")
    assert done.exit_code == 43, done.said
    assert "needs 31 bytes and may have 30" in done.stderr
    assert "the heaviest in bytes are" in done.stderr
    assert not (lab.tree / "ran").exists()
    assert folders(lab) == []
    said = lab.receipt()["ops"]["snapshot"]
    assert (said["taken"], said["needed"], said["allowed"]) == (False, 31, 30)
    assert lab.verdict()["verdict"] == "consistent"


def test_a_large_file_is_not_kept_and_the_receipt_names_it(lab: RunLab) -> None:
    (lab.tree / "large").write_bytes(b"0" * 101)
    lab.run("--snapshot", "--snapshot-max-file-bytes", "100", "--", "true")
    assert "large" not in restores(folders(lab)[0])
    said = lab.receipt()["ops"]["snapshot"]
    assert {"path": "large", "reason": "too-large"} in said["not_covered"]
    assert lab.verdict()["verdict"] == "consistent"


def test_a_store_that_cannot_be_written_ends_the_run_before_the_agent(lab: RunLab) -> None:
    lab.run("--", "true")
    (project,) = lab.state.glob("*/runs")
    (project.parent / "snapshots").write_text("in the way")
    done = lab.run("--snapshot", "--", "sh", "-c", "touch ran")
    assert done.exit_code == 75, done.said
    assert not (lab.tree / "ran").exists()


def test_snapshots_are_listed_verified_and_pruned(lab: RunLab) -> None:
    for _ in range(3):
        lab.run("--snapshot", "--", "true")
    listed = json.loads(lab.docket("snapshots", "list", "--json").stdout)["snapshots"]
    assert [item["state"] for item in listed] == ["complete"] * 3
    assert lab.docket("snapshots", "verify").stdout.count("restores") == 3
    dry = lab.docket("snapshots", "prune", "--keep-last", "1", "--dry-run")
    assert dry.stdout.count("would remove") == 2
    assert len(folders(lab)) == 3
    pruned = json.loads(lab.docket("snapshots", "prune", "--keep-last", "1", "--json").stdout)
    assert pruned["removed"] == [item["session_id"] for item in listed[:2]]
    (left,) = folders(lab)
    assert left.name == listed[2]["session_id"]
    assert len(restores(left)) == 2
    for pack in left.parent.glob("contents/packs/*.tar"):
        pack.write_bytes(pack.read_bytes().replace(b"kept exactly", b"kept exactlY"))
    verified = lab.docket("snapshots", "verify", left.name, "--json")
    assert verified.exit_code == 1
    assert json.loads(verified.stdout)["snapshots"][0]["restores"] is False
    assert lab.docket("snapshots", "verify", "ffffffffffff").exit_code == 2


def test_runs_killed_at_any_moment_leave_whole_snapshots_or_none(lab: RunLab) -> None:
    for number in range(300):
        (lab.tree / "src" / f"f{number}").write_bytes(b"%d" % number * 200)
    for step in range(8):
        with lab.start("run", "--snapshot", "--report", "none", "--", "sleep", "60") as process:
            time.sleep(0.15 + step * 0.12)
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=60)
    for folder in folders(lab):
        if (folder / "manifest.json").exists():
            assert len(restores(folder)) == 302
    assert lab.docket("snapshots", "verify").exit_code == 0
    lab.docket("recover")
    lab.docket("snapshots", "prune")
    assert all((folder / "manifest.json").exists() for folder in folders(lab))
    assert lab.run("--snapshot", "--", "true").exit_code == 0
    assert len(restores(max(folders(lab), key=lambda path: (path / "manifest.json").stat().st_mtime_ns))) == 302


def test_two_runs_at_once_have_a_snapshot_each(lab: RunLab) -> None:
    both = [lab.start("run", "--snapshot", "--", "true") for _ in range(2)]
    for process in both:
        with process:
            _, said = process.communicate(timeout=60)
            assert process.returncode == 0, said
    assert [len(restores(folder)) for folder in folders(lab)] == [2, 2]
