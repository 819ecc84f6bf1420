"""What is left of a change set of which a part landed: it goes on in a transaction of its own, which gets the stage.

Rules (spec/workspace.md, Derived change sets):
1. What was chosen is written down before it lands, and forgotten when the rest has its successor: whoever dies in
   between has a rest that a recovery finds.
2. A successor that was made already is gone on with, not made twice.
"""

from __future__ import annotations

import os
from pathlib import Path

from docket.engines.transaction.base_contents import known_entries, statuses_of
from docket.engines.transaction.closing import ClosedTransaction, measure_stage, reopen
from docket.engines.transaction.git_state import changes_of
from docket.engines.transaction.parents import take_inodes
from docket.engines.transaction.world import TransactionWorld
from docket.formats.dataclass import replace
from docket.formats.workspace.change_set import ChangeSet
from docket.formats.workspace.state import Status, TransactionState
from docket.rules.workspace.derive import landed_listing
from docket.stores.workspace.transactions import Damaged


def succeed(closed: ClosedTransaction, state: TransactionState, taken: ChangeSet, world: TransactionWorld) -> str:
    """Let the rest go on in a transaction of its own, over the base as it is now."""
    base = landed_listing(closed.opened.base, taken)
    if closed.opened.base.statuses:
        base.statuses = statuses_of(closed.opened.base).without(change.path for change in taken.changes)
    take_inodes(base, closed.opened.base, Path(os.fsdecode(state.base.path)))
    rest = changes_of(base, closed.listing, closed.opened, world).change_set
    now = world.clock.now()
    successor = replace(
        state,
        id=world.ids.session_id(),
        status=Status.CLOSED,
        manifest_sha256=base.tree_sha256,
        opened_at=now,
        changed_at=now,
        closed_at=now,
        diff_sha256=rest.digest,
        changes=rest.counts,
        plan_sha256=None,
        approval=None,
        reason=None,
        detail=None,
        predecessor=state.id,
        statuses_sha256=statuses_of(base).digest if base.statuses else None,
    )
    closed.opened.stage.close()
    world.transactions.create(successor, base)
    world.transactions.save_changes(successor.id, rest)
    if closed.opened.known:
        world.transactions.save_digests(successor.id, known_entries(closed.opened))
    return _handed_over(state, successor.id, world).id


def lacks_successor(state: TransactionState, world: TransactionWorld) -> bool:
    """Whether a part landed, and its rest was not handed over yet."""
    return state.status is Status.COMMITTED and world.transactions.has_chosen(state.id)


def finish_succession(state: TransactionState, world: TransactionWorld) -> str | None:
    """Give the rest of a part that landed its successor; None where nothing is left to be done."""
    taken = world.transactions.chosen(state.id) if state.status is Status.COMMITTED else None
    if taken is None:
        return None
    for other in world.transactions.every():
        if not isinstance(other, Damaged) and other.predecessor == state.id:
            return _handed_over(state, other.id, world).id
    opened = reopen(state, world)
    try:
        listing = measure_stage(opened, world)
        found = changes_of(opened.base, listing, opened, world)
        closed = ClosedTransaction(opened=opened, state=state, listing=listing, found=found)
        return succeed(closed, state, taken, world)
    finally:
        opened.stage.close()


def _handed_over(state: TransactionState, successor_id: str, world: TransactionWorld) -> TransactionState:
    transactions = world.transactions
    successor = transactions.load(successor_id)
    transactions.hand_over(state.id, successor_id)
    transactions.save(replace(state, successor=successor_id))
    transactions.forget_chosen(state.id)
    return successor
