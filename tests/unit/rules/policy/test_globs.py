"""Whether a model pattern allows no more than another."""

from __future__ import annotations

import pytest

from docket.rules.policy.globs import allowed_by_both, within


@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        ("a", "a"), ("A", "a"), ("a", "*"), ("a*", "a*"), ("claude-sonnet-*", "claude-*"), ("a?c", "a*"),
        ("a?c", "a?c"),
        ("abc", "a?c"), ("*", "*"), ("**", "*"), ("a*b*c", "a*c"), ("a[bc]d", "a?d"), ("a[bc]d", "a[bc]d"), ("[", "["),
        ("a", "*a*"), ("ab", "a*b"), ("a*b", "*b"), ("", ""), ("", "*"), ("x[]]y", "x?y"), ("x[!a]y", "x*"),
    ],
)  # fmt: skip
def test_within(inner, outer):
    assert within(inner, outer)


@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        ("a", "b"), ("*", "a*"), ("a*", "a"), ("a*", "a?"), ("?", "a"), ("a*c", "a?c"), ("ab", "a"), ("a", "ab"),
        ("a[bc]d", "a[bd]d"), ("a[bc]d", "abd"), ("claude-*", "claude-sonnet-*"), ("*a", "a*"), ("", "?"), ("a", ""),
    ],
)  # fmt: skip
def test_not_within(inner, outer):
    assert not within(inner, outer)


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        (("claude-*",), ("claude-sonnet-*",), ("claude-sonnet-*",)),
        (("claude-sonnet-*",), ("claude-*",), ("claude-sonnet-*",)),
        (("a", "b"), ("b", "c"), ("b",)),
        (("a*",), ("*b",), ()),
        (("a",), ("b",), ()),
        (("*",), ("x", "y*"), ("x", "y*")),
        (("a*", "b"), ("*",), ("a*", "b")),
    ],
)
def test_what_two_lists_allow(first, second, both):
    assert allowed_by_both(first, second) == both
