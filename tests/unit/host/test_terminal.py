"""The terminal during a run, over a real pseudo-terminal: foreground, keys, job control, modes afterwards.

All of it holds for an agent in a mount namespace of its own too.
"""

import fcntl
import itertools
import json
import os
import pty
import select
import shlex
import shutil
import signal
import subprocess
import sys
import termios
import time

import pytest
from run_probe import PATIENCE_SECONDS, Mark, await_true, stat_fields

from docket.formats.workspace.mount import BindMount, MountPlan
from docket.host.stage_mount import MountRefused, make_mounts

# Becomes the leader of a session whose controlling terminal is its standard input, then the program given.
LEADER = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
SUPERVISOR = """
import json, os, sys, termios
from docket.formats.workspace.mount import BindMount, MountPlan
from docket.host.process import SpawnRequest, StopPlan, spawn
from docket.host.stage_mount import make_mounts
given = json.loads(sys.argv[1])
folder = os.fsencode(given["folder"])
mount = make_mounts(MountPlan(mounts=(BindMount(source=folder, target=folder),)), folder) if folder else None
with spawn(SpawnRequest(argv=tuple(given["argv"]), cwd=folder or "/", env=given["env"], mount=mount)) as agent:
    print("agent", agent.pid, "supervisor", os.getpid(), os.getpgrp(), flush=True)
    if given["stop_on"]:
        while given["stop_on"] not in open(given["log"]).read(): pass
        agent.stop(StopPlan(grace_seconds=0.1))
    ended = agent.wait()
tty = os.open("/dev/tty", os.O_RDWR)
print("ended", ended.exit_code, ended.signal, "foreground", int(os.tcgetpgrp(tty) == os.getpgrp()), flush=True)
print("echo", int(bool(termios.tcgetattr(tty)[3] & termios.ECHO)), flush=True)
"""


class Screen:
    """A pseudo-terminal with a program on it."""

    def __init__(self, argv: list[str], **streams) -> None:
        self._master, slave = pty.openpty()
        self._text = b""
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", LEADER, *argv],
            **{"stdin": slave, "stdout": slave, "stderr": slave, **streams},
        )
        os.close(slave)

    def type(self, data: bytes) -> None:
        os.write(self._master, data)

    def modes(self) -> list:
        return termios.tcgetattr(self._master)

    def foreground(self) -> int:
        answer = fcntl.ioctl(self._master, termios.TIOCGPGRP, b"\0\0\0\0")
        return int.from_bytes(answer, sys.byteorder)

    def read_until(self, text: bytes) -> bytes:
        """Read what the screen shows until `text` is in it."""
        ends_at = time.monotonic() + PATIENCE_SECONDS
        while text not in self._text:
            self._read_some()
            assert time.monotonic() < ends_at, self._text
        head, found, self._text = self._text.partition(text)
        return head + found

    def ask_until(self, question: bytes, answer: bytes) -> None:
        """Ask the shell again and again, each time only when it is done with the last, until it shows the answer."""
        for number in itertools.count(100):
            # The mark is computed, so that the echo of what was typed does not count as the shell's answer.
            self.type(question + b"; echo done-$((%d+0))\n" % number)
            shown = self.read_until(b"done-%d" % number)
            if answer in shown:
                return

    def _read_some(self) -> None:
        if select.select([self._master], [], [], 0.1)[0]:
            self._text += os.read(self._master, 65536)

    def read_line(self, start: bytes) -> list[str]:
        self.read_until(start)
        return self.read_until(b"\n").decode().split()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)


@pytest.fixture
def mark(tmp_path):
    found = Mark(tmp_path)
    found.pids_file.touch()
    yield found
    for pid in found.running():
        os.kill(pid, signal.SIGKILL)


