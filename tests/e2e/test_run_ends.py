"""How a run ends: each kind of end has its exit code, its sentence, and a receipt that verifies."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

import run_lab


def assert_recorded(lab, *, exit_code, source, verdict="consistent"):
    receipt = lab.receipt()
    assert receipt["session"]["exit_code"] == exit_code
    assert receipt["session"]["exit_source"] == source
    assert lab.verdict()["verdict"] == verdict


@pytest.mark.parametrize("code", [0, 1, 3, 42, 255])
def test_the_agents_own_code_is_passed_on(lab, code):
    done = lab.run("--", "sh", "-c", f"echo out; echo err >&2; exit {code}")
    assert done.exit_code == code, done.said
    assert done.stdout == "out\n"
    assert "err\n" in done.stderr
    assert_recorded(lab, exit_code=code, source="agent")


def test_a_signal_that_kills_the_agent_is_told_as_the_shell_tells_it(lab):
    done = lab.run("--", "sh", "-c", "kill -9 $$")
    assert done.exit_code == 128 + 9, done.said
    assert_recorded(lab, exit_code=137, source="signal")
    assert lab.events("proc.exit")[0]["signal"] == "SIGKILL"


def test_an_agent_that_kills_its_launcher_at_once_is_told_to_have_run(lab):
    done = lab.run("--", "sh", "-c", "kill -9 $PPID; sleep 1000")
    assert done.exit_code == 70, done.said
    assert "the launcher between docket and the agent was killed, and the agent with it" in done.stderr
    assert "before it had started" not in done.stderr
    assert_recorded(lab, exit_code=70, source="docket")
    assert lab.events("proc.exit")[0]["exit_code"] in (70, 137)


@pytest.mark.parametrize(
    ("program", "code", "sentence"),
    [("no-such-program", 127, "no-such-program"), ("./plain-file", 126, "plain-file"), ("./folder", 126, "folder")],
)
def test_a_program_that_cannot_run_leaves_a_receipt(lab, program, code, sentence):
    (lab.tree / "plain-file").write_text("not a program")
    (lab.tree / "folder").mkdir()
    done = lab.run("--", program)
    assert done.exit_code == code, done.said
    assert sentence in done.stderr
    assert_recorded(lab, exit_code=code, source="docket")


def test_the_wall_clock_cap_ends_everything_the_run_started(lab):
    done = lab.run("--max-minutes", "0.02", "--", "sh", "-c", "setsid sleep 1000 & echo $! > pid; sleep 1000")
    assert done.exit_code == 42, done.said
    assert "cap" in done.stderr
    assert_recorded(lab, exit_code=42, source="cap")
    assert lab.receipt()["session"]["breached"] == "max_wall_seconds"
    assert not Path(f"/proc/{(lab.tree / 'pid').read_text().strip()}").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_to_docket_stops_the_run_and_is_recorded(lab, number, code):
    process = lab.start("run", "--", "sh", "-c", "echo started > started; sleep 1000")
    wait_for(lab.tree / "started")
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=run_lab.SECONDS)
    assert process.returncode == code, stdout + stderr
    assert "Traceback" not in stderr
    assert_recorded(lab, exit_code=code, source="signal")
    assert lab.receipt()["session"]["interrupted"] is True


def test_an_agent_that_ignores_every_polite_signal_is_killed(lab):
    (lab.tree / "p.toml").write_text("[caps]\ngrace_seconds = 0.2\nmax_wall_seconds = 1\n")
    done = lab.run("-p", "p.toml", "--", "sh", "-c", "trap '' INT TERM HUP; while :; do sleep 0.1; done")
    assert done.exit_code == 42, done.said
    assert lab.events("proc.exit")[0] == {
        "exit_code": 137, "signal": "SIGKILL", "terminated_by": "max_wall_seconds",
        "leftover_processes": lab.events("proc.exit")[0]["leftover_processes"],
    }  # fmt: skip


def test_killing_docket_ends_every_descendant_and_leaves_a_ledger_without_an_end(lab):
    agent = "setsid sh -c 'trap \"\" TERM INT HUP; echo $$ > deep; while :; do sleep 1; done' & echo $$ > top; wait"
    process = lab.start("run", "--", "sh", "-c", agent)
    pids = [wait_for(lab.tree / name).strip() for name in ("deep", "top")]
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=run_lab.SECONDS)
    for pid in pids:
        wait_until(lambda pid=pid: not alive(pid))
    kinds = [event["type"] for event in lab.events()]
    assert kinds[:2] == ["session.start", "policy.applied"]
    assert "session.end" not in kinds


def test_what_outlives_the_agent_is_ended_before_the_last_pass(lab):
    done = lab.run("--", "sh", "-c", "(setsid sh -c 'sleep 5; echo late > late') & exit 0")
    assert done.exit_code == 0, done.said
    assert lab.events("proc.exit")[0]["leftover_processes"] >= 1
    assert [change["path"] for change in lab.events("fs.change")] == []
    assert not (lab.tree / "late").exists()


def test_a_typo_in_the_policy_starts_nothing_and_names_line_and_nearest_key(lab):
    (lab.tree / "p.toml").write_text('[caps]\nmax_usdd = "1.00"\n')
    done = lab.run("-p", "p.toml", "--", "touch", "ran")
    assert done.exit_code == 43, done.said
    assert "max_usdd" in done.stderr
    assert "line 2" in done.stderr
    assert "max_usd" in done.stderr.replace("max_usdd", "")
    assert not (lab.tree / "ran").exists()
    assert not lab.state.exists()


@pytest.mark.parametrize(
    "arguments",
    [(), ("--max-usd", "x", "--", "true"), ("--max-usd", "-1", "--", "true"), ("--upstream", "x", "--", "true"),
     ("--agent", "claud", "--", "true"), ("--cwd", "nowhere", "--", "true"), ("-p", "nowhere.toml", "--", "true"),
     ("--max-minutes", "nan", "--", "true"), ("--prices", "nowhere.json", "--", "true")],
)  # fmt: skip
def test_a_command_line_that_makes_no_sense_is_one_sentence(lab, arguments):
    done = lab.run(*arguments)
    assert done.exit_code in (2, 43, 75), done.said
    assert done.stderr.strip()
    assert not lab.state.exists()


def test_the_home_folder_is_refused_as_a_tree(lab):
    done = lab.run("--", "true", cwd=lab.root / "home")
    assert done.exit_code == 43, done.said
    assert str(lab.root / "home") in done.stderr


def test_two_runs_in_one_tree_at_once_both_end_with_their_own_receipts(lab):
    first = lab.start("run", "--", "sh", "-c", "sleep 0.5; echo a > a")
    second = lab.start("run", "--", "sh", "-c", "sleep 0.5; echo b > b")
    for process in (first, second):
        _, stderr = process.communicate(timeout=run_lab.SECONDS)
        assert process.returncode == 0, stderr
    numbers = {path.name for path in lab.receipts()}
    assert len(numbers) == 2
    for path in lab.receipts():
        assert lab.docket("verify", str(path)).exit_code == 0


def wait_for(path: Path) -> str:
    wait_until(lambda: path.exists() and path.read_text())
    return path.read_text()


def wait_until(holds) -> None:
    deadline = time.monotonic() + run_lab.SECONDS
    while not holds():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


def alive(pid: str) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z" and os.path.exists(f"/proc/{pid}")
