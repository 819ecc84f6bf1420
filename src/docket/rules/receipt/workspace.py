"""The fold over a workspace transaction: the receipt member `workspace`.

Rules (spec/receipt.md, Workspace):
1. The member stands where a transaction was opened or refused, and nowhere else.
2. `committed` is true only where the ledger says so after an intent to commit; what never settled is `unsettled`. Of
   an `interrupted` commit it is not known what it left, and `committed` claims nothing more than that it is not over.
3. `digests_cover` stands where files were not read, and nowhere else.
4. `not_transactional` is the whole list, always: what a transaction says nothing about.
"""

from __future__ import annotations

from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.ledger.payload_codec import to_members
from docket.formats.ledger.workspace_events import (
    WorkspaceIntent,
    WorkspaceOpened,
    WorkspaceRefused,
    WorkspaceSettled,
)
from docket.formats.workspace.scope import NOT_TRANSACTIONAL, UNSETTLED, Settled

NOT_OPENED = "not-opened"
COVERS_CHANGES = "changes"
"""What `base_sha256` and `result_sha256` cover the contents of, where not every file was read."""


@dataclass(slots=True)
class WorkspaceFold:
    """The events of one transaction."""

    opened: WorkspaceOpened | None = None
    refused: WorkspaceRefused | None = None
    intent: WorkspaceIntent | None = None
    settled: WorkspaceSettled | None = None

    def take(self, payload: WorkspaceOpened | WorkspaceRefused | WorkspaceIntent | WorkspaceSettled) -> None:
        """Take the next event of the transaction."""
        match payload:
            case WorkspaceOpened():
                self.opened = payload
            case WorkspaceRefused():
                self.refused = payload
            case WorkspaceIntent():
                self.intent = payload
            case _:
                self.settled = payload

    def member(self) -> dict[str, JsonValue] | None:
        """Return the receipt member."""
        if self.opened is None:
            return None if self.refused is None else _not_opened(self.refused)
        return {
            **_of_opening(self.opened),
            **self._outcome(),
            **_of_intent(self.intent),
            "not_transactional": list(NOT_TRANSACTIONAL),
        }

    def _outcome(self) -> dict[str, JsonValue]:
        settled = self.settled
        if settled is None:
            return {"committed": False, "outcome": UNSETTLED, "reason": None, "detail": None}
        return {
            "committed": settled.outcome is Settled.COMMITTED,
            "outcome": str(settled.outcome),
            "reason": settled.reason,
            "detail": settled.detail,
            "plan_sha256": settled.plan_sha256,
            "applied": settled.applied,
            "already": settled.already,
            "refused": settled.refused,
            "refusals": [to_members(item) for item in settled.refusals or ()],
        }


def _not_opened(refused: WorkspaceRefused) -> dict[str, JsonValue]:
    return {
        "committed": False,
        "outcome": NOT_OPENED,
        "reason": refused.reason,
        "detail": refused.detail,
        "not_transactional": list(NOT_TRANSACTIONAL),
    }


def _of_opening(opened: WorkspaceOpened) -> dict[str, JsonValue]:
    return {
        "transaction": opened.transaction,
        "backend": str(opened.backend),
        "view": str(opened.view),
        "settle": opened.settle,
        "base_sha256": opened.manifest_sha256,
        **({} if opened.unread is None else {"digests_cover": COVERS_CHANGES, "unread": opened.unread}),
        "surface": {"excluded": opened.excluded, "shared": opened.shared, "protected": opened.protected},
        "approved": opened.approved,
        "staged": {
            "files": opened.files,
            "directories": opened.directories,
            "symlinks": opened.symlinks,
            "bytes": opened.bytes_staged,
            "not_preserved": opened.not_preserved,
        },
        "store": opened.store,
    }


def _of_intent(intent: WorkspaceIntent | None) -> dict[str, JsonValue]:
    if intent is None:
        return {}
    return {
        "decision": {"is": str(intent.decision), "reason": intent.reason, "detail": intent.detail},
        "result_sha256": intent.result_sha256,
        "diff_sha256": intent.diff_sha256,
        "changes": {
            "added": intent.added,
            "modified": intent.modified,
            "removed": intent.removed,
            "retyped": intent.retyped,
        },
        "protected_changes": intent.protected,
        "approval": intent.approval,
        "base_moved": intent.base_moved,
        "not_preserved": [to_members(item) for item in intent.not_preserved],
        "excluded_writes": [to_members(item) for item in intent.excluded_writes],
        "excluded_write_count": intent.excluded_write_count,
    }
