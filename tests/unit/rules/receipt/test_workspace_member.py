"""The receipt member `workspace` of runs whose record ends early."""

from __future__ import annotations

from docket.formats.workspace.scope import NOT_TRANSACTIONAL
from docket.rules.receipt.workspace import WorkspaceFold
from golden_ledgers.staged import INTENT, OPENED


def test_a_run_without_a_transaction_has_none() -> None:
    assert WorkspaceFold().member() is None


def test_a_stage_of_which_nothing_more_is_told_did_not_land() -> None:
    for events in ((OPENED,), (OPENED, INTENT)):
        fold = WorkspaceFold()
        for event in events:
            fold.take(event)
        member = fold.member()
        assert member is not None
        told = {name: member[name] for name in ("committed", "outcome", "reason", "detail")}
        assert told == {"committed": False, "outcome": "unsettled", "reason": None, "detail": None}
        assert member["not_transactional"] == list(NOT_TRANSACTIONAL)
        assert ("diff_sha256" in member) is (INTENT in events)
