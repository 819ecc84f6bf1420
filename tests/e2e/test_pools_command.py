"""`docket pools` as a person types it."""

from __future__ import annotations

import json

import pytest


def listed(lab):
    return json.loads(lab.docket("pools", "--json").stdout)["pools"]


def test_without_a_pool_there_is_nothing_and_nothing_is_made(lab):
    done = lab.docket("pools")
    assert done.exit_code == 0
    assert "docket pools set NAME" in done.stderr
    assert listed(lab) == []
    assert not (lab.state / "pools").exists()
    assert lab.docket("pools", "show", "team").exit_code == 75


def test_a_pool_is_set_changed_shown_and_removed(lab):
    assert lab.docket("pools", "set", "team", "--daily-usd", "20").exit_code == 0
    assert lab.docket("pools", "set", "team", "--total-usd", "500", "--weekly-usd", "60").exit_code == 0
    done = lab.docket("pools", "set", "team", "--weekly-usd", "none")
    assert "daily $20.00, total $500.00" in done.stderr
    shown = lab.docket("pools", "show", "team").stdout.splitlines()
    assert shown == [
        "team: no run is in it",
        "  daily: $0.00 of $20.00 used",
        "  total: $0.00 of $500.00 used",
    ]
    assert lab.docket("pools", "list").stdout.splitlines() == shown
    assert listed(lab)[0]["weekly"] == {
        "limit_usd": None, "spent_usd": "0.00", "unknown_usd": "0.00", "left_usd": None,
    }  # fmt: skip
    assert lab.docket("pools", "reset", "team").exit_code == 0
    assert lab.docket("pools", "remove", "team").exit_code == 0
    assert listed(lab) == []
    assert "docket pools set NAME" in lab.docket("pools").stderr


@pytest.mark.parametrize(
    ("arguments", "exit_code", "words"),
    [
        (("set", "team"), 2, "no limit is named"),
        (("set", "a/b", "--daily-usd", "1"), 2, "is no name of a pool"),
        (("set", "team", "--daily-usd", "much"), 2, "--daily-usd: 'much' is not an amount"),
        (("set", "team", "--daily-usd", "none"), 2, "would have no limit"),
        (("show", "none"), 75, "there is no pool called none"),
        (("reset", "none"), 75, "there is no pool called none"),
        (("remove", "none"), 75, "there is no pool called none"),
    ],
)
def test_what_makes_no_sense_is_said(lab, arguments, exit_code, words):
    lab.docket("pools", "set", "other", "--daily-usd", "1")
    done = lab.docket("pools", *arguments)
    assert done.exit_code == exit_code, done.said
    assert words in done.stderr


def test_a_damaged_file_refuses_the_start_and_is_left_alone(lab):
    lab.docket("pools", "set", "team", "--daily-usd", "1")
    path = lab.state / "pools/pools.sqlite3"
    path.write_bytes(b"no database " * 1000)
    for arguments in (
        ("pools",),
        ("pools", "set", "team", "--daily-usd", "2"),
        ("run", "--pool", "team", "--", "true"),
    ):
        done = lab.docket(*arguments)
        assert done.exit_code in (43, 75), done.said
        assert "put the file aside" in done.stderr
    assert path.read_bytes() == b"no database " * 1000
    assert lab.docket("run", "--", "true").exit_code == 0


def test_a_run_on_a_pool_that_is_not_there_or_used_up_or_counts_no_dollars_does_not_start(lab):
    assert lab.docket("run", "--pool", "team", "--", "true").exit_code == 43
    lab.docket("pools", "set", "team", "--weekly-usd", "0")
    done = lab.docket("run", "--pool", "team", "--", "true")
    assert done.exit_code == 43
    assert "the pool team is used up: its weekly limit is 0.00 US dollars" in done.stderr
    assert lab.docket("run", "--pool", "team", "--budget-mode", "quota", "--", "true").exit_code == 2


def test_a_policy_in_the_tree_names_no_pool(lab):
    (lab.tree / "docket.toml").write_text('[budget]\npools = ["team"]\n', "utf-8")
    done = lab.docket("run", "--", "true")
    assert done.exit_code == 0
    assert "budget.pools" in done.stderr
    assert "may only tighten" in done.stderr
    assert "pools" not in lab.receipt()
