"""Repositories for tests of runs and restores: real git, and what git, find and sha256sum say of a tree."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

import run_lab
from run_lab import Done, RunLab

needs_git = pytest.mark.skipif(
    any(shutil.which(name) is None for name in ("git", "find", "sha256sum")), reason="needs git and findutils"
)
CONFIG = """\
[user]
	name = p
	email = p@example.org
[init]
	defaultBranch = main
[advice]
	detachedHead = false
[protocol "file"]
	allow = always
[gc]
	auto = 0
"""
WHO = "git -c user.name=agent -c user.email=agent@example.org"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One thing in a tree as find tells it; `content` is a digest or a link's target."""

    kind: str
    mode: str
    content: str
    mtime: str
    inode: str

    @property
    def kept(self) -> tuple[str, ...]:
        """What a restore brings back: of a directory no time, of a link no mode."""
        return (self.kind, *((self.mode,) if self.kind == "d" else (self.mode, self.content, self.mtime)))


def standing(folder: Path) -> dict[str, Standing]:
    """Everything below a folder by its path, told by find and sha256sum; names that are no UTF-8 with surrogates."""
    fields = _records(["find", ".", "-mindepth", "1", "-printf", r"%P\0%y\0%m\0%l\0%T@\0%i\0"], folder)
    sums = _records(["find", ".", "-type", "f", "-exec", "sha256sum", "-z", "--", "{}", "+"], folder)
    digests = {line[68:]: line[:64] for line in sums}
    found = {}
    for path, kind, mode, target, mtime, inode in zip(*(fields[start::6] for start in range(6)), strict=True):
        content = digests[path] if kind == "f" else target
        found[path] = Standing(kind=kind, mode=mode, content=content, mtime=mtime, inode=inode)
    return found


def _records(command: list[str], folder: Path) -> list[str]:
    done = subprocess.run(command, cwd=folder, capture_output=True, check=True)
    return done.stdout.decode(errors="surrogateescape").split("\0")[:-1]


def build(root: Path, **variables: str) -> GitLab:
    """Make a lab whose tree is a repository with one commit: `a`, `d/x`, `gone`, and rules for what is ignored."""
    lab = run_lab.build(root, GIT_OPTIONAL_LOCKS="0", **variables)
    (root / "home/.gitconfig").write_text(CONFIG)
    made = GitLab(lab=lab)
    made.git("init", "-q")
    (lab.tree / "d").mkdir()
    for name in ("a", "d/x", "gone"):
        (lab.tree / name).write_text(f"{name}\n")
    (lab.tree / ".gitignore").write_text(".docket\n*.log\n")
    made.git("add", ".")
    made.git("commit", "-q", "-m", "one")
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class GitLab:
    """A tree to run in that is a repository."""

    lab: RunLab

    @property
    def tree(self) -> Path:
        """The agent's folder."""
        return self.lab.tree

    def git(self, *arguments: str, at: str = ".", check: bool = True) -> str:
        """What git says, run as the person would."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.tree / at,
            env=self.lab.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def ran(self, script: str, *flags: str) -> None:
        """An agent did this, with a snapshot."""
        done = self.lab.run("--snapshot", "-q", *flags, "--", "sh", "-ec", script)
        assert done.exit_code == 0, done.said

    def restored(self, *arguments: str, code: int = 0) -> dict[str, tuple[str, str | None]]:
        """Restore; verb and status of each path."""
        done = self.lab.docket("restore", "--apply", "--json", *arguments)
        assert done.exit_code == code, done.said
        return verbs(done)

    def own(self, at: str = ".git") -> dict[str, Standing]:
        """Git's own files of one repository, whole."""
        return standing(self.tree / at)

    def work(self) -> dict[str, tuple[str, ...]]:
        """The person's files: all that is neither git's nor docket's."""
        return {
            path: found.kept
            for path, found in standing(self.tree).items()
            if not {".git", ".docket"} & set(path.split("/"))
        }

    def assert_sound(self, *folders: str) -> None:
        """Git finds nothing missing or broken in a repository."""
        for at in folders or (".",):
            said = self.git("fsck", "--full", "--strict", "--no-dangling", at=at)
            assert [line for line in said.splitlines() if not line.startswith("notice: ")] == [], (at, said)


def verbs(done: Done) -> dict[str, tuple[str, str | None]]:
    """Verb and status of each path of a restore told as JSON."""
    return {item["path"]: (item["verb"], item["status"]) for item in json.loads(done.stdout)["paths"]}
