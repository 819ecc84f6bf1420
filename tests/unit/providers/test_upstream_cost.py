"""What a provider says a call cost, beside docket's own figure."""

from __future__ import annotations

import json

import pytest

from docket.rules.providers.anthropic import AnthropicMessages
from docket.rules.providers.counts import upstream_cost
from docket.rules.providers.interface import Wire
from docket.rules.providers.openai_chat import OpenAiChat
from docket.rules.providers.openai_responses import OpenAiResponses


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ('{"cost":0.0042,"is_byok":false,"cost_details":{"upstream_inference_cost":0.0042}}', "0.0042"),
        ('{"cost":0,"is_byok":true,"cost_details":{"upstream_inference_cost":0.0360795}}', "0.0360795"),
        ('{"cost":0.001,"is_byok":true,"cost_details":{"upstream_inference_cost":0.02}}', "0.021"),
        ('{"cost":0.001,"is_byok":true,"cost_details":{"upstream_inference_cost":null}}', "0.001"),
        ('{"cost":0.001,"is_byok":true}', "0.001"),
        ('{"cost":0.00014175}', "0.00014175"),
        ('{"cost":1.5e-07}', "0.00000015"),
        ('{"cost":3}', "3"),
        ('{"cost":0}', "0"),
        ('{"cost":-1}', None),
        ('{"cost":NaN}', None),
        ('{"cost":1e300}', None),
        ('{"cost":true}', None),
        ('{"cost":{"total_cost":1}}', None),
        ('{"cost":"0.1"}', None),
        ("{}", None),
        ('{"cost_in_usd_ticks":37756000}', "0.0037756"),
    ],
)
def test_the_charge_of_a_router(usage: str, cost: str | None) -> None:
    assert upstream_cost(json.loads(usage)) == cost


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        (OpenAiChat(), {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.0042}}),
        (OpenAiResponses(), {"status": "completed", "usage": {"input_tokens": 1, "output_tokens": 1, "cost": 0.0042}}),
        (AnthropicMessages(), {"type": "message", "usage": {"input_tokens": 1, "output_tokens": 1, "cost": 0.0042}}),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_every_format_of_a_router_carries_it(wire: Wire, body: object) -> None:
    meter = wire.meter("application/json", streaming=False)
    meter.feed(json.dumps(body).encode())
    assert meter.reading().upstream_cost_usd == "0.0042"


def test_a_stream_names_it_in_its_last_chunk_and_may_break_before() -> None:
    chunk = {"choices": [{"delta": {"content": "Hi"}}]}
    last = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2, "cost": 0.0001}}
    error = {"error": {"code": 502, "message": "the provider disconnected"}, "choices": [{"delta": {"content": ""}}]}
    meter = OpenAiChat().meter("text/event-stream", streaming=True)
    for value in (chunk, last):
        meter.feed(b": OPENROUTER PROCESSING\n\ndata: " + json.dumps(value).encode() + b"\n\n")
    assert meter.reading().upstream_cost_usd == "0.0001"
    broken = OpenAiChat().meter("text/event-stream", streaming=True)
    for value in (chunk, error):
        broken.feed(b"data: " + json.dumps(value).encode() + b"\n\n")
    reading = broken.reading()
    assert (reading.usage, reading.upstream_cost_usd, broken.visible_output_bytes) == (None, None, 2)
    assert reading.error is not None
    assert reading.error.message == "the provider disconnected"
