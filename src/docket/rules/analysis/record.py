"""The record of a run as the rules of analysis read it: its calls in order, failures, refusals, changes.

Rules: members are read where they stand and have the right type, whoever wrote the record, and what cannot be read is
left out; nothing raises. Without the ledger, calls are what the receipt's usage rows say, and there is nothing else.
Memory is in proportion to calls and what the rules cite.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.canonical import JsonObject, JsonValue, object_at
from docket.formats.dataclass import dataclass, field
from docket.formats.ledger.event import Event
from docket.formats.lenient import amount_of, count_at, text_at
from docket.formats.run.price_table import Family
from docket.rules.receipt.families import Families
from docket.rules.spending.components import FEES, WRITES


@dataclass(slots=True, kw_only=True)
class Call:
    """A request and its reply; `seq` is the request's event, `reply_seq` the reply's, None where there was none.

    `model` is the one the base price is of; `written_tokens` were written to the provider's cache.
    """

    seq: int
    reply_seq: int | None = None
    provider: str = ""
    model: str = ""
    agent_id: str = ""
    fingerprint: str | None = None
    held: Usd | None = None
    failed: bool = False
    input_tokens: int = 0
    cached_input_tokens: int = 0
    written_tokens: int = 0
    output_tokens: int = 0
    micros: int = 0
    estimated: bool = False
    assumed: bool = False

    @property
    def settled(self) -> bool:
        """Whether a billed reply came."""
        return self.reply_seq is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cited:
    """An event that a rule names: what it is about (`kind`), and its data."""

    seq: int
    kind: str
    data: JsonObject


@dataclass(slots=True, kw_only=True)
class RunRecord:
    """What the rules look at; `with_ledger` says whether there were events."""

    receipt: JsonObject
    families: Families
    with_ledger: bool
    calls: list[Call] = field(default_factory=list)
    outcomes: list[tuple[int, str, str, bool]] = field(default_factory=list)
    hits: list[Cited] = field(default_factory=list)
    denials: list[Cited] = field(default_factory=list)
    changes: list[Cited] = field(default_factory=list)
    violations: list[Cited] = field(default_factory=list)
    deltas: list[Cited] = field(default_factory=list)
    strays: list[Cited] = field(default_factory=list)
    pools: list[Cited] = field(default_factory=list)

    @property
    def billed(self) -> list[Call]:
        """The calls that a reply came to."""
        return [call for call in self.calls if call.settled]

    @property
    def cost(self) -> Usd:
        """What the billed calls cost together."""
        return Usd(sum(call.micros for call in self.calls))

    def family(self, model: str) -> Family | None:
        """Return the family of the embedded table that prices a model; None for the fallback's."""
        match = self.families.find(model)
        return None if match is None or match.assumed else match.family


def record_of(receipt: JsonObject, events: Iterable[Event] | None) -> RunRecord:
    """Read a receipt, and its ledger's events where they are there."""
    record = RunRecord(receipt=receipt, families=_families(receipt), with_ledger=events is not None)
    if events is None:
        record.calls.extend(_calls_of_rows(receipt))
        return record
    reading = _Reading(record)
    for event in events:
        taker = _TAKERS.get(event.type)
        if taker is not None:
            taker(reading, event.seq, event.data)
    return record


