"""`docket watch` on a real terminal: the whole screen while it lasts, given back whatever ends it."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

import run_lab

SECONDS = 60
ENTER, LEAVE, SHOW_CURSOR = b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b[?25h"


@pytest.fixture
def lab(tmp_path):
    return run_lab.build(tmp_path, TERM="xterm-256color")


class Waiting:
    """A run whose agent waits until it is told to go."""

    def __init__(self, lab: run_lab.RunLab) -> None:
        self.lab, self.go = lab, lab.root / "go"
        agent = [sys.executable, "-c", f"import os, time\nwhile not os.path.exists({str(self.go)!r}): time.sleep(0.02)"]
        self.process = lab.start("run", "--max-usd", "1", "--", *agent)
        until(lambda: any(b"proc.spawn" in path.read_bytes() for path in lab.state.glob("*/runs/*.jsonl")))

    def end(self) -> None:
        self.go.touch()
        self.process.communicate(timeout=SECONDS)


@pytest.fixture
def waiting(lab):
    run = Waiting(lab)
    yield run
    run.end()


def until(condition):
    ends_at = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < ends_at, "waited too long"
        time.sleep(0.02)


class Terminal:
    """A terminal of 24 lines of 80 with a watch on it."""

    def __init__(self, lab: run_lab.RunLab, *arguments: str, **variables: str) -> None:
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.seen = b""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "docket", "watch", "--interval", "0.05", *arguments],
            cwd=lab.tree, env=lab.environment() | variables, stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - no thread is running here
        )  # fmt: skip
        os.close(theirs)

    def read_until(self, wanted: bytes) -> None:
        ends_at = time.monotonic() + SECONDS
        while wanted not in self.seen:
            assert time.monotonic() < ends_at, self.seen[-2000:]
            self.read()

    def read(self) -> bool:
        if not select.select([self.ours], [], [], 1)[0]:
            return True
        try:
            data = os.read(self.ours, 65536)
        except OSError:  # the other side is closed
            return False
        self.seen += data
        return bool(data)

    def end(self) -> int:
        while self.process.poll() is None or select.select([self.ours], [], [], 0)[0]:
            if not self.read():
                break
        code = self.process.wait(timeout=SECONDS)
        os.close(self.ours)
        return code


def test_ctrl_c_ends_the_watch_and_not_the_run(lab, waiting):
    terminal = Terminal(lab)
    terminal.read_until(b"known after the run")
    os.write(terminal.ours, b"\x03")
    assert terminal.end() == 130
    assert terminal.seen.count(ENTER) == terminal.seen.count(LEAVE) == 1
    assert SHOW_CURSOR in terminal.seen
    assert b"running" in terminal.seen.partition(LEAVE)[2]
    assert b"Traceback" not in terminal.seen
    assert waiting.process.poll() is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_any_signal_gives_the_terminal_back(lab, waiting, number):
    terminal = Terminal(lab)
    terminal.read_until(b"running")
    terminal.process.send_signal(number)
    assert terminal.end() == 128 + number
    assert LEAVE in terminal.seen


def test_the_last_frame_stays_when_the_run_ends(lab, waiting):
    terminal = Terminal(lab)
    terminal.read_until(b"running")
    waiting.end()
    assert terminal.end() == 0
    last = terminal.seen.partition(LEAVE)[2]
    assert b"exit 0" in last
    assert b"none changed" in last


def test_a_narrower_terminal_is_drawn_for(lab, waiting):
    terminal = Terminal(lab)
    terminal.read_until(b"known after the run")
    fcntl.ioctl(terminal.ours, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 40, 0, 0))
    before = len(terminal.seen)
    until(lambda: terminal.read() and len(terminal.seen) > before + 500)
    os.write(terminal.ours, b"\x03")
    assert terminal.end() == 130


def test_without_colour_there_is_none(lab, waiting):
    terminal = Terminal(lab, NO_COLOR="1")
    terminal.read_until(b"known after the run")
    os.write(terminal.ours, b"\x03")
    terminal.end()
    for colour in (b"\x1b[31m", b"\x1b[32m", b"\x1b[33m"):
        assert colour not in terminal.seen


def test_a_docket_that_is_killed_ends_the_watch_and_recovery_is_seen(lab, waiting):
    watching = lab.start("watch", "--json", "--interval", "0.05")
    assert watching.stdout is not None
    first = json.loads(watching.stdout.readline())
    assert first["state"] == "running"
    waiting.process.kill()
    rest, _ = watching.communicate(timeout=SECONDS)
    last = json.loads(rest.splitlines()[-1])
    assert (last["state"], last["exit_code"], watching.returncode) == ("killed", None, 0)
    (row,) = json.loads(lab.docket("runs", "--json").stdout)["runs"]
    assert (row["end"], row["docket_number"]) == ("killed", first["docket_number"])
    assert lab.docket("recover").exit_code == 0
    (row,) = json.loads(lab.docket("runs", "--json").stdout)["runs"]
    assert row["end"] == "incomplete"


def test_any_number_of_watches_leave_nothing_and_change_nothing(lab, waiting):
    (ledger,) = lab.state.glob("*/runs/*.jsonl")
    before = sorted(os.listdir(ledger.parent))
    inode = ledger.stat().st_ino
    watches = [lab.start("watch", "--lines", "--interval", "0.05") for _ in range(4)]
    for watch in watches:
        assert watch.stdout is not None
        assert "begins" in watch.stdout.readline()
    assert sorted(os.listdir(ledger.parent)) == before
    waiting.end()
    for watch in watches:
        rest, errors = watch.communicate(timeout=SECONDS)
        assert "exit 0" in rest.splitlines()[-1]
        assert errors == ""
    assert ledger.stat().st_ino == inode
    assert lab.verdict()["verdict"] == "consistent"


def test_a_reader_that_goes_away_ends_a_watch_quietly(lab, waiting):
    watching = lab.start("watch", "--json", "--interval", "0.05")
    assert watching.stdout is not None
    watching.stdout.readline()
    watching.stdout.close()
    waiting.end()
    assert watching.wait(timeout=SECONDS) in (0, 1)
    assert watching.stderr is not None
    assert "Traceback" not in watching.stderr.read()
    watching.stderr.close()


def test_the_state_folder_may_be_named_from_elsewhere(lab, waiting, tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (ledger,) = lab.state.glob("*/runs/*.jsonl")
    done = lab.docket("watch", str(ledger), "--once", "--json", cwd=elsewhere)
    assert json.loads(done.stdout)["state"] == "running"


def test_a_watch_may_be_there_before_its_run(lab):
    watching = lab.start("watch", "--wait", "--json", "--interval", "0.05")
    run = Waiting(lab)
    try:
        assert watching.stdout is not None
        assert json.loads(watching.stdout.readline())["state"] == "running"
    finally:
        run.end()
    rest, _ = watching.communicate(timeout=SECONDS)
    assert json.loads(rest.splitlines()[-1])["exit_code"] == 0


def test_a_watch_that_waits_in_vain_ends_by_a_signal(lab):
    watching = lab.start("watch", "--wait", "--interval", "0.05")
    time.sleep(1)
    watching.send_signal(signal.SIGINT)
    watching.communicate(timeout=SECONDS)
    assert watching.returncode in (130, -signal.SIGINT)  # the latter before docket itself has begun
