"""What a page tells of a run's events: calls in their order, what was refused, changed, forbidden and remarked.

Rules:
1. Events are read leniently, member by member: another writer's have other members, and a damaged ledger is shown as
   far as it goes. What cannot be read is left out here; whether that is a fault the verifier says.
2. What the agent asserted is no call.
3. Lists are bounded; `left_out` counts what a bound kept out, by list.

Without a ledger the receipt's rows tell the billed calls, and nothing tells their instants.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from docket.errors import InvalidDocumentError
from docket.formats import lenient
from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.dataclass import dataclass, field
from docket.formats.ledger.event import Event
from docket.formats.lenient import amount_of
from docket.formats.relpath import RelPath
from docket.rules.spending.components import FEES

MOST_CALLS = 50_000
MOST_LISTED = 5_000
MOST_KEPT = 4_096
_TOKENS = ("input_tokens", "cached_input_tokens", "output_tokens")

BILLED: Final = "billed"
REFUSED: Final = "refused"
FAILED: Final = "failed"
CACHED: Final = "from the cache"
OPEN: Final = "no end recorded"


@dataclass(slots=True, kw_only=True)
class Call:
    """One call as it is shown; `elapsed_ms` is from the run's first event, None where no event tells."""

    kind: str
    number: int | None = None
    elapsed_ms: int | None = None
    provider: str = ""
    model: str = ""
    tokens: tuple[int, int, int] = (0, 0, 0)
    micros: int = 0
    latency_ms: int | None = None
    note: str = ""
    seq: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedPath:
    """One `fs.change`; `before` and `after` are the states as recorded."""

    path: RelPath
    change: str
    before: JsonObject | None
    after: JsonObject | None


@dataclass(slots=True, kw_only=True)
class Recorded:
    """What the events told, in their order; `remarks` are (what, words) pairs.

    `kept` are the paths of kept replies as the events have them, each with its size in bytes, MOST_KEPT of them.
    """

    calls: list[Call] = field(default_factory=list)
    changes: list[ChangedPath] = field(default_factory=list)
    remarks: list[tuple[str, str]] = field(default_factory=list)
    tools: Counter[str] = field(default_factory=Counter)
    failed_tools: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    kept: dict[str, int] = field(default_factory=dict)
    has_events: bool = False


class Reading:
    """Takes a ledger's events one by one and keeps what a page tells of them."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.told = Recorded(has_events=True)
        self._began: datetime | None = None
        self._open: dict[int, Call] = {}
        self._last_refusal = ""

    def through(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield the events, each taken on its way."""
        for event in events:
            self.take(event)
            yield event

    def take(self, event: Event) -> None:
        """Take the next event."""
        if self._began is None:
            self._began = _instant(event.ts)
        taken = _TAKERS.get(event.type)
        if taken is not None:
            taken(self, event, event.data)

    def finish(self) -> Recorded:
        """Return what was told; calls without an end stand last."""
        for call in self._open.values():
            self._add(call)
        return self.told

    def _add(self, call: Call) -> None:
        if len(self.told.calls) < MOST_CALLS:
            self.told.calls.append(call)
        else:
            self.told.left_out["calls"] += 1

    def _elapsed(self, event: Event) -> int | None:
        now = _instant(event.ts)
        if now is None or self._began is None:
            return None
        return max(0, round((now - self._began).total_seconds() * 1000))

    def _request(self, event: Event, data: JsonObject) -> None:
        number = lenient.part(data, "call")
        if isinstance(number, int):
            self._open[number] = self._call(OPEN, event, data)

    def _call(self, kind: str, event: Event, data: JsonObject) -> Call:
        number, latency = lenient.part(data, "call"), lenient.part(data, "latency_ms")
        return Call(
            kind=kind,
            number=number if isinstance(number, int) else None,
            elapsed_ms=self._elapsed(event),
            provider=_text(data, "provider", ""),
            model=_text(data, "model", ""),
            latency_ms=latency if isinstance(latency, int) else None,
            seq=event.seq,
        )

    def _settle(self, call: Call) -> None:
        if call.number is not None:
            self._open.pop(call.number, None)
        self._add(call)

    def _response(self, event: Event, data: JsonObject) -> None:
        call = self._call(BILLED, event, data)
        source = data.get("usage")
        call.tokens = _tokens(source if isinstance(source, Mapping) else data)
        call.micros = micros(data.get("cost_usd"))
        outcome, status = data.get("outcome"), data.get("status")
        notes = [str(outcome).replace("_", " ")] if outcome not in (None, "complete") else []
        notes += [f"HTTP {status}"] if isinstance(status, int) and status >= 300 else []
        notes += ["estimated"] if data.get("usage_source") == "estimated" else []
        notes += ["price assumed"] if data.get("assumed_price") is True else []
        call.note = ", ".join(notes)
        self._settle(call)
        self._keep(data)

    def _keep(self, data: JsonObject) -> None:
        path = data.get("response_path")
        if data.get("response_retained") is not True or not isinstance(path, str):
            return
        if len(self.told.kept) < MOST_KEPT:
            self.told.kept[path] = lenient.count_at(data, "response_stored_bytes")
        else:
            self.told.left_out["kept"] += 1

    def _error(self, event: Event, data: JsonObject) -> None:
        call = self._call(FAILED, event, data)
        call.note = _sentence(data, "reason", "error")
        self._settle(call)

    def _denied(self, event: Event, data: JsonObject) -> None:
        call = self._call(REFUSED, event, data)
        why = _text(data, "detail", "") or _text(data, "reason")
        call.note = f"{_text(data, 'reason')}, as before" if why == self._last_refusal else why
        self._last_refusal = why
        self._add(call)

    def _hit(self, event: Event, data: JsonObject) -> None:
        call = self._call(CACHED, event, data)
        usage = data.get("usage")
        call.tokens = _tokens(usage if isinstance(usage, Mapping) else {})
        call.note = f"${_text(data, 'avoided_cost_usd')} not spent"
        self._add(call)

    def _change(self, event: Event, data: JsonObject) -> None:
        del event
        if len(self.told.changes) >= MOST_LISTED:
            self.told.left_out["changes"] += 1
            return
        try:
            path = RelPath.from_members(data)
        except InvalidDocumentError:
            self.told.left_out["changes"] += 1
            return
        before, after = (
            part if isinstance(part, Mapping) else None for part in (data.get("before"), data.get("after"))
        )
        change = _text(data, "change")
        self.told.changes.append(ChangedPath(path=path, change=change, before=before, after=after))

    def _tool(self, event: Event, data: JsonObject) -> None:
        del event
        self.told.tools[_text(data, "name")] += 1

    def _tool_result(self, event: Event, data: JsonObject) -> None:
        del event
        if data.get("ok") is False:
            self.told.failed_tools[_text(data, "name")] += 1

    def _remark(self, event: Event, data: JsonObject) -> None:
        words = _REMARKS[event.type]
        if event.type == "cap.warning":
            data = {"said": _warning(data)}
        if event.type == "note" and "reported_by" in data:
            words = ("the agent said", ("code", "message"))
        if len(self.told.remarks) < MOST_LISTED:
            self.told.remarks.append((words[0], _sentence(data, *words[1])))
        else:
            self.told.left_out["remarks"] += 1


