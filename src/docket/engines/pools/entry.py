"""A run's part in its pools: entered before the agent starts, left once everything is settled.

Rules:
1. The run's lock is held before it stands in a pool, and until it stands in none: a run whose lock can be taken and
   whose process is gone is dead.
2. What cannot be settled at the end stays in the pool: the next run takes it from the ledger (`reap`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from docket.engines.pools.reap import ReapWorld, reap
from docket.errors import DocketError
from docket.formats.dataclass import dataclass
from docket.formats.run.pool import PoolLimits, Taken, day_of
from docket.host.clock import Clock
from docket.host.disk import SYSTEM_DISK
from docket.host.liveness import own_identity
from docket.host.locks import FileLock
from docket.stores.pools.port import PoolRun, PoolStore

_LOCK_PATIENCE_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRequest:
    """Which run enters which pools; `ledger_path` is where its spending can be read."""

    names: tuple[str, ...]
    session_id: str
    docket_number: str
    ledger_path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolsWorld:
    """The ports: the store, opened by each thread for itself, the folder of the runs' locks, the clock."""

    open_store: Callable[[], PoolStore]
    locks: Path
    clock: Clock


class PoolEntry:
    """A run that is in its pools."""

    def __init__(
        self, request: EntryRequest, world: PoolsWorld, limits: Mapping[str, PoolLimits], lock: FileLock
    ) -> None:
        self.limits = limits
        self.run_id = request.session_id
        self.open_store = world.open_store
        self.clock = world.clock
        self._lock = lock

    def reap(self, store: PoolStore, name: str) -> None:
        """Take the dead out of a pool."""
        reap(store, name, ReapWorld(clock=self.clock))

    def leave(self, taken: Mapping[str, Taken], store: PoolStore | None = None) -> tuple[str, ...]:
        """Book what was taken in all and leave every pool; return a sentence for each that could not be left."""
        problems = []
        try:
            with ExitStack() as stack:
                open_store = store
                if open_store is None:
                    open_store = self.open_store()
                    stack.callback(open_store.close)
                for name in self.limits:
                    try:
                        open_store.settle(name, self.run_id, taken.get(name, Taken()), day_of(self.clock.now()))
                        open_store.release(name, self.run_id)
                    except DocketError as error:
                        problems.append(f"the pool {name} was not settled: {error.detail}")
        except DocketError as error:
            problems.append(error.detail)
        return tuple(problems)

    def close(self) -> None:
        """Let the lock go; whoever is still in a pool is taken for dead from then on."""
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def enter(request: EntryRequest, world: PoolsWorld) -> PoolEntry:
    """Enter every pool, or none: UnavailableError as the store's."""
    with SYSTEM_DISK.folder(world.locks, create=True) as folder:
        folder.make_private()
    lock_path = world.locks / f"{request.session_id}.lock"
    run = PoolRun(
        run_id=request.session_id,
        docket_number=request.docket_number,
        process=own_identity(),
        lock_path=str(lock_path),
        ledger_path=str(request.ledger_path),
        entered_at=world.clock.now(),
    )
    with ExitStack() as undo:
        lock = FileLock.acquire(lock_path, wait_seconds=_LOCK_PATIENCE_SECONDS)
        undo.callback(lock.release)
        store = world.open_store()
        limits: dict[str, PoolLimits] = {}
        try:
            for name in request.names:
                limits[name] = store.enter(name, run)
                undo.callback(store.release, name, run.run_id)
                reap(store, name, ReapWorld(clock=world.clock))
            undo.pop_all()
        finally:
            undo.close()
            store.close()
    return PoolEntry(request, world, limits, lock)
