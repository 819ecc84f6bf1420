"""Runs that were to have the tree's contents kept: one that has them, one that did not fit."""

from __future__ import annotations

from dataclasses import replace

from docket.formats.digest import Digest
from docket.formats.ledger.session_events import ExitSource
from docket.formats.ledger.tree_events import Omissions, OmittedPath, Phase, SnapshotRefused
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
