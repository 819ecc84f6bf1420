"""Commits over small trees that may die at any call, and the recovery of them; trees are told by plain calls."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest import mock

from docket.engines.apply import Mode, Options, apply
from docket.engines.apply_recovery import Asked
from docket.engines.observe import ObserveRequest, ObserveWorld, observe_tree
from docket.engines.transaction import recovering
from docket.engines.transaction.recovering import Recovered, recover_transaction
from docket.engines.transaction.world import TransactionWorld
from docket.formats.process_identity import ProcessIdentity
from docket.formats.run.policy import WorkspaceSettle
from docket.formats.tree.listing import Kind
from docket.formats.tree.plan import (
    ABSENT,
    Link,
    MakeDirectory,
    MakeSymlink,
    Plan,
    Remove,
    SetMode,
    StepStatus,
    WriteFile,
)
from docket.formats.tree.surface import Surface
from docket.formats.workspace.scope import BackendName, View
from docket.formats.workspace.state import Base, Status, SurfaceRules, TransactionState
from docket.host.clock import SystemClock
from docket.host.confined import ConfinedTree
from docket.host.ids import SystemIds
from docket.stores.workspace.journal import JournalFile
from docket.stores.workspace.transactions import Transactions
from fakes.memory_content import MemoryContent
from tree_lab import CountedCalls, holds_directory, holds_file, holds_link, p, plain, plan_for, root_of, whole, write

CONTENTS = MemoryContent()
NEW = CONTENTS.put([b"new"])
SPARSE = CONTENTS.put([b"x" + bytes(100_000)])
ID = "0123456789ab"
OLD_NS = 1_500_000_000_123_456_789
DEAD = ProcessIdentity(pid=2**22 + 1, started="1", boot_id="another")


def build(tree: Path) -> Plan:
    """A tree, and a plan with every kind of change for it."""
    tree.mkdir()
    for name in ("changed", "retyped", "gone", "becomes-link-too", "kept"):
        write(tree / name, b"old")
    write(tree / "mode", b"old", 0o600)
    for name in ("empty", "full", "full/deeper", "becomes-link", "opened", "holds"):
        os.mkdir(tree / name, 0o755)
    write(tree / "full/inside", b"in")
    write(tree / "full/deeper/inside", b"in")
    write(tree / "holds/inside", b"in")
    os.symlink("one", tree / "link")
    os.symlink("two", tree / "link-to-file")
    os.link(tree / "kept", tree / "kept-twin")
    for folder, folders, files in os.walk(tree, topdown=False):
        for name in (*folders, *files):
            os.utime(Path(folder, name), ns=(OLD_NS, OLD_NS), follow_symlinks=False)
    return plan_for(
        tree,
        WriteFile(path=p("changed"), precondition=holds_file(b"old"), content=NEW, mode=0o640, mtime_ns=10**18),
        MakeDirectory(path=p("retyped"), precondition=holds_file(b"old"), mode=0o555),
        WriteFile(path=p("retyped/f"), precondition=ABSENT, content=SPARSE, mode=0o444, sparse=True),
        MakeDirectory(path=p("retyped/sub"), precondition=ABSENT, mode=0o750),
        Remove(path=p("gone"), precondition=holds_file(b"old"), kind=Kind.FILE),
        SetMode(path=p("mode"), precondition=holds_file(b"old", 0o600), mode=0o644, mtime_ns=10**18),
        WriteFile(path=p("empty"), precondition=holds_directory(), content=NEW, mode=0o644),
        Remove(path=p("full/deeper/inside"), precondition=holds_file(b"in"), kind=Kind.FILE),
        Remove(path=p("full/deeper"), precondition=holds_directory(), kind=Kind.DIRECTORY),
        Remove(path=p("full/inside"), precondition=holds_file(b"in"), kind=Kind.FILE),
        Remove(path=p("full"), precondition=holds_directory(), kind=Kind.DIRECTORY),
        Remove(path=p("holds/inside"), precondition=holds_file(b"in"), kind=Kind.FILE),
        WriteFile(path=p("holds"), precondition=holds_directory(), content=NEW, mode=0o644),
        MakeDirectory(path=p("opened"), precondition=holds_directory(), mode=0o775),
        WriteFile(path=p("opened/f"), precondition=ABSENT, content=NEW, mode=0o600),
        MakeSymlink(path=p("link"), precondition=holds_link("one"), target=b"two"),
        MakeSymlink(path=p("becomes-link"), precondition=holds_directory(), target=b"full"),
        MakeSymlink(path=p("becomes-link-too"), precondition=holds_file(b"old"), target=b"full"),
        WriteFile(path=p("link-to-file"), precondition=holds_link("two"), content=NEW, mode=0o644),
        MakeSymlink(path=p("added"), precondition=ABSENT, target=b"../.."),
        Link(path=p("kept-twin"), precondition=holds_file(b"old"), to=p("changed")),
        Link(path=p("twin"), precondition=ABSENT, to=p("changed")),
        Link(path=p("further"), precondition=ABSENT, to=p("kept"), holds=holds_file(b"old").state),
    )


def told(tree: Path) -> dict[bytes, tuple]:
    """What stands in a tree, inodes of docket's own making left aside; names of one file are told as such."""
    found = whole(tree)
    shown = plain(found)
    for path, state in found.items():
        if state[0] == "file":
            names = sorted(other for other, it in found.items() if it[0] == "file" and it[3] == state[3])
            shown[path] = (*shown[path], names, state[4] if state[4] in (OLD_NS, 10**18) else None)
    return shown


