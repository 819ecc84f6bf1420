"""Usage rows for analysis: one for each row of a receipt, with what its ledger adds (docs/reference/exports.md).

Rules:
1. The four counts of tokens and the uses are disjoint: fresh input, read from a cache, written to one and uses add up
   to the receipt's input, the output to its output.
2. A cost is the row's own, as decimal text and in whole micro-dollars; no sum is rounded again.
3. What only the ledger tells (instant, sub-agent) is null without it. A row of another writer is a base row under the
   name that stands there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

from docket.formats.amount import Usd
from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.ledger.event import Event
from docket.formats.lenient import integer_of, object_of, text_of
from docket.formats.run.usage_array import UsageArray
from docket.rules.spending.components import AUDIO, FEES, IMAGE, WRITES
from docket.surfaces.export.record import VerifiedRecord

BASE = "base"
_KINDS = frozenset(name.removeprefix("+") for name in (*WRITES, *FEES, AUDIO, IMAGE))
_WRITES = frozenset(name.removeprefix("+") for name in WRITES)
_FEES = frozenset(name.removeprefix("+") for name in FEES)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageLine:
    """One row; the members stand in the order of the columns. `price_labels` are a model's, as `flex+long-context`."""

    docket_number: str
    session_id: str
    seq: int
    time: str | None
    agent: str | None
    agent_id: str | None
    provider: str
    model: str
    price_labels: str | None
    component: str
    fresh_input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    uses: int
    usage_source: str
    asserted_by: str | None
    cost_usd: str
    cost_micros: int
    latency_ms: int | None
    verdict: str

    def values(self) -> tuple[str | int | None, ...]:
        """Return the values in the order of COLUMNS."""
        return tuple(getattr(self, name) for name in COLUMNS)


COLUMNS = tuple(item.name for item in fields(UsageLine))
INTEGER_COLUMNS = frozenset(item.name for item in fields(UsageLine) if "int" in str(item.type).split(" | "))
OPTIONAL_COLUMNS = frozenset(item.name for item in fields(UsageLine) if "None" in str(item.type))


@dataclass(frozen=True, slots=True)
class _Place:
    """What the ledger tells of a call beside its usage."""

    time: str
    agent_id: str | None


def usage_lines(record: VerifiedRecord, events: Iterable[Event]) -> Iterator[UsageLine]:
    """Yield the rows in the receipt's order; `events` are the ledger's, none where it is not there."""
    places = dict(_places(events))
    agent = text_of(record.part("session").get("agent")) or None
    for row in _rows(record.items("usage", "appendix")):
        yield _line(record, agent, row, places.get(integer_of(row.get("seq"))))


def _rows(usage: Sequence[JsonValue]) -> Iterator[JsonObject]:
    """Yield the rows, without their paths where these would have to be made."""
    return (row.to_json(()) for row in usage.rows) if isinstance(usage, UsageArray) else map(object_of, usage)


def _places(events: Iterable[Event]) -> Iterator[tuple[int, _Place]]:
    asked_by: dict[int, str] = {}
    for event in events:
        if event.type == "model.request":
            data = event.data
            call, agent_id = data.get("call"), data.get("agent_id")
            if isinstance(call, int) and isinstance(agent_id, str):
                asked_by[call] = agent_id
        elif event.type == "model.response":
            yield event.seq, _Place(event.ts, asked_by.pop(integer_of(event.data.get("call")), None))


def _line(record: VerifiedRecord, agent: str | None, row: JsonObject, place: _Place | None) -> UsageLine:
    named = text_of(row.get("model"))
    model, labels, component = _parts(named) if record.ours else (named, None, BASE)
    cost = Usd.parse(row.get("cost_usd"))
    return UsageLine(
        docket_number=record.docket_number,
        session_id=record.session_id,
        seq=integer_of(row.get("seq")),
        time=None if place is None else place.time,
        agent=agent,
        agent_id=None if place is None else place.agent_id,
        provider=text_of(row.get("provider")),
        model=model,
        price_labels=labels,
        component=component,
        **_counts(row, component),
        usage_source=text_of(row.get("usage_source")),
        asserted_by=text_of(row.get("asserted_by")) or None,
        cost_usd=str(cost),
        cost_micros=cost.micros,
        latency_ms=_optional(row.get("latency_ms")),
        verdict=str(record.word),
    )


def _counts(row: JsonObject, component: str) -> Mapping[str, int]:
    given, cached = integer_of(row.get("input_tokens")), integer_of(row.get("cached_input_tokens"))
    fresh = given - cached
    return {
        "fresh_input_tokens": 0 if component in _WRITES or component in _FEES else fresh,
        "cache_read_tokens": cached,
        "cache_write_tokens": fresh if component in _WRITES else 0,
        "output_tokens": integer_of(row.get("output_tokens")),
        "uses": fresh if component in _FEES else 0,
    }


def _parts(named: str) -> tuple[str, str | None, str]:
    """Return the model of a row of docket's, its labels, and the component (spec/receipt.md, Component rows)."""
    base, *labels = named.split("+")
    component = labels.pop() if labels and labels[-1] in _KINDS else BASE
    return base.replace("%2B", "+").replace("%25", "%"), "+".join(labels) or None, component


def _optional(value: JsonValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
