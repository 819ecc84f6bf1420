"""mini-swe-agent, the real program, under docket against a scripted provider."""

from __future__ import annotations

from decimal import Decimal

import pytest
from agent_lab import assert_consistent, assert_told_at_the_cap, program, provider_for

from docket.demo.script import Script, Tokens, ToolCall, Turn


@pytest.fixture
def mini_lab(lab):
    program("mini")
    return lab.with_variables(
        OPENAI_API_KEY="sk-dummy",
        LITELLM_LOCAL_MODEL_COST_MAP="True",
        MSWEA_CONFIGURED="true",
        MSWEA_COST_TRACKING="ignore_errors",
        MSWEA_SILENT_STARTUP="1",
    )


def mini(lab, model="openai/gpt-4o-mini"):
    trajectory = str(lab.root / "trajectory.json")
    return [str(program("mini")), "-m", model, "-t", "edit", "-y", "--exit-immediately", "-o", trajectory]


def bash(command):
    return ToolCall(name="bash", arguments={"command": command})


END = Turn(
    tool_calls=(bash("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"),), tokens=Tokens(fresh=100, cache_read=901, output=5)
)


def flags(provider, *more):
    return [*more, "--upstream", f"openai={provider.url}"]


def test_an_edit_is_metered_to_the_micro_dollar_and_recorded(mini_lab):
    first = Turn(text="On it.", tool_calls=(bash("echo two >> hello.txt"),), tokens=Tokens(fresh=1001, output=51))
    with provider_for(Script(turns=(first, END))) as provider:
        run = mini_lab.docket_run(flags(provider, "--max-usd", "5"), mini(mini_lab))
    assert run.exit_code == 0, run.said
    assert (mini_lab.repository / "hello.txt").read_text() == "one\ntwo\n"
    assert run.changes()["hello.txt"] == "modified"
    # gpt-4o-mini in micro-dollars a token: input 0.15, cached 0.075, output 0.60.
    # call 1: 1001 x 0.15 (150.15) + 51 x 0.60 (30.6) = 180.75 -> 181
    # call 2: 100 x 0.15 (15) + 901 x 0.075 (67.575) + 5 x 0.60 (3) = 85.575 -> 86
    assert [response["cost_usd"] for response in run.of_type("model.response")] == ["0.000181", "0.000086"]
    assert run.cost == Decimal("0.000267")
    assert_consistent(run)


@pytest.mark.parametrize("admission", ["metered", "strict"])
def test_a_cap_stops_it_at_once_and_it_says_why(mini_lab, admission):
    endless = Turn(tool_calls=(bash("echo more >> hello.txt"),), tokens=Tokens(fresh=800, output=40))
    with provider_for(Script(turns=(endless,))) as provider:
        command = mini(mini_lab, "openai/gpt-4-turbo")
        run = mini_lab.docket_run(flags(provider, "--max-usd", "0.05", "--admission", admission), command)
    # 800 x 10 + 40 x 30 = 9200 micro-dollars a call: no more than six can have been sent.
    assert_told_at_the_cap(run, provider, most_calls=6)


def test_the_same_cap_lets_cheap_calls_go_on(mini_lab):
    step = Turn(tool_calls=(bash("echo more >> hello.txt"),), tokens=Tokens(fresh=1000, output=40))
    with provider_for(Script(turns=(step, step, step, step, step, END))) as provider:
        run = mini_lab.docket_run(flags(provider, "--max-usd", "0.05"), mini(mini_lab))
    assert run.exit_code == 0, run.said
    assert (mini_lab.repository / "hello.txt").read_text() == "one\n" + "more\n" * 5
    # Five of 150 + 24 = 174, and 86.
    assert run.cost == Decimal("0.000956")
    assert_consistent(run)
