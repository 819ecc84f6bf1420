"""Codex, the real program, under docket against a scripted provider."""

from __future__ import annotations

from decimal import Decimal

import pytest
from agent_lab import assert_consistent, assert_told_at_the_cap, program, provider_for

from docket.demo.script import Script, Tokens, ToolCall, Turn


@pytest.fixture
def codex_lab(lab):
    program("codex")
    return lab.with_variables(OPENAI_API_KEY="sk-dummy", CODEX_API_KEY="sk-dummy")


def codex(*more, model="gpt-5.2-codex"):
    always = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--json"]
    return ["codex", "exec", *always, "-m", model, *more, "edit the files"]


def command(text):
    return ToolCall(name="exec_command", arguments={"cmd": text})


def flags(provider, *more):
    return [*more, "--upstream", f"openai={provider.url}"]


def test_edits_are_metered_to_the_micro_dollar_and_recorded(codex_lab):
    script = Script(
        turns=(
            Turn(
                tool_calls=(command("echo two > new.txt"),),
                tokens=Tokens(fresh=8001, cache_read=2001, output=51, reasoning=30),
            ),
            Turn(
                tool_calls=(command("echo three >> hello.txt"),), tokens=Tokens(fresh=101, cache_read=10000, output=40)
            ),
            Turn(text="Done.", tokens=Tokens(fresh=100, cache_read=10100, output=10, reasoning=5)),
        )
    )
    with provider_for(script) as provider:
        run = codex_lab.docket_run(flags(provider, "--max-usd", "5"), codex())
    assert run.exit_code == 0, run.said
    assert (codex_lab.repository / "new.txt").read_text() == "two\n"
    assert (codex_lab.repository / "hello.txt").read_text() == "one\nthree\n"
    assert run.changes() == {"new.txt": "added", "hello.txt": "modified"}
    # GPT-5.2-Codex in micro-dollars a token: input 1.75, cached 0.175, output 14; reasoning is inside the output.
    # call 1: 8001 x 1.75 (14001.75) + 2001 x 0.175 (350.175) + 51 x 14 (714) = 15065.925 -> 15066
    # call 2: 101 x 1.75 (176.75) + 10000 x 0.175 (1750) + 40 x 14 (560)      =  2486.75  ->  2487
    # call 3: 100 x 1.75 (175) + 10100 x 0.175 (1767.5) + 10 x 14 (140)       =  2082.5   ->  2082 (half to even)
    assert [response["cost_usd"] for response in run.of_type("model.response")] == ["0.015066", "0.002487", "0.002082"]
    assert run.cost == Decimal("0.019635")
    assert run.of_type("model.response")[0]["usage"]["reasoning_tokens"] == 30
    assert_consistent(run)


@pytest.mark.parametrize("admission", ["metered", "strict"])
def test_a_cap_stops_it_at_once_and_it_says_why(codex_lab, admission):
    endless = Turn(tool_calls=(command("echo more >> hello.txt"),), tokens=Tokens(fresh=10000, output=40))
    with provider_for(Script(turns=(endless,))) as provider:
        run = codex_lab.docket_run(flags(provider, "--max-usd", "0.05", "--admission", admission), codex())
    # 10000 x 1.75 + 40 x 14 = 18060 micro-dollars a call: no more than three can have been sent.
    assert_told_at_the_cap(run, provider, most_calls=4)


def test_the_same_cap_lets_cheap_calls_go_on(codex_lab):
    step = Turn(tool_calls=(command("echo more >> hello.txt"),), tokens=Tokens(fresh=300, cache_read=10000, output=40))
    first = Turn(tool_calls=(command("echo first >> hello.txt"),), tokens=Tokens(fresh=10000, output=40))
    end = Turn(text="Done.", tokens=Tokens(fresh=100, cache_read=10000, output=5))
    with provider_for(Script(turns=(first, step, step, step, step, end))) as provider:
        run = codex_lab.docket_run(flags(provider, "--max-usd", "0.05"), codex())
    assert run.exit_code == 0, run.said
    assert (codex_lab.repository / "hello.txt").read_text() == "one\nfirst\nmore\nmore\nmore\nmore\n"
    # 18060, four of 300 x 1.75 + 10000 x 0.175 + 560 = 2835, and 175 + 1750 + 70 = 1995.
    assert run.cost == Decimal("0.031395")
    assert_consistent(run)


def test_code_mode_edits_a_file_with_cache_writes_priced(codex_lab):
    code = "const done = await tools.exec_command({cmd: 'echo two > new.txt'}); text(done.output);"
    script = Script(
        turns=(
            Turn(
                tool_calls=(ToolCall(name="exec", text=code),),
                tokens=Tokens(fresh=1001, cache_read=200, cache_write_5m=16001, output=50, reasoning=20),
            ),
            Turn(text="Done.", tokens=Tokens(fresh=101, cache_read=17003, output=10)),
        )
    )
    with provider_for(script) as provider:
        run = codex_lab.docket_run(flags(provider, "--max-usd", "5"), codex(model="gpt-6.1-sol"))
    assert run.exit_code == 0, run.said
    assert run.changes() == {"new.txt": "added"}
    # GPT-6.1 Sol in micro-dollars a token: input 2, cached 0.10, cache write 2.50, output 10.
    # call 1: 1001 x 2 + 200 x 0.10 + 50 x 10 = 2522 and, a part of its own, 16001 x 2.50 = 40002.5 -> 40002
    # call 2: 101 x 2 + 17003 x 0.10 (1700.3) + 10 x 10 = 2002.3 -> 2002
    assert [response["cost_usd"] for response in run.of_type("model.response")] == ["0.042524", "0.002002"]
    assert run.cost == Decimal("0.044526")
    assert_consistent(run)


def test_a_model_without_a_price_is_not_sent_under_a_dollar_cap_and_it_says_why(codex_lab):
    with provider_for(Script(turns=(Turn(text="Done."),))) as provider:
        run = codex_lab.docket_run(flags(provider, "--max-usd", "5"), codex(model="gpt-5.2-codx"))
    assert provider.calls == ()
    assert run.exit_code == 1, run.said
    for words in (
        "no price is known for the model gpt-5.2-codx",
        "that have one: gpt-5",
        "--prices FILE",
        "budget.unknown_models",
    ):
        assert words in run.stdout, run.said
    assert {denied["reason"] for denied in run.of_type("model.denied")} == {"unknown_model"}
    assert_consistent(run)


def test_a_configuration_that_points_elsewhere_does_not_lead_around_the_boundary(codex_lab):
    configuration = codex_lab.root / "home/.codex/config.toml"
    configuration.parent.mkdir()
    configuration.write_text(
        'model_provider = "mine"\nopenai_base_url = "http://127.0.0.1:9/v1"\n'
        '[model_providers.mine]\nname = "mine"\nbase_url = "http://127.0.0.1:9/v1"\nwire_api = "responses"\n'
    )
    with provider_for(Script(turns=(Turn(text="Done.", tokens=Tokens(fresh=10000, output=5)),))) as provider:
        run = codex_lab.docket_run(flags(provider, "--max-usd", "1"), codex())
    assert run.exit_code == 0, run.said
    # 10000 x 1.75 + 5 x 14
    assert run.cost == Decimal("0.017570")
    assert_consistent(run)
