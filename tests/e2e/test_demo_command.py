"""`docket demo` as a person starts it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest


@pytest.fixture
def demo(tmp_path):
    """Run `docket demo` with a home, a temporary folder and a working folder of its own."""
    home, work, temporary = tmp_path / "home", tmp_path / "work", tmp_path / "temporary"
    for folder in (home, work, temporary):
        folder.mkdir()

    def start(*flags):
        environment = os.environ | {
            "HOME": str(home),
            "TMPDIR": str(temporary),
            "NO_COLOR": "1",
            # What must not reach the demo: a person's own provider, keys, proxy and evidence folder.
            "ANTHROPIC_BASE_URL": "http://127.0.0.1:9/none",
            "ANTHROPIC_API_KEY": "sk-ant-a-real-key",
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "http_proxy": "http://127.0.0.1:9",
            "DOCKET_STATE_DIR": str(tmp_path / "own-state"),
        }
        return subprocess.Popen(
            [sys.executable, "-m", "docket", "demo", *flags],
            cwd=work,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(*flags):
        with start(*flags) as process:
            stdout, stderr = process.communicate(timeout=90)
        return subprocess.CompletedProcess(flags, process.returncode, stdout, stderr)

    run.start = start
    yield run
    assert list(work.iterdir()) == []
    assert not (tmp_path / "own-state").exists()


def test_it_shows_a_stopped_agent_a_verified_record_and_a_found_forgery(demo, tmp_path):
    done = demo()
    assert done.returncode == 0, done.stdout + done.stderr
    titles = [line.split(". ", 1)[1] for line in done.stdout.splitlines() if line[:1].isdigit()]
    assert titles == ["A project", "A key", "A model provider", "The run", "The receipt", "Verified", "A forgery"]
    assert "   | agent: refused (HTTP 400): docket DKT-" in done.stdout
    assert "max_usd" in done.stdout
    assert "verified" in done.stdout
    assert "All of it held." in done.stdout
    follow = next(line for line in done.stdout.splitlines() if line.startswith("  next "))
    assert shutil.which(shlex.split(follow)[1]) is not None, "the program that comes next is there"
    assert "sk-ant-a-real-key" not in done.stdout + done.stderr
    assert list((tmp_path / "temporary").iterdir()) == []


def test_its_result_as_json(demo):
    done = demo("--json")
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout)
    assert result["ok"] is True
    assert result["problems"] == []
    assert (result["exit_code"], result["verdict"], result["forged_verdict"]) == (42, "verified", "failed")
    # 3000 x 3 + 60 x 15 = 9900 micro-dollars, then 3000 x 3 + 20 x 15 = 9300 for each further call.
    assert 1 <= result["calls"] <= 5
    assert Decimal(result["spent_usd"]) == Decimal(9900 + 9300 * (result["calls"] - 1)) / 1_000_000
    assert Decimal(result["spent_usd"]) <= Decimal(result["cap_usd"]) == Decimal("0.05")
    assert str(result["forged_event"]) in result["forged_detail"]
    assert set(result["changed"]) == {"notes.md", "attempts.log"}


def test_the_folder_can_be_kept(demo, tmp_path):
    done = demo("--json", "--keep")
    folder = Path(json.loads(done.stdout)["folder"])
    assert folder.parent == tmp_path / "temporary"
    assert (folder / "project/.docket/receipts").is_dir()
    assert (folder / "project/notes.md").read_text() == "# Notes\n\nThe parser reads one line at a time.\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_ends_its_run_and_leaves_nothing(demo, tmp_path, number):
    # A cap that is never reached: the agent would go on for as long as it is let.
    with demo.start("--max-usd", "100") as process:
        while "agent: call 1" not in process.stdout.readline():
            pass
        process.send_signal(number)
        process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_demo_that_nobody_reads_any_more_ends(demo, tmp_path):
    with demo.start("--max-usd", "100") as process:
        process.stdout.readline()
        process.stdout.close()
        process.stderr.read()
        assert process.wait(timeout=60) == 1
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_cap_that_is_no_amount_is_a_usage_error(demo):
    done = demo("--max-usd", "lots")
    assert done.returncode == 2
    assert "--max-usd" in done.stderr
    assert "Traceback" not in done.stderr
