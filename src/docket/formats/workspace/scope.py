"""What a workspace transaction says nothing about, and the words of its settling.

Rules:
1. `NOT_TRANSACTIONAL` is the one list: it is printed, stands in every receipt of such a run, and a receipt that lacks
   a token of it is no receipt.
2. A transaction is about when writes to the declared surface become durable. It confines nothing.
"""

from __future__ import annotations

from enum import StrEnum

NOT_TRANSACTIONAL = (
    "network-calls",
    "database-writes",
    "processes-started",
    "paths-outside-the-declared-surface",
)


UNSETTLED = "unsettled"
"""What a receipt says of a stage of which the record says nothing more: its run was cut short."""


class BackendName(StrEnum):
    """The backends, as policy, state and receipt spell them."""

    COPY = "copy"
    REFLINK = "reflink"
    OVERLAY = "overlay"


class View(StrEnum):
    """Where the agent sees the stage: in a directory of its own, or at the base's own path."""

    STAGE = "stage"
    BASE_PATH = "base-path"


class Decision(StrEnum):
    """What the end of a run means for its stage."""

    COMMIT = "commit"
    REVIEW = "review"
    DISCARD = "discard"


class Settled(StrEnum):
    """What became of a transaction at the end of its run."""

    COMMITTED = "committed"
    REFUSED = "refused"
    DISCARDED = "discarded"
    LEFT_FOR_REVIEW = "left-for-review"
    INTERRUPTED = "interrupted"
