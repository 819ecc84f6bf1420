"""Records of real runs: verify-js finds what `docket verify` finds, check by check, and makes each receipt again."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import git_lab
import run_lab
from docket.demo.provider import Limits, ScriptedProvider
from docket.demo.script import Script, Tokens, Turn
from e2e.test_run_windows import AGENT as HOOKING
from run_lab import RunLab
from verify_js.in_node import needs_node

CLI = Path(__file__).parents[2] / "verify-js" / "cli.mjs"
NODE = shutil.which("node") or "node"
pytestmark = needs_node

# Names that are no text and no ASCII, a file written over, one made, one gone, a link.
WRITES = r"""
import os
open("notes.txt", "w").write("other")
open(b"caf\xe9.txt", "w").write("x")
open("\u65e5\u672c", "w").write("x")
os.remove("old.txt"); os.path.lexists("link") or os.symlink("notes.txt", "link")
"""
BOTH = run_lab.CALL + WRITES


@pytest.fixture
def lab(tmp_path: Path) -> RunLab:
    made = run_lab.build(tmp_path)
    for name in ("notes.txt", "old.txt"):
        (made.tree / name).write_text(name)
    return made


def agree(lab: RunLab, *options: str) -> dict[str, Any]:
    """The verdict of both on the one receipt, which is the same but for its details."""
    (receipt,) = lab.receipts()
    there = subprocess.run(
        [NODE, str(CLI), str(receipt), "--json", *options], capture_output=True, text=True, timeout=60, check=False
    )
    assert there.stderr == ""
    here = lab.docket("verify", str(receipt), "--json", *options)
    found = [json.loads(here.stdout), json.loads(there.stdout)]
    statuses = [{check["name"]: check["status"] for check in verdict["checks"]} for verdict in found]
    assert statuses[0] == statuses[1]
    assert [verdict["verdict"] for verdict in found] == [found[0]["verdict"]] * 2
    assert statuses[1]["receipt-rebuild"] == "pass"
    return found[1]


def with_calls(lab: RunLab, count: int, *flags: str) -> run_lab.Done:
    """Run the agent that calls a provider and writes files."""
    turn = Turn(text="ok", tokens=Tokens(fresh=30, output=60))
    with ScriptedProvider(Script(turns=(turn,)), limits=Limits(max_requests=40, max_seconds=60)) as provider:
        agent = [sys.executable, "-c", BOTH, str(count)]
        return lab.run(*flags, "--upstream", f"anthropic={provider.url}", "--", *agent)


def test_calls_on_a_stage_with_everything_kept(lab: RunLab) -> None:
    done = with_calls(lab, 3, "--max-usd", "1", "--workspace-tx", "--record-responses", "--cache")

    assert done.exit_code == 0, done.said
    assert agree(lab)["verdict"] == "consistent"
    receipt = lab.receipt()
    assert receipt["workspace"]["committed"] is True
    assert receipt["files"]["top_paths"] == ["caf\\xe9.txt", "link", "notes.txt", "old.txt", "\u65e5\u672c"]
    assert receipt["responses"]["kept"] == receipt["model_calls"]["count"]


def killed(lab: RunLab) -> None:
    """A run whose docket was killed, with a receipt that was derived later."""
    process = lab.start("run", "--max-usd", "1", "--", "sh", "-c", "touch started; exec sleep 1000")
    until = time.monotonic() + 60
    while not (lab.tree / "started").exists():
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    process.kill()
    process.communicate()
    done = lab.docket("recover")
    assert done.exit_code in (0, 1), done.said


def rolled_back(lab: RunLab) -> None:
    """A run that a cap on time ended, and whose files were put back."""
    agent = [sys.executable, "-c", f"{WRITES}\nos.execvp('sleep', ['sleep', '60'])"]
    done = lab.run("--rollback-on-breach", "--max-minutes", "0.05", "--", *agent)
    assert done.exit_code != 0, done.said
    assert lab.receipt()["ops"]["rollback"]["applied"] is True


def denied(lab: RunLab) -> None:
    """A run that its budget ended."""
    done = with_calls(lab, 30, "--max-usd", "0.002", "--on-breach", "deny", "--snapshot")
    assert done.exit_code != 0, done.said
    assert lab.receipt()["caps"]["exceeded"] > 0


def left_for_review(lab: RunLab) -> None:
    """A stage that waits for a person."""
    done = with_calls(lab, 1, "--workspace-tx", "--workspace-tx-settle", "review", "--max-calls-per-minute", "60")
    assert done.exit_code == 0, done.said


def sealed(lab: RunLab) -> None:
    """A receipt with a seal that nobody named a key for."""
    done = with_calls(lab, 1, "--seal")
    assert done.exit_code == 0, done.said
    assert lab.receipt()["seal"] is not None


def signed(lab: RunLab) -> None:
    """A receipt with a seal and a signature, the second run of its project."""
    key = lab.root / "home" / "key.pem"
    assert lab.docket("keygen", str(key)).exit_code == 0
    for _ in range(2):
        shutil.rmtree(lab.tree / ".docket", ignore_errors=True)
        done = with_calls(lab, 1, "--seal", "--sign", str(key))
        (lab.tree / "old.txt").write_text("again")
        assert done.exit_code == 0, done.said
    assert lab.receipt()["proof"]["run"] == 2
    assert lab.receipt()["proof"]["previous"] is not None
    assert agree(lab, "--public-key", f"{key}.pub")["verdict"] == "verified"


@pytest.mark.slow
@pytest.mark.timeout(300)
@git_lab.needs_git
def test_tools_with_windows(tmp_path: Path) -> None:
    lab = git_lab.build(tmp_path).lab
    done = lab.run("--agent", "generic", "--", sys.executable, "-c", HOOKING)

    assert done.exit_code == 0, done.said
    assert agree(lab)["verdict"] == "consistent"
    assert lab.receipt()["windows"]["count"] == 2


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("run", [killed, rolled_back, denied, left_for_review, sealed, signed])
def test_other_ways_in_which_a_run_goes(lab: RunLab, run: Callable[[RunLab], None]) -> None:
    run(lab)

    wanted = "incomplete" if run is killed else "consistent"
    assert agree(lab)["verdict"] == wanted
