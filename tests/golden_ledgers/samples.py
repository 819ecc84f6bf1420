"""The golden ledgers: one a situation, with costs worked out by hand beside each component."""

from __future__ import annotations

from dataclasses import replace

from docket.formats.amount import Usd
from docket.formats.ledger.asserted_events import AssertedCall, Reporter, ToolCall, ToolResult
from docket.formats.ledger.model_events import ModelDenied, ModelError, Outcome
from docket.formats.ledger.network_events import NetAllowed, NetClosed, NetDenied, NetOutcome, OtherExchange
from docket.formats.ledger.resilience_events import BreakerChange, BreakerState, FaultInjected, FaultPlanned, Paced
from docket.formats.ledger.session_events import EvidenceGap, ExitSource, Note, PolicyViolation
from docket.formats.ledger.spending_events import CapExceeded, CapWarning
from docket.formats.ledger.tree_events import Change, EntryState, FsChange, Omissions, OmittedPath, Phase
from docket.formats.relpath import RelPath
from docket.formats.run.usage import Usage, UsagePart, UsageSource
from golden_ledgers.build import (
    POLICY,
    SOME_DIGEST,
    LedgerBuilder,
    added,
    budget,
    closed,
    component,
    end,
    exited,
    opened,
    policy,
    price,
    request,
    response,
    snapshot,
    spawn,
    start,
)
from golden_ledgers.contents import contents, contents_refused, rollback_refused, rolled_back
from golden_ledgers.headed import checkpointed
from golden_ledgers.hidden import hidden
from golden_ledgers.kept import cached
from golden_ledgers.pooled import pooled
from golden_ledgers.proven import numbered
from golden_ledgers.staged import (
    commit_interrupted,
    commit_refused,
    discarded,
    landed,
    left_for_review,
    not_staged,
    nothing_changed,
)
from golden_ledgers.windowed import on_a_stage, windowed


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
    second = request(2, "openai", "gpt-5", "openai-chat")
    ledger.add(
        replace(second, altered=("stream_options.include_usage",), forwarded_sha256=SOME_DIGEST, model_b64="Z3B0LTU=")
    )
    ledger.add(price("gpt-5-2025-08-07", "1.25", "0.125", "10.00"))
    ledger.add(
        response(
            2,
            "openai",
            "gpt-5-2025-08-07",
            requested_model="gpt-5",
            usage=Usage(input_tokens=800, output_tokens=50),
            components=(component("gpt-5-2025-08-07", 800, 0, 50, "0.001500"),),  # 800x1.25 + 50x10
            cost="0.001500",
            cumulative="0.003000",
            usage_source=UsageSource.ESTIMATED,
            usage_note="the stream ended before its usage",
            outcome=Outcome.CUT,
            model_b64="Z3B0",
            service_tier="default",
            speed="standard",
            inference_geo="us",
            provider_request_id="req_1",
        )
    )
    return closed(ledger, "0.003000")


def parts() -> LedgerBuilder:
    """A call that two models served, the one that was asked for last."""
    ledger = opened()
    ledger.add(price("claude-opus-4-6", "5", "0.5", "25"))
    ledger.add(price("claude-haiku-4-5", "1", "0.1", "5"))
    ledger.add(request(1, "anthropic", "claude-opus-4-6"))
    ledger.add(
        response(
            1,
            "anthropic",
            "claude-opus-4-6",
            usage=Usage(input_tokens=300, output_tokens=30),
            usage_parts=(
                UsagePart(model="claude-haiku-4-5", usage=Usage(input_tokens=200, output_tokens=10)),
                UsagePart(model="claude-opus-4-6", usage=Usage(input_tokens=100, output_tokens=20)),
            ),
            components=(
                component("claude-haiku-4-5", 200, 0, 10, "0.000250"),  # 200x1 + 10x5
                component("claude-opus-4-6", 100, 0, 20, "0.001000"),  # 100x5 + 20x25
            ),
            cost="0.001250",
            cumulative="0.001250",
        )
    )
    return closed(ledger, "0.001250")


