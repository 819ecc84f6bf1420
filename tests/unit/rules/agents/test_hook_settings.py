"""What agents are given so that they tell docket of their tools: the run's own files and arguments, by hand."""

from __future__ import annotations

import hashlib
import json
import shlex
import tomllib

import pytest

from docket.rules.agents.hook_settings import (
    GROUPS,
    HookWords,
    codex_label,
    is_docket_line,
    merged_hooks,
    plugin_text,
)
from docket.rules.agents.hook_shapes import CLAUDE, CODEX, COPILOT, CURSOR, GEMINI
from docket.rules.agents.interface import LaunchRequest
from docket.rules.agents.registry import recognise

WORDS = ("/opt/py thon", "-m", "docket")
URL = "http://127.0.0.1:1/s/docket/hooks"
HOME = {"HOME": "/home/you"}


def planned(argv, inputs=None, **environ):
    request = LaunchRequest(
        argv=tuple(argv), environ={**HOME, **environ}, base_url="http://127.0.0.1:1/T", run_dir="/run/it",
        hooks_url=URL, hook_command=WORDS, inputs=inputs or {},
    )  # fmt: skip
    return recognise(request.argv).plan(request)


def file_of(plan, name):
    (data,) = [file.data for file in plan.files if file.name == name]
    return data


def test_claude_posts_its_events_and_a_repository_cannot_switch_that_off():
    own = json.dumps({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "mine"}]}], "Odd": 1}})
    plan = planned(["claude", "--settings", own, "-p", "x"])
    settings = json.loads(file_of(plan, "claude-settings.json"))
    assert settings["disableAllHooks"] is False
    assert settings["hooks"]["PreToolUse"] == [
        {"hooks": [{"type": "command", "command": "mine"}]},
        {"matcher": "*", "hooks": [{"type": "http", "url": f"{URL}/claude/PreToolUse", "timeout": 5}]},
    ]
    assert settings["hooks"]["Stop"] == [
        {"hooks": [{"type": "http", "url": f"{URL}/claude/Stop", "timeout": 5}]}]  # fmt: skip
    assert settings["hooks"]["Odd"] == 1
    assert set(settings["hooks"]) == {*CLAUDE.hooked, "Odd"}
    assert plan.has_hooks


@pytest.mark.parametrize(
    ("given", "user", "is_off"),
    [({"disableAllHooks": True}, None, True), (None, {"disableAllHooks": True}, True),
     ({"disableAllHooks": False}, {"disableAllHooks": True}, False), (None, {"disableAllHooks": False}, False)],
)  # fmt: skip
def test_claude_s_hooks_stay_off_where_the_person_switched_them_off(given, user, is_off):
    flags = [] if given is None else ["--settings", json.dumps(given)]
    inputs = {} if user is None else {"/home/you/.claude/settings.json": json.dumps(user).encode()}
    plan = planned(["claude", *flags, "-p", "x"], inputs)
    assert plan.has_hooks is not is_off
    assert any("switched off" in note for note in plan.notes) is is_off
    assert ("hooks" in json.loads(file_of(plan, "claude-settings.json"))) is not is_off


def test_codex_is_given_hooks_by_arguments_and_trust_in_these_alone():
    plan = planned(["codex", "exec", "x"], CODEX_API_KEY="k")
    settings = [plan.argv[at + 1] for at, word in enumerate(plan.argv) if word == "-c"]
    hooks = tomllib.loads("\n".join(one for one in settings if one.startswith("hooks.")))["hooks"]
    line = "'/opt/py thon' -m docket hook codex PreToolUse"
    assert hooks["PreToolUse"] == [{"hooks": [{"type": "command", "command": line, "timeout": 5, "async": False}]}]
    known = (
        '{"event_name":"pre_tool_use","hooks":[{"async":false,'
        '"command":"\'/opt/py thon\' -m docket hook codex PreToolUse","timeout":5,"type":"command"}]}'
    )
    assert hooks["state"]["/<session-flags>/config.toml:pre_tool_use:0:0"] == {
        "trusted_hash": f"sha256:{hashlib.sha256(known.encode()).hexdigest()}"
    }
    assert len(hooks["state"]) == len(CODEX.hooked)
    assert "--dangerously-bypass-hook-trust" not in plan.argv
    assert codex_label("UserPromptSubmit") == "user_prompt_submit"


@pytest.mark.parametrize("own", [["-c", "hooks.Stop=[]"], ["-c", "features.hooks=false"], ["--disable", "hooks"]])
def test_codex_hooks_of_the_person_s_own_arguments_are_kept(own):
    plan = planned(["codex", "exec", *own, "x"], CODEX_API_KEY="k")
    assert not plan.has_hooks
    assert not any("trusted_hash" in word for word in plan.argv)
    assert any("your own -c of hooks" in note for note in plan.notes)


