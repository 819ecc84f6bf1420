"""A scripted turn in the shapes of OpenAI's Responses API, as JSON and as server-sent events.

Rules, from the provider's API reference (Responses, Streaming events):
1. Every event has its `type` as name and a `sequence_number` that counts from 0.
2. Usage stands in `response.completed` or `response.incomplete` alone; `response.created` has null there.
3. Cached and reasoning tokens are parts of the totals.
"""

from __future__ import annotations

from collections.abc import Iterator

from docket.demo.answer import (
    CREATED,
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
from docket.demo.script import Failure, ToolCall, Turn
from docket.formats.canonical import JsonObject, JsonValue


def answer(turn: Turn, asked: Asked) -> Answer:
    """Return the response to a Responses call."""
    if turn.failure is not None and not (turn.failure.in_band and asked.streaming):
        return _refused(turn.failure)
    if asked.streaming:
        return stream_answer(_numbered(_events(turn, asked)))
    return json_answer(200, _response(turn, asked, _status(turn), _items(turn, whole_text(turn))), turn.filler)


def messages(turn: Turn, asked: Asked) -> Iterator[bytes]:
    """Yield the messages of a WebSocket that answer a `response.create`."""
    if turn.failure is not None and not turn.failure.in_band:
        kind = "invalid_request_error" if turn.failure.status < 500 else "server_error"
        error: JsonValue = {"type": kind, "code": turn.failure.code, "message": turn.failure.message, "param": None}
        refusal: dict[str, JsonValue] = {"type": "error", "status": turn.failure.status, "error": error}
        yield compact(refusal | _lane(asked)).encode()
        return
    for number, item in enumerate(_events(turn, asked)):
        message: dict[str, JsonValue] = {"type": item["type"], "sequence_number": number} | dict(item)
        yield compact(message | _lane(asked)).encode()


def _lane(asked: Asked) -> dict[str, JsonValue]:
    return {} if asked.stream_id is None else {"stream_id": asked.stream_id}


def _refused(failure: Failure) -> Answer:
    kind = "invalid_request_error" if failure.status < 500 else "server_error"
    error: JsonValue = {"message": failure.message, "type": kind, "param": None, "code": failure.code}
    return json_answer(failure.status, {"error": error})


def _numbered(events: Iterator[JsonObject]) -> Iterator[bytes]:
    for number, item in enumerate(events):
        yield event(str(item["type"]), {"type": item["type"], "sequence_number": number} | dict(item))


def _events(turn: Turn, asked: Asked) -> Iterator[JsonObject]:
    opened = _response(turn, asked, "in_progress", [])
    yield {"type": "response.created", "response": opened}
    yield {"type": "response.in_progress", "response": opened}
    if turn.failure is not None:
        error: JsonValue = {"code": turn.failure.code, "message": turn.failure.message}
        yield {"type": "response.failed", "response": opened | {"status": "failed", "error": error}}
        return
    items = _items(turn, turn.text)
    for index, item in enumerate(items):
        kind = item["type"]
        if kind == "message":
            yield from _message_events(index, item, turn)
        else:
            yield from _tool_events(index, item, turn)
    status = _status(turn)
    yield {"type": f"response.{status}", "response": _response(turn, asked, status, items)}


def _message_events(index: int, item: JsonObject, turn: Turn) -> Iterator[JsonObject]:
    place: dict[str, JsonValue] = {"item_id": item["id"], "output_index": index, "content_index": 0}
    started = dict(item) | {"status": "in_progress", "content": []}
    yield {"type": "response.output_item.added", "output_index": index, "item": started}
    yield {"type": "response.content_part.added"} | place | {"part": _text_part("")}
    for text in text_deltas(turn):
        yield {"type": "response.output_text.delta"} | place | {"delta": text, "logprobs": []}
    yield {"type": "response.output_text.done"} | place | {"text": turn.text, "logprobs": []}
    yield {"type": "response.content_part.done"} | place | {"part": _text_part(turn.text)}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _tool_events(index: int, item: JsonObject, turn: Turn) -> Iterator[JsonObject]:
    free_form = item["type"] == "custom_tool_call"
    member = "input" if free_form else "arguments"
    stem = "response.custom_tool_call_input" if free_form else "response.function_call_arguments"
    place: dict[str, JsonValue] = {"item_id": item["id"], "output_index": index}
    started = dict(item) | {"status": "in_progress", member: ""}
    yield {"type": "response.output_item.added", "output_index": index, "item": started}
    for text in argument_deltas(str(item[member]), turn):
        yield {"type": f"{stem}.delta"} | place | {"delta": text}
    yield {"type": f"{stem}.done"} | place | {member: item[member]}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _items(turn: Turn, text: str) -> list[JsonObject]:
    items: list[JsonObject] = []
    if turn.text or turn.filler:
        items.append(
            {
                "id": f"msg_{NUMBER}",
                "type": "message",
                "status": "completed",
                "role": "assistant",
                "content": [_text_part(text)],
            }
        )
    return items + [_tool_item(call, position) for position, call in enumerate(turn.tool_calls)]


def _tool_item(call: ToolCall, position: int) -> JsonObject:
    item: dict[str, JsonValue] = {
        "id": f"fc_{NUMBER}{position:02d}",
        "type": "function_call",
        "status": "completed",
        "call_id": f"call_{NUMBER}{position:02d}",
        "name": call.name,
    }
    if call.text is not None:
        return item | {"type": "custom_tool_call", "id": f"ctc_{NUMBER}{position:02d}", "input": call.text}
    return item | {"arguments": compact(call.arguments)}


def _text_part(text: str) -> JsonValue:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _status(turn: Turn) -> str:
    return "incomplete" if turn.truncated else "completed"


def _response(turn: Turn, asked: Asked, status: str, items: list[JsonObject]) -> dict[str, JsonValue]:
    ended = status != "in_progress"
    return {
        "id": f"resp_{NUMBER}",
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "instructions": None,
        "max_output_tokens": None,
        "metadata": {},
        "model": served_model(turn, asked),
        "output": items,
        "parallel_tool_calls": True,
        "previous_response_id": asked.previous,
        "reasoning": {"effort": None, "summary": None},
        "service_tier": turn.service_tier or "default",
        "store": False,
        "temperature": 1,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1,
        "truncation": "disabled",
        "usage": _usage(turn) if ended else None,
        "user": None,
    }


def _usage(turn: Turn) -> JsonValue:
    tokens = turn.tokens
    if tokens is None:
        return None
    usage: dict[str, JsonValue] = {
        "input_tokens": tokens.input,
        "input_tokens_details": {
            "cached_tokens": tokens.cache_read,
            "cache_write_tokens": tokens.cache_write_5m + tokens.cache_write_1h,
        },
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": tokens.input + tokens.output,
    }
    return usage | dict(turn.extra_usage)
