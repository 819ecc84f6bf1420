"""`docket undo` over windows that `docket hook claude` made, in a git worktree and in a plain folder."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from docket.host.locks import FileLock
from docket.rules.agents.hooks import HOOK_READERS
from docket.stores.restores import RESTORE_LOCK
from docket.surfaces.cli.root import root, run
from docket.surfaces.hooks.windows import tell
from undo_lab import standing

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
TEN = "".join(f"{number}\n" for number in range(1, 11))
CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")


class Project:
    """A tree that an agent works in."""

    def __init__(self, place: Path) -> None:
        self.tree = place / "tree"
        self.tree.mkdir()
        (self.tree / "a").write_text(TEN)
        (self.tree / "gone").write_text("gone\n")

    def sh(self, script: str) -> None:
        subprocess.run(["sh", "-ec", script], cwd=self.tree, check=True, capture_output=True)

    def hook(self, event: str, use: str, *, cold: bool = False) -> None:
        payload = {"session_id": "s", "hook_event_name": event, "tool_name": "Bash", "tool_use_id": use,
                   "tool_input": {"command": "x"}, "cwd": str(self.tree)}  # fmt: skip
        if not cold:
            tell(HOOK_READERS["claude"](event, payload), self.tree, 30.0)  # type: ignore[arg-type] # a tool's event
            return
        command = [sys.executable, "-m", "docket", "hook", "claude", event]
        done = subprocess.run(command, input=json.dumps(payload).encode(), cwd=self.tree, capture_output=True,
                              check=False, timeout=60)  # fmt: skip
        assert (done.returncode, done.stdout) == (0, b""), done.stderr

    def tool(self, use: str, script: str, *, cold: bool = False) -> None:
        self.hook("PreToolUse", use, cold=cold)
        self.sh(script)
        self.hook("PostToolUse", use, cold=cold)


def docket(*arguments: str) -> tuple[int, str, str]:
    with CliRunner().isolation() as streams:
        code = run(arguments)
        out, err = (stream.getvalue().decode() for stream in streams[:2])
    assert "Traceback" not in err
    return code, out, err


def program(*arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "docket", *arguments], capture_output=True, text=True, check=False, timeout=60
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    for name in ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "QWEN_PROJECT_DIR", "DOCKET_SESSION_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DOCKET_STATE_DIR", str(tmp_path / "state"))
    project = Project(tmp_path)
    monkeypatch.chdir(project.tree)
    return project


@pytest.fixture
def worktree(folder: Project) -> Project:
    folder.sh("git init -q; git add -A; git -c user.name=p -c user.email=p@example.org commit -qm one")
    return folder


def early_under_later(project: Project, *, cold: bool = False) -> None:
    script = "sed -i 's/^2$/two/; s/^9$/nine/' a; rm gone; echo made > made; chmod +x a"
    project.tool("toolu_early", script, cold=cold)
    project.tool("toolu_later", "sed -i 's/^5$/five/' a; echo 11 >> a", cold=cold)


@pytest.mark.parametrize("kind", ["folder", "worktree"])
def test_an_early_call_is_undone_under_later_ones_and_put_back(kind: str, request: pytest.FixtureRequest) -> None:
    project: Project = request.getfixturevalue(kind)
    early_under_later(project, cold=True)
    after = standing(project.tree)
    code, out, err = docket("undo", "toolu_early")
    assert code == 0
    assert f"claude Bash toolu_early  {project.tree}\n" in out
    assert "merged with what was changed since" in out
    assert "3 would be undone; nothing was changed\n" in out
    assert standing(project.tree) == after
    (digest,) = re.findall(r"^plan ([0-9a-f]{64})$", out, re.MULTILINE)
    assert err.rstrip().endswith(f"--plan {digest}")

    code, out, err = program("undo", "toolu_early", "--plan", digest)
    assert code == 0, err
    assert (project.tree / "a").read_text() == "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n"
    assert {name: how for name, (how, _) in standing(project.tree).items()} == {"a": "file", "gone": "file"}
    (record,) = re.findall(r"^record (.*)$", out, re.MULTILINE)
    assert json.loads(Path(record).read_bytes())["tool_use_id"] == "toolu_early"

    code, out, err = docket("undo", "--redo", record)
    assert (code, out.splitlines()[0]) == (0, f"tool call toolu_early  {project.tree}")
    assert docket("undo", "--redo", record, "--apply")[0] == 0
    assert standing(project.tree) == after


def test_a_conflict_is_shown_and_nothing_written(folder: Project) -> None:
    early_under_later(folder)
    folder.sh("sed -i 's/^two$/zwei/' a; printf 'x\\033[2J\\n' >> made")
    before = standing(folder.tree)
    for arguments in ((), ("--apply",), ("--diff",)):
        code, out, _ = docket("undo", "toolu_early", *arguments)
        assert code == 1
        assert "<<<<<<< the tree now\nzwei\n||||||| after Bash toolu_early\ntwo\n=======\n2\n" in out
        assert "1 would be undone, 2 in conflict or refused; nothing was changed" in out
        assert standing(folder.tree) == before
        assert "plan" in out or arguments == ("--apply",)
    code, out, _ = docket("undo", "toolu_early", "--json", "--apply")
    told = json.loads(out)
    assert (code, [item["path"] for item in told["conflicts"]]) == (1, ["a"])
    assert {item["path"]: item["reason"] for item in told["paths"]} == {
        "a": "merge-conflict", "gone": None, "made": "merge-conflict",
    }  # fmt: skip
    assert docket("undo", "toolu_early", "--path", "gone", "--apply")[0] == 0
    assert standing(folder.tree) == {**before, "gone": ("file", b"gone\n")}


def test_a_plan_that_is_another_by_now_is_not_done(folder: Project) -> None:
    early_under_later(folder)
    plan = json.loads(docket("undo", "toolu_early", "--json")[1])
    assert plan["command"].endswith(f"--plan {plan['shown_sha256']}")
    assert plan["tool_uses"] == [{"provider": "claude", "tool_name": "Bash", "tool_use_id": "toolu_early"}]
    folder.sh("echo 12 >> a")
    before = standing(folder.tree)
    code, out, err = docket("undo", "toolu_early", "--plan", plan["shown_sha256"])
    assert (code, out) == (1, "")
    assert "the plan is another by now" in err
    assert standing(folder.tree) == before


def test_a_hunk_by_its_number(folder: Project) -> None:
    early_under_later(folder)
    shown = docket("windows", "show", "toolu_early")[1]
    assert "@@ -2,1 +2,1 @@ hunk 1\n-2\n+two\n" in shown
    assert "@@ -9,1 +9,1 @@ hunk 2\n-9\n+nine\n" in shown
    assert "@@ -1,1 +1,0 @@ hunk 3\n-gone\n" in shown
    code, out, _ = docket("undo", "toolu_early", "--hunk", "2", "--diff")
    assert code == 0
    assert "-nine\n+9\n" in out
    assert "1 would be undone, 2 not selected" in out
    code, out, _ = docket("undo", "toolu_early", "--hunk", "2", "--json", "--apply")
    assert code == 0
    told = json.loads(out)
    assert told["counts"]["restored"] == 1
    assert told["redo"].startswith("docket undo --redo ")
    assert (folder.tree / "a").read_text() == "1\ntwo\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n"


def test_a_group_is_named_and_undone_as_one(folder: Project) -> None:
    folder.hook("PreToolUse", "toolu_1")
    folder.hook("PreToolUse", "toolu_2")
    folder.sh("echo more >> a; echo n > n")
    folder.hook("PostToolUse", "toolu_1")
    folder.hook("PostToolUse", "toolu_2")
    code, out, err = docket("undo", "toolu_1", "--apply")
    assert (code, out) == (2, "")
    assert "Bash toolu_1\n" in err
    assert "Bash toolu_2\n" in err
    assert "--group undoes them all" in err
    assert docket("undo", "toolu_1", "--group", "--apply")[0] == 0
    assert standing(folder.tree) == {"a": ("file", TEN.encode()), "gone": ("file", b"gone\n")}


def test_a_tool_that_runs_now_is_warned_of(folder: Project) -> None:
    folder.tool("toolu_1", "echo 11 >> a")
    folder.hook("PreToolUse", "toolu_2")
    code, _, err = docket("undo", "toolu_1", "--apply")
    assert code == 0
    assert "Bash toolu_2 runs in this tree now" in err


def test_another_restore_is_not_met(folder: Project, tmp_path: Path) -> None:
    folder.tool("toolu_1", "echo 11 >> a")
    (state,) = (tmp_path / "state").iterdir()
    with FileLock.acquire(state / RESTORE_LOCK):
        code, out, err = docket("undo", "toolu_1", "--apply")
    assert (code, out) == (75, "")
    assert "another restore of this project is under way" in err
    assert (folder.tree / "a").read_text() == f"{TEN}11\n"


def test_wrong_command_lines_and_what_is_not_there(folder: Project) -> None:
    for arguments, code, told in (
        ((), 2, "name a tool call"),
        (("toolu_x",), 75, "no window that is over is called 'toolu_x'"),
        (("toolu_x", "--redo", "r"), 2, "--redo names a record"),
        (("toolu_x", "--diff", "--json"), 2, "name one"),
        (("--redo", "r"), 75, ""),
    ):
        found = docket("undo", *arguments)
        assert found[0] == code, found
        assert told in found[2]
    assert not (folder.tree / ".docket").exists()
    folder.tool("toolu_1", "echo 11 >> a")
    assert docket("undo", "toolu_1", "--path", "../a")[0] == 2
    assert docket("undo", "toolu_1", "--path", "gone")[0] == 2
    assert docket("undo", "toolu_1", "--hunk", "2")[0] == 2


def test_names_drive_no_terminal_and_are_completed(folder: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    use = "toolu_\x1b[2J\u202e"
    folder.tool(use, "printf 'x\\033[2J\\n' > \"$(printf 'n\\033]0;t\\a')\"; printf '\\377\\n' >> a")
    folder.tool("toolu_other", "sed -i 's/^1$/one/' a")
    for arguments in (("--diff",), ("--json",), ("--apply",)):
        code, out, err = docket("undo", use, *arguments)
        assert code == 0
        assert not CONTROLS.search(out + err), arguments
    complete = ShellComplete(root, {}, "docket", "_DOCKET_COMPLETE")
    assert [item.value for item in complete.get_completions(["undo"], "toolu_o")] == ["toolu_other"]
    assert [item.value for item in complete.get_completions(["undo"], "toolu_")] == ["toolu_other", use]


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("seen", [1, 200])
def test_an_undo_that_is_killed_is_finished_by_the_next(folder: Project, seen: int) -> None:
    for number in range(600):
        (folder.tree / f"f{number}").write_text("before\n")
    before = standing(folder.tree)
    folder.tool("toolu_1", "for f in f*; do echo after > $f; done; rm f1 f2 f3; echo n > fnew")
    after = standing(folder.tree)
    with subprocess.Popen(
        [sys.executable, "-m", "docket", "undo", "toolu_1", "--apply"], stdout=subprocess.DEVNULL
    ) as undo:
        deadline = time.monotonic() + 60
        while undo.poll() is None and time.monotonic() < deadline:
            if sum(len(list(place.iterdir())) for place in folder.tree.glob(".docket-apply-*")) >= seen:
                break
        undo.send_signal(signal.SIGKILL)
    between = {name: told for name, told in standing(folder.tree).items() if not name.startswith(".docket-apply-")}
    for name in {*before, *after, *between}:
        assert between.get(name) in (before.get(name), after.get(name)), name
    code, _, err = program("undo", "toolu_1", "--apply")
    assert code == 0, err
    found = {name: told for name, told in standing(folder.tree).items() if not name.startswith(".docket-apply-")}
    assert found == before


AGENT = """
MEMBERS='"session_id":"s","tool_name":"Bash","tool_input":{}'
hook() {
  printf '{%s,"hook_event_name":"%s","tool_use_id":"%s"}' "$MEMBERS" $1 $2 | "$PYTHON" -m docket hook claude $1
}
tool() { hook PreToolUse $1; sh -ec "$2"; hook PostToolUse $1; }
tool toolu_early "sed -i 's/^2$/two/; s/^9$/nine/' a; rm gone; echo made > made"
tool toolu_later "sed -i 's/^5$/five/' a; echo 11 >> a"
"""


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("how", [(), ("--workspace-tx",)])
def test_a_call_of_a_run_is_undone_when_the_run_is_over(
    worktree: Project, how: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHON", sys.executable)
    (tmp_path / "agent").write_text(AGENT)
    code, _, err = program("run", "-q", *how, "--", "sh", str(tmp_path / "agent"))
    assert code == 0, err
    assert (worktree.tree / "a").read_text() == "1\ntwo\n3\n4\nfive\n6\n7\n8\nnine\n10\n11\n"
    code, out, err = docket("undo", "toolu_early", "--apply")
    assert code == 0, out + err
    assert (worktree.tree / "a").read_text() == "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n"
    assert {"gone": (worktree.tree / "gone").exists(), "made": (worktree.tree / "made").exists()} == {
        "gone": True, "made": False,
    }  # fmt: skip
