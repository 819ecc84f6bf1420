"""The pools of this machine as the surfaces use them: opened, entered by a run, looked at before one starts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING

from docket.errors import DocketError, RefusedBeforeStartError
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.pool import day_of
from docket.host.clock import SystemClock
from docket.stores.layout import state_home

if TYPE_CHECKING:
    from docket.engines.pools.entry import EntryRequest, PoolEntry, PoolsWorld
    from docket.stores.pools.port import Balance, PoolStore

_LOCKS = "runs"


def open_pools(*, create: bool = False, environment: Mapping[str, str] | None = None) -> PoolStore:
    """Open the person's pools; UnavailableError where there are none or they cannot be read."""
    from docket.stores.pools.sqlite import SqlitePools  # noqa: PLC0415 - only where pools are used

    return SqlitePools.open(state_home(os.environ if environment is None else environment), create=create)


def pools_world() -> PoolsWorld:
    """Return what a run needs to enter pools."""
    from docket.engines.pools.entry import PoolsWorld  # noqa: PLC0415 - as above
    from docket.stores.pools.sqlite import POOLS_DIR  # noqa: PLC0415 - as above

    locks = state_home(os.environ) / POOLS_DIR / _LOCKS
    return PoolsWorld(open_store=open_pools, locks=locks, clock=SystemClock())


def enter_pools() -> Callable[[EntryRequest], PoolEntry]:
    """Return what lets a run enter its pools."""

    def entered(request: EntryRequest) -> PoolEntry:
        from docket.engines.pools.entry import enter  # noqa: PLC0415 - as above

        return enter(request, pools_world())

    return entered


def living_balance(store: PoolStore, name: str) -> Balance:
    """Return a pool as it stands once the dead are taken out of it."""
    from docket.engines.pools.reap import ReapWorld, reap  # noqa: PLC0415 - as above

    clock = SystemClock()
    reap(store, name, ReapWorld(clock=clock))
    return store.balance(name, day_of(clock.now()))


def check_pools(policy: Policy) -> None:
    """Refuse a run whose pools do not exist, cannot be read or are used up: RefusedBeforeStartError says what to do."""
    if not policy.budget.pools:
        return
    try:
        with closing(open_pools()) as store:
            balances = [living_balance(store, name) for name in policy.budget.pools]
    except DocketError as error:
        raise RefusedBeforeStartError(error.reason, error.detail, hint=error.hint) from error
    for balance in balances:
        _check_room(balance)


def _check_room(balance: Balance) -> None:
    for period, taken in balance.taken.items():
        limit = balance.limits.of(period)
        if limit is not None and taken.micros >= limit.micros:
            raise RefusedBeforeStartError(
                Reason(f"pool_{period}_usd"),
                f"the pool {balance.name} is used up: its {period} limit is {limit} US dollars",
                hint=f"docket pools show {balance.name} says by whom; docket pools set {balance.name} gives it more",
            )
