"""Policies: round trips, and a tree that can only tighten."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from fnmatch import fnmatchcase

from hypothesis import given, settings
from hypothesis import strategies as st

from docket.formats.amount import Usd
from docket.formats.canonical import decode, encode
from docket.formats.run import policy as policies
from docket.formats.run.policy import KEYS, BudgetMode, Policy
from docket.formats.run.policy_kinds import Amount, Choice, Count, Flag, Fraction, Texts
from docket.formats.run.policy_proof import KeyFile
from docket.formats.run.policy_toml import parse_policy
from docket.formats.run.sub_budgets import SubBudget, SubBudgets
from docket.rules.policy.globs import allowed_by_both, within
from docket.rules.policy.tighten import tighten

WORDS = {
    "budget.pass_endpoints": ["openai/v1/x", "a/*", "b/c"],
    "egress.allow": ["a.com", ".b.com", "[::1]"],
    "budget.pools": ["team", "me.2", "A-b_c"],
    "files.watch": [".", "src", "src/a", "docs/"],
    "models.priced_as": ["a=b", "a=c", "b=claude-x"],
}
PATTERNS = ["a", "a*", "*b", "ab", "a?", "[ab]c", "*", "claude-*", "claude-sonnet-*"]


BUDGETS = st.fixed_dictionaries(
    {}, optional={"max_usd": st.integers(0, 9).map(Usd), "max_tokens": st.integers(0, 9), "max_model_calls": st.just(1)}
).filter(bool)


def values(key):
    kind = key.kind
    if isinstance(kind, Amount):
        return st.one_of(st.none(), st.integers(0, 10**13).map(Usd))
    if isinstance(kind, Count):
        counts = st.integers(kind.minimum, 2**53 - 1) | st.integers(kind.minimum, kind.minimum + 9)
        return st.none() | counts if kind.optional or kind.zero_is_none else counts
    if isinstance(kind, Fraction):
        low, high = kind.minimum.scaleb(kind.places), min(kind.maximum, Decimal(10**6)).scaleb(kind.places)
        numbers = st.integers(int(low), int(high)).map(lambda n: Decimal(n).scaleb(-kind.places))
        return st.none() | numbers if kind.optional else numbers
    if isinstance(kind, Choice):
        return st.sampled_from(list(kind.members))
    if isinstance(kind, Flag):
        return st.booleans()
    if isinstance(kind, SubBudgets):
        return st.dictionaries(st.sampled_from(PATTERNS), BUDGETS, max_size=3).map(
            lambda chosen: tuple(SubBudget(pattern=name, **chosen[name]) for name in sorted(chosen))
        )
    if isinstance(kind, KeyFile):
        return st.sampled_from(["", "/keys/a.key", "~/b.key"])
    assert isinstance(kind, Texts)
    words = WORDS.get(key.path, PATTERNS)
    return st.lists(st.sampled_from(words), max_size=3, min_size=int(not kind.may_be_empty)).map(tuple)


@st.composite
def sections(draw, section):
    chosen = {key.name: draw(values(key)) for key in section.table() if draw(st.booleans())}
    if section is policies.ResiliencePolicy:
        longest = chosen.get("breaker_max_cooldown_seconds", 300)
        chosen["breaker_cooldown_seconds"] = min(chosen.get("breaker_cooldown_seconds", 30), longest)
    if section is policies.SnapshotPolicy and chosen.get("rollback_on_breach"):
        chosen["enabled"] = True
    return section(**chosen)


@st.composite
def whole_policies(draw):
    parts = {section.NAME: draw(sections(section)) for section in policies.SECTIONS}
    if parts["budget"].mode is BudgetMode.QUOTA:
        parts["caps"] = replace(parts["caps"], max_usd=None, per_model=(), per_agent=())
        parts["budget"] = replace(parts["budget"], pools=())
    upstreams = draw(st.dictionaries(st.sampled_from(["openai", "anthropic"]), st.just("https://h.example/v1")))
    return Policy(name=draw(st.sampled_from(["default", "n"])), upstreams=policies.Upstreams.of(upstreams), **parts)


def toml(value):
    """A JSON value as TOML: objects alone are spelled otherwise."""
    if not isinstance(value, dict):
        return json.dumps(value)
    return "{ " + ", ".join(f"{json.dumps(name)} = {toml(member)}" for name, member in value.items()) + " }"


def written(policy):
    """The policy as a TOML text, by the standard library's JSON alone: every key of the document but nulls."""
    lines = [f"policy.name = {json.dumps(policy.name)}"]
    for section in policies.SECTIONS:
        lines.append(f"[{section.NAME}]")
        for key in section.table():
            value = key.kind.to_json(getattr(getattr(policy, section.NAME), key.name))
            if value is None and key.name == "max_ledger_bytes":
                value = 0
            if value is not None:
                lines.append(f"{key.name} = {toml(value)}")
    lines += ["[upstreams]", *(f"{name} = {json.dumps(url)}" for name, url in policy.upstreams.entries)]
    return "\n".join(lines)


@settings(max_examples=40)
@given(whole_policies())
def test_a_document_reads_back_as_its_policy(policy):
    assert Policy.from_document(decode(encode(policy.document()))) == policy


