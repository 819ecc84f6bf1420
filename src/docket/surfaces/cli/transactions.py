"""The machine as the ports of workspace transactions, and what a run's policy makes of them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from docket.engines.supervise.request import TransactionAsked
from docket.errors import DocketError
from docket.formats.run.policy import Policy
from docket.host.clock import SystemClock
from docket.host.disk import SYSTEM_DISK
from docket.host.ids import SystemIds
from docket.stores.layout import SNAPSHOTS, Layout
from docket.surfaces.cli import wiring

if TYPE_CHECKING:
    from docket.engines.transaction.world import TransactionWorld
    from docket.stores.pool import Pool

POOL_PATIENCE_SECONDS = 10.0


def transaction_asked(policy: Policy, layout: Layout, *, approved: bool) -> TransactionAsked | None:
    """Return what a policy asks for, None for no transaction; docket's own evidence is never staged."""
    section = policy.workspace
    if not section.transaction:
        return None
    from docket.formats.workspace.state import Evidence, SurfaceRules  # noqa: PLC0415 - what a stage alone needs

    home = os.environ.get("HOME")
    return TransactionAsked(
        rules=SurfaceRules(
            exclude=section.exclude,
            share=section.share,
            protect=section.protect,
            evidence=tuple(Evidence(path=path) for path in layout.evidence),
        ),
        backend=section.backend,
        settle=section.settle,
        approved=approved,
        home=Path(home) if home else None,
    )


def transaction_world(layout: Layout) -> TransactionWorld:
    """Return the ports: the project's scanner, the person's transactions, the backends of this machine."""
    from docket.engines.transaction.backends.registry import backends  # noqa: PLC0415 - what a stage alone needs
    from docket.engines.transaction.world import TransactionWorld  # noqa: PLC0415
    from docket.stores.workspace.transactions import Transactions  # noqa: PLC0415

    cache = wiring.stat_cache(layout)
    return TransactionWorld(
        observe=wiring.observing(cache),
        clock=SystemClock(),
        ids=SystemIds(),
        transactions=Transactions.of(os.environ),
        backends=backends(),
        pool=lambda: _pool(layout),
        remember=lambda made: cache.keep(None, made),
    )


def _pool(layout: Layout) -> Pool | None:
    from docket.stores.pool import open_pool  # noqa: PLC0415 - what merging alone needs

    with suppress(DocketError), SYSTEM_DISK.folder(layout.state / SNAPSHOTS) as snapshots:
        return open_pool(snapshots, wait_seconds=POOL_PATIENCE_SECONDS)
    return None
