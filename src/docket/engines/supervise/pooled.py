"""The run's pools between its announcement and its end: entered before the agent starts, each with an event."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from docket.engines.supervise.session import OpenRun
from docket.errors import UnavailableError
from docket.formats.ledger.spending_events import PoolEntered
from docket.formats.reason import Reason

if TYPE_CHECKING:
    from docket.engines.pools.entry import PoolEntry


def enter_pools(run: OpenRun, stack: ExitStack) -> PoolEntry | None:
    """Enter the policy's pools; `stack` lets the run's lock on them go. UnavailableError where that cannot be."""
    names = run.request.policy.budget.pools
    if not names:
        return None
    if run.world.enter_pools is None:
        raise UnavailableError(Reason.POOL_UNAVAILABLE, "no store of pools is at hand")
    from docket.engines.pools.entry import EntryRequest  # noqa: PLC0415 - only a run with pools needs it

    session = run.session
    entry = run.world.enter_pools(
        EntryRequest(
            names=tuple(dict.fromkeys(names)),
            session_id=session.session_id,
            docket_number=session.docket_number,
            ledger_path=session.ledger.path,
        )
    )
    stack.callback(entry.close)
    for name, limits in sorted(entry.limits.items()):
        session.ledger.append(
            PoolEntered(
                pool=name, daily_usd=limits.daily_usd, weekly_usd=limits.weekly_usd, total_usd=limits.total_usd
            ),
            control=True,
        )
    return entry
