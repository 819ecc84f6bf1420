"""Docket commands forked from one process that has imported all of docket, for the tests that start it often.

Such a command is a process of its own, with the folder, the variables and the descriptors it was given; it ends as any
program ends, and a signal kills it alone. Not seen in it is the start of the program, which takes three quarters of the
time of a short command: `start` of `run_lab`, and every test about the start itself, starts the interpreter.

Rules: what makes an interpreter start otherwise (PYTHON..., LC_...) is not for these; nothing but the imports is
shared, and nothing comes back; the standing process ends with the one that started it.
"""

from __future__ import annotations

import array
import atexit
import gc
import importlib
import json
import os
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import unsynced

# What commands import while they run.
LATER = ("rich.console", "rich.table", "rich.text", "pathspec", "platformdirs", "sqlite3", "zstandard", "brotli")
LANGUAGE = {"LANG": "C.UTF-8"}
_REQUEST_BYTES = 1 << 17


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended: the exit code, or a signal's number below nought, and what it wrote."""

    returncode: int
    stdout: bytes
    stderr: bytes


def can_be_warm(variables: Mapping[str, str]) -> bool:
    """Whether an interpreter with these variables starts as the standing one did."""
    others = (name for name in variables if name.startswith(("PYTHON", "LC_", "LANG", "MALLOC", "LD_PRELOAD")))
    return sys.platform == "linux" and all(LANGUAGE.get(name) == variables[name] for name in others)


class Warm:
    """The standing process, as its clients see it."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno()), os.environ.get(unsynced.VARIABLE, "")],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,  # as a command's are: a stream remembers what it is one of
            stderr=subprocess.PIPE,
            env={name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ} | LANGUAGE,
        )
        theirs.close()
        self._turn = threading.Lock()

    def run(
        self,
        arguments: Sequence[str | bytes | os.PathLike[str]],
        *,
        cwd: Path,
        env: Mapping[str, str],
        seconds: float,
        prelude: str = "",
    ) -> Ended:
        """Run `docket` with these arguments to its end, after the statements of `prelude`."""
        asked = json.dumps(
            {
                "arguments": [os.fsdecode(word) for word in arguments],
                "cwd": os.fspath(cwd),
                "env": dict(env),
                "prelude": prelude,
            }
        ).encode()
        assert len(asked) < _REQUEST_BYTES
        pairs = [os.pipe() for _ in range(3)]
        try:
            with self._turn:
                given = array.array("i", [write for _, write in pairs])
                self._ours.sendmsg([asked], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, given)])
        finally:
            for _, write in pairs:
                os.close(write)
        stdout, stderr, end = _read_all([read for read, _ in pairs], time.monotonic() + seconds)
        if not end:
            raise AssertionError(f"the standing process is gone: {self._process.communicate()[1].decode()}")
        return Ended(returncode=os.waitstatus_to_exitcode(json.loads(end.split()[1])), stdout=stdout, stderr=stderr)

    def close(self) -> None:
        """End the standing process."""
        self._ours.close()
        self._process.communicate()


def _read_all(reads: list[int], until: float) -> list[bytes]:
    """Read each pipe to its end. The third tells the pid at once, which is killed when the time is over."""
    found: dict[int, list[bytes]] = {read: [] for read in reads}
    with selectors.DefaultSelector() as waiting:
        for read in reads:
            waiting.register(read, selectors.EVENT_READ)
        while waiting.get_map():
            ready = waiting.select(max(0, until - time.monotonic()))
            if not ready:
                os.kill(int(b"".join(found[reads[2]]).split()[0]), signal.SIGKILL)
                raise subprocess.TimeoutExpired("docket", until, b"".join(found[reads[0]]), b"".join(found[reads[1]]))
            for key, _ in ready:
                data = os.read(key.fd, 1 << 16)
                if data:
                    found[key.fd].append(data)
                else:
                    waiting.unregister(key.fd)
    for read in reads:
        os.close(read)
    return [b"".join(found[read]) for read in reads]


_STANDING: list[Warm] = []
_MAKING = threading.Lock()


def warm() -> Warm:
    """The one standing process of this run of the tests, started when it is first asked for."""
    with _MAKING:
        if not _STANDING:
            _STANDING.append(Warm())
            atexit.register(lambda: _STANDING.pop().close())
        return _STANDING[0]


def _import_everything() -> None:
    import docket

    for module in pkgutil.walk_packages(docket.__path__, "docket."):
        if not module.name.startswith("docket.demo") and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in LATER:
        importlib.import_module(name)


class _Standing:
    """The standing process itself: forks for each request, and tells how each child ended."""

    def __init__(self, asked: socket.socket) -> None:
        self._asked = asked
        self._ends: dict[int, int] = {}
        self._woken, self._wakes = os.pipe()
        os.set_blocking(self._wakes, False)
        os.set_blocking(self._woken, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)

    def serve(self) -> dict[str, object] | None:
        """Return in a child what it is asked for, and at the end None."""
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._asked, selectors.EVENT_READ)
            waiting.register(self._woken, selectors.EVENT_READ)
            while True:
                for key, _ in waiting.select():
                    if key.fd == self._woken:
                        self._reap()
                        continue
                    asked, given, _, _ = socket.recv_fds(self._asked, _REQUEST_BYTES, 3)
                    if not asked:
                        return None
                    child = os.fork()
                    if child == 0:
                        self._become(given)
                        return json.loads(asked)
                    self._started(child, given)

    def _become(self, given: list[int]) -> None:
        """Be as a program is that was just started with these two as its standard output and error."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(given[0], 1)
        os.dup2(given[1], 2)
        for descriptor in (*given, self._woken, self._wakes, *self._ends.values(), self._asked.detach()):
            os.close(descriptor)

    def _started(self, child: int, given: list[int]) -> None:
        os.close(given[0])
        os.close(given[1])
        os.write(given[2], b"%d " % child)
        self._ends[child] = given[2]

    def _reap(self) -> None:
        os.read(self._woken, 4096)
        while self._ends:
            child, status = os.waitpid(-1, os.WNOHANG)
            if child == 0:
                return
            end = self._ends.pop(child)
            os.write(end, b"%d" % status)
            os.close(end)


def _stand(descriptor: int, sync: str) -> int:
    _import_everything()
    gc.collect()
    gc.freeze()
    here = sys.path.pop(0)
    assert os.path.samefile(here, os.path.dirname(__file__))
    if sync != "1":
        unsynced.begin()
    assert threading.active_count() == 1
    with socket.socket(fileno=descriptor) as asked:
        wanted = _Standing(asked).serve()
    if wanted is None:
        return 0
    os.environ.clear()
    os.environ.update(wanted["env"])
    os.chdir(wanted["cwd"])
    sys.path.insert(0, os.getcwd())  # as it is for -m
    time.tzset()
    import docket

    sys.argv = [os.path.join(os.path.dirname(docket.__file__), "__main__.py"), *wanted["arguments"]]
    sys.orig_argv = [sys.executable, "-m", "docket", *wanted["arguments"]]
    exec(compile(wanted["prelude"], "prelude", "exec"), {})  # noqa: S102 - the test's own
    from docket.surfaces.cli.main import main

    return main()


if __name__ == "__main__":
    sys.exit(_stand(int(sys.argv[1]), sys.argv[2]))
