"""The fold over a ledger of another writer: what `docket/receipt/v1` itself says derives from events.

Rules (spec/receipt.md, Other writers): payloads carry other members than docket's own, so members are read where
they stand and have the right type, and left out of the comparison where they do not. Only event types of the public
vocabulary are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.dataclass import dataclass, field
from docket.formats.digest import Digest
from docket.formats.ledger.event import Event
from docket.formats.reason import Reason
from docket.formats.run.receipt import TOP_PATHS, UsageRow
from docket.formats.run.usage import UsageSource


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicRow:
    """The row a `model.response` gives, with who asserted it."""

    row: UsageRow
    asserted_by: str | None


@dataclass(slots=True)
class PublicFold:
    """What the events of another writer add up to."""

    rows: list[PublicRow] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    providers: Counter[str] = field(default_factory=Counter)
    changes: Counter[str] = field(default_factory=Counter)
    tool_names: set[str] = field(default_factory=set)
    paths: list[str] = field(default_factory=list)
    tool_failures: int = 0
    hits: dict[tuple[int, str], tuple[int, int, int]] = field(default_factory=dict)
    hit_fault: str | None = None
    stored: dict[int, tuple[str, str]] = field(default_factory=dict)
    start: JsonObject | None = None
    policy: JsonObject | None = None
    end: JsonObject | None = None

    def take(self, event: Event) -> None:
        """Take the next event; InvalidDocumentError names one whose usage cannot be read."""
        self.counts[event.type] += 1
        taker = _TAKERS.get(event.type)
        if taker is not None:
            taker(self, event)

    def begin(self, event: Event) -> None:
        """Take the first session.start."""
        self.start = event.data if self.start is None else self.start

    def apply_policy(self, event: Event) -> None:
        """Take the policy."""
        self.policy = event.data

    def finish(self, event: Event) -> None:
        """Take the end."""
        self.end = event.data

    def response(self, event: Event) -> None:
        """Take a reply."""
        row = _row(event)
        self.rows.append(row)
        self.providers[row.row.provider] += 1
        if row.row.cache_key is not None:
            self.stored[event.seq] = (event.hash, row.row.cache_key)

    def cache_hit(self, event: Event) -> None:
        """Take a replayed reply."""
        origin = event.data.get("origin")
        seq, hash_ = (origin.get("seq"), origin.get("hash")) if isinstance(origin, Mapping) else (None, None)
        if not isinstance(seq, int) or isinstance(seq, bool) or not isinstance(hash_, str):
            raise InvalidDocumentError(Reason.WRONG_TYPE, f"event {event.seq}: origin does not name an event")
        if self.stored.get(seq) != (hash_, event.data.get("key")):
            fault = f"event {event.seq}: event {seq} is no earlier reply that was stored under its key"
            self.hit_fault = self.hit_fault or fault
        hits, first, _ = self.hits.get((seq, hash_), (0, event.seq, event.seq))
        self.hits[seq, hash_] = (hits + 1, first, event.seq)

    def change(self, event: Event) -> None:
        """Take a changed path."""
        kind, path = event.data.get("change"), event.data.get("path")
        self.changes[kind if isinstance(kind, str) else ""] += 1
        if isinstance(path, str) and len(self.paths) < TOP_PATHS:
            self.paths.append(path)

    def tool_call(self, event: Event) -> None:
        """Take a tool use."""
        name = event.data.get("name")
        if isinstance(name, str):
            self.tool_names.add(name)

    def tool_result(self, event: Event) -> None:
        """Take a tool's outcome."""
        self.tool_failures += event.data.get("ok") is False

    def members(self) -> dict[str, JsonValue]:
        """Return the receipt members that derive, as nested objects; what is absent here is not compared."""
        counts = self.counts
        return {
            **_named(self.start or {}, {"docket_number": "docket_number", "label": "label"}),
            "session": {
                **_named(self.start or {}, {"id": "session_id", "argv": "argv", "cwd": "cwd"}),
                **_named(self.end or {}, {name: name for name in _END}),
            },
            "policy": _named(self.policy or {}, {name: name for name in _POLICY}),
            "model_calls": {
                "count": len(self.rows),
                "by_provider": dict(self.providers),
                "denied": counts["model.denied"],
                "errors": counts["model.error"],
            },
            "tools": {"calls": counts["tool.call"], "names": sorted(self.tool_names), "failures": self.tool_failures},
            "files": {
                "changed": counts["fs.change"],
                "added": self.changes["added"],
                "modified": self.changes["modified"],
                "removed": self.changes["removed"],
                "violations": counts["policy.violation"],
                "top_paths": list(self.paths),
            },
            "network": {"tunnels_allowed": counts["net.allowed"], "tunnels_denied": counts["net.denied"]},
            "caps": {"exceeded": counts["cap.exceeded"], "warnings": counts["cap.warning"]},
            "event_counts": dict(counts),
        }


# The time a run took is left out: other writers measure it once for the event and again for the receipt.
_END = ("exit_code", "breached", "interrupted")
_POLICY = ("name", "digest", "document")
_TAKERS: Mapping[str, Callable[[PublicFold, Event], None]] = {
    "session.start": PublicFold.begin,
    "policy.applied": PublicFold.apply_policy,
    "session.end": PublicFold.finish,
    "model.response": PublicFold.response,
    "model.cache_hit": PublicFold.cache_hit,
    "fs.change": PublicFold.change,
    "tool.call": PublicFold.tool_call,
    "tool.result": PublicFold.tool_result,
}


def _named(data: JsonObject, names: Mapping[str, str]) -> dict[str, JsonValue]:
    return {member: data[name] for member, name in names.items() if name in data}


def _row(event: Event) -> PublicRow:
    data = event.data
    usage = data.get("usage")
    if not isinstance(usage, Mapping):
        raise InvalidDocumentError(Reason.WRONG_TYPE, f"event {event.seq}: usage is not an object")
    source, asserted, latency = data.get("usage_source"), data.get("reported_by"), data.get("latency_ms")
    if source not in tuple(UsageSource):
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"event {event.seq}: usage_source is not a known one")
    row = UsageRow(
        seq=event.seq,
        model=_text(event, "model"),
        provider=_text(event, "provider"),
        input_tokens=_tokens(event, usage, "input_tokens"),
        cached_input_tokens=_tokens(event, usage, "cached_input_tokens"),
        output_tokens=_tokens(event, usage, "output_tokens"),
        usage_source=UsageSource(str(source)),
        cost_usd=_cost(event),
        event_hash=Digest(event.hash),
        latency_ms=latency if isinstance(latency, int) and not isinstance(latency, bool) else None,
        cache_key=_stored_key(data.get("cache")),
    )
    return PublicRow(row=row, asserted_by=asserted if isinstance(asserted, str) else None)


def _stored_key(mark: JsonValue) -> str | None:
    if not isinstance(mark, Mapping) or mark.get("stored") is not True:
        return None
    key = mark.get("key")
    return key if isinstance(key, str) else None


def _text(event: Event, name: str) -> str:
    value = event.data.get(name)
    if not isinstance(value, str):
        raise InvalidDocumentError(Reason.WRONG_TYPE, f"event {event.seq}: {name} is not a text")
    return value


def _tokens(event: Event, usage: JsonObject, name: str) -> int:
    value = usage.get(name, 0)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"event {event.seq}: usage.{name} is not a count")
    return value


def _cost(event: Event) -> Usd:
    try:
        return Usd.parse(event.data.get("cost_usd"))
    except InvalidDocumentError as error:
        raise InvalidDocumentError(error.reason, f"event {event.seq}: cost_usd: {error.detail}") from error
