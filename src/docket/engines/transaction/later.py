"""Transactions after their runs: looking at them, landing them or a part of them, discarding and clearing them away.

Rules (spec/workspace.md, Commands and Later commits):
1. Looking changes nothing, and works on what was refused, discarded and interrupted too.
2. What is landed is what stands in the stage now, measured anew; a digest that was shown and is another by now lands
   nothing.
3. What was discarded lands only where that is said. What was interrupted while it was open is discarded first; what
   was interrupted while it committed is recovery's alone.
4. A later commit writes its own record in the transaction's folder, whether it landed or was refused. That it will is
   written down before: the record of one that landed and was killed then is recovery's.
5. Of a part that was chosen, the rest goes on as a successor, which is closed and has the stage.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docket.engines.transaction.closing import (
    ClosedTransaction,
    discard_transaction,
    drop_stage,
    measure_stage,
    reopen,
    standing_of,
    written_below,
)
from docket.engines.transaction.committing import CommitOutcome, CommitRequest, Committed, commit_transaction
from docket.engines.transaction.displaced import clear_ancestors
from docket.engines.transaction.git_state import changes_of
from docket.engines.transaction.merging import MergedCommit, check_shown, commit_merged
from docket.engines.transaction.staged_texts import StagedTexts
from docket.engines.transaction.succeeding import succeed
from docket.engines.transaction.world import OpenTransaction, TransactionWorld
from docket.errors import DocketError, UnavailableError
from docket.formats.dataclass import dataclass, replace
from docket.formats.digest import Digest
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.visible import visible
from docket.formats.workspace.change_set import ChangeSet
from docket.formats.workspace.commit_record import CommitRecord, MergedPath, encode_commit
from docket.formats.workspace.hunk_choice import HunkChoice
from docket.formats.workspace.state import Status, TransactionState
from docket.rules.workspace.derive import derive
from docket.rules.workspace.hunks import Part, part_of
from docket.rules.workspace.states import TERMINAL, Standing
from docket.stores.workspace.transactions import Damaged, Transactions

LOCK_PATIENCE_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterCommit:
    """What is to land of a transaction.

    `shown` is the digest of the change set that was shown and approved, None where none was named; `only` the chosen
    paths, none for all; `hunks` the chosen paths and hunks, instead of `only`. `from_discarded`: land it though its run
    did not. `merge`: what somebody else changed in the tree too is merged.
    """

    transaction: str
    only: tuple[RelPath, ...] = ()
    hunks: HunkChoice | None = None
    shown: Digest | None = None
    from_discarded: bool = False
    merge: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterOutcome:
    """How it ended, the record of it, and the transaction that holds the rest; `stage` is where what is staged lies."""

    outcome: CommitOutcome
    taken: ChangeSet
    record: str
    stage: str
    merged: tuple[MergedPath, ...] = ()
    successor: str | None = None


@contextmanager
def looked_at(state: TransactionState, world: TransactionWorld) -> Iterator[ClosedTransaction]:
    """Measure a transaction's stage without changing anything; UnavailableError where the stage is gone."""
    opened = reopen(state, world)
    try:
        yield inspect(opened, world)
    finally:
        opened.stage.close()


def inspect(opened: OpenTransaction, world: TransactionWorld) -> ClosedTransaction:
    """Return what stands in an open stage and what it changes."""
    listing = measure_stage(opened, world)
    found = changes_of(opened.base, listing, opened, world)
    return ClosedTransaction(opened=opened, state=opened.state, listing=listing, found=found)


def commit_later(request: LaterCommit, world: TransactionWorld) -> LaterOutcome:
    """Land a transaction, or the chosen part, or say why nothing landed.

    UnavailableError where it cannot be landed from where it stands, where its stage is gone, or where somebody else
    works on it; UsageError for a chosen path that is none of its.
    """
    with world.transactions.lock(request.transaction, wait_seconds=LOCK_PATIENCE_SECONDS):
        state = world.transactions.load(request.transaction)
        _check_standing(state, request)
        with looked_at(state, world) as closed:
            return _landed(request, world, closed)


def chosen_part(closed: ClosedTransaction, *, only: tuple[RelPath, ...] = (), hunks: HunkChoice | None = None) -> Part:
    """Return what is chosen of an open stage's change set, all of it where nothing is named.

    UsageError for a choice of nothing or of what is none of it; UnavailableError(PLAN_DIFFERS) where the hunks were
    chosen from another change set.
    """
    whole = closed.found.change_set
    if hunks is None:
        return Part(taken=derive(whole, only).taken if only else whole)
    wanted = {item.path for item in hunks.take if item.hunks is not None}
    with StagedTexts(closed) as texts:
        found = {change.path: texts.sides(change) for change in whole.changes if change.path in wanted}
    return part_of(whole, hunks, {path: sides for path, sides in found.items() if sides is not None})


def discard_later(transaction_id: str, world: TransactionWorld) -> TransactionState:
    """Say that a transaction does not land; its stage stays until it is cleared away."""
    with world.transactions.lock(transaction_id, wait_seconds=LOCK_PATIENCE_SECONDS):
        state = world.transactions.load(transaction_id)
        standing = standing_of(state)
        if standing not in (Standing.CLOSED, Standing.REFUSED, Standing.DISCARDED, Standing.INTERRUPTED):
            raise _cannot(state, standing, "discarded")
        return discard_transaction(state, world, (Reason.SETTLE_DISCARD, "a person discarded it"))