@pytest.fixture(params=["", "in-a-namespace"])
def show(mark, request, tmp_path):
    folder = str(tmp_path) if request.param else ""
    if folder:
        path = os.fsencode(folder)
        tried = make_mounts(MountPlan(mounts=(BindMount(source=path, target=path),)), path)
        if isinstance(tried, MountRefused):
            pytest.skip(tried.detail)
        tried.close()
    screens = []

    def start(script: str, *, stop_on: str = "", in_shell: bool = False, **streams) -> Screen:
        given = {
            "argv": ["sh", "-c", script],
            "env": mark.environment(),
            "stop_on": stop_on,
            "log": str(mark.pids_file),
            "folder": folder,
        }
        argv = [sys.executable, "-c", SUPERVISOR, json.dumps(given)]
        if in_shell:
            mark.pids_file.with_name("supervise").write_text(f"exec {shlex.join(argv)}\n")
            argv = [shutil.which("bash"), "--norc", "--noprofile", "-i"]
        screens.append(Screen(argv, **streams))
        return screens[-1]

    yield start
    for screen in screens:
        screen.close()


def test_agent_has_the_terminal_and_gets_its_keys(show):
    screen = show("trap 'echo interrupted; exit 5' INT; read line; echo got $line; while :; do read line; done")
    agent, _, supervisor, group = screen.read_line(b"agent ")
    screen.type(b"hello\n")
    screen.read_until(b"got hello")
    fields = stat_fields(int(agent))
    assert fields["group"] == int(agent) == fields["foreground"] == screen.foreground()
    assert fields["session"] == screen.process.pid
    assert int(supervisor) == screen.process.pid == int(group)
    screen.type(b"\x03")
    screen.read_until(b"interrupted")
    assert screen.read_line(b"ended ") == ["5", "None", "foreground", "1"]
    assert screen.read_line(b"echo ") == ["1"]
    assert screen.process.wait(PATIENCE_SECONDS) == 0


def test_full_screen_agent_that_is_killed_leaves_a_sane_terminal(show, mark):
    screen = show("trap '' INT TERM; stty raw -echo; echo raw >> $PIDS; while :; do sleep 1; done", stop_on="raw")
    before = screen.modes()
    screen.read_line(b"agent ")
    shown = screen.read_until(b"ended ")
    assert b"\x1b[?25h" in shown
    assert screen.read_until(b"\n").decode().split() == ["None", "9", "foreground", "1"]
    assert screen.read_line(b"echo ") == ["1"]
    assert screen.process.wait(PATIENCE_SECONDS) == 0
    assert screen.modes() == before


def test_agent_that_ends_in_raw_mode_by_itself_leaves_a_sane_terminal(show):
    screen = show("stty raw -echo; exit 3")
    before = screen.modes()
    assert b"\x1b[" not in screen.read_until(b"ended ")
    assert screen.read_until(b"\n").decode().split() == ["3", "None", "foreground", "1"]
    screen.process.wait(PATIENCE_SECONDS)
    assert screen.modes() == before


def test_supervisor_writes_while_the_agent_has_the_terminal(show):
    # With `tostop` a process in the background is stopped when it writes to the terminal.
    screen = show("stty tostop; echo set >> $PIDS; trap 'exit 4' INT; while :; do sleep 0.01; done", stop_on="set")
    assert screen.read_line(b"ended ") == ["4", "None", "foreground", "1"]


def test_program_that_could_not_start_gives_the_terminal_back(show):
    screen = show("exit 0")
    screen.read_line(b"ended ")
    given = {"argv": ["no-such-program-anywhere"], "env": {"PATH": "/bin"}, "stop_on": "", "log": "", "folder": ""}
    other = Screen([sys.executable, "-c", SUPERVISOR, json.dumps(given)])
    try:
        assert other.read_line(b"ended ") == ["127", "None", "foreground", "1"]
    finally:
        other.close()


def test_output_into_a_pipe_leaves_the_terminal_to_its_reader_until_the_agent_asks(show):
    reader, writer = os.pipe()
    screen = show("echo $$ >> $PIDS; read a < /dev/tty; echo got $a > /dev/tty; exec sleep 1000", stdout=writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as output:
        agent, _, _, group = output.readline().split()[1:]
        # The agent's read from the background stops it; the launcher then hands the terminal over.
        await_true(lambda: screen.foreground() == int(agent))
        screen.type(b"word\n")
        screen.read_until(b"got word")
        screen.type(b"\x03")
        assert output.read().splitlines() == [b"ended None 2 foreground 1", b"echo 1"]
    assert screen.process.wait(PATIENCE_SECONDS) == 0
    assert int(group) == screen.process.pid


def test_stop_key_without_a_shell_to_continue_does_not_hang(show):
    # A shell that waits in its own `read`: one that has just forked can be caught by the key half-way.
    screen = show("trap 'echo went-on' CONT; echo ready; while :; do read a; done")
    screen.read_until(b"ready")
    screen.type(b"\x1a")
    screen.read_until(b"went-on")
    screen.type(b"\x03")
    assert screen.read_line(b"ended ") == ["None", "2", "foreground", "1"]


def test_killed_supervisor_on_a_terminal_leaves_nothing(show, mark):
    screen = show("trap '' INT TERM HUP; echo $$ >> $PIDS; while :; do sleep 1; done")
    screen.read_line(b"agent ")
    mark.await_written(1)
    screen.process.kill()
    screen.process.wait()
    await_true(lambda: mark.running() == [])


needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="a shell with job control is needed")


