"""Runs that were to have the tree's contents kept: one that has them, one that did not fit, two rolled back."""

from __future__ import annotations

from dataclasses import replace

from docket.formats.amount import Usd
from docket.formats.digest import Digest
from docket.formats.ledger.session_events import ExitSource
from docket.formats.ledger.spending_events import CapExceeded
from docket.formats.ledger.tree_events import (
    Omissions,
    OmittedPath,
    Phase,
    RollbackApplied,
    RollbackRefused,
    SnapshotRefused,
)
from docket.formats.relpath import RelPath
from golden_ledgers.build import LedgerBuilder, added, budget, end, exited, policy, snapshot, spawn, start


def contents() -> LedgerBuilder:
    """The contents of two of three files are kept; the third, whose name is no UTF-8, and the object store are not."""
    ledger = LedgerBuilder()
    store = OmittedPath(path=RelPath.parse(b".git/objects"), reason="object-store", detail="content of its own")
    large = OmittedPath(path=RelPath.parse(b"caf\xe9.iso"), reason="too-large", detail="300 bytes of 200")
    ledger.add(start())
    ledger.add(policy())
    ledger.add(snapshot(Phase.BEFORE, 3, omissions=1))
    ledger.add(Omissions(phase=Phase.BEFORE, omissions=(store,)))
    kept = replace(
        snapshot(Phase.CONTENTS, 2, omissions=1),
        format="docket/snapshot/v1",
        manifest_sha256=Digest("ef" * 32),
        store="/home/dev/.local/state/docket/0a/snapshots/0123456789ab",
        bytes_stored=15,
        bytes_shared=5,
        not_covered=2,
    )
    ledger.add(kept)
    ledger.add(Omissions(phase=Phase.CONTENTS, omissions=(store, large)))
    ledger.add(spawn())
    ledger.add(exited())
    ledger.add(added(b"src/new.py"))
    ledger.add(snapshot(Phase.AFTER, 4, "22", omissions=1))
    ledger.add(budget("0.00"))
    ledger.add(end("0.00"))
    return ledger


def contents_refused() -> LedgerBuilder:
    """The tree does not fit: the agent never starts."""
    ledger = LedgerBuilder()
    ledger.add(start())
    ledger.add(policy())
    detail = "the snapshot needs 2,048 bytes and may have 1,024"
    ledger.add(SnapshotRefused(reason="too-large", detail=detail, needed=2048, allowed=1024))
    ledger.add(budget("0.00"))
    ledger.add(end("0.00", 43, exit_source=ExitSource.DOCKET))
    return ledger


def rolled_back() -> LedgerBuilder:
    """A cap ended the run, and of four changed paths two were put back."""
    ledger = _breached()
    refused = OmittedPath(path=RelPath.parse(b"caf\xe9"), reason="not-empty", detail="a directory that is not empty")
    large = OmittedPath(path=RelPath.parse(b"large.iso"), reason="too-large")
    ledger.add(
        RollbackApplied(
            trigger="max_usd",
            plan_sha256=Digest("fe" * 32),
            restored=2,
            already=0,
            refused=1,
            kept=0,
            not_covered=1,
            record="/home/dev/.local/state/docket/0a/restores/0123456789ab/record.json",
            refusals=(refused, large),
        )
    )
    return _ended(ledger)


def rollback_refused() -> LedgerBuilder:
    """A cap ended the run, and nothing was put back."""
    ledger = _breached()
    ledger.add(
        RollbackRefused(
            trigger="max_usd",
            reason="content-missing",
            detail="nothing was put back: a: no store has its content",
            refused=4,
            record="/home/dev/.local/state/docket/0a/restores/0123456789ab/record.json",
        )
    )
    return _ended(ledger)


def _breached() -> LedgerBuilder:
    ledger = LedgerBuilder()
    ledger.add(start())
    ledger.add(policy())
    ledger.add(snapshot(Phase.BEFORE, 3))
    ledger.add(
        replace(
            snapshot(Phase.CONTENTS, 3),
            format="docket/snapshot/v1",
            manifest_sha256=Digest("ef" * 32),
            store="/home/dev/.local/state/docket/0a/snapshots/0123456789ab",
            bytes_stored=30,
            bytes_shared=0,
            not_covered=0,
        )
    )
    ledger.add(spawn())
    ledger.add(
        CapExceeded(
            cap="max_usd",
            limit="1.00",
            used="0.00",
            cost_usd=Usd(0),
            tokens=0,
            calls=0,
            action="kill",
            detail="the next call would cross the cap",
        )
    )
    ledger.add(exited())
    for path in (b"a", b"b", b"caf\xe9", b"large.iso"):
        ledger.add(added(path))
    ledger.add(snapshot(Phase.AFTER, 7, "22"))
    return ledger


def _ended(ledger: LedgerBuilder) -> LedgerBuilder:
    ledger.add(budget("0.00"))
    ledger.add(end("0.00", 42, exit_source=ExitSource.CAP, breached="max_usd"))
    return ledger
