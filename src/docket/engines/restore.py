"""Put a tree back as it was before a run: from receipt, ledger and snapshot, as a proposal first.

Rules (spec/restore.md):
1. The tree is never taken from one document alone: receipt, ledger and manifest must agree about the root, and the
   directory there must be the one the snapshot was taken of, or the person names the root.
2. The manifest must be the one whose digest the ledger recorded, and all three must be of one session.
3. Nothing is changed by a proposal. Carrying it out with a digest does exactly the plan of that digest, or nothing.
4. What a restore displaces is kept beside its record, so that it can be put back.
5. The run's ledger, its receipt and its snapshot are read and never written.
6. One restore of a project is carried out at a time, and none in a tree while a run is live there.

What is to happen to a path is `rules.tree.restore`'s; doing it is `engines.apply`'s alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

from docket.engines.apply import ConfinedTree, Leftover, LeftoverState, Options, apply, open_tree, sweep
from docket.engines.foresee import StatesAfter, foresee, with_contents
from docket.engines.restore_documents import read_documents, unseen
from docket.engines.restore_proposal import Origin, Proposal, Restored, Sources, Target
from docket.errors import DocketError, InvalidDocumentError, UnavailableError
from docket.formats.dataclass import dataclass, replace
from docket.formats.ledger.tree_events import EntryState
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.plan import plan_of
from docket.formats.tree.restore_record import RestoredPath, RestoreRecord
from docket.formats.tree.steps import Outcome, StepStatus
from docket.formats.visible import visible
from docket.host.clock import Clock
from docket.host.disk import SYSTEM_DISK, Disk
from docket.host.ids import Ids
from docket.host.locks import FileLock
from docket.rules.tree.redo import redo_intentions
from docket.rules.tree.restore import Intention, Selection, files_needed, intentions
from docket.stores.layout import Layout
from docket.stores.restores import RECORD, RESTORE_LOCK, begin_restore, open_restore
from docket.stores.run_search import live_runs
from docket.stores.snapshots import open_snapshot

EVERYTHING = Selection()


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreRequest:
    """A restore of what one run changed.

    `receipt` is that run's, as it stands in its file. `root` is the tree that the person named, `layout` where the
    record goes, `insists` that a record which fails verification is used all the same.
    """

    receipt: bytes
    ledger_path: Path
    snapshot_path: Path
    layout: Layout
    selection: Selection = EVERYTHING
    root: bytes | None = None
    force: bool = False
    insists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RedoRequest:
    """A restore to put back, by the path of its record."""

    record_path: Path
    layout: Layout
    selection: Selection = EVERYTHING
    root: bytes | None = None
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreWorld:
    """What a restore uses beside the tree.

    `patience_seconds`: how long it waits for another one to end. `progress` hears what is being done ("looking at" or
    "restoring"), and how many of how many paths are done.
    """

    clock: Clock
    ids: Ids
    disk: Disk = SYSTEM_DISK
    patience_seconds: float = 0
    progress: Callable[[str, int, int], None] | None = None

    def told(self, doing: str, total: int) -> Callable[[int], None]:
        """Return what hears how many paths are done."""
        progress = self.progress
        return (lambda _done: None) if progress is None else (lambda done: progress(doing, done, total))


def propose(request: RestoreRequest, world: RestoreWorld, stack: ExitStack) -> Proposal:
    """Return what the restore would do; the stack closes the snapshot's store.

    InvalidDocumentError where a document is damaged, the record fails verification and the request does not insist,
    or they do not go together; UnavailableError where the run has no snapshot, or something cannot be read.
    """
    documents = read_documents(request.receipt, request.ledger_path, world.disk)
    try:
        snapshot = open_snapshot(request.snapshot_path, keep=files_needed(documents.changes), disk=world.disk)
    except DocketError:
        documents.check_usable(None, insists=request.insists)
        raise
    stack.callback(snapshot.close)
    manifest, head = snapshot.manifest, snapshot.manifest.head
    documents.check_usable(manifest, insists=request.insists)
    documents.check_manifest(manifest, snapshot.manifest_sha256, request.snapshot_path)
    target = Target(
        root=request.root or documents.agreed_root(manifest),
        identity=None if request.root is not None else head.root_identity,
        layout=request.layout,
        force=request.force,
    )
    sources = Sources(
        origin=Origin(
            session_id=head.session_id,
            docket_number=head.docket_number,
            manifest_sha256=snapshot.manifest_sha256,
            verdict=documents.verdict,
        ),
        intentions=intentions(manifest, documents.changes, request.selection, force=request.force),
        contents=snapshot.contents,
        remarks=(*documents.remarks, *unseen(manifest)),
        changes_known=documents.changes_known,
    )
    return proposal_of(sources, target, world)


def propose_redo(request: RedoRequest, world: RestoreWorld, stack: ExitStack) -> Proposal:
    """Return what putting a restore back would do; the stack closes the store of what it kept."""
    record, contents = open_restore(request.record_path, disk=world.disk)
    stack.callback(contents.close)
    sources = Sources(
        origin=Origin(
            session_id=record.session_id,
            docket_number=record.docket_number,
            redo_of=record.plan_sha256,
            delta_sha256=record.delta_sha256,
            tool_use_id=record.tool_use_id,
        ),
        intentions=redo_intentions(record, request.selection, force=request.force),
        contents=contents,
    )
    target = Target(
        root=request.root or record.root,
        identity=None if request.root is not None else record.root_identity,
        layout=request.layout,
        force=request.force,
    )
    return proposal_of(sources, target, world)


def proposal_of(sources: Sources, target: Target, world: RestoreWorld | None = None) -> Proposal:
    """Look at the tree and return what would become of the steps in it."""
    with closing(open_tree(target.root)) as tree:
        if target.identity is not None and tree.identity != target.identity:
            detail = f"the directory at {visible(target.root)} is not the one that the snapshot was taken of"
            hint = "name the tree that is meant with --root"
            raise InvalidDocumentError(Reason.ROOT_REPLACED, detail, hint=hint)
        steps = [item.step for item in sources.intentions if item.step is not None]
        plan = plan_of(steps, tree.identity)
        looked = None if world is None else world.told("looking at", len(plan))
        foreseen = {item.step.path: item for item in with_contents(foresee(plan, tree, looked), sources.contents)}
    return Proposal(
        origin=sources.origin,
        root=target.root,
        layout=target.layout,
        plan=plan,
        intentions=sources.intentions,
        foreseen=foreseen,
        contents=sources.contents,
        force=target.force,
        remarks=sources.remarks,
        changes_known=sources.changes_known,
    )


def check_idle(layout: Layout) -> None:
    """Refuse to change a tree that a live run is changing; UnavailableError names the run.

    What the run does next would be neither in its record as it is nor be undone, and its last pass would take what
    the restore did for the agent's.
    """
    live = live_runs(layout)
    if live:
        detail = f"the run {live[0].docket_number} is live in {layout.tree_root}: nothing is restored under its feet"
        raise UnavailableError(Reason.STILL_RUNNING, detail, hint="wait for its end, or end it; then restore")


def carry_out(proposal: Proposal, world: RestoreWorld) -> Restored:
    """Apply the proposal's plan and write the record.

    UnavailableError where another restore is under way, or nothing can be kept: no path was touched then.
    """
    with ExitStack() as stack:
        stack.enter_context(_alone(proposal.layout, world))
        tree = stack.enter_context(open_tree(proposal.root))
        left = _swept(tree)
        draft = begin_restore(proposal.layout, world.ids.session_id(), disk=world.disk)
        stack.callback(draft.close)
        told = world.told("restoring", len(proposal.plan))
        options = Options(mode=proposal.origin.mode, keep=draft, progress=told)
        outcomes = apply(proposal.plan, proposal.contents, tree, options)
        record = _record_of(proposal, world, {item.path: item for item in outcomes}, draft.displaced)
        leftovers = [_leftover(item) for item in left if item.detail is not None]
        leftovers += [] if tree.trouble is None else [tree.trouble]
        problem = None
        try:
            place = draft.publish(record)
        except DocketError as error:  # what was done is done, and must not look as if it were not
            place, problem = draft.path / RECORD, f"the record of the restore could not be written: {error.detail}"
        return Restored(record=record, record_path=place, leftovers=tuple(leftovers), problem=problem)


def settle_leftovers(root: bytes, layout: Layout, world: RestoreWorld) -> None:
    """Clear up what was cut short in a tree, before it is looked at; UnavailableError as in `carry_out`."""
    with _alone(layout, world), open_tree(root) as tree:
        _swept(tree)


def _swept(tree: ConfinedTree) -> tuple[Leftover, ...]:
    left = sweep(tree)
    if any(item.state is LeftoverState.IN_USE for item in left):
        raise UnavailableError(Reason.LOCKED, f"something else is restoring {visible(tree.path)} now")
    if any(item.state is LeftoverState.INTERRUPTED for item in left):
        detail = f"a commit to {visible(tree.path)} was interrupted: nothing is restored over it"
        raise UnavailableError(Reason.INTERRUPTED_APPLY, detail, hint="docket tx recover, in that tree, ends it")
    return left


def _alone(layout: Layout, world: RestoreWorld) -> FileLock:
    with world.disk.folder(layout.state, create=True):
        pass
    try:
        return FileLock.acquire(layout.state / RESTORE_LOCK, wait_seconds=world.patience_seconds)
    except UnavailableError as error:
        if error.reason != Reason.LOCKED:
            raise
        detail = f"another restore of this project is under way: {error.detail}"
        raise UnavailableError(Reason.LOCKED, detail, hint="wait for its end; then restore") from error


def _record_of(
    proposal: Proposal,
    world: RestoreWorld,
    outcomes: Mapping[RelPath, Outcome],
    displaced: Mapping[RelPath, EntryState],
) -> RestoreRecord:
    states = _States(proposal, displaced)
    return RestoreRecord(
        session_id=proposal.origin.session_id,
        docket_number=proposal.origin.docket_number,
        restored_at=world.clock.now(),
        root=proposal.root,
        root_identity=proposal.plan.root,
        plan_sha256=proposal.plan.digest,
        forced=proposal.force,
        manifest_sha256=proposal.origin.manifest_sha256,
        redo_of=proposal.origin.redo_of,
        delta_sha256=proposal.origin.delta_sha256,
        tool_use_id=proposal.origin.tool_use_id,
        paths=tuple(states.told(item, outcomes.get(item.path)) for item in proposal.intentions),
    )


def _leftover(item: Leftover) -> str:
    return f"a restore that was cut short left {visible(item.name)} in the tree: {item.detail}"


class _States:
    """What stood at each path before and stands there since."""

    def __init__(self, proposal: Proposal, displaced: Mapping[RelPath, EntryState]) -> None:
        self._foreseen, self._displaced = proposal.foreseen, displaced
        self._after = StatesAfter(proposal.foreseen.values())

    def told(self, item: Intention, outcome: Outcome | None) -> RestoredPath:
        """Return the record of one path."""
        reason = item.reason if outcome is None else outcome.reason
        detail = item.detail if outcome is None else outcome.detail or item.detail
        told = RestoredPath(
            path=item.path,
            verb=str(item.verb),
            status=None if outcome is None else outcome.status,
            reason=None if reason is None else str(reason),
            detail=detail,
        )
        if outcome is None or item.step is None or outcome.status is not StepStatus.APPLIED:
            return told
        kept = self._displaced.get(item.path)
        was = self._foreseen[item.path].was if kept is None else kept
        is_kept = kept is not None and kept.sha256 is not None
        return replace(told, was=was, now=self._after.of(self._foreseen[item.path], was), kept=is_kept)


__all__ = [
    "Origin",
    "Proposal",
    "RedoRequest",
    "RestoreRequest",
    "RestoreWorld",
    "Restored",
    "Sources",
    "Target",
    "carry_out",
    "check_idle",
    "proposal_of",
    "propose",
    "propose_redo",
    "settle_leftovers",
]
