"""Results of batches: one reply a line, half the price, booked once."""

from __future__ import annotations

import json
from decimal import Decimal
from importlib import resources

import pytest

from docket.formats.run.policy import Policy
from docket.formats.run.usage import Usage, UsagePart
from docket.rules.boundary.billing import Prices
from docket.rules.providers.batch_results import MAX_PARTS, SHORT_TOKENS
from docket.rules.providers.endpoints import BATCH_RESULTS, classify
from docket.rules.providers.interface import EndpointKind, Meter, Reading, RequestFacts
from docket.rules.providers.registry import provider
from docket.rules.spending.price_book import PriceBook

BOOK = PriceBook.parse(resources.files("docket").joinpath("data/prices.json").read_bytes())


def anthropic(name: str, model: str, **usage: object) -> dict[str, object]:
    message = {"id": f"msg_{name}", "type": "message", "model": model, "content": [], "usage": usage}
    return {"custom_id": name, "result": {"type": "succeeded", "message": message}}


def openai(name: str, model: str, **usage: object) -> dict[str, object]:
    body = {"id": f"chatcmpl-{name}", "model": model, "choices": [], "usage": usage}
    return {"id": f"batch_req_{name}", "custom_id": name, "response": {"status_code": 200, "body": body}, "error": None}


def meter_of(*lines: object) -> Meter:
    meter = BATCH_RESULTS.meter("application/octet-stream", streaming=False)
    meter.feed(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    return meter


def cost(name: str, reading: Reading) -> Decimal:
    assert reading.usage is not None
    priced = Prices.under(Policy(), BOOK).priced(
        provider(name), RequestFacts(), reading.usage, reading, "2026-11-29T10:00:00.000Z"
    )
    assert not priced.assumed
    return Decimal(str(priced.cost))


@pytest.mark.parametrize(
    ("path", "wire"),
    [
        ("/v1/messages/batches/msgbatch_1/results", "batch-results"),
        ("/v1/files/file-1/content", "batch-results"),
        ("/v1/messages/batches/msgbatch_1", None),
        ("/v1/files/file-1", None),
    ],
)
def test_where_results_are_fetched(path: str, wire: str | None) -> None:
    endpoint = classify("GET", path)
    assert (endpoint.kind, endpoint.wire and endpoint.wire.name) == (EndpointKind.FREE, wire)


def test_anthropics_results_are_half_the_price() -> None:
    reading = meter_of(
        anthropic("a", "claude-opus-4-8", input_tokens=1000, output_tokens=100, service_tier="batch"),
        {"custom_id": "b", "result": {"type": "errored", "error": {"type": "invalid_request"}}},
        anthropic("c", "claude-opus-4-8", input_tokens=500, output_tokens=40, service_tier="batch"),
        anthropic("d", "claude-haiku-4-5", input_tokens=100, output_tokens=10, service_tier="batch"),
    ).reading()
    opus, haiku = Usage(input_tokens=1500, output_tokens=140), Usage(input_tokens=100, output_tokens=10)
    assert reading == Reading(
        usage=opus + haiku,
        usage_final=True,
        parts=(UsagePart(model="claude-opus-4-8", usage=opus), UsagePart(model="claude-haiku-4-5", usage=haiku)),
        model="claude-opus-4-8",
        service_tier="batch",
        response_id="msg_a",
        terminal=True,
    )
    # Opus 4.8 at half: 1500 x 2.5 + 140 x 12.5 = 5500; Haiku 4.5 at half: 100 x 0.5 + 10 x 2.5 = 75.
    assert cost("anthropic", reading) == Decimal("0.005575")


def test_openais_results() -> None:
    reading = meter_of(
        openai("a", "gpt-5.5", prompt_tokens=1000, completion_tokens=100),
        openai("b", "gpt-5.5", prompt_tokens=200, completion_tokens=10),
    ).reading()
    assert (reading.response_id, reading.parts) == ("chatcmpl-a", ())
    # gpt-5.5 at half: 1200 x 2.5 + 110 x 15 = 4650.
    assert cost("openai", reading) == Decimal("0.00465")


def test_a_step_for_long_inputs_is_a_single_requests() -> None:
    lines = [anthropic(str(at), "claude-sonnet-4-5", input_tokens=20000, output_tokens=0) for at in range(20)]
    long = anthropic("long", "claude-sonnet-4-5", input_tokens=200001, output_tokens=0)
    reading = meter_of(*lines, long).reading()
    assert max(part.usage.input_tokens for part in reading.parts[:-1]) <= SHORT_TOKENS
    # 400000 tokens in short requests at 1.5, and 200001 in a long one at 3.
    assert cost("anthropic", reading) == Decimal("1.200003")


def test_too_many_requests_are_kept_together_and_told() -> None:
    lines = [anthropic(str(at), "m", input_tokens=SHORT_TOKENS, output_tokens=0) for at in range(MAX_PARTS + 3)]
    reading = meter_of(*lines).reading()
    assert len(reading.parts) == MAX_PARTS
    assert reading.usage == Usage(input_tokens=SHORT_TOKENS * (MAX_PARTS + 3))
    assert reading.note is not None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'{"messages":[{"role":"user","content":"train on me"}]}\n{"messages":[]}\n',
        b'{"custom_id":"a","result":{"type":"canceled"}}\n',
        b"\x89PNG\r\n\x1a\n",
        b'[{"custom_id":"a"}]',
        b"data: [DONE]\n\n",
    ],
)
def test_a_file_that_holds_no_results_is_no_call(body: bytes) -> None:
    meter = BATCH_RESULTS.meter("application/octet-stream", streaming=False)
    meter.feed(body)
    assert meter.reading().usage is None


def test_a_long_line_is_read_as_it_passes() -> None:
    line = anthropic("a", "claude-opus-4-8", input_tokens=7, output_tokens=3)
    line["result"]["message"]["content"] = [{"type": "text", "text": "x" * 2_000_000}]  # type: ignore[index]
    data = json.dumps(line).encode() + b"\n"
    meter = BATCH_RESULTS.meter("", streaming=False)
    for at in range(0, len(data), 65536):
        meter.feed(data[at : at + 65536])
    assert meter.reading().usage == Usage(input_tokens=7, output_tokens=3)
    assert meter.visible_output_bytes == 0
