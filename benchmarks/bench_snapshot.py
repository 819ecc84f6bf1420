"""Row 10: the contents of a tree of 10,000 files kept, for the first time and again unchanged.

First: against `git add --all` into a fresh repository and `cp -a`, each into a new place. Second: nothing changed,
against `git status` of the same tree, which keeps nothing; contents are in the pool already.

The tree is that of rows 8 and 9; DOCKET_BENCH_SNAPSHOT_FILES says of how many files. Sides run alternately, medians of
five. What the sides write is on one disk, and is made durable by docket alone.
"""

from __future__ import annotations

import itertools
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench_tree import GIT, ROUNDS, make_tree
from docket.engines.observe import ObserveWorld, observe_tree
from docket.engines.snapshot import SnapshotRequest, SnapshotTaken, SnapshotWorld, take_snapshot
from docket.formats.tree.manifest import SnapshotLimits, SurfaceRules
from docket.formats.tree.surface import Surface
from docket.host.clock import SystemClock
from docket.stores.layout import Layout
from docket.stores.statcache import StatCache

NUMBERS = (10,)
FILES = 10_000
LIMITS = SnapshotLimits(max_bytes=10**12, max_file_bytes=10**12, max_entries=10**9)
Timed = tuple[Callable[[], None], Callable[[], None]]


def rows() -> list[dict[str, object]]:
    files = int(os.environ.get("DOCKET_BENCH_SNAPSHOT_FILES", FILES))
    with tempfile.TemporaryDirectory(prefix="docket-bench-snapshot-") as folder:
        root = Path(folder, "tree")
        make_tree(root, files)
        time.sleep(0.1)  # the files settle, and a pass may keep their digests
        first = [
            first_against(Path(folder), files, *peer) for peer in (("git add -A", git_add, 0.5), ("cp -a", copied, 1.0))
        ]
        return [*first, second_against_status(Path(folder), files)]


def first_against(folder: Path, files: int, name: str, peer: Callable[[Path], Timed], goal: float) -> dict[str, object]:
    root, state = folder / "tree", folder / "state"

    def forget() -> None:
        shutil.rmtree(state, ignore_errors=True)

    def ours() -> None:
        snapshot(root, state, StatCache(), "000000000001")

    work, undo = peer(folder)
    return compared(f"first snapshot of {files} files, against {name}", (ours, forget), (work, undo), goal)


def git_add(folder: Path) -> Timed:
    where = folder / "repository"

    def work() -> None:
        place = ("--git-dir", os.fspath(where), "--work-tree", os.fspath(folder / "tree"))
        subprocess.run([*GIT, *place, "init", "--quiet"], check=True)
        subprocess.run([*GIT, *place, "add", "--all"], cwd=folder / "tree", check=True)

    return work, lambda: shutil.rmtree(where, ignore_errors=True)


def copied(folder: Path) -> Timed:
    where = folder / "copy"

    def work() -> None:
        subprocess.run(["cp", "-a", folder / "tree", where], check=True)

    return work, lambda: shutil.rmtree(where, ignore_errors=True)


def second_against_status(folder: Path, files: int) -> dict[str, object]:
    root, state = folder / "tree", folder / "state"
    for command in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "bench")):
        subprocess.run([*GIT, *command], cwd=root, check=True)
    time.sleep(0.1)
    cache = StatCache(state / "statcache")
    numbers = itertools.count(1)

    def ours() -> None:
        snapshot(root, state, cache, f"{next(numbers):012x}")

    def status() -> None:
        subprocess.run([*GIT, "status", "--porcelain"], cwd=root, check=True, capture_output=True)

    for _ in range(2):
        ours()
    return compared(f"unchanged snapshot of {files} files, against git status", (ours, int), (status, int), 2.0)


def snapshot(root: Path, state: Path, cache: StatCache, session_id: str) -> None:
    world = ObserveWorld(cache=cache)
    request = SnapshotRequest(
        root=os.fsencode(root),
        layout=Layout(tree_root=root, state=state, docket_dir=root / ".docket", evidence=()),
        session_id=session_id,
        docket_number="DKT-20260131-00C0DE",
        surface=Surface(),
        rules=SurfaceRules(watch=(".",), ignore=(), evidence=()),
        limits=LIMITS,
    )
    done = take_snapshot(request, SnapshotWorld(observe=lambda asked: observe_tree(asked, world), clock=SystemClock()))
    assert isinstance(done, SnapshotTaken)


def compared(what: str, ours: Timed, peer: Timed, goal: float) -> dict[str, object]:
    """Time both alternately; what a side leaves is taken away before the next, untimed."""
    took: tuple[list[float], list[float]] = ([], [])
    for round_number in range(ROUNDS + 1):
        for (work, undo), times in zip((ours, peer), took, strict=True):
            undo()
            os.sync()  # neither side pays for what the other left unwritten
            start = time.perf_counter()
            work()
            if round_number:  # the first of each only warms up
                times.append(time.perf_counter() - start)
    mine, other = statistics.median(took[0]), statistics.median(took[1])
    ours[1]()
    peer[1]()
    return {
        "row": 10,
        "what": what,
        "ours": f"{mine * 1000:.0f} ms",
        "peer": f"{other * 1000:.0f} ms",
        "ratio": round(mine / other, 2),
        "goal": f"<= {goal}",
        "holds": mine / other <= goal,
    }
