"""A scripted turn in the shapes of Anthropic's Messages API, as JSON and as server-sent events.

Rules, from the provider's API reference (Messages, Streaming messages, Errors):
1. The input side of usage stands in `message_start`, with the split of cache writes by lifetime, which
   `message_delta` does not repeat; `message_delta` carries the cumulative counts.
2. A stream ends with `message_stop`; an error in a stream is an `error` event.
"""

from __future__ import annotations

from collections.abc import Iterator

from docket.demo.answer import (
    NUMBER,
    Answer,
    argument_deltas,
    compact,
    event,
    json_answer,
    served_model,
    stream_answer,
    text_deltas,
    whole_text,
)
from docket.demo.asked import Asked
from docket.demo.script import Failure, Tokens, ToolCall, Turn
from docket.formats.canonical import JsonValue


def answer(turn: Turn, asked: Asked) -> Answer:
    """Return the response to a Messages call."""
    if turn.failure is not None and not (turn.failure.in_band and asked.streaming):
        return _refused(turn.failure)
    if asked.streaming:
        return stream_answer(_events(turn, asked))
    content = [_text_block(whole_text(turn))] if turn.text or turn.filler else []
    content += [_tool_block(call, index, call.arguments) for index, call in enumerate(turn.tool_calls)]
    message = _message(turn, asked, content)
    message |= {"stop_reason": _stop_reason(turn), "usage": _usage(turn, turn.tokens)}
    return json_answer(200, message, turn.filler)


def _refused(failure: Failure) -> Answer:
    return json_answer(failure.status, _error(failure))


def _error(failure: Failure) -> dict[str, JsonValue]:
    error: JsonValue = {"type": failure.code, "message": failure.message}
    return {"type": "error", "error": error, "request_id": f"req_{NUMBER}"}


def _message(turn: Turn, asked: Asked, content: list[JsonValue]) -> dict[str, JsonValue]:
    return {
        "id": f"msg_{NUMBER}",
        "type": "message",
        "role": "assistant",
        "model": served_model(turn, asked),
        "content": content,
        "stop_reason": None,
        "stop_sequence": None,
    }


def _events(turn: Turn, asked: Asked) -> Iterator[bytes]:
    if turn.failure is not None:
        yield event("error", _error(turn.failure))
        return
    started = _message(turn, asked, [])
    started["usage"] = _usage(turn, _opening(turn.tokens))
    yield event("message_start", {"type": "message_start", "message": started})
    yield event("ping", {"type": "ping"})
    index = 0
    if turn.text or turn.filler:
        deltas: Iterator[JsonValue] = ({"type": "text_delta", "text": text} for text in text_deltas(turn))
        yield from _block(index, _text_block(""), deltas)
        index += 1
    for position, call in enumerate(turn.tool_calls):
        arguments = argument_deltas(compact(call.arguments), turn)
        deltas = ({"type": "input_json_delta", "partial_json": text} for text in arguments)
        yield from _block(index + position, _tool_block(call, position, {}), deltas)
    ended: dict[str, JsonValue] = {
        "type": "message_delta",
        "delta": {"stop_reason": _stop_reason(turn), "stop_sequence": None},
        "usage": _closing(turn),
    }
    yield event("message_delta", ended)
    yield event("message_stop", {"type": "message_stop"})


def _block(index: int, block: JsonValue, deltas: Iterator[JsonValue]) -> Iterator[bytes]:
    yield event("content_block_start", {"type": "content_block_start", "index": index, "content_block": block})
    for delta in deltas:
        yield event("content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta})
    yield event("content_block_stop", {"type": "content_block_stop", "index": index})


def _text_block(text: str) -> JsonValue:
    return {"type": "text", "text": text}


def _tool_block(call: ToolCall, position: int, arguments: JsonValue) -> JsonValue:
    return {"type": "tool_use", "id": f"toolu_{NUMBER}{position:02d}", "name": call.name, "input": arguments}


def _stop_reason(turn: Turn) -> str:
    if turn.truncated:
        return "max_tokens"
    return "tool_use" if turn.tool_calls else "end_turn"


def _opening(tokens: Tokens | None) -> Tokens | None:
    """The counts known when a stream opens: the whole input, and a first token of output."""
    if tokens is None:
        return None
    return Tokens(
        fresh=tokens.fresh,
        cache_read=tokens.cache_read,
        cache_write_5m=tokens.cache_write_5m,
        cache_write_1h=tokens.cache_write_1h,
        output=min(tokens.output, 1),
    )


def _usage(turn: Turn, tokens: Tokens | None) -> dict[str, JsonValue]:
    if tokens is None:
        return {}
    usage = _totals(tokens)
    usage["cache_creation"] = {
        "ephemeral_5m_input_tokens": tokens.cache_write_5m,
        "ephemeral_1h_input_tokens": tokens.cache_write_1h,
    }
    usage["service_tier"] = turn.service_tier or "standard"
    return usage | dict(turn.extra_usage)


def _closing(turn: Turn) -> dict[str, JsonValue]:
    return {} if turn.tokens is None else _totals(turn.tokens)


def _totals(tokens: Tokens) -> dict[str, JsonValue]:
    usage: dict[str, JsonValue] = {
        "input_tokens": tokens.fresh,
        "cache_creation_input_tokens": tokens.cache_write_5m + tokens.cache_write_1h,
        "cache_read_input_tokens": tokens.cache_read,
        "output_tokens": tokens.output,
    }
    if tokens.reasoning:
        usage["output_tokens_details"] = {"thinking_tokens": tokens.reasoning}
    return usage
