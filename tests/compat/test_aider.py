"""aider, the real program, under docket against a scripted provider."""

from __future__ import annotations

from decimal import Decimal

import pytest
from agent_lab import assert_consistent, assert_told_at_the_cap, program, provider_for

from docket.demo.script import Script, Tokens, Turn

COMMIT_MESSAGE = Turn(text="feat: change hello", tokens=Tokens(fresh=301, output=7))


@pytest.fixture
def aider_lab(lab):
    program("aider")
    return lab.with_variables(OPENAI_API_KEY="sk-dummy", LITELLM_LOCAL_MODEL_COST_MAP="True")


def aider():
    quiet = ["--no-pretty", "--no-check-update", "--analytics-disable", "--no-show-release-notes", "--no-gitignore"]
    return [str(program("aider")), "--model", "openai/gpt-4o", "--message", "edit", "--yes-always", *quiet, "hello.txt"]


def edit(before, after):
    return f"hello.txt\n```\n<<<<<<< SEARCH\n{before}\n=======\n{after}\n>>>>>>> REPLACE\n```\n"


def flags(provider, *more):
    return [*more, "--upstream", f"openai={provider.url}"]


def test_an_edit_is_metered_to_the_micro_dollar_and_recorded(aider_lab):
    script = Script(
        turns=(Turn(text=edit("one", "ONE"), tokens=Tokens(fresh=2000, cache_read=512, output=51)), COMMIT_MESSAGE)
    )
    with provider_for(script) as provider:
        run = aider_lab.docket_run(flags(provider, "--max-usd", "5"), aider())
    assert run.exit_code == 0, run.said
    assert (aider_lab.repository / "hello.txt").read_text() == "ONE\n"
    assert run.changes()["hello.txt"] == "modified"
    # aider's stream does not ask for usage; docket asks for it and takes the chunk out again.
    stream, message = run.of_type("model.request")
    assert stream["altered"], run.said
    assert "altered" not in message
    # In micro-dollars a token, gpt-4o: input 2.50, cached 1.25, output 10; gpt-4o-mini: input 0.15, output 0.60.
    # call 1: 2000 x 2.50 + 512 x 1.25 + 51 x 10 = 5000 + 640 + 510 = 6150
    # call 2: 301 x 0.15 (45.15) + 7 x 0.60 (4.2) = 49.35 -> 49
    assert [response["cost_usd"] for response in run.of_type("model.response")] == ["0.006150", "0.000049"]
    assert [response["usage_source"] for response in run.of_type("model.response")] == ["reported", "reported"]
    assert run.cost == Decimal("0.006199")
    assert_consistent(run)


@pytest.mark.parametrize("admission", ["metered", "strict"])
def test_a_cap_stops_it_at_once_and_it_says_why(aider_lab, admission):
    # A block that does not match makes aider ask again: its own kind of loop.
    endless = Turn(text=edit("not there", "x"), tokens=Tokens(fresh=9000, output=40))
    with provider_for(Script(turns=(endless,))) as provider:
        run = aider_lab.docket_run(flags(provider, "--max-usd", "0.05", "--admission", admission), aider())
    # 9000 x 2.50 + 400 = 22900 micro-dollars a call: no more than three can have been sent.
    assert_told_at_the_cap(run, provider, most_calls=4)


def test_the_same_cap_lets_cheap_calls_go_on(aider_lab):
    wrong = Turn(text=edit("not there", "x"), tokens=Tokens(fresh=2500, output=40))
    right = Turn(text=edit("one", "ONE"), tokens=Tokens(fresh=2500, output=40))
    with provider_for(Script(turns=(wrong, wrong, right, COMMIT_MESSAGE))) as provider:
        run = aider_lab.docket_run(flags(provider, "--max-usd", "0.05"), aider())
    assert run.exit_code == 0, run.said
    assert (aider_lab.repository / "hello.txt").read_text() == "ONE\n"
    # Three of 2500 x 2.50 + 400 = 6650, and the commit message's 49.
    assert run.cost == Decimal("0.019999")
    assert_consistent(run)
