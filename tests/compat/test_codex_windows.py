"""Codex, the real program, with its tools' windows kept and joined with the calls that asked for them."""

from __future__ import annotations

import pytest
from agent_lab import assert_consistent, program, provider_for

from docket.demo.script import Script, Tokens, ToolCall, Turn


@pytest.fixture
def codex_lab(lab):
    program("codex")
    return lab.with_variables(OPENAI_API_KEY="sk-dummy", CODEX_API_KEY="sk-dummy")


def command(text):
    return ToolCall(name="exec_command", arguments={"cmd": text})


def test_each_tool_has_its_window_and_its_share(codex_lab):
    script = Script(
        turns=(
            Turn(tool_calls=(command("echo two > new.txt"),), tokens=Tokens(fresh=1000, output=100)),
            Turn(tool_calls=(command("echo three >> hello.txt"),), tokens=Tokens(fresh=2000, output=100)),
            Turn(text="Done.", tokens=Tokens(fresh=100, output=10)),
        )
    )
    agent = ["codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--json"]
    with provider_for(script) as provider:
        flags = ["--windows", "--upstream", f"openai={provider.url}"]
        run = codex_lab.docket_run(flags, [*agent, "-m", "gpt-5.2-codex", "edit the files"])
    assert run.exit_code == 0, run.said
    member = run.receipt["windows"]
    counts = {name: member[name] for name in ("count", "complete", "partial", "open", "files", "hooks_lost")}
    assert counts == {"count": 2, "complete": 2, "partial": 0, "open": 0, "files": 2, "hooks_lost": {}}
    # GPT-5.2-Codex in micro-dollars a token: input 1.75, output 14: 1000 x 1.75 + 100 x 14, 2000 x 1.75 + 100 x 14.
    assert [tool["asked_by"]["share_usd"] for tool in member["tools"]] == ["0.003150", "0.004900"]
    assert_consistent(run)