_REMARKS: dict[str, tuple[str, tuple[str, ...]]] = {
    "policy.violation": ("policy violation", ("rule", "path", "detail")),
    "cap.warning": ("cap warning", ("said",)),
    "cap.exceeded": ("cap exceeded", ("cap", "detail")),
    "net.denied": ("connection refused", ("reason", "host", "count")),
    "x-docket.evidence-gap": ("gap in the record", ("detail",)),
    "note": ("note", ("code", "message")),
}
_TAKERS = {
    "model.request": Reading._request,
    "model.response": Reading._response,
    "model.error": Reading._error,
    "model.denied": Reading._denied,
    "model.cache_hit": Reading._hit,
    "x-docket.cache-hit": Reading._hit,
    "fs.change": Reading._change,
    "tool.call": Reading._tool,
    "tool.result": Reading._tool_result,
    **dict.fromkeys(_REMARKS, Reading._remark),
}

TOLD = frozenset(_TAKERS)
"""The types of events that are looked at."""


def from_rows(document: JsonObject) -> Recorded:
    """Return what a receipt's own rows tell, where there is no ledger."""
    calls: dict[object, Call] = {}
    for row in lenient.rows_at(document, "appendix", "usage"):
        model = _text(row, "model")
        call = calls.setdefault(row.get("seq"), Call(kind=BILLED, number=len(calls) + 1))
        call.provider, call.model = _text(row, "provider"), model
        if not model.endswith(tuple(FEES)):
            counted = _tokens(row)
            call.tokens = (
                call.tokens[0] + counted[0],
                call.tokens[1] + counted[1],
                call.tokens[2] + counted[2],
            )
        call.micros += micros(row.get("cost_usd"))
        latency = row.get("latency_ms")
        call.latency_ms = latency if isinstance(latency, int) else call.latency_ms
        call.note = "estimated" if row.get("usage_source") == "estimated" else call.note
    kept = list(calls.values())
    told = Recorded(calls=kept[:MOST_CALLS])
    told.left_out["calls"] = len(kept) - len(told.calls)
    return told


def micros(value: JsonValue) -> int:
    """Return an amount in micro-dollars, 0 for what is none."""
    found = amount_of(value)
    return 0 if found is None else found.micros


def _tokens(source: JsonObject) -> tuple[int, int, int]:
    first, second, third = (lenient.count_at(source, name) for name in _TOKENS)
    return first, second, third


def _sentence(data: JsonObject, *names: str) -> str:
    return ": ".join(str(data[name]) for name in names if data.get(name) not in (None, ""))


def _warning(data: JsonObject) -> str:
    cap, used, limit = (_text(data, name) for name in ("cap", "used", "limit"))
    scope = _text(data, "scope_name", "")
    return f"{cap}{f' of {scope}' if scope else ''}: {used} used of {limit}"


def _text(data: JsonObject, name: str, default: str = "unknown") -> str:
    value = data.get(name)
    return default if value is None else str(value)


def _instant(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


__all__ = [
    "BILLED",
    "CACHED",
    "FAILED",
    "MOST_CALLS",
    "MOST_LISTED",
    "OPEN",
    "REFUSED",
    "TOLD",
    "Call",
    "ChangedPath",
    "Reading",
    "Recorded",
    "from_rows",
    "micros",
]  # fmt: skip
