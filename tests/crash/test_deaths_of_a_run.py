"""Whoever of docket, guard and launcher is killed, nothing that the run started lives on.

The supervising program is a process of its own, killed for real. Survivors are looked for by foreign means: a
mark in the environment of all that the agent started, and the pids that they wrote themselves.
"""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path

import pytest

MARK = "DOCKET_TEST_MARK"
PATIENCE_SECONDS = 60
SUPERVISOR = """
import json, os, sys
from docket.host import isolation
from docket.host.process import SpawnRequest, spawn
given = json.loads(sys.argv[1])
if given["adopt"]:
    assert isolation.adopt_orphans()
with spawn(SpawnRequest(argv=("sh", "-c", given["script"]), cwd=given["cwd"], env=given["env"])) as agent:
    copy = os.fork() if given["copy"] else None
    if copy == 0:
        os.read(os.open(given["copy"], os.O_RDONLY), 1)
        os._exit(0)
    print(agent.pid, flush=True)
    ended = agent.wait()
print(ended.exit_code, ended.signal, ended.failure, ended.leftover_processes, flush=True)
"""
# The agent and three children ignore every polite signal: one is plain, one left the session, one forked twice.
AGENT = """
trap '' TERM INT HUP QUIT
waiting='echo $$ >> "$PIDS"; while :; do sleep 1; done'
sh -c "$waiting" &
setsid sh -c "$waiting" &
(setsid sh -c "(sh -c '$waiting' &)" &)
echo $$ >> "$PIDS"
while :; do sleep 1; done
"""


def await_true(condition) -> None:
    ends_at = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < ends_at, "waited too long"
        time.sleep(0.005)


