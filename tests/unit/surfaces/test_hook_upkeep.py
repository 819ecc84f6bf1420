"""Stores of windows are tidied in passing: by hooks after every so many windows, and by runs, unless a tool runs."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import git_lab
from docket.rules.agents.hooks import HOOK_READERS
from docket.surfaces.hooks import upkeep
from docket.surfaces.hooks.place import windows_place
from docket.surfaces.hooks.upkeep import tidy_after_run
from docket.surfaces.hooks.windows import tell
from git_lab import needs_git

pytestmark = needs_git
DAYS_SECONDS = 2 * 86_400


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lab = git_lab.build(tmp_path)
    monkeypatch.setenv("DOCKET_STATE_DIR", lab.lab.environment()["DOCKET_STATE_DIR"])
    return lab.tree


def heard(tree: Path, event: str, use: str = "u") -> None:
    given = {"session_id": "s", "prompt_id": "p", "hook_event_name": event, "tool_name": "Bash",
             "tool_input": {"command": "make"}, "tool_use_id": use, "cwd": str(tree)}  # fmt: skip
    tell(HOOK_READERS["claude"](event, given), tree, 30.0)


def leftover(tree: Path) -> Path:
    path = windows_place(tree).windows / ".registry.json.0123456789abcdef.tmp"
    path.write_text("")
    os.utime(path, (time.time() - DAYS_SECONDS,) * 2)
    return path


@pytest.mark.parametrize(("every", "goes"), [(1, True), (2, True), (3, False)])
def test_a_hook_tidies_after_every_so_many_windows(tree, monkeypatch, every, goes):
    monkeypatch.setattr(upkeep, "EVERY_WINDOWS", every)
    heard(tree, "PreToolUse", "u1")
    heard(tree, "PostToolUse", "u1")
    heard(tree, "PreToolUse", "u2")
    left = leftover(tree)
    heard(tree, "PostToolUse", "u2")
    assert left.exists() != goes


def test_the_end_of_a_run_tidies_unless_a_tool_runs(tree, tmp_path):
    heard(tree, "PreToolUse")
    left = leftover(tree)
    tidy_after_run(tree, None)
    assert left.exists()
    heard(tree, "PostToolUse")
    tidy_after_run(tree, None)
    assert not left.exists()
    tidy_after_run(tmp_path / "nowhere", None)


def test_what_cannot_be_tidied_in_passing_fails_nobody(tree):
    heard(tree, "PreToolUse")
    windows_place(tree).windows.joinpath("registry.json").write_text("{")
    left = leftover(tree)
    tidy_after_run(tree, None)
    assert left.exists()
