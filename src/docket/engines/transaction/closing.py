"""Close a transaction: what stands in its stage when nobody works in it any more, and what that changes in the base.

Rules (spec/workspace.md, Change sets):
1. The stage is measured by the same surface as the base was. What a backend knows to be unchanged is not walked.
2. What was found is kept beside the state before the state says that the transaction is closed.
3. Discarding keeps the stage unless it is asked to go: an hour's work is not lost to a cap.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from docket.engines.observe import ObserveRequest
from docket.engines.transaction.backends.interface import Backend, BackendName, Stage
from docket.engines.transaction.base_contents import known_entries, told_as_before
from docket.engines.transaction.git_state import changes_of
from docket.engines.transaction.opening import stage_request
from docket.engines.transaction.world import OpenTransaction, TransactionWorld
from docket.errors import UnavailableError
from docket.formats.dataclass import dataclass, replace
from docket.formats.digest import Digest
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import Listing
from docket.formats.tree.status_listing import FileStatus
from docket.formats.workspace.state import Status, TransactionState
from docket.host.liveness import is_gone
from docket.rules.workspace.changes import Found
from docket.rules.workspace.powers import with_lost_powers
from docket.rules.workspace.result import laid_over, outermost
from docket.rules.workspace.states import Move, Standing, after, standing
from docket.rules.workspace.surface import Classes

_OVERLAY_WRITES = ("stage", "upper")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedTransaction:
    """A transaction whose stage was measured: `listing` is the whole stage, `found` what it changes."""

    opened: OpenTransaction
    state: TransactionState
    listing: Listing
    found: Found

    @property
    def digest(self) -> Digest:
        """The digest of the change set."""
        return self.found.change_set.digest


def close_transaction(
    opened: OpenTransaction, world: TransactionWorld, progress: Callable[[int, int], None] | None = None
) -> ClosedTransaction:
    """Measure the stage and write down what was found; UnavailableError where it cannot be read."""
    listing = measure_stage(opened, world, progress)
    found = changes_of(opened.base, listing, opened, world)
    world.transactions.save_changes(opened.state.id, found.change_set)
    if opened.known:
        world.transactions.save_digests(opened.state.id, known_entries(opened))
    state = opened.state if opened.state.status is not Status.OPEN else moved(opened.state, Move.CLOSE, world)
    state = replace(
        state,
        closed_at=state.closed_at or world.clock.now(),
        result_sha256=listing.tree_sha256,
        diff_sha256=found.change_set.digest,
        changes=found.change_set.counts,
    )
    world.transactions.save(state)
    return ClosedTransaction(opened=opened, state=state, listing=listing, found=found)


def measure_stage(
    opened: OpenTransaction, world: TransactionWorld, progress: Callable[[int, int], None] | None = None
) -> Listing:
    """Return what stands in the stage, with details; what did not change is taken from the base's listing."""
    surface = Classes.of(opened.state.surface).surface(opened.shared)
    request = ObserveRequest(root=os.fsencode(opened.stage.root), surface=surface, details=True, progress=progress)
    return observe_stage(opened, world, request, opened.base)


def observe_stage(
    opened: OpenTransaction, world: TransactionWorld, request: ObserveRequest, before: Listing
) -> Listing:
    """Return what a pass over the stage sees; what its backend knows to be unchanged is taken from `before`.

    `before` is what a pass over the base saw by the same surface before the stage was made.
    """
    request = replace(request, of_another=True)
    backend = backend_of(opened.state, world)
    changed = None if request.surface.roots else backend.changes(opened.stage)
    if changed is None:
        seen = world.observe(request)
        return seen if backend.keeps_everything else with_lost_powers(before, seen)
    roots = outermost(changed)
    if not roots:
        return before
    part = world.observe(replace(request, surface=replace(request.surface, roots=roots)))
    return told_as_before(before, laid_over(before, part, roots), part, opened)


def reopen(state: TransactionState, world: TransactionWorld) -> OpenTransaction:
    """Return a transaction of an earlier process with its stage; UnavailableError where that is gone."""
    listing = world.transactions.base_listing(state)
    request = stage_request(state, world, listing)
    stage = backend_of(state, world).attach(request)
    known = {} if state.statuses_sha256 is None else _known(state, world)
    return OpenTransaction(state=state, stage=stage, base=listing, shared=request.shared, known=known)


def _known(state: TransactionState, world: TransactionWorld) -> dict[tuple[RelPath, FileStatus], Digest]:
    entries = world.transactions.digests(state.id)
    return {(entry.path, entry.status): entry.sha256 for entry in entries if entry.sha256 is not None}


def discard_transaction(state: TransactionState, world: TransactionWorld, why: tuple[Reason, str]) -> TransactionState:
    """Say that a transaction does not land; its stage stays until it is removed."""
    discarded = replace(moved(state, Move.DISCARD, world), reason=str(why[0]), detail=why[1])
    world.transactions.save(discarded)
    return discarded


def drop_stage(opened: OpenTransaction, world: TransactionWorld) -> None:
    """Remove a stage for good."""
    opened.stage.close()
    backend_of(opened.state, world).discard(opened.stage)


def written_below(stage: Stage) -> Path:
    """Where what was written in a stage lies on the disk, whoever has it mounted."""
    return stage.folder.joinpath(*_OVERLAY_WRITES) if stage.backend is BackendName.OVERLAY else stage.root


def moved(state: TransactionState, move: Move, world: TransactionWorld) -> TransactionState:
    """Return the state after a move; UnavailableError(NOT_CLOSED) where it cannot happen."""
    status = after(state.status, move)
    if status is None:
        raise UnavailableError(Reason.NOT_CLOSED, f"{state.id} is {state.status}, and cannot {move} from there")
    return replace(state, status=status, changed_at=world.clock.now(), owner=world.owner())


def standing_of(state: TransactionState) -> Standing:
    """Return how a transaction is seen: whether its owner still lives counts."""
    return standing(state.status, owner_is_gone=is_gone(state.owner))


def backend_of(state: TransactionState, world: TransactionWorld) -> Backend:
    """Return a transaction's backend; UnavailableError where this docket has none of that name."""
    backend = world.backend(state.backend)
    if backend is None:
        raise UnavailableError(Reason.UNSUPPORTED_PLATFORM, f"there is no backend {state.backend} here")
    return backend


__all__ = [
    "ClosedTransaction",
    "backend_of",
    "close_transaction",
    "discard_transaction",
    "drop_stage",
    "measure_stage",
    "moved",
    "observe_stage",
    "reopen",
    "standing_of",
]
