"""Runs whose agent worked on a stage: one that landed, one that was refused, and ones that never landed."""

from __future__ import annotations

from dataclasses import replace

from docket.formats.digest import Digest
from docket.formats.ledger.session_events import ExitSource
from docket.formats.ledger.tree_events import OmittedPath, Phase
from docket.formats.ledger.workspace_events import (
    ExcludedWrite,
    RefusedChange,
    WorkspaceIntent,
    WorkspaceOpened,
    WorkspaceRefused,
    WorkspaceSettled,
)
from docket.formats.relpath import RelPath
from docket.formats.workspace.scope import BackendName, Decision, Settled, View
from golden_ledgers.build import LedgerBuilder, added, budget, end, exited, policy, snapshot, spawn, start

OPENED = WorkspaceOpened(
    transaction="00112233aabb",
    backend=BackendName.COPY,
    view=View.STAGE,
    settle="auto",
    manifest_sha256=Digest("a1" * 32),
    files=3,
    directories=1,
    symlinks=0,
    bytes_staged=30,
    excluded=1,
    shared=0,
    protected=2,
    approved=True,
    not_preserved=1,
    store="/home/dev/.local/state/docket/workspace-tx/00112233aabb",
)
INTENT = WorkspaceIntent(
    transaction="00112233aabb",
    decision=Decision.COMMIT,
    result_sha256=Digest("b2" * 32),
    diff_sha256=Digest("c3" * 32),
    added=1,
    modified=0,
    removed=0,
    retyped=0,
    protected=1,
    approval="run",
    base_moved=False,
    not_preserved=(OmittedPath(path=RelPath.parse(b"run/agent.sock"), reason="special-file"),),
    excluded_writes=(ExcludedWrite(path=RelPath.parse(b"caf\xe9.log")),),
    excluded_write_count=1,
)


def landed() -> LedgerBuilder:
    """One file was added, under a protected path that was approved for the run, and landed."""
    ledger = _worked(OPENED)
    ledger.add(INTENT)
    ledger.add(
        WorkspaceSettled(
            transaction="00112233aabb",
            outcome=Settled.COMMITTED,
            plan_sha256=Digest("d4" * 32),
            applied=1,
            already=0,
        )
    )
    return _ended(ledger, 0, ExitSource.AGENT)


def nothing_changed() -> LedgerBuilder:
    """The agent only read: what landed is nothing, which is a commit all the same. No file but one was read either."""
    ledger = LedgerBuilder()
    opened = replace(OPENED, backend=BackendName.OVERLAY, view=View.BASE_PATH, approved=False, not_preserved=0)
    for event in (start(), policy(), replace(opened, unread=2), replace(snapshot(Phase.BEFORE, 3), unread=2)):
        ledger.add(event)
    for event in (spawn(), exited(0), replace(snapshot(Phase.AFTER, 3), unread=2)):
        ledger.add(event)
    nothing = replace(INTENT, added=0, protected=0, approval="none", result_sha256=OPENED.manifest_sha256)
    ledger.add(replace(nothing, not_preserved=(), excluded_writes=(), excluded_write_count=0))
    ledger.add(
        WorkspaceSettled(
            transaction="00112233aabb",
            outcome=Settled.COMMITTED,
            plan_sha256=Digest("d4" * 32),
            applied=0,
            already=0,
        )
    )
    return _ended(ledger, 0, ExitSource.AGENT)


def commit_refused() -> LedgerBuilder:
    """The file that was added stands in the tree by now, with another content: nothing landed."""
    ledger = _worked(replace(OPENED, backend=BackendName.OVERLAY, view=View.BASE_PATH, approved=False, shared=1))
    ledger.add(replace(INTENT, protected=0, approval="none", base_moved=True, not_preserved=()))
    ledger.add(
        WorkspaceSettled(
            transaction="00112233aabb",
            outcome=Settled.REFUSED,
            reason="base-drift",
            detail="src/new.py changed in the tree since it was staged",
            refused=1,
            refusals=(
                RefusedChange(
                    path=RelPath.parse(b"src/new.py"),
                    reason="changed-since",
                    detail="a file stands there",
                    transaction="44556677ccdd",
                ),
            ),
        )
    )
    return _ended(ledger, 44, ExitSource.DOCKET)


def commit_interrupted() -> LedgerBuilder:
    """The commit had begun, and not all of it could be put back: what stands in the tree, a recovery tells."""
    ledger = _worked(OPENED)
    ledger.add(INTENT)
    ledger.add(
        WorkspaceSettled(
            transaction="00112233aabb",
            outcome=Settled.INTERRUPTED,
            reason="write-failed",
            detail="the disk said no; docket tx recover 00112233aabb ends it",
            refused=1,
            refusals=(RefusedChange(path=RelPath.parse(b"src/new.py"), reason="write-failed"),),
        )
    )
    return _ended(ledger, 44, ExitSource.DOCKET)


def left_for_review() -> LedgerBuilder:
    """A person is to look at it first."""
    ledger = _worked(replace(OPENED, settle="review"))
    told = {"reason": "settle-review", "detail": "it waits for a review"}
    ledger.add(replace(INTENT, decision=Decision.REVIEW, **told))
    ledger.add(WorkspaceSettled(transaction="00112233aabb", outcome=Settled.LEFT_FOR_REVIEW, **told))
    return _ended(ledger, 0, ExitSource.AGENT)


def discarded() -> LedgerBuilder:
    """The agent failed; no commit was meant."""
    ledger = _worked(OPENED, 1)
    told = {"reason": "agent-failed", "detail": "the agent ended with 1"}
    ledger.add(replace(INTENT, decision=Decision.DISCARD, **told))
    ledger.add(WorkspaceSettled(transaction="00112233aabb", outcome=Settled.DISCARDED, **told))
    return _ended(ledger, 1, ExitSource.AGENT)


def not_staged() -> LedgerBuilder:
    """The tree cannot be staged: the agent never starts."""
    ledger = LedgerBuilder()
    ledger.add(start())
    ledger.add(policy())
    ledger.add(snapshot(Phase.BEFORE, 3))
    ledger.add(WorkspaceRefused(reason="nested", detail="the tree and the state folder lie in one another"))
    return _ended(ledger, 43, ExitSource.DOCKET)


def _worked(opened: WorkspaceOpened, exit_code: int = 0) -> LedgerBuilder:
    ledger = LedgerBuilder()
    ledger.add(start())
    ledger.add(policy())
    ledger.add(snapshot(Phase.BEFORE, 3))
    ledger.add(opened)
    ledger.add(spawn())
    ledger.add(exited(exit_code))
    ledger.add(added(b"src/new.py"))
    ledger.add(snapshot(Phase.AFTER, 4, "22"))
    return ledger


def _ended(ledger: LedgerBuilder, exit_code: int, source: ExitSource) -> LedgerBuilder:
    ledger.add(budget("0.00"))
    ledger.add(end("0.00", exit_code, exit_source=source))
    return ledger
