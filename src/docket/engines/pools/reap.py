"""Takes runs that died out of a pool: what they had spent is booked from their ledgers, what they held is given back.

Rules:
1. A run is dead when its process is surely gone and its lock can be taken; time proves nothing. The lock is held while
   its part is settled, so that two that look at once do it once.
2. Its ledger says what it spent, on which day, to the micro-dollar. A call that was sent and not settled is booked as
   unknown at what the ledger says it held; so is what a strict run kept for a reply that was not reported to its end,
   and what any run kept for a response that was still to come.
3. Where the ledger cannot be read, or the machine was switched off meanwhile and its last lines may be lost, all that
   the run held is booked as unknown: a pool is never freed of what may have been spent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from docket.errors import DocketError, UnavailableError
from docket.formats.dataclass import dataclass, field
from docket.formats.ledger.event import Event
from docket.formats.ledger.lines import TornTail
from docket.formats.ledger.model_events import ModelError, ModelRequest, ModelResponse
from docket.formats.ledger.session_events import SessionStart
from docket.formats.ledger.vocabulary import read_payload
from docket.formats.process_identity import ProcessIdentity
from docket.formats.reason import Reason
from docket.formats.run.policy_spending import Admission
from docket.formats.run.pool import Taken, day_of
from docket.formats.run.usage import Usage, UsageSource
from docket.host.clock import Clock
from docket.host.liveness import is_gone, own_identity
from docket.host.locks import FileLock
from docket.stores.ledger_reader import read_ledger
from docket.stores.pools.port import PoolRun, PoolStore, RunShare

ReadEvents = Callable[[Path], Iterable[Event | TornTail]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReapWorld:
    """The ports."""

    clock: Clock
    read_events: ReadEvents = read_ledger
    is_gone: Callable[[ProcessIdentity], bool] = is_gone


@dataclass(slots=True)
class _Spending:
    """What a ledger says was taken: growing sums, each with the day it grew on."""

    strict: bool = False
    taken: Taken = field(default_factory=Taken)
    steps: list[tuple[str, Taken]] = field(default_factory=list)
    held: dict[int, int] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        payload = read_payload(event)
        match payload:
            case SessionStart():
                self.strict = payload.admission == Admission.STRICT
            case ModelRequest():
                self.held[payload.call] = 0 if payload.held_usd is None else payload.held_usd.micros
            case ModelResponse():
                held, cost = self.held.pop(payload.call, 0), payload.cost_usd.micros
                reported = payload.usage_source is UsageSource.REPORTED
                kept = not reported and (self.strict or payload.usage == Usage())
                self.grow(event.ts, cost, max(0, held - cost) if kept else 0)
            case ModelError():
                held = self.held.pop(payload.call, 0)
                unanswered = payload.reason == Reason.UPSTREAM_BROKEN and not payload.response_bytes
                self.grow(event.ts, 0, held if unanswered else 0)

    def grow(self, at: str, spent: int, unknown: int) -> None:
        if spent or unknown:
            self.taken = Taken(self.taken.spent_micros + spent, self.taken.unknown_micros + unknown)
            self.steps.append((day_of(at), self.taken))


def reap(store: PoolStore, name: str, world: ReapWorld) -> tuple[RunShare, ...]:
    """Settle and release every dead run of a pool; return them as they stood. UnavailableError as the store's."""
    now = world.clock.now()
    dead = []
    for share in store.balance(name, day_of(now)).shares:
        if not world.is_gone(share.run.process):
            continue
        try:
            lock = _take_lock(share.run)
        except UnavailableError:
            continue
        try:
            _settle(store, name, share, world, now)
            store.release(name, share.run.run_id)
        finally:
            if lock is not None:
                lock.release()
        dead.append(share)
    return tuple(dead)


def _take_lock(run: PoolRun) -> FileLock | None:
    """Return the dead run's lock, None where its folder is gone and nobody can hold it."""
    try:
        return FileLock.acquire(Path(run.lock_path))
    except UnavailableError as error:
        if error.reason == Reason.NOT_FOUND:
            return None
        raise


def _settle(store: PoolStore, name: str, share: RunShare, world: ReapWorld, now: str) -> None:
    held = share.taken.unknown_micros + share.held_micros
    spending = _read(Path(share.run.ledger_path), world)
    if spending is None:
        store.settle(name, share.run.run_id, Taken(share.taken.spent_micros, held), day_of(now))
        return
    if share.run.process.boot_id != own_identity().boot_id:
        spent = spending.taken.spent_micros
        rest = max(spending.taken.unknown_micros, share.held_micros - max(0, spent - share.taken.spent_micros))
        spending.steps.append((day_of(now), Taken(spent, rest)))
    for day, taken in spending.steps:
        store.settle(name, share.run.run_id, taken, day)


def _read(path: Path, world: ReapWorld) -> _Spending | None:
    spending = _Spending()
    last_at = ""
    try:
        for event in world.read_events(path):
            if not isinstance(event, TornTail):
                spending.take(event)
                last_at = event.ts
    except DocketError:
        return None
    if not last_at:
        return None
    spending.grow(last_at, 0, sum(spending.held.values()))
    return spending
