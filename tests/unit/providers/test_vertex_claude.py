"""Anthropic's models on Vertex AI: the path names what the body of Messages names elsewhere."""

from __future__ import annotations

import json

import pytest

from docket.formats.reason import Reason
from docket.formats.run.usage import Usage
from docket.rules.providers.endpoints import VERTEX_CLAUDE
from docket.rules.providers.interface import Hidden, Refusal, RequestFacts, RequestTarget

_MODELS = "/v1/projects/p/locations/us-east5/publishers/anthropic/models"
BODY = b'{"anthropic_version":"vertex-2023-10-16","max_tokens":64,"messages":[],"stream":true}'


def asked(body: bytes, verb: str = "streamRawPredict") -> RequestFacts:
    return VERTEX_CLAUDE.read_request(body, RequestTarget(path=f"{_MODELS}/claude-opus-4-1@20250805:{verb}"))


def test_a_stream() -> None:
    facts = asked(BODY)
    assert (facts.model, facts.streaming, facts.max_output_tokens) == ("claude-opus-4-1@20250805", True, 64)
    assert facts.hidden == ()


@pytest.mark.parametrize(
    ("verb", "stream", "streaming"),
    [
        ("streamRawPredict", b"false", True),
        ("rawPredict", b"false", False),
        ("rawPredict", b"true", True),
    ],
)
def test_verb_or_body_says_that_it_streams(verb: str, stream: bytes, streaming: bool) -> None:
    facts = asked(BODY.replace(b"true", stream), verb)
    assert facts.streaming is streaming
    assert (Hidden.NON_STREAMING in facts.hidden) is not streaming


def test_a_body_that_names_another_model_is_ambiguous() -> None:
    assert asked(b'{"model":"claude-opus-5","messages":[]}').ambiguous is not None
    assert asked(b'{"model":"claude-opus-4-1@20250805","messages":[]}').ambiguous is None
    assert asked(b'{"messages":[],"messages":[]}').ambiguous is not None


def test_a_path_without_a_model_leaves_the_bodys() -> None:
    assert VERTEX_CLAUDE.read_request(b'{"model":"m"}').model == "m"


def test_the_reply_is_that_of_messages() -> None:
    meter = VERTEX_CLAUDE.meter("text/event-stream", streaming=True)
    meter.feed(
        b'event: message_start\ndata: {"type":"message_start","message":{"model":"claude-opus-4-1-20250805",'
        b'"usage":{"input_tokens":27,"cache_read_input_tokens":100,"output_tokens":1}}}\n\n'
        b'event: message_delta\ndata: {"type":"message_delta","usage":{"output_tokens":47}}\n\n'
        b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
    )
    reading = meter.reading()
    assert reading.usage == Usage(input_tokens=127, cached_input_tokens=100, output_tokens=47)
    assert (reading.model, reading.terminal) == ("claude-opus-4-1-20250805", True)


def test_the_refusal_is_anthropics() -> None:
    refused = VERTEX_CLAUDE.refusal(Refusal(reason=Reason.MAX_USD, message="no", docket_number="d"))
    assert json.loads(refused.body)["error"] == {"type": "invalid_request_error", "message": "no"}
