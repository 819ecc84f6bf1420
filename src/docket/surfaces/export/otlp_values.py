"""The parts of OTLP/JSON that a trace is made of: attributes, spans, ids and times (opentelemetry-proto 1.x, JSON).

Rules:
1. Integers of 64 bits are texts, ids lower-case hexadecimal digits, enumerations numbers: OTLP's own form of JSON.
2. The trace's id derives from the session's, a span's from the number of the event that began it: the same record gives
   the same ids, and an id leads back to its event. The root's is the one that no event has.
3. An attribute without a value is left out. There are no fractions: an amount is its decimal text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import IntEnum

from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.lenient import instant_of

_TRACE = b"docket/trace/v1\0"
_NS_PER_SECOND = 1_000_000_000
_FRACTION_DIGITS = 9
NS_PER_MS = 1_000_000
ROOT_SPAN = "f" * 16


class Kind(IntEnum):
    """What a span is to its parent."""

    INTERNAL = 1
    CLIENT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """Nanoseconds since 1970; `told` is False where an event carries no instant and another's stands in for it."""

    ns: int
    told: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A span before it is spelled; `seq` is None for the root, `error` the `error.type` of one that failed."""

    seq: int | None
    name: str
    kind: Kind
    began: Instant
    ended: Instant
    attributes: Mapping[str, JsonValue]
    error: str | None = None

    def to_json(self, trace_id: str) -> dict[str, JsonValue]:
        """Return the span of a trace, under its root unless it is that."""
        own = ROOT_SPAN if self.seq is None else span_id(self.seq)
        told = self.began.told and self.ended.told
        more = {"error.type": self.error, "docket.time": None if told else "approximate"}
        return {
            "traceId": trace_id,
            "spanId": own,
            **({} if self.seq is None else {"parentSpanId": ROOT_SPAN}),
            "flags": 1,
            "name": self.name,
            "kind": int(self.kind),
            "startTimeUnixNano": str(min(self.began.ns, self.ended.ns)),
            "endTimeUnixNano": str(self.ended.ns),
            "attributes": attributes({**self.attributes, **more}),
            "status": {} if self.error is None else {"code": 2, "message": self.error},
        }


def trace_id(session_id: str) -> str:
    """Return the trace's id: the first 16 bytes of a SHA-256 of the session's id."""
    return hashlib.sha256(_TRACE + session_id.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def span_id(seq: int) -> str:
    """Return the id of the span that event `seq` began: its number and one, for an id is never all zeros."""
    return f"{seq + 1:016x}"


def attributes(values: Mapping[str, JsonValue]) -> list[JsonValue]:
    """Return attributes by their names, those without a value left out."""
    return [{"key": name, "value": _value(value)} for name, value in sorted(values.items()) if value is not None]


def _value(value: JsonValue) -> JsonValue:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, (list, tuple)):
        return {"arrayValue": {"values": [_value(item) for item in value]}}
    return {"stringValue": value if isinstance(value, str) else ""}


def nanoseconds(value: JsonValue) -> int | None:
    """Return an instant as nanoseconds since 1970; None for what is none, for no day of a calendar, before 1970."""
    text = instant_of(value)
    if text is None:
        return None
    whole, _, fraction = text.removesuffix("Z").partition(".")
    seconds = whole.removesuffix(":60")
    try:
        at = datetime.fromisoformat(f"{seconds}:59" if seconds != whole else whole).replace(tzinfo=UTC)
    except ValueError:
        return None
    count = int(at.timestamp()) + (seconds != whole)
    found = count * _NS_PER_SECOND + int(fraction.ljust(_FRACTION_DIGITS, "0") or "0")
    return found if found >= 0 else None


@dataclass(slots=True)
class Clock:
    """Says when events were; of one that carries no instant, that it was not before the one before."""

    last_ns: int

    def at(self, ts: JsonValue) -> Instant:
        """Return the instant of the next event."""
        found = nanoseconds(ts)
        if found is None:
            return Instant(ns=self.last_ns, told=False)
        self.last_ns = found
        return Instant(ns=found)


def before(instant: Instant, span_ms: int) -> Instant:
    """Return the instant that was so many milliseconds earlier, 1970 at the earliest."""
    return Instant(ns=max(instant.ns - max(span_ms, 0) * NS_PER_MS, 0), told=instant.told)


def joined(parts: Iterable[bytes]) -> Iterable[bytes]:
    """Yield JSON values with commas between them."""
    for number, part in enumerate(parts):
        yield b"," + part if number else part
