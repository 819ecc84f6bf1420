"""The rules that look at what calls cost, each below and at its threshold."""

from __future__ import annotations

import pytest

from analysis_lab import Story, the


@pytest.mark.parametrize(("requests", "severity"), [(6, "medium"), (11, "medium"), (12, "high")])
def test_equal_requests_are_a_loop_and_all_but_the_first_are_its_cost(requests: int, severity: str) -> None:
    story, seqs = Story(), []
    for _ in range(requests):
        seqs.append(story.ask(fingerprint="aa"))
        story.reply((10, 0, 1), "0.25")
    found = the(story.findings("runaway-loop"))

    assert found.evidence == tuple(seqs)
    assert str(found.usd_impact) == f"{(requests - 1) * 25 / 100:.2f}"
    assert (str(found.severity), str(found.confidence)) == (severity, "high")


def test_five_equal_requests_are_no_loop_and_neither_are_requests_without_a_fingerprint() -> None:
    story = Story()
    for at in range(20):
        story.ask(fingerprint="aa" if at < 5 else None)
        story.reply((10, 0, 1), "0.25")
    assert story.findings("runaway-loop") == ()


def test_requests_without_a_reply_are_repeats_that_cost_nothing() -> None:
    story = Story()
    for _ in range(6):
        story.ask(fingerprint="aa")
    assert str(the(story.findings("runaway-loop")).usd_impact) == "0.00"


def test_only_so_many_events_are_named() -> None:
    story = Story()
    for _ in range(30):
        story.ask(fingerprint="aa")
    found = the(story.findings("runaway-loop"))
    assert found.evidence == tuple(range(20))
    assert found.detail.startswith("30 requests")


@pytest.mark.parametrize(("failures", "severity"), [(2, None), (3, "medium"), (9, "medium"), (10, "high")])
def test_failures_in_a_row(failures: int, severity: str | None) -> None:
    story = Story()
    story.call()
    for _ in range(failures):
        story.ask()
        story.add("model.error", call=story.calls, provider="p", model="dear", status=500)
    found = story.findings("retry-storm")
    assert [str(item.severity) for item in found] == ([] if severity is None else [severity])
    assert all(item.usd_impact is None and len(item.evidence) == failures for item in found)


def test_a_reply_between_ends_a_row_but_one_of_another_model_does_not() -> None:
    story = Story()
    for model in ("dear", "cheap"):
        for at in range(4):
            story.ask()
            story.add("model.error", call=story.calls, provider="p", model="dear", status=500)
            if at == 1:
                story.call(model=model)
    # Two, a reply, four more (for the cheap model's does not count): the longest row is of 2 + 4.
    assert len(the(story.findings("retry-storm")).evidence) == 6


@pytest.mark.parametrize(("tokens", "calls", "impact"), [(4095, 4, None), (4096, 3, None), (4096, 4, "0.165888")])
def test_input_sent_again_without_a_cache(tokens: int, calls: int, impact: str | None) -> None:
    story = Story()
    seqs = [story.call((tokens, 0, 1)) for _ in range(calls)]
    found = story.findings("cache-miss")
    # 3 calls after the first, each 4096 tokens at 15.00 less 1.50 a million.
    assert [str(item.usd_impact) for item in found] == ([] if impact is None else [impact])
    assert all(item.evidence == tuple(seqs[1:]) and str(item.confidence) == "low" for item in found)


@pytest.mark.parametrize("usage", [{"cached_input_tokens": 1}, {"cache_write_5m_tokens": 1}])
def test_calls_that_use_a_cache_do_not_miss_it(usage: dict[str, int]) -> None:
    story = Story()
    for _ in range(9):
        story.call((9000, 0, 1), usage=usage)
    assert story.findings("cache-miss") == ()


def test_a_model_without_a_cheaper_cached_price_misses_nothing() -> None:
    story = Story()
    for _ in range(9):
        story.call((9000, 0, 1), model="cheap")
        story.call((9000, 0, 1), model="flat")
        story.call((9000, 0, 1), model="nobody's")
    assert story.findings("cache-miss") == ()


def test_calls_of_several_agents_are_no_conversation() -> None:
    story = Story()
    for at in range(9):
        story.ask(agent_id=f"sub:{at}")
        story.reply((9000, 0, 1), "0.01")
    assert story.findings("cache-miss") == ()


