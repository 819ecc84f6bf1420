"""Budgets of patterns as a policy writes them."""

from __future__ import annotations

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.run.policy import Policy
from docket.formats.run.policy_toml import parse_policy, read_policy
from docket.formats.run.sub_budgets import SubBudget, SubBudgets

KIND = SubBudgets("patterns of models")


def test_a_table_of_patterns_is_read():
    policy = parse_policy(
        b'[caps]\nmax_usd = 5\n[caps.per_model]\n"*opus*" = 2.00\n"gpt-*" = { max_usd = "0.5", max_model_calls = 3 }\n',
        "p",
    )
    assert policy.caps.per_model == (
        SubBudget(pattern="*opus*", max_usd=Usd(2_000_000)),
        SubBudget(pattern="gpt-*", max_usd=Usd(500_000), max_model_calls=3),
    )
    assert policy.document()["caps"]["per_model"] == {
        "*opus*": {"max_usd": "2.00"},
        "gpt-*": {"max_usd": "0.50", "max_model_calls": 3},
    }
    assert Policy.from_document(policy.document()) == policy


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("per_model = 3", "must be a table of patterns of models"),
        ("per_model = { 'a' = -1 }", "'a': max_usd must be an amount of dollars"),
        ("per_model = { 'a' = { max_usdd = 1 } }", "'max_usdd' is not known; it has max_usd, max_tokens"),
        ("per_model = { 'a' = {} }", "'a' has no limit"),
        ("per_model = { 'a' = { max_tokens = 1.5 } }", "max_tokens must be"),
        ("per_model = { '' = 1 }", "is no pattern of a name"),
        ("per_model = { 'a' = 1, 'A' = 2 }", "twice"),
        ("per_agent = { ' x' = 1 }", "is no pattern of a name"),
        ("per_agent = []", "must be a table"),
    ],
)
def test_what_is_no_budget_is_refused_at_its_line(text, words):
    (problem,) = read_policy(f"[caps]\n{text}\n".encode()).problems
    assert problem.line == 2
    assert words in problem.message


def test_more_patterns_than_anyone_needs_are_refused():
    table = {f"m{number:03}": 1 for number in range(65)}
    with pytest.raises(InvalidDocumentError, match="more than 64 patterns"):
        KIND.from_toml(table)


@pytest.mark.parametrize(
    "value",
    [
        [],
        {"a": 1},
        {"a": {"max_usdd": "1.00"}},
        {"a": {"max_usd": "1"}},
        {"a": {}},
        {"a": {"max_tokens": None}},
    ],
)
def test_a_document_is_read_strictly(value):
    with pytest.raises(InvalidDocumentError):
        KIND.from_json(value)


def test_a_value_is_a_sorted_tuple_of_valid_budgets():
    one, two = SubBudget(pattern="a", max_tokens=1), SubBudget(pattern="b", max_tokens=1)
    KIND.check((one, two))
    for wrong in ((two, one), [one], (1,), (SubBudget(pattern="a", max_tokens=-1),)):
        with pytest.raises(InvalidDocumentError):
            KIND.check(wrong)


def test_a_pattern_matches_without_regard_to_case():
    assert SubBudget(pattern="*Opus*").matches("claude-OPUS-4")
    assert not SubBudget(pattern="*opus*").matches("claude-sonnet")
