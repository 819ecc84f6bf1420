"""Redacted copies: both verifiers say of them what they say of the records that they are made from."""

from __future__ import annotations

from docket.formats.ledger.redaction_facts import Profile
from docket.rules.redaction.copy import CopyAsked, redacted
from golden_ledgers import planted, samples
from golden_ledgers.judging import receipt_of
from verify_js import in_node

pytestmark = in_node.needs_node


def test_copies_of_every_sample_are_judged_alike() -> None:
    pairs = []
    for name, sample in samples.ALL.items():
        if name not in ("busy", "hidden"):  # what is unknown to this version, and what is a copy already, is not copied
            for profiles in (frozenset(Profile), frozenset((Profile.PATHS,))):
                asked = CopyAsked(profiles=profiles, key=b"k" * 32, opening=b"o" * 32)
                events = sample().events if name == "checkpointed" else planted.planted(name)
                raw = planted.lines(redacted(events, asked))
                pairs.append(in_node.pair(f"{name} {sorted(profiles)}", receipt_of(raw), raw))
    assert in_node.disagreements(pairs) == []
    assert {str(pair.verdict.word) for pair in pairs} == {"consistent", "incomplete"}