def uses() -> LedgerBuilder:
    """A call through a router that names its own charge: images, a search, a container, seconds of audio."""
    ledger = opened()
    name = "gpt-image-1.5"
    for row in (
        price(f"{name}+image", "8", "2", "32"),
        price(f"{name}+web-search", "10000", None, "0"),
        price(f"{name}+code-interpreter", "30000", None, "0"),
        price(f"{name}+audio-seconds", "100", None, "0"),
        price(name, "5", "1.25", "10"),
    ):
        ledger.add(row)
    ledger.add(request(1, "openrouter", name, "openai-chat"))
    ledger.add(
        response(
            1,
            "openrouter",
            name,
            usage=Usage(
                input_tokens=350, image_input_tokens=300, output_tokens=160, image_output_tokens=100, web_searches=2,
                code_sessions=1, audio_seconds=9,
            ),
            components=(
                component(f"{name}+image", 300, 0, 100, "0.005600"),  # 300x8 + 100x32
                component(f"{name}+web-search", 2, 0, 0, "0.02"),
                component(f"{name}+code-interpreter", 1, 0, 0, "0.03"),
                component(f"{name}+audio-seconds", 9, 0, 0, "0.000900"),
                component(name, 50, 0, 60, "0.000850"),  # 50x5 + 60x10
            ),
            cost="0.057350",
            cumulative="0.057350",
            upstream_cost_usd="0.05735",
        )
    )  # fmt: skip
    return closed(ledger, "0.057350")


def estimated() -> LedgerBuilder:
    """One call whose provider gave no count."""
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
            usage_source=UsageSource.ESTIMATED,
            usage_note="the reply carried no usage",
        )
    )
    return closed(ledger, "0.001500")


def zero() -> LedgerBuilder:
    """No call at all."""
    return closed(opened(), "0.00", ())


def odd_names() -> LedgerBuilder:
    """File names that are not UTF-8, hold a newline, and a command line that is not Unicode."""
    ledger = opened(argv=("agent", "caf\\xe9"), argv_b64=("YWdlbnQ=", "Y2Fm6Q=="), cwd="/home/dev/tr\u00e9e")
    return closed(ledger, "0.00", (b"caf\xe9.txt", b"two\nlines", "\u65e5\u672c".encode()))


def no_end() -> LedgerBuilder:
    """A run that stopped being recorded after a call was sent."""
    ledger = opened()
    ledger.add(request(1, "openai", "gpt-5", "openai-chat"))
    return ledger


