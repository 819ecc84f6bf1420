"""The payloads of workspace transactions (spec/ledger.md, Vocabulary)."""

from __future__ import annotations

from typing import ClassVar

from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.tree_events import OmittedPath
from docket.formats.relpath import RelPath
from docket.formats.workspace.scope import BackendName, Decision, Settled, View


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceOpened(Payload):
    """The agent works on a stage of the tree; what the passes after see is the stage.

    `manifest_sha256` names the base's staged part, the counts are of what was staged; `excluded`, `shared` and
    `protected` count selectors, `approved` whether protected paths may land in this run. `not_preserved` counts what
    the stage lacks of the base. `store` is the transaction's folder. `unread` counts the files whose contents were not
    read when they were staged: their digests are in `manifest_sha256` for none of them.
    """

    TYPE: ClassVar[str] = "x-docket.workspace-opened"
    transaction: str
    backend: BackendName
    view: View
    settle: str
    manifest_sha256: Digest
    files: int
    directories: int
    symlinks: int
    bytes_staged: int
    excluded: int
    shared: int
    protected: int
    approved: bool
    not_preserved: int
    store: str
    unread: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceRefused(Payload):
    """A transaction was asked for and could not be opened: the agent was not started."""

    TYPE: ClassVar[str] = "x-docket.workspace-refused"
    reason: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcludedWrite:
    """A path that the run wrote though it was not staged; it does not land."""

    path: RelPath


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceIntent(Payload):
    """What is about to become of the stage, durable before anything of the tree changes.

    `diff_sha256` names the change set between `manifest_sha256` of the opening and `result_sha256` of the stage;
    `protected` counts its paths that an approval is needed for, `approval` what the approval is bound to: `none`,
    `run` or `diff`. `base_moved`: the tree itself is not what it was when it was staged.
    """

    TYPE: ClassVar[str] = "x-docket.workspace-intent"
    transaction: str
    decision: Decision
    reason: str | None = None
    detail: str | None = None
    result_sha256: Digest
    diff_sha256: Digest
    added: int
    modified: int
    removed: int
    retyped: int
    protected: int
    approval: str
    base_moved: bool
    not_preserved: tuple[OmittedPath, ...]
    excluded_writes: tuple[ExcludedWrite, ...]
    excluded_write_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedChange:
    """A path because of which nothing landed; `transaction` is the other one that landed there meanwhile."""

    path: RelPath
    reason: str
    detail: str | None = None
    transaction: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceSettled(Payload):
    """What became of the stage; `refusals` are the first paths because of which nothing landed."""

    TYPE: ClassVar[str] = "x-docket.workspace-settled"
    transaction: str
    outcome: Settled
    reason: str | None = None
    detail: str | None = None
    plan_sha256: Digest | None = None
    applied: int | None = None
    already: int | None = None
    refused: int | None = None
    refusals: tuple[RefusedChange, ...] | None = None