def clearable(transactions: Transactions, before: str) -> tuple[TransactionState, ...]:
    """Return the transactions that are over, that nobody works on, and that last changed before an instant."""
    return tuple(
        state
        for state in transactions.every()
        if not isinstance(state, Damaged)
        and standing_of(state) in TERMINAL
        and state.changed_at < before
        and not transactions.is_locked(state.id)
        and not transactions.has_chosen(state.id)
    )


def clear(state: TransactionState, transactions: Transactions) -> None:
    """Remove a transaction for good, its stage too; UnavailableError where something of it is left."""
    with transactions.lock(state.id):
        if standing_of(transactions.load(state.id)) not in TERMINAL:
            raise UnavailableError(Reason.IN_USE, f"{state.id} is not over")
        transactions.remove(state.id)
    clear_ancestors(transactions)


def _check_standing(state: TransactionState, request: LaterCommit) -> None:
    standing = standing_of(state)
    if standing is Standing.DISCARDED and not request.from_discarded:
        hint = f"docket tx commit --from-discarded {state.id} lands it all the same"
        raise UnavailableError(Reason.NOT_CLOSED, f"{state.id} was discarded: {state.detail}", hint=hint)
    if standing not in (Standing.CLOSED, Standing.REFUSED, Standing.DISCARDED):
        raise _cannot(state, standing, "landed")


def _cannot(state: TransactionState, standing: Standing, what: str) -> UnavailableError:
    hints = {
        Standing.INTERRUPTED: f"docket tx discard {state.id} keeps its stage, which may then be landed",
        Standing.INTERRUPTED_COMMIT: f"its commit was cut short: docket tx recover {state.id} ends it",
        Standing.OPEN: "its run is still going on",
        Standing.COMMITTED: "it is over: docket tx show tells what it changed",
    }
    return UnavailableError(
        Reason.NOT_CLOSED, f"{state.id} is {standing}, and cannot be {what}", hint=hints.get(standing)
    )


def _landed(request: LaterCommit, world: TransactionWorld, closed: ClosedTransaction) -> LaterOutcome:
    whole = closed.found.change_set
    chosen = chosen_part(closed, only=request.only, hunks=request.hunks)
    taken = chosen.taken
    if not request.merge:
        check_shown(taken, request.shown, request.transaction)
    before = closed.state
    state = replace(
        before,
        closed_at=before.closed_at or world.clock.now(),
        result_sha256=closed.listing.tree_sha256,
        diff_sha256=taken.digest,
        changes=taken.counts,
    )
    part = replace(closed, state=state, found=replace(closed.found, change_set=taken))
    made = tuple(chosen.made.values())
    asked = CommitRequest(closed=part, made=made, approved_digest=request.shown)
    stage = written_below(closed.opened.stage)
    if taken.digest != whole.digest:
        world.transactions.save_chosen(before.id, taken)
    else:
        world.transactions.forget_chosen(before.id)
    world.transactions.promise_record(before.id)
    done = _done(request, asked, world)
    outcome = done.outcome
    successor = None
    if isinstance(outcome, Committed):
        world.transactions.save_changes(before.id, done.changes)
        if taken.digest != whole.digest:
            successor = succeed(closed, outcome.state, taken, world)
        else:
            drop_stage(closed.opened, world)
    elif outcome.state.status is not Status.COMMITTING:
        world.transactions.forget_chosen(before.id)
    record = _record(before, done, whole, successor)
    path = _written(replace(record, stage=visible(os.fsencode(stage))) if record.refusals else record, world)
    world.transactions.settle_record(before.id)
    return LaterOutcome(
        outcome=outcome, taken=done.changes, merged=done.merged, stage=str(stage), record=str(path), successor=successor
    )


def _done(request: LaterCommit, asked: CommitRequest, world: TransactionWorld) -> MergedCommit:
    """Land what is asked for; where that cannot even be begun, nothing is chosen any more."""
    try:
        if request.merge:
            return commit_merged(asked, world)
        return MergedCommit(outcome=commit_transaction(asked, world), changes=asked.closed.found.change_set)
    except DocketError:
        if world.transactions.load(request.transaction).status not in (Status.COMMITTING, Status.COMMITTED):
            world.transactions.forget_chosen(request.transaction)
            world.transactions.settle_record(request.transaction)
        raise


def _written(record: CommitRecord, world: TransactionWorld) -> Path:
    name = f"{record.at.replace(':', '')}-{record.diff_sha256[:8]}.json"
    return world.transactions.write_record(record.transaction, name, encode_commit(world.vouch(record)))


def _record(before: TransactionState, done: MergedCommit, whole: ChangeSet, successor: str | None) -> CommitRecord:
    taken, outcome = done.changes, done.outcome
    return CommitRecord(
        transaction=before.id,
        base=before.base,
        backend=before.backend,
        was=str(before.status),
        committed=isinstance(outcome, Committed),
        at=outcome.state.changed_at,
        base_sha256=before.manifest_sha256,
        diff_sha256=taken.digest,
        of_diff_sha256=None if taken.digest == whole.digest else whole.digest,
        changes=taken.counts,
        approval=str(outcome.approval),
        applied=outcome.applied if isinstance(outcome, Committed) else 0,
        already=outcome.already if isinstance(outcome, Committed) else 0,
        plan_sha256=outcome.plan_sha256 if isinstance(outcome, Committed) else None,
        session_id=before.session_id,
        docket_number=before.docket_number,
        reason=None if isinstance(outcome, Committed) else str(outcome.reason),
        detail=None if isinstance(outcome, Committed) else outcome.detail,
        refusals=() if isinstance(outcome, Committed) else tuple(item.told() for item in outcome.paths),
        merged=done.merged or None,
        successor=successor,
    )
