"""Which policy holds, and what protects policy files in the tree."""

from __future__ import annotations

import pytest

from docket.errors import UsageError
from docket.formats.amount import Usd
from docket.formats.relpath import RelPath
from docket.formats.run.policy import BudgetMode, Policy
from docket.formats.run.policy_toml import parse_policy
from docket.rules.policy.order import PolicyFile, PolicySources, effective_policy, protected_selectors
from docket.rules.policy.override import Overrides
from docket.rules.selectors import compile_patterns


def file(max_usd, source):
    return PolicyFile(policy=parse_policy(f"[caps]\nmax_usd = {max_usd}".encode(), source), source=source)


def holds(**sources):
    effective = effective_policy(PolicySources(**sources))
    usd = effective.policy.caps.max_usd
    return (None if usd is None else str(usd)), effective.source, effective.warnings


NAMED, USER, TREE = file(5, "named.toml"), file(4, "user.toml"), file(3, "/p/docket.toml")
HIGH = file(9, "/p/docket.toml")


@pytest.mark.parametrize(
    ("sources", "usd", "source"),
    [
        ({}, None, None),
        ({"user": USER}, "4.00", "user.toml"),
        ({"named": NAMED, "user": USER}, "5.00", "named.toml"),
        ({"tree": TREE}, "3.00", "/p/docket.toml"),
        ({"named": NAMED, "tree": TREE}, "3.00", "named.toml, tightened by /p/docket.toml"),
        ({"user": USER, "tree": TREE}, "3.00", "user.toml, tightened by /p/docket.toml"),
        ({"named": HIGH, "user": USER, "tree": HIGH}, "9.00", "/p/docket.toml"),
        ({"user": USER, "overrides": Overrides(max_usd=Usd(7_000_000))}, "7.00", "user.toml"),
        ({"tree": TREE, "overrides": Overrides(max_usd=Usd(7_000_000))}, "7.00", "/p/docket.toml"),
    ],
)
def test_the_order(sources, usd, source):
    assert holds(**sources) == (usd, source, ())


def test_what_the_tree_asked_too_much_of_is_told_with_its_file():
    usd, source, warnings = holds(user=USER, tree=HIGH)
    assert (usd, source) == ("4.00", "user.toml")
    (warning,) = warnings
    assert warning.startswith('/p/docket.toml: caps.max_usd = "9.00" is not followed: ')
    assert warning.endswith('"4.00" holds')


def test_flags_that_contradict_the_policy_are_a_usage_error():
    with pytest.raises(UsageError):
        effective_policy(PolicySources(user=USER, overrides=Overrides(budget_mode=BudgetMode.QUOTA)))


def test_the_defaults_are_the_effective_policy_of_nothing():
    assert effective_policy(PolicySources()).policy == Policy()


@pytest.mark.parametrize(
    "raw",
    [
        b"docket.toml",
        b"conf/x.toml",
        b"a*b?[c]!#\\ .toml ",
        b"  lead",
        b"#x",
        b"!x",
        b"tail \\ ",
        b"\xff.toml",
        b"a\tb",
    ],
)
def test_a_policy_file_is_protected_as_exactly_its_path(raw):
    path = RelPath.parse(raw)
    selectors = protected_selectors([path, path])
    assert selectors[0] == "/docket.toml"
    assert len(selectors) == len({b"docket.toml", raw})
    selector = compile_patterns(selectors)
    assert selector.matches(path, is_directory=False)
    assert selector.matches(RelPath(b"docket.toml"), is_directory=False)
    for other in (b"x/" + raw, raw + b"x", b"x" + raw, raw[:-1] or b"y", b"other"):
        if other not in (raw, b"docket.toml"):
            assert not selector.matches(RelPath(other), is_directory=False), other
