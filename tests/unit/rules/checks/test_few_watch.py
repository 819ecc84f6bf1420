"""What a watch is not shown has no effect on it: it says nothing of such an event, and goes on as if it were not."""

from __future__ import annotations

from copy import deepcopy

from hypothesis import given
from hypothesis import strategies as st

from docket.formats.ledger.event import GENESIS, draft, seal
from docket.formats.ledger.lines import follow
from docket.rules.checks.ledger_pass import FEW_WATCH, LedgerPass
from docket.rules.receipt.families import Families
from docket.rules.receipt.fold import read_payload_at
from golden_ledgers.samples import ALL


def state(watch):
    found = {name: getattr(watch, name) for name in watch.__slots__}
    return {name: known(item) for name, item in found.items()}


def known(item):
    if isinstance(item, Families):
        return dict(item._found)  # what has been looked up in them is all that could change
    if type(item).__eq__ is object.__eq__ and hasattr(item, "__slots__"):
        return {name: getattr(item, name) for name in item.__slots__}
    return item


def test_a_watch_that_is_not_shown_an_event_would_do_nothing_with_it():
    seen = set()
    for build in ALL.values():
        watches = LedgerPass().watches
        for event in follow([build().data()]):
            payload = read_payload_at(event)
            shown = FEW_WATCH.get(type(payload), tuple(watches))
            for name, watch in watches.items():
                if name in shown:
                    watch.take(event, payload)
                    continue
                seen.add((type(payload), name))
                before = deepcopy(state(watch))
                assert watch.take(event, payload) is None
                assert state(watch) == before
    assert len(seen) == sum(8 - len(names) for names in FEW_WATCH.values())


def test_behind_the_end_every_event_is_for_every_watch():
    (end,) = [event for event in follow([ALL["anthropic"]().data()]) if event.type == "session.end"]
    for build in ALL.values():
        for event in follow([build().data()]):
            if type(read_payload_at(event)) in FEW_WATCH:
                taken = LedgerPass(ours=True)
                taken._take_ours(end)
                taken._take_ours(event)
                assert taken.faults["session-shape"] == f"event {event.seq} ({event.type}): it stands after session.end"


EVENTS = {name: tuple(follow([build().data()])) for name, build in ALL.items()}
COURSES = [name for name, events in EVENTS.items() if any(type(read_payload_at(one)) in FEW_WATCH for one in events)]


def sealed_anew(events):
    """The events in their new order, with new numbers and links."""
    found, prev = [], GENESIS
    for seq, event in enumerate(events):
        found.append(seal(draft(event.type, event.data), seq=seq, ts=event.ts, prev=prev))
        prev = found[-1].hash
    return found


@given(st.sampled_from(COURSES), st.data())
def test_a_ledger_out_of_order_is_judged_as_if_every_watch_saw_all_of_it(name, data):
    events = list(EVENTS[name])
    for _ in range(data.draw(st.integers(1, 3))):
        at, to = (data.draw(st.integers(0, len(events) - 1)) for _ in range(2))
        event = events[at] if data.draw(st.booleans()) else events.pop(at)
        events.insert(to, event)
    few, every = LedgerPass(), LedgerPass()
    every._few = {}
    for event in sealed_anew(events):
        few.take(event)
        every.take(event)
    assert few.faults == every.faults
    assert (few.kept, few.checkpoints) == (every.kept, every.checkpoints)
    if few.ours:
        assert few.fold.result() == every.fold.result()
