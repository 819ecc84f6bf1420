"""A policy file in the tree: what it tightens, and what is not followed."""

from __future__ import annotations

import pytest

from docket.formats.run.policy import KEYS, Policy, SnapshotPolicy
from docket.formats.run.policy_toml import parse_policy
from docket.rules.policy.tighten import RULES, tighten


def read(text):
    return parse_policy(text.encode(), "docket.toml")


def tightened(base, tree):
    """Return the document's section members that changed, and the warnings."""
    before = read(base)
    after, warnings = tighten(before, read(tree))
    return after, warnings


def value(policy, path):
    section, name = path.split(".")
    key = next(key for key in KEYS if key.path == path)
    return key.kind.to_json(getattr(getattr(policy, section), name))


def test_every_key_has_a_rule():
    assert set(RULES) == {key.path for key in KEYS if key.section != "policy"}


def test_a_file_that_says_nothing_changes_nothing():
    assert tightened("[caps]\nmax_usd = 5\nwarn_at = 0.5\non_breach = 'deny'", "") == (
        read("[caps]\nmax_usd = 5\nwarn_at = 0.5\non_breach = 'deny'"),
        (),
    )


# key, the person's value, the tree's tighter value, what holds then, the tree's looser value
DIRECTIONS = [
    ("budget.admission", "'metered'", "'strict'", "strict", None),
    ("budget.admission", "'strict'", "'strict'", "strict", "'metered'"),
    ("budget.unknown_models", "'assume'", "'refuse'", "refuse", None),
    ("budget.unknown_models", "'refuse'", "'refuse'", "refuse", "'assume'"),
    ("budget.unknown_endpoints", "'pass'", "'refuse'", "refuse", None),
    ("budget.unknown_endpoints", "'refuse'", "'refuse'", "refuse", "'pass'"),
    ("budget.pass_endpoints", "['a/b', 'a/c']", "['a/c']", ["a/c"], "['a/b', 'a/c', 'a/d']"),
    ("budget.admission", "'ceiling'", "'metered'", "metered", None),
    ("budget.lower_max_tokens", "true", "false", False, None),
    ("budget.lower_max_tokens", "false", "false", False, "true"),
    ("budget.pools", "['team']", "['team']", ["team"], "['mine']"),
    ("budget.pools", "['team']", "['team']", ["team"], "[]"),
    ("caps.per_model", "{ '*opus*' = 2 }", "{ '*opus*' = 1.5 }", {"*opus*": {"max_usd": "1.50"}}, "{ '*opus*' = 3 }"),
    (
        "caps.per_model",
        "{ 'a' = 2 }",
        "{ 'b' = 9, 'A' = { max_tokens = 7 } }",
        {"a": {"max_usd": "2.00", "max_tokens": 7}, "b": {"max_usd": "9.00"}},
        "{ 'a' = 2.01 }",
    ),
    (
        "caps.per_agent",
        "{ '*' = { max_model_calls = 3 } }",
        "{ '*' = { max_model_calls = 2 } }",
        {"*": {"max_model_calls": 2}},
        "{ '*' = { max_model_calls = 4 } }",
    ),
    ("caps.on_sub_breach", "'deny'", "'kill'", "kill", None),
    ("caps.on_sub_breach", "'kill'", "'kill'", "kill", "'deny'"),
    ("caps.max_usd", "5", "4.5", "4.50", "5.000001"),
    ("caps.max_tokens", "100", "0", 0, "101"),
    ("caps.max_model_calls", "10", "10", 10, "11"),
    ("caps.max_wall_seconds", "60", "1", 1, "61"),
    ("caps.max_repeats", "5", "0", 0, "6"),
    ("caps.warn_at", "0.5", "0.25", "0.25", "0.8"),
    ("caps.on_breach", "'deny'", "'kill'", "kill", None),
    ("caps.on_breach", "'kill'", "'kill'", "kill", "'deny'"),
    ("caps.grace_seconds", "5", "0.5", "0.5", "5.5"),
    ("caps.admission_wait_ms", "100", "0", 0, "101"),
    ("models.allow", "['claude-*']", "['claude-haiku-*']", ["claude-haiku-*"], "['claude-*', 'gpt-5']"),
    ("models.deny", "['a']", "['b', 'a']", ["a", "b"], None),
    ("models.priced_as", "['a=b']", "['a=b']", ["a=b"], "['a=c']"),
    ("egress.mode", "'tunnel'", "'deny'", "deny", None),
    ("egress.mode", "'deny'", "'deny'", "deny", "'tunnel'"),
    ("egress.allow", "['a.com', 'b.com']", "['b.com']", ["b.com"], "['a.com', 'b.com', 'c.com']"),
    ("files.watch", "['src']", "['.']", ["src", "."], "['docs']"),
    ("files.ignore", "['*.log']", "['*.log']", ["*.log"], "['*.log', 'src/']"),
    ("files.ignore", "['*.log']", "['*.log']", ["*.log"], "[]"),
    ("files.deny_write", "['a', '!b']", "['c', 'a']", ["a", "!b", "c"], "['!a']"),
    ("resilience.breaker_threshold", "5", "1", 1, "6"),
    ("resilience.breaker_cooldown_seconds", "30", "31", 31, "29"),
    ("resilience.breaker_max_cooldown_seconds", "300", "301", 301, "299"),
    ("resilience.max_calls_per_minute", "10", "9", 9, "11"),
    ("resilience.max_calls_per_second", "0.5", "0.25", "0.25", "1"),
    ("resilience.max_pace_wait_seconds", "20", "20", 20, "19"),
    ("resilience.max_pace_wait_seconds", "20", "20", 20, "21"),
    ("resilience.max_events", "10", "9", 9, "11"),
    ("resilience.max_ledger_bytes", "5000", "4096", 4096, "0"),
    ("resilience.fail_fast_evidence", "false", "true", True, None),
    ("resilience.fail_fast_evidence", "true", "true", True, "false"),
    ("resilience.min_free_bytes", "10", "11", 11, "9"),
    ("cache.enabled", "true", "false", False, None),
    ("cache.enabled", "false", "false", False, "true"),
    ("cache.ttl_seconds", "5", "4", 4, "0"),
    ("cache.ttl_seconds", "0", "4", 4, None),
    ("cache.max_entries", "5", "4", 4, "6"),
    ("cache.max_hits", "5", "4", 4, "0"),
    ("cache.max_hits", "0", "0", 0, None),
    ("cache.max_bytes", "5", "4", 4, "6"),
    ("cache.max_response_bytes", "5", "4", 4, "6"),
    ("evidence.record_total_max_bytes", "5", "5", 5, "4"),
    ("evidence.record_responses", "true", "true", True, "false"),
    ("evidence.record_responses", "false", "false", False, "true"),
    ("evidence.record_response_max_bytes", "5", "5", 5, "4"),
    ("windows.enabled", "false", "true", True, None),
    ("snapshot.enabled", "false", "true", True, None),
    ("snapshot.enabled", "true", "true", True, "false"),
    ("snapshot.max_bytes", "5", "4", 4, "6"),
    ("snapshot.max_file_bytes", "5", "6", 6, "4"),
    ("snapshot.max_entries", "5", "4", 4, "6"),
    ("snapshot.rollback_on_breach", "true", "true", True, "false"),
    ("snapshot.rollback_on_breach", "false", "false", False, "true"),
    ("workspace.transaction", "false", "true", True, None),
    ("workspace.transaction", "true", "true", True, "false"),
    ("workspace.backend", "'copy'", "'copy'", "copy", "'overlay'"),
    ("workspace.settle", "'auto'", "'review'", "review", None),
    ("workspace.settle", "'review'", "'discard'", "discard", "'auto'"),
    ("workspace.exclude", "['a']", "['a']", ["a"], "['a', 'b']"),
    ("workspace.share", "['a']", "['a']", ["a"], "['a', 'b']"),
    ("workspace.protect", "['a']", "['b']", ["a", "b"], "['!a']"),
    ("proof.sign", "'/a'", "'/a'", "/a", "'/b'"),
    ("proof.seal", "true", "true", True, "false"),
    ("proof.seal", "false", "false", False, "true"),
]


