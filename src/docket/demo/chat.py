"""A scripted turn in the shapes of OpenAI's Chat Completions API, as JSON and as server-sent events.

Rules, from the provider's API reference (Chat, Streaming):
1. A stream reports usage only where `stream_options.include_usage` asked for it: every chunk then has
   `usage: null`, and one more chunk without choices carries the counts before `data: [DONE]`.
2. Cached and reasoning tokens are parts of the totals.
"""

from __future__ import annotations

from collections.abc import Iterator

from docket.demo.answer import (
    CREATED,
    NUMBER,
    Answer,
    argument_deltas,
    compact,
    data_event,
    json_answer,
    served_model,
    stream_answer,
    text_deltas,
    whole_text,
)
from docket.demo.asked import Asked
from docket.demo.script import Failure, ToolCall, Turn
from docket.formats.canonical import JsonValue

DONE = b"data: [DONE]\n\n"


def answer(turn: Turn, asked: Asked) -> Answer:
    """Return the response to a Chat Completions call."""
    if turn.failure is not None and not (turn.failure.in_band and asked.streaming):
        return _refused(turn.failure)
    if asked.streaming:
        return stream_answer(_events(turn, asked))
    message: dict[str, JsonValue] = {"role": "assistant", "content": whole_text(turn) or None, "refusal": None}
    if turn.tool_calls:
        message["tool_calls"] = [_tool_call(call, i, compact(call.arguments)) for i, call in enumerate(turn.tool_calls)]
    choice: JsonValue = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(turn)}
    completion = _head(turn, asked, "chat.completion") | {"choices": [choice]}
    if turn.tokens is not None:
        completion["usage"] = _usage(turn)
    return json_answer(200, completion, turn.filler)


def _refused(failure: Failure) -> Answer:
    return json_answer(failure.status, _error(failure))


def _error(failure: Failure) -> dict[str, JsonValue]:
    kind = "invalid_request_error" if failure.status < 500 else "server_error"
    return {"error": {"message": failure.message, "type": kind, "param": None, "code": failure.code}}


def _head(turn: Turn, asked: Asked, kind: str) -> dict[str, JsonValue]:
    head: dict[str, JsonValue] = {
        "id": f"chatcmpl-{NUMBER}",
        "object": kind,
        "created": CREATED,
        "model": served_model(turn, asked),
    }
    if turn.service_tier is not None:
        head["service_tier"] = turn.service_tier
    return head | {"system_fingerprint": "fp_scripted"}


def _events(turn: Turn, asked: Asked) -> Iterator[bytes]:
    if turn.failure is not None:
        yield data_event(_error(turn.failure))
        return
    head = _head(turn, asked, "chat.completion.chunk")
    tail: dict[str, JsonValue] = {"usage": None} if asked.include_usage else {}
    for delta in _deltas(turn):
        yield data_event(head | {"choices": [_choice(delta, None)]} | tail)
    yield data_event(head | {"choices": [_choice({}, _finish_reason(turn))]} | tail)
    if asked.include_usage and turn.tokens is not None:
        yield data_event(head | {"choices": [], "usage": _usage(turn)})
    yield DONE


def _deltas(turn: Turn) -> Iterator[JsonValue]:
    opening: dict[str, JsonValue] = {"role": "assistant", "content": None if turn.tool_calls else "", "refusal": None}
    yield opening
    for text in text_deltas(turn):
        yield {"content": text}
    for index, call in enumerate(turn.tool_calls):
        yield {"tool_calls": [{"index": index} | _tool_call(call, index, "")]}
        for text in argument_deltas(compact(call.arguments), turn):
            yield {"tool_calls": [{"index": index, "function": {"arguments": text}}]}


def _choice(delta: JsonValue, finish_reason: str | None) -> JsonValue:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _tool_call(call: ToolCall, position: int, arguments: str) -> dict[str, JsonValue]:
    function: JsonValue = {"name": call.name, "arguments": arguments}
    return {"id": f"call_{NUMBER}{position:02d}", "type": "function", "function": function}


def _finish_reason(turn: Turn) -> str:
    if turn.truncated:
        return "length"
    return "tool_calls" if turn.tool_calls else "stop"


def _usage(turn: Turn) -> dict[str, JsonValue]:
    tokens = turn.tokens
    if tokens is None:
        return {}
    usage: dict[str, JsonValue] = {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
        "prompt_tokens_details": {
            "cached_tokens": tokens.cache_read,
            "cache_write_tokens": tokens.cache_write_5m + tokens.cache_write_1h,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": tokens.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
    return usage | dict(turn.extra_usage)