class _Reading:
    """The one pass over the events. A reply names its request by `call`; another writer's is its model's oldest."""

    def __init__(self, record: RunRecord) -> None:
        self.record = record
        self._open: dict[JsonValue, deque[Call]] = {}

    def request(self, seq: int, data: JsonObject) -> None:
        call = Call(
            seq=seq,
            provider=text_at(data, "provider"),
            model=text_at(data, "model"),
            agent_id=text_at(data, "agent_id"),
            fingerprint=text_at(data, "fingerprint") or None,
            held=amount_of(data.get("held_usd")),
        )
        self.record.calls.append(call)
        self._open.setdefault(_key(data), deque()).append(call)

    def response(self, seq: int, data: JsonObject) -> None:
        call = self._answered(seq, data)
        usage = object_at(data, "usage")
        parts = data.get("components")
        base = parts[-1] if isinstance(parts, Sequence) and parts and not isinstance(parts, str) else None
        call.reply_seq = seq
        call.model = text_at(base, "model") if isinstance(base, Mapping) else text_at(data, "model")
        call.input_tokens = count_at(usage, "input_tokens")
        call.cached_input_tokens = count_at(usage, "cached_input_tokens")
        call.written_tokens = sum(count_at(usage, name) for name in WRITES.values())
        call.output_tokens = count_at(usage, "output_tokens")
        cost = amount_of(data.get("cost_usd"))
        call.micros = 0 if cost is None else cost.micros
        call.estimated = data.get("usage_source") == "estimated"
        call.assumed = data.get("assumed_price") is True
        self.record.outcomes.append((seq, call.provider, text_at(data, "model"), True))

    def error(self, seq: int, data: JsonObject) -> None:
        call = self._answered(seq, data)
        call.failed = True
        self.record.outcomes.append((seq, call.provider, text_at(data, "model"), False))

    def _answered(self, seq: int, data: JsonObject) -> Call:
        for key in (_key(data), *self._alike(data)):
            waiting = self._open.get(key)
            if waiting:
                return waiting.popleft()
        call = Call(seq=seq, provider=text_at(data, "provider"), model=text_at(data, "model"))
        self.record.calls.append(call)
        return call

    def _alike(self, data: JsonObject) -> list[JsonValue]:
        """Return the keys of waiting requests of the same provider: a reply may name another model than was asked."""
        if isinstance(data.get("call"), int):
            return []
        provider = text_at(data, "provider")
        return [key for key in self._open if isinstance(key, tuple) and key[0] == provider]

    def hit(self, seq: int, data: JsonObject) -> None:
        self.record.hits.append(Cited(seq=seq, kind="hit", data=data))

    def denied_call(self, seq: int, data: JsonObject) -> None:
        self.record.denials.append(Cited(seq=seq, kind="model", data=data))

    def denied_connection(self, seq: int, data: JsonObject) -> None:
        self.record.denials.append(Cited(seq=seq, kind="network", data=data))

    def change(self, seq: int, data: JsonObject) -> None:
        self.record.changes.append(Cited(seq=seq, kind="change", data=data))

    def violation(self, seq: int, data: JsonObject) -> None:
        self.record.violations.append(Cited(seq=seq, kind="violation", data=data))

    def delta(self, seq: int, data: JsonObject) -> None:
        if count_at(data, "files"):
            self.record.deltas.append(Cited(seq=seq, kind="delta", data=data))

    def intent(self, seq: int, data: JsonObject) -> None:
        if count_at(data, "excluded_write_count"):
            self.record.strays.append(Cited(seq=seq, kind="excluded", data=data))

    def pool_use(self, seq: int, data: JsonObject) -> None:
        self.record.pools.append(Cited(seq=seq, kind="pool", data=data))


_TAKERS: dict[str, Callable[[_Reading, int, JsonObject], None]] = {
    "model.request": _Reading.request,
    "model.response": _Reading.response,
    "model.error": _Reading.error,
    "model.cache_hit": _Reading.hit,
    "x-docket.cache-hit": _Reading.hit,
    "model.denied": _Reading.denied_call,
    "net.denied": _Reading.denied_connection,
    "fs.change": _Reading.change,
    "policy.violation": _Reading.violation,
    "x-docket.tool-delta": _Reading.delta,
    "x-docket.workspace-intent": _Reading.intent,
    "x-docket.pool-use": _Reading.pool_use,
}
READ = frozenset(_TAKERS)
"""The types of events that are looked at."""


def _key(data: JsonObject) -> JsonValue | tuple[str, str]:
    number = data.get("call")
    return number if isinstance(number, int) else (text_at(data, "provider"), text_at(data, "model"))


def _families(receipt: JsonObject) -> Families:
    try:
        return Families.of(object_at(object_at(receipt, "price_table"), "document"))
    except InvalidDocumentError:
        return Families()


def _calls_of_rows(receipt: JsonObject) -> Iterable[Call]:
    """Return the calls that the usage rows are of; rows of one event are components of one call, the base last."""
    rows = object_at(receipt, "appendix").get("usage")
    calls: dict[int, Call] = {}
    for row in rows if isinstance(rows, Sequence) and not isinstance(rows, str) else ():
        seq = row.get("seq") if isinstance(row, Mapping) else None
        if not isinstance(row, Mapping) or type(seq) is not int:
            continue
        call = calls.setdefault(seq, Call(seq=seq, reply_seq=seq))
        cost, model = amount_of(row.get("cost_usd")), text_at(row, "model")
        call.micros += 0 if cost is None else cost.micros
        call.provider, call.model = text_at(row, "provider"), model
        call.estimated = row.get("usage_source") == "estimated"
        _, plus, label = model.rpartition("+")
        if plus + label in WRITES:
            call.written_tokens += count_at(row, "input_tokens")
        if plus + label not in FEES:
            call.input_tokens += count_at(row, "input_tokens")
            call.cached_input_tokens += count_at(row, "cached_input_tokens")
            call.output_tokens += count_at(row, "output_tokens")
    return calls.values()
