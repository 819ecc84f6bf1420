"""What a repository or its surroundings would have executed never is; runs and restores from within git's hooks."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from git_lab import GitLab, build, needs_git, standing

pytestmark = needs_git
HOOKS = (
    "pre-commit", "post-commit", "post-checkout", "post-index-change", "post-merge", "post-rewrite", "pre-auto-gc",
    "reference-transaction", "fsmonitor-watchman", "pre-push", "prepare-commit-msg", "commit-msg", "update",
)  # fmt: skip


def planted(repo: GitLab, marks: Path) -> dict[str, str]:
    """Have the repository name a program wherever git takes one; returns variables that name some more."""
    tools, hooks = marks.parent / "tools", marks.parent / "hooks"
    for folder in (marks, tools, hooks):
        folder.mkdir()

    def program(name: str, folder: Path = tools) -> str:
        path = folder / name
        path.write_text(f"#!/bin/sh\ntouch '{marks}/{name}'\ncat\nexit 0\n")
        path.chmod(0o755)
        return str(path)

    for hook in HOOKS:
        program(hook, hooks)
        program(hook, repo.tree / ".git/hooks")
    included = marks.parent / "included"
    included.write_text(f"[alias]\n\thidden = !{program('hidden-alias')}\n[core]\n\tpager = {program('pager')}\n")
    settings = {
        "core.hooksPath": str(hooks),
        "core.fsmonitor": program("fsmonitor"),
        "core.editor": program("editor"),
        "core.sshCommand": program("ssh"),
        "core.askPass": program("askpass"),
        "core.gitProxy": program("proxy"),
        "filter.f.clean": program("clean"),
        "filter.f.smudge": program("smudge"),
        "filter.f.required": "true",
        "diff.external": program("external-diff"),
        "diff.t.textconv": program("textconv"),
        "diff.t.command": program("diff-command"),
        "merge.f.driver": program("merge-driver"),
        "pager.diff": program("pager-diff"),
        "alias.st": f"!{program('alias')}",
        "gpg.program": program("gpg"),
        "commit.gpgSign": "true",
        "credential.helper": f"!{program('credentials')}",
        "uploadpack.packObjectsHook": program("pack-objects"),
        "include.path": str(included),
    }
    for name, value in settings.items():
        repo.git("config", name, value)
    (repo.tree / ".gitattributes").write_text("* filter=f diff=t merge=f\n")
    for name in ("git", "diff", "less"):
        program(name, repo.tree)
    return {name: program(name.lower()) for name in ("GIT_EXTERNAL_DIFF", "GIT_SSH_COMMAND", "PAGER", "GIT_PAGER")}


def test_nothing_that_a_repository_names_is_executed(repo: GitLab, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    variables = planted(repo, marks)
    repo = replace(repo, lab=replace(repo.lab, variables={**repo.lab.variables, **variables}))
    (repo.tree / "a").write_text("not committed\n")
    # They would be: git itself, told to do next to nothing, makes many of the marks.
    repo.git("diff", "--textconv", check=False)
    repo.git("add", "a", check=False)
    repo.git("st", check=False)
    made = {path.name for path in marks.iterdir()}
    assert {"fsmonitor", "clean", "diff-command", "post-index-change", "alias"} <= made
    for path in marks.iterdir():
        path.unlink()
    repo.ran("echo agent > a; rm gone; echo agent > n; echo '# agent' >> .git/config")
    record = json.loads(repo.lab.docket("restore", "--apply", "--json").stdout)["record"]
    for arguments in (
        ("restore", "--diff"),
        ("restore", "--redo", record, "--diff", "--apply"),
        ("restore", "--apply", "--force"),
        ("restore", "--apply", "--path", ".git"),
        ("snapshots", "verify"),
        ("snapshots", "prune", "--keep-last", "0"),
        ("verify", str(repo.lab.receipts()[0])),
        ("report", str(repo.lab.receipts()[0])),
        ("doctor",),
    ):
        repo.lab.docket(*arguments)
    breach = repo.lab.run("--rollback-on-breach", "--max-minutes", "0.02", "--", "sh", "-c", "echo b > a; sleep 60")
    assert (breach.exit_code, (repo.tree / "a").read_text()) == (42, "not committed\n"), breach.said
    assert list(marks.iterdir()) == []


HOOK = """#!/bin/sh
exec >> '{out}' 2>&1
env | grep '^GIT_' | sort
told() {{ find '{git}' -type f -printf '%p %m %i %T@\n' -exec sha256sum {{}} + | sort; }}
told > '{out}.before'
{docket} run --snapshot -q -- sh -ec 'echo agent > a; rm gone; echo agent > n' || exit 3
{docket} restore --apply || exit 4
{docket} snapshots verify || exit 5
told > '{out}.after'
exit 1
"""


@pytest.mark.parametrize("how", [(), ("d/x",)], ids=["whole", "one path"])
def test_a_hook_in_a_linked_worktree(repo: GitLab, tmp_path: Path, how: tuple[str, ...]) -> None:
    """Git gives its hooks GIT_DIR and an index of its own making; neither tree nor index may be taken from them."""
    linked, out = tmp_path / "linked", tmp_path / "out"
    repo.git("worktree", "add", "-q", str(linked), "-b", "linked")
    hook = repo.tree / ".git/hooks/pre-commit"
    hook.write_text(HOOK.format(out=out, git=repo.tree / ".git", docket=f"{sys.executable} -m docket"))
    hook.chmod(0o755)
    (linked / "a").write_text("staged\n")
    (linked / "d/x").write_text("edited\n")
    repo.git("add", "a", at=str(linked))
    (linked / "a").write_text("and edited\n")
    before, main = worktree(linked), repo.work()
    committing = ["git", "commit", "-q", "-m", "never", "--", *how][: None if how else -1]
    environment = {**repo.lab.environment(), "GIT_WORK_TREE": str(linked)} if not how else repo.lab.environment()
    done = subprocess.run(committing, cwd=linked, env=environment, capture_output=True, text=True, check=False)
    said = out.read_text()
    assert done.returncode == 1, (done.stderr, said)
    assert f"GIT_DIR={repo.tree}/.git/worktrees/linked" in said
    assert "GIT_INDEX_FILE=" in said
    assert "3 restored" in said, said
    assert worktree(linked) == before
    assert Path(f"{out}.after").read_text() == Path(f"{out}.before").read_text() != ""
    assert repo.work() == main, "the other worktree is another tree"
    assert repo.git("status", "--porcelain", at=str(linked)).splitlines() == ["MM a", " M d/x"]
    repo.assert_sound(".", str(linked))


def worktree(folder: Path) -> dict[str, tuple[str, ...]]:
    return {path: told.kept for path, told in standing(folder).items() if path.split("/")[0] != ".docket"}


def test_variables_that_point_into_another_repository(repo: GitLab, tmp_path: Path) -> None:
    """With them in the environment git would have written into the other repository, whatever its folder."""
    other = tmp_path / "other"
    repo.git("clone", "-q", ".", str(other))
    variables = {
        "GIT_DIR": str(other / ".git"),
        "GIT_INDEX_FILE": str(other / ".git/index"),
        "GIT_WORK_TREE": str(other),
        "GIT_OBJECT_DIRECTORY": str(other / ".git/objects"),
        "GIT_COMMON_DIR": str(other / ".git"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.bare",
        "GIT_CONFIG_VALUE_0": "true",
        "GIT_LITERAL_PATHSPECS": "1",
    }
    before, own, others = repo.work(), repo.own(), standing(other)
    misled = replace(repo, lab=replace(repo.lab, variables={**repo.lab.variables, **variables}))
    misled.ran("echo agent > a; rm gone; mkdir n; echo agent > n/x")
    assert misled.restored() == {
        "a": ("write", "applied"),
        "gone": ("recreate", "applied"),
        "n": ("remove", "applied"),
        "n/x": ("remove", "applied"),
    }
    assert (repo.work(), repo.own(), standing(other)) == (before, own, others)
    repo.assert_sound()


@pytest.fixture
def repo(tmp_path: Path) -> GitLab:
    return build(tmp_path)
