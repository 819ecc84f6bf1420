"""Put a tree back as it was before a run: from receipt, ledger and snapshot, as a proposal first.

Rules (spec/restore.md):
1. The tree is never taken from one document alone: receipt, ledger and manifest must agree about the root, and the
   directory there must be the one the snapshot was taken of, or the person names the root.
2. The manifest must be the one whose digest the ledger recorded, and all three must be of one session.
3. Nothing is changed by a proposal. Carrying it out with a digest does exactly the plan of that digest, or nothing.
4. What a restore displaces is kept beside its record, so that it can be put back.
5. The run's ledger, its receipt and its snapshot are read and never written.

What is to happen to a path is `rules.tree.restore`'s; doing it is `engines.apply`'s alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path

from docket.engines.apply import ContentReader, Leftover, Options, apply, open_tree, sweep
from docket.engines.foresee import Foreseen, foresee
from docket.errors import InvalidDocumentError, UnavailableError
from docket.formats.canonical import JsonObject
from docket.formats.digest import Digest
from docket.formats.ledger.lines import TornTail
from docket.formats.ledger.session_events import EvidenceGap, SessionStart
from docket.formats.ledger.tree_events import EntryState, FsChange, FsSnapshot, Phase
from docket.formats.ledger.vocabulary import read_payload
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.changes import symlink_state
from docket.formats.tree.listing import Kind
from docket.formats.tree.manifest import Manifest
from docket.formats.tree.plan import Plan, plan_of
from docket.formats.tree.restore_record import RestoredPath, RestoreRecord
from docket.formats.tree.steps import (
    Link,
    MakeDirectory,
    MakeSymlink,
    Outcome,
    Remove,
    SetMode,
    Step,
    StepStatus,
    WriteFile,
)
from docket.formats.visible import raw_of, visible
from docket.host.clock import Clock
from docket.host.disk import SYSTEM_DISK, Disk
from docket.host.ids import Ids
from docket.rules.tree.redo import redo_intentions
from docket.rules.tree.restore import Intention, Selection, intentions
from docket.stores.layout import Layout
from docket.stores.ledger_reader import read_ledger
from docket.stores.restores import begin_restore, open_restore
from docket.stores.snapshots import open_snapshot

EVERYTHING = Selection()


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreRequest:
    """A restore of what one run changed.

    `receipt` is that run's, decoded. `root` is the tree that the person named, `layout` where the record goes.
    """

    receipt: JsonObject
    ledger_path: Path
    snapshot_path: Path
    layout: Layout
    selection: Selection = EVERYTHING
    root: bytes | None = None
    force: bool = False


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
    """What a restore uses beside the tree."""

    clock: Clock
    ids: Ids
    disk: Disk = SYSTEM_DISK


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The run that is undone, and where it comes from: `redo_of` is the plan of a restore that is put back."""

    session_id: str
    docket_number: str
    manifest_sha256: Digest | None = None
    redo_of: Digest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What a restore would do to the tree at `root`: the plan, and what is foreseen of each path's step."""

    origin: Origin
    root: bytes
    layout: Layout
    plan: Plan
    intentions: tuple[Intention, ...]
    foreseen: Mapping[RelPath, Foreseen]
    contents: ContentReader
    force: bool
    remarks: tuple[str, ...] = ()

    def status(self, item: Intention) -> StepStatus | None:
        """Return what is foreseen of a path, None where it would be done or nothing is to be."""
        found = self.foreseen.get(item.path)
        return None if found is None or found.outcome is None else found.outcome.status


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """A restore that was carried out: its record, where that stands, and what a killed one left in the tree."""

    record: RestoreRecord
    record_path: Path
    leftovers: tuple[str, ...] = ()

    def count(self, *statuses: StepStatus) -> int:
        """Return how many paths ended so."""
        tally = Counter(item.status for item in self.record.paths)
        return sum(tally[status] for status in statuses)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What a proposal is made of: the steps' intentions and the store of their contents."""

    origin: Origin
    intentions: tuple[Intention, ...]
    contents: ContentReader
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The tree that is restored; `identity` is the (device, inode) it must have, None for whichever stands there."""

    root: bytes
    identity: tuple[int, int] | None
    layout: Layout
    force: bool


def propose(request: RestoreRequest, world: RestoreWorld, stack: ExitStack) -> Proposal:
    """Return what the restore would do; the stack closes the snapshot's store.

    InvalidDocumentError where a document is damaged or they do not go together; UnavailableError where the run has no
    snapshot, or something cannot be read.
    """
    start, pass_kept, changes, remarks = _ledger(request.ledger_path, world.disk)
    snapshot = open_snapshot(request.snapshot_path, disk=world.disk)
    stack.callback(snapshot.close)
    head = snapshot.manifest.head
    if pass_kept.manifest_sha256 != snapshot.manifest_sha256:
        detail = f"the manifest in {request.snapshot_path} is not the one whose digest the ledger recorded"
        raise InvalidDocumentError(Reason.DOCUMENTS_DISAGREE, detail)
    _same_session(request.receipt, start, snapshot.manifest)
    target = Target(
        root=request.root or _agreed_root(request.receipt, start, snapshot.manifest),
        identity=None if request.root is not None else head.root_identity,
        layout=request.layout,
        force=request.force,
    )
    sources = Sources(
        origin=Origin(
            session_id=head.session_id,
            docket_number=head.docket_number,
            manifest_sha256=snapshot.manifest_sha256,
        ),
        intentions=intentions(snapshot.manifest, changes, request.selection, force=request.force),
        contents=snapshot.contents,
        remarks=remarks,
    )
    return proposal_of(sources, target)


def propose_redo(request: RedoRequest, world: RestoreWorld, stack: ExitStack) -> Proposal:
    """Return what putting a restore back would do; the stack closes the store of what it kept."""
    record, contents = open_restore(request.record_path, disk=world.disk)
    stack.callback(contents.close)
    sources = Sources(
        origin=Origin(session_id=record.session_id, docket_number=record.docket_number, redo_of=record.plan_sha256),
        intentions=redo_intentions(record, request.selection, force=request.force),
        contents=contents,
    )
    target = Target(
        root=request.root or record.root,
        identity=None if request.root is not None else record.root_identity,
        layout=request.layout,
        force=request.force,
    )
    return proposal_of(sources, target)


def proposal_of(sources: Sources, target: Target) -> Proposal:
    """Look at the tree and return what would become of the steps in it."""
    with closing(open_tree(target.root)) as tree:
        if target.identity is not None and tree.identity != target.identity:
            detail = f"the directory at {visible(target.root)} is not the one that the snapshot was taken of"
            hint = "name the tree that is meant with --root"
            raise InvalidDocumentError(Reason.ROOT_REPLACED, detail, hint=hint)
        steps = [item.step for item in sources.intentions if item.step is not None]
        plan = plan_of(steps, tree.identity)
        foreseen = {item.step.path: item for item in foresee(plan, tree)}
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
    )


def carry_out(proposal: Proposal, world: RestoreWorld, progress: Callable[[int], None] | None = None) -> Restored:
    """Apply the proposal's plan and write the record.

    UnavailableError where what is displaced cannot be kept, or the record cannot be written; each path is then as it
    was or as planned.
    """
    with ExitStack() as stack:
        tree = stack.enter_context(open_tree(proposal.root))
        leftovers = tuple(_leftover(item) for item in sweep(tree) if item.detail is not None)
        draft = begin_restore(proposal.layout, world.ids.session_id(), disk=world.disk)
        stack.callback(draft.close)
        outcomes = apply(proposal.plan, proposal.contents, tree, Options(keep=draft, progress=progress))
        by_path = {outcome.path: outcome for outcome in outcomes}
        states = _States(proposal, draft.displaced)
        record = RestoreRecord(
            session_id=proposal.origin.session_id,
            docket_number=proposal.origin.docket_number,
            restored_at=world.clock.now(),
            root=proposal.root,
            root_identity=proposal.plan.root,
            plan_sha256=proposal.plan.digest,
            forced=proposal.force,
            manifest_sha256=proposal.origin.manifest_sha256,
            redo_of=proposal.origin.redo_of,
            paths=tuple(states.told(item, by_path.get(item.path)) for item in proposal.intentions),
        )
        return Restored(record=record, record_path=draft.publish(record), leftovers=leftovers)


def _leftover(item: Leftover) -> str:
    return f"a restore that was cut short left {visible(item.name)} in the tree: {item.detail}"


class _States:
    """What stood at each path before and stands there since."""

    def __init__(self, proposal: Proposal, displaced: Mapping[RelPath, EntryState]) -> None:
        self._foreseen, self._displaced = proposal.foreseen, displaced
        self._steps = {step.path: step for step in proposal.plan.steps}

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
        return replace(told, was=was, now=self._after(item.step, was), kept=is_kept)

    def _after(self, step: Step, was: EntryState | None) -> EntryState | None:
        match step:
            case WriteFile():
                content = step.content
                return EntryState(kind=Kind.FILE.value, mode=step.mode, size=content.size, sha256=content.sha256)
            case MakeDirectory():
                return EntryState(kind=Kind.DIRECTORY.value, mode=step.mode)
            case MakeSymlink():
                return symlink_state(step.target)
            case SetMode():
                return None if was is None else replace(was, mode=step.mode)
            case Link():
                holder = self._steps.get(step.to)
                before = self._foreseen[step.to].was if step.to in self._foreseen else None
                return None if holder is None else self._after(holder, before)
            case Remove():
                return None


def _ledger(path: Path, disk: Disk) -> tuple[SessionStart, FsSnapshot, Sequence[FsChange], tuple[str, ...]]:
    """Return the run's beginning, its pass with kept contents, what it changed, and what a person should know."""
    start: SessionStart | None = None
    passes: dict[Phase, FsSnapshot] = {}
    changes: list[FsChange] = []
    remarks: list[str] = []
    for item in read_ledger(path, disk=disk):
        if isinstance(item, TornTail):
            remarks.append("the ledger ends in a part of a line: the run did not end by itself")
            continue
        payload = read_payload(item)
        match payload:
            case SessionStart():
                start = payload
            case FsSnapshot():
                passes[payload.phase] = payload
            case FsChange():
                changes.append(payload)
            case EvidenceGap():
                remarks.append("the ledger has a gap: changes of the run may be missing in it")
            case _:
                pass
    if start is None:
        raise InvalidDocumentError(Reason.LEDGER_DAMAGED, f"{path} has no beginning")
    if Phase.CONTENTS not in passes:
        detail = f"the run {start.docket_number} kept no snapshot: what it changed cannot be put back"
        raise UnavailableError(Reason.NOT_FOUND, detail, hint="docket run --snapshot keeps one")
    if Phase.AFTER not in passes:
        detail = f"the run {start.docket_number} was cut short: its ledger does not tell what it changed"
        raise UnavailableError(Reason.NOT_RECORDED, detail)
    return start, passes[Phase.CONTENTS], changes, tuple(remarks)


