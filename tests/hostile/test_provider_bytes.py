"""Bytes made to hurt: depth, size, strange numbers, strange names. A reading without usage is the worst outcome."""

from __future__ import annotations

import json
import random

import pytest

from docket.rules.providers import endpoints
from docket.rules.providers.endpoints import ANTHROPIC_MESSAGES
from docket.rules.providers.estimate import settle
from docket.rules.providers.interface import Wire
from docket.rules.providers.usage_chunk import inject_usage
from sweeps import some

WIRES = tuple(endpoints.WIRES.values())
EACH_WIRE = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)


@some(5)
@EACH_WIRE
def test_depths_of_nesting(wire: Wire, stride: int) -> None:
    # Somewhere below the interpreter's limit a value can still be parsed and no longer be written. Each wire begins
    # elsewhere, so that every depth has its turn.
    for depth in (*range(850 + WIRES.index(wire) % stride, 1000, stride), 5000, 100_000):
        nested = b'{"a":' * depth + b"1" + b"}" * depth
        facts = wire.read_request(b'{"model":"m","input":' + nested + b"}")
        assert facts.model in ("m", None)
        assert len(facts.fingerprint) == 16
        meter = wire.meter("", streaming=True)
        meter.feed(b'data: {"type":"content_block_start","content_block":{"type":"tool_use","input":')
        meter.feed(nested + b"}}\n\n")
        assert meter.reading().usage is None
        inject_usage(b'{"stream":true,"x":' + nested + b"}")


NUMBERS = [
    "1e400", "-1e400", "NaN", "Infinity", "-0", "1e3", "99999999999999999999", "1" * 5000, "0.1", "true", '"12"', "[1]",
    "{}", "1E+2", "-1",
]  # fmt: skip
# The only ones that are counts, of input and output together.
COUNTED = {"-0": 0, "1e3": 2000, "1E+2": 200}


@EACH_WIRE
@pytest.mark.parametrize("number", NUMBERS)
def test_strange_numbers(wire: Wire, number: str) -> None:
    members = (
        "input_tokens", "output_tokens", "prompt_tokens", "completion_tokens", "total_tokens", "prompt_eval_count",
        "promptTokenCount", "candidatesTokenCount", "total_input_tokens", "total_output_tokens", "eval_count",
    )  # fmt: skip
    usage = "{" + ",".join(f'"{name}":{number}' for name in members) + "}"
    for body in (
        f'{{"usage":{usage},"model":{number},"id":{number},"service_tier":{number},"n":{number}}}',
        f'{{"type":"message_start","message":{{"usage":{usage}}}}}',
        f'{{"type":"response.completed","response":{{"usage":{usage}}}}}',
        f'{{"usageMetadata":{usage},"candidates":[{{"index":{number},"finishReason":{number}}}]}}',
        f'{{"done":true,{usage[1:]}',
    ):
        for data in (body.encode(), b"data: " + body.encode() + b"\n\n"):
            meter = wire.meter("", streaming=True)
            meter.feed(data)
            usage_read = meter.reading().usage
            assert usage_read is None or usage_read.total_tokens == COUNTED[number]
        wire.read_request(body.encode())


@EACH_WIRE
def test_members_of_every_wrong_type(wire: Wire) -> None:
    wrong = (None, 0, 1, -1, 1.5, "", "x", [], [1], {}, {"type": "x"}, True, [[[]]], {"usage": {"usage": []}})
    names = (
        "type", "message", "usage", "delta", "content_block", "error", "choices", "response", "item", "output", "model",
        "id", "service_tier", "content", "tools", "messages", "input", "system", "metadata", "stream_options",
        "thinking", "reasoning", "tool_usage", "x_groq", "fallbacks", "context_management", "max_tokens", "n", "stream",
        "candidates", "usageMetadata", "promptFeedback", "generationConfig", "request", "interaction", "steps", "done",
        "options", "embeddings", "event_type", "generation_config", "modelVersion",
    )  # fmt: skip
    generator = random.Random(7)
    for _ in range(300):
        value = {name: generator.choice(wrong) for name in generator.sample(names, 8)}
        for kind in ("message_start", "message_delta", "response.completed", "content_block_delta", None):
            data = json.dumps({**value, "type": kind} if kind else value).encode()
            wire.read_request(data)
            for body in (data, b"data:" + data + b"\r\n\r\n"):
                meter = wire.meter("", streaming=False)
                meter.feed(body)
                settle(meter.reading(), len(data), meter.visible_output_bytes)


@EACH_WIRE
def test_noise(wire: Wire) -> None:
    generator = random.Random(11)
    for size in (1, 10, 1000, 100_000):
        for _ in range(20):
            data = generator.randbytes(size)
            wire.read_request(data)
            meter = wire.meter("", streaming=True)
            meter.feed(data)
            meter.reading()


@EACH_WIRE
def test_texts_that_are_not_utf8(wire: Wire) -> None:
    meter = wire.meter("", streaming=True)
    meter.feed(b'data: {"type":"content_block_delta","delta":{"text":"\xff\xfe\xed\xa0\x80"}}\n\n')
    meter.feed(b'data: {"choices":[{"delta":{"content":"\\ud800\\udfff \\ud800"}}]}\n\n')
    assert meter.visible_output_bytes >= 0
    # Bedrock names its model in the path alone.
    assert wire.read_request(b'{"model":"m\xff","messages":[]}').model in ("m\ufffd", None)


def test_a_thousand_iterations_and_no_more() -> None:
    entry = {"type": "message", "input_tokens": 1, "output_tokens": 1}
    event = {"type": "message_delta", "usage": {"input_tokens": 5, "output_tokens": 5, "iterations": [entry] * 5000}}
    meter = ANTHROPIC_MESSAGES.meter("", streaming=True)
    meter.feed(b"data: " + json.dumps(event).encode() + b"\n\n")
    assert len(meter.reading().parts) == 1024
