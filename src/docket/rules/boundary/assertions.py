"""What an agent may say of itself, and how much of it (spec/ledger.md, Asserted events).

Rules:
1. The list of types is closed: `tool.call`, `tool.result`, `note`, `x-docket.asserted-call`. Nothing that docket
   observes, an end, a cost, a cap, a call, can be said here.
2. Every member is checked for its type and its size, and one that is not known is refused. `reported_by` is docket's
   to write, and so is a note's `event`, by which other readers of the format take a remark for docket's own.
3. Events and bytes are bounded for the run and paced, so that what an agent says can neither fill the ledger nor
   crowd out what docket has to write; names that a receipt restates are bounded in number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonObject, decode_document, encode
from docket.formats.dataclass import dataclass, field
from docket.formats.ledger.asserted_events import AssertedCall, Reporter, ToolCall, ToolResult
from docket.formats.ledger.payload_codec import Payload, from_members
from docket.formats.ledger.session_events import Note
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy

MAX_EVENT_BYTES = 64 * 1024
MAX_EVENTS = 20_000
MAX_TOTAL_BYTES = 8 * 1024 * 1024
MAX_NAMES = 256
BURST = 200
EVENTS_PER_SECOND = 100

_NS = 1_000_000_000
_MAX_NAME, _MAX_TEXT, _MAX_DETAIL_BYTES = 128, 4096, 16 * 1024
_CODE = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_TYPES: Mapping[str, type[Payload]] = {cls.TYPE: cls for cls in (ToolCall, ToolResult, Note, AssertedCall)}

Assertion: TypeAlias = "ToolCall | ToolResult | Note | AssertedCall"


@dataclass(frozen=True, slots=True)
class Declined:
    """Why an assertion is not taken; `status` is the HTTP status that says so."""

    status: int
    reason: Reason
    detail: str


def read_assertion(body: bytes) -> Assertion | Declined:
    """Read `{"type": …, "data": {…}}` as a payload; Declined says what is wrong with it."""
    try:
        document = decode_document(body)
        if not isinstance(document, Mapping) or set(document) != {"type", "data"}:
            raise InvalidDocumentError(Reason.WRONG_VALUE, "an event is an object with the members type and data")
        type_, data = document["type"], document["data"]
        cls = _TYPES.get(type_) if isinstance(type_, str) else None
        if cls is None:
            return Declined(400, Reason.WRONG_VALUE, f"an agent may assert {', '.join(_TYPES)}, and nothing else")
        if not isinstance(data, Mapping):
            raise InvalidDocumentError(Reason.WRONG_TYPE, "data is not an object")
        if "reported_by" in data:
            raise InvalidDocumentError(Reason.UNKNOWN_MEMBER, "reported_by is docket's to write")
        payload = _checked(from_members(cls, {**data, "reported_by": str(Reporter.AGENT)}, str(type_)), data)
        payload.draft()  # what has no form in a ledger is refused here, and never fails the record
    except InvalidDocumentError as error:
        return Declined(400, Reason(error.reason), error.detail)
    return payload


def _checked(payload: Payload, data: JsonObject) -> Assertion:
    for name, value in data.items():
        if isinstance(value, int) and not isinstance(value, bool) and value < 0:
            raise _wrong(f"{name} is negative")
        if isinstance(value, str):
            _check_text(name, value)
    match payload:
        case Note():
            if payload.event is not None:
                raise InvalidDocumentError(Reason.UNKNOWN_MEMBER, "event is docket's to write")
            if not _CODE.fullmatch(payload.code):
                raise _wrong("code is of 1 to 64 of a-z, 0-9, dot, dash and underscore")
            if payload.detail is not None and len(encode(payload.detail)) > _MAX_DETAIL_BYTES:
                raise _wrong(f"detail is over {_MAX_DETAIL_BYTES} bytes")
            return payload
        case AssertedCall():
            if payload.cached_input_tokens > payload.input_tokens:
                raise _wrong("cached_input_tokens is a part of input_tokens")
            return payload
        case ToolCall() | ToolResult():
            if "window" in data or "window_id" in data:
                raise InvalidDocumentError(Reason.UNKNOWN_MEMBER, "what docket saw of a tool is docket's to write")
            return payload
        case _:  # pragma: no cover - the table above has no other
            raise _wrong("it is of no known type")


def _check_text(name: str, value: str) -> None:
    most = _MAX_TEXT if name in ("message", "error") else _MAX_NAME
    if len(value) > most:
        raise _wrong(f"{name} is over {most} characters")
    if name in ("name", "model", "provider", "id") and (not value or _CONTROL.search(value)):
        raise _wrong(f"{name} is empty or holds control characters")


def _wrong(detail: str) -> InvalidDocumentError:
    return InvalidDocumentError(Reason.WRONG_VALUE, detail)


@dataclass(slots=True, kw_only=True)
class AssertionDesk:
    """Admits assertions within what a run allows; it lives on the boundary's one thread."""

    max_events: int = MAX_EVENTS
    max_bytes: int = MAX_TOTAL_BYTES
    events: int = 0
    size_bytes: int = 0
    names: set[tuple[str, str]] = field(default_factory=set)
    _tokens: int = BURST * _NS
    _filled_ns: int | None = None

    @classmethod
    def under(cls, policy: Policy) -> AssertionDesk:
        """Return the desk of a run: no more than half of the events and a quarter of the bytes that it may record."""
        events, size = policy.resilience.max_events, policy.resilience.max_ledger_bytes
        return cls(
            max_events=MAX_EVENTS if events is None else min(MAX_EVENTS, events // 2),
            max_bytes=MAX_TOTAL_BYTES if size is None else min(MAX_TOTAL_BYTES, size // 4),
        )

    def admit(self, payload: Assertion, size_bytes: int, now_ns: int) -> Declined | None:
        """Take an assertion into account; Declined where it goes beyond what is allowed."""
        if self.events >= self.max_events or self.size_bytes + size_bytes > self.max_bytes:
            detail = f"the run has recorded {self.events} events of the agent's own, as many as it takes"
            return Declined(403, Reason.ASSERTION_LIMIT, detail)
        named = (payload.TYPE, payload.code) if isinstance(payload, Note) else (payload.TYPE, _name(payload))
        if named not in self.names and len(self.names) >= MAX_NAMES:
            return Declined(403, Reason.ASSERTION_LIMIT, f"the run has seen {MAX_NAMES} names, as many as it takes")
        if not self._spend(now_ns):
            return Declined(429, Reason.ASSERTION_LIMIT, f"no more than {EVENTS_PER_SECOND} events a second are taken")
        self.names.add(named)
        self.events += 1
        self.size_bytes += size_bytes
        return None

    def _spend(self, now_ns: int) -> bool:
        """Take one event out of a bucket that fills up by EVENTS_PER_SECOND, in billionths of an event."""
        if self._filled_ns is not None:
            self._tokens = min(BURST * _NS, self._tokens + (now_ns - self._filled_ns) * EVENTS_PER_SECOND)
        self._filled_ns = now_ns
        if self._tokens < _NS:
            return False
        self._tokens -= _NS
        return True


def _name(payload: ToolCall | ToolResult | AssertedCall) -> str:
    return payload.model if isinstance(payload, AssertedCall) else payload.name
