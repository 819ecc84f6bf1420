"""`--rollback-on-breach` in every way it can end, and what the receipt and the summary say of it."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import pytest

from run_lab import Done, RunLab, build

CAP = ("--max-minutes", "0.02")


@pytest.fixture
def lab(tmp_path: Path) -> RunLab:
    made = build(tmp_path)
    for name in ("a", "b"):
        (made.tree / name).write_text("before\n")
    return made


def standing(lab: RunLab) -> dict[str, str]:
    return {path.name: path.read_text() for path in lab.tree.iterdir() if path.is_file()}


def breached(lab: RunLab, script: str, *flags: str) -> tuple[Done, dict[str, Any]]:
    done = lab.run("--rollback-on-breach", *CAP, *flags, "--", "sh", "-c", script)
    assert done.exit_code == 42, done.said
    assert lab.verdict()["verdict"] == "consistent"
    said: dict[str, Any] = lab.receipt()["ops"]["rollback"]
    return done, said


def test_a_child_in_the_background_that_is_still_writing_is_gone_first(lab: RunLab) -> None:
    writer = "setsid sh -c 'while :; do echo more >> a; echo more > made; done' &"
    script = f"{writer} setsid sh -c 'while :; do :> b; done' & sleep 60"
    done, said = breached(lab, script)
    assert (said["applied"], said["restored"], said["refused"]) == (True, 3, 0)
    assert standing(lab) == {"a": "before\n", "b": "before\n"}
    assert "rollback: 3 paths put back" in done.stderr
    time.sleep(0.3)
    assert standing(lab) == {"a": "before\n", "b": "before\n"}, "nobody goes on writing"


def test_what_the_snapshot_does_not_hold_is_no_rollback_and_said(lab: RunLab) -> None:
    (lab.tree / "large").write_text("larger than the cap")
    done, said = breached(lab, "echo after > large; sleep 60", "--snapshot-max-file-bytes", "10")
    assert (said["applied"], said["reason"]) == (False, "too-large")
    assert "large" in said["detail"]
    assert "rollback: refused: nothing was put back: large" in done.stderr
    assert (lab.tree / "large").read_text() == "after\n"


def test_a_part_that_cannot_be_put_back_is_named(lab: RunLab) -> None:
    (lab.tree / "large").write_text("larger than the cap")
    done, said = breached(lab, "echo after > large; echo after > a; sleep 60", "--snapshot-max-file-bytes", "10")
    assert (said["applied"], said["restored"], said["not_covered"]) == (True, 1, 1)
    assert said["refusals"] == [
        {"path": "large", "reason": "too-large", **{k: v for k, v in said["refusals"][0].items() if k == "detail"}}
    ]
    assert "rollback: 1 path put back, 1 not in the snapshot" in done.stderr
    assert standing(lab) == {"a": "before\n", "b": "before\n", "large": "after\n"}


def test_a_policy_asks_for_it_as_the_flag_does(lab: RunLab) -> None:
    policy = lab.root / "policy.toml"
    policy.write_text("[snapshot]\nrollback_on_breach = true\n")
    done = lab.run("--policy", str(policy), *CAP, "--", "sh", "-c", "echo after > a; sleep 60")
    assert (done.exit_code, standing(lab)["a"]) == (42, "before\n"), done.said
    assert lab.verdict()["verdict"] == "consistent"
    done = lab.run("--policy", str(policy), "--no-snapshot", *CAP, "--", "sh", "-c", "echo after > a; sleep 60")
    assert (done.exit_code, standing(lab)["a"]) == (42, "after\n"), done.said


def test_a_file_in_the_tree_never_rolls_the_tree_back(lab: RunLab) -> None:
    (lab.tree / "docket.toml").write_text("[snapshot]\nrollback_on_breach = true\n")
    done = lab.run(*CAP, "--", "sh", "-c", "echo after > a; sleep 60")
    assert (done.exit_code, standing(lab)["a"]) == (42, "after\n"), done.said
    assert "snapshot.rollback_on_breach = true is not followed" in done.stderr
    assert lab.receipt()["ops"]["snapshot"]["taken"] is True, "keeping contents is the tighter way"


def test_signals_while_the_tree_is_put_back_take_nothing_from_it(lab: RunLab) -> None:
    for number in range(400):
        (lab.tree / f"f{number}").write_text("before\n")
    before = standing(lab)
    script = "for f in *; do echo after > $f; done; sleep 60"
    arguments = ("--rollback-on-breach", "--max-minutes", "0.05", "--", "sh", "-c", script)
    with lab.start("run", *arguments) as process:
        deadline = time.monotonic() + lab.seconds
        while not list(lab.tree.glob(".docket-apply-*")) and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.005)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
            if process.poll() is None:
                process.send_signal(number)
        _, said = process.communicate(timeout=lab.seconds)
    assert process.returncode == 42, said
    assert standing(lab) == before
    assert lab.receipt()["ops"]["rollback"]["applied"] is True
    assert lab.verdict()["verdict"] == "consistent"


def test_a_hook_that_was_planted_stays_and_is_called_what_it_is(lab: RunLab) -> None:
    (lab.tree / ".git" / "hooks").mkdir(parents=True)
    done, said = breached(lab, "echo after > a; cd .git/hooks; echo x > pre-commit; chmod +x pre-commit; sleep 60")
    assert (said["applied"], said["restored"], said["kept"]) == (True, 1, 1)
    assert "warning: the run added a program that git will execute: .git/hooks/pre-commit" in done.stderr
