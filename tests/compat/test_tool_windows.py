"""Real agents in `docket run --windows`: each tool call's window holds what that tool did.

What a tool did, git says: each scripted command ends by writing what `git status` shows then into a folder outside of
the tree, and the windows are held against these.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from agent_lab import Lab, assert_consistent, program, provider_for

from docket.demo.script import Script, Tokens, ToolCall, Turn

TITLE = Turn(text='{"title":"A title"}', tokens=Tokens(fresh=0, output=0))
SIDES = ("claude", "opencode")


@dataclass(frozen=True, slots=True, kw_only=True)
class RealAgent:
    """An agent: its command line, the provider it speaks to, and how its model asks for a command."""

    argv: tuple[str, ...]
    provider: str
    tool: str
    argument: str = "command"
    variables: tuple[tuple[str, str], ...] = ()
    is_told_of_failures: bool = False
    is_serial: bool = False

    def call(self, command: str) -> ToolCall:
        """The model's call of the shell tool."""
        more = {"description": "edit"} if self.provider == "anthropic" or self.argv[0] == "copilot" else {}
        more |= {"is_background": False} if self.argv[0] == "qwen" else {}
        return ToolCall(name=self.tool, arguments={self.argument: command, **more})


AGENTS = {
    "claude": RealAgent(
        argv=("claude", "-p", "edit", "--dangerously-skip-permissions", "--output-format", "json"),
        provider="anthropic", tool="Bash", variables=(("ANTHROPIC_API_KEY", "sk-ant-dummy"),),
        is_told_of_failures=True, is_serial=True,
    ),
    "codex": RealAgent(
        argv=("codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
              "-m", "gpt-5.2-codex", "edit"),
        provider="openai", tool="exec_command", argument="cmd", variables=(("CODEX_API_KEY", "sk"),),
    ),
    "gemini": RealAgent(
        argv=("gemini", "-p", "edit", "--yolo", "-m", "gemini-2.5-flash"),
        provider="gemini", tool="run_shell_command",
        variables=(("GEMINI_API_KEY", "k"), ("GEMINI_CLI_TRUST_WORKSPACE", "true")),
    ),
    "qwen": RealAgent(
        argv=("qwen", "-p", "edit", "--yolo", "--auth-type", "openai"),
        provider="openai", tool="run_shell_command", is_serial=True,
        variables=(("OPENAI_API_KEY", "sk"), ("OPENAI_MODEL", "gpt-4.1"), ("OPENAI_BASE_URL", "{url}/v1")),
    ),
    "opencode": RealAgent(
        argv=("opencode", "run", "-m", "anthropic/claude-haiku-4-5", "edit"), provider="anthropic", tool="bash",
        variables=(("ANTHROPIC_API_KEY", "sk"), ("npm_config_offline", "true")),
    ),
    "copilot": RealAgent(
        argv=("copilot", "-p", "edit", "--allow-all-tools", "--allow-all-paths"), provider="openai", tool="bash",
        variables=(("COPILOT_PROVIDER_BASE_URL", "{url}/v1"), ("COPILOT_PROVIDER_API_KEY", "sk"),
                   ("COPILOT_MODEL", "gpt-4.1")),
    ),
    "pi": RealAgent(
        argv=("pi", "--provider", "openai", "--model", "gpt-5.4", "-p", "edit"), provider="openai", tool="bash",
        variables=(("OPENAI_API_KEY", "sk"),),
        is_told_of_failures=True,
    ),
}  # fmt: skip


def noting(lab: Lab, name: str) -> Callable[[str], str]:
    """Return what makes a command leave behind what git shows once it is done."""
    note = shlex.quote(str(lab.root / f"{name}.status"))
    return lambda command: f"{command}; kept=$?; git status --porcelain -uall > {note}; exit $kept"


def seen(lab: Lab, name: str) -> dict[str, str]:
    """What git showed behind a tool, by path."""
    lines = (lab.root / f"{name}.status").read_text().splitlines()
    return {line[3:]: (lab.repository / line[3:]).read_text() for line in lines}


def windows(lab: Lab) -> list[dict]:
    """The windows that are over, the oldest first, each with its delta."""
    listed = json.loads(lab.docket("windows", "list", "--json").stdout)
    assert listed["open"] == []
    return [
        {**row, "delta": json.loads(lab.docket("windows", "show", "--json", row["window_id"]).stdout)}
        for row in listed["closed"]
    ]


