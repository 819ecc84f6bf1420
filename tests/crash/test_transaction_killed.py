"""A real docket killed at each durable step of `docket tx commit`, and of `docket tx recover`: the tree ends whole."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from run_lab import Done, RunLab, build
from tree_lab import plain, whole

# What a docket does first that kills itself right before the nth call that makes something durable or changes a name;
# or whose nth such call fails, where a number of an error is given.
PRELUDE = """
import atexit, os
at, told, code, done = {at}, {told!r}, {code}, 0
def counted(owner, name):
    call = getattr(owner, name)
    def made(*given, **named):
        global done
        done += 1
        if done == at + 1:
            if code:
                raise OSError(code, os.strerror(code))
            os.kill(os.getpid(), 9)
        return call(*given, **named)
    setattr(owner, name, made)
from docket.host.tree_calls import TreeCalls
for name in ("fsync", "fdatasync", "unlink", "rename", "rmdir", "mkdir"):
    counted(os, name)
for name in ("exchange", "rename_new", "sync_file_system", "chmod", "set_mtime"):
    counted(TreeCalls, name)
atexit.register(lambda: open(told, "w").write(str(done)))
"""
AGENT = """
echo two > changed; rm -r folder; echo file > folder; rm file; mkdir -p file/below; echo in > file/below/f
chmod 750 script; rm gone; ln -sf changed link; mkdir empty; ln changed twin; rm -r tree
"""


def standing_of(lab: RunLab) -> str:
    """How the one transaction stands, as its list tells."""
    (listed,) = json.loads(lab.docket("tx", "list", "--json").stdout)
    return listed["standing"]


def run_to_step(lab: RunLab, at: int, code: int, *command: str) -> Done:
    """Run a docket command that is killed at its durable step `at`, or fails there with `code`.

    One that comes to its end leaves the number of its steps in `count`.
    """
    told = str(lab.root / "count")
    Path(told).unlink(missing_ok=True)
    return lab.warm(*command, prelude=PRELUDE.format(at=at, told=told, code=code))


@dataclass
class Staged:
    """A closed transaction over a tree, and copies of both to begin anew from."""

    lab: RunLab
    before: dict
    after: dict

    def anew(self) -> None:
        """Put tree and state back as they were when the transaction was closed; the tree's own inode stays."""
        for item in list(self.lab.tree.iterdir()):
            if item.is_dir() and not item.is_symlink():
                shutil.rmtree(item)
            else:
                item.unlink()
        shutil.rmtree(self.lab.state)
        subprocess.run(["cp", "-a", f"{self.lab.root}/saved-tree/.", self.lab.tree], check=True)
        subprocess.run(["cp", "-a", self.lab.root / "saved-state", self.lab.state], check=True)
        for inodes in self.lab.state.glob("workspace-tx/*/base.directories"):
            inodes.unlink()  # the directories that stand there now are copies

    def killed(self, at: int, *command: str) -> bool:
        """Run a command that is killed at that step; say whether it came that far."""
        done = run_to_step(self.lab, at, 0, *command)
        assert done.exit_code in (0, -signal.SIGKILL), done
        return done.exit_code != 0

    def fails(self, at: int, code: int, *command: str) -> str:
        """Run a command of which that step fails; return what it said."""
        done = run_to_step(self.lab, at, code, *command)
        assert "Traceback" not in done.stderr, (at, done.stderr)
        assert done.exit_code in (0, 44, 75), (at, done)
        return done.stdout + done.stderr

    def now(self) -> dict:
        return tree_of(self.lab)

    def recovered(self) -> Done:
        return self.lab.docket("tx", "recover")

    def check(self) -> str:
        """The tree is whole, as the state says; nothing is left in it."""
        standing = standing_of(self.lab)
        assert self.now() == {"committed": self.after, "refused": self.before, "closed": self.before}[standing]
        assert not list(self.lab.tree.glob(".docket-apply-*"))
        assert not list(self.lab.state.glob("workspace-tx/*/journal"))
        if standing == "committed":
            documents = [json.loads(path.read_bytes()) for path in self.lab.state.glob("workspace-tx/*/records/*.json")]
            assert [document["committed"] for document in documents] == [True]
        return standing


def tree_of(lab: RunLab) -> dict:
    """Everything in the tree but docket's own evidence; a staging directory of docket's shows."""
    states = plain(whole(lab.tree))
    return {path: state for path, state in states.items() if path.split(b"/")[0] != b".docket"}


@pytest.fixture
def staged(tmp_path) -> Staged:
    lab = build(Path(os.path.realpath(tmp_path)))
    (lab.tree / "folder").mkdir()
    (lab.tree / "tree/deep").mkdir(parents=True)
    for name in ("changed", "folder/f", "file", "script", "gone", "tree/deep/f"):
        (lab.tree / name).write_text("one\n")
    (lab.tree / "link").symlink_to("gone")
    options = ("--workspace-tx", "--workspace-tx-backend", "copy", "--workspace-tx-settle", "review")
    done = lab.run(*options, "--", "sh", "-c", AGENT)
    assert done.exit_code == 0, done.said
    subprocess.run(["cp", "-a", lab.tree, lab.root / "saved-tree"], check=True)
    subprocess.run(["cp", "-a", lab.state, lab.root / "saved-state"], check=True)
    before = tree_of(lab)
    assert lab.docket("tx", "commit").exit_code == 0
    return Staged(lab, before, tree_of(lab))


