"""Two receipts side by side: signs, shares, what is not known, and why figures may not compare."""

from __future__ import annotations

from typing import Any

import pytest

from docket.formats.canonical import JsonValue
from docket.rules.analysis.comparison import Comparison, Figure, compared
from docket.rules.analysis.finding import Confidence, Finding, Severity
from golden_ledgers import samples
from golden_ledgers.judging import receipt_of


def found(rule: str) -> Finding:
    return Finding(
        rule=rule,
        subject="s",
        title="t",
        severity=Severity.LOW,
        confidence=Confidence.LOW,
        evidence=(),
        detail="d",
        remedy="r",
    )


def figure(comparison: Comparison, name: str) -> Figure:
    (item,) = [item for item in comparison.figures if item.name == name]
    return item


@pytest.mark.parametrize(
    ("left", "right", "change", "percent"),
    [
        (2_000_000, 3_000_000, "1.00", "50.0"),
        (3_000_000, 2_000_000, "-1.00", "-33.3"),
        (1_500_000, 1_500_750, "0.000750", "0.1"),  # half a thousandth is rounded up
        (1_500_000, 1_499_250, "-0.000750", "-0.1"),
        (1_500_000, 1_500_749, "0.000749", "0.0"),
        (0, 10_000, "0.01", None),
        (None, 10_000, None, None),
        (10_000, None, None, None),
        (10_000, 10_000, "0.00", "0.0"),
    ],
)
def test_a_change_has_a_sign_and_a_share_of_the_left(
    left: int | None, right: int | None, change: str | None, percent: str | None
) -> None:
    item = Figure(name="cost", unit="usd", left=left, right=right).to_json()
    assert (item["change"], item["change_percent"]) == (change, percent)


def test_seconds_are_texts_with_three_digits_and_counts_are_numbers() -> None:
    assert Figure(name="duration", unit="ms", left=61_001, right=5).to_json() == {
        "name": "duration", "left": "61.001", "right": "0.005", "change": "-60.996", "change_percent": "-100.0",
    }  # fmt: skip
    assert Figure(name="calls", unit="count", left=4, right=5).to_json()["change"] == 1


def test_a_receipt_beside_itself_differs_in_nothing() -> None:
    document = receipt_of(samples.anthropic().data())
    comparison = compared((document, ()), (document, ()))
    assert all(item.change in (0, None) for item in (*comparison.figures, *comparison.models))
    assert (comparison.texts, comparison.caveats, comparison.paths_only_left, comparison.paths_only_right) == (
        (), (), (), (),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("cache", "hits"),
    [
        (None, None),
        ({"hits": 2}, 2),
        ({"hits": 2, "component_hits": {"hits": 3}}, 5),
        ({"hits": 2, "component_hits": {"hits": "3"}}, 2),
        ({"component_hits": {"hits": 3}}, None),
    ],
)
def test_calls_answered_again_are_those_of_both_kinds(cache: JsonValue, hits: int | None) -> None:
    comparison = compared(({"cache": cache}, ()), ({}, ()))
    assert (figure(comparison, "cache hits").left, figure(comparison, "cache hits").right) == (hits, None)


def test_two_runs_differ_in_cost_models_findings_paths_and_terms() -> None:
    left = receipt_of(samples.anthropic().data())
    right: dict[str, Any] = receipt_of(samples.anthropic().data())
    right["totals"] = {**right["totals"], "cost_usd": "9.00", "by_model": [{"model": "new", "cost_usd": "9.00"}]}
    right["session"] = {**right["session"], "duration_seconds": "12.5", "exit_code": 3}
    right["price_table"] = {**right["price_table"], "digest": "other", "document": None}
    right["policy"] = {**right["policy"], "digest": "other", "name": "tight"}
    right["totals"]["cost_basis"] = "estimated"
    right["files"] = {**right["files"], "top_paths": ["only/right"]}
    comparison = compared((left, (found("a"), found("a"))), (right, (found("b"),)))

    assert figure(comparison, "cost").right == 9_000_000
    assert figure(comparison, "duration").right == 12_500
    assert figure(comparison, "cache hits").left is None
    assert [(item.name, item.left, item.right) for item in comparison.findings] == [("a", 2, 0), ("b", 0, 1)]
    assert comparison.models[0] == Figure(name="new", unit="usd", left=0, right=9_000_000)
    assert comparison.paths_only_right == ("only/right",)
    assert comparison.paths_only_left == tuple(left["files"]["top_paths"])
    assert [name for name, _, _ in comparison.texts] == [
        "exit code", "policy", "policy digest", "prices digest", "cost basis",
    ]  # fmt: skip
    assert [text.split(":")[0] for text in comparison.caveats] == [
        "the two were priced by different price tables",
        "the two ran under different policies",
        "their tokens were counted on a different basis",
    ]
    assert list(comparison.to_json()) == ["figures", "models", "findings", "differs", "paths", "caveats"]


@pytest.mark.parametrize(("origin", "is_noted"), [("7" * 64, False), ("8" * 64, True), (None, True)])
def test_families_of_one_table_are_no_other_prices(origin: str | None, is_noted: bool) -> None:
    def priced(digest: str, origin: str | None) -> dict[str, Any]:
        return {"price_table": {"digest": digest, "document": {"_meta": {"from": {"digest": origin}}}}}

    comparison = compared((priced("a" * 64, "7" * 64), ()), (priced("b" * 64, origin), ()))
    assert [name for name, _, _ in comparison.texts] == ["prices digest"]
    assert any("price tables" in caveat for caveat in comparison.caveats) is is_noted


def test_a_record_without_an_end_and_paths_beyond_the_first_are_told() -> None:
    left = receipt_of(samples.no_end().data())
    right = receipt_of(samples.anthropic().data())
    right["files"] = {**right["files"], "changed": 900}
    caveats = compared((left, ()), (right, ())).caveats
    assert caveats[-2] == "the record of the left one has no end: its figures are what was recorded until then"
    assert caveats[-1].startswith("a receipt names the first changed paths alone")


@pytest.mark.parametrize("seconds", ["", ".5", "1.2345", "1e3", "-1", 7, None, "1.x", "9" * 13, "9" * 5000])
def test_a_duration_of_another_form_is_not_known(seconds: object) -> None:
    document = {"session": {"duration_seconds": seconds}}
    assert figure(compared((document, ()), (document, ())), "duration").left is None


def test_receipts_that_say_little_are_compared_in_what_they_say() -> None:
    document = {"totals": {"by_model": [{"model": "m", "cost_usd": "odd"}, "none", {"model": 7}], "cost_usd": 7}}
    comparison = compared((document, ()), ({"totals": {"by_model": "none"}, "files": {"top_paths": 3}}, ()))
    assert comparison.models == (Figure(name="m", unit="usd", left=0, right=0),)
    assert figure(comparison, "cost").left is None
