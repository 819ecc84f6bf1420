"""Cases whose figures others published or got wrong: from the bytes of a reply to the micro-dollar, by our own book.

Each figure was worked out by hand; the arithmetic stands beside it.
"""

from __future__ import annotations

import json
from decimal import Decimal
from importlib import resources

import pytest

from docket.formats.run.policy import Policy
from docket.formats.run.usage import Usage
from docket.rules.boundary.billing import Prices
from docket.rules.providers.endpoints import ANTHROPIC_MESSAGES, ANY_WIRE, OPENAI_CHAT, OPENAI_RESPONSES
from docket.rules.providers.interface import RequestFacts, Wire
from docket.rules.providers.registry import provider
from docket.rules.spending.price_book import PriceBook
from docket.rules.spending.pricing import CallFacts, price_call

BOOK = PriceBook.parse(resources.files("docket").joinpath("data/prices.json").read_bytes())
PRICES = Prices.under(Policy(), BOOK)
AT = "2026-11-29T10:00:00.000Z"


def cost(wire: Wire, name: str, body: object, facts: RequestFacts | None = None) -> Decimal:
    """Return what a reply costs, given whole as JSON or as the bytes of a stream."""
    meter = wire.meter("application/json", streaming=isinstance(body, bytes))
    meter.feed(body if isinstance(body, bytes) else json.dumps(body).encode())
    reading = meter.reading()
    assert reading.usage is not None
    priced = PRICES.priced(provider(name), facts or RequestFacts(), reading.usage, reading, AT)
    assert not priced.assumed
    return Decimal(str(priced.cost))


def message(model: str, **usage: object) -> dict[str, object]:
    return {"type": "message", "id": "m", "model": model, "content": [], "usage": usage}


def events(*values: object) -> bytes:
    return b"".join(b"data: " + json.dumps(value).encode() + b"\n\n" for value in values)


def of_opus(**usage: object) -> Decimal:
    return cost(ANTHROPIC_MESSAGES, "anthropic", message("claude-opus-4-8", **usage))


def test_cache_writes_are_no_input_twice() -> None:
    # 6 x 5 + 159217 x 6.25 + 2745 x 25 = 30 + 995106.25 + 68625 = 1063761.25 micro-dollars, each row rounded by itself.
    assert of_opus(input_tokens=6, cache_creation_input_tokens=159217, output_tokens=2745) == Decimal("1.063761")


def test_an_hour_of_cache_costs_twice_the_input() -> None:
    # 344139 x 10 = 3441390, and not x 6.25 = 2150868.75.
    split = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 344139}
    usage = {"input_tokens": 0, "cache_creation_input_tokens": 344139, "cache_creation": split, "output_tokens": 0}
    assert of_opus(**usage) == Decimal("3.44139")


def test_input_is_counted_once_in_a_stream() -> None:
    # Haiku 4.5: 27 in, 100 written for five minutes, 47 out: 27 x 1 + 125 + 47 x 5 = 387.
    start = {"type": "message_start", "message": message(
        "claude-haiku-4-5", input_tokens=27, cache_creation_input_tokens=100, output_tokens=1)}  # fmt: skip
    usage = {"input_tokens": 27, "cache_creation_input_tokens": 100, "output_tokens": 47}
    body = events(start, {"type": "message_delta", "usage": usage}, {"type": "message_stop"})
    assert cost(ANTHROPIC_MESSAGES, "anthropic", body) == Decimal("0.000387")


def test_a_zero_in_the_delta_erases_nothing() -> None:
    start = {"type": "message_start", "message": message("claude-haiku-4-5", input_tokens=1000, output_tokens=1)}
    body = events(start, {"type": "message_delta", "usage": {"input_tokens": 0, "output_tokens": 10}})
    assert cost(ANTHROPIC_MESSAGES, "anthropic", body) == Decimal("0.00105")


def test_compaction_is_billed_though_the_top_level_lacks_it() -> None:
    # Opus 4.8: 180000 x 5 + 3500 x 25 = 987500 for the compaction, 23000 x 5 + 1000 x 25 = 140000 for the answer.
    iterations = [
        {"type": "compaction", "input_tokens": 180000, "output_tokens": 3500},
        {"type": "message", "input_tokens": 23000, "output_tokens": 1000},
    ]
    assert of_opus(input_tokens=23000, output_tokens=1000, iterations=iterations) == Decimal("1.1275")
    # Sonnet 4.6 at 3 and 15: 180000 x 3 + 3500 x 15 + 23000 x 3 + 1000 x 15 = 592500 + 84000 = 676500.
    sonnet = message("claude-sonnet-4-6", input_tokens=23000, output_tokens=1000, iterations=iterations)
    assert cost(ANTHROPIC_MESSAGES, "anthropic", sonnet) == Decimal("0.6765")


