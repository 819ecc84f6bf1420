"""Rows 8 and 9: a digest pass over a large tree, the first and an unchanged one.

Row 8: everything read for the first time, against the floor: open, read, SHA-256 and close of the same files, whose
names are known, by the barest loop there is. Row 9: nothing changed, against `git status` of the same tree.

The tree: files of 1 byte to 200 kB, log-normal around 3 kB, 20 in a directory; 100,000 of them, or as many as
DOCKET_BENCH_FILES says. Everything is warm in the page cache. Both sides run alternately; the median of five counts.
"""

from __future__ import annotations

import hashlib
import math
import os
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from docket.engines.observe import ObserveRequest, ObserveWorld, observe_tree
from docket.stores.statcache import StatCache

NUMBERS = (8, 9)
FILES = 100_000
ROUNDS = 5
PER_DIRECTORY = 20
MEDIAN_BYTES, SPREAD, LARGEST_BYTES = 3000, 1.3, 200_000
GIT = ("git", "-c", "user.name=bench", "-c", "user.email=bench@example.invalid", "-c", "gc.auto=0")


def rows() -> list[dict[str, object]]:
    files = int(os.environ.get("DOCKET_BENCH_FILES", FILES))
    with tempfile.TemporaryDirectory(prefix="docket-bench-tree-") as folder:
        root = Path(folder, "tree")
        paths = make_tree(root, files)
        return [first_pass(root, paths, files), unchanged_pass(root, Path(folder), files)]


def make_tree(root: Path, files: int) -> list[bytes]:
    chance = random.Random(8)
    noise = chance.randbytes(1 << 20)
    paths = []
    for number in range(files):
        at, group = number % PER_DIRECTORY, number // PER_DIRECTORY
        directory = root / f"part{group % 40:02d}" / f"unit{group // 40 % 10}" / f"group{group}"
        if at == 0:
            directory.mkdir(parents=True)
        size = min(LARGEST_BYTES, max(1, int(chance.lognormvariate(math.log(MEDIAN_BYTES), SPREAD))))
        start = chance.randrange(len(noise) - size)
        path = directory / f"module{at:02d}.py"
        path.write_bytes(noise[start : start + size])
        paths.append(os.fsencode(path))
    return paths


def first_pass(root: Path, paths: list[bytes], files: int) -> dict[str, object]:
    def ours() -> None:
        observe(root, ObserveWorld(cache=StatCache()))

    def floor() -> None:
        for path in paths:
            descriptor = os.open(path, os.O_RDONLY)
            data = os.read(descriptor, LARGEST_BYTES)
            os.close(descriptor)
            hashlib.sha256(data).digest()

    return compared(8, f"first digest pass, {files} files, against read + SHA-256", ours, floor, 1.5)


def unchanged_pass(root: Path, folder: Path, files: int) -> dict[str, object]:
    for command in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "bench")):
        subprocess.run([*GIT, *command], cwd=root, check=True)
    cache = StatCache(folder / "state" / "statcache")
    world = ObserveWorld(cache=cache)
    time.sleep(0.1)  # the files git has just written settle, and a later pass may keep their digests
    observe(root, world)

    def ours() -> None:
        observe(root, world)

    def status() -> None:
        answer = subprocess.run([*GIT, "status", "--porcelain"], cwd=root, check=True, capture_output=True)
        assert answer.stdout == b""

    return compared(9, f"unchanged digest pass, {files} files, against git status", ours, status, 2.0)


def observe(root: Path, world: ObserveWorld) -> None:
    observe_tree(ObserveRequest(root=os.fsencode(root)), world)


def compared(row: int, what: str, ours: Callable[[], None], peer: Callable[[], None], goal: float) -> dict[str, object]:
    took: dict[Callable[[], None], list[float]] = {ours: [], peer: []}
    for side in (ours, peer):
        side()
    for _ in range(ROUNDS):
        for side, times in took.items():
            start = time.perf_counter()
            side()
            times.append(time.perf_counter() - start)
    mine, other = statistics.median(took[ours]), statistics.median(took[peer])
    return {
        "row": row,
        "what": what,
        "ours": f"{mine * 1000:.0f} ms",
        "peer": f"{other * 1000:.0f} ms",
        "ratio": round(mine / other, 2),
        "goal": f"<= {goal}",
        "holds": mine / other <= goal,
    }
