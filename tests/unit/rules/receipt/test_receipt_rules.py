"""Latency, families, limits and comparison, each alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonValue
from docket.formats.disclosure import SENTENCES, Group, Limit, disclosure
from docket.rules.receipt.compare import difference, missing_or_different
from docket.rules.receipt.families import Families
from docket.rules.receipt.latency import summary
from docket.rules.receipt.limits import RunFacts, applying


@pytest.mark.parametrize(
    ("latencies", "wanted"),
    [
        # the nearest-rank example of the statistics books: 15 20 35 40 50 -> 50th percentile 35, 95th 50
        ([50, 15, 40, 20, 35], (160, 50, 35, 50, 50)),
        (list(range(1, 101)), (5050, 100, 50, 95, 99)),
        ([7], (7, 7, 7, 7, 7)),
        ([0, 0], (0, 0, 0, 0, 0)),
    ],
)
def test_nearest_rank(latencies: list[int], wanted: tuple[int, ...]) -> None:
    found = summary(latencies, 200)
    assert found is not None
    assert tuple(found[name] for name in ("total_ms", "max_ms", "p50_ms", "p95_ms", "p99_ms")) == wanted
    assert (found["measured_calls"], found["total_rows"]) == (len(latencies), 200)


def test_without_a_measurement_there_is_no_summary() -> None:
    assert summary([], 5) is None


def test_a_family_is_found_by_any_of_its_alternatives_whatever_the_case() -> None:
    families = Families.of({"families": [{"pattern": "o4* / O3*", "input": "2", "cached_input": "0.5", "output": "8"}]})

    assert str(families.cost("O3-mini", (1000, 400, 10))) == "0.001480"  # 600x2 + 400x.5 + 10x8
    assert families.cost("gpt-5", (1, 0, 0)) is None
    assert families.assumed(["O3-mini", "gpt-5"]) == []


def test_the_fallback_prices_what_nothing_else_does_wherever_it_stands() -> None:
    families = Families.of(
        {"families": [{"pattern": "*", "input": "9", "output": "9"}, {"pattern": "a", "input": "1", "output": "1"}]}
    )

    assert str(families.cost("a", (1_000_000, 0, 0))) == "1.00"
    assert str(families.cost("b", (1_000_000, 500_000, 0))) == "9.00"
    assert families.assumed(["a", "b", "c"]) == ["b", "c"]


@pytest.mark.parametrize(
    ("families", "words"),
    [
        (None, "price_table.document.families is not an array"),
        ("x", "price_table.document.families is not an array"),
        ([1], "families[0]: pattern is not a text"),
        ([{"pattern": "a", "input": "1"}], "families[0]: output is not a text"),
        ([{"pattern": "a", "input": "-1", "output": "1"}], "families[0]: '-1' is not a price"),
    ],
)
def test_a_table_that_is_none_is_refused(families: JsonValue, words: str) -> None:
    with pytest.raises(InvalidDocumentError) as refused:
        Families.of({"families": families})
    assert words in refused.value.detail


FACTS = RunFacts(
    admission="metered",
    policy={},
    isolation=("subreaper",),
    upstream_overrides=False,
    both_passes=True,
    omissions=0,
    calls=0,
    estimated=False,
    assumed=False,
    gap=False,
    ended=True,
)


@pytest.mark.parametrize(
    ("facts", "gained", "lost"),
    [
        (replace(FACTS, policy={"caps": {"max_usd": "1.00"}}), {Limit.USD_CAP_METERED}, {Limit.NO_USD_CAP}),
        (
            replace(FACTS, policy={"caps": {"max_usd": "1.00"}}, admission="strict"),
            {Limit.USD_CAP_STRICT},
            {Limit.NO_USD_CAP},
        ),
        (
            replace(FACTS, policy={"caps": {"max_tokens": 1, "max_model_calls": 1, "max_wall_seconds": 1}}),
            {Limit.TOKEN_CAP, Limit.CALL_CAP, Limit.WALL_CLOCK_CAP},
            set(),
        ),
        (replace(FACTS, policy={"caps": 1, "models": {"deny": ["x"]}}), {Limit.MODEL_RULES}, set()),
        (replace(FACTS, policy={"egress": {"mode": "tunnel"}}), {Limit.TUNNELS}, set()),
        (
            replace(FACTS, policy={"budget": {"mode": "quota"}}, calls=1),
            {Limit.QUOTA, Limit.PROVIDER_COUNTS},
            {Limit.NO_USD_CAP},
        ),
        (replace(FACTS, policy={"budget": {"pass_endpoints": ["/x"]}}), {Limit.PASSED_ENDPOINTS}, set()),
        (replace(FACTS, policy={"budget": {"unknown_endpoints": "pass"}}), {Limit.PASSED_ENDPOINTS}, set()),
        (replace(FACTS, policy={"budget": {"unknown_endpoints": "refuse"}}), set(), set()),
        (replace(FACTS, policy={"files": {"deny_write": [".env"]}}), {Limit.DENY_WRITE}, set()),
        (
            replace(FACTS, both_passes=False),
            {Limit.UNPAIRED_PASSES},
            {Limit.FILE_CHANGES, Limit.BETWEEN_PASSES},
        ),
        (replace(FACTS, omissions=1), {Limit.OMITTED_PATHS}, set()),
        (replace(FACTS, gap=True), {Limit.EVIDENCE_GAP}, set()),
        (replace(FACTS, ended=False), {Limit.NO_END}, set()),
        (replace(FACTS, isolation=()), {Limit.ORPHANS_POSSIBLE}, {Limit.ORPHANS_ENDED}),
        (replace(FACTS, calls=1), {Limit.PROVIDER_COUNTS, Limit.LIST_PRICES}, set()),
        (replace(FACTS, estimated=True), {Limit.ESTIMATES}, set()),
        (replace(FACTS, assumed=True), {Limit.ASSUMED_PRICES}, set()),
        (replace(FACTS, upstream_overrides=True), {Limit.UPSTREAM_OVERRIDES}, set()),
    ],
)
def test_each_fact_changes_what_is_disclosed(facts: RunFacts, gained: set[Limit], lost: set[Limit]) -> None:
    plain = applying(FACTS)
    assert applying(facts) - plain == gained
    assert plain - applying(facts) == lost


def test_every_limit_has_one_group_and_a_sentence_and_can_apply() -> None:
    assert list(SENTENCES) == list(Limit)
    assert len({sentence for _, sentence in SENTENCES.values()}) == len(Limit)
    whole = disclosure(Limit)
    assert list(whole) == [*(str(group) for group in Group), "codes"]
    assert whole["codes"] == [str(limit) for limit in Limit]
    assert all(whole[str(group)] for group in Group)


@pytest.mark.parametrize(
    ("stated", "wanted", "words"),
    [
        (1, True, "x is 1, the ledger gives true"),
        ({"a": 1}, {"a": 1, "b": 2}, 'x has no member "b"'),
        ({"a": 1, "b": 2}, {"a": 1}, 'x has the member "b", the ledger gives none'),
        ({"a": {"b": [1, {"c": "d"}]}}, {"a": {"b": [1, {"c": "e"}]}}, 'x.a.b[1].c is "d", the ledger gives "e"'),
        ([1], [1, 2], "x has 1 items, the ledger gives 2"),
        ([1], {"a": 1}, 'x is [1], the ledger gives {"a": 1}'),
        ("long" * 99, None, "x is " + '"' + "long" * 17 + "lo" + "…, the ledger gives null"),
    ],
)
def test_the_first_difference_is_named(stated: JsonValue, wanted: JsonValue, words: str) -> None:
    assert difference(stated, wanted, "x") == words
    assert difference(wanted, wanted, "x") is None


def test_where_only_some_members_are_wanted_the_rest_may_stand_beside_them() -> None:
    wanted = {"a": {"b": 1}, "document": {"c": 1}}

    assert missing_or_different({"a": {"b": 1, "z": 2}, "document": {"c": 1}, "z": 3}, wanted, "x") is None
    assert missing_or_different({"a": {"b": 2}}, wanted, "x") == "x.a.b is 2, the ledger gives 1"
    assert missing_or_different({"a": {"b": 1}, "document": {"c": 1, "d": 2}}, wanted, "x") == (
        'x.document has the member "d", the ledger gives none'
    )
