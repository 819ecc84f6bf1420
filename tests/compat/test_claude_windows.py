"""Claude Code, the real program, with its tools' windows kept: what each did, in the record, proven, with its cost."""

from __future__ import annotations

import pytest
from agent_lab import assert_consistent, program, provider_for

from docket.demo.script import Script, Tokens, ToolCall, Turn

TITLE = Turn(text='{"title":"A title"}', tokens=Tokens(fresh=0, output=0))


@pytest.fixture
def claude_lab(lab):
    program("claude")
    return lab.with_variables(ANTHROPIC_API_KEY="sk-ant-dummy")


def claude():
    return ["claude", "-p", "edit the files", "--dangerously-skip-permissions", "--model", "claude-haiku-4-5"]


def bash(command):
    return ToolCall(name="Bash", arguments={"command": command, "description": "edit"})


def windows_of(run):
    return {tool["id"]: tool for tool in run.receipt["windows"]["tools"]}


def test_each_tool_has_its_window_and_its_delta_in_the_record(claude_lab):
    script = Script(
        side=TITLE,
        turns=(
            Turn(tool_calls=(bash("echo two >> hello.txt"),), tokens=Tokens(fresh=1000, output=50)),
            Turn(tool_calls=(bash("echo half >> hello.txt; exit 3"),), tokens=Tokens(fresh=100, output=40)),
            Turn(
                tool_calls=(bash("echo a > a.txt"), bash("echo b > b.txt"), bash("echo c > c.txt")),
                tokens=Tokens(fresh=100, output=40),
            ),
            Turn(text="Done.", tokens=Tokens(fresh=10, output=4)),
        ),
    )
    with provider_for(script) as provider:
        run = claude_lab.docket_run(["--upstream", f"anthropic={provider.url}", "--windows"], claude())
    assert run.exit_code == 0, run.said
    member = run.receipt["windows"]
    counts = {name: member[name] for name in ("count", "complete", "partial", "open", "hooks_lost")}
    assert counts == {"count": 5, "complete": 5, "partial": 0, "open": 0, "hooks_lost": {}}
    assert member["files"] == 5
    assert [tool["after"]["ok"] for tool in member["tools"]] == [True, False, True, True, True]
    # Haiku 4.5: 1000 x 1 + 50 x 5 = 1250; 100 x 1 + 40 x 5 = 300, and again 300 for three tools, 100 each.
    shares = [tool["asked_by"]["share_usd"] for tool in member["tools"]]
    assert shares == ["0.001250", "0.000300", "0.000100", "0.000100", "0.000100"]
    assert run.receipt["tools"] == {"calls": 5, "names": ["Bash"], "failures": 1}
    assert_consistent(run)
    listed = claude_lab.docket("windows", "list").stdout.splitlines()
    assert [line.rpartition(", $")[2] for line in listed] == [f"{share} (derived)" for share in shares]
    last = member["tools"][-1]
    told = claude_lab.docket("windows", "show", last["id"]).stdout
    assert "$0.000100 (derived: its part of a call that asked for 3 tools), asked for by call" in told
    blamed = claude_lab.docket("blame", "hello.txt").stdout.splitlines()
    assert "$0.001250" in blamed[1]
    assert "$0.000300" in blamed[2]


@pytest.mark.parametrize("backend", ["copy", "overlay"])
def test_windows_of_a_run_on_a_stage_are_of_the_stage(claude_lab, backend):
    script = Script(
        side=TITLE,
        turns=(
            Turn(tool_calls=(bash("echo two >> hello.txt"),), tokens=Tokens(fresh=1000, output=50)),
            Turn(tool_calls=(bash("git add . && git commit -qm more"),), tokens=Tokens(fresh=1000, output=50)),
            Turn(text="Done.", tokens=Tokens(fresh=10, output=4)),
        ),
    )
    flags = ["--windows", "--workspace-tx", "--workspace-tx-backend", backend, "--workspace-tx-settle", "discard"]
    with provider_for(script) as provider:
        run = claude_lab.docket_run(["--upstream", f"anthropic={provider.url}", *flags], claude())
    if "cannot stage" in run.said and backend == "overlay":
        pytest.skip("this machine stages nothing by overlay")
    assert (claude_lab.repository / "hello.txt").read_text() == "one\n"
    tools = run.receipt["windows"]["tools"]
    assert [(tool["mode"], tool["delta"]["status"], tool["delta"]["files"]) for tool in tools] == [
        ("stage", "complete", 1),
        ("stage", "complete", 0),
    ]
    assert_consistent(run)