@settings(max_examples=40)
@given(whole_policies())
def test_what_is_written_in_toml_reads_back_as_its_policy(policy):
    read = parse_policy(written(policy).encode(), "p")
    assert read == policy
    assert read.digest == policy.digest


def looseness(key, value):
    """How much a value lets through, as something that compares; None where the key has no such order."""
    infinite = float("inf")
    if key.path in ("caps.max_usd", "caps.max_tokens", "caps.max_model_calls", "caps.max_wall_seconds",
                    "resilience.max_events", "resilience.max_ledger_bytes", "resilience.max_calls_per_minute",
                    "resilience.max_calls_per_second"):  # fmt: skip
        return infinite if value is None else float(getattr(value, "micros", value))
    if key.path in ("cache.ttl_seconds", "cache.max_hits"):
        return infinite if value == 0 else float(value)
    if key.path in ("caps.warn_at", "caps.grace_seconds", "caps.admission_wait_ms", "cache.max_entries",
                    "resilience.breaker_threshold", "snapshot.max_bytes", "snapshot.max_entries"):  # fmt: skip
        return float(value)
    if key.path.startswith(("resilience.breaker_", "resilience.min_")):
        return -float(value)
    orders = {
        "budget.admission": ["strict", "metered", "ceiling"],
        "budget.unknown_models": ["refuse", "assume"],
        "budget.unknown_endpoints": ["refuse", "pass"],
        "caps.on_breach": ["kill", "deny"],
        "egress.mode": ["deny", "tunnel"],
        "workspace.settle": ["discard", "review", "auto"],
    }
    if key.path in orders:
        return orders[key.path].index(str(value))
    return None


@settings(max_examples=40)
@given(whole_policies(), whole_policies())
def test_whatever_a_tree_says_nothing_gets_looser(base, tree):
    tree = parse_policy(written(tree).encode(), "docket.toml")
    after, warnings = tighten(base, tree)
    for key in KEYS[1:]:
        old, new = (getattr(getattr(policy, key.section), key.name) for policy in (base, after))
        before, now = looseness(key, old), looseness(key, new)
        assert before is None or now <= before, key.path
    assert set(after.models.deny) >= set(base.models.deny)
    assert set(after.files.deny_write) >= set(base.files.deny_write)
    assert not any(p.startswith("!") for p in after.files.deny_write if p not in base.files.deny_write)
    assert after.files.ignore == base.files.ignore
    assert set(after.files.watch) >= set(base.files.watch)
    assert set(after.egress.allow) <= set(base.egress.allow)
    assert set(after.budget.pass_endpoints) <= set(base.budget.pass_endpoints)
    assert after.upstreams == base.upstreams
    assert after.budget.mode is base.budget.mode
    assert after.budget.pools == base.budget.pools
    for part in ("per_model", "per_agent"):
        mine, left = ({one.pattern: one for one in getattr(policy.caps, part)} for policy in (base, after))
        assert set(left) >= set(mine)
        for pattern, one in mine.items():
            for limit in ("max_usd", "max_tokens", "max_model_calls"):
                before, now = getattr(one, limit), getattr(left[pattern], limit)
                assert before is None or (now is not None and now <= before)
    assert after.cache.enabled <= base.cache.enabled
    assert after.evidence == base.evidence
    assert after.snapshot.enabled >= base.snapshot.enabled
    assert after.snapshot.max_file_bytes >= base.snapshot.max_file_bytes
    assert after.snapshot.rollback_on_breach is base.snapshot.rollback_on_breach
    assert all(sentence.endswith(("holds", "left", "go")) for sentence in warnings)
    # Applying the same file again changes nothing more.
    assert tighten(after, tree)[0] == after


def allowed(policy, name):
    if any(fnmatchcase(name, pattern.lower()) for pattern in policy.models.deny):
        return False
    return not policy.models.allow or any(fnmatchcase(name, pattern.lower()) for pattern in policy.models.allow)


NAMES = st.text("abc-", max_size=4) | st.sampled_from(["claude-x", "claude-sonnet-x"])


@settings(max_examples=40)
@given(whole_policies(), whole_policies(), NAMES)
def test_a_model_is_allowed_only_where_both_allow_it(base, tree, name):
    tree = parse_policy(written(tree).encode(), "docket.toml")
    after, _ = tighten(base, tree)
    assert allowed(after, name) <= (allowed(base, name) and allowed(tree, name))


GLOBS = st.lists(st.sampled_from(["a", "b", "*", "?", "[ab]", "[!a]", "["]), max_size=5).map("".join)


@given(GLOBS, GLOBS, st.text("ab[", max_size=5))
def test_within_is_never_a_wrong_yes(inner, outer, name):
    if within(inner, outer) and fnmatchcase(name, inner):
        assert fnmatchcase(name, outer)


@given(st.lists(GLOBS, max_size=3).map(tuple), st.lists(GLOBS, max_size=3).map(tuple), st.text("ab[", max_size=4))
def test_two_lists_together_allow_no_more_than_either(first, second, name):
    if any(fnmatchcase(name, pattern) for pattern in allowed_by_both(first, second)):
        assert any(fnmatchcase(name, pattern) for pattern in first)
        assert any(fnmatchcase(name, pattern) for pattern in second)
