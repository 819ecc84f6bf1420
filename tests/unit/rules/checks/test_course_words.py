"""What a reader of the course takes as it stands, and who may say that a ceiling is reached."""

from __future__ import annotations

from docket.formats.ledger.cache_events import CEILING_EVENT
from docket.formats.ledger.session_events import Note
from docket.rules.checks.cache_course import HitOrigins
from docket.rules.checks.typed import typed
from golden_ledgers import samples


def test_only_docket_says_that_the_ceiling_is_reached() -> None:
    event = samples.zero().events[0]
    said = Note(code="cache-ceiling", message="x", event=CEILING_EVENT)
    told = Note(code="cache-ceiling", message="x", event=CEILING_EVENT, reported_by="agent")
    assert HitOrigins(max_hits=3, hits=3).take(event, said) is None
    assert HitOrigins(max_hits=3, hits=2).take(event, said) == "the policy's ceiling is not reached by 2 hits"
    assert HitOrigins(max_hits=3, hits=3).take(event, told) == "the agent may not say that the ceiling is reached"


def test_a_payload_that_was_read_is_not_read_again() -> None:
    event = samples.zero().events[0]
    note = Note(code="x", message="y")
    assert typed(event._replace(payload=note)) is note
    assert typed(event._replace(payload=None)) == typed(event)
