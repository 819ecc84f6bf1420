"""Restores in repositories: a person's work and git's own files, judged by git, find and sha256sum."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_lab import WHO, GitLab, build, needs_git, standing

pytestmark = needs_git
POLICY = '[files]\nignore = ["kept.bin"]\n'


@pytest.fixture
def repo(tmp_path: Path) -> GitLab:
    return build(tmp_path)


def test_what_a_person_did_before_and_after_the_run_is_all_there(repo: GitLab) -> None:
    tree = repo.tree
    mine = {"edited": "before\n", "staged": "before\n", "both": "before\n"}
    for name, text in mine.items():
        (tree / name).write_text(text)
    repo.git("add", *mine)
    repo.git("commit", "-q", "-m", "two")
    (tree / "edited").write_text("not staged\n")
    (tree / "staged").write_text("staged\n")
    (tree / "both").write_text("staged\n")
    repo.git("add", "staged", "both")
    (tree / "both").write_text("and edited\n")
    (tree / "ignored.log").write_text("ignored\n")
    (tree / ".env").write_text("hidden by a rule that is not committed\n")
    (tree / ".git/info/exclude").write_text(".env\n")
    (tree / "large").write_bytes(b"l" * 5000)
    (tree / "kept.bin").write_bytes(b"no rule leaves it out yet")
    before, own = repo.work(), repo.own()
    repo.ran(
        "for f in edited staged both ignored.log .env kept.bin; do echo agent > $f; done; rm gone; mkdir made;"
        " echo agent > made/here; printf '*\\n' > .gitignore; printf 'made' >> .git/info/exclude",
        "--snapshot-max-file-bytes", "4000",
    )  # fmt: skip
    own = {**own, "info/exclude": repo.own()["info/exclude"]}
    # Since: a person goes on, and a rule of the project leaves out what the run changed.
    (tree / "made/mine").write_text("mine\n")
    (tree / "later.log").write_text("mine, and ignored\n")
    (tree / "d/x").write_text("mine\n")
    (tree / "large").write_bytes(b"mine" * 2000)
    (tree / "docket.toml").write_text(POLICY)
    found = repo.restored(code=1)
    assert found["made/here"] == ("remove", "applied")
    assert found["made"] == ("remove", "refused")
    theirs = {"made", "made/mine", "later.log", "d/x", "large", "docket.toml"}
    after = repo.work()
    assert {path: told for path, told in after.items() if path not in theirs} == {
        path: told for path, told in before.items() if path not in theirs
    }
    assert (tree / "made/mine").read_text() == (tree / "d/x").read_text() == "mine\n"
    assert (tree / "later.log").read_text() == "mine, and ignored\n"
    assert (tree / "large").read_bytes() == b"mine" * 2000
    assert repo.own() == own, "not a byte of git's own moved"
    status = repo.git("status", "--porcelain", "--", "edited", "staged", "both", "gone", "d")
    assert status.splitlines() == ["MM both", " M d/x", " M edited", "M  staged"]
    assert repo.git("show", ":staged") == repo.git("show", ":both") == "staged\n"
    repo.assert_sound()


def test_what_a_person_committed_since_the_run_stays(repo: GitLab) -> None:
    repo.ran("echo agent > a; echo agent > new; echo agent > d/x")
    (repo.tree / "a").write_text("mine upon it\n")
    repo.git("add", "a", "new")
    repo.git("commit", "-q", "-m", "mine")
    (repo.tree / "new").write_text("and on\n")
    head, own = repo.git("rev-parse", "HEAD"), repo.own()
    found = repo.restored(code=1)
    assert found == {"a": ("write", "refused"), "new": ("remove", "refused"), "d/x": ("write", "applied")}
    assert ((repo.tree / "a").read_text(), (repo.tree / "new").read_text()) == ("mine upon it\n", "and on\n")
    assert (repo.git("rev-parse", "HEAD"), repo.own()) == (head, own)
    repo.assert_sound()


AGENTS = {
    "commits": f"echo 1 > a; echo 1 > n; git add n; {WHO} commit -qam agent; rm n",
    "amends": f"echo 1 > a; {WHO} commit -qa --amend -m agent",
    "rebases": f"{WHO} checkout -q -b t; echo 1 > n; git add n; {WHO} commit -qm n; echo 2 > d/x; {WHO} commit -qam x; "
    f"{WHO} checkout -q main; echo 3 > a; {WHO} commit -qam m; {WHO} checkout -q t; {WHO} rebase -q main",
    "leaves a rebase unfinished": f"echo 1 > a; {WHO} commit -qam m; {WHO} checkout -q -b t HEAD^; echo 2 > a;"
    f" {WHO} commit -qam t; {WHO} rebase -q main 2>&1 || true",
    "checks out another branch": "git checkout -q -f other",
    "detaches": f"{WHO} commit -q --allow-empty -m e; git checkout -q --detach; rm d/x",
    "stashes": f"echo 1 > a; echo 1 > n; {WHO} stash push -q -u -a 2>&1",
    "cleans": "git clean -q -fdx -e .docket",
    "resets": "echo 1 > n; git add n; git reset -q --hard",
    "removes the index": "rm .git/index; echo 1 > a",
    "removes git": "rm -rf .git; echo 1 > a",
    "begins anew": f"rm -rf .git d; git init -q; git add a; {WHO} commit -qm anew; echo 1 > a",
    "packs all": f"echo 1 > a; {WHO} commit -qam m; git reflog expire --expire=now --all; git gc -q --prune=now",
    "adds a worktree": f"{WHO} worktree add -q wt -b wt; echo 1 > wt/a; {WHO} -C wt commit -qam wt",
}


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_that_uses_git_is_undone_and_its_git_stays(repo: GitLab, agent: str) -> None:
    tree = repo.tree
    repo.git("branch", "other")
    repo.git("switch", "-q", "other")
    (tree / "a").write_text("other\n")
    repo.git("rm", "-q", "gone")
    repo.git("commit", "-qam", "other")
    repo.git("switch", "-q", "main")
    (tree / "d/x").write_text("not committed\n")
    (tree / "ignored.log").write_text("ignored\n")
    (tree / "untracked").write_text("untracked\n")
    if agent in ("rebases", "adds a worktree", "leaves a rebase unfinished", "detaches"):
        repo.git("commit", "-qam", "no longer uncommitted")
    before = repo.work()
    repo.ran(AGENTS[agent])
    has_git = (tree / ".git").exists()
    own = repo.own() if has_git else None
    repo.restored()
    after = repo.work()
    # What git wrote anew with the same content has a new time: that alone is no change.
    told_apart = {"adds a worktree": {"wt"}, "stashes": {"a"}}.get(agent, set())
    assert {path: told for path, told in after.items() if path not in told_apart} == {
        path: told for path, told in before.items() if path not in told_apart
    }
    assert (tree / "a").read_text() == "a\n"
    assert (tree / ".git").exists() == has_git
    if has_git:
        assert repo.own() == own, "git is as the agent left it"
        repo.assert_sound()


def test_gits_own_files_come_back_where_they_are_named(repo: GitLab) -> None:
    (repo.tree / "a").write_text("staged\n")
    repo.git("add", "a")
    before, status, refs = repo.own(), repo.git("status", "--porcelain"), repo.git("show-ref", "--head")
    repo.ran(f"{WHO} commit -qam agent; git branch more; git tag t; git config x.y z; git pack-refs --all")
    repo.restored("--path", ".git")
    assert (repo.git("status", "--porcelain"), repo.git("show-ref", "--head")) == (status, refs)
    # Objects are git's to keep: what the agent stored stays, and nobody refers to it.
    stored = {path for path in repo.own() if path.startswith("objects/")}
    after = repo.own()
    assert {path: after[path].kept for path in after if path not in stored} == {
        path: told.kept for path, told in before.items() if not path.startswith("objects/")
    }
    repo.assert_sound()


def test_of_a_removed_repository_the_objects_are_told_to_be_lost(repo: GitLab) -> None:
    repo.ran("rm -rf .git; echo agent > a")
    found = repo.restored("--path", ".git", code=1)
    assert found[".git/HEAD"] == ("recreate", "applied")
    assert found[".git/objects"] == ("not-covered", None)
    shown = repo.lab.docket("restore", "--path", ".git")
    assert (shown.exit_code, ".git/objects" in shown.stdout) == (1, True), shown.said
    assert shown.stdout.splitlines()[-1] == "1 path would NOT be back as before the run: 1 not in the snapshot"


def test_what_gc_prunes_no_restore_needs(repo: GitLab) -> None:
    tree = repo.tree
    (tree / "a").write_text("staged and never committed\n")
    repo.git("add", "a")
    (tree / "new").write_text("stashed later\n")
    before = repo.work()
    repo.ran(f"git rm -q --cached a; rm a new; git add -A; {WHO} commit -q --amend -m agent")
    repo.git("reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    repo.git("prune", "--expire=now")
    repo.restored()
    assert repo.work() == before
    repo.assert_sound()


@pytest.mark.parametrize("mode", ["--cone", "--no-cone"])
def test_a_sparse_checkout_is_no_deletion(repo: GitLab, mode: str) -> None:
    for name in ("in/x", "in/y", "out/x", "out/y"):
        (repo.tree / name).parent.mkdir(exist_ok=True)
        (repo.tree / name).write_text(f"{name}\n")
    repo.git("add", ".")
    repo.git("commit", "-q", "-m", "two")
    repo.git("sparse-checkout", "set", mode, "in" if mode == "--cone" else "/in/")
    assert not (repo.tree / "out").exists()
    before, flags = repo.work(), repo.git("ls-files", "-t")
    # Something of a folder that is not checked out turns up, as it does after a merge; it is the agent's.
    repo.ran("echo agent > in/x; rm in/y; mkdir out; echo agent > out/x; git status -s > /dev/null")
    repo.restored()
    assert repo.work() == before
    assert repo.git("ls-files", "-t") == flags
    assert repo.git("status", "--porcelain") == ""
    repo.assert_sound()
    repo.git("sparse-checkout", "disable")
    assert (repo.tree / "out/x").read_text() == "out/x\n"


def surroundings(repo: GitLab, outside: Path) -> dict[str, str]:
    """Fill the tree with every kind of repository; returns the folders of git's own by the work that uses them."""
    tree = repo.tree
    for name in ("library", "other"):
        repo.git("init", "-q", str(outside / name))
        (outside / name / "l").write_text("l\n")
        repo.git("add", ".", at=str(outside / name))
        repo.git("commit", "-q", "-m", "l", at=str(outside / name))
    repo.git("submodule", "--quiet", "add", str(outside / "library"), "sub")
    repo.git("submodule", "--quiet", "add", str(outside / "other"), "asleep")
    repo.git("commit", "-q", "-m", "submodules")
    repo.git("submodule", "--quiet", "deinit", "-f", "asleep")
    repo.git("clone", "-q", str(outside / "library"), str(tree / "nested"))
    repo.git("init", "-q", "unborn")
    (tree / "unborn/u").write_text("u\n")
    repo.git("worktree", "add", "-q", "linked", "-b", "linked")
    repo.git("clone", "-q", "--bare", ".", "bare.git")
    repo.git("clone", "-q", "--bare", ".", "mirror")
    repo.git("clone", "-q", f"--separate-git-dir={outside / 'apart'}", str(outside / "library"), "elsewhere")
    repo.git("clone", "-q", f"--separate-git-dir={tree / 'beside'}", str(outside / "library"), "sep")
    repo.git("clone", "-q", "--shared", str(outside / "library"), "shared")
    return {
        ".": ".git",
        "sub": ".git/modules/sub",
        "nested": "nested/.git",
        "linked": ".git/worktrees/linked",
        "elsewhere": str(outside / "apart"),
        "sep": "beside",
        "shared": "shared/.git",
    }


