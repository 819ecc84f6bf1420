"""Transactions over one base, in process, with the copy backend: opened, worked in, landed, merged."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docket.engines.observe import ObserveWorld, observe_tree
from docket.engines.transaction.backends.copy import CopyBackend
from docket.engines.transaction.closing import close_transaction
from docket.engines.transaction.committing import CommitRefused, Committed
from docket.engines.transaction.later import LaterCommit, LaterOutcome, commit_later
from docket.engines.transaction.opening import open_transaction
from docket.engines.transaction.world import OpenRequest, OpenTransaction, TransactionWorld
from docket.formats.workspace.state import SurfaceRules
from docket.host.clock import SystemClock
from docket.host.ids import SystemIds
from docket.stores.workspace.transactions import Transactions


def in_memory() -> Iterator[Path]:
    """Give a folder that costs no disk where the system has one: what is durable is no matter here."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as made:
        yield Path(os.path.realpath(made))


@dataclass(slots=True)
class Opened:
    """One transaction and its stage."""

    id: str
    stage: Path
    transaction: OpenTransaction


@dataclass(slots=True)
class MergeLab:
    """A base and the state folder beside it."""

    root: Path
    base: Path = field(init=False)
    world: TransactionWorld = field(init=False)

    def __post_init__(self) -> None:
        around = ObserveWorld(copies=0)
        self.base = self.root / "base"
        self.base.mkdir()
        self.world = TransactionWorld(
            observe=lambda request: observe_tree(request, around),
            clock=SystemClock(),
            ids=SystemIds(),
            transactions=Transactions(self.root / "state" / "workspace-tx"),
            backends=(CopyBackend(),),
        )

    def open(self, **rules: Any) -> Opened:
        """Open a transaction over the base as it is."""
        found = open_transaction(OpenRequest(base=self.base, rules=SurfaceRules(**rules)), self.world)
        assert isinstance(found, OpenTransaction), found
        return Opened(found.state.id, found.stage.root, found)

    def close(self, opened: Opened) -> None:
        """End the work in its stage."""
        close_transaction(opened.transaction, self.world)
        opened.transaction.stage.close()

    def worked(self, work: Callable[[Path], object], **rules: Any) -> Opened:
        """Open a transaction, work in its stage, and end it."""
        opened = self.open(**rules)
        work(opened.stage)
        self.close(opened)
        return opened

    def commit(self, opened: Opened, **asked: Any) -> LaterOutcome:
        """Land it, or be refused."""
        return commit_later(LaterCommit(transaction=opened.id, **asked), self.world)

    def land(self, opened: Opened, **asked: Any) -> LaterOutcome:
        """Land it."""
        done = self.commit(opened, **asked)
        assert isinstance(done.outcome, Committed), done.outcome
        return done

    def refused(self, opened: Opened, **asked: Any) -> CommitRefused:
        """Be refused, with the tree left as it was."""
        before = self.tree()
        done = self.commit(opened, **asked)
        assert isinstance(done.outcome, CommitRefused), done.outcome
        assert self.tree() == before
        return done.outcome

    def tree(self) -> dict[str, tuple[int, bytes]]:
        """What the base holds: mode and content by path."""
        return {
            str(path.relative_to(self.base)): (path.lstat().st_mode, path.read_bytes())
            for path in sorted(self.base.rglob("*"))
            if path.is_file() and not path.is_symlink()
        }
