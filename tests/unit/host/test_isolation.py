"""What the system offers, what is refused without it, and the supervisor's protection."""

import os
import subprocess
import sys

import pytest

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.host import isolation, prctl
from docket.host.process import SpawnRequest, spawn

PROTECTED = """
import os
from docket.host import isolation, prctl
if os.getuid() == 0:
    os.setuid(65534)
    prctl.set_dumpable(dumpable=True)
path = f"/proc/{os.getpid()}/environ"
print(os.stat(path).st_uid == os.getuid() != 0, prctl.is_dumpable())
print(isolation.protect_supervisor())
print(os.stat(path).st_uid, prctl.is_dumpable())
"""
ADOPTING = """
import os, time
from docket.host import isolation, prctl
print(prctl.is_subreaper(), isolation.adopt_orphans(), prctl.is_subreaper(), flush=True)
reader, writer = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        os.read(reader, 1)
        print(os.getppid(), flush=True)
    os._exit(0)
os.wait()
print(os.getpid(), flush=True)
os.write(writer, b"x")
os.wait()
"""


def output_of(program: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.splitlines()


def test_this_system_can_hold_a_run():
    found = isolation.detect()
    assert found.refusal() is None
    assert found.names() == ("subreaper", "pdeathsig", "pidfd")
    # Finding out changed nothing.
    assert not prctl.is_subreaper()
    assert prctl.parent_death_signal() == 0


def test_another_system_is_refused_as_a_value(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    found = isolation.detect()
    assert found.names() == ()
    refusal = found.refusal()
    assert refusal.reason is Reason.UNSUPPORTED_PLATFORM
    assert "darwin" in refusal.detail
    with pytest.raises(UnavailableError) as caught:
        spawn(SpawnRequest(argv=("true",), cwd="/", env={}))
    assert caught.value.reason == "unsupported-platform"


def test_system_without_a_call_is_told_by_its_absence(monkeypatch):
    def refuse(_pid: int) -> int:
        raise OSError(38, "not here")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    found = isolation.detect()
    assert found.names() == ("subreaper", "pdeathsig")
    assert found.refusal() is None


def test_protected_supervisor_belongs_to_root_in_the_process_table():
    # The kernel gives the files under /proc of a process that may not be dumped to root.
    before, done, after = output_of(PROTECTED)
    assert (before, done, after) == ("True True", "True", "0 False")


def test_adopted_orphan_has_this_process_as_parent():
    states, *pids = output_of(ADOPTING)
    assert states == "False True True"
    assert pids[0] == pids[1]


def test_refused_call_is_told(monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(1, "not permitted")

    monkeypatch.setattr(prctl, "set_dumpable", refuse)
    monkeypatch.setattr(prctl, "become_subreaper", refuse)
    assert not isolation.protect_supervisor()
    assert not isolation.adopt_orphans()


def test_wrong_option_carries_the_kernels_error():
    with pytest.raises(OSError, match="Invalid argument"):
        prctl.die_with_parent(4096)
