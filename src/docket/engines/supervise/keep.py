"""The keep phase: the pass before the agent, with the tree's contents kept where the run was asked to.

Rules (spec/snapshot.md):
1. A run that was to have a snapshot and cannot is refused before its agent starts, and the record says why.
2. The pass before and the snapshot are one pass: both name the same tree.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from docket.engines.supervise.measure import interruptible, omission_payloads, pass_payload, record_pass
from docket.engines.supervise.session import OpenRun
from docket.errors import DocketError, RefusedBeforeStartError
from docket.formats.dataclass import replace
from docket.formats.ledger.tree_events import Phase, SnapshotRefused
from docket.formats.tree.listing import Listing
from docket.formats.tree.manifest import FORMAT, SnapshotLimits, SurfaceRules
from docket.formats.visible import visible
from docket.rules.tree.watch import watched_surface

if TYPE_CHECKING:
    from docket.engines.snapshot import SnapshotTaken


def keep_contents(run: OpenRun, limits: SnapshotLimits) -> Listing:
    """Take the snapshot and record the pass; RefusedBeforeStartError where it does not fit.

    UnavailableError where the tree, or the disk that keeps the contents, cannot be had.
    """
    from docket.engines.snapshot import SnapshotRefused as Refused  # noqa: PLC0415 - a run without one never loads it
    from docket.engines.snapshot import SnapshotRequest, SnapshotWorld, take_snapshot  # noqa: PLC0415

    request, session = run.request, run.session
    files, evidence = request.policy.files, request.layout.evidence
    asked = SnapshotRequest(
        root=os.fsencode(request.cwd),
        layout=request.layout,
        session_id=session.session_id,
        docket_number=session.docket_number,
        surface=watched_surface(watch=files.watch, ignore=files.ignore, evidence=evidence),
        rules=SurfaceRules(watch=tuple(files.watch), ignore=tuple(files.ignore), evidence=tuple(evidence)),
        limits=limits,
        progress=interruptible(run.world),
    )
    try:
        outcome = take_snapshot(asked, SnapshotWorld(observe=run.world.observe, clock=run.world.clock))
    except DocketError as error:
        session.ledger.append(SnapshotRefused(reason=error.reason, detail=error.detail), control=True)
        raise
    finally:
        run.world.watcher.scan_ended()
    if isinstance(outcome, Refused):
        refusal = SnapshotRefused(
            reason=str(outcome.reason), detail=outcome.detail, needed=outcome.needed, allowed=outcome.allowed
        )
        session.ledger.append(refusal, control=True)
        raise RefusedBeforeStartError(outcome.reason, outcome.detail, hint=outcome.hint)
    _record(run, outcome)
    return outcome.listing


def _record(run: OpenRun, taken: SnapshotTaken) -> None:
    ledger, roots = run.session.ledger, run.request.policy.files.watch
    record_pass(run, taken.listing, Phase.BEFORE)
    contents = replace(
        pass_payload(taken.listing, roots, Phase.CONTENTS),
        format=FORMAT,
        manifest_sha256=taken.manifest_sha256,
        store=visible(os.fsencode(taken.path)),
        files=taken.files,
        bytes_watched=taken.bytes_watched,
        bytes_stored=taken.bytes_stored,
        bytes_shared=taken.bytes_shared,
        not_covered=len(taken.not_covered),
    )
    ledger.append(contents, control=True)
    for payload in omission_payloads(taken.not_covered, Phase.CONTENTS):
        ledger.append(payload)
    ledger.flush()