@pytest.mark.parametrize(
    ("tokens", "impact"), [((99_999, 0, 0), None), ((100_000, 0, 0), "0.00"), ((102_000, 1000, 0), "0.016500")]
)
def test_a_fat_context_costs_at_least_what_is_beyond(tokens: tuple[int, int, int], impact: str | None) -> None:
    story = Story()
    seq = story.call(tokens)
    found = story.findings("fat-context")
    # 2000 tokens beyond: 1000 may be the cached ones at 1.50, the rest is at 15.00 a million.
    assert [str(item.usd_impact) for item in found] == ([] if impact is None else [impact])
    assert all(item.evidence == (seq,) for item in found)


def test_a_fat_context_of_a_model_without_a_price_has_no_amount() -> None:
    story = Story()
    story.call((200_000, 0, 0), model="nobody's")
    story.call((200_000, 0, 0), model="nobody's")
    found = the(story.findings("fat-context"))
    assert found.usd_impact is None
    assert found.detail.startswith("2 calls to nobody's")


@pytest.mark.parametrize(
    ("calls", "tokens", "impact"),
    [
        (5, (2000, 0, 500), "0.315000"),
        (4, (2000, 0, 500), None),
        (5, (2001, 0, 500), None),
        (5, (2000, 0, 501), None),
    ],
)
def test_small_calls_to_the_dearest_model(calls: int, tokens: tuple[int, int, int], impact: str | None) -> None:
    story = Story()
    story.call(model="cheap")
    for _ in range(calls):
        story.call(tokens)
    found = story.findings("premium-for-small-calls")
    # Each: 0.030 + 0.0375 at the dear prices, 0.002 + 0.0025 at the cheap ones.
    assert [str(item.usd_impact) for item in found] == ([] if impact is None else [impact])


def test_small_calls_are_nothing_where_no_cheaper_model_was_called() -> None:
    story = Story()
    for _ in range(9):
        story.call()
        story.call(model="nobody's")
    assert story.findings("premium-for-small-calls") == ()


@pytest.mark.parametrize(("calls", "top", "found"), [(10, "0.07", True), (10, "0.06", False), (9, "0.07", False)])
def test_three_calls_that_took_half(calls: int, top: str, found: bool) -> None:
    story = Story()
    seqs = [story.call(cost=top) for _ in range(3)]
    for _ in range(calls - 3):
        story.call(cost="0.03")
    # 3 x 0.07 of 0.21 + 0.21 is half to the cent.
    items = story.findings("concentration")
    assert [item.evidence for item in items] == ([tuple(seqs)] if found else [])
    assert all(item.usd_impact is None for item in items)


def test_a_run_that_cost_nothing_is_not_concentrated() -> None:
    story = Story()
    for _ in range(20):
        story.call(cost="0.00")
    assert story.findings("concentration") == ()


def test_calls_that_never_ended_hold_what_they_may_have_cost() -> None:
    story = Story()
    story.call()
    seqs = (story.ask(held_usd="0.30"), story.ask(held_usd="0.20"))
    story.ask()
    story.add("model.error", call=story.calls, provider="p", model="dear")
    found = the(story.findings("unknown-spend"))
    assert (found.evidence, str(found.usd_impact)) == (seqs, "0.50")
    story.ask()
    assert the(story.findings("unknown-spend")).usd_impact is None


def test_estimates_assumed_prices_and_pools_are_told() -> None:
    story = Story()
    estimated = story.call(cost="0.02", usage_source="estimated", assumed_price=True)
    assumed = story.call(cost="0.03", usage_source="reported", assumed_price=True)
    story.add("x-docket.pool-use", pool="team", unknown_usd="0.00")
    pool = story.add("x-docket.pool-use", pool="team", unknown_usd="0.25")
    story.add("x-docket.pool-use", pool="team", unknown_usd="no amount")
    found = story.findings("unknown-spend")
    assert [(item.evidence, str(item.usd_impact)) for item in found] == [
        ((pool,), "0.25"),
        ((estimated,), "None"),
        ((assumed,), "None"),
    ]
    assert "$0.02" in found[1].detail
    assert "$0.03" in found[2].detail
