"""A golden ledger of rare members: a folder that is not Unicode, an agent that a signal ended, a weekly pool."""

from __future__ import annotations

from dataclasses import replace

from docket.formats.amount import Usd
from docket.formats.ledger.session_events import ExitSource, ProcExit
from docket.formats.ledger.spending_events import PoolEntered, PoolUse
from docket.formats.ledger.tree_events import Phase
from golden_ledgers.build import POLICY, LedgerBuilder, budget, end, policy, snapshot, spawn, start

# /home/dev/caf\xe9 and agent caf\xe9, the byte being Latin-1
_PLACE = {"cwd": "/home/dev/caf\\xe9", "cwd_b64": "L2hvbWUvZGV2L2NhZuk="}
_ARGV = {"argv": ("agent", "caf\\xe9"), "argv_b64": ("YWdlbnQ=", "Y2Fm6Q==")}


def strange() -> LedgerBuilder:
    """A run without a call that a person ended."""
    document = POLICY | {"budget": {"mode": "usd", "admission": "metered", "pools": ["team"]}}
    ledger = LedgerBuilder()
    for payload in (
        start(**_PLACE, **_ARGV),
        replace(policy(document), source="/home/dev/policy.toml"),
        PoolEntered(pool="team", weekly_usd=Usd(4_000_000)),
        snapshot(Phase.BEFORE, 2),
        replace(spawn(), **_PLACE, **_ARGV),  # type: ignore[arg-type]
        ProcExit(exit_code=143, signal="SIGTERM", terminated_by="SIGINT", leftover_processes=0),
        snapshot(Phase.AFTER, 2, "11"),
        budget("0.00"),
        PoolUse(pool="team", spent_usd=Usd(0), overshoot_usd=Usd(0), bound_usd=Usd(0), unknown_usd=Usd(0)),
        end("0.00", 130, exit_source=ExitSource.SIGNAL, interrupted=True),
    ):
        ledger.add(payload)
    return ledger
