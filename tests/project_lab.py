"""A project's tree and its state folder, filled with runs that were never run: what commands about runs read."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from docket.formats.canonical import encode_document
from docket.formats.visible import text_members
from docket.stores.layout import project_key
from golden_ledgers.build import LedgerBuilder
from golden_ledgers.judging import receipt_of


class Project:
    """A tree and its state folder; close it, for a live run is one whose lock is held."""

    def __init__(self, root: Path, name: str = "tree") -> None:
        self.tree = root / name
        self.tree.mkdir()
        self.state = root / "state" / project_key(self.tree)
        self.visible = self.tree / ".docket" / "receipts"
        self.visible.mkdir(parents=True)
        (self.state / "runs").mkdir(parents=True)
        (self.state / "receipts").mkdir()
        (self.state / "project.json").write_bytes(encode_document(text_members("path", os.fsencode(self.tree))))
        self.locks: list[int] = []

    def receipt(self, number: str, ledger: LedgerBuilder) -> Path:
        """Put the ledger's receipt, under that number, into the tree."""
        document = {**receipt_of(ledger.data()), "docket_number": number}
        path = self.visible / f"{number}.receipt.json"
        path.write_bytes(encode_document(document))
        return path

    def ledger(self, session: str, ledger: LedgerBuilder, *, live: bool = False) -> Path:
        """Put the ledger of a session into the state folder."""
        path = self.state / "runs" / f"{session}.jsonl"
        path.write_bytes(ledger.data())
        if live:
            lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT)
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.locks.append(lock)
        return path


@contextmanager
def entered(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A project that a command started in this process finds itself in."""
    made = Project(root)
    monkeypatch.setenv("DOCKET_STATE_DIR", str(root / "state"))
    monkeypatch.chdir(made.tree)
    yield made
    for lock in made.locks:
        os.close(lock)