class Commits:
    """One tree, its plan and the transaction that lands it."""

    def __init__(self, place: Path, make: Callable[[Path], Plan] = build) -> None:
        place.mkdir(exist_ok=True)
        self.tree = place / "tree"
        self.plan = make(self.tree)
        self.transactions = Transactions(place / "state/workspace-tx")
        empty = place / "empty"
        empty.mkdir()
        listing = observe_tree(ObserveRequest(root=os.fsencode(empty), surface=Surface()), ObserveWorld(copies=0))
        now = "2026-01-02T03:04:05.678Z"
        self.state = TransactionState(
            id=ID,
            status=Status.COMMITTING,
            base=Base.of(os.fsencode(self.tree), root_of(self.tree)),
            surface=SurfaceRules(),
            backend=BackendName.COPY,
            view=View.STAGE,
            settle=WorkspaceSettle.AUTO,
            manifest_sha256=listing.tree_sha256,
            owner=DEAD,
            opened_at=now,
            changed_at=now,
        )
        self.transactions.create(self.state, listing)
        self.world = TransactionWorld(
            observe=lambda request: listing,
            clock=SystemClock(),
            ids=SystemIds(),
            transactions=self.transactions,
            backends=(),
            owner=lambda: DEAD,
        )

    @property
    def folder(self) -> Path:
        return self.transactions.path(ID)

    def commit(self, calls: CountedCalls | None = None, contents=CONTENTS):
        """Land the plan as a commit does, from where its state says that it has begun."""
        journal = JournalFile.begin(self.folder, self.plan, self.state)
        with ConfinedTree(os.fsencode(self.tree), calls=calls or CountedCalls()) as opened:
            outcomes = apply(
                self.plan, contents, opened, Options(mode=Mode.ALL_OR_NOTHING, journal=journal, keep=Keep())
            )
        if opened.trouble is None:
            landed = all(item.status in (StepStatus.APPLIED, StepStatus.ALREADY) for item in outcomes)
            self.transactions.save(replace(self.state, status=Status.COMMITTED if landed else Status.REFUSED))
            journal.remove()
        return outcomes

    def recover(self, calls: CountedCalls | None = None, **asked) -> Recovered:
        def opened(root: bytes) -> ConfinedTree:
            return ConfinedTree(root, calls=calls or CountedCalls())

        with mock.patch.object(recovering, "open_tree", opened):
            return recover_transaction(ID, Asked(**asked), self.world)

    def status(self) -> Status:
        return self.transactions.load(ID).status


class Keep:
    def keep(self, path, state, content, /):
        pass
