"""Whatever stands in a member of a record, an export of it is JSON of its own shape, or a refusal with a reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from docket.errors import DocketError
from docket.formats.digest import Digest
from docket.formats.ledger.event import GENESIS, Event, draft, seal
from docket.formats.run.verdict import Word
from docket.surfaces.export.otlp import traces
from docket.surfaces.export.otlp_values import nanoseconds
from docket.surfaces.export.predicate import CLASSES
from docket.surfaces.export.record import VerifiedRecord, json_line
from docket.surfaces.export.statement import statement
from docket.surfaces.export.usage_files import comma_separated, json_lines
from docket.surfaces.export.usage_rows import usage_lines
from golden_ledgers import elsewhere, samples
from golden_ledgers.judging import receipt_of
from golden_ledgers.mutate import containers, leaves, replaced
from sweeps import some

JUNK: tuple[Any, ...] = (None, True, 7, -1, "", "x\x1b[2J", "9999-99-99T99:99:99Z", [], [7, None], {}, {"a": {"b": []}})
TYPES = ("session.start", "model.request", "model.response", "model.error", "model.denied", "model.cache_hit",
         "tool.call", "tool.result", "cap.warning", "cap.exceeded", "policy.violation",
         "x-docket.cache-hit")  # fmt: skip
MEMBERS = ("call", "provider", "model", "requested_model", "status", "reason", "code", "outcome", "latency_ms", "usage",
           "cost_usd", "usage_source", "first_byte_ms", "streaming", "agent_id", "reported_by", "name", "id", "window",
           "window_id", "input_bytes", "result_bytes", "duration_ms", "ok", "cap", "used_pct", "rule")  # fmt: skip


def record(document: Any, *, checked: bool = True) -> VerifiedRecord:
    ledger = Digest("cd" * 32) if checked else None
    digest = Digest("ab" * 32)
    return VerifiedRecord(document=document, receipt_sha256=digest, word=Word.CONSISTENT, ledger_sha256=ledger)


def is_sound(exported: VerifiedRecord, events: list[Event]) -> None:
    """Each export can be made, and is what it says it is."""
    told = json.loads(json_line(statement(exported)))
    classes = told["predicate"]["provenance"]
    assert set(classes) <= set(CLASSES)
    assert all(isinstance(one["digest"]["sha256"], str) for one in told["subject"])
    trace = b"".join(traces(exported, events))
    assert all(0x20 <= byte < 0x7F for byte in trace[:-1])
    document = json.loads(trace)
    spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert len({span["spanId"] for span in spans}) == len(spans)
    assert [span for span in spans if "parentSpanId" not in span] == spans[-1:]
    json_format.ParseDict(document, TracesData())
    try:
        rows = list(usage_lines(exported, events))
    except DocketError:
        return
    assert b"".join(json_lines(rows)).count(b"\n") == len(rows)
    assert b"".join(comma_separated(rows)).count(b"\n") == len(rows) + 1


def mutants() -> Iterator[tuple[Any, list[Event]]]:
    ours, theirs = samples.busy(), elsewhere.ledger()
    for document, events in ((receipt_of(ours.data()), ours.events), (elsewhere.receipt(theirs), theirs.events)):
        for path in [*(path for path, _ in leaves(document)), *containers(document)]:
            for junk in JUNK:
                yield replaced(document, path, junk) if path else {"format": junk}, events


@some(53)
def test_junk_in_a_receipt(stride: int) -> None:
    for document, events in islice(mutants(), 0, None, stride):
        is_sound(record(document), events)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=2),
    max_leaves=4,
)
drawn = st.lists(
    st.tuples(
        st.sampled_from(TYPES), st.text(max_size=6), st.dictionaries(st.sampled_from(MEMBERS), values, max_size=6)
    ),
    max_size=8,
)


@given(drawn)
def test_junk_in_events_of_another_writer(bodies: list[tuple[str, str, dict[str, Any]]]) -> None:
    events: list[Event] = []
    for seq, (type_, ts, data) in enumerate(bodies):
        try:
            draft_ = draft(type_, data)
            events.append(seal(draft_, seq=seq, ts=ts, prev=events[-1].hash if events else GENESIS))
        except DocketError:
            return  # half of a surrogate pair is in no ledger
    is_sound(record(elsewhere.receipt(elsewhere.ledger())), events)


@given(st.text() | st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z"))
def test_any_text_is_an_instant_or_none(text: str) -> None:
    found = nanoseconds(text)
    assert found is None or found >= 0


@pytest.mark.parametrize("junk", [b"", b"{}", b"null"])
def test_no_members_at_all(junk: bytes) -> None:
    document = json.loads(junk or b"{}") or {}
    is_sound(record(document), [])
    is_sound(record(document, checked=False), [])
