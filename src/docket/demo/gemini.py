"""A scripted turn in the shapes of Google's Gemini API: as JSON, as server-sent events, as an array in pieces.

Rules, from the provider's API reference (models.generateContent, models.streamGenerateContent):
1. A stream is an array of whole responses, one a piece, or with `alt=sse` one an event; nothing marks its end but
   the last response's `finishReason`.
2. Every response carries the counts so far. Cached tokens are inside the prompt, thoughts beside the candidates.
3. Code Assist (`v1internal:`) puts each response into a member of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from docket.demo.answer import (
    NUMBER,
    Answer,
    compact,
    data_event,
    json_answer,
    served_model,
    stream_answer,
    text_deltas,
    whole_text,
)
from docket.demo.asked import Asked
from docket.demo.script import Failure, Turn
from docket.formats.canonical import JsonValue
from docket.formats.dataclass import replace

_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}


def answer(turn: Turn, asked: Asked) -> Answer:
    """Return the response to a call of generateContent or streamGenerateContent."""
    if turn.failure is not None and not (turn.failure.in_band and asked.streaming):
        return json_answer(turn.failure.status, _error(turn.failure))
    if not asked.streaming:
        parts = [{"text": whole_text(turn)}] if turn.text or turn.filler else []
        whole = _response(turn, asked, [*parts, *_calls(turn)], final=True)
        return json_answer(200, whole, turn.filler)
    responses = iter([_error(turn.failure)]) if turn.failure is not None else _responses(turn, asked)
    if not asked.as_array:
        return stream_answer(data_event(response) for response in responses)
    return replace(stream_answer(_array(responses)), content_type="application/json; charset=UTF-8")


def _error(failure: Failure) -> dict[str, JsonValue]:
    status = _STATUSES.get(failure.status, "INTERNAL")
    return {"error": {"code": failure.status, "message": failure.message, "status": status}}


def _responses(turn: Turn, asked: Asked) -> Iterator[JsonValue]:
    shown = 0
    for text in text_deltas(turn):
        shown += len(text)
        yield _response(turn, asked, [{"text": text}], shown=shown)
    yield _response(turn, asked, _calls(turn) or [{"text": ""}], final=True)


def _array(responses: Iterator[JsonValue]) -> Iterator[bytes]:
    opening = "["
    for response in responses:
        yield f"{opening}{compact(response)}".encode()
        opening = ",\r\n"
    yield b"]"


def _response(
    turn: Turn, asked: Asked, parts: list[JsonValue], *, final: bool = False, shown: int = 0
) -> dict[str, JsonValue]:
    candidate: dict[str, JsonValue] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if final:
        candidate["finishReason"] = "MAX_TOKENS" if turn.truncated else "STOP"
    response: dict[str, JsonValue] = {"candidates": [candidate]}
    if turn.tokens is not None:
        response["usageMetadata"] = _usage(turn, None if final else shown)
    response |= {"modelVersion": served_model(turn, asked), "responseId": f"resp-{NUMBER}"}
    return {"response": response, "traceId": f"trace-{NUMBER}"} if asked.wrapped else response


def _calls(turn: Turn) -> list[JsonValue]:
    return [{"functionCall": {"name": call.name, "args": dict(call.arguments)}} for call in turn.tool_calls]


def _usage(turn: Turn, shown: int | None) -> dict[str, JsonValue]:
    """Return the counts at the end, or after `shown` characters of the text."""
    tokens = turn.tokens
    if tokens is None:
        return {}
    candidates = tokens.output - tokens.reasoning
    if shown is not None:
        candidates = min(candidates, shown // 4)
    usage: dict[str, JsonValue] = {
        "promptTokenCount": tokens.input,
        "candidatesTokenCount": candidates,
        "totalTokenCount": tokens.input + candidates + tokens.reasoning,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": tokens.input}],
    }
    if tokens.cache_read:
        usage["cachedContentTokenCount"] = tokens.cache_read
    if tokens.reasoning:
        usage["thoughtsTokenCount"] = tokens.reasoning
    if turn.service_tier is not None:
        usage["serviceTier"] = turn.service_tier
    return usage | dict(turn.extra_usage)
