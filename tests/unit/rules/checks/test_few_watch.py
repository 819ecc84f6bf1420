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
    # The families compare by identity; what has been looked up in them is all that could change.
    return {name: dict(item._found) if isinstance(item, Families) else item for name, item in found.items()}


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
