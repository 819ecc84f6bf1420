"""How an agent's run is stopped, and what it leaves behind ended, with real programs."""

import os
import select
import signal
import sys
import threading
from pathlib import Path

import pytest
from run_probe import PLAIN_CHILD, SESSION_CHILD, STUBBORN_DAEMON, Mark, await_true, is_gone, parent_of, stat_fields

from docket.host import process
from docket.host.process import Agent, AgentExit, Ended, SpawnRequest, StopPlan, spawn

SHORT = StopPlan(grace_seconds=0.1)
LONG = StopPlan(grace_seconds=60)


@pytest.fixture
def mark(tmp_path):
    found = Mark(tmp_path)
    yield found
    # Whatever a failed test left is ended here, by pid.
    for pid in found.running():
        os.kill(pid, signal.SIGKILL)


def start(mark: Mark, folder: Path, *argv: str, **more) -> Agent:
    return spawn(SpawnRequest(argv=argv, cwd=folder, env=mark.environment(), **more))


def run(mark: Mark, folder: Path, *argv: str, **more) -> AgentExit:
    with start(mark, folder, *argv, **more) as agent:
        ended = agent.wait(60)
    assert ended is not None
    return ended


def test_leftovers_are_counted_and_ended(mark, tmp_path):
    script = f'{PLAIN_CHILD} {SESSION_CHILD} {STUBBORN_DAEMON}; while [ "$(wc -l < $PIDS)" != 3 ]; do sleep 0.01; done'
    ended = run(mark, tmp_path, "sh", "-c", f"touch $PIDS; {script}; exit 9")
    assert ended.exit_code == 9
    # Each of the three waits in a `sleep` of its own.
    assert ended.leftover_processes in range(3, 7)
    assert mark.running() == []
    assert all(is_gone(pid) for pid in mark.written_pids())


def test_background_writer_does_not_write_after_the_end(mark, tmp_path):
    script = "(setsid sh -c 'trap \"\" TERM; while :; do echo x >> written; done' &); until [ -s written ]; do :; done"
    ended = run(mark, tmp_path, "sh", "-c", script)
    assert ended.leftover_processes >= 1
    size = (tmp_path / "written").stat().st_size
    assert mark.running() == []
    assert (tmp_path / "written").stat().st_size == size


def test_children_that_end_with_the_agent_are_no_leftovers(mark, tmp_path):
    assert run(mark, tmp_path, "sh", "-c", "sh -c 'read line' & exit 0").leftover_processes == 0


def test_stop_asks_by_interrupt_first(mark, tmp_path):
    with start(
        mark, tmp_path, "sh", "-c", "trap 'exit 3' INT; echo $$ >> $PIDS; while :; do sleep 0.01; done"
    ) as agent:
        mark.await_written(1)
        report = agent.stop(LONG)
        ended = agent.wait(0)
    assert [step.signal for step in report.ended] == [signal.SIGINT]
    assert report.survivors == 0
    assert (ended.exit_code, ended.signal) == (3, None)


def test_stop_asks_by_terminate_second(mark, tmp_path):
    script = "trap '' INT; trap 'exit 4' TERM; echo $$ >> $PIDS; while :; do sleep 0.01; done"
    with start(mark, tmp_path, "sh", "-c", script) as agent:
        mark.await_written(1)
        agent.request_stop(StopPlan(grace_seconds=0.3))
        ended = agent.wait(60)
    assert (ended.exit_code, ended.signal) == (4, None)


def test_stop_kills_what_ignores_both(mark, tmp_path):
    script = f"trap '' INT TERM HUP; {STUBBORN_DAEMON}; echo $$ >> $PIDS; while :; do sleep 1; done"
    with start(mark, tmp_path, "sh", "-c", script) as agent:
        mark.await_written(2)
        report = agent.stop(SHORT)
        ended = agent.wait(0)
    assert report.ended[-1].signal == signal.SIGKILL
    assert report.ended[-1].processes >= 2
    assert report.survivors == 0
    assert (ended.exit_code, ended.signal) == (None, signal.SIGKILL)
    assert mark.running() == []


