"""Whatever a call used and however it was served, its priced components pass the verifier's arithmetic."""

from __future__ import annotations

from importlib import resources

from hypothesis import given
from hypothesis import strategies as st

from docket.formats.run.usage import Usage, UsagePart
from docket.formats.run.verdict import Status, Word
from docket.rules.spending.price_book import PriceBook
from docket.rules.spending.pricing import CallFacts, Waiver, price_call
from golden_ledgers.build import closed, opened, request, response
from golden_ledgers.judging import judged, named, receipt_of

BOOK = PriceBook.parse(resources.files("docket").joinpath("data/prices.json").read_bytes())
COUNT = st.integers(min_value=0, max_value=300_000)
MODELS = st.sampled_from(
    [
        "claude-sonnet-4-5",
        "claude-opus-4-6",
        "gpt-5",
        "gpt-4o-audio-preview",
        "gpt-audio",
        "gpt-realtime",
        "gpt-image-1",
        "gpt-image-1.5",
        "o3",
        "command-r+",
        "a/b:c[d]*?",
        "50%+",
        "é",
    ]
)
WRITES = ["cache_write_tokens", "cache_write_5m_tokens", "cache_write_30m_tokens", "cache_write_1h_tokens"]


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    written = {name: draw(COUNT) for name in draw(st.sets(st.sampled_from(WRITES), max_size=2))}
    fresh, cached, output = draw(COUNT), draw(COUNT), draw(COUNT)
    return Usage(
        input_tokens=fresh + cached + sum(written.values()),
        cached_input_tokens=cached,
        output_tokens=output,
        reasoning_tokens=output // 2,
        audio_input_tokens=draw(st.sampled_from([0, fresh // 2, fresh])),
        audio_output_tokens=draw(st.sampled_from([0, output // 3])),
        web_searches=draw(st.integers(min_value=0, max_value=3)),
        file_searches=draw(st.integers(min_value=0, max_value=1)),
        image_input_tokens=draw(st.sampled_from([0, fresh // 2])),
        image_output_tokens=draw(st.sampled_from([0, output // 3, output])),
        code_sessions=draw(st.integers(min_value=0, max_value=2)),
        audio_seconds=draw(st.integers(min_value=0, max_value=3)),
        **written,
    )


@st.composite
def calls(draw: st.DrawFn, *, quota: bool) -> CallFacts:
    """A call; a provider on this machine is free, and in quota mode every call of the run is counted only."""
    provider = draw(st.sampled_from(["anthropic", "openai", "openrouter", "local"]))
    waiver = Waiver.LOCAL_HOST if provider == "local" else None
    model = draw(MODELS)
    parts = tuple(
        UsagePart(model=draw(st.just(model) | MODELS), usage=draw(usages())) for _ in range(draw(st.integers(1, 3)))
    )
    whole = Usage()
    for part in parts:
        whole += part.usage
    return CallFacts(
        provider=provider,
        model=model,
        usage=whole,
        at="2026-10-01T12:00:00.000Z",
        parts=parts if len(parts) > 1 else (),
        service_tier=draw(st.sampled_from([None, "priority", "flex", "batch", "Odd Tier!"])),
        speed=draw(st.sampled_from([None, "fast"])),
        inference_geo=draw(st.sampled_from([None, "us"])),
        waiver=Waiver.QUOTA if quota else waiver,
    )


@given(st.booleans().flatmap(lambda quota: st.lists(calls(quota=quota), min_size=1, max_size=4)))
def test_priced_calls_verify(facts: list[CallFacts]) -> None:
    ledger, patterns, spent = opened(), set(), 0
    for number, fact in enumerate(facts, start=1):
        priced = price_call(BOOK, fact)
        ledger.add(request(number, fact.provider, fact.model))
        for row in priced.rows:
            if row.pattern not in patterns:
                patterns.add(row.pattern)
                ledger.add(row)
        spent += priced.cost.micros
        ledger.add(
            response(
                number,
                fact.provider,
                fact.model,
                usage=fact.usage,
                usage_parts=fact.parts or None,
                components=priced.components,
                cost=str(priced.cost),
                cumulative=str(type(priced.cost)(spent)),
                assumed_price=priced.assumed,
            )
        )
    raw = closed(ledger, str(type(priced.cost)(spent))).data()
    verdict = judged(receipt_of(raw), raw)

    assert named(verdict, "components").status is Status.PASS, named(verdict, "components").detail
    assert (verdict.word, verdict.failures) == (Word.CONSISTENT, ())
