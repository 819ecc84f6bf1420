"""`docket blame`: lines, marks, legend and JSON, from anywhere in a tree, whatever names and contents are."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from docket.formats.windows.key import WindowKey
from docket.rules.windows.tool_event import Phase, ToolEvent
from docket.stores.layout import project_key
from docket.surfaces.cli.root import run
from docket.surfaces.hooks.windows import tell

HOSTILE = b"\x1b[31mred\xff\xe2\x80\xae\t|\n"


@pytest.fixture(params=["git", "folder"])
def tree(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tree = tmp_path / "tree"
    tree.mkdir()
    monkeypatch.setenv("DOCKET_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.chdir(tree)
    (tree / "a").write_bytes(b"one\ntwo\n")
    if request.param == "git":
        if shutil.which("git") is None:
            pytest.skip("needs git")
        git(tree, "init", "-q")
        git(tree, "add", "-A")
        git(tree, "commit", "-q", "-m", "one")
    return tree


def git(tree: Path, *arguments: str) -> str:
    person = ("-c", "user.name=p", "-c", "user.email=p@example.org")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tree.parent), "LC_ALL": "C"}
    return subprocess.run(["git", *person, *arguments], cwd=tree, env=environment, check=True, capture_output=True,
                          text=True).stdout  # fmt: skip


def hook(tree: Path, phase: Phase, use: str, agent: str = "claude") -> None:
    tell(ToolEvent(phase=phase, provider=agent, session_id="s", turn_id="t", tool_use_id=use, tool_name="Edit"), tree)


def tool(tree: Path, *uses: str, **files: bytes) -> None:
    for use in uses:
        hook(tree, Phase.BEFORE, use)
    for name, content in files.items():
        (tree / name).write_bytes(content)
    for use in uses:
        hook(tree, Phase.AFTER, use)


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run(["blame", *arguments]) == code
    captured = capsys.readouterr()
    assert "\x1b[31m" not in captured.out
    return captured.out if code == 0 else captured.err


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(said(capsys, *arguments, "--json"))
    return document


def story(tree: Path) -> None:
    tool(tree, "u1", a=b"one\nby one tool\ntwo\n")
    (tree / "a").write_bytes(b"one\nby one tool\nby hand\ntwo\n")
    tool(tree, "u2", "u3", a=b"one\nby one tool\nby hand\ntwo\nby two\n")


def test_lines_marks_and_legend(tree, capsys):
    story(tree)
    out = said(capsys, "a")
    rows, _, legend = out.partition("\n\n")
    one, two, three, four, five = rows.splitlines()
    assert one == "unknown  before_record            -   1  one"
    assert re.fullmatch(r"[0-9a-f]{8} claude Edit              -   2  by one tool", two)
    assert re.fullmatch(r"outside  by \d\d-\d\d \d\d:\d\d           -   3  by hand", three)
    assert four == "unknown  before_record            -   4  two"
    assert re.fullmatch(r"\+[0-9a-f]{7} 2 at once                -   5  by two", five)
    assert f"{two[:8]}  claude Edit u1, turn t, session s" in legend
    assert f"{five[:8]}  one of these at once, " in legend
    assert legend.count("claude Edit u2") == legend.count("claude Edit u3") == 1
    assert "outside   by no recorded tool call, between 20" in legend
    assert legend.splitlines()[-1] == (
        "5 lines: 1 of one tool call, 1 of tool calls at once, 1 outside of every tool call, 2 unknown"
    )
    assert max(map(len, rows.splitlines())) <= 80


def test_json_names_tool_uses_once_and_lines_by_them(tree, capsys):
    story(tree)
    document = listed(capsys, "a")
    assert document["schema"] == "docket/blame/v1"
    assert document["path"] == "a"
    assert document["counts"] == {"tool": 1, "group": 1, "outside": 1, "unknown": 2}
    uses = document["tool_uses"]
    assert [use["tool_use_id"] for use in uses] == ["u1", "u2", "u3"]
    assert all(use["recorded"] and use["cost"] is None and use["model"] is None for use in uses)
    lines = document["lines"]
    assert [line["origin"] for line in lines] == ["unknown", "tool", "outside", "unknown", "group"]
    assert [line["tool_uses"] for line in lines] == [[], [0], [], [], [1, 2]]
    assert [line["text"] for line in lines] == ["one", "by one tool", "by hand", "two", "by two"]
    assert lines[0]["reason"] == "before_record"
    assert lines[3]["came_at"] == {"path": "a", "line": 2}
    assert {"since", "until"} <= lines[2].keys()
    assert uses[0]["window_id"] == window(tree, "u1")


def window(tree: Path, use: str) -> str:
    records = (tree.parent / "state" / project_key(tree) / "windows/closed").glob("*.json")
    keys = (json.loads(path.read_text())["key"] for path in records)
    return next(WindowKey(**key).window_id for key in keys if key["tool_use_id"] == use)


def test_some_lines_only(tree, capsys):
    story(tree)
    assert [line["line"] for line in listed(capsys, "a", "--line", "2,3")["lines"]] == [2, 3]
    assert said(capsys, "a", "-L", "1").splitlines()[-1] == "1 line: 1 unknown"


@pytest.mark.parametrize("asked", ["0", "3", "2,1", "1,9", "x", "1,", "-1", "1,2,3", ""])
def test_lines_that_are_not_there(tree, capsys, asked):
    err = said(capsys, "a", f"--line={asked}", code=2)
    assert ("the file has 2 lines" if re.fullmatch(r"\d+(,\d+)?", asked) else "neither a line nor two") in err


def test_before_anything_is_recorded_nothing_is_written(tree, capsys):
    assert said(capsys, "a").splitlines()[0] == "unknown  nothing_recorded         -   1  one"
    assert "no tool call of this tree is recorded" in said(capsys, "a")
    assert not (tree.parent / "state").exists()


def test_from_any_folder_below_and_from_outside(tree, capsys, monkeypatch):
    (tree / "d").mkdir()
    (tree / "d" / "b").write_bytes(b"1\n")
    hook(tree, Phase.BEFORE, "u1")
    (tree / "d" / "b").write_bytes(b"1\n2\n")
    hook(tree, Phase.AFTER, "u1")
    wanted = ["unknown", "tool"]
    for folder, name in (
        (tree, "d/b"),
        (tree / "d", "b"),
        (tree.parent, str(tree / "d" / "b")),
        (tree / "d", "../d/b"),
    ):
        monkeypatch.chdir(folder)
        document = listed(capsys, name)
        assert (document["path"], [line["origin"] for line in document["lines"]]) == ("d/b", wanted)


def test_a_link_on_the_way_is_followed_and_one_at_the_end_is_not(tree, capsys):
    story(tree)
    (tree.parent / "link").symlink_to(tree)
    assert listed(capsys, str(tree.parent / "link" / "a"))["counts"]["tool"] == 1
    (tree / "z").symlink_to("a")
    assert "error: " in said(capsys, "z", code=2)


def test_what_is_no_file(tree, capsys):
    (tree / "d").mkdir()
    for name in ("gone", "d", "d/gone", "a/b"):
        assert "error" in said(capsys, name, code=2)


def test_names_and_contents_drive_no_terminal(tree, capsys):
    name = os.fsdecode(b"\x1b[31m\xff\n")
    (tree / name).write_bytes(HOSTILE)
    hook(tree, Phase.BEFORE, "\x1b[31muse", agent="cl\naude")
    (tree / name).write_bytes(HOSTILE + b"x\r\n")
    hook(tree, Phase.AFTER, "\x1b[31muse", agent="cl\naude")
    out = said(capsys, name)
    assert "\\x1b[31mred\\xff\\u202e" in out
    assert "\x1b" not in out
    assert "cl\\x0aaude Edit \\x1b[31muse" in out
    document = listed(capsys, name)
    assert document["path_b64"] == "G1szMW3/Cg=="
    assert document["lines"][0]["text_b64"]
    assert document["lines"][1]["text"] == "x\r"


def test_a_terminal_gets_colours_and_lines_of_its_width(tree, capsys, monkeypatch):
    tool(tree, "u1", a=b"one\n" + "漢字".encode() * 60 + b"\n" + b"x" * 300 + b"\n\tt\n")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("DOCKET_FORCE_COLOR", "1")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert run(["blame", "a"]) == 0
    rows = capsys.readouterr().out.partition("\n\n")[0].splitlines()
    assert all("\x1b[" in row for row in rows)
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", row) for row in rows]
    assert [len(plain[0]), len(plain[2])] == [44, 80]
    assert plain[2].endswith("…")
    assert plain[3].endswith("  4      t")


def test_a_damaged_registry_leaves_what_is_recorded_and_claims_nothing_more(tree, capsys):
    story(tree)
    state = tree.parent / "state" / project_key(tree) / "windows"
    (state / "registry.json").write_bytes(b"{")
    assert listed(capsys, "a")["counts"] == {"tool": 1, "group": 1, "outside": 0, "unknown": 3}
    for path in (state / "closed").iterdir():
        path.write_bytes(b"{")
    assert listed(capsys, "a")["counts"]["unknown"] == 5
    shutil.rmtree(state)
    assert listed(capsys, "a")["lines"][0]["reason"] == "nothing_recorded"


def test_the_docket_dir_of_a_person(tree, capsys, tmp_path, monkeypatch):
    story(tree)
    assert listed(capsys, "a", "--docket-dir", str(tmp_path / "elsewhere"))["counts"]["unknown"] == 5
