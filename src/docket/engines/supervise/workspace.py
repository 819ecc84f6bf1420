"""The stage and settle phases: the agent works on a stage of the tree, and at the end its changes land, or do not.

Rules (spec/workspace.md, Order at the end of a run):
1. A run that was to have a transaction and cannot is refused before its agent starts, and the record says why.
2. While the stage stands, everything that observes the run observes the stage.
3. No process of the run left -> pass after -> closing scan -> intent, durable -> commit or not -> outcome. What lands
   is decided by `rules.workspace.settle` alone.
4. Whatever fails in between discards: the tree is never touched by a run whose end is not known.
5. A commit that had begun and of which not all could be put back, or of which that could not be written down, is
   `interrupted`: what became of it is for a recovery to say, and the record of the run claims nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeAlias

from docket.engines.observe import ObserveRequest
from docket.engines.supervise.ending import Ending
from docket.engines.supervise.measure import interruptible, surface_of
from docket.engines.supervise.session import OpenRun
from docket.engines.transaction.base_contents import has_moved
from docket.engines.transaction.closing import (
    ClosedTransaction,
    close_transaction,
    discard_transaction,
    drop_stage,
)
from docket.engines.transaction.committing import CommitRefused, CommitRequest, Committed, commit_transaction
from docket.engines.transaction.opening import open_transaction
from docket.engines.transaction.world import OpenRequest, OpenTransaction, TransactionWorld
from docket.errors import DocketError, RefusedBeforeStartError
from docket.formats.dataclass import dataclass, replace
from docket.formats.ledger.lines import TornTail
from docket.formats.ledger.session_events import ExitSource
from docket.formats.ledger.tree_events import OmittedPath
from docket.formats.ledger.workspace_events import (
    ExcludedWrite,
    WorkspaceIntent,
    WorkspaceOpened,
    WorkspaceRefused,
    WorkspaceSettled,
)
from docket.formats.reason import Reason
from docket.formats.run.receipt import TOP_PATHS
from docket.formats.tree.changes import Difference
from docket.formats.tree.listing import Listing
from docket.formats.tree.unread import unread_files
from docket.formats.visible import visible
from docket.formats.workspace.scope import Decision, Settled
from docket.formats.workspace.state import Status
from docket.rules.workspace.protected import approval, protected_hits
from docket.rules.workspace.settle import EndFacts, Verdict, last_call_trouble, settle
from docket.rules.workspace.surface import Classes
from docket.rules.workspace.two_passes import changed_between
from docket.stores.ledger_reader import read_ledger

if TYPE_CHECKING:
    from docket.engines.supervise.request import TransactionAsked


Seen: TypeAlias = tuple[Listing, Sequence[Difference]]


@dataclass(slots=True)
class Staged:
    """A stage in use; `is_settled` once it is known what becomes of it."""

    opened: OpenTransaction
    world: TransactionWorld
    asked: TransactionAsked
    is_settled: bool = False


@contextmanager
def staged(run: OpenRun) -> Iterator[Staged]:
    """Open the run's transaction; at the end one that was not settled is discarded, and its mounts are let go."""
    found = _opened(run)
    try:
        yield found
    finally:
        if not found.is_settled:
            with suppress(DocketError):
                _abandon(run, found)
        found.opened.stage.close()


def settle_stage(run: OpenRun, found: Staged, facts: EndFacts, seen: Seen) -> bool:
    """Commit the stage, leave it or discard it; False where a commit was due and was refused."""
    closed = close_transaction(found.opened, found.world, run.world.watcher.scanned)
    run.world.watcher.scan_ended()
    facts = replace(facts, moved=_moved(run, closed, seen))
    verdict = _recorded(run, found, closed, settle(facts, closed.state.settle))
    match verdict.decision:
        case Decision.COMMIT:
            event = _committed(run, found, closed)
        case Decision.REVIEW:
            event = _told(closed, Settled.LEFT_FOR_REVIEW, verdict)
        case _:
            why = verdict.reason or Reason.SETTLE_DISCARD, verdict.detail or ""
            discard_transaction(closed.state, found.world, why)
            event = _told(closed, Settled.DISCARDED, verdict)
    run.session.ledger.append(event, control=True)
    found.is_settled = True
    if event.outcome is Settled.COMMITTED:
        _drop(run, found)
    return event.outcome not in (Settled.REFUSED, Settled.INTERRUPTED)


