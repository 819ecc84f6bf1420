"""The port of a store of pools.

Rules, which every store keeps (tests/contracts):
1. What all runs have taken in a period and what they hold together never passes a limit by a grant; what a run takes
   beyond its grant is booked all the same.
2. All amounts of a run are since its start: to say the same thing twice changes nothing, and less than before is
   never taken back.
3. A period counts what was booked on its days and on any later one, so that a clock that is set back frees nothing.
4. A run's reservation ends by `release` alone; no store ends one by the passing of time.
5. Every method is one step, whatever other processes do, and may raise UnavailableError: NOT_FOUND (no such pool, or
   the run is not in it), LOCKED (try again), NO_SPACE, READ_ONLY, POOLS_DAMAGED and other reasons of the disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from docket.formats.dataclass import dataclass, field
from docket.formats.process_identity import ProcessIdentity
from docket.formats.run.pool import Period, PoolAnswer, PoolAsk, PoolLimits, Taken


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRun:
    """A run that draws on a pool, and where the proof of its life and of its spending stands."""

    run_id: str
    docket_number: str
    process: ProcessIdentity
    lock_path: str
    ledger_path: str
    entered_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunShare:
    """A run's part of a pool: what it has taken, and what it holds beyond."""

    run: PoolRun
    taken: Taken
    held_micros: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """A pool at one moment. `taken` is what counts against each period; `shares` are the runs in it, oldest first."""

    name: str
    limits: PoolLimits
    taken: Mapping[Period, Taken] = field(default_factory=dict)
    shares: tuple[RunShare, ...] = ()

    @property
    def held_micros(self) -> int:
        """What the runs hold together beyond what they have taken."""
        return sum(share.held_micros for share in self.shares)


class PoolStore(Protocol):
    """Named budgets. `day` is a day in UTC, as `formats.run.pool.day_of` gives it."""

    def names(self) -> tuple[str, ...]:
        """Return the names of all pools, sorted."""
        ...

    def define(self, name: str, limits: PoolLimits) -> None:
        """Make a pool, or give one other limits; what was taken stays."""
        ...

    def reset(self, name: str) -> None:
        """Forget what was taken; what runs hold stays."""
        ...

    def remove(self, name: str) -> None:
        """Forget a pool; UnavailableError(IN_USE) while runs are in it."""
        ...

    def balance(self, name: str, day: str) -> Balance:
        """Return a pool as it stands."""
        ...

    def enter(self, name: str, run: PoolRun) -> PoolLimits:
        """Let a run draw on a pool; return its limits."""
        ...

    def reserve(self, name: str, run_id: str, ask: PoolAsk, day: str) -> PoolAnswer:
        """Grant what is needed and a slice ahead while there is plenty, or else what there is if it is the least."""
        ...

    def settle(self, name: str, run_id: str, taken: Taken, day: str) -> None:
        """Book on `day` what a run has taken beyond what it had told before."""
        ...

    def give_back(self, name: str, run_id: str, granted_micros: int) -> None:
        """Lower a run's grant; never below what it has taken."""
        ...

    def release(self, name: str, run_id: str) -> None:
        """End a run's part in a pool; one that has none is no fault."""
        ...

    def close(self) -> None:
        """Give back what the store holds open; a second call does nothing."""
        ...
