"""Which process is there, asked of real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from docket.formats.process_identity import ProcessIdentity
from docket.host import liveness
from docket.host.liveness import is_gone, own_identity

WAITS = [sys.executable, "-c", "input()"]


def of(pid: int) -> ProcessIdentity:
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        started = file.read().rsplit(")", 1)[1].split()[19]
    return replace(own_identity(), pid=pid, started=started)


def test_this_process_is_there():
    own = own_identity()
    assert own.pid == os.getpid()
    assert own == of(os.getpid())
    assert not is_gone(own)


def test_a_process_is_gone_once_it_has_ended_although_nobody_waited():
    with subprocess.Popen(WAITS, stdin=subprocess.PIPE) as process:
        identity = of(process.pid)
        assert not is_gone(identity)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert is_gone(identity)
    assert is_gone(identity)


@pytest.mark.parametrize("change", [{"started": "1"}, {"boot_id": "another"}])
def test_an_id_that_was_given_away_again_or_is_of_another_boot_is_gone(change):
    assert is_gone(replace(own_identity(), **change))


def test_what_cannot_be_told_counts_as_there(monkeypatch, tmp_path):
    assert not is_gone(replace(own_identity(), started="", pid=2**22))
    monkeypatch.setattr(liveness, "_PROC", tmp_path / "none")
    assert not is_gone(ProcessIdentity(pid=2**22, started="5", boot_id=""))
    monkeypatch.setattr(liveness, "_PROC", tmp_path)
    monkeypatch.setattr(liveness, "_BOOT_ID", tmp_path / "boot")
    (tmp_path / "7").mkdir()
    (tmp_path / "7/stat").write_text("7 (x) S", "utf-8")
    assert own_identity().boot_id == ""
    assert is_gone(ProcessIdentity(pid=7, started="5", boot_id="b"))
