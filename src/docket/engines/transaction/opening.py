"""Open a transaction: check, measure, register, stage.

Rules (spec/workspace.md, Preconditions):
1. Nothing is registered or copied before every precondition holds; each refusal is a value with both numbers or paths.
2. `tx.json` stands before the stage is begun, so that whatever dies leaves something that says what it is.
3. A base on which a commit was interrupted, or is under way, takes no new transaction, whatever the state folder: what
   an apply leaves in the base's root, and the base's own lock, say so.
4. Where a backend stages the base itself, the contents of the base are not read.

Which backend is tried when is `backends.choose`; what is staged is `rules.workspace.surface`'s.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from docket.engines.apply import leftover_names, open_tree
from docket.engines.observe import ObserveRequest
from docket.engines.transaction.backends.interface import Backend, Refused, Stage, StageRequest, Usable, View
from docket.engines.transaction.base_contents import observed_unread, statuses_of
from docket.engines.transaction.git_locks import observed_between_gits
from docket.engines.transaction.git_outside import read_only_places
from docket.engines.transaction.git_state import keep_indexes
from docket.engines.transaction.remembering import remember_made
from docket.engines.transaction.world import OpenRequest, OpenTransaction, TransactionWorld
from docket.errors import DocketError, UnavailableError
from docket.formats.dataclass import replace
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.run.policy import WorkspaceBackend
from docket.formats.tree.listing import Listing
from docket.formats.visible import visible
from docket.formats.workspace.state import Base, Status, TransactionState
from docket.host.locks import DirectoryLock
from docket.host.tree_files import TreeFiles
from docket.rules.workspace.changes import staged_part
from docket.rules.workspace.preflight import Refusal, git_documents, leads_into_base, place_refusal, room_refusal
from docket.rules.workspace.stage_plan import not_kept
from docket.rules.workspace.surface import Classes
from docket.stores.workspace.transactions import Damaged

Opened: TypeAlias = OpenTransaction | Refusal
LOCK_PATIENCE_SECONDS = 2.0
ATTEMPTS = 4  # an editor writes a file while it is staged: then the tree is looked at anew
MAX_GIT_DOCUMENT_BYTES = 1024 * 1024


def open_transaction(request: OpenRequest, world: TransactionWorld) -> Opened:
    """Open it, or say why not.

    UnavailableError where base or state folder cannot be had; InvalidDocumentError(POLICY_INVALID) for a pattern that
    cannot be meant.
    """
    base = os.fsencode(request.base)
    state_root = os.fsencode(os.path.realpath(world.transactions.root))
    home = None if request.home is None else os.fsencode(os.path.realpath(request.home))
    refused = place_refusal(base, state_root, home) or standing_refusal(request.base, world)
    if refused is not None:
        return refused
    for left in reversed(range(ATTEMPTS)):
        try:
            return _tried(request, world)
        except UnavailableError as error:
            if error.reason != Reason.CHANGED_WHILE_READ or not left:
                raise
    raise AssertionError  # pragma: no cover - the last attempt raises


def _tried(request: OpenRequest, world: TransactionWorld) -> Opened:
    base = os.fsencode(request.base)
    surface = Classes.of(request.rules).surface()
    backend = choose(request, world)
    if isinstance(backend, Refusal):
        return backend
    asked = ObserveRequest(root=base, surface=surface, details=True, progress=request.progress)
    needs_digests = backend[0].needs_digests
    listing = observed_between_gits(
        request.base, lambda: world.observe(asked) if needs_digests else observed_unread(asked, world)
    )
    if isinstance(listing, Refusal):
        return listing
    documents = tuple(_documents(base, listing))
    if backend[1] is View.STAGE:
        kept: tuple[bytes, ...] | Refusal = leads_into_base(listing, base, documents) or ()
    else:
        kept = read_only_places(request.base, listing, documents)
    if isinstance(kept, Refusal):
        return kept
    return _no_room(listing, world) or _staged(request, world, backend, (listing, kept))


def standing_refusal(base: Path, world: TransactionWorld) -> Refusal | None:
    """Refuse a base on which a commit is under way or was interrupted."""
    with suppress(FileNotFoundError):
        identity = _identity(base)
        for state in world.transactions.every():
            if isinstance(state, Damaged) or state.status is not Status.COMMITTING:
                continue
            if state.base.identity == identity or state.base.path == os.fsencode(base):
                detail = f"the commit of {state.id} to {visible(state.base.path)} is under way or was interrupted"
                return Refusal(
                    reason=Reason.INTERRUPTED_APPLY, detail=detail, hint=f"docket tx recover {state.id} ends it"
                )
    try:
        with DirectoryLock.acquire(base, wait_seconds=LOCK_PATIENCE_SECONDS), open_tree(os.fsencode(base)) as tree:
            names = leftover_names(tree)
    except UnavailableError as error:
        if error.reason != Reason.LOCKED:
            raise
        return Refusal(reason=Reason.LOCKED, detail=f"a commit to {base} is under way")
    if not names:
        return None
    detail = f"{base} holds {visible(names[0])}, which something that was changing the tree has left"
    return Refusal(reason=Reason.INTERRUPTED_APPLY, detail=detail, hint="docket tx recover, in that tree, ends it")


def choose(request: OpenRequest, world: TransactionWorld) -> tuple[Backend, View] | Refusal:
    """Return the backend that is asked for, or the first that can do this base; why none can."""
    world.transactions.prepare()
    trouble: list[str] = []
    for backend in world.backends:
        if request.backend is not WorkspaceBackend.AUTO and backend.name.value != request.backend.value:
            continue
        found = backend.probe(request.base, world.transactions.root)
        if isinstance(found, Usable):
            return backend, found.view
        assert isinstance(found, Refused)  # noqa: S101 - told to the type checker
        trouble.append(f"{backend.name}: {found.detail}")
        reason = found.reason
    if not trouble:
        return Refusal(reason=Reason.UNSUPPORTED_PLATFORM, detail=f"there is no backend {request.backend} here")
    return Refusal(reason=reason, detail="; ".join(trouble), hint="--workspace-tx-backend copy works everywhere")


def _no_room(listing: Listing, world: TransactionWorld) -> Refusal | None:
    try:
        free_bytes: int | None = world.free(world.transactions.root)
        free_inodes = world.free_inodes(world.transactions.root)
    except OSError:
        return None
    return room_refusal(listing, free_bytes, free_inodes)


def _documents(base: bytes, listing: Listing) -> Iterator[tuple[RelPath, bytes]]:
    paths = git_documents(listing)
    if not paths:
        return
    with TreeFiles(base) as files:
        for path in paths:
            descriptor = files.open(path)
            with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor, which no Path opens
                yield path, file.read(MAX_GIT_DOCUMENT_BYTES)


def _staged(
    request: OpenRequest,
    world: TransactionWorld,
    chosen: tuple[Backend, View],
    found: tuple[Listing, tuple[bytes, ...]],
) -> OpenTransaction:
    backend, (listing, kept) = chosen[0], found
    unkept = () if backend.keeps_everything else not_kept(staged_part(listing))
    omitted = (item for item in listing.omissions if item.reason is not Reason.EXCLUDED)
    lost = (*(f"{item.path}: {item.what}" for item in unkept), *(f"{item.path}: {item.reason}" for item in omitted))
    state = replace(_new_state(request, world, chosen, listing), not_preserved=len(lost))
    world.transactions.create(state, listing)
    try:
        asked = replace(stage_request(state, world, listing), read_only=kept)
        stage = _materialised(backend, asked, world)
    except BaseException:
        with suppress(DocketError):
            world.transactions.remove(state.id)
        raise
    return OpenTransaction(
        state=state,
        stage=stage,
        base=listing,
        shared=asked.shared,
        read_only=kept,
        lost=lost,
    )


def _new_state(
    request: OpenRequest, world: TransactionWorld, chosen: tuple[Backend, View], listing: Listing
) -> TransactionState:
    """Return the state of a new transaction; what is not preserved is the caller's to count."""
    assert listing.root is not None  # noqa: S101 - a pass tells which directory it saw
    now = world.clock.now()
    return TransactionState(
        id=world.ids.session_id(),
        status=Status.OPEN,
        base=Base.of(os.fsencode(request.base), listing.root),
        surface=request.rules,
        backend=chosen[0].name,
        view=chosen[1],
        settle=request.settle,
        manifest_sha256=listing.tree_sha256,
        owner=world.owner(),
        opened_at=now,
        changed_at=now,
        session_id=request.session_id,
        docket_number=request.docket_number,
        statuses_sha256=statuses_of(listing).digest if listing.statuses else None,
    )


def _materialised(backend: Backend, asked: StageRequest, world: TransactionWorld) -> Stage:
    """Make the stage, and keep what is to be known of it later."""
    made: list[bytes] = []
    stage = backend.materialise(replace(asked, made=made.append))
    keep_indexes(asked.listing, stage.root, asked.folder)
    if made:
        remember_made(stage.root, b"".join(made), world)
    return stage


def stage_request(state: TransactionState, world: TransactionWorld, listing: Listing) -> StageRequest:
    """Return what a backend needs to make a transaction's stage, or to find it again."""
    classes = Classes.of(state.surface)
    masked, shared = classes.outermost(listing)
    return StageRequest(
        base=Path(os.fsdecode(state.base.path)),
        base_identity=state.base.identity,
        folder=world.transactions.path(state.id),
        surface=classes.surface(shared),
        listing=listing,
        masked=masked,
        shared=shared,
    )


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino
