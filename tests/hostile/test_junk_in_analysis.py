"""Whatever stands in a record, analysis reads it: findings, comparisons and SARIF are made of what has its form."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import islice
from typing import Any

import pytest

from docket.formats.canonical import encode
from docket.formats.ledger.event import GENESIS, Event
from docket.rules.analysis.comparison import compared
from docket.rules.analysis.record import record_of
from docket.rules.analysis.registry import findings_of
from docket.surfaces.export.record import json_line
from docket.surfaces.export.sarif import sarif_log
from docket.surfaces.render import comparison as side_by_side
from docket.surfaces.render import findings as told
from golden_ledgers import mutate, samples
from golden_ledgers.build import LedgerBuilder
from golden_ledgers.judging import receipt_of
from sweeps import some

JUNK: tuple[Any, ...] = (
    None, True, -1, 2**53 - 1, "", "x\x1b[2J", "9" * 30, "-0.01", [], ["x"], [[None]], {}, {"path": "../x"},
    {"seq": -7},
)  # fmt: skip
SAMPLES = (samples.busy, samples.cached, samples.pooled, samples.windowed, samples.landed, samples.asserted)


def whatever(event: Event, data: Any) -> Event:
    """An event that holds anything, as a lenient reader of another writer's file may meet it."""
    return Event(event.seq, event.ts, event.type, GENESIS, GENESIS, b"", data)


@some(7)
@pytest.mark.parametrize("sample", SAMPLES)
def test_events_of_any_content(sample: Callable[[], LedgerBuilder], stride: int) -> None:
    events = sample().events
    document = receipt_of(sample().data())
    for at, event in enumerate(events):
        changes = [{**event.data, name: junk} for name in event.data for junk in JUNK] + [{}]
        for data in islice(changes, at % stride, None, stride):
            read = [*events[:at], whatever(event, data), *events[at + 1 :]]
            assert encode([finding.to_json() for finding in findings_of(document, read)])
            assert json.loads(json_line(sarif_log(record_of(document, read), "consistent")))


@some(7)
@pytest.mark.parametrize("sample", SAMPLES)
def test_receipts_of_any_content(sample: Callable[[], LedgerBuilder], stride: int) -> None:
    document = receipt_of(sample().data())
    for _, changed in islice(mutate.mutations(document), 0, None, stride * 3):
        if isinstance(changed, dict):
            found = findings_of(changed)
            comparison = compared((document, found), (changed, found))
            assert encode(comparison.to_json())
            lines = [*told.lines(changed, found), *side_by_side.lines(document, changed, comparison)]
            assert all("\x1b[2J" not in line for line in lines)