def _same_session(receipt: JsonObject, start: SessionStart, manifest: Manifest) -> None:
    session = receipt.get("session")
    told = session.get("id") if isinstance(session, Mapping) else None
    named = {"receipt": told, "ledger": start.session_id, "manifest": manifest.head.session_id}
    if len(set(map(str, named.values()))) > 1:
        points = tuple(f"the {document} is of session {name}" for document, name in named.items())
        detail = "receipt, ledger and manifest are not of one run"
        raise InvalidDocumentError(Reason.DOCUMENTS_DISAGREE, detail, points=points)


def _agreed_root(receipt: JsonObject, start: SessionStart, manifest: Manifest) -> bytes:
    session = receipt.get("session")
    members = session if isinstance(session, Mapping) else {}
    ledger = {"cwd": start.cwd, **({} if start.cwd_b64 is None else {"cwd_b64": start.cwd_b64})}
    roots = {"receipt": raw_of("cwd", members), "ledger": raw_of("cwd", ledger), "manifest": manifest.head.root}
    root = manifest.head.root
    if any(told != root for told in roots.values()):
        points = tuple(
            f"the {document} says {'nothing' if told is None else visible(told)}" for document, told in roots.items()
        )
        detail = "receipt, ledger and manifest do not agree about the tree of the run"
        raise InvalidDocumentError(
            Reason.DOCUMENTS_DISAGREE, detail, points=points, hint="name the tree that is meant with --root"
        )
    return root


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
    "proposal_of",
    "propose",
    "propose_redo",
]
