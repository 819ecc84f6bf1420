"""Commit a transaction whose paths somebody else changed too: what both sides did is merged, or nothing lands.

Rules (spec/workspace.md, Merging):
1. What drifted is found as a commit finds it; each path is decided by `rules.workspace.merging`.
2. A text is merged with the content that was staged, taken from wherever it is still to be had: the stage, what other
   commits displaced, the pool of snapshots, git's commit and index. Without it nothing is merged.
3. One path that cannot be merged refuses the whole commit; what conflicts is kept for a person to see.
4. What was merged is a change set of its own: protection and approval are judged by it, and the commit finds out under
   its lock whether the tree is still what was merged with. If not, it is merged anew, `ATTEMPTS` times at most.
5. Nothing of the tree is touched here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self

from docket.engines.apply import ConfinedTree, open_tree
from docket.engines.foresee import foresee, present_content
from docket.engines.transaction.base_contents import over_present
from docket.engines.transaction.closing import ClosedTransaction, moved
from docket.engines.transaction.committing import (
    CommitOutcome,
    CommitRefused,
    CommitRequest,
    RefusedError,
    RefusedPath,
    commit_transaction,
    told_with_neighbours,
)
from docket.engines.transaction.git_state import landing_changes
from docket.engines.transaction.world import TransactionWorld
from docket.errors import DocketError, InvalidDocumentError, UnavailableError
from docket.formats.dataclass import dataclass, field, replace
from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import EntryState
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.listing import FileEntry, Kind
from docket.formats.tree.parts import records_at
from docket.formats.tree.plan import Plan, StepStatus, plan_of
from docket.formats.workspace.change_set import ChangeSet
from docket.formats.workspace.commit_record import MergedPath
from docket.host.git_merge import GitMerge
from docket.rules.workspace.commit_plan import landing
from docket.rules.workspace.git_paths import GitPaths
from docket.rules.workspace.merging import (
    BOTH_CHANGED,
    MAX_MERGED_BYTES,
    Became,
    Drifted,
    TextMerge,
    Unmergeable,
    conflicting,
    decide,
    merged_changes,
    merged_listing,
    untaken,
)
from docket.rules.workspace.protected import Approval
from docket.rules.workspace.states import Move
from docket.stores.workspace.ancestors import Ancestors
from docket.stores.workspace.conflicts import Conflicts
from docket.stores.workspace.git_ancestors import GitAncestors
from docket.stores.workspace.made_contents import MadeContents
from docket.stores.workspace.tree_contents import TreeContents

ATTEMPTS = 3
MAX_MADE_BYTES = 256 * 1024 * 1024
_UNDONE = (StepStatus.REFUSED, StepStatus.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """What would be committed instead of what was asked for; `merged` are the texts of it."""

    request: CommitRequest
    merged: tuple[MergedPath, ...] = ()

    @property
    def changes(self) -> ChangeSet:
        """The change set over the tree as it is now."""
        return self.request.closed.found.change_set


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRefused:
    """Why nothing can be merged, and the texts of the conflicts, both sides between markers."""

    refused: RefusedError
    conflicts: Mapping[RelPath, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedCommit:
    """How a commit with merging ended: the change set that landed or was refused, and what of it was merged."""

    outcome: CommitOutcome
    changes: ChangeSet
    merged: tuple[MergedPath, ...] = ()


def commit_merged(request: CommitRequest, world: TransactionWorld) -> MergedCommit:
    """Merge and land, or say why nothing landed.

    UnavailableError(PLAN_DIFFERS) where a digest was approved and what was merged has another: nothing was changed.
    """
    kept = Conflicts(world.transactions.path(request.closed.state.id))
    for left in reversed(range(ATTEMPTS)):
        found = _tried(request, world)
        if isinstance(found, MergeRefused):
            kept.replace(found.conflicts)
            return MergedCommit(outcome=_refuse(request, found.refused, world), changes=request.closed.found.change_set)
        check_shown(found.changes, request.approved_digest, request.closed.state.id)
        kept.replace({})
        outcome = commit_transaction(found.request, world)
        done = MergedCommit(outcome=outcome, changes=found.changes, merged=found.merged)
        if not left or not isinstance(outcome, CommitRefused) or outcome.reason is not Reason.BASE_DRIFT:
            break
    return done


def _tried(request: CommitRequest, world: TransactionWorld) -> Merge | MergeRefused:
    try:
        return merge(request, world)
    except DocketError as error:
        return MergeRefused(refused=RefusedError(Reason(error.reason), error.detail), conflicts={})


def check_shown(changes: ChangeSet, shown: Digest | None, transaction: str) -> None:
    """UnavailableError(PLAN_DIFFERS) where a change set was approved and this is another."""
    if shown is not None and shown != changes.digest:
        detail = f"the change set is another than the one that was shown: {changes.digest}; nothing was changed"
        raise UnavailableError(Reason.PLAN_DIFFERS, detail, hint=f"docket tx diff {transaction} shows it")


def merge(request: CommitRequest, world: TransactionWorld) -> Merge | MergeRefused:
    """Return what would be committed, or why it cannot be; DocketError where merging itself cannot be done.

    What a commit would refuse for another reason than drift is left for it to refuse.
    """
    closed = request.closed
    with open_tree(closed.state.base.path) as tree:
        drifted = _drifted(closed, tree, world) if tree.identity == closed.state.base.identity else ()
        if not drifted:
            return Merge(request=request)
        with _Merging(request, tree, world) as work:
            for item in drifted:
                work.take(item)
    if work.refusals:
        return MergeRefused(refused=_refusal(work.refusals, closed, world), conflicts=work.conflicts)
    changes = merged_changes(closed.found.change_set, work.became)
    state = replace(closed.state, diff_sha256=changes.digest, changes=changes.counts)
    merged = replace(
        closed,
        state=state,
        listing=merged_listing(closed.listing, work.became),
        found=replace(closed.found, change_set=changes),
    )
    return Merge(request=replace(request, closed=merged, made=(*request.made, *work.made)), merged=tuple(work.merged))


def _drifted(closed: ClosedTransaction, tree: ConfinedTree, world: TransactionWorld) -> tuple[Drifted, ...]:
    plan = _plan(closed, tree, world)
    if plan is None:
        return ()
    changes = {change.path: change for change in closed.found.change_set.changes}
    several = {item.path for item in closed.listing.details.paths if item.identity is not None}
    git = GitPaths.of(closed.opened.base, closed.listing)
    drifted = []
    for item in foresee(plan, tree):
        if item.outcome is None or item.outcome.status not in _UNDONE or item.step.path not in changes:
            continue
        present = tree.stands(item.step)
        drifted.append(
            Drifted(
                change=changes[item.step.path],
                theirs=None if present is None else present.state,
                reason=item.outcome.reason or Reason.CHANGED_SINCE,
                detail=item.outcome.detail or "it is not what was staged",
                mtime_ns=0 if present is None else present.status.st_mtime_ns,
                several_names=item.step.path in several,
                is_gits=git.folder_of(item.step.path) is not None,
            )
        )
    return tuple(drifted)


def _plan(closed: ClosedTransaction, tree: ConfinedTree, world: TransactionWorld) -> Plan | None:
    """Return the plan of a commit, None where there is none: the commit says why."""
    if closed.found.blocking:
        return None
    standing = over_present(closed.found.change_set, tree)
    if standing.others:
        return None
    changes = landing_changes(standing.changes, closed.listing, closed.opened, (tree, world))
    found = landing(changes, closed.listing, closed.opened.base)
    with suppress(InvalidDocumentError):
        return None if found.refused else plan_of(found.steps, tree.identity)
    return None


def _refusal(paths: list[RefusedPath], closed: ClosedTransaction, world: TransactionWorld) -> RefusedError:
    first = paths[0]
    others = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    drift = RefusedError(Reason.BASE_DRIFT, f"{first.path}{others} cannot be merged: {first.detail}", tuple(paths))
    told = told_with_neighbours(drift, closed.state, world)
    return RefusedError(first.reason, told.detail, told.paths)


def _refuse(request: CommitRequest, refused: RefusedError, world: TransactionWorld) -> CommitRefused:
    state = moved(request.closed.state, Move.REFUSE, world)
    state = replace(state, reason=str(refused.reason), detail=refused.detail)
    world.transactions.save(state)
    return CommitRefused(
        state=state, reason=refused.reason, detail=refused.detail, approval=Approval.NONE, paths=refused.paths
    )


@dataclass(slots=True)
class _Merging:
    """The merge of one transaction's drifted paths: what each became, or why one could not become anything."""

    request: CommitRequest
    tree: ConfinedTree
    world: TransactionWorld
    became: list[Became] = field(default_factory=list)
    made: list[bytes] = field(default_factory=list)
    merged: list[MergedPath] = field(default_factory=list)
    refusals: list[RefusedPath] = field(default_factory=list)
    conflicts: dict[RelPath, bytes] = field(default_factory=dict)
    _held: ExitStack = field(default_factory=ExitStack)
    _git: GitMerge | None = None
    _ancestors: _AncestorSearch | None = None

    def take(self, drifted: Drifted) -> None:
        """Decide one path, and merge it if it is a text."""
        match decision := decide(drifted):
            case Unmergeable():
                self._refused(drifted, decision)
            case TextMerge():
                self._merge(drifted, decision)
            case _:
                mtime_ns = drifted.mtime_ns if decision.is_theirs else self._staged_at(drifted.path)
                self.became.append(Became(drifted=drifted, state=decision.state, mtime_ns=mtime_ns))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def _merge(self, drifted: Drifted, wanted: TextMerge) -> None:
        texts = self._texts(drifted.path, wanted)
        if isinstance(texts, Unmergeable):
            self._refused(drifted, texts)
            return
        why = untaken(texts, BOTH_CHANGED)
        if why is not None:
            self._refused(drifted, why)
            return
        if self._git is None:
            self._git = self._held.enter_context(GitMerge())
        labels = (f"transaction {self.request.closed.state.id}", "what was staged", "the tree")
        done = self._git.merge(texts, labels)
        if done.conflicts:
            self.conflicts[drifted.path] = done.content
            self._refused(drifted, conflicting(done.conflicts, "both sides changed the same lines"))
            return
        self._took(drifted, wanted, done.content)

    def _took(self, drifted: Drifted, wanted: TextMerge, content: bytes) -> None:
        if sum(map(len, self.made)) + len(content) > MAX_MADE_BYTES:
            self._refused(drifted, _no(Reason.NOT_MERGEABLE, f"more than {MAX_MADE_BYTES:,} bytes would be merged"))
            return
        result = Address.of(content)
        state = EntryState(kind=Kind.FILE.value, mode=wanted.mode, size=result.size, sha256=result.sha256)
        self.made.append(content)
        self.became.append(Became(drifted=drifted, state=state, mtime_ns=None))
        self.merged.append(
            MergedPath(
                path=drifted.path,
                ancestor_sha256=wanted.ancestor.sha256,
                ours_sha256=wanted.ours.sha256,
                theirs_sha256=wanted.theirs.sha256,
                result_sha256=result.sha256,
            )
        )

    def _texts(self, path: RelPath, wanted: TextMerge) -> tuple[bytes, bytes, bytes] | Unmergeable:
        ours = self._ours(path, wanted.ours)
        theirs = present_content(self.tree, path, MAX_MERGED_BYTES)
        if ours is None or theirs is None or Address.of(theirs) != wanted.theirs:
            return _no(Reason.CHANGED_WHILE_READ, "it changes while it is merged")
        if self._ancestors is None:
            self._ancestors = self._held.enter_context(_AncestorSearch(self.request, self.world))
        ancestor = self._ancestors.read(path, wanted.ancestor)
        if ancestor is None:
            return _no(Reason.CONTENT_MISSING, f"{BOTH_CHANGED}, and the content that was staged is gone")
        return ours, ancestor, theirs

    def _ours(self, path: RelPath, address: Address) -> bytes | None:
        closed = self.request.closed
        entries = (entry for entry in records_at(closed.listing, (path,)).values() if isinstance(entry, FileEntry))
        root = os.fsencode(closed.opened.stage.root)
        with (
            suppress(DocketError),
            TreeContents(root, entries) as staged,
            MadeContents(self.request.made, staged).open(address) as stream,
        ):
            return b"".join(stream)
        return None

    def _staged_at(self, path: RelPath) -> int:
        staged = records_at(self.request.closed.listing, (path,)).get(path)
        return staged.mtime_ns if isinstance(staged, FileEntry) else 0

    def _refused(self, drifted: Drifted, why: Unmergeable) -> None:
        self.refusals.append(RefusedPath(path=drifted.path, reason=why.reason, detail=why.detail))


