"""An agent's start, exit and stop, with real programs."""

import os
import select
import signal
import stat
import sys
import threading
from pathlib import Path

import pytest
from run_probe import PLAIN_CHILD, SESSION_CHILD, STUBBORN_DAEMON, Mark, await_true, is_gone, parent_of, stat_fields

from docket.errors import UnavailableError, UsageError
from docket.formats.reason import Reason
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


@pytest.mark.parametrize("code", [0, 1, 2, 42, 126, 127, 128, 137, 200, 255])
def test_exit_code_is_exact(mark, tmp_path, code):
    ended = run(mark, tmp_path, "sh", "-c", f"exit {code}")
    assert ended == AgentExit(exit_code=code, signal=None, failure=None, leftover_processes=0)


@pytest.mark.parametrize(
    "number",
    [signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGSEGV, signal.SIGPIPE, signal.SIGTERM, signal.SIGUSR1, 34],
)
def test_signal_that_ended_it_is_exact(mark, tmp_path, number):
    ended = run(mark, tmp_path, "sh", "-c", f"ulimit -c 0; kill -{int(number)} $$")
    assert ended == AgentExit(exit_code=None, signal=int(number), failure=None, leftover_processes=0)


def test_kill_9_of_the_agent(mark, tmp_path):
    with start(mark, tmp_path, "sleep", "1000") as agent:
        os.kill(agent.pid, signal.SIGKILL)
        assert agent.wait(60) == AgentExit(exit_code=None, signal=9, failure=None, leftover_processes=0)


@pytest.mark.parametrize("program", ["no-such-program-anywhere", "./absent", "/etc/passwd/below-a-file", ""])
def test_missing_program(mark, tmp_path, program):
    ended = run(mark, tmp_path, program)
    assert (ended.exit_code, ended.signal, ended.failure) == (127, None, Reason.PROGRAM_MISSING)
    assert repr(program) in ended.detail


def test_dangling_link_is_a_missing_program(mark, tmp_path):
    (tmp_path / "agent").symlink_to("nowhere")
    assert run(mark, tmp_path, "./agent").failure is Reason.PROGRAM_MISSING


def make_program(path: Path, text: bytes, mode: int = 0o755) -> None:
    path.write_bytes(text)
    path.chmod(mode)


def test_program_without_execute_permission(mark, tmp_path):
    make_program(tmp_path / "agent", b"#!/bin/sh\n", 0o644)
    ended = run(mark, tmp_path, "./agent")
    assert (ended.exit_code, ended.failure) == (126, Reason.PROGRAM_NOT_RUNNABLE)
    assert "Permission denied" in ended.detail


def test_directory_as_program(mark, tmp_path):
    (tmp_path / "agent").mkdir()
    assert run(mark, tmp_path, "./agent").failure is Reason.PROGRAM_NOT_RUNNABLE


def test_script_whose_interpreter_is_missing(mark, tmp_path):
    make_program(tmp_path / "agent", b"#!/no/such/interpreter\n")
    ended = run(mark, tmp_path, "./agent")
    assert (ended.exit_code, ended.failure) == (126, Reason.PROGRAM_NOT_RUNNABLE)
    assert "interpreter" in ended.detail


def test_file_of_no_program_format(mark, tmp_path):
    make_program(tmp_path / "agent", b"just text\n")
    assert run(mark, tmp_path, "./agent").failure is Reason.PROGRAM_NOT_RUNNABLE


def test_arguments_beyond_what_the_system_takes(mark, tmp_path):
    ended = run(mark, tmp_path, "true", "x" * 3_000_000)
    assert (ended.exit_code, ended.failure) == (126, Reason.PROGRAM_NOT_RUNNABLE)
    assert "Argument list too long" in ended.detail


@pytest.mark.parametrize("folder", ["absent", "file"])
def test_folder_that_cannot_be_entered(mark, tmp_path, folder):
    (tmp_path / "file").write_text("")
    ended = run(mark, tmp_path / folder, "true")
    assert (ended.exit_code, ended.failure) == (126, Reason.PROGRAM_NOT_RUNNABLE)
    assert folder in ended.detail


def test_program_is_searched_past_one_that_cannot_run(mark, tmp_path):
    for name, mode in (("first", 0o644), ("second", 0o755)):
        (tmp_path / name).mkdir()
        make_program(tmp_path / name / "agent", b"#!/bin/sh\nexit 5\n", mode)
    path = f"{tmp_path}/absent:{tmp_path}/first:{tmp_path}/second"
    with spawn(SpawnRequest(argv=("agent",), cwd=tmp_path, env={"PATH": path})) as agent:
        assert agent.wait(60).exit_code == 5
    with spawn(SpawnRequest(argv=("agent",), cwd=tmp_path, env={"PATH": f"{tmp_path}/first"})) as agent:
        assert agent.wait(60).failure is Reason.PROGRAM_NOT_RUNNABLE


