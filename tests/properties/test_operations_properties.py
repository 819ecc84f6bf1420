"""Whatever is said, however it is cut: no assertion raises or forges, and a followed ledger is the ledger."""

from __future__ import annotations

import itertools
import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from docket.formats.ledger.event import Event
from docket.formats.ledger.lines import Follower, TornTail, follow
from docket.rules.boundary.assertions import BURST, EVENTS_PER_SECOND, AssertionDesk, Declined, read_assertion
from docket.stores.ledger_tail import LedgerTail
from golden_ledgers import samples

RAW = samples.busy().data()
EVENTS = samples.busy().events
TYPES = ("tool.call", "tool.result", "note", "x-docket.asserted-call", "session.end", "model.response", "x")
MEMBERS = (
    "name", "ok", "id", "code", "message", "detail", "provider", "model", "input_tokens", "cached_input_tokens",
    "output_tokens", "input_bytes", "input_sha256", "error", "reported_by", "cost_usd", "latency_ms",
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8) | st.just("ab" * 32),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(TYPES), st.dictionaries(st.sampled_from(MEMBERS), VALUES, max_size=8))
def test_what_is_taken_is_the_agents_and_of_four_types(type_: str, data: dict[str, Any]) -> None:
    read = read_assertion(json.dumps({"type": type_, "data": data}).encode())
    if isinstance(read, Declined):
        assert read.status == 400
        assert read.detail
        return
    written = read.to_data()
    assert written.pop("reported_by") == "agent"
    assert type_ == read.TYPE
    assert type_ in TYPES[:4]
    assert {name for name, value in data.items() if value is not None} == set(written)
    assert "cost_usd" not in written
    read.draft()


@given(st.binary(max_size=200))
def test_no_bytes_raise(body: bytes) -> None:
    assert isinstance(read_assertion(body), Declined) or body


@given(st.lists(st.integers(0, 10**9), max_size=400))
def test_no_pace_lets_more_through_than_the_burst_and_the_rate(gaps_ns: list[int]) -> None:
    desk, now, taken = AssertionDesk(max_events=10**9, max_bytes=10**9), 0, 0
    read = read_assertion(b'{"type": "tool.call", "data": {"name": "x"}}')
    assert not isinstance(read, Declined)
    for gap in [0] * (BURST + 10) + gaps_ns:
        now += gap
        taken += desk.admit(read, 1, now) is None
        assert taken <= BURST + now * EVENTS_PER_SECOND // 10**9


@given(st.lists(st.integers(0, len(RAW)), max_size=12))
def test_a_follower_gives_the_same_events_however_the_bytes_come(cuts: list[int]) -> None:
    places = sorted({0, len(RAW), *cuts})
    follower, found = Follower(), []
    for start, end in itertools.pairwise(places):
        found += list(follower.feed(RAW[start:end]))
        assert follower.expected == len(found)
        assert follower.offset + len(follower.pending) == end
    assert found == EVENTS


@given(st.integers(0, len(RAW)))
def test_following_and_reading_agree_on_every_prefix(end: int) -> None:
    items = list(follow([RAW[:end]]))
    whole = [item for item in items if not isinstance(item, TornTail)]
    assert whole == EVENTS[: RAW[:end].count(b"\n")]
    torn = RAW[:end].rpartition(b"\n")[2]
    assert [item.data for item in items if isinstance(item, TornTail)] == ([torn] if torn else [])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, len(RAW)), min_size=1, max_size=8))
def test_a_ledger_that_grows_and_is_cut_is_always_followed_to_what_stands(ends: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "l.jsonl"
        tail, seen = LedgerTail([path]), list[Event]()
        for end in ends:
            if path.exists() and end < path.stat().st_size:
                with path.open("r+b") as file:
                    file.truncate(end)
            else:
                with path.open("ab") as file:
                    file.write(RAW[path.stat().st_size : end])
            for item in tail.poll():
                if isinstance(item, Event):
                    seen.append(item)
                else:
                    seen.clear()
            assert seen == EVENTS[: RAW[:end].count(b"\n")]
