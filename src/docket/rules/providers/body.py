"""The meter of one reply: server-sent events, one JSON value or a stream of them, told apart by the first byte.

Rules:
1. An upstream's content type is not believed where the body contradicts it: an error may come as JSON under
   `text/event-stream`, a stream under `application/json`.
2. A JSON body is kept up to 1 MiB; a longer one is read member by member as it passes. A format whose streams are
   JSON values (an array in pieces, one value a line) says with which byte such a stream begins.
3. What was sent but not ended (no blank line, no newline, no closing bracket) is read as far as it goes.
4. What is whole and cannot be parsed at once, for its depth or for a number without end, is read member by member.

What the events mean is a `ReplyState` of the wire format.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, Self, TypeVar

from docket.formats.dataclass import replace
from docket.rules.providers.interface import Reading
from docket.rules.providers.json_scan import JsonMap, MemberScan, loads_lenient
from docket.rules.providers.json_values import JsonValues
from docket.rules.providers.sse import EventStream

Paths = tuple[tuple[str, ...], ...]
_State = TypeVar("_State")

MAX_JSON_BYTES = 1024 * 1024
_BEFORE_FIRST = b"\xef\xbb\xbf \t\r\n"
_DONE = b"[DONE]"
_OPAQUE_TYPES = ("image/", "audio/", "video/", "font/", "application/octet-stream", "application/zip")


class ReplyState(Protocol):
    """What a wire format has understood so far."""

    @property
    def visible_output_bytes(self) -> int:
        """UTF-8 bytes of model output seen so far."""
        ...

    def event(self, event: JsonMap) -> None:
        """Take one event of a stream."""
        ...

    def done(self) -> None:
        """Take the `[DONE]` mark."""
        ...

    def body(self, body: JsonMap) -> None:
        """Take a whole JSON reply."""
        ...

    def reading(self) -> Reading:
        """Return what has been understood."""
        ...

    def copy(self) -> Self:
        """Return an independent copy."""
        ...


def copied(state: _State, *apart: str) -> _State:
    """Return a copy of an object of slots whose class needs no arguments; the members `apart` are copied themselves."""
    other = type(state)()
    for kind in type(state).__mro__:
        for name in getattr(kind, "__slots__", ()):
            value = getattr(state, name)
            setattr(other, name, value.copy() if name in apart else value)
    return other


class _Taken(NamedTuple):
    """Whether something was an event, and whether all of it could be read."""

    met: bool
    whole: bool


_WHOLE, _IN_PART = _Taken(met=True, whole=True), _Taken(met=True, whole=False)


class BodyMeter:
    """A meter over a wire format's state.

    `events` and `body` are the members to keep of an event, of a body, too long to hold; `values` the bytes with
    which a stream of JSON values begins (`[`, `{`), whose objects are taken as events.
    """

    __slots__ = (
        "_answer", "_bytes", "_event_members", "_events", "_held", "_met", "_probe", "_probed_bytes", "_scan", "_state",
        "_stream", "_unread", "_values", "_wanted",
    )  # fmt: skip

    def __init__(self, state: ReplyState, *, events: Paths, body: Paths = (), values: bytes = b"") -> None:
        self._state = state
        self._event_members = events
        self._values = values
        self._events: EventStream | JsonValues | None = None
        self._wanted = body
        self._stream: bool | None = None
        self._held = bytearray()
        self._scan: MemberScan | None = None
        self._bytes = 0
        self._met = self._unread = False
        self._probe: MemberScan | None = None
        self._probed_bytes = 0
        self._answer: Reading | None = None

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the body."""
        if self._stream is None:
            data = data.lstrip(_BEFORE_FIRST)
            if not data:
                return
            self._stream = data[:1] not in b"{[" or data[:1] in self._values
            if self._stream:
                cutter = JsonValues if data[:1] in self._values else EventStream
                self._events = cutter(self._event_members)
        self._answer = None
        self._bytes += len(data)
        if self._events is not None:
            for event in self._events.feed(data):
                taken = self._take(self._state, event)
                self._met, self._unread = self._met or taken.met, not taken.whole
        elif self._scan is not None:
            self._scan.feed(data)
        else:
            self._held += data
            if len(self._held) > MAX_JSON_BYTES:
                self._scan = MemberScan(self._wanted)
                self._scan.feed(bytes(self._held))
                self._held.clear()

    @property
    def visible_output_bytes(self) -> int:
        """Bytes of model output seen; of a JSON body that cannot be read to its end, all its bytes."""
        if self._stream is not False:
            return self._state.visible_output_bytes
        if self._scan is not None or bytes(self._held[-64:]).rstrip()[-1:] not in (b"}", b"]"):
            return self._bytes
        value = _answer_in(self._value())
        return self._bytes if value is None else self._read_body(value).visible_output_bytes

    def reading(self) -> Reading:
        """Return what has been read so far."""
        if self._answer is None:
            self._answer = self._read()
        return self._answer

    def _read(self) -> Reading:
        if self._stream is not False:
            return self._read_events()
        if self._scan is not None:
            reading, ended = self._read_body(self._scan.result()).reading(), self._scan.ended
            return reading if ended else replace(reading, terminal=False, broken_off=True)
        value = self._value()
        if value is None:
            return Reading(broken_off=True)
        whole = _answer_in(value)
        return Reading() if whole is None else self._read_body(whole).reading()

    def _read_events(self) -> Reading:
        pending = None if self._events is None else self._events.pending()
        state, met = self._state, self._met
        if pending is not None:
            state = state.copy()
            met = self._take(state, pending).met or met
        reading = state.reading()
        # A last event of which not everything could be read may have been the one that ends the reply.
        unknown = self._unread and pending is None
        return replace(reading, broken_off=True) if met and not (reading.terminal or unknown) else reading

    def _value(self) -> object | None:
        """Return the body's JSON value, None while it has not ended.

        Whoever asks again and again while the body comes has it parsed once before its end, and once after it.
        """
        if self._probe is None:
            value = loads_lenient(bytes(self._held))
            if value is not None:
                return value
            self._probe = MemberScan(self._wanted)
        if self._probe.ended:
            return self._ended_value(self._probe)
        self._probe.feed(bytes(self._held[self._probed_bytes :]))
        self._probed_bytes = len(self._held)
        return self._ended_value(self._probe) if self._probe.ended else None

    def _ended_value(self, probe: MemberScan) -> object:
        value = loads_lenient(bytes(self._held))
        # A value of which nothing can be said is one all the same.
        return probe.result() or [] if value is None else value

    def _take(self, state: ReplyState, event: bytes | MemberScan) -> _Taken:
        """Hand an event to the state."""
        if isinstance(event, MemberScan):
            state.event(event.result())
            return _IN_PART
        if event.strip() == _DONE:
            state.done()
            return _WHOLE
        value, taken = loads_lenient(event), _WHOLE
        if value is None:
            value, taken = _scanned(event, self._event_members), _IN_PART
        if not isinstance(value, dict):
            return _Taken(met=False, whole=value is not None)
        state.event(value)
        return taken

    def _read_body(self, value: JsonMap) -> ReplyState:
        state = self._state.copy()
        state.body(value)
        return state


def _answer_in(value: object) -> JsonMap | None:
    if isinstance(value, list) and value:
        value = value[-1]
    return value if isinstance(value, dict) else None


def _scanned(data: bytes, members: Paths) -> JsonMap | None:
    """Return these members of a whole object, None where it is not whole or none."""
    scan = MemberScan(members)
    if data.lstrip(_BEFORE_FIRST).startswith(b"{"):
        scan.feed(data)
    return scan.result() if scan.ended else None


class OpaqueMeter:
    """The meter of a body that is no text: it counts bytes and reads nothing."""

    __slots__ = ("_bytes",)

    def __init__(self) -> None:
        self._bytes = 0

    def feed(self, data: bytes) -> None:
        """Count the bytes."""
        self._bytes += len(data)

    @property
    def visible_output_bytes(self) -> int:
        """All bytes of the body."""
        return self._bytes

    def reading(self) -> Reading:
        """Return that nothing can be read."""
        return Reading(note="the reply is not text; its usage cannot be read")


def is_opaque(content_type: str) -> bool:
    """Whether a content type announces a body that carries no JSON and no events."""
    return content_type.strip().lower().startswith(_OPAQUE_TYPES)
