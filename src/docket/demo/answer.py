"""An answer on its way to bytes: the pieces of a body and how its parts are made.

Rules:
1. A body is an iterable of pieces; a stream's piece is one server-sent event, a JSON body is cut only at filler.
2. The mark `NUMBER` in a piece stands for the call's number, so that one rendering serves many calls and every
   call still has identifiers of its own. It has as many bytes as the number that replaces it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from docket.demo.asked import Asked
from docket.demo.script import Filler, Turn
from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass

NUMBER = "%CALL-NO%"
NUMBER_DIGITS = len(NUMBER)
CREATED = 1_798_000_000
_FILLER_MARK = "%FILLER-HERE%"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A response: `pieces` may be iterated once; `body_bytes` is None where the body is a stream."""

    status: int
    content_type: str
    pieces: Iterable[bytes]
    body_bytes: int | None
    headers: tuple[tuple[str, str], ...] = ()


def compact(value: JsonValue) -> str:
    """Return JSON as providers write it on the wire; half a surrogate pair stays the escape it came as."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


def json_answer(status: int, value: JsonValue, filler: Filler | None = None) -> Answer:
    """Return a JSON response; the filler stands where `filler_mark()` is in a text of `value`."""
    body = compact(value).encode()
    if filler is None:
        return Answer(status=status, content_type="application/json", pieces=(body,), body_bytes=len(body))
    before, _, after = body.partition(_FILLER_MARK.encode())
    total = len(before) + filler.total_bytes + len(after)
    return Answer(
        status=status, content_type="application/json", pieces=_around(before, filler, after), body_bytes=total
    )


def stream_answer(pieces: Iterable[bytes]) -> Answer:
    """Return a stream of server-sent events."""
    return Answer(status=200, content_type="text/event-stream; charset=utf-8", pieces=pieces, body_bytes=None)


def whole_text(turn: Turn) -> str:
    """Return the turn's text, followed by the place of its filler."""
    return turn.text if turn.filler is None else turn.text + _FILLER_MARK


def text_deltas(turn: Turn) -> Iterator[str]:
    """Yield the turn's text in deltas, then its filler."""
    size = max(turn.pace.text_chars, 1)
    for start in range(0, len(turn.text), size):
        yield turn.text[start : start + size]
    if turn.filler is not None:
        for piece in _fill(turn.filler):
            yield piece.decode()


def argument_deltas(text: str, turn: Turn) -> Iterator[str]:
    """Yield a tool call's arguments in deltas."""
    size = max(turn.pace.text_chars, 1)
    for start in range(0, len(text), size):
        yield text[start : start + size]


def served_model(turn: Turn, asked: Asked) -> str:
    """Return the model the reply names."""
    return turn.model if turn.model is not None else asked.model


def event(name: str, data: JsonValue) -> bytes:
    """Return a named server-sent event."""
    return f"event: {name}\ndata: {compact(data)}\n\n".encode()


def data_event(data: JsonValue) -> bytes:
    """Return a server-sent event without a name."""
    return f"data: {compact(data)}\n\n".encode()


def _fill(filler: Filler) -> Iterator[bytes]:
    left = filler.total_bytes
    piece = b"f" * max(filler.delta_bytes, 1)
    while left > 0:
        yield piece[:left]
        left -= len(piece)


def _around(before: bytes, filler: Filler, after: bytes) -> Iterator[bytes]:
    yield before
    yield from _fill(filler)
    yield after