def test_empty_path_item_is_the_agents_folder_and_no_path_is_the_systems(mark, tmp_path):
    make_program(tmp_path / "agent", b"#!/bin/sh\nexit 6\n")
    with spawn(SpawnRequest(argv=("agent",), cwd=tmp_path, env={"PATH": "/nowhere:"})) as agent:
        assert agent.wait(60).exit_code == 6
    with spawn(SpawnRequest(argv=("true",), cwd=tmp_path, env={})) as agent:
        assert agent.wait(60).exit_code == 0


@pytest.mark.parametrize(
    "request_parts",
    [
        {"argv": ()},
        {"argv": ("a\0b",)},
        {"env": {"A": "b\0"}},
        {"env": {"A=B": "c"}},
        {"env": {"": "c"}},
        {"cwd": "/tmp\0"},
    ],
)
def test_what_no_program_can_be_given_is_refused(request_parts):
    with pytest.raises(UsageError):
        SpawnRequest(**{"argv": ("true",), "cwd": "/", "env": {}, **request_parts})


def output_of(folder: Path, argv: tuple[str, ...], env: dict[str, str]) -> bytes:
    """Return what the agent writes to standard output."""
    with (
        (folder / "output").open("wb") as out,
        spawn(SpawnRequest(argv=argv, cwd=folder, env=env, stdout=out.fileno())) as agent,
    ):
        assert agent.wait(60).exit_code == 0
    return (folder / "output").read_bytes()


def test_environment_is_exactly_the_one_given(tmp_path):
    given = {"ONE": "1", "EMPTY": "", "BYTES": os.fsdecode(b"\xff\xfe"), "LINES": "a\nb", "EQUALS": "a=b"}
    told = output_of(tmp_path, ("/usr/bin/env", "-0"), given)
    assert sorted(told.split(b"\0")[:-1]) == sorted(os.fsencode(f"{name}={value}") for name, value in given.items())


def test_arguments_arrive_byte_for_byte(tmp_path):
    argv = ("/usr/bin/printf", "%s\\0", "", " ", "\n", "ü", os.fsdecode(b"\xff\x80name"), "x" * 65536)
    assert output_of(tmp_path, argv, {}).split(b"\0")[:-1] == [os.fsencode(text) for text in argv[2:]]


def test_agent_has_three_descriptors_default_signals_and_its_own_group(mark, tmp_path):
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    spare = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(spare, True)
    try:
        script = "ls /proc/$$/fd; cut -d' ' -f1,5,6 /proc/$$/stat; exec cat /proc/self/status"
        told = output_of(tmp_path, ("sh", "-c", script), mark.environment())
    finally:
        os.close(spare)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
        signal.signal(signal.SIGUSR2, signal.SIG_DFL)
    zero, one, two, ids, *status = told.decode().splitlines()
    assert (zero, one, two) == ("0", "1", "2")
    signals = dict(line.split(":\t") for line in status if line.startswith(("SigBlk", "SigIgn", "SigCgt")))
    assert signals == {"SigBlk": "0" * 16, "SigIgn": "0" * 16, "SigCgt": "0" * 16}
    pid, group, session = ids.split()
    assert pid == group
    assert int(session) == os.getsid(0)


def test_ignored_hangup_stays_ignored(mark, tmp_path):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        told = output_of(tmp_path, ("grep", "^SigIgn", "/proc/self/status"), mark.environment())
    finally:
        signal.signal(signal.SIGHUP, before)
    assert int(told.split()[1], 16) == 1 << (signal.SIGHUP - 1)


def test_launchers_environment_tells_nothing_and_the_terminal_of_output_is_let_go(mark, tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_OF_DOCKET", "s3cret")
    reader, writer = os.pipe()
    with start(mark, tmp_path, "sh", "-c", "exec >&- 2>&-; sleep 1000", stdout=writer, stderr=writer) as agent:
        os.close(writer)
        assert os.read(reader, 1) == b""  # neither guard nor launcher holds the agent's output open
        os.close(reader)
        launcher = parent_of(agent.pid)
        for pid in (launcher, parent_of(launcher)):
            assert b"s3cret" not in Path(f"/proc/{pid}/environ").read_bytes()
        agent.stop(SHORT)


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


def test_start_from_another_thread_outlives_it(mark, tmp_path):
    agents = []
    thread = threading.Thread(target=lambda: agents.append(start(mark, tmp_path, "sh", "-c", "read line; exit 3")))
    thread.start()
    thread.join()
    with agents[0] as agent:
        agent.wait(0.05)
        assert agent.wait(60).exit_code == 3


def test_launcher_that_cannot_be_started(mark, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "absent"))
    with pytest.raises(UnavailableError) as caught:
        start(mark, tmp_path, "true")
    assert caught.value.reason == Reason.LAUNCHER_LOST


def test_launcher_that_ends_at_once(mark, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(UnavailableError) as caught:
        start(mark, tmp_path, "true")
    assert caught.value.reason == Reason.LAUNCHER_LOST


def test_nothing_stays_open(mark, tmp_path):
    def descriptors() -> set[str]:
        return {name for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")}

    run(mark, tmp_path, "true")
    before = descriptors()
    run(mark, tmp_path, "true")
    run(mark, tmp_path, "no-such-program-anywhere")
    assert descriptors() == before
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
