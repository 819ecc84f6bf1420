"""A budget that runs share, end to end: real `docket run`, real `docket pools`, the scripted provider.

A call costs 30 x 3 + 60 x 15 = 990 micro-dollars.
"""

from __future__ import annotations

import json

import run_lab


def pool(lab, name="team"):
    return json.loads(lab.docket("pools", "show", name, "--json").stdout)


def test_two_runs_share_what_one_of_them_leaves(lab, provider):
    assert lab.docket("pools", "set", "team", "--daily-usd", "0.004", "--total-usd", "5").exit_code == 0
    first = run_lab.calls(lab, provider, 2, "--pool", "team")
    assert first.exit_code == 0, first.said
    assert pool(lab)["daily"] == {
        "limit_usd": "0.004000", "spent_usd": "0.001980", "unknown_usd": "0.00", "left_usd": "0.002020",
    }  # fmt: skip
    second = run_lab.calls(lab, provider, 9, "--pool", "team")
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