def changed(window: dict) -> dict[str, list[str]]:
    """Path to the lines that came, of a window."""
    assert window["status"] == "complete", window
    return {
        file["path"]: [line for hunk in file.get("hunks", ()) for line in hunk["new_lines"]]
        for file in window["delta"]["files"]
    }


@pytest.mark.parametrize("name", AGENTS)
def test_each_tool_s_window_holds_what_the_tool_did(lab, name):
    program(name)
    agent = AGENTS[name]
    one, two, three = (noting(lab, step) for step in ("one", "two", "three"))
    calls = [
        [one("printf 'two\\n' >> hello.txt")],
        [two("printf 'x\\n' > new.txt; false")],
        [three("mkdir -p d; printf 'y\\n' > d/y; chmod 755 hello.txt")],
        ["printf 'p\\n' > p1; sleep 0.3", "printf 'q\\n' > p2; sleep 0.3"],
    ]
    turns = tuple(Turn(tool_calls=tuple(map(agent.call, each)), tokens=Tokens(fresh=9, output=5)) for each in calls)
    script = Script(
        side=TITLE if name in SIDES else None,
        turns=(*turns, Turn(text="Done.", tokens=Tokens(fresh=5, output=2))),
    )
    with provider_for(script) as provider:
        lab = lab.with_variables(**{key: value.format(url=provider.url) for key, value in agent.variables})
        led = () if any("{url}" in value for _, value in agent.variables) else (f"{agent.provider}={provider.url}",)
        flags = [word for address in led for word in ("--upstream", address)]
        run = lab.docket_run(["--windows", *flags], list(agent.argv))
    assert run.exit_code == 0, run.said
    first, second, third, *parallel = windows(lab)
    # What git saw behind each tool is what its window and those before it hold.
    assert (changed(first), set(seen(lab, "one"))) == ({"hello.txt": ["two"]}, {"hello.txt"})
    assert (changed(second), set(seen(lab, "two"))) == ({"new.txt": ["x"]}, {"hello.txt", "new.txt"})
    assert (changed(third), set(seen(lab, "three"))) == (
        {"d/y": ["y"], "hello.txt": []}, {"hello.txt", "new.txt", "d/y"})  # fmt: skip
    assert {path: text for window in parallel for path, text in changed(window).items()} == {"p1": ["p"], "p2": ["q"]}
    # Two at a time may still run one after the other, on a machine that is busy.
    assert [window["members"] for window in parallel] in ([1, 1], *([] if agent.is_serial else [[2, 2]]))
    (use,) = second["delta"]["tool_uses"]
    assert use.get("outcome") == ("failed" if agent.is_told_of_failures else None)
    left = subprocess.run(
        ["git", "status", "--porcelain", "-uall"], cwd=lab.repository, env=lab.environment(), capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    every = {path for window in (first, second, third, *parallel) for path in changed(window)}
    assert {line[3:] for line in left.stdout.splitlines() if not line.endswith(".docket/")} - every == set()
    called, told = run.of_type("tool.call"), run.of_type("x-docket.tool-delta")
    assert (len(called), len(told)) == (5, 5)
    assert_consistent(run)


def test_a_repository_that_switches_hooks_off_does_not_switch_windows_off(lab):
    program("claude")
    settings = lab.repository / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text('{"disableAllHooks": true}')
    agent = AGENTS["claude"]
    script = Script(
        side=TITLE,
        turns=(
            Turn(tool_calls=(agent.call("printf 'two\\n' >> hello.txt"),), tokens=Tokens(fresh=9, output=5)),
            Turn(text="Done.", tokens=Tokens(fresh=5, output=2)),
        ),
    )
    with provider_for(script) as provider:
        lab = lab.with_variables(ANTHROPIC_API_KEY="sk-ant-dummy")
        run = lab.docket_run(["--windows", "--upstream", f"anthropic={provider.url}"], list(agent.argv))
    assert run.exit_code == 0, run.said
    assert [changed(window) for window in windows(lab)] == [{"hello.txt": ["two"]}]


def test_codex_runs_no_hook_of_a_repository_that_the_person_has_not_trusted(lab):
    program("codex")
    mark = lab.root / "planted"
    planted = json.dumps({"hooks": {
        event: [{"hooks": [{"type": "command", "command": f"touch {shlex.quote(str(mark))}"}]}]
        for event in ("PreToolUse", "UserPromptSubmit", "SessionStart")
    }})  # fmt: skip
    for place in (lab.repository, lab.root / "home"):
        (place / ".codex").mkdir()
        (place / ".codex/hooks.json").write_text(planted)
    agent = AGENTS["codex"]
    script = Script(
        turns=(
            Turn(tool_calls=(agent.call("printf 'two\\n' >> hello.txt"),), tokens=Tokens(fresh=9, output=5)),
            Turn(text="Done.", tokens=Tokens(fresh=5, output=2)),
        ),
    )
    with provider_for(script) as provider:
        lab = lab.with_variables(CODEX_API_KEY="sk")
        run = lab.docket_run(["--windows", "--upstream", f"openai={provider.url}"], list(agent.argv))
    assert run.exit_code == 0, run.said
    assert [changed(window) for window in windows(lab)] == [{"hello.txt": ["two"]}]
    assert not mark.exists()


@pytest.mark.parametrize("name", ["claude", "gemini", "pi"])
def test_hooks_that_were_set_up_for_good_need_no_docket_run(lab, name):
    program(name)
    agent = AGENTS[name]
    assert lab.docket("hooks", "install", name).exit_code == 0
    script = Script(
        side=TITLE if name in SIDES else None,
        turns=(
            Turn(tool_calls=(agent.call("printf 'two\\n' >> hello.txt"),), tokens=Tokens(fresh=9, output=5)),
            Turn(text="Done.", tokens=Tokens(fresh=5, output=2)),
        ),
    )
    with provider_for(script) as provider:
        variables = {key: value.format(url=provider.url) for key, value in agent.variables}
        lab = lab.with_variables(**variables)
        run = lab.docket_run(["--upstream", f"{agent.provider}={provider.url}"], list(agent.argv))
    assert run.exit_code == 0, run.said
    assert [changed(window) for window in windows(lab)] == [{"hello.txt": ["two"]}]


def test_a_tool_that_a_hook_of_the_person_s_denies_is_over_with_its_batch(lab):
    program("claude")
    deny = lab.root / "deny.sh"
    deny.write_text('#!/bin/sh\ncase "$(cat)" in *forbidden*) echo no >&2; exit 2;; esac\n')
    deny.chmod(0o755)
    settings = lab.root / "home/.claude/settings.json"
    settings.parent.mkdir()
    own = {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": shlex.quote(str(deny))}]}]}
    settings.write_text(json.dumps({"hooks": own}))
    agent = AGENTS["claude"]
    script = Script(
        side=TITLE,
        turns=(
            Turn(tool_calls=(agent.call("echo forbidden > f"),), tokens=Tokens(fresh=9, output=5)),
            Turn(tool_calls=(agent.call("printf 'two\\n' >> hello.txt"),), tokens=Tokens(fresh=9, output=5)),
            Turn(text="Done.", tokens=Tokens(fresh=5, output=2)),
        ),
    )
    with provider_for(script) as provider:
        lab = lab.with_variables(ANTHROPIC_API_KEY="sk-ant-dummy")
        run = lab.docket_run(["--windows", "--upstream", f"anthropic={provider.url}"], list(agent.argv))
    assert run.exit_code == 0, run.said
    denied, done = windows(lab)
    assert (changed(denied), denied["delta"]["tool_uses"][0]["outcome"]) == ({}, "unended")
    assert (changed(done), done["members"]) == ({"hello.txt": ["two"]}, 1)


@pytest.mark.parametrize(
    ("name", "place", "event"),
    [("qwen", ".qwen/settings.json", "PreToolUse"), ("gemini", ".gemini/settings.json", "BeforeTool")],
)
def test_hooks_of_the_person_s_own_run_beside_the_run_s(lab, name, place, event):
    program(name)
    mark, settings = lab.root / "mark", lab.root / "home" / place
    settings.parent.mkdir()
    own = {event: [{"matcher": "*", "hooks": [{"type": "command", "command": f"touch {shlex.quote(str(mark))}"}]}]}
    settings.write_text(json.dumps({"hooks": own}))
    agent = AGENTS[name]
    script = Script(
        turns=(
            Turn(tool_calls=(agent.call("printf 'two\\n' >> hello.txt"),), tokens=Tokens(fresh=9, output=5)),
            Turn(text="Done.", tokens=Tokens(fresh=5, output=2)),
        ),
    )
    with provider_for(script) as provider:
        lab = lab.with_variables(**{key: value.format(url=provider.url) for key, value in agent.variables})
        led = ["--upstream", f"gemini={provider.url}"] if name == "gemini" else []
        run = lab.docket_run(["--windows", *led], list(agent.argv))
    assert run.exit_code == 0, run.said
    assert mark.exists()
    assert [changed(window) for window in windows(lab)] == [{"hello.txt": ["two"]}]