def test_stop_reaches_sessions_the_interrupt_does_not(mark, tmp_path):
    with start(mark, tmp_path, "sh", "-c", f"{SESSION_CHILD} trap 'exit 0' INT; while :; do sleep 0.01; done") as agent:
        mark.await_written(1)
        report = agent.stop(LONG)
        ended = agent.wait(0)
    assert [step.signal for step in report.ended][-1] == signal.SIGTERM
    assert ended.exit_code == 0
    assert ended.leftover_processes == report.leftover_processes >= 1
    assert mark.running() == []


def test_stop_of_a_stopped_agent(mark, tmp_path):
    with start(
        mark, tmp_path, "sh", "-c", "trap 'exit 3' INT; echo $$ >> $PIDS; while :; do sleep 0.01; done"
    ) as agent:
        mark.await_written(1)
        os.kill(agent.pid, signal.SIGSTOP)
        await_true(lambda: stat_fields(agent.pid)["state"] == "T")
        agent.stop(LONG)
        assert agent.wait(0).exit_code == 3


def test_agent_that_moved_to_another_group_is_interrupted_too(mark, tmp_path):
    # A leader cannot leave its group, so the agent starts a helper group and joins it.
    program = (
        "import os, signal, sys, time\n"
        "child = os.fork()\n"
        "if not child: os.setpgid(0, 0); time.sleep(1000)\n"
        "while os.getpgid(child) != child: time.sleep(0.001)\n"
        "signal.signal(signal.SIGINT, lambda *_: os._exit(8))\n"
        "os.setpgid(0, child)\n"
        "open(os.environ['PIDS'], 'w').write(str(child))\n"
        "time.sleep(1000)\n"
    )
    with start(mark, tmp_path, sys.executable, "-I", "-c", program) as agent:
        mark.await_written(1)
        agent.stop(LONG)
        assert agent.wait(0).exit_code == 8
    assert mark.running() == []


def test_stop_twice_and_after_the_end(mark, tmp_path):
    with start(mark, tmp_path, "sleep", "1000") as agent:
        first = agent.stop(LONG)
        assert agent.stop(SHORT) == first == agent.stop(LONG)
        assert first.ended == (Ended(signal=signal.SIGINT, processes=1),)
        assert agent.wait(0) == AgentExit(exit_code=None, signal=2, failure=None, leftover_processes=0)


def test_second_stop_shortens_the_first(mark, tmp_path):
    script = "trap '' INT TERM; echo $$ >> $PIDS; while :; do sleep 1; done"
    with start(mark, tmp_path, "sh", "-c", script) as agent:
        mark.await_written(1)
        agent.request_stop(StopPlan(grace_seconds=3600))
        report = agent.stop(StopPlan(grace_seconds=0))
        assert report.ended[-1].signal == signal.SIGKILL
        assert agent.wait(0).signal == signal.SIGKILL


def test_stop_from_several_threads(mark, tmp_path):
    with start(mark, tmp_path, "sleep", "1000") as agent:
        reports = []
        threads = [threading.Thread(target=lambda: reports.append(agent.stop(LONG))) for _ in range(8)]
        for thread in threads:
            thread.start()
        ended = agent.wait(60)
        for thread in threads:
            thread.join()
    assert ended.signal == signal.SIGINT
    assert len(reports) == 8
    assert len(set(reports)) == 1


def test_leaving_the_context_ends_the_run(mark, tmp_path):
    with start(mark, tmp_path, "sh", "-c", f"trap '' INT TERM; {STUBBORN_DAEMON}; while :; do sleep 1; done") as agent:
        mark.await_written(1)
    assert mark.running() == []
    agent.close()  # a second time: nothing


def test_wait_that_is_too_short_and_the_selectable_end(mark, tmp_path):
    with start(mark, tmp_path, "sleep", "1000") as agent:
        assert agent.wait(0) is None
        assert select.select([agent.fileno()], [], [], 0)[0] == []
        agent.request_stop(LONG)
        assert select.select([agent.fileno()], [], [], 60)[0] == [agent.fileno()]
        assert agent.wait(0).signal == signal.SIGINT
        assert select.select([agent.fileno()], [], [], 0)[0] == [agent.fileno()]