def busy() -> LedgerBuilder:
    """A run in which everything happens once: refusals, errors, violations, warnings, tools, tunnels, a cap."""
    ledger = opened(upstream_overrides={"openai": "http://127.0.0.1:9"}, label=None)
    ledger.add(Note(code="policy-in-tree", message="a policy file in the tree asks for more and is not followed"))
    ledger.add(OtherExchange(provider="openai", method="GET", path="/v1/models", status=200, response_bytes=50))
    ledger.add(NetDenied(reason="bad_token", kind="door", count=3))
    ledger.add(NetDenied(reason="egress_host", kind="tunnel", count=2, host="elsewhere.example", port=443))
    downloads = {"host": "downloads.example.com", "port": 443, "address": "203.0.113.7"}
    ledger.add(NetAllowed(tunnel=1, kind="tunnel", **downloads))
    ledger.add(NetAllowed(tunnel=2, kind="request", host="203.0.113.9", port=80, method="GET"))
    amounts = {"sent_bytes": 517, "received_bytes": 40960, "duration_ms": 120}
    ledger.add(NetClosed(tunnel=1, outcome=NetOutcome.CLOSED, **amounts))
    ledger.add(NetClosed(tunnel=2, outcome=NetOutcome.HOST_RESET, status=200, **amounts))
    ledger.add(request(1, "openai", "gpt-5", "openai-chat"))
    ledger.add(
        ModelError(
            call=1,
            provider="openai",
            model="gpt-5",
            status=529,
            latency_ms=7,
            reason="upstream_status",
            error="overloaded",
            response_bytes=20,
            response_sha256=SOME_DIGEST,
        )
    )
    ledger.add(request(2, "openai", "gpt-5", "openai-chat"))
    ledger.add(price("gpt-5", "1.25", "0.125", "10"))
    ledger.add(
        response(
            2,
            "openai",
            "gpt-5",
            usage=Usage(input_tokens=700_000, output_tokens=10_000),
            components=(component("gpt-5", 700_000, 0, 10_000, "0.975000"),),  # 700000x1.25 + 10000x10
            cost="0.975000",
            cumulative="0.975000",
            streaming=True,
        )
    )
    ledger.add(CapWarning(cap="max_usd", threshold="0.8", used_pct="97.5", used="0.975000", limit="1.00"))
    ledger.add(
        CapExceeded(
            cap="max_usd",
            limit="1.00",
            used="0.975000",
            cost_usd=Usd(975_000),
            tokens=710_000,
            calls=1,
            action="kill",
            detail="the next call would cross the cap",
        )
    )
    ledger.add(
        ModelDenied(
            provider="openai",
            model="gpt-5",
            reason="max_usd",
            cap="max_usd",
            detail="$0.97 of $1.00 is spent",
            status=400,
            path="/v1/chat/completions",
        )
    )
    ledger.add_raw("tool.call", {"name": "bash", "reported_by": "agent"})
    ledger.add_raw("tool.result", {"name": "bash", "ok": False, "reported_by": "agent"})
    ledger.add_raw("tool.call", {"name": "edit", "reported_by": "agent"})
    ledger.add_raw("tool.result", {"name": "edit", "ok": True, "reported_by": "agent"})
    ledger.add_raw("x-docket.from-later", {"anything": [1, None, {"deep": True}]})
    ledger.add(exited(-9))
    ledger.add(added(b".env"))
    file, link = (
        EntryState(kind="file", mode=0o644, size=1, sha256=SOME_DIGEST),
        EntryState(kind="symlink", mode=0o777, target="x"),
    )
    ledger.add(FsChange(path=RelPath.parse(b"a"), change=Change.MODIFIED, before=file, after=file))
    ledger.add(FsChange(path=RelPath.parse(b"b"), change=Change.REMOVED, before=file))
    ledger.add(FsChange(path=RelPath.parse(b"c"), change=Change.RETYPED, before=file, after=link))
    omitted = OmittedPath(path=RelPath.parse(b"fifo"), reason="special-file", detail="a FIFO")
    ledger.add(snapshot(Phase.AFTER, 3, "33", omissions=1))
    ledger.add(Omissions(phase=Phase.AFTER, omissions=(omitted,)))
    ledger.add(PolicyViolation(rule="files.deny_write", path=RelPath.parse(b".env"), detail="it was written"))
    ledger.add(budget("0.975000"))
    ledger.add(end("0.975000", 42, exit_source=ExitSource.CAP, breached="max_usd"))
    return ledger


def gap() -> LedgerBuilder:
    """A run whose ledger could not take two events."""
    ledger = opened()
    ledger.add(EvidenceGap(first_failing_seq=4, unwritten_events=2, detail="no space left on device"))
    return closed(ledger, "0.00", ())