def steps(staged: Staged, *command: str) -> int:
    """How many durable steps a command has."""
    assert not staged.killed(10**6, *command)
    return int((staged.lab.root / "count").read_text())


def sweep(staged: Staged, numbers) -> set[str]:
    ends = set()
    for at in numbers:
        staged.anew()
        assert staged.killed(at, "tx", "commit"), at
        done = staged.recovered()
        assert done.exit_code == 0, (at, done.said)
        ends.add(staged.check())
    return ends


def test_a_kill_at_some_durable_steps_of_a_commit(staged):
    staged.anew()
    count = steps(staged, "tx", "commit")
    assert staged.check() == "committed"
    assert sweep(staged, range(5, count, 14)) >= {"committed", "refused"}


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_a_kill_at_every_durable_step_of_a_commit(staged):
    staged.anew()
    assert sweep(staged, range(steps(staged, "tx", "commit"))) == {"closed", "committed", "refused"}


def sweep_failures(staged: Staged, code: int, numbers) -> None:
    for at in numbers:
        staged.anew()
        said = staged.fails(at, code, "tx", "commit")
        standing = standing_of(staged.lab)
        if standing == "interrupted-commit" or list(staged.lab.tree.glob(".docket-apply-*")):
            assert "docket tx recover" in said, (at, said)
        done = staged.recovered()
        assert done.exit_code == 0, (at, done.said)
        staged.check()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_failure_of_some_durable_steps_of_a_commit(staged, code):
    staged.anew()
    sweep_failures(staged, code, range(3 if code == errno.EIO else 8, steps(staged, "tx", "commit"), 31))


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_failure_of_every_durable_step_of_a_commit(staged, code):
    staged.anew()
    sweep_failures(staged, code, range(steps(staged, "tx", "commit")))


def sweep_recoveries(staged: Staged, at: int, stride: int) -> int:
    number, deaths = 0, 0
    while True:
        staged.anew()
        assert staged.killed(at, "tx", "commit")
        if not staged.killed(number, "tx", "recover"):
            staged.check()
            return deaths
        done = staged.recovered()
        assert done.exit_code == 0, (at, number, done.said)
        staged.check()
        number, deaths = number + stride, deaths + 1


def test_a_kill_of_the_recovery_too(staged):
    staged.anew()
    count = steps(staged, "tx", "commit")
    assert sweep_recoveries(staged, count * 3 // 5, 14) > 1


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("fifth", range(1, 5))
def test_a_kill_at_every_durable_step_of_the_recovery(staged, fifth):
    staged.anew()
    count = steps(staged, "tx", "commit")
    assert sweep_recoveries(staged, count * fifth // 5, 1) > 5


def test_until_it_is_recovered_nothing_begins_on_that_tree_from_any_state_folder(staged):
    staged.anew()
    count = steps(staged, "tx", "commit")
    staged.anew()
    assert staged.killed(count * 3 // 5, "tx", "commit")
    between = staged.now()
    assert standing_of(staged.lab) == "interrupted-commit"
    elsewhere = RunLab(root=staged.lab.root, variables={"DOCKET_STATE_DIR": str(staged.lab.root / "elsewhere")})
    for lab in (staged.lab, elsewhere):
        done = lab.run("--workspace-tx", "--workspace-tx-backend", "copy", "--", "true")
        assert done.exit_code == 43, done.said
        assert "docket tx recover" in done.stderr
    done = staged.lab.docket("tx", "commit")
    assert done.exit_code == 75
    assert "docket tx recover" in done.stderr
    done = elsewhere.docket("tx", "recover")
    assert done.exit_code == 1
    assert str(staged.lab.state) in done.stderr, "it is told which state folder has the journal"
    assert staged.now() == between, "nothing was repaired behind anybody's back"
    assert staged.lab.docket("tx", "recover", "--dry-run").exit_code == 0
    assert staged.now() == between
    done = staged.lab.docket("tx", "recover", "--json")
    assert done.exit_code == 0, done.said
    assert staged.check() == "committed"
    record = next(staged.lab.state.glob("workspace-tx/*/records/*-forward.json"))
    assert '"recovery": "forward"' in record.read_text()
    assert staged.lab.docket("tx", "recover").stdout == "nothing in this tree was interrupted\n"


def test_where_the_tree_of_an_interrupted_commit_is_gone_for_good_there_is_a_way_on(staged):
    lab = staged.lab
    staged.anew()
    count = steps(staged, "tx", "commit")
    staged.anew()
    assert staged.killed(count * 3 // 5, "tx", "commit")
    assert standing_of(lab) == "interrupted-commit"
    other = lab.tree.with_name("cloned")
    other.mkdir()  # while the tree still stands, so that it cannot get the number of its inode
    shutil.rmtree(lab.tree)
    other.rename(lab.tree)
    refused = lab.docket("tx", "recover")
    assert refused.exit_code == 75, refused.said
    (folder,) = re.findall(r"gone for good, remove (\S+), which", refused.stderr)
    shutil.rmtree(folder)
    again = lab.run("--workspace-tx", "--", "sh", "-c", "echo new > new.txt")
    assert again.exit_code == 0, again.said
    assert (lab.tree / "new.txt").read_text() == "new\n"