def _moved(run: OpenRun, closed: ClosedTransaction, seen: Seen) -> str | None:
    """Return a path that the pass after and the closing pass do not tell alike, None where the stage stood still."""
    after, differences = seen
    changed = {item.path for item in differences}.union(item.path for item in closed.found.change_set.changes)
    path = changed_between(after, closed.listing, changed, surface_of(run))
    return None if path is None else str(path)


def landed(run: OpenRun, found: Staged, ending: Ending, counts: tuple[int, int], seen: Seen) -> bool:
    """Settle the stage of a run that ended so; `counts` are its surviving processes and its violations.

    `seen` is what the pass after saw, and what that is another than before. False where a commit was due and was
    refused.
    """
    facts = EndFacts(
        agent_exit=ending.exit_code if ending.exit_source is ExitSource.AGENT else None,
        breached=ending.breached,
        interrupted=ending.interrupted,
        survivors=counts[0],
        violations=counts[1],
    )
    return settle_stage(run, found, end_facts(run, facts), seen)


def end_facts(run: OpenRun, facts: EndFacts) -> EndFacts:
    """Return the facts with what the record says: the last call's end, and whether the record is whole."""
    ledger = run.session.ledger
    with suppress(DocketError):
        ledger.flush()
    complete = ledger.failure is None and not ledger.lost_events and ledger.recheck().first_difference is None
    trouble = None
    if complete:
        events = (item for item in read_ledger(ledger.path) if not isinstance(item, TornTail))
        trouble = last_call_trouble(events)
    return replace(facts, last_call=trouble, ledger_complete=complete)


def _opened(run: OpenRun) -> Staged:
    request, session = run.request, run.session
    asked, make_world = request.transaction, run.world.transactions
    assert asked is not None and make_world is not None  # noqa: S101, PT018 - only such a run comes here
    world = make_world()
    wanted = OpenRequest(
        base=request.cwd,
        rules=asked.rules,
        backend=asked.backend,
        settle=asked.settle,
        session_id=session.session_id,
        docket_number=session.docket_number,
        home=asked.home,
        progress=interruptible(run.world),
    )
    try:
        opened = open_transaction(wanted, world)
    except DocketError as error:
        session.ledger.append(WorkspaceRefused(reason=error.reason, detail=error.detail), control=True)
        raise
    finally:
        run.world.watcher.scan_ended()
    if not isinstance(opened, OpenTransaction):
        refused = WorkspaceRefused(reason=str(opened.reason), detail=opened.detail)
        session.ledger.append(refused, control=True)
        raise RefusedBeforeStartError(opened.reason, opened.detail, hint=opened.hint)
    found = Staged(opened=opened, world=world, asked=asked)
    session.ledger.append(_opening(found), control=True)
    session.ledger.flush()
    for place in opened.read_only:
        run.world.watcher.warned(f"git belongs to {visible(place)} here: the agent can read that and not write to it")
    return found


def _opening(found: Staged) -> WorkspaceOpened:
    state, base = found.opened.state, found.opened.base
    return WorkspaceOpened(
        transaction=state.id,
        backend=state.backend,
        view=found.opened.stage.view,
        settle=str(state.settle),
        manifest_sha256=state.manifest_sha256,
        files=base.files,
        directories=base.directories,
        symlinks=base.symlinks,
        bytes_staged=base.bytes_watched,
        excluded=len(state.surface.exclude),
        shared=len(state.surface.share),
        protected=len(state.surface.protect),
        approved=found.asked.approved,
        not_preserved=state.not_preserved,
        store=visible(os.fsencode(found.world.transactions.path(state.id))),
        unread=unread_files(base) or None,
    )


def _recorded(run: OpenRun, found: Staged, closed: ClosedTransaction, verdict: Verdict) -> Verdict:
    """Write the intent, durably; a record that does not take it leaves nothing but to discard."""
    run.session.ledger.append(_intent(found, closed, verdict), control=True)
    with suppress(DocketError):
        run.session.ledger.flush()
    if verdict.decision is Decision.COMMIT and run.session.ledger.failure is not None:
        return Verdict(
            decision=Decision.DISCARD, reason=Reason.EVIDENCE_FAILED, detail="the intent could not be recorded"
        )
    return verdict


