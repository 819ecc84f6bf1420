"""What cannot have happened to a transaction is refused, each by its own sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from docket.formats.digest import Digest
from docket.formats.ledger.workspace_events import RefusedChange, WorkspaceRefused, WorkspaceSettled
from docket.formats.relpath import RelPath
from docket.formats.workspace.scope import Decision, Settled
from docket.rules.checks.workspace_course import WorkspaceCourse, WorkspaceEvent
from golden_ledgers.staged import INTENT, OPENED

LANDED = WorkspaceSettled(
    transaction=OPENED.transaction, outcome=Settled.COMMITTED, plan_sha256=Digest("d4" * 32), applied=0, already=1
)
REFUSED = WorkspaceSettled(transaction=OPENED.transaction, outcome=Settled.REFUSED, reason="base-drift", detail="x")
DISCARDED = replace(REFUSED, outcome=Settled.DISCARDED, reason="agent-failed")
CUT_SHORT = replace(REFUSED, outcome=Settled.INTERRUPTED, reason="write-failed")
GIVEN_UP = replace(INTENT, decision=Decision.DISCARD, reason="agent-failed", detail="x")
NO = WorkspaceRefused(reason="nested", detail="x")
PATH = RefusedChange(path=RelPath(b"a"), reason="changed-since")


def fault(*events: WorkspaceEvent, has_process: bool = True, has_pass_after: bool = True) -> str | None:
    course = WorkspaceCourse()
    for event in events:
        begins = event is OPENED or event is NO or type(event) is type(OPENED)
        found = course.take(event, has_process=has_process and not begins, has_pass_after=has_pass_after and not begins)
        if found is not None:
            return found
    return None


@pytest.mark.parametrize(
    "events",
    [
        (OPENED,),
        (NO,),
        (OPENED, INTENT),
        (OPENED, INTENT, LANDED),
        (OPENED, INTENT, replace(LANDED, applied=1, already=0)),
        (OPENED, INTENT, REFUSED),
        (OPENED, INTENT, DISCARDED),
        (OPENED, INTENT, CUT_SHORT),
        (OPENED, GIVEN_UP, DISCARDED),
        (OPENED, DISCARDED),
    ],
)
def test_what_can_have_happened(events: tuple[WorkspaceEvent, ...]) -> None:
    assert fault(*events) is None


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ((OPENED, OPENED), "opened or refused once"),
        ((NO, OPENED), "opened or refused once"),
        ((INTENT,), "another transaction"),
        ((NO, INTENT), "another transaction"),
        ((OPENED, replace(INTENT, transaction="ffffffffffff")), "another transaction"),
        ((OPENED, INTENT, replace(LANDED, transaction="ffffffffffff")), "another transaction"),
        ((OPENED, LANDED), "without an intent"),
        ((OPENED, CUT_SHORT), "without an intent"),
        ((OPENED, GIVEN_UP, CUT_SHORT), "the intent was to discard"),
        ((OPENED, INTENT, replace(CUT_SHORT, reason=None)), "no reason is given"),
        ((OPENED, INTENT, replace(CUT_SHORT, plan_sha256=Digest("d4" * 32))), "a plan is named"),
        ((OPENED, GIVEN_UP, LANDED), "the intent was to discard"),
        ((OPENED, INTENT, replace(REFUSED, outcome=Settled.LEFT_FOR_REVIEW)), "the intent was to commit"),
        ((replace(OPENED, unread=0),), "0 files are unread of 3"),
        ((replace(OPENED, unread=4),), "4 files are unread of 3"),
        ((replace(OPENED, approved=False), INTENT), "approval is run"),
        ((OPENED, replace(INTENT, approval="diff")), "approval is diff"),
        ((OPENED, replace(INTENT, reason="x")), "a reason stands where"),
        ((OPENED, replace(GIVEN_UP, reason=None)), "a reason stands where"),
        ((OPENED, replace(INTENT, excluded_write_count=0)), "excluded_write_count"),
        ((replace(OPENED, approved=False), replace(INTENT, approval="none"), LANDED), "without an approval"),
        ((OPENED, INTENT, replace(LANDED, already=2)), "not the 1 changes"),
        ((OPENED, INTENT, replace(LANDED, plan_sha256=None)), "not the 1 changes"),
        ((OPENED, INTENT, replace(LANDED, reason="x")), "a reason stands beside"),
        ((OPENED, INTENT, replace(REFUSED, reason=None)), "no reason is given"),
        ((OPENED, INTENT, replace(REFUSED, applied=1)), "a plan is named"),
        ((OPENED, INTENT, replace(REFUSED, refusals=(PATH,))), "refused is less"),
    ],
)
def test_what_cannot_have_happened(events: tuple[WorkspaceEvent, ...], said: str) -> None:
    assert said in (fault(*events) or "")


def test_what_stands_too_early_or_too_late() -> None:
    late, early = WorkspaceCourse(), WorkspaceCourse()
    assert "before any process" in (late.take(OPENED, has_process=True, has_pass_after=False) or "")
    assert early.take(OPENED, has_process=False, has_pass_after=False) is None
    assert "before the pass after" in (early.take(INTENT, has_process=True, has_pass_after=False) or "")
