"""Rows 11 and 12: a transaction opened over 100,000 files, with each backend, and ten changed files landed there.

Opening: the overlay against `git status` of the same tree; the copy against `cp -a` and `git worktree add`. What is
timed is all that opening is: the preconditions, the pass over the base, the state on disk, the stage, and the
namespaces. The overlay is opened twice over: where nothing is known of the tree's contents (cold: no digest cache; the
system's caches are as warm as for `git status`), and where all of them are.

Landing: ten files are written anew on an overlay, which is not timed; then the stage is measured, the change set found
and kept, and all of it landed durably, journal and state included; against `git status`.

The tree is that of rows 8 and 9; DOCKET_BENCH_TRANSACTION_FILES says of how many files, and
DOCKET_BENCH_TRANSACTION_BACKENDS which backends are measured (`overlay` alone takes minutes less). Sides run
alternately; medians of five, of three where everything is copied. The reflink is measured where the file system has it.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

from bench_tree import GIT, make_tree
from docket.engines.observe import ObserveRequest, ObserveWorld, observe_tree
from docket.engines.transaction.backends.registry import backends
from docket.engines.transaction.closing import close_transaction, drop_stage
from docket.engines.transaction.committing import CommitRequest, Committed, commit_transaction
from docket.engines.transaction.opening import open_transaction
from docket.engines.transaction.world import OpenRequest, OpenTransaction, TransactionWorld
from docket.formats.run.policy import WorkspaceBackend
from docket.formats.tree.listing import Listing
from docket.formats.workspace.state import SurfaceRules
from docket.host.clock import SystemClock
from docket.host.ids import SystemIds
from docket.stores.statcache import StatCache
from docket.stores.workspace.transactions import Transactions

NUMBERS = (11, 12)
FILES = 100_000
BACKENDS = "overlay reflink copy"
CHANGED = 10
Side = tuple[Callable[[], None], Callable[[], None]]


def rows() -> list[dict[str, object]]:
    files = int(os.environ.get("DOCKET_BENCH_TRANSACTION_FILES", FILES))
    with tempfile.TemporaryDirectory(prefix="docket-bench-transaction-") as made:
        folder = Path(made)
        make_tree(folder / "tree", files)
        git(folder, "init", "--quiet")
        for command in (("add", "--all"), ("commit", "--quiet", "--message", "bench")):
            git(folder, *command)
        time.sleep(0.1)  # the files settle, and a pass may keep their digests
        world, cold = world_of(folder), replace(world_of(folder), observe=observing(ObserveWorld()))
        world.observe(ObserveRequest(root=os.fsencode(folder / "tree")))
        status = (lambda: git(folder, "status", "--porcelain"), int)
        name = f"transaction opened over {files} files"
        found = []
        for backend in map(WorkspaceBackend, os.environ.get("DOCKET_BENCH_TRANSACTION_BACKENDS", BACKENDS).split()):
            side = opening(folder, world, backend)
            if side is None:
                continue
            peers = [("cp -a", copied(folder), 1.0, 3), ("git worktree add", worktree(folder), None, 3)]
            if backend is WorkspaceBackend.OVERLAY:
                peers = [("git status", status, 3.0, 5)]
                unread = opening(folder, cold, backend)
                assert unread is not None
                found.append(compared(f"{name}, {backend}, cold, against git status", unread, status, (3.0, 5)))
            found += [
                compared(f"{name}, {backend}, against {peer}", side, work, (goal, rounds))
                for peer, work, goal, rounds in peers
            ]
        return [*found, *landing(folder, world, (name, files), status)]


def landing(folder: Path, world: TransactionWorld, what: tuple[str, int], peer: Side) -> list[dict[str, object]]:
    """Compare landing ten changed files with `git status`; nothing where no overlay can be had."""
    request = asked(folder, WorkspaceBackend.OVERLAY)
    standing: list[OpenTransaction] = []

    def prepare() -> None:
        opened = open_transaction(request, world)
        assert isinstance(opened, OpenTransaction), opened
        standing.append(opened)
        names = (Path(place, name) for place, _, found in os.walk(opened.stage.root) for name in found)
        for path in list(islice(names, CHANGED)):
            path.write_bytes(os.urandom(3000))

    def work() -> None:
        closed = close_transaction(standing[-1], world)
        outcome = commit_transaction(CommitRequest(closed=closed), world)
        assert isinstance(outcome, Committed), outcome
        assert outcome.applied == CHANGED

    def undo() -> None:
        opened = standing.pop()
        drop_stage(opened, world)
        world.transactions.remove(opened.state.id)

    try:
        prepare()
    except AssertionError:
        return []
    undo()
    said = f"{CHANGED} changed files landed in {what[1]}, overlay, against git status and its syncs"
    return [compared(said, (work, undo), peer, (1.5, 5), prepare=prepare) | {"row": 12}]


def git(folder: Path, *arguments: str) -> None:
    place = ("--git-dir", os.fspath(folder / "repository"), "--work-tree", os.fspath(folder / "tree"))
    subprocess.run([*GIT, *place, *arguments], cwd=folder / "tree", check=True, capture_output=True)


def world_of(folder: Path) -> TransactionWorld:
    cache = StatCache(folder / "statcache")
    return TransactionWorld(
        observe=observing(ObserveWorld(cache=cache)),
        clock=SystemClock(),
        ids=SystemIds(),
        transactions=Transactions(folder / "workspace-tx"),
        backends=backends(),
        remember=lambda made: cache.keep(None, made),
    )


def observing(scanner: ObserveWorld) -> Callable[[ObserveRequest], Listing]:
    return lambda request: observe_tree(request, scanner)


def opening(folder: Path, world: TransactionWorld, backend: WorkspaceBackend) -> Side | None:
    """Return opening with a backend and taking it away again; None where the backend cannot stage the tree."""
    request = asked(folder, backend)
    standing: list[OpenTransaction] = []

    def work() -> None:
        opened = open_transaction(request, world)
        assert isinstance(opened, OpenTransaction), opened
        standing.append(opened)

    def undo() -> None:
        while standing:
            opened = standing.pop()
            drop_stage(opened, world)
            world.transactions.remove(opened.state.id)

    try:
        work()
    except AssertionError:
        return None
    undo()
    return work, undo


def asked(folder: Path, backend: WorkspaceBackend) -> OpenRequest:
    """Return what every opening here is asked for."""
    return OpenRequest(base=folder / "tree", rules=SurfaceRules(), backend=backend)


def copied(folder: Path) -> Side:
    where = folder / "copy"

    def work() -> None:
        subprocess.run(["cp", "-a", folder / "tree", where], check=True)

    return work, lambda: shutil.rmtree(where, ignore_errors=True)


def worktree(folder: Path) -> Side:
    where = folder / "worktree"

    def undo() -> None:
        shutil.rmtree(where, ignore_errors=True)
        git(folder, "worktree", "prune")

    return lambda: git(folder, "worktree", "add", "--quiet", "--detach", os.fspath(where)), undo


def nothing() -> None:
    """Prepare nothing."""


def compared(
    what: str, ours: Side, peer: Side, wanted: tuple[float | None, int], prepare: Callable[[], None] = nothing
) -> dict[str, object]:
    """Time both alternately; what a side leaves is taken away before the next, untimed, as `prepare` is for ours."""
    goal, rounds = wanted
    took: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for (work, undo), times in zip((ours, peer), took, strict=True):
            if times is took[0]:
                prepare()
            os.sync()  # neither side pays for what the other left unwritten
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
            undo()
    mine, other = statistics.median(took[0]), statistics.median(took[1])
    return {
        "row": 11,
        "what": what,
        "ours": f"{mine * 1000:.0f} ms",
        "peer": f"{other * 1000:.0f} ms",
        "ratio": round(mine / other, 2),
        "goal": None if goal is None else f"<= {goal}",
        "holds": None if goal is None else mine / other <= goal,
    }
