"""A command forked from the standing process is to its test what a started one is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import docket
import run_lab
from run_lab import Done, RunLab
from warm_docket import Warm, can_be_warm

# What a program finds around it, before docket does anything.
AROUND = """
import json, os, signal, socket, stat, sys, threading
def kind(number):
    try:
        status = os.fstat(number)
    except OSError:
        return None
    return stat.S_IFMT(status.st_mode), status.st_rdev, os.get_inheritable(number)
streams = {name: (stream.encoding, stream.isatty(), stream.seekable(), stream.line_buffering, stream.fileno())
           for name, stream in (("in", sys.stdin), ("out", sys.stdout), ("err", sys.stderr))}
mask = os.umask(0); os.umask(mask)
status = open("/proc/self/status").read().splitlines()
print(json.dumps({
    "arguments": sys.argv, "original": sys.orig_argv, "path": sys.path, "cwd": os.getcwd(), "env": dict(os.environ),
    "descriptors": {number: kind(number) for number in range(200) if kind(number)}, "streams": streams, "mask": mask,
    "signals": [repr(signal.getsignal(number)) for number in signal.valid_signals()],
    "wakeup": signal.set_wakeup_fd(-1), "threads": threading.active_count(), "group": os.getpgrp(),
    "session": os.getsid(0),
    "status": [line for line in status if line.startswith(("SigB", "SigI", "SigC", "Cap", "Uid", "Gid"))],
}), flush=True)
"""


@pytest.fixture
def lab(tmp_path):
    return run_lab.build(tmp_path, EXTRA="ä\udcff")


def started(lab, *arguments, prelude="") -> Done:
    """The same by an interpreter of its own."""
    words = [sys.executable, "-m", "docket"]
    if prelude:
        program = (
            f"import sys, docket, os\nsys.argv[0] = os.path.dirname(docket.__file__) + '/__main__.py'\n{prelude}\n"
        )
        words = [sys.executable, "-c", program + "from docket.surfaces.cli.main import main; sys.exit(main())"]
    with subprocess.Popen(
        [*words, *arguments],
        cwd=lab.tree,
        env=lab.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        stdout, stderr = process.communicate(timeout=60)
    return Done(exit_code=process.returncode, stdout=stdout, stderr=stderr)


def test_what_it_finds_around_it_is_the_same(lab):
    arguments = ("runs", "--json", os.fsdecode(b"--x=\xff\xc3\xa4"))
    done = lab.warm(*arguments, prelude=AROUND)
    one = json.loads(done.stdout.splitlines()[0])
    other = started(lab, *arguments, prelude=AROUND)
    two = json.loads(other.stdout.splitlines()[0])
    assert one.pop("original") == [sys.executable, "-m", "docket", *arguments]
    two.pop("original")  # the other was started with -c
    assert one["path"].pop(0) == str(lab.tree)
    assert two["path"].pop(0) == ""
    assert one == two
    assert one["env"]["EXTRA"] == "ä\udcff"
    assert (done.exit_code, done.stderr) == (other.exit_code, other.stderr)


@pytest.mark.parametrize(
    "arguments",
    [("runs",), ("runs", "--json"), ("nothing-of-the-kind",), ("verify", "missing"), ("--help",), ("--version",)],
)
def test_it_says_and_ends_with_the_same(lab, arguments):
    assert lab.run("-q", "--", "sh", "-c", "exit 3").exit_code == 3
    done, other = lab.warm(*arguments), started(lab, *arguments)
    assert done == other
    assert done.stdout or done.stderr


def test_a_run_has_the_same_durable_steps(tmp_path):
    """What was looked up while docket was imported would not be counted."""
    prelude = """
import atexit, os
steps = []
def counted(name):
    call = getattr(os, name)
    def made(*given, **named):
        steps.append(name)
        return call(*given, **named)
    setattr(os, name, made)
for name in ("fsync", "fdatasync", "unlink", "rename", "rmdir", "mkdir", "ftruncate"):
    counted(name)
atexit.register(lambda: print(*steps))
"""
    said = []
    for way in (RunLab.warm, started):
        place = tmp_path / way.__name__
        place.mkdir()
        said.append(way(run_lab.build(place), "run", "-q", "--snapshot", "--", "true", prelude=prelude).stdout)
    one, two = (Counter(steps.split()) for steps in said)
    assert min(one.pop("fdatasync"), two.pop("fdatasync")) > 5  # one may cover several events
    assert one == two
    assert one["fsync"] > 10


def test_a_signal_and_an_exception_are_told_as_of_any_program(lab):
    assert lab.warm("runs", prelude="import os; os.kill(os.getpid(), 9)").exit_code == -signal.SIGKILL
    done = lab.warm("runs", prelude="raise ValueError('here')")
    assert done.exit_code == 1
    assert done.stderr.endswith("ValueError: here\n")
    assert lab.warm("runs", prelude="import sys; sys.exit(9)").exit_code == 9


def test_what_one_did_to_itself_is_gone_with_it(lab):
    assert lab.warm("runs", prelude="import docket, os; docket.__version__ = 'x'; os.environ['A'] = 'b'").exit_code == 0
    done = lab.warm("runs", prelude="import docket, os; print(docket.__version__, 'A' in os.environ)")
    assert done.stdout.splitlines()[0] == f"{docket.__version__} False"


def test_several_at_once_and_one_that_takes_too_long(lab):
    waits = "import time; time.sleep({}); print('{}')"
    with ThreadPoolExecutor(4) as threads:
        several = [threads.submit(lab.warm, "runs", prelude=waits.format(0.05 * n, n)) for n in (3, 2, 1, 0)]
        assert [done.result().stdout.splitlines()[0] for done in several] == ["3", "2", "1", "0"]
    hangs = "import os, signal; open('pid', 'w').write(str(os.getpid())); signal.pause()"
    with pytest.raises(subprocess.TimeoutExpired):
        RunLab(root=lab.root, seconds=1).warm("runs", prelude=hangs)
    hung = Path("/proc", (lab.tree / "pid").read_text())
    until = time.monotonic() + 20
    while hung.exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert not hung.exists()
    assert lab.warm("runs").exit_code == 0


def test_no_child_is_left_by_one_that_closes():
    standing = Warm()
    standing.close()
    assert standing._process.returncode == 0


@pytest.mark.parametrize("variables", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C"}, {"LANG": "C"}])
def test_what_an_interpreter_reads_when_it_starts_needs_one_that_starts(lab, variables):
    assert can_be_warm(lab.environment())
    assert not can_be_warm(lab.environment() | variables)
