"""What is told of events is bounded, and what cannot be read is left out."""

from __future__ import annotations

import pytest

from docket.rules.analysis import told as telling
from docket.rules.analysis.record import READ
from docket.rules.analysis.told import OPEN, TOLD, Reading, from_rows
from golden_ledgers import kept, samples
from golden_ledgers.build import LedgerBuilder
from golden_ledgers.judging import receipt_of


def told_of(builder: LedgerBuilder) -> telling.Recorded:
    reading = Reading()
    for event in builder.events:
        reading.take(event)
    return reading.finish()


def test_lists_are_bounded_and_what_is_left_out_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "MOST_CALLS", 1)
    monkeypatch.setattr(telling, "MOST_LISTED", 1)
    monkeypatch.setattr(telling, "MOST_KEPT", 1)
    found = told_of(samples.busy())
    assert (len(found.calls), len(found.changes), len(found.remarks)) == (1, 1, 1)
    assert found.left_out["calls"] > 0
    assert found.left_out["changes"] == 3
    assert found.left_out["remarks"] > 0
    found = told_of(kept.cached())
    assert (len(found.kept), found.left_out["kept"]) == (1, 1)
    rows = from_rows(receipt_of(samples.anthropic().data()))
    assert (len(rows.calls), rows.left_out["calls"]) == (1, 1)


def test_kept_replies_are_told_by_their_paths_and_sizes() -> None:
    assert told_of(kept.cached()).kept == {kept.path_of(body): len(body) for body in (kept.WHOLE, kept.BEGINNING)}


def test_junk_in_events_is_left_out() -> None:
    builder = samples.zero()
    builder.events.clear()
    first = builder.add_raw("model.request", {"call": "one"})
    builder.events[0] = first._replace(ts="yesterday")
    builder.add_raw("model.request", {"call": 1, "provider": 7})
    builder.add_raw("fs.change", {"path": "../x"})
    builder.add_raw("model.response", {"call": 9, "response_retained": True, "response_path": 7, "usage": 7})
    builder.events[-1] = builder.events[-1]._replace(ts="tomorrow")
    found = told_of(builder)
    assert found.calls[0].elapsed_ms is None
    assert [(call.kind, call.provider) for call in found.calls] == [("billed", ""), (OPEN, "7")]
    assert found.calls[0].tokens == (0, 0, 0)
    assert (found.left_out["changes"], found.kept) == (1, {})


def test_an_instant_without_an_offset_is_taken_for_utc() -> None:
    builder = samples.zero()
    builder.events[0] = builder.events[0]._replace(ts="2026-10-01T12:00:00")
    reading = Reading()
    reading.take(builder.events[0])
    call = builder.add_raw("model.denied", {"reason": "max_usd"})
    reading.take(call)
    assert reading.finish().calls[0].elapsed_ms == call.seq * 1000 + 250


def test_the_types_that_are_looked_at() -> None:
    assert {"model.response", "fs.change", "note"} <= TOLD
    assert {"model.response", "fs.change", "x-docket.pool-use"} <= READ
    assert not {"session.start", "proc.spawn"} & (TOLD | READ)
