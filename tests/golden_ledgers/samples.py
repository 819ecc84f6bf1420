"""The golden ledgers: one a situation, with costs worked out by hand beside each component."""

from __future__ import annotations

from docket.formats.ledger.payloads import Outcome
from docket.formats.run.usage import Usage, UsageSource
from golden_ledgers.build import LedgerBuilder, closed, component, opened, price, request, response


def anthropic() -> LedgerBuilder:
    """Two calls to one model: a 5 m and a 1 h cache write with a read, then one search."""
    ledger = opened()
    # a million tokens: 3.00 fresh, 0.30 read, 15.00 output, 3.75 and 6.00 written; a thousand searches: 10.00
    ledger.add(price("claude-sonnet-4-5", "3.00", "0.30", "15.00"))
    ledger.add(price("claude-sonnet-4-5+cache-write-5m", "3.75", "3.75", "0.00"))
    ledger.add(price("claude-sonnet-4-5+cache-write-1h", "6.00", "6.00", "0.00"))
    ledger.add(request(1, "anthropic", "claude-sonnet-4-5"))
    usage = Usage(
        input_tokens=1000 + 4000 + 2000 + 10_000,
        cached_input_tokens=10_000,
        output_tokens=500,
        cache_write_5m_tokens=4000,
        cache_write_1h_tokens=2000,
    )
    ledger.add(
        response(
            1,
            "anthropic",
            "claude-sonnet-4-5",
            usage=usage,
            components=(
                component("claude-sonnet-4-5+cache-write-5m", 4000, 0, 0, "0.015000"),  # 4000 x 3.75
                component("claude-sonnet-4-5+cache-write-1h", 2000, 0, 0, "0.012000"),  # 2000 x 6
                component("claude-sonnet-4-5", 11_000, 10_000, 500, "0.013500"),  # 1000x3 + 10000x.3 + 500x15
            ),
            cost="0.040500",
            cumulative="0.040500",
        )
    )
    ledger.add(request(2, "anthropic", "claude-sonnet-4-5"))
    ledger.add(price("claude-sonnet-4-5+web-search", "10000", None, "0"))
    ledger.add(
        response(
            2,
            "anthropic",
            "claude-sonnet-4-5",
            usage=Usage(input_tokens=100, output_tokens=10, web_searches=2),
            components=(
                component("claude-sonnet-4-5+web-search", 2, 0, 0, "0.02"),  # 2 x 0.01
                component("claude-sonnet-4-5", 100, 0, 10, "0.000450"),  # 100x3 + 10x15 micros
            ),
            cost="0.020450",
            cumulative="0.060950",
        )
    )
    return closed(ledger, "0.060950")


def chat() -> LedgerBuilder:
    """One Chat Completions call with cached and reasoning tokens."""
    ledger = opened()
    ledger.add(price("gpt-5", "1.25", "0.125", "10.00"))
    ledger.add(request(1, "openai", "gpt-5", "openai-chat"))
    ledger.add(
        response(
            1,
            "openai",
            "gpt-5",
            usage=Usage(input_tokens=2000, cached_input_tokens=800, output_tokens=300, reasoning_tokens=200),
            components=(component("gpt-5", 2000, 800, 300, "0.004600"),),  # 1200x1.25 + 800x.125 + 300x10
            cost="0.004600",
            cumulative="0.004600",
        )
    )
    return closed(ledger, "0.004600")


def responses() -> LedgerBuilder:
    """Two Responses calls whose exact costs end in half a micro-dollar: rounded half to even, once up, once down."""
    ledger = opened()
    ledger.add(price("gpt-5", "1.25", "0.125", "10.00"))
    ledger.add(request(1, "openai", "gpt-5", "openai-responses"))
    ledger.add(
        response(
            1,
            "openai",
            "gpt-5",
            usage=Usage(input_tokens=2, output_tokens=0),
            components=(component("gpt-5", 2, 0, 0, "0.000002"),),  # 2.5 micros: to even, down
            cost="0.000002",
            cumulative="0.000002",
        )
    )
    ledger.add(request(2, "openai", "gpt-5", "openai-responses"))
    ledger.add(
        response(
            2,
            "openai",
            "gpt-5",
            usage=Usage(input_tokens=6, output_tokens=0),
            components=(component("gpt-5", 6, 0, 0, "0.000008"),),  # 7.5 micros: to even, up
            cost="0.000008",
            cumulative="0.000010",
        )
    )
    return closed(ledger, "0.000010")


def assumed() -> LedgerBuilder:
    """A model without a known price, priced by the fallback."""
    ledger = opened()
    ledger.add(price("*", "15.00", "15.00", "75.00"))
    ledger.add(request(1, "openai", "mystery/model[1]", "openai-chat"))
    ledger.add(
        response(
            1,
            "openai",
            "mystery/model[1]",
            usage=Usage(input_tokens=100, output_tokens=10),
            components=(component("mystery/model[1]", 100, 0, 10, "0.002250"),),  # 100x15 + 10x75
            cost="0.002250",
            cumulative="0.002250",
            assumed_price=True,
        )
    )
    return closed(ledger, "0.002250")


def cut() -> LedgerBuilder:
    """A stream cut at the cap, its usage estimated, beside one that was reported."""
    ledger = opened()
    ledger.add(price("gpt-5", "1.25", "0.125", "10.00"))
    ledger.add(request(1, "openai", "gpt-5", "openai-chat"))
    ledger.add(
        response(
            1,
            "openai",
            "gpt-5",
            usage=Usage(input_tokens=400, output_tokens=100),
            components=(component("gpt-5", 400, 0, 100, "0.001500"),),  # 400x1.25 + 100x10
            cost="0.001500",
            cumulative="0.001500",
        )
    )
    ledger.add(request(2, "openai", "gpt-5", "openai-chat"))
    ledger.add(
        response(
            2,
            "openai",
            "gpt-5",
            usage=Usage(input_tokens=800, output_tokens=50),
            components=(component("gpt-5", 800, 0, 50, "0.001500"),),  # 800x1.25 + 50x10
            cost="0.001500",
            cumulative="0.003000",
            usage_source=UsageSource.ESTIMATED,
            usage_note="the stream ended before its usage",
            outcome=Outcome.CUT,
        )
    )
    return closed(ledger, "0.003000")


def zero() -> LedgerBuilder:
    """No call at all."""
    return closed(opened(), "0.00", ())


def odd_names() -> LedgerBuilder:
    """File names that are not UTF-8, hold a newline, and a command line that is not Unicode."""
    ledger = opened(argv=("agent", "caf\\xe9"), argv_b64=("YWdlbnQ=", "Y2Fm6Q=="), cwd="/work/tr\u00e9e")
    return closed(ledger, "0.00", (b"caf\xe9.txt", b"two\nlines", "\u65e5\u672c".encode()))


def no_end() -> LedgerBuilder:
    """A run that stopped being recorded after a call was sent."""
    ledger = opened()
    ledger.add(request(1, "openai", "gpt-5", "openai-chat"))
    return ledger


ALL = {item.__name__: item for item in (anthropic, chat, responses, assumed, cut, zero, odd_names, no_end)}