def test_attempts_before_a_fallback_are_billed_at_their_own_model() -> None:
    # Opus 4.8 declined after 100 of output: 50000 x 5 + 100 x 25 = 252500; Sonnet 4.6 answered: 50000 x 3 + 400 x 15.
    iterations = [
        {"type": "message", "model": "claude-opus-4-8", "input_tokens": 50000, "output_tokens": 100},
        {"type": "fallback_message", "model": "claude-sonnet-4-6", "input_tokens": 50000, "output_tokens": 400},
    ]
    usage = {"input_tokens": 50000, "output_tokens": 400, "iterations": iterations}
    assert cost(ANTHROPIC_MESSAGES, "anthropic", message("claude-sonnet-4-6", **usage)) == Decimal("0.4085")
    # Fable 5 before Opus 4.8: 60000 x 10 + 24 x 50 = 601200 and 50000 x 5 + 296 x 25 = 257400, and not 558000 at Opus.
    dearer = [
        {"type": "message", "model": "claude-fable-5", "input_tokens": 60000, "output_tokens": 24},
        {"type": "fallback_message", "model": "claude-opus-4-8", "input_tokens": 50000, "output_tokens": 296},
    ]
    assert of_opus(input_tokens=50000, output_tokens=296, iterations=dearer) == Decimal("0.8586")
    # One that was declined before it produced anything costs nothing.
    iterations[0]["output_tokens"] = 0
    assert cost(ANTHROPIC_MESSAGES, "anthropic", message("claude-sonnet-4-6", **usage)) == Decimal("0.156")


def test_searches_are_billed_by_the_use() -> None:
    # Two searches at a cent, and the tokens: 1000 x 5 + 100 x 25 = 7500. Offered and not used: nothing.
    used = {"web_search_requests": 2, "web_fetch_requests": 5}
    assert of_opus(input_tokens=1000, output_tokens=100, server_tool_use=used) == Decimal("0.0275")
    none = {"web_search_requests": 0}
    assert of_opus(input_tokens=1000, output_tokens=100, server_tool_use=none) == Decimal("0.0075")


@pytest.mark.parametrize(
    ("served", "expected"),
    [
        # 1000 in at 5 and 100 out at 25 micro-dollars a token.
        ({}, "0.0075"),
        ({"service_tier": "standard"}, "0.0075"),
        ({"service_tier": "batch"}, "0.00375"),
        ({"speed": "fast"}, "0.015"),
        ({"inference_geo": "us"}, "0.00825"),
        ({"inference_geo": "global"}, "0.0075"),
        # Fast in the United States: 1000 x 11 + 100 x 55 = 16500.
        ({"speed": "fast", "inference_geo": "us"}, "0.0165"),
    ],
)
def test_how_a_call_was_served(served: dict[str, str], expected: str) -> None:
    assert of_opus(input_tokens=1000, output_tokens=100, **served) == Decimal(expected)


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        # Sonnet 4.5: 200000 x 3 + 1000 x 15; one more token, and all of it is at 6 and 22.5.
        ((200_000, 0, 0), "0.615"),
        ((200_001, 0, 0), "1.222506"),
        # The length counts what is read from the cache and written to it: 1 x 6 + 150000 x 0.6 + 50000 x 7.5 + 22500.
        ((1, 150_000, 50_000), "0.487506"),
    ],
)
def test_a_step_for_long_inputs_holds_for_the_whole_call(tokens: tuple[int, int, int], expected: str) -> None:
    fresh, read, written = tokens
    usage = {"input_tokens": fresh, "cache_read_input_tokens": read, "cache_creation_input_tokens": written}
    body = message("claude-sonnet-4-5", **usage, output_tokens=1000)
    assert cost(ANTHROPIC_MESSAGES, "anthropic", body) == Decimal(expected)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # gpt-5.5: 72000 x 5 + 200000 x 0.5 + 1000 x 30 = 490000; beyond 272000 all of it at 10, 1 and 45.
        (272_000, "0.49"),
        (272_001, "0.96501"),
    ],
)
def test_the_step_of_gpt(given: int, expected: str) -> None:
    details = {"cached_tokens": 200_000}
    usage = {"input_tokens": given, "input_tokens_details": details, "output_tokens": 1000}
    body = {"id": "r", "model": "gpt-5.5", "status": "completed", "usage": usage}
    assert cost(OPENAI_RESPONSES, "openai", body) == Decimal(expected)


def test_openais_own_example_of_parts_inside_the_input() -> None:
    # 2600 = 2000 read + 400 written + 200 fresh. gpt-5.6-terra at 2, 0.2, 2.5: 200 x 2 + 2000 x 0.2 + 400 x 2.5 = 1800.
    details = {"cached_tokens": 2000, "cache_write_tokens": 400, "cache_write_tokens_details": {"ttl_30m_tokens": 400}}
    usage = {"input_tokens": 2600, "input_tokens_details": details, "output_tokens": 0}
    rates = BOOK.find("openai", "gpt-5.6-terra").entry["prices"][-1]  # type: ignore[union-attr]
    assert (rates["input"], rates["cached_input"], rates["cache_write"]) == ("2", "0.2", "2.5")
    body = {"id": "r", "model": "gpt-5.6-terra", "status": "completed", "usage": usage}
    assert cost(OPENAI_RESPONSES, "openai", body) == Decimal("0.0018")


