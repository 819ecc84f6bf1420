"""Real agents on a stage that stands at the tree's own path: what they edit, build and test there lands and works.

A virtual environment is full of absolute paths: made in the stage, it works in the tree only if the stage stood at the
tree's path.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from agent_lab import Lab, Run, assert_consistent, program, provider_for

from docket.demo.script import Script, Tokens, ToolCall, Turn
from docket.engines.transaction.backends.interface import Refused
from docket.engines.transaction.backends.overlay import OverlayBackend

TITLE = Turn(text='{"title":"A title"}', tokens=Tokens(fresh=0, output=0))
CODE = "def double(number):\n    return number + number\n"
TESTS = (
    "import unittest\n\nfrom sums import double\n\n\nclass Doubles(unittest.TestCase):\n"
    "    def test_it(self):\n        self.assertEqual(double(21), 42)\n"
)
# A program of the environment names its interpreter by an absolute path, as pip writes them; it keeps a cache with one.
BUILD = f"""set -e
{sys.executable} -m venv --without-pip venv
printf '#!%s\\nimport sys; print(sys.prefix)\\n' "$PWD/venv/bin/python" > venv/bin/where
chmod +x venv/bin/where
mkdir build && ./venv/bin/where > build/prefix.cache
ln -s "$PWD/build/prefix.cache" build/latest
venv/bin/python -m unittest -q tests_of_sums
rm obsolete.txt
"""
STAGED = ("--workspace-tx", "--workspace-tx-backend", "overlay")
HAIKU = ("--model", "claude-haiku-4-5")


@pytest.fixture
def staged_lab(lab: Lab) -> Lab:
    found = OverlayBackend().probe(lab.repository, lab.root)
    if isinstance(found, Refused):
        pytest.skip(found.detail)
    (lab.repository / "obsolete.txt").write_text("old\n")
    (lab.repository / "tests_of_sums.py").write_text(TESTS)
    return lab


def claude(*more: str) -> list[str]:
    return ["claude", "-p", "build it", "--dangerously-skip-permissions", "--output-format", "json", *HAIKU, *more]


def bash(command: str) -> ToolCall:
    return ToolCall(name="Bash", arguments={"command": command, "description": "build"})


def write(path: Path, text: str) -> ToolCall:
    return ToolCall(name="Write", arguments={"file_path": str(path), "content": text})


def work_of(lab: Lab, *, tokens: Tokens) -> tuple[Turn, ...]:
    return (
        Turn(tool_calls=(write(lab.repository / "sums.py", CODE),), tokens=tokens),
        Turn(tool_calls=(bash(BUILD),), tokens=tokens),
    )


def ran(lab: Lab, script: Script, *flags: str) -> Run:
    program("claude")
    with provider_for(script) as provider:
        asked = [*STAGED, *flags, "--upstream", f"anthropic={provider.url}"]
        return lab.with_variables(ANTHROPIC_API_KEY="sk-ant-dummy").docket_run(asked, claude())


def workspace(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = run.receipt["workspace"]
    return found


def assert_it_works(tree: Path) -> None:
    """The tree has what the agent built, and it runs where it stands."""
    assert (tree / "sums.py").read_text() == CODE
    assert not (tree / "obsolete.txt").exists()
    assert os.readlink(tree / "build/latest") == str(tree / "build/prefix.cache")
    assert (tree / "build/latest").read_text() == f"{tree}/venv\n"
    for command in (["venv/bin/where"], ["venv/bin/python", "-m", "unittest", "-q", "tests_of_sums"]):
        done = subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 0, done.stderr
    assert subprocess.run([tree / "venv/bin/where"], capture_output=True, text=True, timeout=30, check=True).stdout == (
        f"{tree}/venv\n"
    )


def assert_untouched(tree: Path) -> None:
    names = {path.name for path in tree.iterdir()}
    assert names - {".docket"} == {".git", "hello.txt", "obsolete.txt", "tests_of_sums.py"}
    assert (tree / "hello.txt").read_text() == "one\n"


def test_what_claude_builds_and_tests_at_the_trees_path_lands_and_works(staged_lab: Lab) -> None:
    done = Turn(text="Done.", tokens=Tokens(fresh=10, output=4))
    turns = (*work_of(staged_lab, tokens=Tokens(fresh=100, output=40)), done)
    run = ran(staged_lab, Script(side=TITLE, turns=turns), "--max-usd", "5")

    assert run.exit_code == 0, run.said
    assert_it_works(staged_lab.repository)
    told = workspace(run)
    assert (told["committed"], told["backend"], told["view"]) == (True, "overlay", "base-path")
    changes = run.changes()
    assert changes["sums.py"] == changes["build/prefix.cache"] == changes["venv/bin/where"] == "added"
    assert changes["obsolete.txt"] == "removed"
    assert told["changes"] == {
        "added": sum(change == "added" for change in changes.values()),
        "modified": 0,
        "removed": 1,
        "retyped": 0,
    }
    assert_consistent(run)


def test_work_that_a_cap_cut_short_is_kept_and_lands_after_a_review(staged_lab: Lab) -> None:
    tokens = Tokens(fresh=18000, output=40)
    endless = Turn(tool_calls=(bash("echo more >> hello.txt"),), tokens=tokens)
    turns = (*work_of(staged_lab, tokens=tokens), endless)
    # 18000 x 1 + 40 x 5 = 18200 micro-dollars a call: the two of the work are paid, and at most two more.
    run = ran(staged_lab, Script(side=TITLE, turns=turns), "--max-usd", "0.05")

    assert run.exit_code == 42, run.said
    assert_untouched(staged_lab.repository)
    told = workspace(run)
    assert (told["committed"], told["outcome"]) == (False, "discarded")
    assert_consistent(run)
    named = told["transaction"]
    refused = staged_lab.finish("tx", "commit", named)
    assert refused.exit_code != 0
    assert_untouched(staged_lab.repository)
    landed = staged_lab.finish("tx", "commit", "--from-discarded", named)
    assert landed.exit_code == 0, landed.said
    assert_it_works(staged_lab.repository)
    # The receipt says what was, and stays true.
    assert staged_lab.verdict()["verdict"] == "consistent"


def test_a_commit_that_somebody_elses_edit_refused_keeps_the_work(staged_lab: Lab) -> None:
    (staged_lab.repository / "sums.py").write_text("draft = 1\n")
    done = Turn(text="Done.", tokens=Tokens(fresh=10, output=4))
    read = ToolCall(name="Read", arguments={"file_path": str(staged_lab.repository / "sums.py")})
    turns = (
        Turn(tool_calls=(read,), tokens=Tokens(fresh=10, output=4)),
        *work_of(staged_lab, tokens=Tokens(fresh=100, output=40)),
        done,
    )
    run = ran(staged_lab, Script(side=TITLE, turns=turns), "--max-usd", "5", "--workspace-tx-settle", "review")
    assert run.exit_code == 0, run.said
    assert (staged_lab.repository / "sums.py").read_text() == "draft = 1\n"
    assert workspace(run)["outcome"] == "left-for-review"
    named = workspace(run)["transaction"]

    (staged_lab.repository / "sums.py").write_text("draft = 2\n")
    refused = staged_lab.finish("tx", "commit", named)
    assert refused.exit_code == 44, refused.said
    assert "sums.py" in refused.stdout + refused.stderr
    assert (staged_lab.repository / "sums.py").read_text() == "draft = 2\n"
    assert not (staged_lab.repository / "venv").exists()

    (staged_lab.repository / "sums.py").write_text("draft = 1\n")
    landed = staged_lab.finish("tx", "commit", named)
    assert landed.exit_code == 0, landed.said
    assert_it_works(staged_lab.repository)


def test_codex_edits_and_runs_its_environment_on_a_stage(staged_lab: Lab) -> None:
    program("codex")
    command = f"cat > sums.py <<'END'\n{CODE}END\n{BUILD}"
    turns = (
        Turn(
            tool_calls=(ToolCall(name="exec_command", arguments={"cmd": command}),), tokens=Tokens(fresh=100, output=40)
        ),
        Turn(text="Done.", tokens=Tokens(fresh=100, output=10)),
    )
    always = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--json"]
    lab = staged_lab.with_variables(OPENAI_API_KEY="sk-dummy", CODEX_API_KEY="sk-dummy")
    with provider_for(Script(turns=turns)) as provider:
        flags = [*STAGED, "--max-usd", "5", "--upstream", f"openai={provider.url}"]
        run = lab.docket_run(flags, ["codex", "exec", *always, "-m", "gpt-5.2-codex", "build it"])
    assert run.exit_code == 0, run.said
    assert_it_works(lab.repository)
    assert workspace(run)["committed"] is True
    assert_consistent(run)
