"""Recognising programs and finding options."""

from __future__ import annotations

import pytest

from docket.rules.agents.commandline import OptionUse, Program, base_name, option_uses, without
from docket.rules.agents.registry import recognise

PROGRAM = Program(
    names=("codex", "aider"),
    packages=("@openai/codex", "aider-chat"),
    script_parts=("/@openai/codex/",),
    modules=("aider",),
)


@pytest.mark.parametrize(
    ("argv", "at"),
    [
        (("codex",), 1),
        (("codex", "exec"), 1),
        (("/usr/bin/codex", "exec"), 1),
        (("./codex",), 1),
        (("codex.exe",), 1),
        (("C:\\tools\\codex.CMD", "x"), 1),
        (("npx", "codex"), 2),
        (("npx", "-y", "codex", "x"), 3),
        (("npx", "--yes", "@openai/codex@latest", "x"), 3),
        (("npx", "-p", "@openai/codex", "codex", "x"), 4),
        (("npx", "--package=@openai/codex", "codex"), 3),
        (("npx", "@openai/codex@0.171.0"), 2),
        (("bunx", "codex"), 2),
        (("bun", "x", "codex"), 3),
        (("npm", "exec", "codex"), 3),
        (("npm", "exec", "--", "codex"), 4),
        (("pnpm", "dlx", "codex"), 3),
        (("yarn", "dlx", "codex"), 3),
        (("/usr/bin/npx", "codex"), 2),
        (("uvx", "aider"), 2),
        (("uvx", "--from", "aider-chat", "aider"), 4),
        (("uvx", "aider-chat@0.86"), 2),
        (("uv", "tool", "run", "aider"), 4),
        (("uv", "run", "aider"), 3),
        (("pipx", "run", "aider-chat"), 3),
        (("node", "/x/codex.js", "exec"), 2),
        (("node", "--no-warnings", "/x/codex.mjs"), 3),
        (("nodejs", "codex"), 2),
        (("node", "/x/node_modules/@openai/codex/bin/start.js"), 2),
        (("bun", "run", "codex.js"), 3),
        (("deno", "codex.ts"), 2),
        (("node", "C:\\x\\node_modules\\@openai\\codex\\bin\\start.js"), 2),
        (("python", "-m", "aider", "x"), 3),
        (("python3.12", "-u", "-m", "aider"), 4),
        (("python3", "/venv/bin/aider"), 2),
        (("python", "-W", "ignore", "-X", "dev", "-m", "aider"), 7),
        (("/venv/bin/python", "-m", "aider"), 3),
    ],
)
def test_a_program_is_known_by_its_name_wherever_it_stands(argv, at):
    assert PROGRAM.arguments_at(argv) == at


@pytest.mark.parametrize(
    "argv",
    [
        (),
        ("sh", "-c", "codex"),
        ("my-codex",),
        ("codex-x",),
        ("npx",),
        ("npx", "-y"),
        ("npx", "other"),
        ("npx", "-p", "codex"),
        ("node",),
        ("node", "other.js"),
        ("node", "--eval"),
        ("python",),
        ("python", "-m"),
        ("python", "-m", "other"),
        ("python", "-c", "import aider"),
        ("python", "x.py"),
        ("bun", "run"),
        ("uv", "pip", "codex"),
        ("npx", "@other/codex"),
        ("env", "codex"),
        ("python3x", "-m", "aider"),
    ],
)
def test_other_programs_are_not(argv):
    assert PROGRAM.arguments_at(argv) is None


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (("claude", "-p", "x"), "claude-code"),
        (("npx", "@anthropic-ai/claude-code"), "claude-code"),
        (("node", "/x/@anthropic-ai/claude-code/cli.js"), "claude-code"),
        (("codex", "exec"), "codex"),
        (("aider",), "aider"),
        (("python", "-m", "aider"), "aider"),
        (("mini",), "mini-swe-agent"),
        (("mini-swe-agent",), "mini-swe-agent"),
        (("python", "-m", "minisweagent.run.mini"), "mini-swe-agent"),
        (("uvx", "mini-swe-agent"), "mini-swe-agent"),
        (("./my-agent",), "generic"),
        (("sh", "-c", "claude"), "generic"),
        ((), "generic"),
        (("\udcff",), "generic"),
    ],
)
def test_each_agent_has_its_recipe(argv, name):
    assert recognise(argv).name == name


def test_a_base_name_drops_folders_and_program_suffixes():
    assert base_name("/a/b/claude") == "claude"
    assert base_name("a\\b\\claude.ExE") == "claude"
    assert base_name("claude.js") == "claude.js"
    assert base_name("") == ""


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (("p", "--o", "v", "x"), [("--o", "v", 1, 3)]),
        (("p", "--o=v"), [("--o", "v", 1, 2)]),
        (("p", "--o="), [("--o", "", 1, 2)]),
        (("p", "-c", "v"), [("-c", "v", 1, 3)]),
        (("p", "-cv"), [("-c", "v", 1, 2)]),
        (("p", "-c=v"), [("-c", "v", 1, 2)]),
        (("p", "--o", "a", "--o=b"), [("--o", "a", 1, 3), ("--o", "b", 3, 4)]),
        (("p", "--o"), []),
        (("p", "--other", "v"), []),
        (("p", "--", "--o", "v"), []),
        (("p", "--o", "--", "v"), [("--o", "--", 1, 3)]),
        (("--o", "v"), []),
        (("p", "x", "-"), []),
    ],
)
def test_uses_of_an_option(argv, expected):
    uses = option_uses(argv, 1, ("--o", "-c"))
    assert [(use.name, use.value, use.start, use.end) for use in uses] == expected


def test_uses_are_taken_out():
    argv = ("p", "--o", "v", "x", "--o=w", "y")
    assert without(argv, option_uses(argv, 1, ("--o",))) == ("p", "x", "y")
    assert without(argv, ()) == argv
    assert without(argv, (OptionUse(name="x", value="", start=0, end=1),)) == argv[1:]
