"""Claude Code, the real program, under docket against a scripted provider."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from agent_lab import assert_consistent, assert_told_at_the_cap, program, provider_for

from docket.demo.script import Script, Tokens, ToolCall, Turn

TITLE = Turn(text='{"title":"A title"}', tokens=Tokens(fresh=0, output=0))


@pytest.fixture
def claude_lab(lab):
    program("claude")
    return lab.with_variables(ANTHROPIC_API_KEY="sk-ant-dummy")


def claude(*more):
    return ["claude", "-p", "edit the files", "--dangerously-skip-permissions", "--output-format", "json", *more]


def bash(command):
    return ToolCall(name="Bash", arguments={"command": command, "description": "edit"})


def flags(provider, *more):
    return [*more, "--upstream", f"anthropic={provider.url}"]


def test_edits_are_metered_to_the_micro_dollar_and_recorded(claude_lab):
    write = {"file_path": str(claude_lab.repository / "new.txt"), "content": "two\n"}
    script = Script(
        side=TITLE,
        turns=(
            Turn(
                text="Writing.",
                tool_calls=(ToolCall(name="Write", arguments=write),),
                tokens=Tokens(fresh=1003, cache_write_5m=201, cache_write_1h=300, output=50),
            ),
            Turn(tool_calls=(bash("echo three >> hello.txt"),), tokens=Tokens(fresh=100, cache_read=501, output=40)),
            Turn(text="Done.", tokens=Tokens(fresh=10, cache_read=600, output=4)),
        ),
    )
    with provider_for(script) as provider:
        run = claude_lab.docket_run(flags(provider, "--max-usd", "5"), claude("--model", "claude-haiku-4-5"))
    assert run.exit_code == 0, run.said
    assert (claude_lab.repository / "new.txt").read_text() == "two\n"
    assert (claude_lab.repository / "hello.txt").read_text() == "one\nthree\n"
    assert run.changes() == {"new.txt": "added", "hello.txt": "modified"}
    # Dollars per million tokens are micro-dollars per token. Haiku 4.5: input 1, 5 m write 1.25, 1 h write 2,
    # read 0.10, output 5. Each priced part is rounded half to even by itself:
    # call 1: 1003 + 201 x 1.25 (251.25 -> 251) + 300 x 2 (600) + 50 x 5 (250)           = 2104
    # call 2: 100 + 501 x 0.10 (50.1) + 40 x 5 (200): 350.1 in one part                  =  350
    # call 3: 10 + 600 x 0.10 (60) + 4 x 5 (20)                                          =   90
    assert [response["cost_usd"] for response in run.of_type("model.response")][-3:] == [
        "0.002104",
        "0.000350",
        "0.000090",
    ]
    assert run.cost == Decimal("0.002544")
    assert_consistent(run)


def test_the_price_agrees_with_the_agents_own(claude_lab):
    script = Script(
        side=TITLE,
        turns=(
            Turn(tool_calls=(bash("echo two >> hello.txt"),), tokens=Tokens(fresh=1000, cache_write_1h=400, output=50)),
            Turn(text="Done.", tokens=Tokens(fresh=10, cache_read=1000, output=4)),
        ),
    )
    with provider_for(script) as provider:
        run = claude_lab.docket_run(flags(provider, "--max-usd", "5"), claude())
    assert run.exit_code == 0, run.said
    answer = json.loads(run.stdout)
    # Opus 4.8: 1000 x 5 + 400 x 10 + 50 x 25 = 10250; 10 x 5 + 1000 x 0.50 + 4 x 25 = 650.
    assert run.cost == Decimal("0.010900")
    assert Decimal(str(answer["total_cost_usd"])) == run.cost


@pytest.mark.parametrize("admission", ["metered", "strict"])
def test_a_cap_stops_it_at_once_and_it_says_why(claude_lab, admission):
    endless = Turn(tool_calls=(bash("echo more >> hello.txt"),), tokens=Tokens(fresh=18000, output=40))
    with provider_for(Script(side=TITLE, turns=(endless,))) as provider:
        run = claude_lab.docket_run(
            flags(provider, "--max-usd", "0.05", "--admission", admission), claude("--model", "claude-haiku-4-5")
        )
    # 18000 x 1 + 40 x 5 = 18200 micro-dollars a call: no more than three can have been sent.
    assert_told_at_the_cap(run, provider, most_calls=4)
    answer = json.loads(run.stdout)
    assert answer["is_error"] is True
    assert "max_usd" in answer["result"]


def test_the_same_cap_lets_cheap_calls_go_on(claude_lab):
    step = Turn(tool_calls=(bash("echo more >> hello.txt"),), tokens=Tokens(fresh=300, cache_read=18000, output=40))
    first = Turn(tool_calls=(bash("echo first >> hello.txt"),), tokens=Tokens(cache_write_5m=18000, output=40))
    end = Turn(text="Done.", tokens=Tokens(fresh=100, cache_read=18000, output=5))
    with provider_for(Script(side=TITLE, turns=(first, *[step] * 5, end))) as provider:
        run = claude_lab.docket_run(flags(provider, "--max-usd", "0.05"), claude("--model", "claude-haiku-4-5"))
    assert run.exit_code == 0, run.said
    assert (claude_lab.repository / "hello.txt").read_text() == "one\nfirst\n" + "more\n" * 5
    # 18000 x 1.25 + 40 x 5 = 22700, five of 300 + 18000 x 0.10 + 200 = 2300, and 100 + 1800 + 25 = 1925.
    assert run.cost == Decimal("0.036125")
    assert_consistent(run)


@pytest.mark.parametrize("folder", ["home", "tree"])
def test_settings_that_point_elsewhere_do_not_lead_around_the_boundary(claude_lab, folder):
    nowhere = {"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9"}}
    settings = claude_lab.root / folder / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps(nowhere))
    with provider_for(
        Script(side=TITLE, turns=(Turn(text="Done.", tokens=Tokens(fresh=18000, output=5)),))
    ) as provider:
        lab = claude_lab.with_variables(HTTPS_PROXY="http://127.0.0.1:9", HTTP_PROXY="http://127.0.0.1:9")
        run = lab.docket_run(flags(provider, "--max-usd", "1"), claude("--model", "claude-haiku-4-5"))
    assert run.exit_code == 0, run.said
    # 18000 x 1 + 5 x 5
    assert run.cost == Decimal("0.018025")
    assert_consistent(run)