def state(pid: int) -> str:
    fields = stat_fields(pid)
    return "gone" if fields is None else fields["state"]


@needs_bash
def test_stop_key_stops_the_job_and_fg_continues_it(show, mark):
    screen = show("stty -echo; read a; echo got $a; read b; echo and $b; exit 6", in_shell=True)
    shell = screen.process.pid
    screen.type(f"sh {mark.pids_file.with_name('supervise')}\n".encode())
    agent, _, supervisor, _ = screen.read_line(b"agent ")
    agent, supervisor = int(agent), int(supervisor)
    await_true(lambda: screen.foreground() == agent and not screen.modes()[3] & termios.ECHO)

    screen.type(b"\x1a")
    await_true(lambda: screen.foreground() == shell)
    assert (state(agent), state(supervisor)) == ("T", "T")
    screen.type(b"echo shell-$((40+2))\n")
    screen.read_until(b"shell-42")

    screen.type(b"fg\n")
    await_true(lambda: screen.foreground() == agent and state(agent) == "S")
    assert not screen.modes()[3] & termios.ECHO
    screen.type(b"one\n")
    screen.read_until(b"got one")

    screen.type(b"\x1a")
    await_true(lambda: screen.foreground() == shell and state(supervisor) == "T")
    # In the background the agent asks for the terminal, which is not docket's to give: the job stops again.
    screen.type(b"bg\n")
    screen.read_until(b"supervise &")
    screen.ask_until(b"jobs", b"Stopped")
    assert screen.foreground() == shell
    screen.type(b"fg\n")
    await_true(lambda: screen.foreground() == agent and state(agent) == "S")
    screen.type(b"two\n")
    screen.read_until(b"and two")
    assert screen.read_line(b"ended ") == ["6", "None", "foreground", "1"]
    await_true(lambda: screen.foreground() == shell)
    screen.type(b"exit\n")
    screen.process.wait(PATIENCE_SECONDS)


@needs_bash
def test_job_killed_while_it_is_stopped_leaves_nothing(show, mark):
    screen = show("echo $$ >> $PIDS; read a", in_shell=True)
    screen.type(f"sh {mark.pids_file.with_name('supervise')}\n".encode())
    _, _, supervisor, _ = screen.read_line(b"agent ")
    mark.await_written(1)
    screen.type(b"\x1a")
    await_true(lambda: screen.foreground() == screen.process.pid and state(int(supervisor)) == "T")
    os.kill(int(supervisor), signal.SIGKILL)
    await_true(lambda: mark.running() == [])


@needs_bash
def test_job_started_in_the_background_gets_the_terminal_by_fg(show, mark):
    # The agent reads only when its supervisor has been heard: the whole job is stopped at once, its words with it.
    heard = mark.pids_file.with_name("heard")
    waits = f"while [ ! -e {heard} ]; do sleep 0.05; done"
    screen = show(f"echo $$ >> $PIDS; {waits}; read a; echo got $a; exit 6", in_shell=True)
    screen.type(f"sh {mark.pids_file.with_name('supervise')} &\n".encode())
    agent, _, supervisor, _ = screen.read_line(b"agent ")
    heard.touch()
    await_true(lambda: state(int(supervisor)) == "T")
    assert screen.foreground() == screen.process.pid
    screen.type(b"fg\n")
    await_true(lambda: screen.foreground() == int(agent))
    screen.type(b"word\n")
    screen.read_until(b"got word")
    assert screen.read_line(b"ended ") == ["6", "None", "foreground", "1"]
