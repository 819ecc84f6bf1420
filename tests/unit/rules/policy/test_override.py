"""Flags over a policy."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from docket.errors import UsageError
from docket.formats.amount import Usd
from docket.formats.run.policy import (
    Admission,
    BudgetMode,
    BudgetPolicy,
    CapsPolicy,
    OnBreach,
    Policy,
    SnapshotPolicy,
)
from docket.formats.run.policy_toml import parse_policy
from docket.formats.run.sub_budgets import SubBudget
from docket.rules.policy.override import Overrides, override

BASE = parse_policy(
    b"""
    [caps]
    max_usd = 5
    max_tokens = 100
    max_model_calls = 10
    max_wall_seconds = 60
    on_breach = "deny"
    [models]
    allow = ["claude-*"]
    deny = ["*opus*"]
    """,
    "base",
)


def test_no_flag_changes_nothing():
    assert Overrides.parse({}) == Overrides()
    assert Overrides.parse({"max_usd": None, "allow_models": (), "max_minutes": None}) == Overrides()
    assert override(BASE, Overrides()) == BASE


def test_every_flag_replaces_its_key_higher_or_lower():
    flags = {
        "max_usd": "7.5",
        "max_tokens": 1000,
        "max_calls": "0",
        "max_minutes": "0.5",
        "on_breach": "kill",
        "budget_mode": "usd",
        "admission": "strict",
        "allow_models": ("gpt-*",),
        "deny_models": ["*-pro", "*opus*"],
    }
    policy = override(BASE, Overrides.parse(flags))
    assert policy.caps.max_usd == Usd(7_500_000)
    assert policy.caps.max_tokens == 1000
    assert policy.caps.max_model_calls == 0
    assert policy.caps.max_wall_seconds == 30
    assert policy.caps.on_breach is OnBreach.KILL
    assert policy.budget.admission is Admission.STRICT
    assert policy.models.allow == ("gpt-*",)
    assert policy.models.deny == ("*opus*", "*-pro")


@pytest.mark.parametrize(("minutes", "seconds"), [("20", 1200), ("0.02", 1), ("1.999", 119), (1, 60), (0.5, 30)])
def test_minutes_are_rounded_down_to_whole_seconds(minutes, seconds):
    assert Overrides.parse({"max_minutes": minutes}).max_seconds == seconds


@pytest.mark.parametrize(
    ("flag", "given", "says"),
    [
        ("max_usd", "five", "--max-usd must be an amount"), ("max_usd", "-1", "--max-usd"),
        ("max_usd", "nan", "--max-usd"),
        ("max_usd", "1.1234567", "--max-usd"), ("max_usd", "", "--max-usd"), ("max_tokens", -1, "--max-tokens"),
        ("max_tokens", "-1", "--max-tokens"), ("max_tokens", True, "--max-tokens"), ("max_calls", "1.5", "--max-calls"),
        ("max_calls", 2**53, "--max-calls"), ("on_breach", "die", "--on-breach"), ("admission", "x", "--admission"),
        ("budget_mode", "x", "--budget-mode"), ("allow_models", ("a b",), "--allow-model"),
        ("allow_models", ("\udcff",), "--allow-model"), ("deny_models", ("",), "--deny-model"),
        ("max_minutes", "0", "--max-minutes"), ("max_minutes", "0.01", "--max-minutes"),
        ("max_minutes", "-1", "--max-minutes"), ("max_minutes", "nan", "--max-minutes"),
        ("max_minutes", "inf", "--max-minutes"), ("max_minutes", "soon", "--max-minutes"),
        ("max_minutes", "1e400000000", "--max-minutes"), ("max_minutes", "sNaN", "--max-minutes"),
    ],
)  # fmt: skip
def test_a_flag_that_means_nothing_is_a_usage_error_that_names_it(flag, given, says):
    with pytest.raises(UsageError, match=says):
        Overrides.parse({flag: given})


def test_a_dollar_cap_and_a_quota_do_not_go_together():
    with pytest.raises(UsageError, match="could never hold") as caught:
        override(BASE, Overrides(budget_mode=BudgetMode.QUOTA))
    assert caught.value.hint is not None
    quota = override(Policy(), Overrides(budget_mode=BudgetMode.QUOTA))
    with pytest.raises(UsageError, match="could never hold"):
        override(quota, Overrides(max_usd=Usd(1)))
    assert override(quota, Overrides(max_usd=Usd(1), budget_mode=BudgetMode.USD)).caps.max_usd == Usd(1)


def test_a_flag_of_the_cache_switches_it_on():
    plain = override(Policy(), Overrides.parse({"cache": True})).cache
    assert (plain.enabled, plain.ttl_seconds, plain.max_hits) == (True, Decimal(300), 1000)
    tuned = override(Policy(), Overrides.parse({"cache_ttl": "1.5", "cache_max_hits": 0})).cache
    assert (tuned.enabled, tuned.ttl_seconds, tuned.max_hits) == (True, Decimal("1.5"), 0)
    assert not override(Policy(), Overrides.parse({"cache": None})).cache.enabled
    with pytest.raises(UsageError, match="--cache-ttl must be a number of seconds"):
        Overrides.parse({"cache_ttl": "soon"})


def test_responses_are_kept_when_a_flag_says_so():
    assert override(Policy(), Overrides.parse({"record_responses": True})).evidence.record_responses
    assert not override(Policy(), Overrides.parse({})).evidence.record_responses


def test_pools_of_flags_are_added_to_those_of_the_policy():
    base = Policy(budget=BudgetPolicy(pools=("mine",)))
    after = override(base, Overrides.parse({"pools": ("team", "mine")}))
    assert after.budget.pools == ("mine", "team")
    with pytest.raises(UsageError, match="--pool must be an array of names of pools"):
        Overrides.parse({"pools": ("a/b",)})


def test_sub_budgets_of_flags_stand_over_those_of_the_policy():
    base = Policy(caps=CapsPolicy(per_model=(SubBudget(pattern="*Opus*", max_usd=Usd(9), max_model_calls=4),)))
    flags = {"per_model": ("*opus*=2", "gpt-*=0.5"), "per_agent": ("1.5", "sub:a=b=3")}
    caps = override(base, Overrides.parse(flags)).caps
    assert caps.per_model == (
        SubBudget(pattern="*Opus*", max_usd=Usd(2_000_000), max_model_calls=4),
        SubBudget(pattern="gpt-*", max_usd=Usd(500_000)),
    )
    assert caps.per_agent == (
        SubBudget(pattern="*", max_usd=Usd(1_500_000)),
        SubBudget(pattern="sub:a=b", max_usd=Usd(3_000_000)),
    )


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"per_model": ("2",)}, "--max-usd-per-model: '2' is not PATTERN=USD"),
        ({"per_model": ("=2",)}, "is not PATTERN=USD"),
        ({"per_model": ("a=2", "a=3")}, "--max-usd-per-model names 'a' twice"),
        ({"per_model": ("a=b",)}, "--max-usd-per-model 'a': max_usd must be an amount"),
        ({"per_agent": ("much",)}, "--max-usd-per-agent '\\*': max_usd must be an amount"),
    ],
)
def test_a_sub_budget_that_is_none_is_a_usage_error(flags, words):
    with pytest.raises(UsageError, match=words):
        Overrides.parse(flags)


def test_the_snapshot_is_switched_on_by_whatever_tunes_it_and_off_by_one_flag():
    assert override(Policy(), Overrides.parse({"snapshot": True})).snapshot == SnapshotPolicy(enabled=True)
    tuned = override(Policy(), Overrides.parse({"snapshot_max_bytes": 5, "snapshot_max_file_bytes": 4})).snapshot
    assert tuned == SnapshotPolicy(enabled=True, max_bytes=5, max_file_bytes=4)
    back = override(Policy(), Overrides.parse({"rollback_on_breach": True}))
    assert back.snapshot == SnapshotPolicy(enabled=True, rollback_on_breach=True)
    assert override(back, Overrides.parse({})).snapshot == back.snapshot
    off = override(replace(back, snapshot=replace(back.snapshot, max_bytes=5)), Overrides.parse({"snapshot": False}))
    assert off.snapshot == SnapshotPolicy(max_bytes=5)
    with pytest.raises(UsageError, match="--no-snapshot"):
        override(Policy(), Overrides.parse({"snapshot": False, "rollback_on_breach": True}))


def test_windows_are_switched_by_a_flag_alone():
    on = override(BASE, Overrides.parse({"windows": True}))
    assert (BASE.windows.enabled, on.windows.enabled) == (False, True)
    assert override(on, Overrides.parse({"windows": False})) == BASE
    assert override(on, Overrides.parse({"windows": None})) == on
