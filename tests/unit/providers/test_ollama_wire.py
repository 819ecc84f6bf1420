"""Ollama's requests and replies, typed by hand after its API reference."""

from __future__ import annotations

import json

import pytest

from docket.formats.reason import Reason
from docket.formats.run.usage import Usage, UsageSource
from docket.rules.providers.endpoints import OLLAMA
from docket.rules.providers.estimate import settle
from docket.rules.providers.interface import Hidden, Meter, Refusal, RequestFacts, RequestTarget
from docket.rules.providers.ollama import OllamaState

FIRST = b'{"model":"llama3.2","message":{"role":"assistant","content":"Gr\xc3\xbc\xc3\x9fe"},"done":false}\n'
LAST = (
    b'{"model":"llama3.2","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop",'
    b'"total_duration":5,"prompt_eval_count":26,"eval_count":298}\n'
)


def meter_of(data: bytes) -> Meter:
    meter = OLLAMA.meter("application/x-ndjson", streaming=True)
    meter.feed(data)
    return meter


def asked(members: dict[str, object], path: str = "/api/chat") -> RequestFacts:
    return OLLAMA.read_request(json.dumps(members).encode(), RequestTarget(path=path))


@pytest.mark.parametrize(
    "data", [FIRST + LAST, LAST, LAST.rstrip(), (FIRST + LAST).replace(b"\n", b"\r\n"), LAST + b"junk"]
)
def test_the_last_object_has_the_counts(data: bytes) -> None:
    reading = meter_of(data).reading()
    assert reading.usage == Usage(input_tokens=26, output_tokens=298)
    assert (reading.usage_final, reading.terminal, reading.model) == (True, True, "llama3.2")


def test_a_whole_reply_on_many_lines() -> None:
    whole = json.dumps(
        {"model": "m", "response": "hello", "done": True, "prompt_eval_count": 3, "eval_count": 2}, indent=1
    )
    meter = meter_of(whole.encode())
    assert meter.reading().usage == Usage(input_tokens=3, output_tokens=2)


def test_an_aborted_stream_is_estimated_from_what_was_shown() -> None:
    meter = meter_of(FIRST)
    assert (meter.reading().usage, meter.reading().terminal) == (None, False)
    settled = settle(meter.reading(), 40, meter.visible_output_bytes)
    # Seven bytes were shown.
    assert (settled.usage, settled.source) == (Usage(input_tokens=10, output_tokens=2), UsageSource.ESTIMATED)


def test_a_cached_prompt_is_estimated_and_the_output_is_the_reported_one() -> None:
    meter = meter_of(FIRST + b'{"model":"m","done":true,"eval_count":298}\n')
    settled = settle(meter.reading(), 40, meter.visible_output_bytes)
    assert (settled.usage, settled.source) == (Usage(input_tokens=10, output_tokens=298), UsageSource.ESTIMATED)
    assert "cached" in str(settled.note)


@pytest.mark.parametrize("why", ["load", "unload"])
def test_a_model_that_was_only_loaded_has_used_nothing(why: str) -> None:
    meter = meter_of(b'{"model":"m","response":"","done":true,"done_reason":"' + why.encode() + b'"}')
    assert meter.reading().usage == Usage()


def test_embeddings() -> None:
    reading = meter_of(b'{"model":"m","embeddings":[[0.1,0.2]],"prompt_eval_count":8}').reading()
    assert (reading.usage, reading.terminal) == (Usage(input_tokens=8), True)
    long = b'{"model":"m","embeddings":[[' + b"0.125," * 300_000 + b'0]],"prompt_eval_count":8}'
    assert meter_of(long).reading().usage == Usage(input_tokens=8)
    assert meter_of(b'{"embedding":[0.1]}').reading().terminal


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"response": "abc"}, 3),
        ({"message": {"content": "abc", "thinking": "de"}}, 5),
        ({"thinking": "de"}, 2),
        ({"message": {"tool_calls": [{"function": {"name": "run", "arguments": {"a": 1}}}]}}, 11),
        ({"message": "x"}, 0),
    ],
)
def test_what_counts_as_shown(value: dict[str, object], shown: int) -> None:
    assert meter_of(json.dumps(value).encode()).visible_output_bytes == shown


def test_an_error() -> None:
    reading = meter_of(b'{"error":"model \\"x\\" not found"}').reading()
    assert reading.error is not None
    assert (reading.error.message, reading.usage) == ('model "x" not found', None)


def test_a_count_that_is_none() -> None:
    reading = meter_of(b'{"done":true,"prompt_eval_count":"many"}').reading()
    assert (reading.usage, reading.note) == (None, "prompt_eval_count is not a count")


def test_compatible_servers_may_speak_in_events() -> None:
    meter = meter_of(b'data: {"prompt_eval_count":1,"eval_count":2}\n\ndata: [DONE]\n\n')
    assert (meter.reading().usage, meter.reading().terminal) == (Usage(input_tokens=1, output_tokens=2), True)
    begun = meter_of(b'data: {"prompt_eval_count":1,"eval_count":2}')
    assert begun.reading().usage == Usage(input_tokens=1, output_tokens=2)


def test_a_whole_body_is_an_object_like_any_other() -> None:
    state = OllamaState()
    state.body({"model": "m", "prompt_eval_count": 1, "done": True})
    assert state.reading().usage == Usage(input_tokens=1)


@pytest.mark.parametrize(
    ("members", "path", "wanted"),
    [
        ({"model": "m"}, "/api/chat", {"model": "m", "streaming": True, "hidden": ()}),
        ({"model": "m", "stream": False}, "/api/generate", {"streaming": False, "hidden": (Hidden.NON_STREAMING,)}),
        ({"stream": None}, "/api/chat", {"streaming": True}),
        ({"options": {"num_predict": 9}}, "/api/chat", {"max_output_tokens": 9}),
        ({"options": {"num_predict": -1}}, "/api/chat", {"max_output_tokens": None}),
        ({"model": "m", "input": "x"}, "/api/embed", {"streaming": False, "max_output_tokens": 0}),
        ({"model": "m", "prompt": "x"}, "/api/embeddings/", {"streaming": False, "max_output_tokens": 0}),
    ],
)
def test_requests(members: dict[str, object], path: str, wanted: dict[str, object]) -> None:
    facts = asked(members, path)
    assert {name: getattr(facts, name) for name in wanted} == wanted


def test_what_cannot_be_read() -> None:
    assert OLLAMA.read_request(b"x").hidden == (Hidden.UNREADABLE,)
    assert OLLAMA.meter("application/zip", streaming=False).reading().note is not None
    twice = OLLAMA.read_request(b'{"model":"a","model":"b"}')
    assert twice.ambiguous is not None


def test_the_refusal_is_a_text() -> None:
    refused = OLLAMA.refusal(Refusal(reason=Reason.MAX_TOKENS, message="no", docket_number="d"))
    assert refused.status == 400
    assert json.loads(refused.body)["error"] == "no"
