"""An agent's start and exit, with real programs."""

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from run_probe import Mark, parent_of

from docket.errors import UnavailableError, UsageError
from docket.formats.reason import Reason
from docket.host.process import Agent, AgentExit, SpawnRequest, StopPlan, spawn

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


def test_search_passes_over_folders_and_over_names_that_cannot_exist(mark, tmp_path):
    (tmp_path / "agent").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    path = f"{tmp_path}:{tmp_path}/loop:/etc/passwd"
    for program in ("agent", "x" * 5000):
        with spawn(SpawnRequest(argv=(program,), cwd=tmp_path, env={"PATH": path})) as agent:
            assert agent.wait(60).failure is Reason.PROGRAM_MISSING


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
        {"argv": ("a", "\ud800")},
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


CLOSED = """
import os, sys
for descriptor in (0, 1): os.close(descriptor)
from docket.host.process import SpawnRequest, spawn
told = "import os; os.write(2, ' '.join(os.readlink(f'/proc/self/fd/{number}') for number in (0, 1)).encode())"
with spawn(SpawnRequest(argv=(sys.executable, "-I", "-S", "-c", told), cwd="/", env={})) as agent:
    agent.wait(60)
"""


def test_descriptor_that_docket_was_started_without_is_empty_for_the_agent():
    done = subprocess.run([sys.executable, "-c", CLOSED], stderr=subprocess.PIPE, text=True, timeout=60, check=True)
    assert done.stderr.split() == ["/dev/null", "/dev/null"]


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


@pytest.mark.parametrize("attempt", range(8))
def test_agent_that_kills_its_launcher_at_once_has_run(mark, tmp_path, attempt):
    told = run(mark, tmp_path, "sh", "-c", f"kill -9 $PPID; echo > ran-{attempt}; sleep 1000")
    assert (told.exit_code, told.failure) == (None, Reason.LAUNCHER_LOST)
    assert told.signal in (None, signal.SIGKILL)
    assert "and the agent with it" in told.detail


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
