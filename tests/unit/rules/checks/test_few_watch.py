"""What a watch is not shown has no effect on it: it says nothing of such an event, and goes on as if it were not."""

from __future__ import annotations

from copy import deepcopy

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
