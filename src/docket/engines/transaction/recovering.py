"""End commits that were interrupted: to the tree as it was, or as it was to be.

Rules (spec/workspace.md, Recovery):
1. Nobody does this but who is asked for it. The transaction's lock and the base's are held meanwhile.
2. What is said of the tree by the journal is checked first: it is this person's, of this base and of this plan.
3. The end is in the state before the record says it, and the record before the journal goes; so that whoever dies in
   between finds the same end again. Where a later commit had ended and its record alone is missing, that is made.
4. What an apply without a journal left in the tree is cleared away too, if it is asked for by the tree.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

from docket.engines.apply import ConfinedTree, Leftover, LeftoverState, interrupted, open_tree, sweep
from docket.engines.apply_recovery import Asked, Direction, Ended, recover
from docket.engines.transaction.closing import moved, standing_of
from docket.engines.transaction.git_locks import locked
from docket.engines.transaction.succeeding import finish_succession, lacks_successor
from docket.engines.transaction.world import TransactionWorld
from docket.errors import UnavailableError
from docket.formats.dataclass import dataclass, replace
from docket.formats.ledger.workspace_events import RefusedChange
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.plan import Plan
from docket.formats.workspace.commit_record import CommitRecord, encode_commit
from docket.formats.workspace.journal import Journal
from docket.formats.workspace.state import ChangeCounts, Status, TransactionState
from docket.host.disk import reported
from docket.host.locks import DirectoryLock
from docket.rules.workspace.states import Move, Standing
from docket.stores.workspace.journal import JournalFile, has_journal, read_journal, remove_journal, torn_journal
from docket.stores.workspace.kept import KeptFolder
from docket.stores.workspace.transactions import RECORDS, Damaged, Transactions

LOCK_PATIENCE_SECONDS = 2.0
NOT_BEGUN, LANDED = "none", "landed"
APPROVAL_UNKNOWN = "not-recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """What became of one interrupted commit.

    `ended` None where nothing of it was in the tree yet. `record` is None where it is not over, or nothing was to be
    changed; `kept` are the things that were not docket's and had to go, each with where it is kept.
    """

    state: TransactionState
    ended: Ended | None
    record: Path | None = None
    kept: tuple[tuple[RelPath, Path], ...] = ()
    left: tuple[str, ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to be recovered."""
        return not self.left and (self.ended is None or self.ended.is_over)


def interrupted_commits(transactions: Transactions) -> tuple[TransactionState, ...]:
    """Return the transactions whose commit was cut short."""
    return tuple(
        state
        for state in transactions.every()
        if not isinstance(state, Damaged) and awaits_recovery(state, transactions)
    )


def awaits_recovery(state: TransactionState, transactions: Transactions) -> bool:
    """Whether a transaction's commit was cut short, in the tree or between its landing and its end."""
    if state.status is Status.COMMITTING:
        return standing_of(state) is Standing.INTERRUPTED_COMMIT
    if transactions.is_locked(state.id):
        return False
    lacks = transactions.has_chosen(state.id) or transactions.owes_record(state.id)
    return (lacks and state.status is Status.COMMITTED) or has_journal(transactions.path(state.id))


def recover_transaction(transaction_id: str, asked: Asked, world: TransactionWorld) -> Recovered:
    """End the interrupted commit of a transaction, or say what stands in the way.

    UnavailableError where there is none, somebody else works on it, or something cannot be read or written;
    InvalidDocumentError where its journal is not this person's.
    """
    with ExitStack() as held:
        held.enter_context(world.transactions.lock(transaction_id, wait_seconds=LOCK_PATIENCE_SECONDS))
        state = world.transactions.load(transaction_id)
        folder = world.transactions.path(transaction_id)
        if standing_of(state) is Standing.COMMITTING:
            raise UnavailableError(Reason.IN_USE, f"the commit of {transaction_id} is under way")
        if state.status is not Status.COMMITTING and not has_journal(folder):
            if lacks_successor(state, world) or lacks_record(state, world):
                return _with_rest(Recovered(state=state, ended=None), asked, world)
            raise UnavailableError(Reason.NOTHING_CHANGED, f"no commit of {transaction_id} was interrupted")
        found = read_journal(folder)
        if found is not None and found[0].header.base != state.base:
            detail = f"the journal of {transaction_id} is of another tree"
            raise UnavailableError(Reason.DOCUMENTS_DISAGREE, detail)
        base = Path(os.fsdecode(state.base.path))
        held.enter_context(DirectoryLock.acquire(base, wait_seconds=LOCK_PATIENCE_SECONDS))
        tree = held.enter_context(open_tree(os.fsencode(base)))
        if tree.identity != state.base.identity:
            detail = f"{base} is not the directory that was staged"
            hint = f"put that one back at its path; if it is gone for good, remove {folder}, which is this transaction"
            raise UnavailableError(Reason.ROOT_REPLACED, detail, hint=hint)
        if found is not None and not asked.dry_run:
            held.enter_context(locked(tree, found[1].steps, transaction_id))
        return _with_rest(_Recovery(state, folder, world).run(found, tree, asked), asked, world)


def _with_rest(done: Recovered, asked: Asked, world: TransactionWorld) -> Recovered:
    """Hand over the rest of a part that landed, and record that it did; what did not land is chosen no more."""
    if asked.dry_run or not done.is_over:
        return done
    if done.state.status is not Status.COMMITTED:
        world.transactions.forget_chosen(done.state.id)
        world.transactions.settle_record(done.state.id)
        return done
    successor = finish_succession(done.state, world)
    if successor is not None:
        done = replace(done, state=replace(done.state, successor=successor))
    if done.record is None and lacks_record(done.state, world):
        done = replace(done, record=_recorded(done, world))
    world.transactions.settle_record(done.state.id)
    return done


