"""A game day with real agents: what each does about a fault, by its own ledger."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from agent_lab import program

SECONDS = 180
QUIET = (
    "--no-pretty",
    "--no-check-update",
    "--analytics-disable",
    "--no-show-release-notes",
    "--no-gitignore",
    "--no-git",
)


def game_day(tmp_path, name, phases, *arguments):
    """Return the words of the phases by name; docket's own part holds in each."""
    out, project = tmp_path / "out", tmp_path / "project"
    project.mkdir()
    (project / "hello.txt").write_text("one\n")
    flags = ("--phases", ",".join(phases), "--out", str(out), "--max-minutes", "1", "--json")
    subprocess.run(
        [sys.executable, "-m", "docket", "game-day", *flags, "--", str(program(name)), *arguments],
        cwd=project,
        env={**os.environ, "IS_SANDBOX": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    day = json.loads((out / "game-day.json").read_bytes())
    told = {phase["phase"]: phase for phase in day["phases"]}
    assert day["not_run"] == [], (out / "baseline.log").read_text(errors="replace")
    assert {phase["verdict"] for phase in day["phases"]} == {"consistent"}
    return {name: phase["judgement"]["word"] for name, phase in told.items()}


def test_claude_waits_as_it_is_told_and_stops_at_the_cap(tmp_path):
    words = game_day(tmp_path, "claude", ("rate-limit", "budget"), "-p", "Say hello", "--dangerously-skip-permissions")
    assert words == {"baseline": "worked", "rate-limit": "recovered", "budget": "stopped"}


def test_codex_waits_as_it_is_told_and_stops_at_the_cap(tmp_path):
    words = game_day(tmp_path, "codex", ("rate-limit", "budget"), "exec", "--skip-git-repo-check", "Say hello")
    assert words == {"baseline": "worked", "rate-limit": "recovered", "budget": "stopped"}


@pytest.mark.parametrize("phase", ["truncated"])
def test_aider_takes_a_truncated_reply_for_a_whole_one(tmp_path, phase):
    words = game_day(
        tmp_path, "aider", (phase,), "--model", "openai/gpt-4o", "--message", "say hello", "--yes-always", *QUIET
    )
    assert words == {"baseline": "worked", phase: "deceived"}
