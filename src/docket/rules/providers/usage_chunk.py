"""Asking a Chat stream for its usage on an agent's behalf, and taking the answer out again.

Rules:
1. The request is edited as text: one member is added after the first brace, every other byte stays.
2. It is edited only where it streams and says nothing of `stream_options`; anything else is the agent's choice.
3. The filter removes exactly the chunk that is there because of it: `choices` is empty and `usage` an object.
   Every other byte passes unchanged and in order; an event is held back until its blank line, or until it is too
   long to be that chunk.

Whether an agent tolerates it is the recipe's to say; the reply must be asked for without a content coding.
"""

from __future__ import annotations

import re

from docket.rules.providers.json_scan import as_items, loads_lenient
from docket.rules.providers.request import flag, parse_request
from docket.rules.providers.sse import EventStream

ALTERATION = "stream_options.include_usage"
_MEMBER = b'"stream_options":{"include_usage":true},'
_MAX_CHUNK_BYTES = 64 * 1024
_LINE_END = re.compile(rb"\r\n|\n|\r")


def inject_usage(body: bytes) -> bytes | None:
    """Return the body that asks for the usage chunk, None where it must stay as it is."""
    request = parse_request(body)
    if request is None or not flag(request.members.get("stream")) or "stream_options" in request.members:
        return None
    brace = body.index(b"{") + 1
    return body[:brace] + _MEMBER + body[brace:]


class UsageChunkFilter:
    """Takes the extra chunk out of a stream; `feed` returns what goes on to the agent, `finish` the rest."""

    __slots__ = ("_held", "_line_has_bytes", "_long", "_pending_lf")

    def __init__(self) -> None:
        self._held = bytearray()
        self._line_has_bytes = False
        self._long = False
        self._pending_lf: bool | None = None

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes of the stream."""
        out = bytearray()
        at = self._resume(data, out)
        for ending in _LINE_END.finditer(data, at):
            self._line_has_bytes = self._line_has_bytes or ending.start() > at
            self._held += data[at : ending.end()]
            at = ending.end()
            blank = not self._line_has_bytes
            kept = self._end_event(out) if blank else None
            if ending.group() == b"\r" and at == len(data):
                self._pending_lf = kept if blank else True
            self._line_has_bytes = False
        if at < len(data):
            self._line_has_bytes = True
            self._held += data[at:]
        self._release_long(out)
        return bytes(out)

    def finish(self) -> bytes:
        """Return what is still held when the stream ends."""
        out = bytearray()
        self._end_event(out)
        return bytes(out)

    def _resume(self, data: bytes, out: bytearray) -> int:
        """Give a line feed that completes a CR LF cut in two the fate of its carriage return."""
        if self._pending_lf is None or not data:
            return 0
        kept, self._pending_lf = self._pending_lf, None
        if not data.startswith(b"\n"):
            return 0
        if self._held:
            self._held += b"\n"
        elif kept:
            out += b"\n"
        return 1

    def _end_event(self, out: bytearray) -> bool:
        event = bytes(self._held)
        self._held.clear()
        drop = not self._long and _is_usage_chunk(event)
        self._long = False
        if not drop:
            out += event
        return not drop

    def _release_long(self, out: bytearray) -> None:
        if self._long or len(self._held) > _MAX_CHUNK_BYTES:
            self._long = True
            out += self._held
            self._held.clear()


def _is_usage_chunk(event: bytes) -> bool:
    if b'"usage"' not in event:
        return False
    stream = EventStream()
    datas = [*stream.feed(event), stream.pending()]
    values = [loads_lenient(data) for data in datas if isinstance(data, bytes)]
    return len(values) == 1 and _is_extra(values[0])


def _is_extra(value: object) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("choices"), list)
        and not as_items(value["choices"])
        and isinstance(value.get("usage"), dict)
    )