def test_gemini_and_qwen_have_hooks_in_the_run_s_settings_behind_the_person_s():
    own = {"hooks": {"BeforeTool": [{"hooks": [{"command": "mine"}]}]}}
    plan = planned(["gemini", "-p", "x"], {"/home/you/.gemini/settings.json": json.dumps(own).encode()})
    hooks = json.loads(file_of(plan, "gemini-home/.gemini/settings.json"))["hooks"]
    assert hooks["BeforeTool"] == [
        {"hooks": [{"command": "mine"}]},
        {"matcher": "*", "hooks": [{"name": "docket", "type": "command", "timeout": 5000,
                                    "command": "'/opt/py thon' -m docket hook gemini BeforeTool"}]},
    ]  # fmt: skip
    off = planned(["gemini", "-p", "x"], {"/home/you/.gemini/settings.json": b'{"hooksConfig": {"enabled": false}}'})
    assert (off.has_hooks, "hooks" in json.loads(file_of(off, "gemini-home/.gemini/settings.json"))) == (False, False)
    qwen = planned(["qwen", "-p", "x"])
    settings = json.loads(file_of(qwen, "qwen-settings.json"))
    assert settings["disableAllHooks"] is False
    assert settings["hooks"]["Stop"][0]["hooks"][0]["command"].endswith("hook qwen Stop")
    off = planned(["qwen", "-p", "x"], {"/home/you/.qwen/settings.json": b'{"disableAllHooks": true}'})
    assert (off.has_hooks, "hooks" in json.loads(file_of(off, "qwen-settings.json"))) == (False, False)


def test_opencode_and_pi_have_a_script_of_the_run_beside_the_person_s():
    given = json.dumps({"plugin": ["file:///mine.js"]})
    plan = planned(["opencode", "run", "x"], OPENCODE_CONFIG_CONTENT=given)
    content = json.loads(plan.env_set["OPENCODE_CONFIG_CONTENT"])
    assert content["plugin"] == ["file:///mine.js", "file:///run/it/docket-opencode.js"]
    words = json.dumps([*WORDS, "hook", "opencode"])
    assert f"const WORDS = {words};" in file_of(plan, "docket-opencode.js").decode()
    for pure in (planned(["opencode", "run", "--pure", "x"]), planned(["opencode", "run", "x"], OPENCODE_PURE="1")):
        assert (pure.has_hooks, pure.files) == (False, ())
    pi = planned(["pi", "-p", "x"])
    assert pi.argv[1:5] == ("-e", "/run/it/docket-pi.js", "-e", "/run/it/docket-pi-hooks.js")
    assert pi.has_hooks
    assert b"COMMAND_WORDS" not in plugin_text("pi", HookWords(command=WORDS))


def test_copilot_has_a_plugin_of_the_run():
    plan = planned(["copilot", "-p", "x"], COPILOT_PROVIDER_BASE_URL="https://api.openai.com/v1")
    assert plan.argv[:3] == ("copilot", "--plugin-dir", "/run/it/copilot-plugin")
    manifest = json.loads(file_of(plan, "copilot-plugin/plugin.json"))
    hooks = json.loads(file_of(plan, f"copilot-plugin/{manifest['hooks']}"))
    assert hooks["hooks"]["preToolUse"] == [
        {"type": "command", "bash": "'/opt/py thon' -m docket hook copilot preToolUse", "timeoutSec": 5}
    ]


@pytest.mark.parametrize("argv", [["claude"], ["codex"], ["gemini"], ["opencode"], ["qwen"], ["pi"], ["copilot"]])
def test_an_agent_is_given_no_hooks_unless_the_run_says_so(argv):
    request = LaunchRequest(
        argv=tuple(argv), environ={**HOME, "COPILOT_PROVIDER_BASE_URL": "https://api.openai.com/v1"},
        base_url="http://127.0.0.1:1/T", run_dir="/run/it", hooks_url=URL,
    )  # fmt: skip
    plan = recognise(request.argv).plan(request)
    written = b"".join(file.data for file in plan.files).decode() + " ".join((*plan.argv, *plan.env_set.values()))
    assert not plan.has_hooks
    assert "hook" not in written.lower()


def test_commands_are_known_again_and_others_are_not():
    line = GROUPS["gemini"](GEMINI, HookWords(command=WORDS))["AfterTool"][0]["hooks"][0]["command"]
    assert shlex.split(line) == [*WORDS, "hook", "gemini", "AfterTool"]
    assert is_docket_line(line, "gemini")
    assert is_docket_line("/usr/bin/docket hook gemini AfterTool", "gemini")
    for other in (
        line.replace("gemini", "claude"),
        "echo hook gemini AfterTool",
        "'",
        "hook gemini AfterTool",
        1,
        None,
    ):
        assert not is_docket_line(other, "gemini")


def test_the_forms_of_cursor_and_copilot_and_of_hooks_that_are_no_object():
    assert GROUPS["cursor"](CURSOR, HookWords(command=("docket",)))["stop"] == [
        {"command": "docket hook cursor stop", "timeout": 5}
    ]
    assert set(GROUPS["copilot"](COPILOT, HookWords(command=("docket",)))) == set(COPILOT.hooked)
    assert merged_hooks([1], {"A": [{"x": 1}]}) == {"A": [{"x": 1}]}
    assert merged_hooks({"A": "no list"}, {"A": [{"x": 1}]}) == {"A": [{"x": 1}]}
