"""Killing docket, the launcher or the guard while an agent works on a stage: nothing of it stays but its folder."""

import contextlib
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from docket.engines.transaction.backends.interface import Stage, StageRequest, View
from docket.errors import UnavailableError
from stage_lab import BACKENDS, bench_of, census, mounts_mentioning

# What docket does, up to where it is killed: it stages, starts an agent that writes for ever, and tells who is who.
DOCKET = """
import os, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from stage_lab import BACKENDS, Bench
from docket.host.isolation import adopt_orphans
from docket.host.process import SpawnRequest, spawn
adopt_orphans()
bench = Bench(BACKENDS[{backend!r}](), Path({base!r}), Path({state!r}))
stage = bench.stage()
cwd = bench.base if stage.mount is not None else stage.root
program = "echo kept > written; echo $$ > agent.pid; (while :; do date >> written; done) & wait"
agent = spawn(SpawnRequest(argv=("sh", "-c", program), cwd=cwd, env=dict(os.environ), mount=stage.mount))
while not (stage.root / "agent.pid").exists():
    pass
print(os.getpid(), agent._link.guard_identity[0], agent._reports.launcher[0], agent.pid, flush=True)
agent.wait()
print("ended", flush=True)
sys.stdin.read()
"""


@pytest.fixture(params=["copy", "overlay"])
def bench(request, tmp_path):
    return bench_of(BACKENDS[request.param](), tmp_path)


def start(bench) -> tuple[subprocess.Popen, list[int]]:
    names = {"tests": str(Path(__file__).parent.parent), "backend": bench.backend.name.value}
    text = DOCKET.format(base=str(bench.base), state=str(bench.state), **names)
    docket = subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return docket, [int(word) for word in docket.stdout.readline().split()]


def await_end(pids: list[int]) -> None:
    """Wait until each process has ended, however long the machine takes."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            descriptor = os.pidfd_open(pid)
            try:
                assert select.select([descriptor], [], [], 60)[0]
            finally:
                os.close(descriptor)


def workers(folder: Path) -> list[str]:
    """Return the processes whose working directory or command names the folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(folder) in os.readlink(process / "cwd"):
                found.append(process.name)
    return found


def request_for(bench) -> StageRequest:
    return bench.request()


@pytest.mark.parametrize("killed", [(0,), (2,), (1, 2), (0, 1), (0, 2)], ids=str)
def test_nothing_outlives_who_was_killed(bench, killed):
    before = census(bench.base)
    docket, pids = start(bench)
    try:
        for number in killed:
            os.kill(pids[number], signal.SIGKILL)
        await_end(pids[1:])
        if 0 not in killed:
            assert docket.stdout.readline() == "ended\n"
    finally:
        docket.stdin.close()
        docket.wait()
        docket.stdout.close()
    await_end(pids)
    assert workers(bench.base.parent) == []
    assert mounts_mentioning(bench.base.parent) == []
    assert census(bench.base) == before
    # What the agent wrote is still there for whoever looks, and goes when it is discarded.
    stage = bench.backend.attach(request_for(bench))
    assert (stage.root / "written").read_text().startswith("kept\n")
    bench.backend.discard(stage)
    assert os.listdir(bench.state) == []
    assert mounts_mentioning(bench.base.parent) == []


def test_a_stage_that_is_in_use_is_not_mounted_twice(bench):
    if bench.backend.name.value != "overlay":
        pytest.skip("a copy is a directory like any other")
    docket, pids = start(bench)
    try:
        with pytest.raises(UnavailableError) as refused:
            bench.backend.attach(request_for(bench))
        assert refused.value.reason == "in-use"
    finally:
        os.kill(pids[0], signal.SIGKILL)
        docket.stdin.close()
        docket.wait()
        docket.stdout.close()
    await_end(pids)


def test_killed_while_the_stage_was_made(bench):
    """Whatever instant a making is killed at, discarding leaves nothing and the base is as it was."""
    before = census(bench.base)
    names = {"tests": str(Path(__file__).parent.parent), "backend": bench.backend.name.value}
    text = DOCKET.format(base=str(bench.base), state=str(bench.state), **names).replace(
        "stage = bench.stage()", "print('ready', flush=True); stage = bench.stage()"
    )
    for pause in (0, 200, 1000, 3000, 10000, 30000):
        docket = subprocess.Popen(
            [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert docket.stdout.readline() == "ready\n"
        for _ in range(pause):
            os.getppid()
        docket.kill()
        docket.wait()
        docket.stdin.close()
        docket.stdout.close()
        left = Stage(backend=bench.backend.name, root=bench.state, folder=bench.state, view=View.STAGE)
        bench.backend.discard(left)
        assert os.listdir(bench.state) == []
        assert census(bench.base) == before