def test_signal_goes_to_the_agents_group(mark, tmp_path):
    with start(
        mark, tmp_path, "sh", "-c", "trap 'exit 7' USR1; echo $$ >> $PIDS; while :; do sleep 0.01; done"
    ) as agent:
        mark.await_written(1)
        agent.signal(signal.SIGUSR1)
        assert agent.wait(60).exit_code == 7
        agent.signal(signal.SIGUSR1)  # after the end: nothing


def test_zombies_are_no_obstacle_and_none_is_left(mark, tmp_path):
    program = (
        "import os, time\n"
        "for _ in range(20):\n"
        "    if os.fork() == 0: os._exit(0)\n"
        "if os.fork() == 0:\n"
        "    for _ in range(20):\n"
        "        if os.fork() == 0: os._exit(0)\n"
        "    os._exit(0)\n"
        "open(os.environ['PIDS'], 'w').write('1')\n"
        "time.sleep(1000)\n"
    )
    with start(mark, tmp_path, sys.executable, "-I", "-c", program) as agent:
        mark.await_written(1)
        launcher = parent_of(agent.pid)
        pids = (agent.pid, launcher, parent_of(launcher))
        agent.stop(LONG)
        assert agent.wait(0).signal == signal.SIGINT
    assert [stat_fields(pid) for pid in pids] == [None, None, None]


def test_output_without_end_does_not_hinder_a_stop(mark, tmp_path):
    reader, writer = os.pipe()  # nobody reads: the agent stands in a write
    with start(mark, tmp_path, "sh", "-c", "yes; yes", stdout=writer) as agent:
        os.read(reader, 1)
        report = agent.stop(SHORT)
        assert report.survivors == 0
    os.close(writer)
    os.close(reader)
    assert mark.running() == []


def test_family_that_forks_all_the_time_is_ended(mark, tmp_path):
    # Each process lives for a moment only, having forked its successor: no pid stays long enough to be signalled.
    program = (
        "import os, signal\n"
        "for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)\n"
        "for _ in range(8):\n"
        "    if os.fork() == 0:\n"
        "        while True:\n"
        "            if os.fork(): os._exit(0)\n"
        "open(os.environ['PIDS'], 'w').write('1')\n"
        "while True: signal.pause()\n"
    )
    with start(mark, tmp_path, sys.executable, "-I", "-c", program) as agent:
        mark.await_written(1)
        report = agent.stop(SHORT)
    assert report.survivors == 0
    assert mark.running() == []


def test_wide_tree_is_ended(mark, tmp_path):
    program = (
        "import os, signal\n"
        "for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)\n"
        "for _ in range(8): os.fork()\n"
        "if os.getpid() % 2: os.setsid() if os.getpid() != os.getpgrp() else None\n"
        "with open(os.environ['PIDS'], 'a') as file: file.write(f'{os.getpid()}\\n')\n"
        "while True: signal.pause()\n"
    )
    with start(mark, tmp_path, sys.executable, "-I", "-c", program) as agent:
        mark.await_written(256)
        report = agent.stop(SHORT)
    assert report.survivors == 0
    assert sum(step.processes for step in report.ended) == 256
    assert mark.running() == []


@pytest.mark.parametrize("targets", ["$PPID", "$PPID $(cut -d' ' -f4 /proc/$PPID/stat)"], ids=["launcher", "both"])
def test_agent_that_keeps_its_launcher_stopped_is_ended_all_the_same(mark, tmp_path, monkeypatch, targets):
    monkeypatch.setattr(process, "_KILL_ALLOWED_SECONDS", 0.5)
    script = f"trap '' INT TERM; targets=\"{targets}\"; echo $$ >> $PIDS; while :; do kill -STOP $targets; done"
    with start(mark, tmp_path, "sh", "-c", script) as agent:
        mark.await_written(1)
        launcher = parent_of(agent.pid)
        pids = (agent.pid, launcher, parent_of(launcher))
        agent.request_stop(SHORT)
        ended = agent.wait(60)
    assert ended.exit_code is None
    assert mark.running() == []
    assert all(is_gone(pid) for pid in pids)
