"""Repositories, stages and commits for the tests of git in a transaction; git itself is the judge."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from docket.engines.observe import ObserveWorld, observe_tree
from docket.engines.transaction.backends.copy import CopyBackend
from docket.engines.transaction.backends.interface import Backend
from docket.engines.transaction.closing import ClosedTransaction, close_transaction
from docket.engines.transaction.committing import CommitOutcome, CommitRequest, Committed, commit_transaction
from docket.engines.transaction.opening import open_transaction
from docket.engines.transaction.world import OpenRequest, OpenTransaction, TransactionWorld
from docket.formats.workspace.state import SurfaceRules
from docket.host.clock import SystemClock
from docket.host.ids import SystemIds
from docket.stores.workspace.transactions import Transactions

WORDS = ("git", "-c", "user.name=a", "-c", "user.email=a@example.invalid", "-c", "protocol.file.allow=always")


def environment(home: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_EDITOR": "true",
        "LC_ALL": "C",
    }


def git(folder: Path, *words: str, check: bool = True) -> str:
    done = subprocess.run(
        [*WORDS, *words], cwd=folder, env=environment(folder), check=False, capture_output=True, text=True, timeout=60
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout + ("" if check else done.stderr)


def commit(folder: Path, message: str, **files: str) -> None:
    for name, text in files.items():
        (folder / name).write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)


def make_repository(folder: Path, *options: str) -> Path:
    """A repository with two commits, a branch, a subfolder and something that is not tracked."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main", *options)
    (folder / "dir").mkdir()
    (folder / "dir/deep").write_text("deep\n")
    (folder / ".gitignore").write_text("built\n")
    (folder / "built").write_text("built\n")
    commit(folder, "first", one="1\n", two="2\n")
    git(folder, "branch", "side")
    commit(folder, "second", one="11\n")
    return folder


def copy_of(template: Path, folder: Path) -> Path:
    """A copy whose index knows its files."""
    shutil.copytree(template, folder, symlinks=True)
    git(folder, "status", "--short")
    return folder


def log(folder: Path, *more: str) -> list[str]:
    return git(folder, "log", "--format=%s", *more).split("\n")[:-1]


def status(folder: Path) -> str:
    """What a look says, from git that re-reads what it does not know, with the index left alone."""
    return git(folder, "--no-optional-locks", "status", "--porcelain=v2")


def check(folder: Path) -> None:
    said = subprocess.run(
        [*WORDS, "fsck", "--strict", "--no-dangling"],
        cwd=folder, env=environment(folder), check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert (said.returncode, said.stdout) == (0, ""), said


@dataclass
class Work:
    """One transaction over `base`; `stage` is where its agent works."""

    base: Path
    world: TransactionWorld
    opened: OpenTransaction

    @property
    def stage(self) -> Path:
        return self.opened.stage.root

    def close(self) -> ClosedTransaction:
        return close_transaction(self.opened, self.world)

    def land(self) -> CommitOutcome:
        return commit_transaction(CommitRequest(closed=self.close()), self.world)

    def landed(self) -> Committed:
        outcome = self.land()
        assert isinstance(outcome, Committed), outcome
        return outcome

    def changed(self) -> list[str]:
        return [str(change.path) for change in self.close().found.change_set.changes]


def world_in(state: Path, backend: Backend | None = None) -> TransactionWorld:
    around = ObserveWorld(copies=0)
    return TransactionWorld(
        observe=lambda request: observe_tree(request, around),
        clock=SystemClock(),
        ids=SystemIds(),
        transactions=Transactions(state / "workspace-tx"),
        backends=(backend or CopyBackend(),),
    )


def begin(base: Path, state: Path, backend: Backend | None = None, **rules: tuple[str, ...]) -> Work:
    world = world_in(state, backend)
    opened = open_transaction(OpenRequest(base=base, rules=SurfaceRules(**rules)), world)
    assert isinstance(opened, OpenTransaction), opened
    return Work(base, world, opened)
