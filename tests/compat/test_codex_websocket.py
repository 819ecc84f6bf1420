"""Codex over its WebSocket, the real program, under docket against a scripted provider that speaks it."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from agent_lab import assert_consistent, assert_told_at_the_cap, program, provider_for

from docket.demo.script import Script, Tokens, ToolCall, Turn


@pytest.fixture
def codex_lab(lab):
    program("codex")
    return lab.with_variables(OPENAI_API_KEY="sk-dummy", CODEX_API_KEY="sk-dummy")


def codex(model="gpt-5.2-codex"):
    always = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--json"]
    return ["codex", "exec", *always, "-m", model, "edit the files"]


def command(text):
    return ToolCall(name="exec_command", arguments={"cmd": text})


def flags(provider, *more):
    return [*more, "--upstream", f"openai={provider.url}"]


def test_it_edits_over_one_socket_and_each_turn_is_metered(codex_lab):
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
        ),
        websocket=True,
    )
    with provider_for(script) as provider:
        run = codex_lab.docket_run(flags(provider, "--max-usd", "5"), codex())
    assert run.exit_code == 0, run.said
    assert run.changes() == {"new.txt": "added", "hello.txt": "modified"}
    assert all(exchange.method == "GET" for exchange in provider.exchanges), run.said
    turns = [exchange for exchange in provider.calls if exchange.asked is not None and not exchange.asked.warms]
    # Each turn goes on from the response before it and brings its new items alone.
    assert [exchange.asked.previous is not None for exchange in turns][1:] == [True, True]
    assert turns[2].request_bytes < provider.calls[0].request_bytes
    # As over HTTP: 15065.925 -> 15066, 2486.75 -> 2487, 2082.5 -> 2082; the first message asks for no output.
    costs = [response["cost_usd"] for response in run.of_type("model.response")]
    assert [cost for cost in costs if cost != "0.00"] == ["0.015066", "0.002487", "0.002082"]
    assert run.cost == Decimal("0.019635")
    digests = [request["request_sha256"] for request in run.of_type("model.request")]
    assert digests == [exchange.request_sha256 for exchange in provider.calls]
    assert_consistent(run)


@pytest.mark.parametrize("admission", ["metered", "strict"])
def test_a_cap_stops_it_at_once_and_it_says_why(codex_lab, admission):
    endless = Turn(tool_calls=(command("echo more >> hello.txt"),), tokens=Tokens(fresh=10000, output=40))
    with provider_for(Script(turns=(endless,), websocket=True)) as provider:
        run = codex_lab.docket_run(flags(provider, "--max-usd", "0.05", "--admission", admission), codex())
    # 10000 x 1.75 + 40 x 14 = 18060 micro-dollars a call, and one before them that costs nothing.
    assert_told_at_the_cap(run, provider, most_calls=5)
    assert all(exchange.method == "GET" for exchange in provider.exchanges), "it fell back to HTTP"
    # The message that warms up may be refused before the turn is.
    assert 1 <= len(run.of_type("model.denied")) <= 2


def test_a_model_the_policy_denies_ends_it_at_the_first_message(codex_lab):
    with provider_for(Script(turns=(Turn(text="Done."),), websocket=True)) as provider:
        run = codex_lab.docket_run(flags(provider, "--deny-model", "gpt-*"), codex())
    assert provider.calls == ()
    assert run.exit_code == 1, run.said
    assert "the policy denies the model gpt-5.2-codex" in run.stdout, run.said
    assert_consistent(run)


def test_events_of_the_socket_are_recorded_once(codex_lab):
    script = Script(turns=(Turn(text="Done.", tokens=Tokens(fresh=1000, output=5)),), websocket=True)
    with provider_for(script) as provider:
        run = codex_lab.docket_run(flags(provider), codex())
    assert run.exit_code == 0, run.said
    sockets = [other for other in run.of_type("x-docket.other") if other["status"] == 101]
    assert len(sockets) == len([exchange for exchange in provider.exchanges if exchange.status == 101])
    assert "sk-dummy" not in json.dumps(run.events)