class _AncestorSearch:
    """Looks for contents that were staged, in every place that may still have them."""

    def __init__(self, request: CommitRequest, world: TransactionWorld) -> None:
        closed = request.closed
        base = closed.state.base
        self._held = ExitStack()
        self._staged = self._held.enter_context(
            TreeContents(os.fsencode(closed.opened.stage.root), closed.listing.entries)
        )
        self._displaced = Ancestors(world.transactions.root, base.identity)
        self._git = self._held.enter_context(GitAncestors(Path(os.fsdecode(base.path))))
        self._pool = world.pool()
        if self._pool is not None:
            self._held.enter_context(self._pool)

    def read(self, path: RelPath, address: Address) -> bytes | None:
        """Return the content, None where nobody has it."""
        for content in self._each(path, address):
            return content
        return None

    def _each(self, path: RelPath, address: Address) -> Iterator[bytes]:
        with suppress(DocketError), self._staged.open(address) as stream:
            yield b"".join(stream)
        with suppress(DocketError):
            yield self._displaced.read(address)
        if self._pool is not None:
            with suppress(DocketError), self._pool.open(address) as stream:
                yield b"".join(stream)
        with suppress(DocketError):
            yield self._git.read(path, address)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()


def _no(reason: Reason, detail: str) -> Unmergeable:
    return Unmergeable(reason=reason, detail=detail)


__all__ = ["Merge", "MergeRefused", "MergedCommit", "check_shown", "commit_merged", "merge"]
