"""Commit a transaction: the whole change set or nothing, by a plan through the one apply.

Rules (spec/workspace.md, Commit). In this order, and any failure refuses the whole commit with nothing applied:
1. the base is the directory it was, nothing of an interrupted apply stands in it, and its lock is held;
2. everything in the change set can be told and made;
3. drift: each path of the change set still holds what was staged, or already what would land; both sides are named;
4. protected paths have an approval;
5. no file that would land is, by its inode, the base's own;
6. what would be written fits on the base's disk;
7. the journal is durable, then the plan is applied, all or nothing.

The state says `committing`, durably, before the first path changes. What an apply that died leaves is recovery's.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, TypeAlias

from docket.engines.apply import ConfinedTree, Mode, Options, apply, leftover_names, open_tree
from docket.engines.foresee import foresee
from docket.engines.transaction.base_contents import over_present
from docket.engines.transaction.closing import ClosedTransaction, moved
from docket.engines.transaction.displaced import clear_ancestors, keep_displaced
from docket.engines.transaction.git_locks import locked
from docket.engines.transaction.git_state import landing_changes
from docket.engines.transaction.neighbours import sentence, who_landed_on
from docket.engines.transaction.parents import replaced_above
from docket.engines.transaction.world import TransactionWorld
from docket.errors import DocketError, InvalidDocumentError
from docket.formats.dataclass import dataclass, replace
from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import EntryState
from docket.formats.ledger.workspace_events import RefusedChange
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import FileEntry
from docket.formats.tree.parts import records_at
from docket.formats.tree.plan import Outcome, Plan, StepStatus, plan_of
from docket.formats.tree.steps import WriteFile
from docket.formats.workspace.change_set import ChangeSet
from docket.formats.workspace.state import TransactionState
from docket.host.locks import DirectoryLock
from docket.host.tree_files import TreeFiles
from docket.rules.workspace.changes import blocked
from docket.rules.workspace.commit_plan import landing
from docket.rules.workspace.preflight import RESERVE_BYTES
from docket.rules.workspace.protected import Approval, approval, protected_hits
from docket.rules.workspace.states import Move
from docket.stores.workspace.journal import JournalFile
from docket.stores.workspace.made_contents import MadeContents
from docket.stores.workspace.tree_contents import TreeContents

LOCK_PATIENCE_SECONDS = 10.0
_DONE = (StepStatus.APPLIED, StepStatus.ALREADY)
_UNDONE = (StepStatus.REFUSED, StepStatus.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedPath:
    """A path because of which a commit was refused, and why; `transaction` is the other one that landed there."""

    path: RelPath
    reason: Reason
    detail: str
    transaction: str | None = None

    def told(self) -> RefusedChange:
        """Return it as records and the ledger tell it."""
        return RefusedChange(path=self.path, reason=str(self.reason), detail=self.detail, transaction=self.transaction)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRefused:
    """Nothing was applied; `paths` are all that stood in the way of this kind."""

    state: TransactionState
    reason: Reason
    detail: str
    approval: Approval
    protected: int = 0
    paths: tuple[RefusedPath, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """The change set stands in the base; `already` counts the paths that stood as planned before."""

    state: TransactionState
    plan_sha256: Digest
    approval: Approval
    applied: int
    already: int
    protected: int = 0
    remarks: tuple[str, ...] = ()


CommitOutcome: TypeAlias = Committed | CommitRefused


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRequest:
    """What is to land: the closed transaction, and the approval that was given.

    `made` are contents of the change set that do not stand in the stage.
    """

    closed: ClosedTransaction
    made: tuple[bytes, ...] = ()
    approved_run: bool = False
    approved_digest: Digest | None = None


class RefusedError(Exception):
    """A refusal on its way out of the steps of a commit."""

    def __init__(self, reason: Reason, detail: str, paths: tuple[RefusedPath, ...] = ()) -> None:
        super().__init__(detail)
        self.reason, self.detail, self.paths = reason, detail, paths


def commit_transaction(request: CommitRequest, world: TransactionWorld) -> CommitOutcome:
    """Land the change set, or say why nothing of it was; only what ends the program raises."""
    closed, state = request.closed, request.closed.state
    changes = closed.found.change_set
    hits = protected_hits(changes, closed.opened.base, state.surface.protect)
    given = approval(changes, for_run=request.approved_run, digest=request.approved_digest)
    work = _Commit(closed, world, request.made, given)
    try:
        work.run(hits)
    except RefusedError as refused:
        refused = told_with_neighbours(refused, state, world)
        reason, detail, paths = refused.reason, refused.detail, refused.paths
    except DocketError as error:
        reason, detail, paths = Reason(error.reason), error.detail, ()
    else:
        return Committed(
            state=work.state,
            plan_sha256=work.plan_sha256,
            approval=given,
            applied=work.count(StepStatus.APPLIED),
            already=work.count(StepStatus.ALREADY),
            protected=len(hits),
            remarks=(*(f"{item.path}: {item.detail}" for item in work.outcomes if item.detail), *work.remarks),
        )
    work.refuse(reason, detail)
    return CommitRefused(
        state=work.state, reason=reason, detail=detail, approval=given, protected=len(hits), paths=paths
    )


def told_with_neighbours(refused: RefusedError, state: TransactionState, world: TransactionWorld) -> RefusedError:
    """Return a refusal because of drift with the transactions that landed on its paths meanwhile."""
    if refused.reason is not Reason.BASE_DRIFT:
        return refused
    landed = who_landed_on(state, (item.path for item in refused.paths), world)
    paths = tuple(replace(item, transaction=landed.get(item.path)) for item in refused.paths)
    return RefusedError(refused.reason, refused.detail + sentence(list(landed.values())), paths)


class _Commit:
    def __init__(
        self, closed: ClosedTransaction, world: TransactionWorld, made: tuple[bytes, ...], given: Approval
    ) -> None:
        self._closed, self._world, self._made, self._given = closed, world, made, given
        self._base = Path(os.fsdecode(closed.state.base.path))
        self.state = closed.state
        self.outcomes: tuple[Outcome, ...] = ()
        self.plan_sha256 = closed.digest
        self.remarks: tuple[str, ...] = ()
        self._journal: JournalFile | None = None
        self._trouble: str | None = None
        self._gone = 0

    def run(self, hits: tuple[RelPath, ...]) -> None:
        """Go through the order of a commit; RefusedError or DocketError, with nothing applied."""
        with ExitStack() as held:
            tree = self._opened_base(held)
            held.enter_context(locked(tree, self._closed.found.change_set.changes, self.state.id))
            plan = self._plan(tree)
            self._check_drift(plan, tree)
            if hits and self._given is Approval.NONE:
                raise _protected(hits)
            self._check_inodes(plan)
            self._check_room(plan)
            self._keep_displaced(plan, tree)
            self._apply(plan, tree, held)
            # Whoever waits for the base finds out who landed on it.
            self._landed()

    def refuse(self, reason: Reason, detail: str) -> None:
        """Write down that nothing was applied; where not all could be put back, recovery says how it ended."""
        if self._trouble is not None:
            return
        self.state = replace(moved(self.state, Move.REFUSE, self._world), reason=str(reason), detail=detail)
        self._world.transactions.save(self.state)
        if self._journal is not None:
            self._journal.remove()

    def _landed(self) -> None:
        """Write down that it landed. What cannot be written or cleared now, recovery finds: the paths are durable."""
        self.state = replace(moved(self.state, Move.COMMIT, self._world), reason=None, detail=None)
        try:
            self._world.transactions.save(self.state)
            if self._trouble is None and self._journal is not None:
                self._journal.remove()
        except DocketError as error:
            self._trouble = error.detail
        if self._trouble is not None:
            self.remarks += (f"{self._trouble}: docket tx recover {self.state.id} ends it",)
        clear_ancestors(self._world.transactions)

    def count(self, status: StepStatus) -> int:
        """How many steps ended so."""
        gone = self._gone if status is StepStatus.ALREADY else 0
        return gone + sum(outcome.status is status for outcome in self.outcomes)

    def _opened_base(self, held: ExitStack) -> ConfinedTree:
        lock = held.enter_context(DirectoryLock.acquire(self._base, wait_seconds=LOCK_PATIENCE_SECONDS))
        tree = held.enter_context(open_tree(os.fsencode(self._base)))
        if tree.identity != self.state.base.identity or lock.identity != tree.identity:
            raise RefusedError(Reason.ROOT_REPLACED, f"{self._base} is not the directory that was staged")
        if leftover_names(tree):
            detail = f"a change that was interrupted has left something in {self._base}: docket tx recover ends it"
            raise RefusedError(Reason.INTERRUPTED_APPLY, detail)
        return tree

    def _plan(self, tree: ConfinedTree) -> Plan:
        blocking = self._closed.found.blocking
        if blocking:
            paths = tuple(RefusedPath(path=o.path, reason=o.reason, detail=blocked(o)) for o in blocking)
            raise RefusedError(
                blocking[0].reason, f"{_named(paths)} in the stage cannot land: {paths[0].detail}", paths
            )
        opened, listing = self._closed.opened, self._closed.listing
        changes = landing_changes(self._known_changes(tree), listing, opened, (tree, self._world))
        found = landing(changes, listing, opened.base)
        if found.refused:
            paths = tuple(RefusedPath(path=r.path, reason=r.reason, detail=r.detail) for r in found.refused)
            raise RefusedError(paths[0].reason, f"{_named(paths)} cannot land: {paths[0].detail}", paths)
        try:
            plan = plan_of(found.steps, tree.identity)
        except InvalidDocumentError as error:
            raise RefusedError(Reason(error.reason), f"the change set is no plan: {error.detail}") from error
        self.plan_sha256 = plan.digest
        return plan

    def _known_changes(self, tree: ConfinedTree) -> ChangeSet:
        """Return the change set, what nobody knew of the base as it stands; refuse what cannot be compared."""
        standing = over_present(self._closed.found.change_set, tree)
        if standing.others:
            paths = tuple(_changed_unread(path) for path in standing.others)
            raise RefusedError(Reason.BASE_DRIFT, f"{_named(paths)} changed in the tree since it was staged", paths)
        self._gone = standing.done
        return standing.changes

    def _check_drift(self, plan: Plan, tree: ConfinedTree) -> None:
        found = foresee(plan, tree)
        outcomes = [item.outcome for item in found if item.outcome is not None]
        paths = tuple(_drifted(item) for item in outcomes if item.status in _UNDONE)
        due = [item.step.path for item in found if item.outcome is None]
        paths += tuple(_moved(*item) for item in replaced_above(due, self._closed.opened.base, tree).items())
        if paths:
            detail = f"{_named(paths)} changed in the tree since it was staged"
            raise RefusedError(Reason.BASE_DRIFT, detail, paths)

    def _check_inodes(self, plan: Plan) -> None:
        written = [step.path for step in plan.steps if isinstance(step, WriteFile)]
        with (
            TreeFiles(os.fsencode(self._closed.opened.stage.root)) as staged,
            TreeFiles(os.fsencode(self._base)) as standing,
        ):
            for path in written:
                identity = staged.identity(path)
                if identity is not None and identity == standing.identity(path):
                    raise RefusedError(Reason.SHARED_INODE, f"{path} in the stage is the tree's own file")

    def _check_room(self, plan: Plan) -> None:
        sizes = {step.content: step.content.size for step in plan.steps if isinstance(step, WriteFile)}
        needed = sum(sizes.values())
        needed += needed // 10 + RESERVE_BYTES
        try:
            free = self._world.free(self._base)
        except OSError:
            return
        if needed > free:
            detail = f"the commit needs {needed:,} bytes, a reserve included, and the tree's disk has {free:,}"
            raise RefusedError(Reason.NO_SPACE, detail)

    def _keep_displaced(self, plan: Plan, tree: ConfinedTree) -> None:
        trouble = keep_displaced(plan, tree, self.state, self._world.transactions)
        if trouble is not None:
            self.remarks += (trouble,)

    def _apply(self, plan: Plan, tree: ConfinedTree, held: ExitStack) -> None:
        stage = self._closed.opened.stage
        written = {step.path for step in plan.steps if isinstance(step, WriteFile)}
        records = records_at(self._closed.listing, written).values()
        entries = (record for record in records if isinstance(record, FileEntry))
        staged = held.enter_context(TreeContents(os.fsencode(stage.root), entries))
        contents = MadeContents(self._made, staged) if self._made else staged
        begun = moved(self.state, Move.BEGIN, self._world)
        self.state = replace(begun, plan_sha256=plan.digest, approval=str(self._given))
        self._world.transactions.save(self.state)
        folder = self._world.transactions.path(self.state.id)
        self._journal = JournalFile.begin(folder, plan, self.state)
        options = Options(mode=Mode.ALL_OR_NOTHING, journal=self._journal, keep=_Promised())
        self.outcomes = apply(plan, contents, tree, options)
        self._trouble = tree.trouble
        undone = tuple(_drifted(item) for item in self.outcomes if item.status in _UNDONE)
        if not undone and not all(item.status in _DONE for item in self.outcomes):
            undone = tuple(_drifted(item) for item in self.outcomes if item.status not in _DONE)
        if undone:
            reason = undone[0].reason
            drifted = reason in (Reason.CHANGED_SINCE, Reason.NOT_EMPTY, Reason.MOVED_WHILE_WRITTEN)
            detail = f"{_named(undone)}: {undone[0].detail}"
            if self._trouble is not None:
                detail = f"{detail}; {self._trouble}: docket tx recover {self.state.id} ends it"
            raise RefusedError(Reason.BASE_DRIFT if drifted else reason, detail, undone)


class _Promised:
    """Promises what a step displaces to the journal: until that is gone, nobody who clears up may remove it."""

    def keep(self, path: RelPath, state: EntryState, content: BinaryIO | None, /) -> None:
        """Keep nothing beside the tree: the displaced thing itself is what recovery puts back."""


def _changed_unread(path: RelPath) -> RefusedPath:
    detail = "it changed before its content had been read, so what was staged of it is not known"
    return RefusedPath(path=path, reason=Reason.CHANGED_SINCE, detail=detail)


def _moved(path: RelPath, above: RelPath) -> RefusedPath:
    detail = f"another directory stands at {above} than the one that was staged"
    return RefusedPath(path=path, reason=Reason.CHANGED_SINCE, detail=detail)


def _protected(hits: tuple[RelPath, ...]) -> RefusedError:
    paths = tuple(
        RefusedPath(path=path, reason=Reason.PROTECTED_PATH, detail="it lands only with an approval") for path in hits
    )
    lands = "lands" if len(paths) == 1 else "land"
    return RefusedError(Reason.PROTECTED_PATH, f"{_named(paths)} {lands} only with an approval", paths)


def _drifted(outcome: Outcome) -> RefusedPath:
    reason = outcome.reason or Reason.WRITE_FAILED
    return RefusedPath(path=outcome.path, reason=reason, detail=outcome.detail or str(reason))


def _named(paths: tuple[RefusedPath, ...]) -> str:
    return str(paths[0].path) if len(paths) == 1 else f"{paths[0].path} and {len(paths) - 1} more"


__all__ = ["CommitOutcome", "CommitRefused", "CommitRequest", "Committed", "RefusedPath", "commit_transaction"]
