"""What an upstream says on a socket, message by message, read from a copy of its frames.

Rules:
1. A message is one JSON event. It is read whole up to `MAX_KEPT_BYTES`; of a longer one the call it belongs to is told
   from its beginning, and the rest is read as it passes.
2. The call's meter gets each message as the event of a stream that it would be over HTTP; the call's digest is over
   the messages' own bytes, one after another, without anything between them.
3. A message that is nobody's passes unread.
"""

from __future__ import annotations

from docket.formats.dataclass import dataclass
from docket.rules.boundary.http1 import UNTIL_CLOSE, Headers, ResponseHead
from docket.rules.boundary.lanes import Flight, Lanes
from docket.rules.providers.counts import count
from docket.rules.providers.json_scan import JsonMap, MemberScan, loads_lenient
from docket.rules.spending.scope import Crossing

MAX_KEPT_BYTES = 1024 * 1024
_ROUTE = (("type",), ("stream_id",), ("response_id",), ("status",), ("response", "id"))
_ENDS = frozenset(("response.completed", "response.incomplete", "response.failed", "response.cancelled", "error"))
_BREAKS = bytes.maketrans(b"\r\n", b"  ")
_STREAM = ((b"content-type", b"text/event-stream"),)


@dataclass(frozen=True, slots=True)
class Heard:
    """What a piece of a message led to: the call it belongs to, whether it ended that call, and a cap it crossed."""

    flight: Flight | None = None
    ended: bool = False
    crossing: Crossing | None = None


class Hearing:
    """Reads the upstream's messages for the calls in `lanes`; `headers` are those of the answer to the handshake."""

    def __init__(self, lanes: Lanes, headers: Headers) -> None:
        self._lanes = lanes
        self._headers = tuple(field for field in headers if not field[0].lower().startswith(b"content-"))
        self._kept = bytearray()
        self._flight: Flight | None = None
        self._message: JsonMap = {}
        self._streaming = False

    def take(self, payload: bytes, now_ns: int, *, ends: bool) -> Heard:
        """Take the next bytes of a message; `ends`: they are its last ones."""
        if self._streaming:
            return self._go_on(payload, now_ns, ends=ends)
        self._kept += payload
        if not ends and len(self._kept) <= MAX_KEPT_BYTES:
            return Heard()
        whole, self._kept = bytes(self._kept), bytearray()
        self._message = _read(whole) if len(whole) <= MAX_KEPT_BYTES else _scanned(whole)
        self._flight = self._lanes.of(self._message)
        self._streaming = not ends
        if self._flight is None:
            return Heard()
        self._open(self._flight)
        crossing = self._flight.reply.hear(_framed(whole, begins=True, ends=ends), whole, now_ns)
        return Heard(self._flight, ends and self._ends(), crossing)

    def _go_on(self, payload: bytes, now_ns: int, *, ends: bool) -> Heard:
        self._streaming = not ends
        flight = self._flight
        if flight is None:
            return Heard()
        crossing = flight.reply.hear(_framed(payload, begins=False, ends=ends), payload, now_ns)
        return Heard(flight, ends and self._ends(), crossing)

    def _ends(self) -> bool:
        return self._message.get("type") in _ENDS

    def _open(self, flight: Flight) -> None:
        """Give a call its head: the status is that of the error that comes in place of a response, else 200."""
        if flight.reply.started:
            return
        status = (count(self._message.get("status")) or 0) if self._message.get("type") == "error" else 200
        head = ResponseHead(status=status if 400 <= status < 600 else 200, headers=(*self._headers, *_STREAM))
        flight.reply.begin(head, UNTIL_CLOSE)


def _read(message: bytes) -> JsonMap:
    value = loads_lenient(message)
    return value if isinstance(value, dict) else {}


def _scanned(message: bytes) -> JsonMap:
    scan = MemberScan(_ROUTE)
    scan.feed(message)
    return scan.result()


def _framed(message: bytes, *, begins: bool, ends: bool) -> bytes:
    """Return bytes of a message as they would stand in a stream; line breaks mean nothing in JSON but a blank."""
    return (b"data: " if begins else b"") + message.translate(_BREAKS) + (b"\n\n" if ends else b"")