def test_the_tier_that_served_is_billed_and_not_the_one_asked() -> None:
    asked = RequestFacts(service_tier="priority")
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    # gpt-5.5: 1000 x 5 + 100 x 30 = 8000 at the default, 12.5 and 75 with priority, half with flex.
    for served, expected in (("default", "0.008"), ("priority", "0.02"), ("flex", "0.004")):
        body = {"id": "c", "model": "gpt-5.5", "service_tier": served, "choices": [], "usage": usage}
        assert cost(OPENAI_CHAT, "openai", body, asked) == Decimal(expected)


def test_reasoning_is_a_part_of_the_output() -> None:
    details = {"reasoning_tokens": 256}
    usage = {"prompt_tokens": 10, "completion_tokens": 300, "completion_tokens_details": details}
    # gpt-5.5: 10 x 5 + 300 x 30 = 9050.
    body = {"id": "c", "model": "gpt-5.5", "choices": [], "usage": usage}
    assert cost(OPENAI_CHAT, "openai", body) == Decimal("0.00905")


def test_audio_in_and_out() -> None:
    # gpt-audio: text 40 x 2.5 + 10 x 10 = 200; audio 60 x 32 + 90 x 64 = 7680.
    usage = {"prompt_tokens": 100, "completion_tokens": 100, "prompt_tokens_details": {"audio_tokens": 60},
             "completion_tokens_details": {"audio_tokens": 90}}  # fmt: skip
    body = {"id": "c", "model": "gpt-audio", "choices": [], "usage": usage}
    assert cost(OPENAI_CHAT, "openai", body) == Decimal("0.00788")


def test_images_in_and_out() -> None:
    facts = RequestFacts(model="gpt-image-1.5")
    # Text 50 x 5 = 250, images in 300 x 8 = 2400, images out 4000 x 32 = 128000, text out 160 x 10 = 1600.
    usage = {"input_tokens": 350, "output_tokens": 4160,
             "input_tokens_details": {"text_tokens": 50, "image_tokens": 300},
             "output_tokens_details": {"image_tokens": 4000, "text_tokens": 160}}  # fmt: skip
    assert cost(ANY_WIRE, "openai", {"created": 1, "data": [], "usage": usage}, facts) == Decimal("0.13225")


def test_embeddings_have_an_input_alone() -> None:
    # text-embedding-3-small at 0.02: 8000 x 0.02 = 160.
    body = {"object": "list", "data": [], "model": "text-embedding-3-small",
            "usage": {"prompt_tokens": 8000, "total_tokens": 8000}}  # fmt: skip
    assert cost(ANY_WIRE, "openai", body) == Decimal("0.00016")


def test_hosted_tools_of_responses() -> None:
    # gpt-5.5: 100 x 5 + 10 x 30 = 800; a search 0.01; a file search 0.0025; two containers 0.06.
    output = [
        {"type": "web_search_call", "action": {"type": "search"}},
        {"type": "web_search_call", "action": {"type": "open_page"}},
        {"type": "file_search_call"},
        {"type": "code_interpreter_call", "container_id": "cntr_1"},
        {"type": "code_interpreter_call", "container_id": "cntr_1"},
        {"type": "code_interpreter_call", "container_id": "cntr_2"},
    ]
    body = {"id": "r", "model": "gpt-5.5", "status": "completed", "output": output,
            "usage": {"input_tokens": 100, "output_tokens": 10}}  # fmt: skip
    assert cost(OPENAI_RESPONSES, "openai", body) == Decimal("0.0733")


def test_audio_by_the_second() -> None:
    # Whisper large v3 at Groq: 0.111 dollars an hour; 3600 seconds are 0.111.
    facts = CallFacts(provider="groq", model="whisper-large-v3", usage=Usage(audio_seconds=3600), at=AT)
    assert Decimal(str(price_call(BOOK, facts).cost)) == Decimal("0.111")


def test_sums_are_exact() -> None:
    # 10,000 calls of 207 micro-dollars: 2.07 and no float's 2.0699999999999998.
    one = price_call(BOOK, CallFacts(provider="anthropic", model="claude-haiku-4-5", at=AT,
                                     usage=Usage(input_tokens=207))).cost  # fmt: skip
    assert one.micros * 10_000 == 2_070_000


def test_a_model_that_nobody_lists_has_no_price() -> None:
    priced = price_call(BOOK, CallFacts(provider="openai", model="gpt-6.2-sol", usage=Usage(input_tokens=1), at=AT))
    assert priced.assumed