def lacks_record(state: TransactionState, world: TransactionWorld) -> bool:
    """Whether a commit landed after its run, and nobody said that its record stands."""
    return state.status is Status.COMMITTED and world.transactions.owes_record(state.id)


def _recorded(done: Recovered, world: TransactionWorld) -> Path:
    """Return the record of a commit that had ended, and make it where it is not there."""
    record = replace(
        _record(done.state, str(Standing.INTERRUPTED_COMMIT), done), recovery=LANDED, successor=done.state.successor
    )
    stamp = record.at.replace(":", "")
    found = world.transactions.record_at(record.transaction, f"{stamp}-")
    if found is not None:
        return found
    return world.transactions.write_record(
        record.transaction, f"{stamp}-{LANDED}.json", encode_commit(world.vouch(record))
    )


def clear_leftovers(base: Path, *, dry_run: bool) -> tuple[Leftover, ...]:
    """Clear away what applies without a journal left in a tree; tell what commits of others left."""
    with DirectoryLock.acquire(base, wait_seconds=LOCK_PATIENCE_SECONDS), open_tree(os.fsencode(base)) as tree:
        if dry_run:
            return interrupted(tree)
        return tuple(item for item in sweep(tree) if item.state is not LeftoverState.FOREIGN)


class _Recovery:
    def __init__(self, state: TransactionState, folder: Path, world: TransactionWorld) -> None:
        self._state, self._folder, self._world = state, folder, world
        self._kept = KeptFolder(folder)
        self._was = str(standing_of(state))

    def run(self, found: tuple[Journal, Plan] | None, tree: ConfinedTree, asked: Asked) -> Recovered:
        journal = None if found is None else found[0]
        ended: Ended | None = None
        left: tuple[str, ...] = ()
        file: JournalFile | None = None
        if found is None and any((item.detail or "").startswith(f"{self._state.id} ") for item in interrupted(tree)):
            detail = f"the journal of {self._state.id} is gone or empty, and the tree holds what it was about"
            raise UnavailableError(Reason.DOCUMENTS_DISAGREE, detail, hint=torn_journal(self._folder))
        if found is not None and not asked.dry_run:
            file = JournalFile.resume(self._folder, found[0])
        if found is not None and found[0].staging is None and not asked.dry_run:
            swept = [item for item in sweep(tree, found[1].digest) if item.plan == found[1].digest]
            left = tuple(item.detail or str(item.state) for item in swept if item.state is not LeftoverState.REMOVED)
            torn = torn_journal(self._folder) if left else None
            left += () if torn is None else (torn,)
        elif found is not None and journal is not None and journal.staging is not None:
            with reported("recover", os.fsdecode(tree.path)):
                ended = recover(journal, found[1], tree, asked, _Hears(file, self._kept))
        done = Recovered(state=self._state, ended=ended, left=left, kept=tuple(self._kept.kept))
        if asked.dry_run or not done.is_over:
            return done
        return self._over(done)

    def _over(self, done: Recovered) -> Recovered:
        direction = None if done.ended is None else done.ended.direction
        state = self._state
        if state.status is Status.COMMITTING:
            move = Move.COMMIT if direction is Direction.FORWARD else Move.REFUSE
            state = moved(state, move, self._world)
            detail = None if move is Move.COMMIT else "the commit was interrupted, and nothing of it landed"
            reason = None if move is Move.COMMIT else str(Reason.ROLLED_BACK)
            state = replace(state, reason=reason, detail=detail)
            self._world.transactions.save(state)
        record = _record(state, self._was, done)
        name = f"{record.at.replace(':', '')}-{record.recovery}.json"
        path = self._folder / RECORDS / name
        try:
            self._world.transactions.write_record(state.id, name, encode_commit(self._world.vouch(record)))
        except UnavailableError as error:
            if error.reason != Reason.ALREADY_EXISTS:  # the recovery before this one came that far
                raise
        remove_journal(self._folder)
        return replace(done, state=state, record=path)


class _Hears:
    def __init__(self, file: JournalFile | None, kept: KeptFolder) -> None:
        self._file, self._kept = file, kept

    def applied(self) -> None:
        """Make the mark."""
        if self._file is not None:
            self._file.applied()

    def keep(self, path: RelPath, descriptor: int | None, target: bytes, /) -> None:
        """Keep it in the transaction's folder."""
        self._kept.keep(path, descriptor, target)


def _record(state: TransactionState, was: str, done: Recovered) -> CommitRecord:
    ended = done.ended
    kept = [RefusedChange(path=path, reason=str(Reason.LEFT_ASIDE), detail=f"kept as {at}") for path, at in done.kept]
    return CommitRecord(
        transaction=state.id,
        base=state.base,
        backend=state.backend,
        was=was,
        committed=state.status is Status.COMMITTED,
        at=state.changed_at,
        base_sha256=state.manifest_sha256,
        diff_sha256=state.diff_sha256 or state.manifest_sha256,
        changes=state.changes or ChangeCounts(),
        approval=state.approval or APPROVAL_UNKNOWN,
        applied=0 if ended is None or ended.direction is not Direction.FORWARD else len(ended.seen),
        already=0,
        plan_sha256=state.plan_sha256,
        session_id=state.session_id,
        docket_number=state.docket_number,
        reason=state.reason,
        detail=state.detail,
        refusals=tuple(kept),
        recovery=NOT_BEGUN if ended is None else str(ended.direction),
    )