def test_every_kind_of_repository_in_one_tree(repo: GitLab, tmp_path: Path) -> None:
    tree, outside = repo.tree, tmp_path / "outside"
    outside.mkdir()
    homes = surroundings(repo, outside)
    works = [at for at in homes if at != "."]
    for at in works:
        (tree / at / "dirty").write_text("mine, of no commit\n")
    (tree / "sub/l").write_text("a dirty submodule\n")
    before, asleep = repo.work(), repo.git("submodule", "status")
    lines = [
        f"cd {at}; echo agent > l; echo agent > more; rm dirty; git add -A; {WHO} commit -qm agent; rm l; cd .."
        for at in works
    ]
    lines += ["echo agent > unborn/u", "echo agent > asleep/x", "git -C nested push -q ../bare.git HEAD:agent"]
    lines += ["git -C nested push -q ../mirror HEAD:agent", "rm a; git worktree add -q second -b second linked"]
    repo.ran("\n".join(lines))
    gits = ["bare.git", "mirror", "beside"]
    own = {at: repo.own(at) for at in [*homes.values(), *gits]}
    links = {at: (tree / at / ".git").read_bytes() for at in ("sub", "linked", "elsewhere", "sep", "second")}
    repo.restored()
    mine = {path: told for path, told in repo.work().items() if path.split("/")[0] not in (*gits, "second")}
    assert mine == {path: told for path, told in before.items() if path.split("/")[0] not in gits}
    assert {at: repo.own(at) for at in own} == own
    assert {at: (tree / at / ".git").read_bytes() for at in links} == links
    assert [path for path in standing(tree / "second") if path != ".git"] == []
    repo.assert_sound(*works, ".", "unborn", *gits)
    assert repo.git("submodule", "status").split()[0::2][-1] == asleep.split()[0::2][-1]
    status = {at: repo.git("status", "--porcelain", at=at).splitlines() for at in ("nested", "sep", "elsewhere")}
    assert set(map(tuple, status.values())) == {(" M l", " D more", "?? dirty")}


def test_commits_upon_the_agents_in_a_repository_beside_its_work_keep_their_parents(repo: GitLab) -> None:
    """Taking back the agent's objects would have cost a person's commit its parent."""
    repo.git("init", "-q", f"--separate-git-dir={repo.tree / 'meta'}", "sep")
    (repo.tree / "sep/s").write_text("s\n")
    repo.git("add", ".", at="sep")
    repo.git("commit", "-q", "-m", "s", at="sep")
    repo.ran(f"cd sep; echo agent > s; {WHO} commit -qam agent")
    (repo.tree / "sep/mine").write_text("mine\n")
    repo.git("add", "mine", at="sep")
    repo.git("commit", "-q", "-m", "mine", at="sep")
    repo.restored()
    repo.assert_sound("sep")
    assert repo.git("log", "--format=%s", at="sep").split() == ["mine", "agent", "s"]
    assert (repo.tree / "sep/s").read_text() == "s\n"
