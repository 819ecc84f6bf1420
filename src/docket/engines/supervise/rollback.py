"""The rollback phase: a run that a cap ended gets its tree put back, when no process of it is left.

Rules (spec/receipt.md, Operations):
1. It is a restore like any other (engines.restore), over whatever stands there: what it displaces is kept beside its
   record, and can be put back.
2. That the tree was put back is recorded only where something of it was. Otherwise it is refused, with the reason.
3. A failure here is recorded and told; it takes nothing from the rest of the run's record.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack

from docket.engines.restore import Origin, Restored, RestoreWorld, Sources, Target, carry_out, proposal_of
from docket.engines.supervise.session import OpenRun
from docket.errors import DocketError
from docket.formats.ledger.session_events import Note
from docket.formats.ledger.tree_events import OmittedPath, RollbackApplied, RollbackRefused
from docket.formats.reason import Reason
from docket.formats.run.receipt import TOP_PATHS
from docket.formats.tree.changes import Difference
from docket.formats.tree.restore_record import RestoredPath
from docket.formats.tree.steps import StepStatus
from docket.formats.visible import visible
from docket.rules.tree.restore import Verb, files_needed, intentions
from docket.stores.snapshots import open_snapshot, snapshot_path

PATIENCE_SECONDS = 30  # for a restore that a person began before the cap was reached
_UNDONE = (StepStatus.REFUSED, StepStatus.FAILED, StepStatus.SKIPPED)


def roll_back(
    run: OpenRun, differences: Sequence[Difference], trigger: str, *, is_anything_left: bool
) -> RollbackApplied | RollbackRefused | None:
    """Put the tree back and record what became of that; `trigger` is the cap that ended the run.

    Returns the event where the ledger did not take it: the record's end, for which there is room, is to hold it.
    """
    event: RollbackApplied | RollbackRefused
    if is_anything_left:
        detail = "processes of the run are still there, and may go on writing"
        event = RollbackRefused(trigger=trigger, reason=str(Reason.STILL_RUNNING), detail=detail)
    elif not differences:
        detail = "the run changed nothing that the passes saw"
        event = RollbackRefused(trigger=trigger, reason=str(Reason.NOTHING_CHANGED), detail=detail)
    else:
        try:
            restored = _restored(run, differences)
            if restored.problem is not None:
                run.session.ledger.append(Note(code="restore-not-recorded", message=restored.problem), control=True)
                run.world.watcher.warned(restored.problem)
            for leftover in restored.leftovers:
                run.world.watcher.warned(leftover)
            event = _told(restored, trigger)
        except DocketError as error:
            event = RollbackRefused(trigger=trigger, reason=error.reason, detail=error.detail)
        except OSError as error:
            detail = f"the tree could not be worked in: {error.strerror or error}"
            event = RollbackRefused(trigger=trigger, reason=str(Reason.WRITE_FAILED), detail=detail)
    appended = run.session.ledger.append(event, control=True)
    run.world.watcher.warned(_sentence(event))
    return None if appended.durable.exception() is None else event


def _restored(run: OpenRun, differences: Sequence[Difference]) -> Restored:
    request, session = run.request, run.session
    with ExitStack() as stack:
        changes = [difference.payload() for difference in differences]
        snapshot = open_snapshot(snapshot_path(request.layout, session.session_id), keep=files_needed(changes))
        stack.callback(snapshot.close)
        sources = Sources(
            origin=Origin(
                session_id=session.session_id,
                docket_number=session.docket_number,
                manifest_sha256=snapshot.manifest_sha256,
            ),
            intentions=intentions(snapshot.manifest, changes, force=True),
            contents=snapshot.contents,
        )
        target = Target(
            root=os.fsencode(request.cwd),
            identity=snapshot.manifest.head.root_identity,
            layout=request.layout,
            force=True,
        )
        world = RestoreWorld(clock=run.world.clock, ids=run.world.ids, patience_seconds=PATIENCE_SECONDS)
        restored = carry_out(proposal_of(sources, target), world)
    for item in sources.intentions:
        if item.warning is not None:
            run.world.watcher.warned(item.warning)
    return restored


def _told(restored: Restored, trigger: str) -> RollbackApplied | RollbackRefused:
    paths = restored.record.paths
    undone = [item for item in paths if _is_undone(item)]
    place = visible(os.fsencode(restored.record_path))
    applied = restored.count(StepStatus.APPLIED)
    if not applied:
        why = (
            undone
            or [item for item in paths if item.verb == Verb.NOT_COVERED]
            or [item for item in paths if item.verb == Verb.KEEP and item.reason is not None]
        )
        detail = "nothing was put back" if not why else f"nothing was put back: {_first(why)}"
        reason = why[0].reason if why else None
        return RollbackRefused(
            trigger=trigger,
            reason=reason or str(Reason.NOTHING_CHANGED),
            detail=detail,
            refused=len(undone),
            record=place,
        )
    return RollbackApplied(
        trigger=trigger,
        plan_sha256=restored.record.plan_sha256,
        restored=applied,
        already=restored.count(StepStatus.ALREADY),
        refused=len(undone),
        kept=sum(item.verb == Verb.KEEP for item in paths),
        not_covered=sum(item.verb == Verb.NOT_COVERED for item in paths),
        record=place,
        refusals=tuple(
            OmittedPath(path=item.path, reason=item.reason or str(Reason.NOT_COVERED), detail=item.detail)
            for item in paths
            if _is_undone(item) or item.verb == Verb.NOT_COVERED
        )[:TOP_PATHS],
    )


def _is_undone(item: RestoredPath) -> bool:
    return item.verb == Verb.REFUSED or item.status in _UNDONE


def _first(undone: Sequence[RestoredPath]) -> str:
    return f"{undone[0].path}: {undone[0].detail or undone[0].reason}"


def _sentence(event: RollbackApplied | RollbackRefused) -> str:
    if isinstance(event, RollbackRefused):
        return f"the tree was not put back: {event.detail}"
    missing = event.refused + event.not_covered
    if missing:
        return f"the tree was put back IN PART: {event.restored:,} paths; {missing:,} could not be"
    return f"the tree was put back as it was before the run: {event.restored:,} paths"
