"""What the shell completes a run with."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from docket.stores.layout import project_key
from docket.surfaces.cli.root import root
from golden_ledgers.build import opened


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with two receipts, a run that lives and one that was killed."""
    made = tmp_path / "tree"
    receipts = made / ".docket" / "receipts"
    receipts.mkdir(parents=True)
    for name in ("DKT-20260930-AAAAAA", "DKT-20261002-BBBBBB", "x"):
        (receipts / f"{name}.receipt.json").touch()
    runs = tmp_path / "state" / project_key(made) / "runs"
    runs.mkdir(parents=True)
    for letter in "cd":
        ledger = opened(session_id=letter * 12, docket_number=f"DKT-20261001-{letter.upper() * 6}")
        (runs / f"{letter * 12}.jsonl").write_bytes(ledger.data())
        (runs / f"{letter * 12}.jsonl.lock").touch()
    lock = os.open(runs / f"{'c' * 12}.jsonl.lock", os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    monkeypatch.setenv("DOCKET_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.chdir(made)
    yield made
    os.close(lock)


def completed(command: str, begun: str) -> list[tuple[str, str]]:
    complete = ShellComplete(root, {}, "docket", "_DOCKET_COMPLETE")
    return [(item.value, item.type) for item in complete.get_completions([command], begun)]


@pytest.mark.parametrize("command", ["watch", "report", "verify", "restore"])
def test_a_run_is_completed_living_ones_first_and_then_the_newest(tree: Path, command: str) -> None:
    numbers = ["DKT-20261001-CCCCCC", "DKT-20261002-BBBBBB", "DKT-20260930-AAAAAA"]
    assert completed(command, "") == [(number, "plain") for number in numbers]
    assert completed(command, "dkt-20261002") == [("DKT-20261002-BBBBBB", "plain")]


@pytest.mark.parametrize("command", ["watch", "report", "verify", "restore"])
def test_what_begins_no_number_is_a_file(tree: Path, command: str) -> None:
    assert completed(command, "./rec") == [("./rec", "file")]


def test_what_can_be_recovered_was_killed(tree: Path) -> None:
    assert completed("recover", "") == [("DKT-20261001-DDDDDD", "plain")]
    assert completed("recover", "x") == []


def test_a_project_without_runs_completes_files(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert completed("watch", "") == [("", "file")]
    monkeypatch.setenv("DOCKET_STATE_DIR", "relative")
    assert completed("watch", "") == [("", "file")]
    assert isinstance(root, click.Group)


def test_snapshots_and_records_of_restores_are_completed_the_newest_first(tree: Path, tmp_path: Path) -> None:
    state = tmp_path / "state" / project_key(tree)
    records = []
    for place, letter in enumerate("ba", start=1):
        for path in (state / "snapshots" / f"{letter * 12}/manifest.json", state / f"restores/{letter}/record.json"):
            path.parent.mkdir(parents=True)
            path.touch()
            os.utime(path, (place, place))
        records.append(str(path))
    (state / "restores/cut-short").mkdir()
    complete = ShellComplete(root, {}, "docket", "_DOCKET_COMPLETE")
    asked = ["snapshots", "verify"]
    assert [item.value for item in complete.get_completions(asked, "")] == ["a" * 12, "b" * 12]
    assert [item.value for item in complete.get_completions(asked, "b")] == ["b" * 12]
    asked = ["restore", "--redo"]
    assert [item.value for item in complete.get_completions(asked, "")] == records[::-1]
    assert [(item.value, item.type) for item in complete.get_completions(asked, "./r")] == [("./r", "file")]


def test_models_and_the_commands_beside_them_are_completed(tree: Path) -> None:
    assert completed("prices", "im") == [("import", "plain")]
    assert ("claude-sonnet-5", "plain") in completed("prices", "claude-s")
    assert completed("prices", "no-such-model") == []


def test_phases_are_completed_one_after_the_other(tree: Path) -> None:
    complete = ShellComplete(root, {}, "docket", "_DOCKET_COMPLETE")
    after = [item.value for item in complete.get_completions(["game-day", "--phases"], "reset,re")]
    assert after == ["reset,reset", "reset,record-full"]


@pytest.mark.parametrize("before", [["run", "--max-usd", "2"], ["run", "--"], ["game-day", "--"]])
def test_the_agents_own_command_line_is_the_shells_to_complete(tree: Path, before: list[str]) -> None:
    complete = ShellComplete(root, {}, "docket", "_DOCKET_COMPLETE")
    assert [(item.value, item.type) for item in complete.get_completions(before, "./my")] == [("./my", "file")]


def test_agents_and_ends_are_completed_for_runs(tree: Path) -> None:
    complete = ShellComplete(root, {}, "docket", "_DOCKET_COMPLETE")
    assert "claude-code" in [item.value for item in complete.get_completions(["runs", "--agent"], "cl")]
    assert [item.value for item in complete.get_completions(["runs", "--end"], "int")] == ["interrupted"]
