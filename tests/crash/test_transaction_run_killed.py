"""A real `docket run` that commits its stage, killed or failing at its durable steps: the tree ends whole, the record
of the run claims no more than is known, and no run begins on that tree before a recovery has ended it."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from test_transaction_killed import run_to_step, tree_of

from run_lab import Done, RunLab, build

OPTIONS = ("--workspace-tx", "--workspace-tx-backend", "copy")
AGENT = "echo two > changed; rm -r tree; mkdir -p made/in; echo new > made/in/f; chmod 750 script; ln -sf made link"
COMMAND = ("run", *OPTIONS, "--", "sh", "-c", AGENT)
OUTCOMES = ("committed", "refused", "discarded", "interrupted", "unsettled")


@dataclass
class Place:
    """A tree and a state folder to begin anew in, and the two sides of what the agent does."""

    lab: RunLab
    before: dict
    after: dict
    count: int = 0

    def anew(self) -> None:
        shutil.rmtree(self.lab.state, ignore_errors=True)
        subprocess.run(["rm", "-rf", self.lab.tree], check=True)
        subprocess.run(["cp", "-a", self.lab.root / "saved", self.lab.tree], check=True)

    def run(self, at: int, code: int = 0) -> Done:
        """Run it, killed at that step or with that step failing."""
        return run_to_step(self.lab, at, code, *COMMAND)

    def steps(self) -> int:
        """How many durable steps such a run has."""
        if not self.count:
            self.anew()
            done = self.run(10**6)
            assert done.exit_code == 0, done
            self.count = int((self.lab.root / "count").read_text())
        return self.count


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Place:
    """One for all, for each life begins with a tree and a state of its own."""
    lab = build(Path(os.path.realpath(tmp_path_factory.mktemp("run"))))
    (lab.tree / "tree").mkdir()
    for name in ("changed", "script", "tree/f"):
        (lab.tree / name).write_text("one\n")
    (lab.tree / "link").symlink_to("changed")
    before = tree_of(lab)
    subprocess.run(["cp", "-a", lab.tree, lab.root / "saved"], check=True)
    assert lab.docket(*COMMAND).exit_code == 0
    return Place(lab, before, tree_of(lab))


def statuses(lab: RunLab) -> list[str]:
    """How the transactions stand, as their states say; whoever worked on them is dead."""
    return [json.loads(path.read_text())["status"] for path in lab.state.glob("workspace-tx/*/tx.json")]


def is_cut_short(lab: RunLab) -> bool:
    return "committing" in statuses(lab) or bool(list(lab.tree.glob(".docket-apply-*")))


def check(place: Place, at: int) -> str | None:
    """Nothing begins before the recovery; afterwards the tree is on the side that the state names."""
    lab = place.lab
    if is_cut_short(lab):
        done = lab.run(*OPTIONS, "--", "true")
        assert done.exit_code == 43, (at, done.said)
        assert "docket tx recover" in done.stderr, (at, done.said)
    done = lab.docket("tx", "recover")
    assert done.exit_code == 0, (at, done.said)
    assert lab.docket("recover").exit_code == 0
    landed = "committed" in statuses(lab)
    assert tree_of(lab) == (place.after if landed else place.before), at
    assert not list(lab.tree.glob(".docket-apply-*")), at
    assert not list(lab.state.glob("workspace-tx/*/journal")), at
    return told(lab, at, landed=landed)


def told(lab: RunLab, at: int, *, landed: bool) -> str | None:
    """What the first run's receipt says is true; None where it was killed before it had one."""
    receipts = [json.loads(path.read_text()) for path in lab.receipts()]
    members = [receipt["workspace"] for receipt in receipts if receipt.get("workspace", {}).get("transaction")]
    if not members:
        return None
    member = members[0]
    assert member["outcome"] in OUTCOMES, (at, member)
    assert member["committed"] is (member["outcome"] == "committed")
    if member["outcome"] == "committed":
        assert landed, at
    if member["outcome"] in ("refused", "discarded"):
        assert not landed, at
    done = lab.docket("verify", *lab.receipts()[:1])
    assert done.exit_code in (0, 1), (at, done.said)
    assert "session-shape: fail" not in done.said, (at, done.said)
    return str(member["outcome"])


def sweep_kills(place: Place, numbers) -> set[str | None]:
    ends = set()
    for at in numbers:
        place.anew()
        assert place.run(at).exit_code == -signal.SIGKILL, at
        ends.add(check(place, at))
    return ends


def sweep_failures(place: Place, code: int, numbers) -> set[str | None]:
    ends = set()
    for at in numbers:
        place.anew()
        done = place.run(at, code)
        assert "Traceback" not in done.stderr, (at, done.stderr)
        if is_cut_short(place.lab):
            assert "docket tx recover" in done.stderr, (at, done.stderr)
        ends.add(check(place, at))
    return ends


def test_a_kill_at_some_durable_steps_of_a_run_that_commits(place):
    count = place.steps()
    assert "unsettled" in sweep_kills(place, range(count * 5 // 8, count, max(count // 6, 1)))


def test_a_failure_of_some_durable_steps_of_a_run_that_commits(place):
    count = place.steps()
    sweep_failures(place, errno.EIO, range(count * 2 // 3, count, max(count // 5, 1)))


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_a_kill_at_every_durable_step_of_a_run_that_commits(place):
    assert sweep_kills(place, range(place.steps())) >= {"unsettled", "committed", None}


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_failure_of_every_durable_step_of_a_run_that_commits(place, code):
    sweep_failures(place, code, range(place.steps()))
