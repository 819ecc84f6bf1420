"""Turns in the documented shapes of Google's Gemini API. Expected values are written out by hand from the reference."""

from __future__ import annotations

import json

import pytest

from docket.demo import gemini
from docket.demo.answer import NUMBER
from docket.demo.asked import Asked, InvalidAsk, Wire, read_ask, wire_of
from docket.demo.script import Failure, Filler, Pace, Tokens, ToolCall, Turn

TURN = Turn(
    text="abcdefgh",
    tool_calls=(ToolCall(name="edit", arguments={"path": "a"}),),
    tokens=Tokens(fresh=10, cache_read=100, output=20, reasoning=3),
    pace=Pace(text_chars=4),
)
LAST_USAGE = {
    "promptTokenCount": 110,
    "candidatesTokenCount": 17,
    "totalTokenCount": 130,
    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 110}],
    "cachedContentTokenCount": 100,
    "thoughtsTokenCount": 3,
}


def ask(**members):
    return Asked(wire=Wire.GEMINI, model="gemini-x", **members)


def body_of(answer):
    return b"".join(answer.pieces)


def test_json():
    answer = gemini.answer(TURN, ask())
    assert answer.content_type == "application/json"
    assert json.loads(body_of(answer)) == {
        "candidates": [
            {
                "content": {
                    "parts": [{"text": "abcdefgh"}, {"functionCall": {"name": "edit", "args": {"path": "a"}}}],
                    "role": "model",
                },
                "index": 0,
                "finishReason": "STOP",
            }
        ],
        "usageMetadata": LAST_USAGE,
        "modelVersion": "gemini-x",
        "responseId": f"resp-{NUMBER}",
    }


def test_a_stream_of_events_has_the_counts_so_far_in_each():
    body = body_of(gemini.answer(TURN, ask(streaming=True)))
    events = [json.loads(block.removeprefix("data: ")) for block in body.decode().split("\n\n")[:-1]]
    assert [event["usageMetadata"]["candidatesTokenCount"] for event in events] == [1, 2, 17]
    assert [event["candidates"][0].get("finishReason") for event in events] == [None, None, "STOP"]
    assert events[-1]["usageMetadata"] == LAST_USAGE


def test_without_the_option_a_stream_is_one_array_in_pieces():
    answer = gemini.answer(TURN, ask(streaming=True, as_array=True))
    pieces = list(answer.pieces)
    assert (answer.content_type, answer.body_bytes) == ("application/json; charset=UTF-8", None)
    assert len(pieces) == 4
    texts = [value["candidates"][0]["content"]["parts"][0].get("text") for value in json.loads(b"".join(pieces))]
    assert texts == ["abcd", "efgh", None]


def test_code_assist_wraps_each_response():
    whole = json.loads(body_of(gemini.answer(Turn(text="x", tokens=None), ask(wrapped=True))))
    assert whole["traceId"] == f"trace-{NUMBER}"
    assert whole["response"]["candidates"][0]["content"]["parts"] == [{"text": "x"}]
    assert "usageMetadata" not in whole["response"]


@pytest.mark.parametrize(("status", "name"), [(429, "RESOURCE_EXHAUSTED"), (500, "INTERNAL")])
def test_failures_have_the_providers_shape(status, name):
    failure = Failure(status=status, message="no")
    wanted = {"error": {"code": status, "message": "no", "status": name}}
    refused = gemini.answer(Turn(failure=failure), ask(streaming=True))
    assert (refused.status, json.loads(body_of(refused))) == (status, wanted)
    in_band = Failure(status=status, message="no", in_band=True)
    streamed = gemini.answer(Turn(failure=in_band), ask(streaming=True, as_array=True))
    assert (streamed.status, json.loads(body_of(streamed))) == (200, [wanted])


def test_what_else_a_turn_can_say():
    turn = Turn(
        filler=Filler(total_bytes=9),
        truncated=True,
        model="gemini-y",
        service_tier="flex",
        extra_usage={"trafficType": "ON_DEMAND"},
    )
    body = json.loads(body_of(gemini.answer(turn, ask())))
    assert body["candidates"][0]["finishReason"] == "MAX_TOKENS"
    assert body["candidates"][0]["content"]["parts"] == [{"text": "f" * 9}]
    assert body["modelVersion"] == "gemini-y"
    assert body["usageMetadata"]["serviceTier"] == "flex"
    assert body["usageMetadata"]["trafficType"] == "ON_DEMAND"


@pytest.mark.parametrize(
    ("target", "body", "wanted"),
    [
        ("/v1beta/models/gemini-x:generateContent", b"{}", ask()),
        ("/v1/models/gemini-x:streamGenerateContent?alt=sse", b'{"tools":[1]}', ask(streaming=True, offers_tools=True)),
        ("/v1beta/models/gemini-x:streamGenerateContent?key=k", b"{}", ask(streaming=True, as_array=True)),
        ("/v1internal:generateContent", b'{"model":"gemini-x","request":{"tools":[1]}}',
         ask(wrapped=True, offers_tools=True)),
        ("/v1internal:generateContent", b'{"model":"gemini-x"}', ask(wrapped=True)),
    ],
)  # fmt: skip
def test_reading_a_call(target, body, wanted):
    assert wire_of("POST", target.partition("?")[0]) is Wire.GEMINI
    assert read_ask(Wire.GEMINI, body, target) == wanted


@pytest.mark.parametrize("target", ["/v1internal:generateContent", "/v1beta/models/:generateContent"])
def test_a_call_without_a_model_is_a_value(target):
    assert isinstance(read_ask(Wire.GEMINI, b"{}", target), InvalidAsk)
