"""A budget that runs share, end to end: real `docket run`, real `docket pools`, the scripted provider.

A call costs 30 x 3 + 60 x 15 = 990 micro-dollars.
"""

from __future__ import annotations

import json
import sys

import pytest

import run_lab
from docket.demo.provider import Limits, ScriptedProvider
from docket.demo.script import Script, Tokens, Turn

CALL = """
import json, os, sys, urllib.request, urllib.error
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
asked = {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}
for _ in range(int(sys.argv[1])):
    request = urllib.request.Request(url, json.dumps(asked).encode(), {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as reply:
            reply.read()
    except urllib.error.HTTPError as error:
        print(error.code, json.load(error)["error"]["message"]); sys.exit(7)
print("done")
"""


@pytest.fixture
def lab(tmp_path):
    return run_lab.build(tmp_path)


@pytest.fixture
def provider():
    turn = Turn(text="ok", tokens=Tokens(fresh=30, output=60))
    with ScriptedProvider(Script(turns=(turn,)), limits=Limits(max_requests=400, max_seconds=60)) as running:
        yield running


def calls(lab, provider, count, *flags):
    agent = [sys.executable, "-c", CALL, str(count)]
    return lab.run(*flags, "--upstream", f"anthropic={provider.url}", "--", *agent)


def pool(lab, name="team"):
    return json.loads(lab.docket("pools", "show", name, "--json").stdout)


def test_two_runs_share_what_one_of_them_leaves(lab, provider):
    assert lab.docket("pools", "set", "team", "--daily-usd", "0.004", "--total-usd", "5").exit_code == 0
    first = calls(lab, provider, 2, "--pool", "team")
    assert first.exit_code == 0, first.said
    assert pool(lab)["daily"] == {
        "limit_usd": "0.004000", "spent_usd": "0.001980", "unknown_usd": "0.00", "left_usd": "0.002020",
    }  # fmt: skip
    second = calls(lab, provider, 9, "--pool", "team")
    assert second.exit_code == 42, second.said
    receipt = json.loads((lab.tree / ".docket/latest.receipt.json").read_bytes())
    assert receipt["session"]["breached"] == "pool_daily_usd"
    assert receipt["totals"]["cost_usd"] == "0.001980"
    assert pool(lab)["total"]["spent_usd"] == "0.003960"
    assert pool(lab)["held_usd"] == "0.00"
    assert "the daily limit of the pool team, 0.004000 US dollars" in second.stdout
    assert len(provider.calls) == 4
    (member,) = receipt["pools"]
    assert member == {
        "pool": "team", "daily_usd": "0.004000", "weekly_usd": None, "total_usd": "5.00",
        "spent_usd": "0.001980", "unknown_usd": "0.00", "overshoot_usd": "0.00", "bound_usd": member["bound_usd"],
    }  # fmt: skip
    assert lab.docket("verify").exit_code == 0
    third = lab.run("--pool", "team", "--", "true")
    assert third.exit_code == 0