def stat_words(pid: int) -> list[str] | None:
    """Return state, parent, group and so on, None if the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None


def is_gone(pid: int) -> bool:
    words = stat_words(pid)
    return words is None or words[0] in "ZX"


class Supervised:
    """A supervising program with an agent below it."""

    def __init__(self, folder: Path, *, adopt: bool = False, script: str = AGENT, copy: bool = False) -> None:
        self.mark = uuid.uuid4().hex
        self.written = folder / "pids"
        self.written.touch()
        self.gate = folder / "gate"
        os.mkfifo(self.gate)
        env = {"PATH": os.environ["PATH"], MARK: self.mark, "PIDS": str(self.written)}
        # A forked copy of the supervisor waits at the gate.
        given = {"adopt": adopt, "script": script, "cwd": str(folder), "env": env, "copy": copy and str(self.gate)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", SUPERVISOR, json.dumps(given)],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.agent = int(self.process.stdout.readline())
        self.launcher = int(stat_words(self.agent)[1])
        self.guard = int(stat_words(self.launcher)[1])
        assert int(stat_words(self.guard)[1]) == self.process.pid

    def victims(self, names: tuple[str, ...]) -> list[int]:
        pids = {"docket": self.process.pid, "guard": self.guard, "launcher": self.launcher, "agent": self.agent}
        return [pids[name] for name in names]

    def await_tree(self) -> None:
        await_true(lambda: len(self.written.read_text().split()) == 4)

    def running(self) -> list[int]:
        """Return what the agent started and still runs, and guard and launcher if they do."""
        needle = f"{MARK}={self.mark}".encode()
        found = [pid for pid in (self.guard, self.launcher) if not is_gone(pid)]
        for folder in Path("/proc").iterdir():
            if folder.name.isdecimal():
                try:
                    found += [int(folder.name)] if needle in (folder / "environ").read_bytes().split(b"\0") else []
                except OSError:
                    continue
        written = [int(pid) for pid in self.written.read_text().split()]
        return sorted({*found, *(pid for pid in written if not is_gone(pid))})

    def last_word(self) -> list[str]:
        """Return how the supervisor says that the agent ended."""
        output, _ = self.process.communicate(timeout=PATIENCE_SECONDS)
        return output.split()

    def clean_up(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        for pid in self.running():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def supervise(tmp_path):
    started = []

    def start(**more) -> Supervised:
        started.append(Supervised(tmp_path, **more))
        return started[-1]

    yield start
    for supervised in started:
        supervised.clean_up()


@pytest.mark.parametrize(
    "names",
    [("docket",), ("docket", "guard"), ("docket", "launcher"), ("docket", "agent"), ("launcher", "docket", "agent")],
    ids="+".join,
)
def test_docket_is_killed(supervise, names):
    run = supervise()
    run.await_tree()
    for pid in run.victims(names):
        with suppress(ProcessLookupError):  # the death before it may have been faster
            os.kill(pid, signal.SIGKILL)
    await_true(lambda: run.running() == [])


def test_docket_is_killed_while_a_forked_copy_of_it_holds_its_socket(supervise):
    run = supervise(copy=True)
    run.await_tree()
    os.kill(run.process.pid, signal.SIGKILL)
    await_true(lambda: run.running() == [])
    run.gate.write_text("go")


def test_dockets_whole_process_group_is_killed(supervise):
    # As `timeout -k` and many runners of jobs do.
    run = supervise()
    run.await_tree()
    os.killpg(run.process.pid, signal.SIGKILL)
    await_true(lambda: run.running() == [])


def test_docket_is_killed_the_moment_the_agent_starts(supervise):
    run = supervise()
    os.kill(run.process.pid, signal.SIGKILL)
    await_true(lambda: run.running() == [])


def test_launcher_is_killed(supervise):
    run = supervise()
    run.await_tree()
    os.kill(run.launcher, signal.SIGKILL)
    code, number, failure, leftovers = run.last_word()
    assert (code, number, failure) == ("None", "9", "launcher-lost")
    assert int(leftovers) >= 3
    assert run.running() == []


def test_guard_is_killed(supervise):
    run = supervise(script="read line < gate; (setsid sleep 1000 &); exit 11")
    os.kill(run.guard, signal.SIGKILL)
    await_true(lambda: is_gone(run.guard))
    run.gate.write_text("go\n")
    # The launcher goes on alone: the exit is as exact as ever, the leftover is found.
    assert run.last_word() == ["11", "None", "None", "1"]
    assert run.running() == []


@pytest.mark.parametrize("first", ["guard", "launcher"])
def test_guard_and_launcher_are_killed_and_docket_adopts(supervise, first):
    run = supervise(adopt=True)
    run.await_tree()
    second = {"guard": "launcher", "launcher": "guard"}[first]
    victims = run.victims((first, second))
    # Held still first: whoever is left for a moment would reap the agent and take what it knows to its own grave.
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in victims:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
    code, number, failure, _ = run.last_word()
    assert (code, number, failure) == ("None", "9", "launcher-lost")
    assert run.running() == []


def test_guard_and_launcher_are_killed_in_a_program_that_adopts_nothing(supervise):
    run = supervise(script="echo $$ >> $PIDS; exec sleep 1000")
    for pid in run.victims(("guard", "launcher")):
        os.kill(pid, signal.SIGKILL)
    code, _, failure, _ = run.last_word()
    assert (code, failure) == ("None", "launcher-lost")
    assert run.running() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP])
def test_guard_and_launcher_survive_polite_signals(supervise, number):
    run = supervise(script="read line < gate; exit 12")
    for pid in run.victims(("guard", "launcher")):
        os.kill(pid, number)
        os.killpg(int(stat_words(pid)[2]), number)
    run.gate.write_text("go\n")
    assert run.last_word() == ["12", "None", "None", "0"]


def test_stop_reaches_a_launcher_that_was_stopped(supervise):
    run = supervise()
    run.await_tree()
    for pid in run.victims(("guard", "launcher")):
        os.kill(pid, signal.SIGSTOP)
    # Ctrl-C ends the supervisor's wait, and leaving the context stops the run.
    run.process.send_signal(signal.SIGINT)
    run.process.communicate(timeout=PATIENCE_SECONDS)
    assert run.running() == []


def test_docket_is_killed_while_the_launcher_is_stopped(supervise):
    run = supervise()
    run.await_tree()
    os.kill(run.launcher, signal.SIGSTOP)
    os.kill(run.process.pid, signal.SIGKILL)
    await_true(lambda: run.running() == [])