def written(path, text):
    section, name = path.split(".")
    return f"[{section}]\n{name} = {text}\n"


@pytest.mark.parametrize(("path", "ours", "tighter", "holds", "looser"), DIRECTIONS)
def test_each_key_has_its_direction(path, ours, tighter, holds, looser):
    after, warnings = tightened(written(path, ours), written(path, tighter))
    assert warnings == ()
    assert value(after, path) == holds
    if looser is not None:
        after, warnings = tightened(written(path, ours), written(path, looser))
        assert value(after, path) == value(read(written(path, ours)), path) or path == "files.watch"
        assert len(warnings) == 1
        assert warnings[0].startswith(f"{path} = ")
        assert "may only tighten" in warnings[0]


def test_the_table_of_directions_has_every_key():
    assert {path for path, *_ in DIRECTIONS} | {"budget.mode"} == set(RULES)


@pytest.mark.parametrize(
    ("path", "asked"),
    [("caps.max_usd", "3"), ("caps.max_tokens", "3"), ("resilience.max_events", "3"), ("caps.max_wall_seconds", "3")],
)
def test_a_cap_where_the_person_has_none_is_a_tightening(path, asked):
    after, warnings = tightened("", written(path, asked))
    assert value(after, path) in ("3.00", 3)
    assert warnings == ()


@pytest.mark.parametrize(("ours", "asked"), [("usd", "quota"), ("quota", "usd")])
def test_the_way_of_counting_is_never_the_trees_to_choose(ours, asked):
    after, warnings = tightened(f"[budget]\nmode = '{ours}'", f"[budget]\nmode = '{asked}'")
    assert value(after, "budget.mode") == ours
    assert warnings == (
        f'budget.mode = "{asked}" is not followed: a policy file in the tree may only tighten; "{ours}" holds',
    )