def asserted() -> LedgerBuilder:
    """One call that was seen, beside what the agent says of itself: tools, a call past the boundary, remarks."""
    ledger = opened()
    ledger.add(price("gpt-5", "1.25", "0.125", "10.00"))
    ledger.add(ToolCall(name="bash", id="t1", input_bytes=12, input_sha256=SOME_DIGEST, reported_by=Reporter.AGENT))
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
    ledger.add(
        ToolResult(
            name="bash", ok=False, id="t1", result_bytes=3, result_sha256=SOME_DIGEST, duration_ms=9, error="exit 1",
            reported_by=Reporter.AGENT,
        )
    )  # fmt: skip
    for tokens in (5000, 7000):
        ledger.add(
            AssertedCall(
                provider="local", model="m", input_tokens=tokens, cached_input_tokens=1000, output_tokens=50,
                latency_ms=20, reported_by=Reporter.AGENT,
            )
        )  # fmt: skip
    ledger.add(Note(code="plan", message="two files to change", detail={"files": 2}, reported_by=Reporter.AGENT))
    ledger.add(Note(code="recipe", message="docket's own remark"))
    return closed(ledger, "0.001500")


def drilled() -> LedgerBuilder:
    """A drill under pacing: injected faults, a call that waited, one refused for its pace, a breaker that opened."""
    ledger = LedgerBuilder()
    ledger.add(start())
    ledger.add(policy(POLICY | {"resilience": {"max_calls_per_minute": 3, "max_calls_per_second": "0.5"}}))
    ledger.add(FaultPlanned(seed=7, spec=("status=503@calls=1-2", "slow=64@calls=3")))
    for payload in (snapshot(Phase.BEFORE, 2), spawn()):
        ledger.add(payload)
    for call in (1, 2):
        if call == 2:
            ledger.add(Paced(provider="openai", model="gpt-5", waited_ms=1999))
        ledger.add(request(call, "openai", "gpt-5", "openai-chat"))
        detail = "HTTP 503 in place of the upstream's answer"
        ledger.add(FaultInjected(call=call, kind="status", detail=detail, asked=False))
        error = ModelError(
            call=call, provider="openai", model="gpt-5", status=503, latency_ms=0, reason="upstream_status",
            error="injected", response_bytes=9, response_sha256=SOME_DIGEST,
        )  # fmt: skip
        ledger.add(error)
    change = BreakerChange(
        provider="openai", upstream="https://api.example:443", state=BreakerState.OPEN, failures=2, cooldown_ms=30000
    )
    ledger.add(change)
    for reason, status in (("circuit_open", 503), ("rate_limited", 429)):
        ledger.add(
            ModelDenied(
                provider="openai", model="gpt-5", reason=reason, detail="not now", status=status,
                path="/v1/chat/completions",
            )
        )  # fmt: skip
    ledger.add(replace(change, state=BreakerState.HALF_OPEN, cooldown_ms=0))
    ledger.add(Paced(provider="openai", model="gpt-5", waited_ms=1))
    ledger.add(request(3, "openai", "gpt-5", "openai-chat"))
    ledger.add(FaultInjected(call=3, kind="slow", detail="the reply comes at 64 bytes a second", asked=True))
    ledger.add(replace(change, state=BreakerState.CLOSED, failures=1, cooldown_ms=0))
    ledger.add(price("gpt-5", "1.25", "0.125", "10.00"))
    ledger.add(
        response(
            3,
            "openai",
            "gpt-5",
            usage=Usage(input_tokens=400, output_tokens=100),
            components=(component("gpt-5", 400, 0, 100, "0.001500"),),  # 400x1.25 + 100x10
            cost="0.001500",
            cumulative="0.001500",
        )
    )
    return closed(ledger, "0.001500")


ALL = {
    item.__name__: item
    for item in (
        anthropic,
        chat,
        responses,
        assumed,
        cut,
        parts,
        estimated,
        uses,
        zero,
        odd_names,
        no_end,
        busy,
        gap,
        asserted,
        drilled,
        cached,
        pooled,
        contents,
        contents_refused,
        rolled_back,
        rollback_refused,
        landed,
        nothing_changed,
        commit_interrupted,
        commit_refused,
        left_for_review,
        discarded,
        not_staged,
        windowed,
        on_a_stage,
        numbered,
        checkpointed,
        hidden,
    )
}
