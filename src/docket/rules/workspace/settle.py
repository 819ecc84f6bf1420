"""Whether a run's stage lands: one rule over the facts of the run's end.

Rules (spec/workspace.md, Settling):
1. A run commits only if the agent ended by itself with 0, nothing was breached, signalled or interrupted, no process
   of it is left, the stage stood still, no path changed that the policy forbids to change, its last model call was
   neither refused nor broken, and the ledger is complete. Agents exit 0 on errors and on signals; what they say is one
   fact among others.
2. Anything else discards, with the first reason in the order of the rule.
3. `review` leaves to a person what `auto` would commit; `discard` never lands anything. A stage that was discarded is
   kept, and may be landed after review.
"""

from __future__ import annotations

from collections.abc import Iterable

from docket.formats.dataclass import dataclass
from docket.formats.ledger.event import Event
from docket.formats.ledger.model_events import ModelDenied, ModelError, ModelRequest, ModelResponse, Outcome
from docket.formats.ledger.vocabulary import read_payload
from docket.formats.reason import Reason
from docket.formats.run.policy import WorkspaceSettle
from docket.formats.workspace.scope import Decision

_HTTP_ERRORS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class EndFacts:
    """How a run ended. `agent_exit` is None where the agent did not end by itself; `last_call` says what was wrong.

    `moved` is a path of the stage that somebody changed when no process of the run was left.
    """

    agent_exit: int | None
    breached: str | None = None
    interrupted: bool = False
    survivors: int = 0
    violations: int = 0
    moved: str | None = None
    last_call: str | None = None
    ledger_complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is to be done, and why where it is not a commit."""

    decision: Decision
    reason: Reason | None = None
    detail: str | None = None


def settle(facts: EndFacts, mode: WorkspaceSettle) -> Verdict:
    """Return what the end of the run means for its stage."""
    against = _against(facts)
    if against is not None:
        return Verdict(decision=Decision.DISCARD, reason=against[0], detail=against[1])
    match mode:
        case WorkspaceSettle.DISCARD:
            return Verdict(decision=Decision.DISCARD, reason=Reason.SETTLE_DISCARD, detail="the run was asked to")
        case WorkspaceSettle.REVIEW:
            return Verdict(decision=Decision.REVIEW, reason=Reason.SETTLE_REVIEW, detail="it waits for a review")
        case _:
            return Verdict(decision=Decision.COMMIT)


def _against(facts: EndFacts) -> tuple[Reason, str] | None:
    if facts.breached is not None:
        return Reason.RUN_BREACHED, f"the run reached its cap {facts.breached}"
    if facts.interrupted:
        return Reason.RUN_INTERRUPTED, "the run was interrupted"
    if facts.agent_exit is None:
        return Reason.AGENT_FAILED, "the agent did not end by itself"
    if facts.agent_exit:
        return Reason.AGENT_FAILED, f"the agent ended with {facts.agent_exit}"
    if facts.survivors:
        return Reason.STILL_RUNNING, "processes of the run are still there, and may go on writing"
    if facts.moved is not None:
        return Reason.CHANGED_WHILE_READ, f"{facts.moved} changed in the stage after the run had ended"
    if facts.violations:
        return Reason.POLICY_VIOLATED, f"the run changed {facts.violations} paths that the policy forbids to change"
    if facts.last_call is not None:
        return Reason.LAST_CALL_FAILED, f"the run's last model call {facts.last_call}"
    if not facts.ledger_complete:
        return Reason.EVIDENCE_FAILED, "the run's ledger is not complete"
    return None


class LastCall:
    """Follows a ledger's calls; `trouble` says in words what was wrong with the one that was begun last.

    A reply that the agent itself did not wait for is no trouble: it ended without needing it.
    """

    def __init__(self) -> None:
        self._call: int | None = None
        self.trouble: str | None = None

    def take(self, event: Event) -> None:
        """Take the next event."""
        payload = read_payload(event)
        match payload:
            case ModelRequest():
                self._call, self.trouble = payload.call, "was never settled"
            case ModelDenied():
                self._call, self.trouble = None, f"was refused ({payload.reason})"
            case ModelResponse() if payload.call == self._call:
                self.trouble = None if _is_whole(payload) else f"was broken ({payload.outcome})"
            case ModelError() if payload.call == self._call:
                gone = payload.reason == Reason.CLIENT_GONE
                self.trouble = None if gone else f"failed ({payload.reason})"
            case _:
                pass


def _is_whole(payload: ModelResponse) -> bool:
    return payload.status < _HTTP_ERRORS and payload.outcome in (Outcome.COMPLETE, Outcome.CLIENT_GONE)


def last_call_trouble(events: Iterable[Event]) -> str | None:
    """Return in words what was wrong with a ledger's last model call, None where nothing was."""
    last = LastCall()
    for event in events:
        last.take(event)
    return last.trouble
