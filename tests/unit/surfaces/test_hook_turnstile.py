"""Hooks that come all at once: some work, the others wait, and nobody waits for a place that its holder left."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import git_lab
from docket.surfaces.hooks import turnstile
from docket.surfaces.hooks.turnstile import FOLDER, Turnstile, places
from git_lab import needs_git

LATER_SECONDS = 60.0


@pytest.fixture
def state(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("DOCKET_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


def passed(*, wait_seconds: float = 0.0) -> Turnstile | None:
    gate = Turnstile()
    if gate.is_passed(time.monotonic() + wait_seconds):
        return gate
    gate.close()
    return None


def test_there_are_as_many_places_as_processors_and_one_more(state, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    through = [passed(), passed(), passed()]
    assert None not in through
    assert passed() is None
    through[1].close()
    assert passed(wait_seconds=LATER_SECONDS) is not None
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(1000))
    assert places() == turnstile.MOST_PLACES


def test_the_place_of_a_process_that_was_killed_is_free(state, monkeypatch):
    monkeypatch.setattr(turnstile, "places", lambda: 1)
    script = (
        "import time; from docket.surfaces.hooks import turnstile; turnstile.places = lambda: 1\n"
        "gate = turnstile.Turnstile(); print(gate.is_passed(0.0), flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        assert passed() is None
        holder.kill()
    assert passed(wait_seconds=LATER_SECONDS) is not None


@pytest.mark.parametrize("doctored", ["no-folder", "a-file", "a-link"])
def test_a_hook_goes_on_where_no_place_can_be_made(state, monkeypatch, doctored):
    if doctored == "no-folder":
        monkeypatch.setenv("DOCKET_STATE_DIR", "relative")
    elif doctored == "a-file":
        state.write_text("")
    else:
        (state / FOLDER).mkdir(parents=True)
        (state / FOLDER / "0").symlink_to(state / "elsewhere")
    before = len(os.listdir("/proc/self/fd"))
    through = [passed() for _ in range(10)]
    assert None not in through
    assert len(os.listdir("/proc/self/fd")) == before
    assert not (state / "elsewhere").exists()


@needs_git
def test_a_hook_whose_turn_does_not_come_leaves_word_and_its_tool_is_known_to_be_unknown(tmp_path):
    lab = git_lab.build(tmp_path)
    variables = {**lab.lab.environment(), "DOCKET_HOOK_SECONDS": "0.5", "DOCKET_DEBUG": "1"}
    state = Path(variables["DOCKET_STATE_DIR"])
    (state / FOLDER).mkdir(parents=True)
    taken = [os.open(state / FOLDER / str(number), os.O_RDWR | os.O_CREAT) for number in range(places())]
    for descriptor in taken:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    given = {"session_id": "s", "prompt_id": "p", "hook_event_name": "PostToolUse", "tool_name": "Bash",
             "tool_input": {"command": "secret"}, "tool_use_id": "toolu_1", "cwd": str(lab.tree)}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "docket", "hook", "claude", "PostToolUse"], cwd=lab.tree, env=variables,
        input=json.dumps(given).encode(), capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    for descriptor in taken:
        os.close(descriptor)
    assert (done.returncode, done.stdout) == (0, b"")
    (left,) = state.glob("hooks-left/*")
    assert b"secret" not in left.read_bytes()
    (row,) = json.loads(lab.lab.docket("windows", "list", "--json").stdout)["closed"]
    assert (row["tool_use_id"], row["status"]) == ("toolu_1", "partial")
