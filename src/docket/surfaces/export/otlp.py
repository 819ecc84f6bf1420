"""A run as one trace in OTLP/JSON, by OpenTelemetry's conventions for generative AI (docs/reference/exports.md).

Rules:
1. The root is the agent's run, and every call and tool stands right under it. Its sums are the receipt's.
2. The conventions are those of `SCHEMA_URL`: the release of the core conventions from which those for generative AI
   moved to a project of their own. Its schema is published, theirs is not yet; the names used here are in both.
3. Spans are yielded as they end, the root last: a trace of any length takes no more memory than what is open at once.
4. Without the ledger there is the root alone, with the receipt's sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation

from docket import __version__
from docket.formats.canonical import JsonValue
from docket.formats.ledger.event import Event
from docket.formats.lenient import integer_of, text_of
from docket.surfaces.export.otlp_values import (
    NS_PER_MS,
    Clock,
    Instant,
    Kind,
    Span,
    attributes,
    before,
    joined,
    nanoseconds,
    trace_id,
)
from docket.surfaces.export.record import VerifiedRecord, json_line
from docket.surfaces.export.spans import SpanBook, provider_name, usage_attributes

SEMCONV_VERSION = "1.41.0"
SCHEMA_URL = f"https://opentelemetry.io/schemas/{SEMCONV_VERSION}"


def traces(record: VerifiedRecord, events: Iterable[Event]) -> Iterator[bytes]:
    """Yield one `TracesData` in pieces, ending with an LF; `events` are the ledger's, none where it is not there."""
    resource = {
        "attributes": attributes(
            {
                "service.name": "docket",
                "service.instance.id": record.session_id,
                "docket.verdict": str(record.word),
            }
        )
    }
    scope = {"name": "docket", "version": __version__}
    yield b'{"resourceSpans":[{"resource":%b,"scopeSpans":[{"scope":%b,"spans":[' % (
        json_line(resource),
        json_line(scope),
    )
    yield from joined(json_line(span) for span in _spans(record, events))
    yield b'],"schemaUrl":"%b"}],"schemaUrl":"%b"}]}\n' % ((SCHEMA_URL.encode("ascii"),) * 2)


def _spans(record: VerifiedRecord, events: Iterable[Event]) -> Iterator[JsonValue]:
    trace = trace_id(record.session_id)
    began, ended = _bounds(record)
    book = SpanBook(clock=Clock(began.ns))
    first: Instant | None = None
    for event in events:
        for span in book.take(event):
            yield span.to_json(trace)
        if first is None:
            first = Instant(ns=book.clock.last_ns, told=nanoseconds(event.ts) is not None)
    if first is not None and first.told:
        began, ended = first, Instant(ns=book.clock.last_ns)
    for span in book.rest(ended):
        yield span.to_json(trace)
    root = _root(record, began, ended).to_json(trace)
    yield {**root, "events": book.root_events, "droppedEventsCount": book.dropped_events}


def _bounds(record: VerifiedRecord) -> tuple[Instant, Instant]:
    """Return when a run began and ended by its receipt alone."""
    session, created = record.part("session"), nanoseconds(record.document.get("created_at"))
    ended = Instant(ns=created or 0, told=created is not None)
    began = nanoseconds(session.get("started_at"))
    if began is not None:
        return Instant(ns=began), ended
    return before(ended, _milliseconds(text_of(session.get("duration_seconds")))), ended


def _milliseconds(seconds: str) -> int:
    try:
        found = Decimal(seconds)
    except InvalidOperation:
        return 0
    return int(found * 1000) if found.is_finite() and 0 <= found < NS_PER_MS else 0


def _root(record: VerifiedRecord, began: Instant, ended: Instant) -> Span:
    session, calls, totals = record.part("session"), record.part("model_calls"), record.part("totals")
    agent, breached, code = text_of(session.get("agent")), text_of(session.get("breached")), session.get("exit_code")
    providers = list(record.part("model_calls", "by_provider"))
    failed = breached or ("exit_code" if integer_of(code) != 0 else "")
    return Span(
        seq=None,
        name=f"invoke_agent {agent}".rstrip(),
        kind=Kind.INTERNAL,
        began=began,
        ended=ended,
        error=failed or None,
        attributes={
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": agent or None,
            "gen_ai.provider.name": provider_name(providers[0]) if len(providers) == 1 else None,
            **usage_attributes(record.part("model_calls", "usage") or totals),
            "process.exit.code": code if isinstance(code, int) else None,
            "docket.number": record.docket_number,
            "docket.session.id": record.session_id,
            "docket.label": text_of(record.document.get("label")) or None,
            "docket.calls": integer_of(calls.get("count")),
            "docket.calls.refused": integer_of(calls.get("denied")),
            "docket.calls.failed": integer_of(calls.get("errors")),
            "docket.cost.usd": text_of(totals.get("cost_usd")),
            "docket.cost.basis": text_of(totals.get("cost_basis")),
            "docket.breached": breached or None,
            "docket.verdict": str(record.word),
            "docket.redacted": True if record.part("redaction") else None,
            "docket.receipt.sha256": record.receipt_sha256,
            "docket.ledger.checked": record.checked,
            "docket.ledger.head": text_of(record.part("ledger").get("head")) or None,
        },
    )