def test_a_dollar_cap_of_the_tree_is_not_followed_where_no_dollars_are_counted():
    after, warnings = tightened("[budget]\nmode = 'quota'", "[caps]\nmax_usd = 1\nmax_tokens = 9")
    assert after.caps.max_usd is None
    assert after.caps.max_tokens == 9
    assert warnings == (
        'caps.max_usd = "1.00" is not followed: a policy file in the tree may only tighten; no limit holds',
    )


@pytest.mark.parametrize(
    ("ours", "asked", "allow", "deny", "warned"),
    [
        ("[]", "['a*']", ["a*"], [], False),
        ("['a*']", "[]", ["a*"], [], True),
        ("[]", "[]", [], [], False),
        ("['a*']", "['*']", ["a*"], [], False),
        ("['a*']", "['ab', 'b']", ["ab"], [], True),
        ("['a']", "['b']", ["a"], ["*"], True),
        ("['a*']", "['*b']", ["a*"], ["*"], True),
    ],
)
def test_allowed_models_are_what_both_allow(ours, asked, allow, deny, warned):
    after, warnings = tightened(f"[models]\nallow = {ours}", f"[models]\nallow = {asked}")
    assert value(after, "models.allow") == allow
    assert value(after, "models.deny") == deny
    assert bool(warnings) is warned
    if deny:
        assert warnings == ("models.allow has nothing in common with the models the policy allows: no model is left",)


def test_no_model_left_keeps_what_else_was_denied():
    after, _ = tightened("[models]\nallow = ['a']\ndeny = ['x']", "[models]\nallow = ['b']\ndeny = ['y']")
    assert value(after, "models.deny") == ["x", "y", "*"]


@pytest.mark.parametrize(
    ("ours", "asked", "holds", "warned"),
    [
        ("['.']", "['src']", ["."], True),
        ("['src']", "['src/a']", ["src"], True),
        ("['src']", "['src', 'docs/']", ["src", "docs/"], False),
        ("['src', 'docs']", "['./src/', 'docs']", ["src", "docs"], False),
        ("['src']", "['srcs']", ["src", "srcs"], True),
    ],
)
def test_watched_folders_may_only_grow(ours, asked, holds, warned):
    after, warnings = tightened(f"[files]\nwatch = {ours}", f"[files]\nwatch = {asked}")
    assert value(after, "files.watch") == holds
    assert bool(warnings) is warned


def test_a_pattern_that_takes_back_protection_is_not_followed():
    after, warnings = tightened("[files]\ndeny_write = ['.env']", "[files]\ndeny_write = ['!.env', 'x']")
    assert value(after, "files.deny_write") == [".env", "x"]
    assert len(warnings) == 1


def test_upstreams_are_never_the_trees_to_choose():
    after, warnings = tightened(
        "[upstreams]\nopenai = 'http://mine'", "[upstreams]\nopenai = 'http://theirs'\nanthropic = 'http://theirs'"
    )
    assert after.upstreams.mapping() == {"openai": "http://mine"}
    assert warnings == (
        "upstreams.anthropic is ignored: a policy file in the tree does not choose where calls go",
        "upstreams.openai is ignored: a policy file in the tree does not choose where calls go",
    )


def test_a_cache_is_never_switched_on_and_its_tuning_then_says_nothing():
    after, warnings = tightened("", "[cache]\nttl_seconds = 1\nmax_entries = 9999")
    assert after == Policy()
    assert warnings == (
        "cache.enabled = true is not followed: a policy file in the tree may only tighten; false holds",
    )


@pytest.mark.parametrize(
    ("ours", "asked", "cooldown", "longest"),
    [
        ("breaker_max_cooldown_seconds = 200", "breaker_cooldown_seconds = 250", 250, 250),
        ("breaker_max_cooldown_seconds = 200", "breaker_cooldown_seconds = 150", 150, 200),
        ("", "breaker_cooldown_seconds = 500\nbreaker_max_cooldown_seconds = 600", 500, 600),
    ],
)
def test_a_longer_pause_makes_the_longest_one_longer(ours, asked, cooldown, longest):
    after, warnings = tightened(f"[resilience]\n{ours}", f"[resilience]\n{asked}")
    assert (after.resilience.breaker_cooldown_seconds, after.resilience.breaker_max_cooldown_seconds) == (
        cooldown,
        longest,
    )
    assert warnings == ()


def test_the_tree_names_the_policy_only_where_the_person_did_not():
    assert tighten(Policy(), Policy(name="theirs"))[0].name == "theirs"
    assert tighten(Policy(name="mine"), Policy(name="theirs"))[0].name == "mine"


def test_long_lists_are_shown_short_in_a_warning():
    many = [f"host{number}.example.com" for number in range(50)]
    _, (warning,) = tightened("", f"[egress]\nallow = {many}")
    assert len(warning) < 200


def test_limits_of_a_snapshot_that_nobody_takes_move_nothing():
    tree = parse_policy(b"[snapshot]\nenabled = false\nmax_bytes = 5", "docket.toml")
    assert tighten(Policy(), tree) == (Policy(), ())
    asked = parse_policy(b"[snapshot]\nmax_bytes = 5", "docket.toml")
    assert tighten(Policy(), asked)[0].snapshot == SnapshotPolicy(enabled=True, max_bytes=5)
