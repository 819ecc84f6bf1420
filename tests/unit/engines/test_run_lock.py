"""The lock of a run outlives the ledger's writer."""

from __future__ import annotations

from docket.engines.supervise.session import RunLock
from docket.host.clock import SystemClock
from docket.host.locks import is_held
from docket.stores.ledger import LedgerOptions, LedgerWriter


def test_a_run_is_not_taken_for_dead_when_its_ledger_is_closed(tmp_path):
    lock = RunLock()
    path, file = tmp_path / "a.jsonl", tmp_path / "a.jsonl.lock"
    LedgerWriter.create(path, clock=SystemClock(), options=LedgerOptions(acquire_lock=lock.acquire)).close()
    assert is_held(file)
    lock.let_go()
    assert not file.exists()
    lock.let_go()


def test_a_lock_that_was_never_taken_is_let_go():
    RunLock().let_go()
