"""A run on an overlay reads nothing of the tree but what its agent changed, and its record says what it covers."""

import hashlib
import time
from pathlib import Path

import pytest

import run_lab
from docket.engines.transaction.backends.interface import Refused
from docket.engines.transaction.backends.overlay import OverlayBackend

SETTLING_SECONDS = 0.1
FILES = ("a", "b", "c", "d")


@pytest.fixture
def lab(tmp_path: Path) -> run_lab.RunLab:
    made = run_lab.RunLab(root=tmp_path)
    for folder in (made.tree, made.state, tmp_path / "home"):
        folder.mkdir(exist_ok=True)
    found = OverlayBackend().probe(made.tree, made.state)
    if isinstance(found, Refused):
        pytest.skip(found.detail)
    for name in FILES:
        (made.tree / name).write_text(f"{name}\n")
    time.sleep(SETTLING_SECONDS)
    return made


def staged(lab: run_lab.RunLab, script: str, *flags: str) -> run_lab.Done:
    return lab.run("--workspace-tx", "--workspace-tx-backend", "overlay", *flags, "--", "sh", "-c", script)


def test_what_the_agent_changed_is_told_as_if_all_had_been_read(lab: run_lab.RunLab) -> None:
    done = staged(lab, "echo new > a; touch b; rm c; : > e")
    assert done.exit_code == 0, done.said
    changes = {event["path"]: event for event in lab.events("fs.change")}
    told = {path: change["before"]["sha256"] for path, change in changes.items() if "before" in change}
    assert told == {name: hashlib.sha256(f"{name}\n".encode()).hexdigest() for name in ("a", "c")}
    assert set(changes) == {"a", "c", "e"}
    workspace, passes = lab.receipt()["workspace"], lab.receipt()["files"]["passes"]
    assert (workspace["digests_cover"], workspace["unread"], workspace["base_moved"]) == ("changes", 4, False)
    assert (passes["before"]["unread"], passes["after"]["unread"]) == (4, 2)
    assert lab.verdict()["verdict"] == "consistent"


def test_a_run_that_changes_nothing_leaves_the_digests_alike(lab: run_lab.RunLab) -> None:
    done = staged(lab, "touch a; cat b; chmod 600 c; chmod 644 c")
    assert done.exit_code == 0, done.said
    receipt = lab.receipt()
    assert receipt["workspace"]["base_sha256"] == receipt["workspace"]["result_sha256"]
    assert receipt["files"]["passes"]["before"]["tree_sha256"] == receipt["files"]["passes"]["after"]["tree_sha256"]
    assert receipt["files"]["changed"] == 0


def test_a_file_that_somebody_changed_meanwhile_refuses_the_commit(lab: run_lab.RunLab) -> None:
    # Beside the tree both see the same; in it the agent has its stage, and the person the tree.
    ready, go = lab.root / "ready", lab.root / "go"
    script = (
        f"echo agent > a; echo agent > b; : > {ready}; for _ in $(seq 600); do test -e {go} && exit; sleep 0.05; done"
    )
    arguments = ("run", "--workspace-tx", "--workspace-tx-backend", "overlay", "--", "sh", "-c", script)
    with lab.start(*arguments) as agent:
        while agent.poll() is None and not ready.exists():
            time.sleep(0.02)
        (lab.tree / "a").write_text("A\n")
        (lab.tree / "d").write_text("D\n")
        go.touch()
        said = agent.communicate(timeout=60)
    assert agent.returncode == 44, said
    assert [(lab.tree / name).read_text() for name in FILES] == ["A\n", "b\n", "c\n", "D\n"]
    workspace = lab.receipt()["workspace"]
    assert (workspace["reason"], workspace["base_moved"]) == ("base-drift", True)
    assert [item["path"] for item in workspace["refusals"]] == ["a"]
    changes = {event["path"]: event for event in lab.events("fs.change")}
    assert "sha256" not in changes["a"]["before"]
    assert changes["b"]["before"]["sha256"] == hashlib.sha256(b"b\n").hexdigest()
    assert lab.verdict()["verdict"] == "consistent"


def test_a_run_that_keeps_contents_has_read_everything(lab: run_lab.RunLab) -> None:
    done = staged(lab, "echo new > a", "--snapshot")
    assert done.exit_code == 0, done.said
    assert "digests_cover" not in lab.receipt()["workspace"]
    assert "unread" not in lab.receipt()["files"]["passes"]["before"]
