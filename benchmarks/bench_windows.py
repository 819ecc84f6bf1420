"""Row 13: the windows of one tool that changes three files, before and after it, against two `git status`.

In a run the process that looks is there already, and a hook's payload comes over the boundary: what is timed is what it
does then. Cold, each hook is a process of its own. DOCKET_BENCH_WINDOWS_FILES says of how many files the trees are.
Sides run alternately; medians of five.

The store: how large it is after 50 tools of which each writes 20 MB of noise anew, and after it was tidied to nothing.
DOCKET_BENCH_WINDOWS_STORE=0 leaves that out, which takes a minute and a gigabyte.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench_tree import GIT, make_tree
from docket.engines.windows.begin import begin
from docket.engines.windows.complete import complete
from docket.engines.windows.tidy import TidyRequest, tidy
from docket.engines.windows.world import BeginRequest, CompleteRequest, Said, WindowsWorld
from docket.formats.windows.key import WindowKey
from docket.stores.windows.git_store import open_git_store
from docket.stores.windows.git_upkeep import GitUpkeep
from docket.surfaces.hooks.place import WindowsPlace, windows_place
from docket.surfaces.hooks.wiring import windows_world

NUMBERS = (13,)
FILES = "1000 10000 50000"
CHANGED = 3
TURNS = 5
IN_A_RUN, COLD = 2.5, 4.0
STORE_WINDOWS, STORE_BYTES = 50, 20 * 1024 * 1024
DAY_NS = 86_400 * 10**9


def rows() -> list[dict[str, object]]:
    found = []
    for files in map(int, os.environ.get("DOCKET_BENCH_WINDOWS_FILES", FILES).split()):
        with tempfile.TemporaryDirectory(prefix="docket-bench-windows-") as made:
            tree = repository(Path(made), files)
            found += windows_of(tree, files)
    if os.environ.get("DOCKET_BENCH_WINDOWS_STORE") != "0":
        with tempfile.TemporaryDirectory(prefix="docket-bench-windows-") as made:
            found.append(store_of(repository(Path(made), 10)))
    return found


def repository(folder: Path, files: int) -> Path:
    os.environ["DOCKET_STATE_DIR"] = str(folder / "state")
    tree = folder / "tree"
    make_tree(tree, files)
    for command in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "bench")):
        subprocess.run([*GIT, *command], cwd=tree, check=True)
    time.sleep(0.1)
    return tree


def windows_of(tree: Path, files: int) -> list[dict[str, object]]:
    place = windows_place(tree)
    changed = sorted(tree.rglob("*.py"))[:CHANGED]
    ours, cold, peer = list[float](), list[float](), list[float]()
    for turn in range(-1, TURNS):  # the first of each is not counted
        sides = (
            (ours, lambda use=f"run{turn}": in_a_run(place, use, changed)),
            (cold, lambda use=f"cold{turn}": in_processes(tree, use, changed)),
            (peer, lambda: twice_status(tree)),
        )
        for taken, side in sides:
            seconds = side()
            if turn >= 0:
                taken.append(seconds)
    return [
        row(f"pre and post in a run, {files:,} files", ours, peer, IN_A_RUN),
        row(f"pre and post from cold hooks, {files:,} files", cold, peer, COLD),
    ]


def row(what: str, ours: list[float], peer: list[float], goal: float) -> dict[str, object]:
    mine, theirs = statistics.median(ours) * 1000, statistics.median(peer) * 1000
    return {
        "row": 13, "what": what, "ours": f"{mine:.0f} ms", "peer": f"{theirs:.0f} ms (2 git status)",
        "ratio": mine / theirs, "goal": f"<= {goal} x", "holds": mine <= goal * theirs,
    }  # fmt: skip


def timed(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def write(paths: list[Path], use: str) -> None:
    for path in paths:
        path.write_bytes(path.read_bytes()[:1000] + f"\n{use}\n".encode())


def key_of(world: WindowsWorld, use: str) -> WindowKey:
    repository = world.tree.repository
    return WindowKey(repository=repository, provider="claude", session_id="s", turn_id="t", tool_use_id=use)


def in_a_run(place: WindowsPlace, use: str, changed: list[Path]) -> float:
    world = windows_world(place)
    request = BeginRequest(key=key_of(world, use), tool_name="Bash")
    seconds = timed(lambda: begin(request, world))
    write(changed, use)
    outcome = None

    def ended() -> None:
        nonlocal outcome
        outcome = complete(CompleteRequest(key=request.key, tool_name="Bash"), windows_world(place))

    seconds += timed(ended)
    if outcome is None or outcome.said is not Said.CLOSED or outcome.reason is not None:
        print(f"bench: {use} told nothing: {outcome}", file=sys.stderr)
    return seconds


def in_processes(tree: Path, use: str, changed: list[Path]) -> float:
    seconds = timed(lambda: hook(tree, "PreToolUse", use))
    write(changed, use)
    return seconds + timed(lambda: hook(tree, "PostToolUse", use))


def hook(tree: Path, event: str, use: str) -> None:
    payload = {
        "session_id": "s", "prompt_id": "t", "hook_event_name": event, "tool_name": "Bash",
        "tool_input": {"command": "make"}, "tool_use_id": use, "cwd": str(tree),
    }  # fmt: skip
    docket = Path(sys.executable).parent / "docket"
    done = subprocess.run(
        [docket, "hook", "claude", event], input=json.dumps(payload).encode(), cwd=tree, check=True,
        env={**os.environ, "DOCKET_DEBUG": "1"}, stderr=subprocess.PIPE,
    )  # fmt: skip
    if done.stderr.split()[2:] not in ([b"opened"], [b"closed"]):
        print(f"bench: {use} told nothing: {done.stderr.decode()}", file=sys.stderr)


def twice_status(tree: Path) -> float:
    def status() -> None:
        subprocess.run([*GIT, "status", "--porcelain"], cwd=tree, check=True, stdout=subprocess.DEVNULL)

    return timed(status) + timed(status)


def store_of(tree: Path) -> dict[str, object]:
    place, chance = windows_place(tree), random.Random(13)
    for number in range(STORE_WINDOWS):
        world = windows_world(place)
        request = BeginRequest(key=key_of(world, f"u{number}"), tool_name="Bash")
        begin(request, world)
        (tree / "large.bin").write_bytes(chance.randbytes(STORE_BYTES))
        complete(CompleteRequest(key=request.key, tool_name="Bash"), windows_world(place))
    world, now_ns = windows_world(place), time.time_ns() + 2 * DAY_NS
    assert place.git is not None
    upkeep = GitUpkeep(place.windows, open_git_store(place.windows, place.git, world.tree.hashes))
    request = TidyRequest(windows=place.windows, now_ns=now_ns, apply=True, budget_bytes=0)
    before = tidy(request, world, upkeep)
    after = upkeep.clearing(frozenset(), 0, 0)
    return {
        "row": 13, "what": f"store after {STORE_WINDOWS} tools that write {STORE_BYTES >> 20} MB anew, and tidied",
        "ours": f"{before.store_bytes / 1e6:.0f} MB, {after.store_bytes / 1e6:.1f} MB", "peer": None,
        "ratio": before.store_bytes / (STORE_WINDOWS * STORE_BYTES), "goal": "<= 1.1 x what was written",
        "holds": before.store_bytes <= 1.1 * STORE_WINDOWS * STORE_BYTES,
    }  # fmt: skip
