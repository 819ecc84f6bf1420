"""Copies of records: they verify, and nothing of what is hidden stands in them."""

from __future__ import annotations

import itertools

import pytest

from docket.formats.ledger.event import Event
from docket.formats.ledger.redaction_facts import Profile
from docket.rules.redaction.copy import CopyAsked, redacted
from golden_ledgers import samples
from golden_ledgers.judging import judged, receipt_of

KEY, OPENING = b"\x01" * 32, b"\x02" * 32
EVERY = frozenset(Profile)
SUBSETS = [frozenset(some) for size in (1, 2, 3, 4, 5) for some in itertools.combinations(Profile, size)]
NAMED = ("by_model", "assumed_price_models", "by_provider")
OURS = [name for name in samples.ALL if name not in ("busy", "hidden")]


def copied(events: list[Event], profiles: frozenset[Profile] = EVERY) -> list[Event]:
    return redacted(events, CopyAsked(profiles=profiles, key=KEY, opening=OPENING))


def raw_of(events: list[Event]) -> bytes:
    return b"".join(event.line + b"\n" for event in events)


@pytest.mark.parametrize("name", OURS)
def test_a_copy_of_every_sample_verifies_as_the_sample_does(name: str) -> None:
    events = samples.ALL[name]().events
    before = judged(receipt_of(raw_of(events)), raw_of(events))
    for profiles in (EVERY, *SUBSETS[:5]):
        raw = raw_of(copied(events, profiles))
        receipt = receipt_of(raw)
        verdict = judged(receipt, raw)
        assert (verdict.word, verdict.failures) == (before.word, before.failures)
        assert receipt["redaction"]["profiles"] == sorted(profiles)
        assert "redacted-copy" in receipt["limits_disclosure"]["codes"]


@pytest.mark.parametrize("name", OURS)
def test_numbers_types_instants_and_money_stay(name: str) -> None:
    events = samples.ALL[name]().events
    copy = copied(events, EVERY - {Profile.NAMES})
    assert [(event.seq, event.type, event.ts) for event in copy] == [
        (event.seq, event.type, event.ts) for event in events
    ]
    before, after = receipt_of(raw_of(events)), receipt_of(raw_of(copy))
    for member in ("totals", "model_calls", "caps", "event_counts", "network", "created_at", "docket_number"):
        assert after[member] == before[member]
    whole = receipt_of(raw_of(copied(events)))
    for sums in (before, whole):  # names of models stand in totals, too
        sums["totals"] = {name: value for name, value in sums["totals"].items() if name not in NAMED}
        sums["model_calls"] = {name: value for name, value in sums["model_calls"].items() if name not in NAMED}
    for member in ("totals", "model_calls", "caps", "event_counts", "network", "created_at", "docket_number"):
        assert whole[member] == before[member]
