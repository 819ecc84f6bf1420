"""The course of a workspace transaction: which status may follow which, and what is said of one whose owner is gone.

Rules (spec/workspace.md, States):
1. `Open -> Closed -> Committed | Refused`, and what is open or closed may be discarded. A commit passes through
   `committing`, which is durable before the first path of the base changes.
2. What was refused or discarded still has its stage: it may be landed after a review. What was committed is over.
3. One that is open or committing and whose owner is surely gone is interrupted. From there it may be discarded if it
   never began to commit; else only recovery says what it is.

Pure: who lives is told by `host.liveness`.
"""

from __future__ import annotations

from enum import StrEnum

from docket.formats.workspace.state import Status


class Move(StrEnum):
    """What can happen to a transaction."""

    CLOSE = "close"
    BEGIN = "begin"
    COMMIT = "commit"
    REFUSE = "refuse"
    DISCARD = "discard"


class Standing(StrEnum):
    """How a transaction is seen: its status, or that it was interrupted."""

    OPEN = "open"
    CLOSED = "closed"
    COMMITTING = "committing"
    COMMITTED = "committed"
    REFUSED = "refused"
    DISCARDED = "discarded"
    INTERRUPTED = "interrupted"
    INTERRUPTED_COMMIT = "interrupted-commit"


MOVES: dict[tuple[Status, Move], Status] = {
    (Status.OPEN, Move.CLOSE): Status.CLOSED,
    (Status.OPEN, Move.DISCARD): Status.DISCARDED,
    (Status.CLOSED, Move.BEGIN): Status.COMMITTING,
    (Status.CLOSED, Move.REFUSE): Status.REFUSED,
    (Status.CLOSED, Move.DISCARD): Status.DISCARDED,
    (Status.COMMITTING, Move.COMMIT): Status.COMMITTED,
    (Status.COMMITTING, Move.REFUSE): Status.REFUSED,
    (Status.REFUSED, Move.BEGIN): Status.COMMITTING,
    (Status.REFUSED, Move.REFUSE): Status.REFUSED,
    (Status.REFUSED, Move.DISCARD): Status.DISCARDED,
    (Status.DISCARDED, Move.BEGIN): Status.COMMITTING,
    (Status.DISCARDED, Move.REFUSE): Status.REFUSED,
    (Status.DISCARDED, Move.DISCARD): Status.DISCARDED,
}
"""Every move there is; what is not in it cannot happen."""

TERMINAL = frozenset((Standing.COMMITTED, Standing.REFUSED, Standing.DISCARDED))
_UNDER_WAY = {
    Status.OPEN: Standing.INTERRUPTED,
    Status.COMMITTING: Standing.INTERRUPTED_COMMIT,
}


def after(status: Status, move: Move) -> Status | None:
    """Return the status that a move leads to, None where it cannot happen."""
    return MOVES.get((status, move))


def standing(status: Status, *, owner_is_gone: bool) -> Standing:
    """Return how a transaction is seen."""
    if owner_is_gone and status in _UNDER_WAY:
        return _UNDER_WAY[status]
    return Standing(status.value)
