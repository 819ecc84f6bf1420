"""The course of a workspace transaction in docket's own ledger (spec/receipt.md, Checks: `session-shape`).

Rules:
1. A transaction is opened or refused once, before any process; what follows names the one that was opened. Unread are
   some of its files, if any.
2. Its intent stands behind the pass after; what became of it behind its intent and as the intent allows. Without an
   intent it can only have been discarded.
3. What landed had an approval where it needed one, an approval for the run only where the opening gives it, and one
   step for each change. What did not land, or of which only a recovery can say whether it did, says why, and names
   no plan.
"""

from __future__ import annotations

from typing import TypeAlias

from docket.formats.dataclass import dataclass
from docket.formats.ledger.workspace_events import (
    WorkspaceIntent,
    WorkspaceOpened,
    WorkspaceRefused,
    WorkspaceSettled,
)
from docket.formats.workspace.scope import Decision, Settled

WorkspaceEvent: TypeAlias = WorkspaceOpened | WorkspaceRefused | WorkspaceIntent | WorkspaceSettled
WORKSPACE_EVENTS = (WorkspaceOpened, WorkspaceRefused, WorkspaceIntent, WorkspaceSettled)
_OUTCOMES = {
    Decision.COMMIT: (Settled.COMMITTED, Settled.REFUSED, Settled.INTERRUPTED),
    Decision.REVIEW: (Settled.LEFT_FOR_REVIEW,),
    Decision.DISCARD: (Settled.DISCARDED,),
}
_NO_APPROVAL, _FOR_THE_RUN = "none", "run"


@dataclass(slots=True)
class WorkspaceCourse:
    """What a ledger has told of its transaction so far."""

    begun: bool = False
    opened: WorkspaceOpened | None = None
    intent: WorkspaceIntent | None = None

    def take(self, payload: WorkspaceEvent, *, has_process: bool, has_pass_after: bool) -> str | None:
        """Return what is wrong with the next event of a transaction, or None."""
        match payload:
            case WorkspaceOpened() | WorkspaceRefused():
                if self.begun or has_process:
                    return "a transaction is opened or refused once, before any process"
                self.begun = True
                self.opened = payload if isinstance(payload, WorkspaceOpened) else None
                return None if self.opened is None else _of_opening(self.opened)
            case WorkspaceIntent():
                if not has_pass_after:
                    return "what is to become of the stage stands before the pass after"
        if self.opened is None or payload.transaction != self.opened.transaction:
            return "it is about another transaction than the one that was opened"
        if isinstance(payload, WorkspaceIntent):
            self.intent = payload
            return _of_intent(payload, self.opened)
        return self._settled(payload)

    def _settled(self, settled: WorkspaceSettled) -> str | None:
        intent = self.intent
        if intent is None:
            return None if settled.outcome is Settled.DISCARDED else "the stage was settled without an intent"
        fell_short = intent.decision is Decision.COMMIT and settled.outcome is Settled.DISCARDED
        if settled.outcome not in _OUTCOMES[intent.decision] and not fell_short:
            return f"the stage is {settled.outcome}, and the intent was to {intent.decision}"
        return _landed(settled, intent) if settled.outcome is Settled.COMMITTED else _not_landed(settled)


def _of_opening(opened: WorkspaceOpened) -> str | None:
    if opened.unread is None or 0 < opened.unread <= opened.files:
        return None
    return f"{opened.unread} files are unread of {opened.files}"


def _of_intent(intent: WorkspaceIntent, opened: WorkspaceOpened) -> str | None:
    if intent.approval != (_FOR_THE_RUN if opened.approved else _NO_APPROVAL):
        return f"approval is {intent.approval}, which the opening does not bear out"
    if (intent.decision is Decision.COMMIT) is not (intent.reason is None):
        return "a reason stands where something else than a commit is meant, and only there"
    if intent.excluded_write_count < len(intent.excluded_writes):
        return "excluded_write_count is less than what is named"
    return None


def _landed(settled: WorkspaceSettled, intent: WorkspaceIntent) -> str | None:
    if intent.protected and intent.approval == _NO_APPROVAL:
        return "protected paths landed without an approval"
    changes = intent.added + intent.modified + intent.removed + intent.retyped
    if settled.plan_sha256 is None or (settled.applied or 0) + (settled.already or 0) != changes:
        return f"what landed is not the {changes} changes of the intent"
    return None if settled.reason is None else "a reason stands beside what landed"


def _not_landed(settled: WorkspaceSettled) -> str | None:
    if settled.reason is None:
        return "nothing landed, and no reason is given"
    if (settled.plan_sha256, settled.applied, settled.already) != (None, None, None):
        return "nothing landed, and a plan is named"
    if (settled.refused or 0) < len(settled.refusals or ()):
        return "refused is less than what is named"
    return None