def _intent(found: Staged, closed: ClosedTransaction, verdict: Verdict) -> WorkspaceIntent:
    changes, result = closed.found.change_set, closed.found
    hits = protected_hits(changes, closed.opened.base, closed.state.surface.protect)
    blocked = (*result.not_preserved, *result.blocking)
    return WorkspaceIntent(
        transaction=closed.state.id,
        decision=verdict.decision,
        reason=None if verdict.reason is None else str(verdict.reason),
        detail=verdict.detail,
        result_sha256=closed.listing.tree_sha256,
        diff_sha256=changes.digest,
        added=changes.counts.added,
        modified=changes.counts.modified,
        removed=changes.counts.removed,
        retyped=changes.counts.retyped,
        protected=len(hits),
        approval=str(approval(changes, for_run=found.asked.approved, digest=None)),
        base_moved=_has_base_moved(found),
        not_preserved=tuple(OmittedPath(path=item.path, reason=str(item.reason)) for item in blocked[:TOP_PATHS]),
        excluded_writes=tuple(ExcludedWrite(path=path) for path in result.excluded_writes[:TOP_PATHS]),
        excluded_write_count=len(result.excluded_writes),
    )


def _has_base_moved(found: Staged) -> bool:
    base = found.opened.state.base
    surface = Classes.of(found.opened.state.surface).surface()
    request = ObserveRequest(root=base.path, surface=surface, root_identity=base.identity)
    try:
        return has_moved(found.opened.base, request, found.opened, found.world)
    except DocketError:
        return True


def _committed(run: OpenRun, found: Staged, closed: ClosedTransaction) -> WorkspaceSettled:
    outcome = commit_transaction(CommitRequest(closed=closed, approved_run=found.asked.approved), found.world)
    if isinstance(outcome, Committed):
        for remark in outcome.remarks:
            run.world.watcher.warned(remark)
        return WorkspaceSettled(
            transaction=closed.state.id,
            outcome=Settled.COMMITTED,
            plan_sha256=outcome.plan_sha256,
            applied=outcome.applied,
            already=outcome.already,
        )
    assert isinstance(outcome, CommitRefused)  # noqa: S101 - told to the type checker
    return WorkspaceSettled(
        transaction=closed.state.id,
        outcome=Settled.INTERRUPTED if outcome.state.status is Status.COMMITTING else Settled.REFUSED,
        reason=str(outcome.reason),
        detail=outcome.detail,
        refused=len(outcome.paths),
        refusals=tuple(item.told() for item in outcome.paths[:TOP_PATHS]),
    )


def _told(closed: ClosedTransaction, outcome: Settled, verdict: Verdict) -> WorkspaceSettled:
    return WorkspaceSettled(
        transaction=closed.state.id,
        outcome=outcome,
        reason=None if verdict.reason is None else str(verdict.reason),
        detail=verdict.detail,
    )


def _drop(run: OpenRun, found: Staged) -> None:
    """Remove a stage that has landed; what cannot be removed is told, and takes nothing from the commit."""
    try:
        drop_stage(found.opened, found.world)
    except DocketError as error:
        run.world.watcher.warned(f"the stage has landed and could not be removed: {error.detail}")


def _abandon(run: OpenRun, found: Staged) -> None:
    """Say that a transaction whose run could not be brought to its end does not land."""
    state, detail = found.world.transactions.load(found.opened.state.id), "the run was not brought to its end"
    outcome = Settled.DISCARDED
    match state.status:
        case Status.COMMITTED | Status.REFUSED:
            return  # it is settled, and only the record could not take it
        case Status.COMMITTING:
            outcome, detail = Settled.INTERRUPTED, f"{detail}; docket tx recover {state.id} ends its commit"
    settled = WorkspaceSettled(transaction=state.id, outcome=outcome, reason=str(Reason.RUN_INTERRUPTED), detail=detail)
    run.session.ledger.append(settled, control=True)
    if outcome is Settled.DISCARDED:
        discard_transaction(state, found.world, (Reason.RUN_INTERRUPTED, detail))
