"""What an agent meets on a stage that stands at the tree's own path: git, a virtualenv, a run within the run."""

import subprocess
import sys
from pathlib import Path

import pytest

import run_lab
from docket.engines.transaction.backends.interface import Refused
from docket.engines.transaction.backends.overlay import OverlayBackend

GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.invalid")


@pytest.fixture(params=["overlay", "copy"])
def lab(request, tmp_path):
    made = run_lab.RunLab(root=tmp_path)
    for folder in (made.tree, made.state, tmp_path / "home"):
        folder.mkdir(exist_ok=True)
    found = OverlayBackend().probe(made.tree, made.state)
    if isinstance(found, Refused):
        pytest.skip(found.detail)
    (made.tree / "f").write_text("one\n")
    for command in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "first")):
        subprocess.run([*GIT, *command], cwd=made.tree, check=True)
    return made, request.param


def staged(lab, *arguments: str):
    made, backend = lab
    return made.run("--workspace-tx", "--workspace-tx-backend", backend, *arguments)


def test_agent_commits_to_git_at_the_tree_s_own_path(lab):
    tree = lab[0].tree
    script = f'test "$(pwd)" = "{tree}" && echo two > f && git commit -qam second && git status --short'
    for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"):
        script = f"export {name}=a@example.invalid; {script}"
    done = staged(lab, "--", "sh", "-c", script)
    assert done.exit_code == 0, done.said
    assert done.stdout == ""
    log = subprocess.run([*GIT, "log", "--format=%s"], cwd=tree, check=True, capture_output=True, text=True)
    assert log.stdout == "second\nfirst\n"
    state = subprocess.run([*GIT, "status", "--short"], cwd=tree, check=True, capture_output=True, text=True)
    assert [line for line in state.stdout.splitlines() if ".docket" not in line] == []


def test_programs_of_a_virtualenv_in_the_tree_run(lab):
    tree = lab[0].tree
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tree / "venv"], check=True)
    program = tree / "venv/bin/tool"
    program.write_text(f"#!{tree}/venv/bin/python\nimport sys\nprint(sys.prefix)\nopen('made', 'w').write('m')\n")
    program.chmod(0o755)
    done = staged(lab, "--", "venv/bin/tool")
    assert done.exit_code == 0, done.said
    assert done.stdout == f"{tree}/venv\n"
    assert (tree / "made").read_text() == "m"


def test_a_write_to_the_tree_s_own_path_does_not_land_when_the_agent_fails(lab):
    tree = lab[0].tree
    done = staged(lab, "--", "sh", "-c", f"echo lost > {tree}/f; cat {tree}/f; exit 3")
    assert (done.exit_code, done.stdout) == (3, "lost\n"), done.said
    assert (tree / "f").read_text() == "one\n"


def test_a_run_within_the_run_lands_in_the_outer_stage(lab):
    tree = lab[0].tree
    docket = f"{sys.executable} -m docket run --workspace-tx"
    inner = f"{docket} -- sh -c 'echo third > third'"
    middle = f'{docket} -- sh -c "echo second > second; {inner.replace(chr(39), chr(92) + chr(34))}"'
    done = staged(lab, "--", "sh", "-c", f"{middle} && test -e second && test -e third && echo first > first")
    assert done.exit_code == 0, done.said
    assert [(tree / name).read_text() for name in ("first", "second", "third")] == ["first\n", "second\n", "third\n"]


def test_nothing_is_mounted_when_it_is_over(lab):
    done = staged(lab, "--", "true")
    assert done.exit_code == 0, done.said
    table = Path("/proc/self/mountinfo").read_text()
    assert str(lab[0].root) not in table
    left = [path for path in lab[0].state.rglob("*") if path.name == "stage" and path.is_dir()]
    assert left == []


def as_agent(script: str) -> str:
    names = ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL")
    return "".join(f"export {name}=a@example.invalid; " for name in names) + script


REACHES = "git log -1 --format=%s; echo two > f; git status --short; git commit -qam second && echo written"


def repository_at(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_linked_worktree_s_repository_is_read_and_not_written(lab):
    made = lab[0]
    main, linked = made.root / "main", made.tree
    linked.rename(main)
    subprocess.run([*GIT, "worktree", "add", "--quiet", "-b", "aside", linked], cwd=main, check=True)
    before = repository_at(main / ".git")
    done = staged(lab, "--", "sh", "-c", as_agent(f"{REACHES} || echo refused"))
    assert done.exit_code == 0, done.said
    assert done.stdout == "first\n M f\nrefused\n"
    assert (linked / "f").read_text() == "two\n"
    after = repository_at(main / ".git")
    index = "worktrees/tree/index"
    assert {**after, index: b""} == {**before, index: b""}
    assert str(main / ".git") in done.said


def test_a_repository_around_the_tree_is_read_and_not_written(lab):
    made = lab[0]
    inner = made.tree / "inner"
    inner.mkdir()
    (inner / "f").write_text("one\n")
    subprocess.run([*GIT, "add", "inner"], cwd=made.tree, check=True)
    subprocess.run([*GIT, "commit", "--quiet", "--message", "inner"], cwd=made.tree, check=True)
    before = repository_at(made.tree / ".git")
    done = staged(lab, "--cwd", str(inner), "--", "sh", "-c", as_agent(f"{REACHES} || echo refused"))
    assert done.exit_code == 0, done.said
    # Git looks above a tree only where that is on the same file system, which a mounted stage may not be.
    assert done.stdout in ("inner\n M f\nrefused\n", "refused\n")
    assert (inner / "f").read_text() == "two\n"
    assert repository_at(made.tree / ".git") == before


def test_a_repository_that_a_link_leads_to_is_read_and_not_written(lab):
    made = lab[0]
    aside = made.root / "aside.git"
    (made.tree / ".git").rename(aside)
    (made.tree / ".git").symlink_to(aside)
    before = repository_at(aside)
    done = staged(lab, "--", "sh", "-c", as_agent(f"{REACHES} || echo refused"))
    assert (done.exit_code, done.stdout) == (0, "first\n M f\nrefused\n"), done.said
    assert repository_at(aside) == before


def test_a_submodule_within_the_tree_is_committed_to(lab):
    made = lab[0]
    other = made.root / "other"
    subprocess.run([*GIT, "clone", "--quiet", made.tree, other], check=True)
    subprocess.run(
        [*GIT, "-c", "protocol.file.allow=always", "submodule", "add", "--quiet", other, "sub"],
        cwd=made.tree,
        check=True,
    )
    subprocess.run([*GIT, "commit", "--quiet", "--message", "sub"], cwd=made.tree, check=True)
    script = as_agent("cd sub && echo two > f && git commit -qam second && cd .. && git commit -qam third")
    done = staged(lab, "--", "sh", "-c", script)
    assert done.exit_code == 0, done.said
    logs = [
        subprocess.run(
            [*GIT, "log", "-1", "--format=%s"], cwd=folder, check=True, capture_output=True, text=True
        ).stdout
        for folder in (made.tree, made.tree / "sub")
    ]
    assert logs == ["third\n", "second\n"]
    looked = subprocess.run([*GIT, "status", "--short"], cwd=made.tree, check=True, capture_output=True, text=True)
    assert [line for line in looked.stdout.splitlines() if ".docket" not in line] == []
