"""`docket hooks` in process: what it writes into a person's settings, and that it all comes out again."""

from __future__ import annotations

import json

import pytest

from docket.surfaces.cli.main import main

SETTINGS = '{\n  "model": "opus",\n  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}\n}\n'


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "QWEN_HOME", "COPILOT_HOME",
                 "OPENCODE_CONFIG_DIR", "PI_CODING_AGENT_DIR"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "home"


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rows(capsys):
    return {row["agent"]: row for row in json.loads(capsys.readouterr().out)["hooks"]}


AGENTS = ("claude", "codex", "gemini", "qwen", "copilot", "opencode", "pi", "cursor")


def test_hooks_of_every_agent_are_set_up_shown_and_gone_again(home, capsys):
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").write_text(SETTINGS)
    assert main(["hooks", "install", *AGENTS]) == 0
    capsys.readouterr()
    assert main(["hooks", "status", "--json"]) == 0
    shown = rows(capsys)
    assert {name: row["state"] for name, row in shown.items()} == dict.fromkeys(AGENTS, "installed")
    held = json.loads((home / ".claude/settings.json").read_text())
    assert (held["model"], len(held["hooks"]["Stop"])) == ("opus", 2)
    before = files(home)
    assert main(["hooks", "install", *AGENTS]) == 0
    assert "already" in capsys.readouterr().out
    assert files(home) == before
    assert main(["hooks", "uninstall"]) == 0
    assert files(home) == {".claude/settings.json": SETTINGS.encode()}
    capsys.readouterr()
    assert main(["hooks", "status"]) == 0
    assert capsys.readouterr().out.count("not set up") == len(AGENTS)


def test_a_dry_run_shows_the_change_and_makes_none(home, capsys):
    assert main(["hooks", "install", "codex", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert f"+++ {home}/.codex/hooks.json" in out
    assert "hook codex PreToolUse" in out
    assert files(home) == {}
    assert main(["hooks", "uninstall", "codex", "--dry-run"]) == 0
    assert capsys.readouterr().out == "nothing would be changed\n"
    assert main(["hooks", "install", "codex", "--dry-run", "--json"]) == 0
    assert rows(capsys)["codex"]["changed"] is True


def test_one_file_that_cannot_be_read_keeps_the_others_from_nothing(home, capsys):
    (home / ".gemini").mkdir()
    (home / ".gemini/settings.json").write_text('{\n  // my settings\n  "a": 1\n}\n')
    (home / ".qwen").mkdir()
    (home / ".qwen/settings.json").write_bytes(b'{\n"a": "\xff"}')
    assert main(["hooks", "install", "gemini", "qwen", "codex"]) == 1
    told = capsys.readouterr()
    assert "line 2: a comment" in told.err
    assert "line 2: it is not UTF-8" in told.err
    assert (home / ".codex/hooks.json").exists()
    assert (home / ".gemini/settings.json").read_text() == '{\n  // my settings\n  "a": 1\n}\n'
    assert main(["hooks", "status", "gemini", "--json"]) == 0
    row = rows(capsys)["gemini"]
    assert (row["state"], row["reason"]) == ("unreadable", "not-json")


def test_a_project_s_hooks_stand_in_the_project_and_follow_no_link_out_of_it(home, capsys, tmp_path):
    project = tmp_path / "project"
    assert main(["hooks", "install", "claude", "pi", "--project"]) == 0
    assert set(files(project)) == {".claude/settings.local.json", ".pi/extensions/docket.js"}
    assert files(home) == {}
    (project / ".gemini").symlink_to(home)
    capsys.readouterr()
    assert main(["hooks", "install", "gemini", "--project"]) == 75
    assert "out of" in capsys.readouterr().err
    assert files(home) == {}


def test_the_agent_s_own_variable_says_where_its_files_are(home, tmp_path, monkeypatch):
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "elsewhere"))
    assert main(["hooks", "install", "codex"]) == 0
    assert set(files(tmp_path / "elsewhere")) == {"hooks.json"}


def test_hooks_that_were_set_up_in_part_are_told_and_made_whole(home, capsys):
    (home / ".cursor").mkdir()
    path = home / ".cursor/hooks.json"
    path.write_text('{"version": 1, "hooks": {"stop": [{"command": "/old/docket hook cursor stop"}]}}')
    assert main(["hooks", "status", "cursor"]) == 0
    assert "in part" in capsys.readouterr().out
    assert main(["hooks", "install"]) == 0  # Cursor is known by its folder
    assert len(json.loads(path.read_text())["hooks"]) == 6
    assert main(["hooks", "uninstall", "cursor"]) == 0
    assert json.loads(path.read_text()) == {"version": 1}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [(["install"], "no agent with hooks is installed"), (["install", "kiro"], "Kiro's hooks"),
     (["install", "codx"], "did you mean codex"), (["status", "aider"], "no hooks")],
)  # fmt: skip
def test_what_makes_no_sense_is_a_usage_error(home, capsys, arguments, why):
    assert main(["hooks", *arguments]) == 2
    assert why in capsys.readouterr().err
    assert files(home) == {}


def test_without_a_home_nobody_knows_where_files_are(home, capsys, monkeypatch):
    monkeypatch.delenv("HOME")
    assert main(["hooks", "status", "claude"]) == 2
    assert "HOME is not set" in capsys.readouterr().err
