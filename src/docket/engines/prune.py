"""Prune snapshots: remove those a rule lets go, then sweep from the pool what no manifest names any more.

Rules (spec/snapshot.md, Sweeping):
1. A manifest goes first, contents later; whoever dies in between leaves contents that nothing names, which a later
   prune sweeps.
2. The sweep, and the removal of what was cut short, hold the pool's lock alone. While somebody takes or reads a
   snapshot both are left for later, and that is said.
3. A manifest that cannot be read stops the sweep, and nothing of the pool goes.
4. A dry run changes nothing, and says of what it would free what a real one would.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from docket.errors import DocketError, UnavailableError
from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason
from docket.host.disk import SYSTEM_DISK, Disk, Folder
from docket.host.locks import FileLock, is_held
from docket.rules.tree.pruning import DAY_NS, Candidate, KeepRule, choose
from docket.rules.tree.sweeping import Sweep, sweep
from docket.stores.layout import SNAPSHOTS, Layout
from docket.stores.pool import Pool, open_pool
from docket.stores.restores import RESTORE_LOCK, remove_restore, restore_folders
from docket.stores.snapshots import (
    SnapshotFolder,
    SnapshotState,
    manifest_folders,
    named_by,
    remove_snapshot,
    snapshot_folders,
    snapshot_path,
)
from docket.stores.sweeping import (
    large_contents,
    needed_by,
    remove_files,
    remove_packs,
    rewrite_packs,
    unreadable_packs,
)

EXCLUSIVE_WAIT_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneRequest:
    """What is to be kept of a project's snapshots; `now_ns` is the present."""

    layout: Layout
    rule: KeepRule
    now_ns: int
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneWorld:
    """What pruning uses: the disk, which runs live, and how long it waits for others to be done with the pool."""

    disk: Disk = SYSTEM_DISK
    held: Callable[[Path], bool] = is_held
    wait_seconds: float = EXCLUSIVE_WAIT_SECONDS


@dataclass(slots=True, kw_only=True)
class Pruned:
    """What went, or would go: sessions, and bytes on the disk.

    `postponed` is whether contents are left for a later prune because the pool is in use; `problems` are sentences.
    """

    removed: list[str] = field(default_factory=list)
    freed_bytes: int = 0
    postponed: bool = False
    problems: list[str] = field(default_factory=list)


def candidates(found: tuple[SnapshotFolder, ...], *, disk: Disk = SYSTEM_DISK) -> list[Candidate]:
    """Return snapshots as what pruning weighs: each of their own files, and each content of the pool they name.

    One whose manifest cannot be read is weighed by its own files alone.
    """
    shared: dict[tuple[int, int], tuple[int, int]] = {}
    return [
        Candidate(
            session_id=item.session_id,
            written_ns=item.written_ns,
            is_being_taken=item.state is SnapshotState.BEING_TAKEN,
            inodes=item.inodes.union(_named(item, shared, disk)),
        )
        for item in found
    ]


def _named(
    item: SnapshotFolder, shared: dict[tuple[int, int], tuple[int, int]], disk: Disk
) -> frozenset[tuple[int, int]]:
    if item.state is not SnapshotState.COMPLETE or item.has_own_contents:
        return frozenset()
    try:
        with disk.folder(item.path) as session:
            sizes = named_by(session).sizes
    except DocketError:
        return frozenset()
    # Negative, so that no inode is taken for a digest.
    pieces = ((-int.from_bytes(digest, "big") - 1, size) for digest, size in sizes.items())
    return frozenset(shared.setdefault(piece, piece) for piece in pieces)


def prune_snapshots(request: PruneRequest, world: PruneWorld) -> Pruned:
    """Remove what the rule lets go and what was cut short, and sweep the pool."""
    found = snapshot_folders(request.layout, disk=world.disk, held=world.held)
    chosen = choose(candidates(found, disk=world.disk), request.rule, request.now_ns)
    going = [item for item in found if item.session_id in frozenset(chosen.going)]
    done = Pruned()
    _remove(request, world, [item for item in going if item.state is SnapshotState.COMPLETE], done)
    try:
        _sweep(request, world, [item for item in going if item.state is SnapshotState.INTERRUPTED], done)
    except DocketError as error:
        if error.reason == Reason.LOCKED:
            done.postponed = True
        else:
            done.problems.append(error.detail if error.hint is None else f"{error.detail}; {error.hint}")
    return done


def _remove(request: PruneRequest, world: PruneWorld, going: list[SnapshotFolder], done: Pruned) -> None:
    for item in going:
        try:
            if not request.dry_run:
                remove_snapshot(snapshot_path(request.layout, item.session_id), disk=world.disk)
        except DocketError as error:
            done.problems.append(error.detail)
            continue
        done.removed.append(item.session_id)
        done.freed_bytes += sum(size for _, size in item.inodes)


def _sweep(request: PruneRequest, world: PruneWorld, cut_short: list[SnapshotFolder], done: Pruned) -> None:
    with ExitStack() as stack:
        try:
            snapshots = stack.enter_context(world.disk.folder(request.layout.state / SNAPSHOTS))
        except UnavailableError as error:
            if error.reason == Reason.NOT_FOUND:
                return
            raise
        pool = open_pool(snapshots, exclusive=not request.dry_run, wait_seconds=world.wait_seconds)
        if pool is not None:
            stack.enter_context(pool)
        # Only now: whoever takes one holds the lock, and may have finished while it was waited for.
        finished = frozenset(manifest_folders(snapshots))
        _remove(request, world, [item for item in cut_short if item.session_id not in finished], done)
        if pool is None:
            return
        decided = _decided(snapshots, pool, request, done)
        done.problems += [f"{name} is no pack that can be read; it is left as it is" for name in unreadable_packs(pool)]
        if not request.dry_run:
            # A person may have removed a manifest a moment ago: after a power cut it must not be back without contents.
            snapshots.sync_everything()
            _carry_out(pool, decided, done)
        done.freed_bytes += decided.freed_bytes


def _decided(snapshots: Folder, pool: Pool, request: PruneRequest, done: Pruned) -> Sweep:
    needed = needed_by(snapshots, without=done.removed if request.dry_run else ())
    return sweep(pool.packs(), large_contents(pool.contents), needed)


def _carry_out(pool: Pool, decided: Sweep, done: Pruned) -> None:
    """Give back first what needs no writing: a disk may be full."""
    remove_files(pool.contents, decided.files)
    remove_packs(pool.contents, decided.packs)
    done.problems += [
        f"{name} holds a content that is damaged; it is left as it is"
        for name in rewrite_packs(pool, decided.rewritten)
    ]


def prune_restores(request: PruneRequest, world: PruneWorld) -> Pruned:
    """Remove what restores displaced longer ago than `keep_days`, finished or cut short; without it, nothing.

    What a restore displaced may be the only copy there is: neither a number nor a size decides over it.
    """
    done = Pruned()
    if request.rule.keep_days is None:
        return done
    since_ns = request.now_ns - request.rule.keep_days * DAY_NS
    going = [item for item in restore_folders(request.layout, disk=world.disk) if item.written_ns < since_ns]
    if not going:
        return done
    try:
        with FileLock.acquire(request.layout.state / RESTORE_LOCK, wait_seconds=world.wait_seconds):
            for item in going:
                if not request.dry_run:
                    remove_restore(request.layout, item.restore_id, disk=world.disk)
                done.removed.append(item.restore_id)
                done.freed_bytes += item.size_bytes
    except DocketError as error:
        done.problems.append(error.detail)
    return done
